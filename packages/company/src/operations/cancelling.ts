import { PoppyError } from '@poppyseed/protocol'
import { addWork } from '../outbox/store.ts'
import type { Principal } from '../sessions/principal.ts'
import type { Scope } from '../store/database.ts'
import type { Actor, Channel, StoredOperation } from './agreement.ts'
import { ownOperation, requireAction } from './confirming.ts'
import { currentOperation, type OperationParts } from './parts.ts'
import { actorOf } from './proposing.ts'
import { cancelOperation, noteCancelAsked } from './store.ts'

/** Cancelling (Operations 7): certain before it has begun; a wish afterwards, which may come too late. */

/** The id of the work that asks the company's code to stop an operation. */
const cancelWorkId = (operationId: string): string => `cancel:${operationId}`

/**
 * Cancels an operation on the word of a Personal Agent, or asks for it. Gives the operation as it is then.
 * @throws PoppyError `operation_not_found`, `sign_in_required`, and for one that is confirmed `insufficient_scope`
 */
export async function cancelByAgent(parts: OperationParts, id: string, principal: Principal): Promise<StoredOperation> {
  const found = await ownOperation(parts, id, principal)
  // To turn a proposal down takes no rights; to stop what goes on is as much as to begin it.
  if (found.operation.state === 'in_progress') requireAction(parts, found, principal)
  return cancel(parts, found, { channel: 'endpoint', who: actorOf(principal) })
}

/** How often it is looked again when the operation changes at that very moment. */
const mostTries = 5

/** Who cancels. */
export interface CancelledBy {
  readonly channel: Channel
  readonly who: Actor
  readonly reason?: string | undefined
  /** Writes something else in the same transaction; what it throws takes all of it back. */
  readonly also?: (scope: Scope) => Promise<void>
}

/** Cancels what has not begun, asks to stop what has, and leaves what is over. */
export async function cancel(parts: OperationParts, found: StoredOperation, by: CancelledBy): Promise<StoredOperation> {
  const scope = await parts.scope()
  const { id, name } = found.operation
  const detail = by.reason === undefined ? undefined : { reason: by.reason }
  const entryOf = (event: 'cancelled' | 'cancel_asked', revision: number) => ({
    event,
    channel: by.channel,
    who: by.who,
    revision,
    detail,
  })
  let current: StoredOperation | null = found
  for (let tries = 0; tries < mostTries && current !== null; tries++) {
    const { state, turn, revision, cancel_asked_at } = current.operation
    if (state !== 'proposed' && state !== 'in_progress') return current
    const now = parts.now()
    if (state === 'proposed' || turn === 0) {
      const change = {
        id,
        now,
        result: detail === undefined ? null : JSON.stringify(detail),
        entry: entryOf('cancelled', revision),
        tells: parts.tells('cancelled'),
      }
      const { also } = by
      const changed =
        also === undefined
          ? await cancelOperation(scope, change)
          : await scope.db.transaction(async () => {
              const made = await cancelOperation(scope, change)
              if (made !== null) await also(scope)
              return made
            })
      if (changed !== null) parts.changes.changed(id)
    } else {
      if (cancel_asked_at !== null) return current
      await scope.db.transaction(async () => {
        const changed = await noteCancelAsked(scope, { id, now, entry: entryOf('cancel_asked', revision) })
        if (changed === null) return
        await by.also?.(scope)
        // The work goes with the note: whoever is told that it was asked for can rely on its being asked.
        if (parts.operations.get(name)?.cancel !== undefined)
          await addWork(scope, {
            id: cancelWorkId(id),
            kind: 'cancel',
            operation_id: id,
            payload: null,
            due_at: now,
            attempts: 0,
            created_at: now,
          })
      })
    }
    current = await currentOperation(parts, id)
  }
  if (current === null) throw new PoppyError('operation_not_found', { description: 'There is no such operation.' })
  return current
}

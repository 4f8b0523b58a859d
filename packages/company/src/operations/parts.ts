import type { WireOperation } from '@poppyseed/protocol'
import type { Changes } from '../changes/changes.ts'
import type { FaultPoint } from '../faults/faults.ts'
import type { Scope } from '../store/database.ts'
import type { StoredOperation } from './agreement.ts'
import type { Operation } from './definition.ts'
import type { Tells } from './hooks.ts'
import { expireOperation, findOperation } from './store.ts'
import { stateOf } from './view.ts'

/** What all that is done to operations is done with. */

/** See {@link createOperations}. */
export interface OperationParts {
  readonly scope: () => Promise<Scope>
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
  /** The company's operations by their names. */
  readonly operations: ReadonlyMap<string, Operation>
  readonly changes: Changes
  readonly write: (stored: StoredOperation) => WireOperation
  /** Whether the company's hooks are told of what happens. */
  readonly tells: Tells
  /** Whether there is a page of the company's own on which a person can confirm. */
  readonly hasPage: boolean
  /** Has what was confirmed begun, after that is committed. Where nobody does, it is found in the outbox. */
  readonly begin: (id: string, confirmed: StoredOperation) => void
  /** Named points at which tests end the process. */
  readonly at: (point: FaultPoint, id: string) => void | Promise<void>
}

/** An operation as it is now, or null. A proposal that is over is expired by this at the latest. */
export async function currentOperation(parts: OperationParts, id: string): Promise<StoredOperation | null> {
  const scope = await parts.scope()
  const found = await findOperation(scope, id)
  return found === null ? null : noticeExpiry(parts, scope, found)
}

/** Ends a proposal that is over; anything else is given back as it is. */
export async function noticeExpiry(
  parts: Pick<OperationParts, 'now' | 'changes' | 'tells'>,
  scope: Scope,
  stored: StoredOperation,
): Promise<StoredOperation | null> {
  const { id, state, revision } = stored.operation
  const now = parts.now()
  if (stateOf(stored.operation, now) === state) return stored
  const entry = { event: 'expired', channel: 'worker', who: {}, revision } as const
  const changed = await expireOperation(scope, { id, now, entry, tells: parts.tells('expired') })
  if (changed !== null) parts.changes.changed(id)
  return findOperation(scope, id)
}

import { PoppyError } from '@poppyseed/protocol'
import { insertAudit } from '../audit/audit.ts'
import { longestSentence } from '../conversations/staff-input.ts'
import type { Scope } from '../store/database.ts'
import { actorOfStaff, type ChangedBy, checkBy } from './changed-by.ts'
import type { Tells } from './hooks.ts'
import { type Failed, isOutcome, type Succeeded } from './outcome.ts'
import { outcomeJson } from './outcome-json.ts'
import { findOperation, settleOperation } from './store.ts'
import { type OperationView, viewOf } from './view.ts'

/** Ending what nobody knew, on somebody's word (Operations 6). */

/** Who settles, and why. */
export interface Settlement {
  /** Who says so: a member of staff with id and name, or whoever it is in your words, such as a job of the company's. */
  readonly by: ChangedBy
  /** How they know, for the records: a sentence or two, of at most 1,000 characters. */
  readonly why: string
}

/** What settling is done with. */
export interface SettleParts {
  readonly now: () => number
  readonly tells: Tells
  readonly complain: (why: string) => void
  /** The id of its row in the audit; left out, it has none. */
  readonly id?: string
}

/**
 * Writes what came of an operation whose outcome isn't known, with its row in the audit.
 * @throws TypeError for anything but succeeded(…) or failed(…) and a settlement with `by` and `why`
 * @throws PoppyError `operation_not_found`; `revision_conflict` when its outcome is known, or `perform` still has its time
 */
export async function settle(
  scope: Scope,
  id: string,
  outcome: Succeeded | Failed,
  { by, why }: Settlement,
  { now, tells, complain, id: auditId }: SettleParts,
): Promise<OperationView> {
  if (!isOutcome<Succeeded | Failed>(outcome, ['succeeded', 'failed']))
    throw new TypeError('Settle an operation as succeeded(result) or failed(reason).')
  const who = checkBy(by)
  if (typeof why !== 'string' || why.trim() === '' || why.length > longestSentence)
    throw new TypeError(`Say in \`why\` how that is known, for the records, in at most ${longestSentence} characters.`)
  const entry = {
    event: 'settled',
    channel: 'staff',
    who: actorOfStaff(by),
    detail: { as: outcome.outcome, why },
  } as const
  const result = outcomeJson(outcome, complain)
  const settled = await scope.db.transaction(async () => {
    const changed = await settleOperation(scope, {
      id,
      state: outcome.outcome,
      result,
      now: now(),
      entry,
      tells: tells('settled'),
    })
    if (changed !== null && auditId !== undefined) {
      const { conversation_id: conversation } = changed
      await insertAudit(
        scope,
        { id: auditId, by: who, act: 'settled', conversation, operation: id, detail: entry.detail },
        now(),
      )
    }
    return changed
  })
  const stored = await findOperation(scope, id)
  if (stored === null) throw new PoppyError('operation_not_found', { description: 'There is no operation of this id.' })
  if (settled === null)
    throw new PoppyError('revision_conflict', {
      description: 'Only an operation whose outcome is not known can be settled.',
      reason: `it is ${stored.operation.state}`,
    })
  return viewOf(stored, now())
}

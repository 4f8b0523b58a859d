import { PoppyError } from '@poppyseed/protocol'
import type { Scope } from '../store/database.ts'
import type { Tells } from './hooks.ts'
import { type Failed, isOutcome, type Succeeded } from './outcome.ts'
import { outcomeJson } from './outcome-json.ts'
import { findOperation, settleOperation } from './store.ts'
import { type OperationView, viewOf } from './view.ts'

/** Ending what nobody knew, on somebody's word (Operations 6). */

/** Who settles, and why. */
export interface Settlement {
  /** Who says so: a member of staff, or a job of the company's. */
  readonly by: string
  /** How they know, for the records. */
  readonly why: string
}

/**
 * Writes what came of an operation whose outcome isn't known.
 * @throws TypeError for anything but succeeded(…) or failed(…) and a settlement with `by` and `why`
 * @throws PoppyError `operation_not_found`; `revision_conflict` when its outcome is known, or `perform` still has its time
 */
export async function settle(
  scope: Scope,
  id: string,
  outcome: Succeeded | Failed,
  { by, why }: Settlement,
  {
    now,
    tells,
    complain,
  }: { readonly now: () => number; readonly tells: Tells; readonly complain: (why: string) => void },
): Promise<OperationView> {
  if (!isOutcome<Succeeded | Failed>(outcome, ['succeeded', 'failed']))
    throw new TypeError('Settle an operation as succeeded(result) or failed(reason).')
  for (const [name, text] of [
    ['by', by],
    ['why', why],
  ] as const) {
    if (typeof text !== 'string' || text.trim() === '' || text.length > 2000)
      throw new TypeError(
        `Say in \`${name}\` ${name === 'by' ? 'who settles it' : 'how that is known'}, for the records.`,
      )
  }
  const entry = {
    event: 'settled',
    channel: 'staff',
    who: { staff: by },
    detail: { as: outcome.outcome, why },
  } as const
  const result = outcomeJson(outcome, complain)
  const settled = await settleOperation(scope, {
    id,
    state: outcome.outcome,
    result,
    now: now(),
    entry,
    tells: tells('settled'),
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

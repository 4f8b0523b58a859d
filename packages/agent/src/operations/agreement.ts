import { isFinalState, type OperationState, type WireOperation } from '@poppyseed/protocol'
import { isStillAgreement, type OperationCopy } from './copy.ts'
import { isConfirmed, spokenApproval } from './operation.ts'
import type { OperationRecord } from './records.ts'

/** Whether a Company does what was approved, and says what it said before (Operations 3.1, 5, 6). Pure. */

/** What can't be after what was heard before, in the Company's place: an end of a sentence, or undefined. */
export function contradiction(
  before: Pick<OperationRecord, 'revision' | 'state' | 'step'>,
  { state, revision }: Pick<WireOperation, 'state' | 'revision'>,
): string | undefined {
  if (isFinalState(before.state) && state !== before.state) {
    return `said before that it was ${spoken[before.state]}, and now says that it is ${spoken[state]}`
  }
  if (before.state === 'in_progress' && (state === 'proposed' || state === 'expired')) {
    return `said before that it was being done, and now says that it is ${spoken[state]}`
  }
  if (revision < before.revision) return `was at revision ${before.revision} before, and now says ${revision}`
  return undefined
}

const spoken: Readonly<Record<OperationState, string>> = {
  proposed: 'only proposed',
  in_progress: 'being done',
  succeeded: 'done',
  failed: 'not done',
  cancelled: 'cancelled',
  expired: 'expired',
}

/**
 * What stands against a copy: that it contradicts what was heard, or isn't what was approved here. One sentence, in which
 * nothing of the Company's own words stands.
 */
export function objectionTo(record: OperationRecord, copy: OperationCopy): string | undefined {
  const said = contradiction(record, copy.wire)
  if (said !== undefined) return `${record.company} ${said}.`
  const { approval, company } = record
  if (approval === null || !isConfirmed(copy)) return undefined
  const { confirmation } = copy.wire
  const revision = confirmation?.revision ?? copy.wire.revision
  if (revision !== approval.revision) {
    return `${company} took revision ${revision} as confirmed, and revision ${approval.revision} was approved here.`
  }
  if (confirmation !== undefined && confirmation.approved_by !== approval.by) {
    return `${company} took it as approved ${spokenApproval(confirmation.approved_by)}, and it was approved ${spokenApproval(approval.by)} here.`
  }
  if (!isStillAgreement(approval, copy.agreed)) {
    return `${company} says other things of revision ${approval.revision} now than when it was approved here.`
  }
  return undefined
}

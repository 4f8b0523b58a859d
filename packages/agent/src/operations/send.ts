import { AgentError } from '../errors.ts'
import { type ConfirmResult, heldApproval } from './approval.ts'
import { isSameAgreement, type OperationCopy } from './copy.ts'
import { confirmAtCompany, type Refused, readAtCompany, type Taken } from './desk.ts'
import { isConfirmed } from './operation.ts'
import type { StandingPermission } from './permissions.ts'
import type { ApprovalRecord } from './records.ts'
import type { OperationRoom } from './room.ts'
import { takeUse } from './uses.ts'

/** Sending a confirmation (Operations 5.2, 6): first kept, then sent, by one of all who share the store. */

/** What came of it. `approval` is what was sent, or would have been. */
export type Sent =
  | { readonly result: ConfirmResult; readonly refusal?: undefined; readonly isUsedUp?: undefined }
  | (Refused & { readonly approval: ApprovalRecord; readonly isUsedUp?: undefined })
  /** No rule has a use left, so nothing was sent. */
  | { readonly isUsedUp: true }

/** How often a confirmation is sent whose answer gets lost. */
const maxSends = 3

/**
 * Sends what was approved.
 * @param approved an approval, or the rules that cover it: a use of one is taken
 */
export function sendApproved(
  room: OperationRoom,
  copy: OperationCopy,
  approved: ApprovalRecord | readonly StandingPermission[],
  signal: AbortSignal | undefined,
): Promise<Sent> {
  const id = copy.wire.operation_id
  return room.alone(id, async () => {
    const before = await room.records.get(id)
    if (before?.step === 'confirmed') {
      // Somebody else was first, and what they confirmed goes on.
      const { copy: now } = await readAtCompany(room.parts, id, signal)
      return { result: await room.ended(before, await room.records.note(now), now) }
    }
    // What another one approved and may have sent is what is sent again, as long as it holds.
    const theirs = before && heldApproval(before, copy, room.parts.context.now())
    const approval = theirs ?? ('by' in approved ? approved : await byPermission(room, copy, approved))
    if (!approval) return { isUsedUp: true }
    const kept = await room.records.note(copy, () => ({ step: 'approved', approval }))
    const answer = await deliver(room, id, approval, signal)
    if (answer.refusal) {
      // Nothing was confirmed, and the approval was for this alone.
      const { copy: current = copy } = answer
      const isOpen = current.wire.state === 'proposed'
      const after = await room.records.note(current, () => (isOpen ? { step: 'shown', approval: null } : {}))
      return isOpen ? { ...answer, approval } : { result: await room.ended(kept, after, current) }
    }
    const { copy: taken } = answer
    if (taken.wire.state === 'proposed') {
      await room.records.note(taken, () => ({ step: 'shown', approval: null }))
      throw new AgentError(
        'confirmation_refused',
        `${kept.company} answered as if it had taken the confirmation, and has it as proposed all the same. Nothing was confirmed.`,
        { operation: await room.show(kept, taken) },
      )
    }
    const after = await room.records.note(taken, () => (isConfirmed(taken) ? { step: 'confirmed' } : {}))
    return { result: await room.ended(kept, after, taken) }
  })
}

async function byPermission(
  { place, parts }: OperationRoom,
  copy: OperationCopy,
  rules: readonly StandingPermission[],
): Promise<ApprovalRecord | undefined> {
  for (const rule of rules) {
    if (await takeUse(parts.context, place.userKey, rule)) {
      return { ...copy.agreed, by: 'standing_permission', permission: rule.id, at: parts.context.now() }
    }
  }
  return undefined
}

/** Errors after which nobody knows whether the confirmation arrived. */
const unclear: ReadonlySet<string> = new Set(['unreachable', 'company_error', 'bad_answer'])

/** Sends it, and where the answer gets lost looks what became of it before it is sent again. */
async function deliver(
  room: OperationRoom,
  id: string,
  approval: ApprovalRecord,
  signal: AbortSignal | undefined,
): Promise<Taken | Refused> {
  const { parts } = room
  for (let sends = 1; ; sends++) {
    try {
      return await confirmAtCompany(parts, id, { revision: approval.revision, approved_by: approval.by }, signal)
    } catch (error) {
      if (!(error instanceof AgentError) || !unclear.has(error.code) || sends === maxSends) throw error
      await parts.context.wait(Math.max(1000 * sends, (error.retryAfter ?? 0) * 1000), signal)
      const now = await readAtCompany(parts, id, signal)
      if (now.copy.wire.state !== 'proposed') return now
      if (!isSameAgreement(approval, now.copy.agreed)) {
        return { refusal: error, copy: now.copy, confirmationUrl: undefined }
      }
    }
  }
}

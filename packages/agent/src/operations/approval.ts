import { type Approval, isJsonObject } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import { isSameAgreement, type OperationCopy } from './copy.ts'
import type { Operation } from './operation.ts'
import { covering, type StandingPermission } from './permissions.ts'
import type { ApprovalRecord, OperationRecord } from './records.ts'
import type { OperationRoom } from './room.ts'

/** Approval (Operations 5.1): the owner's word on one revision, or a rule of theirs, and nobody else's. */

/** What the owner is asked. */
export interface ApprovalRequest {
  /** Show `summary` and `terms`, all of them. They are the Company's words and no reason for a yes. */
  readonly operation: Operation
  /**
   * Why it is asked: `new`; `changed` since it was last heard of, or shown (see `previous`); or `insisted`, where a standing
   * permission was not enough for the Company.
   */
  readonly reason: 'new' | 'changed' | 'insisted'
  /** What was shown before. */
  readonly previous: Operation | undefined
  readonly signal: AbortSignal | undefined
}

/** How an operation is confirmed. */
export interface ConfirmOptions {
  /**
   * Asks the owner. Anything but `{ approved: true }` is a no. Never let a model answer, and nothing that a Company wrote.
   * Without it only standing permissions count.
   */
  readonly approve?: (request: ApprovalRequest) => Promise<{ readonly approved: boolean }>
  /** Rules that the owner gave. Whatever they don't cover is asked. */
  readonly permissions?: readonly StandingPermission[]
  /**
   * Shows the owner the Company's own page, where it alone takes the confirmation (`company_confirmation_required`): for the owner's own
   * browser. Then the operation is followed until it is decided there, for a quarter of an hour at most.
   */
  readonly openPage?: (url: string, operation: Operation) => void | Promise<void>
  readonly signal?: AbortSignal
}

/** What came of it. */
export interface ConfirmResult {
  /**
   * `confirmed`: the Company does it, or has; `declined` by the owner; `not_confirmed`: it can't be confirmed any more, or
   * nobody did on the Company's page.
   */
  readonly outcome: 'confirmed' | 'declined' | 'not_confirmed'
  /** Who approved it here; undefined where nobody did, as on the Company's page or on another way. */
  readonly approvedBy: Approval | undefined
  readonly operation: Operation
}

/** How long an approval holds that was not taken yet: somebody has to sign in first, or the process died. Milliseconds. */
const heldFor = 3600 * 1000

/** An approval of just this that was given and not used up. */
export function heldApproval(
  { step, approval }: OperationRecord,
  { agreed }: OperationCopy,
  now: number,
): ApprovalRecord | undefined {
  if (step !== 'approved' || approval === null || !isSameAgreement(approval, agreed)) return undefined
  return now - approval.at < heldFor ? approval : undefined
}

/** A change of the record that leaves alone what another process approved, and may be sending at this moment. */
export function unlessApproved(copy: OperationCopy, now: number, change: Partial<OperationRecord>) {
  return (before: OperationRecord): Partial<OperationRecord> =>
    before.step === 'confirmed' || heldApproval(before, copy, now) ? {} : change
}

/** The rules that cover it. */
export function rulesFor(
  { place, parts, actionOf }: OperationRoom,
  copy: OperationCopy,
  record: OperationRecord,
  permissions: readonly StandingPermission[],
): readonly StandingPermission[] {
  const { issuer, domain, account } = place
  return covering(permissions, { issuer, domain, account, action: actionOf(record), copy, now: parts.context.now() })
}

/**
 * Asks the owner.
 * @returns undefined where they said no
 * @throws AgentError `approval_required` where there is nobody to ask
 */
export async function askOwner(
  room: OperationRoom,
  copy: OperationCopy,
  { approve, signal }: ConfirmOptions,
  asking: Pick<ApprovalRequest, 'reason' | 'previous'>,
): Promise<ApprovalRecord | undefined> {
  const { now } = room.parts.context
  const shown = await room.records.note(copy, unlessApproved(copy, now(), { step: 'shown', approval: null }))
  const operation = await room.show(shown, copy)
  if (!approve) {
    throw new AgentError('approval_required', `You need to approve this at ${shown.company} yourself.`, { operation })
  }
  const decision: unknown = await approve({ operation, ...asking, signal })
  signal?.throwIfAborted()
  // 5.1: a yes is a yes that somebody gave, and nothing that happens to be true
  if (!isJsonObject(decision) || decision.approved !== true) return undefined
  return { ...copy.agreed, by: 'user', permission: null, at: now() }
}

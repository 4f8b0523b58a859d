import { AgentError } from '../errors.ts'
import { objectionTo } from './agreement.ts'
import {
  type ApprovalRequest,
  askOwner,
  type ConfirmOptions,
  type ConfirmResult,
  heldApproval,
  rulesFor,
  unlessApproved,
} from './approval.ts'
import { onCompanyPage } from './company-page.ts'
import { isSameAgreement, type OperationCopy } from './copy.ts'
import { type Refused, readAtCompany } from './desk.ts'
import type { Operation } from './operation.ts'
import { checkPermissions } from './permissions.ts'
import type { OperationRecord } from './records.ts'
import type { OperationRoom } from './room.ts'
import { sendApproved } from './send.ts'

/** Confirming (Operations 5): what the owner approved, just that, and once. */

/** How often the owner is asked in one call, however often the terms change meanwhile. */
const maxAsks = 5

/** Confirms an operation. @throws AgentError */
export async function confirmOperation(
  room: OperationRoom,
  id: string,
  options: ConfirmOptions,
): Promise<ConfirmResult> {
  const { permissions = [], signal } = options
  checkPermissions(permissions)
  let asking: Pick<ApprovalRequest, 'reason' | 'previous'> = { reason: 'new', previous: undefined }
  for (let asks = 0; asks < maxAsks; asks++) {
    // Always from the endpoint itself: what a tool or a message said of it may be old, or somebody else's words.
    const before = await room.records.get(id)
    const { copy: heard } = await readAtCompany(room.parts, id, signal)
    const { record, copy } = await room.latest(before, await room.records.note(heard), heard, signal)
    if (copy.wire.state !== 'proposed') return room.ended(record, record, copy)
    refuseContradictions(room, record, copy)
    // Other terms than when it was last heard of, maybe by whoever asked for this.
    const isNews = before !== undefined && !isSameAgreement(before.agreed, copy.agreed)
    if (isNews && asking.reason === 'new') asking = { ...asking, reason: 'changed' }
    const held = heldApproval(record, copy, room.parts.context.now())
    const page = await room.pageOf(copy.wire.confirmation_url)
    if (!held && page !== undefined) return onCompanyPage(room, copy, page, options)
    const rules = held || asking.reason === 'insisted' ? [] : rulesFor(room, copy, record, permissions)
    const byRule = rules.length === 0 ? undefined : await sendApproved(room, copy, rules, signal)
    let sent = byRule?.isUsedUp ? undefined : byRule
    if (!sent) {
      const approval = held ?? (await askOwner(room, copy, options, asking))
      if (!approval) return declined(room, copy)
      const byOwner = await sendApproved(room, copy, approval, signal)
      sent = byOwner.isUsedUp ? undefined : byOwner
    }
    if (!sent) continue
    if (!sent.refusal) return sent.result
    const { refusal, approval } = sent
    const shown = await room.show(record, copy)
    if (refusal.companyCode === 'company_confirmation_required') {
      return toCompanyPage(room, record, copy, sent, options)
    }
    if (refusal.companyCode === 'user_approval_required' && approval.by === 'standing_permission') {
      asking = { reason: 'insisted', previous: asking.previous }
    } else if (sent.copy && !isSameAgreement(approval, sent.copy.agreed)) {
      // Operations 9: whatever the code, the operation in a refusal is the current one.
      asking = { reason: 'changed', previous: shown }
    } else {
      throw refusedError(record, refusal, shown)
    }
  }
  const name = room.place.company
  throw new AgentError(
    'terms_keep_changing',
    `${name} changed the terms each time before they could be confirmed, so nothing was.`,
    { operation: asking.previous },
  )
}

async function declined(room: OperationRoom, copy: OperationCopy): Promise<ConfirmResult> {
  const change = unlessApproved(copy, room.parts.context.now(), { step: 'declined', approval: null })
  const record = await room.records.note(copy, change)
  return { outcome: 'declined', approvedBy: undefined, operation: await room.show(record, copy) }
}

async function toCompanyPage(
  room: OperationRoom,
  record: OperationRecord,
  shown: OperationCopy,
  { refusal, copy = shown, confirmationUrl }: Refused,
  options: ConfirmOptions,
): Promise<ConfirmResult> {
  const page = await room.pageOf(confirmationUrl ?? copy.wire.confirmation_url)
  if (page !== undefined) return onCompanyPage(room, copy, page, options)
  const { companyCode, status } = refusal
  throw new AgentError(
    'confirmation_refused',
    `${record.company} wants this confirmed on a page of its own, and the address that it gives isn't its own, so it isn't shown.`,
    { companyCode, status, operation: await room.show(record, copy) },
  )
}

function refusedError(record: OperationRecord, refusal: AgentError, operation: Operation): AgentError {
  if (refusal.code === 'operation_not_found') return refusal
  const { message, status, companyCode } = refusal
  return new AgentError('confirmation_refused', `${message} Nothing was confirmed at ${record.company}.`, {
    status,
    companyCode,
    operation,
  })
}

/** A Company that goes back on what it said isn't given another confirmation. */
function refuseContradictions(room: OperationRoom, record: OperationRecord, copy: OperationCopy): void {
  const objection = objectionTo(record, copy)
  if (objection === undefined) return
  throw new AgentError('confirmed_otherwise', objection, { operation: room.showing(record, copy, undefined) })
}

import type { Approval } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import { objectionTo } from './agreement.ts'
import { isSameAgreement, type OperationCopy } from './copy.ts'
import { confirmAtCompany, type Refused, readAtCompany, type Taken } from './desk.ts'
import { follow } from './follow.ts'
import { isConfirmed, type Operation } from './operation.ts'
import { checkPermissions, covering, type StandingPermission } from './permissions.ts'
import type { ApprovalRecord, OperationRecord } from './records.ts'
import type { OperationRoom } from './room.ts'
import { takeUse } from './uses.ts'

/** Confirming (Operations 5): what the owner approved, just that, and once. */

/** What the owner is asked. */
export interface ApprovalRequest {
  /** Show `summary` and `terms`, all of them. They are the Company's words and no reason for a yes. */
  readonly operation: Operation
  /**
   * Why it is asked: `new`; `changed` since it was shown, see `previous`; or `insisted`, where a standing permission was not
   * enough for the Company.
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
   * Shows the owner the Company's own page, where it alone takes the confirmation (settled reading 27): for the owner's own
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

/** How often the owner is asked in one call, however often the terms change meanwhile. */
const maxAsks = 5
/** How often a confirmation is sent whose answer gets lost. */
const maxSends = 3
/** How long an approval holds that was not taken yet: somebody has to sign in first, or the process died. Milliseconds. */
const heldFor = 3600 * 1000
/** How long the Company's page is waited for, in seconds. */
const pageSeconds = 900

/** Confirms an operation. @throws AgentError */
export async function confirmOperation(
  room: OperationRoom,
  id: string,
  options: ConfirmOptions,
): Promise<ConfirmResult> {
  const { permissions = [], signal } = options
  checkPermissions(permissions)
  let reason: ApprovalRequest['reason'] = 'new'
  let previous: Operation | undefined
  for (let asks = 0; asks < maxAsks; asks++) {
    // Always from the endpoint itself: what a tool or a message said of it may be old, or somebody else's words.
    const { copy } = await readAtCompany(room.parts, id, signal)
    const record = await room.records.note(copy)
    if (copy.wire.state !== 'proposed') return room.ended(record, copy)
    refuseContradictions(room, record, copy)
    let approval = heldApproval(record, copy, room.parts.context.now())
    if (!approval) {
      const page = await room.pageOf(copy.wire.confirmation_url)
      if (page !== undefined) return onCompanyPage(room, copy, page, options)
      const rules = reason === 'insisted' ? [] : permissions
      approval =
        (await byPermission(room, copy, record, rules)) ?? (await ask(room, copy, { options, reason, previous }))
      if (!approval) {
        const declined = await room.records.note(copy, () => ({ step: 'declined', approval: null }))
        return { outcome: 'declined', approvedBy: undefined, operation: await room.show(declined, copy) }
      }
    }
    const sent = await send(room, copy, approval, signal)
    if (!sent.refusal) return sent.result
    previous = await room.show(record, copy)
    const { refusal, confirmationUrl } = sent
    if (refusal.companyCode === 'company_confirmation_required') {
      const page = await room.pageOf(confirmationUrl ?? sent.copy?.wire.confirmation_url)
      if (page !== undefined) return onCompanyPage(room, sent.copy ?? copy, page, options)
      throw new AgentError(
        'confirmation_refused',
        `${record.company} wants this confirmed on a page of its own, and the address that it gives isn't its own, so it isn't shown.`,
        { companyCode: refusal.companyCode, status: refusal.status, operation: previous },
      )
    }
    if (refusal.companyCode === 'user_approval_required' && approval.by === 'standing_permission') reason = 'insisted'
    // Operations 9: whatever the code, the operation in a refusal is the current one.
    else if (sent.copy && !isSameAgreement(approval, sent.copy.agreed)) reason = 'changed'
    else throw refusedError(record, refusal, previous)
  }
  throw new AgentError(
    'terms_keep_changing',
    `${previous?.company.name ?? 'The Company'} changed the terms each time before they could be confirmed, so nothing was.`,
    { ...(previous ? { operation: previous } : {}) },
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

/** An approval of just this that was given and not used up: its process died, or the Company wanted a sign-in first. */
function heldApproval({ step, approval }: OperationRecord, { agreed }: OperationCopy, now: number) {
  const isHeld = step === 'approved' && approval !== null && isSameAgreement(approval, agreed)
  return isHeld && now - approval.at < heldFor ? approval : undefined
}

/** A Company that goes back on what it said isn't given another confirmation. */
function refuseContradictions(room: OperationRoom, record: OperationRecord, copy: OperationCopy): void {
  const objection = objectionTo(record, copy)
  if (objection === undefined) return
  throw new AgentError('confirmed_otherwise', objection, { operation: room.showing(record, copy, undefined) })
}

async function byPermission(
  room: OperationRoom,
  copy: OperationCopy,
  record: OperationRecord,
  rules: readonly StandingPermission[],
): Promise<ApprovalRecord | undefined> {
  const { place, parts } = room
  const now = parts.context.now()
  const action = room.actionOf(record)
  const found = covering(rules, {
    issuer: place.issuer,
    domain: place.domain,
    account: place.account,
    action,
    copy,
    now,
  })
  for (const rule of found) {
    // Another process may be at it with the same rule: then its use is taken there, and this one's is one too many.
    if (await takeUse(parts.context, place.userKey, rule)) {
      return { ...copy.agreed, by: 'standing_permission', permission: rule.id, at: now }
    }
  }
  return undefined
}

async function ask(
  room: OperationRoom,
  copy: OperationCopy,
  asking: Pick<ApprovalRequest, 'reason' | 'previous'> & { readonly options: ConfirmOptions },
): Promise<ApprovalRecord | undefined> {
  const { options, reason, previous } = asking
  const { approve, signal } = options
  const shown = await room.records.note(copy, () => ({ step: 'shown', approval: null }))
  const operation = await room.show(shown, copy)
  if (!approve) {
    throw new AgentError('approval_required', `You need to approve this at ${shown.company} yourself.`, { operation })
  }
  const decision = await approve({ operation, reason, previous, signal })
  signal?.throwIfAborted()
  // 5.1: a yes is a yes that somebody gave, and nothing that happens to be true
  if (decision?.approved !== true) return undefined
  return { ...copy.agreed, by: 'user', permission: null, at: room.parts.context.now() }
}

type Sent = { readonly result: ConfirmResult; readonly refusal?: undefined } | Refused

/** Sends what was approved: first kept, then sent, by one of all who share the store (5.2, 6). */
function send(
  room: OperationRoom,
  copy: OperationCopy,
  approval: ApprovalRecord,
  signal: AbortSignal | undefined,
): Promise<Sent> {
  const id = copy.wire.operation_id
  return room.alone(id, async () => {
    const before = await room.records.get(id)
    if (before?.step === 'confirmed') {
      // Somebody else was first, and what they confirmed goes on.
      const { copy: now } = await readAtCompany(room.parts, id, signal)
      return { result: await room.ended(await room.records.note(now), now) }
    }
    const isKept = before?.step === 'approved' && before.approval && isSameAgreement(before.approval, copy.agreed)
    const kept = await room.records.note(copy, () => (isKept ? {} : { step: 'approved', approval }))
    const answer = await deliver(room, id, kept.approval ?? approval, signal)
    if (answer.refusal) {
      // Nothing was confirmed, and the approval was for this alone.
      const { copy: current = copy } = answer
      const { state } = current.wire
      const after = await room.records.note(current, () =>
        state === 'proposed' ? { step: 'shown', approval: null } : {},
      )
      return state === 'proposed' ? answer : { result: await room.ended(after, current) }
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
    return { result: await room.ended(after, taken) }
  })
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

/** Reading 27: only the Company's own page can confirm it. The owner goes there, and this side watches. */
async function onCompanyPage(
  room: OperationRoom,
  copy: OperationCopy,
  page: string,
  { openPage, signal }: ConfirmOptions,
): Promise<ConfirmResult> {
  const record = await room.records.note(copy, () => ({ step: 'shown', approval: null }))
  const operation = { ...(await room.show(record, copy)), confirmationUrl: page }
  if (!openPage) {
    throw new AgentError(
      'company_confirmation_required',
      `${record.company} takes this confirmation on its own page alone: open it in your own browser.`,
      { operation, confirmationUrl: page },
    )
  }
  await openPage(page, operation)
  const last = await follow(room.parts, copy.wire.operation_id, {
    signal,
    seconds: pageSeconds,
    heard: async (heard) => {
      await room.records.note(heard)
    },
    isEnough: ({ wire }) => wire.state !== 'proposed',
  })
  const after = await room.records.note(last, () => (isConfirmed(last) ? { step: 'confirmed' } : {}))
  return room.ended(after, last)
}

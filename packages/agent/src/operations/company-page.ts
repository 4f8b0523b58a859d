import { AgentError } from '../errors.ts'
import { type ConfirmOptions, type ConfirmResult, unlessApproved } from './approval.ts'
import type { OperationCopy } from './copy.ts'
import { follow } from './follow.ts'
import { isConfirmed } from './operation.ts'
import type { OperationRoom } from './room.ts'

/** What only the Company's own page can confirm. The owner goes there, and this side watches. */

/** How long the Company's page is waited for, in seconds. */
const pageSeconds = 900

/**
 * Sends the owner to the page, and follows the operation until it is decided there.
 * @throws AgentError `company_confirmation_required` where nobody can be sent
 */
export async function onCompanyPage(
  room: OperationRoom,
  copy: OperationCopy,
  page: string,
  { openPage, signal }: ConfirmOptions,
): Promise<ConfirmResult> {
  const record = await room.records.note(
    copy,
    unlessApproved(copy, room.parts.context.now(), { step: 'shown', approval: null }),
  )
  const operation = { ...(await room.show(record, copy)), confirmationUrl: page }
  if (!openPage) {
    throw new AgentError(
      'company_confirmation_required',
      `${record.company} takes this confirmation on its own page alone: open it in your own browser.`,
      { operation, confirmationUrl: page },
    )
  }
  await openPage(page, operation)
  let [before, now] = [record, record]
  const last = await follow(room.parts, copy.wire.operation_id, {
    signal,
    seconds: pageSeconds,
    heard: async (heard) => {
      before = now
      now = await room.records.note(heard)
    },
    isEnough: ({ wire }) => wire.state !== 'proposed',
  })
  const after = await room.records.note(last, () => (isConfirmed(last) ? { step: 'confirmed' } : {}))
  return room.ended(before, after, last)
}

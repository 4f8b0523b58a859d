import { noteReading } from '../audit/noting.ts'
import type { Staff } from '../conversations/held.ts'
import type { InboxParts } from './parts.ts'
import type { InboxView } from './view.ts'

/** What a page shows of customers stands in the record, as read by whoever it is shown to. */

type NotedParts = Pick<InboxParts, 'conversations' | 'scope' | 'now' | 'random'>

/**
 * Writes down what a view shows: a conversation, the one before it whose history stands behind it (7.10), an operation.
 * @param isDone whether they just did something to what is open: that stands in the record by itself
 */
export async function noteShown(
  parts: NotedParts,
  staff: Staff,
  view: Pick<InboxView, 'conversation' | 'operation'> | null,
  { isDone = false } = {},
): Promise<void> {
  const { conversation = null, operation = null } = view ?? {}
  if (conversation !== null && !isDone) await parts.conversations?.noteRead(conversation.id, staff)
  if (conversation?.parent) await parts.conversations?.noteRead(conversation.parent.id, staff)
  if (operation !== null && !isDone) await noteOperation(parts, staff, operation.id)
}

/** Writes down that somebody read an operation in detail. */
export async function noteOperation(parts: Omit<NotedParts, 'conversations'>, staff: Staff, id: string): Promise<void> {
  await noteReading(parts, staff, { conversation: null, operation: id })
}

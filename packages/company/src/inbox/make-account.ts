import type { Staff } from '../conversations/held.ts'
import { readCard } from './customer-card.ts'
import type { InboxParts, Reader } from './parts.ts'
import type { AccountView } from './view.ts'

/**
 * The customer's account: shown to the member of staff who opened it on purpose, while they have the conversation, and only
 * with the rights of this moment. What the company shows of it is its own.
 */

/** Makes the panel. What goes wrong with it is told in it alone. */
export async function accountView(parts: InboxParts, reader: Reader, conversationId: string): Promise<AccountView> {
  const { customer } = parts.settings
  if (parts.conversations === null || customer === null) return { state: 'none' }
  const staff: Staff = { id: reader.me.id, name: reader.me.name }
  const account = await parts.conversations.account(conversationId, staff)
  if (account.state !== 'open') return { state: account.state }
  try {
    const { yes, no } = reader.style
    return readCard(await customer(account.principal), { origin: parts.origin, yes, no })
  } catch (error) {
    // What is thrown may have anything in it: its name, and ours of what was wrong, are enough to find it.
    const reason = error instanceof TypeError && error.message.startsWith('`customer`') ? error.message : undefined
    parts.log.error(
      { conversation: conversationId, error: error instanceof Error ? error.name : typeof error, reason },
      'the account panel could not be made',
    )
    return { state: 'failed' }
  }
}

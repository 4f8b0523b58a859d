import type { Staff } from '../conversations/held.ts'
import type { SignedInPrincipal } from '../tools/tool.ts'
import { readCard } from './customer-card.ts'
import type { InboxParts, Reader } from './parts.ts'
import type { AccountView } from './view.ts'

/**
 * The customer's account: shown to the member of staff who opened it on purpose, while they have the conversation, and only
 * with the rights of this moment. What the company shows of it is its own.
 */

/**
 * Makes the panel. What goes wrong with it is told in it alone.
 * @returns what gives it once all else is ready: as the account stands then. What the company looks up for it may take a while,
 * and a customer who signs out meanwhile is shown no more (4.9).
 */
export async function accountView(
  parts: InboxParts,
  reader: Reader,
  conversationId: string,
): Promise<() => Promise<AccountView>> {
  const { conversations } = parts
  const { customer } = parts.settings
  if (conversations === null || customer === null) return async () => ({ state: 'none' })
  const staff: Staff = { id: reader.me.id, name: reader.me.name }
  const account = await conversations.account(conversationId, staff)
  if (account.state !== 'open') return async () => ({ state: account.state })
  const view = await cardOf(parts, reader, { customer, conversationId, principal: account.principal })
  return async () => {
    const now = await conversations.account(conversationId, staff)
    if (now.state !== 'open') return { state: now.state }
    // Opened anew meanwhile, under other rights: it was made with those of before.
    return rightsOf(now.principal) === rightsOf(account.principal) ? view : { state: 'dark' }
  }
}

const rightsOf = ({ account, grantId, scopes }: SignedInPrincipal) =>
  JSON.stringify([account, grantId, ...scopes.toSorted()])

async function cardOf(
  parts: InboxParts,
  reader: Reader,
  {
    customer,
    conversationId,
    principal,
  }: {
    readonly customer: NonNullable<InboxParts['settings']['customer']>
    readonly conversationId: string
    readonly principal: SignedInPrincipal
  },
): Promise<AccountView> {
  try {
    const { yes, no } = reader.style
    return readCard(await customer(principal), { origin: parts.origin, yes, no })
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

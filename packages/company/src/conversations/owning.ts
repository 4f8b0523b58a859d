import { PoppyError } from '@poppyseed/protocol'
import type { Principal } from '../sessions/principal.ts'
import type { ConversationRow, ConversationSet } from './row.ts'

/** Whose a conversation is (7.2): the agent's and its User's, and once it used the User's account, that account's. */

type Owned = Pick<ConversationRow, 'client_id' | 'user_id' | 'account'>
type Owner = Pick<Principal, 'clientId' | 'userId' | 'account'>

/** Whether it is theirs. */
export function isOwner(row: Owned, { clientId, userId, account }: Owner): boolean {
  return row.client_id === clientId && (row.account === null ? row.user_id === userId : row.account === account)
}

/**
 * @throws PoppyError `sign_in_required` for the same User who isn't signed in to its account (7.11),
 * `conversation_not_found` for everybody else's
 */
export function requireOwner<Row extends Owned>(row: Row | null, principal: Owner): asserts row is Row {
  if (row !== null && row.client_id === principal.clientId) {
    if (isOwner(row, principal)) return
    if (row.user_id === principal.userId)
      throw new PoppyError('sign_in_required', {
        description: 'The conversation used an account: the User has to be signed in to it.',
      })
  }
  // Somebody else's is as if there were none.
  throw new PoppyError('conversation_not_found', { description: 'There is no such conversation.' })
}

/**
 * Makes the conversation the account's, by an explicit act (reading 21): what has to be set, which is nothing where it is
 * already.
 * @throws PoppyError `sign_in_required` when signed out, or signed in to another account
 */
export function useAccount(row: ConversationRow, principal: Pick<Principal, 'account'>): ConversationSet {
  const { account } = principal
  if (account === null || (row.account !== null && row.account !== account))
    throw new PoppyError('sign_in_required', {
      description: 'This needs the User to be signed in to the account of the conversation.',
    })
  return row.account === null ? { account } : {}
}

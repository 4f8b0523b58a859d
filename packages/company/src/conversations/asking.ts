import { makeId, PoppyError } from '@poppyseed/protocol'
import type { Principal } from '../sessions/principal.ts'
import { requireOpen } from './conversation.ts'
import { handedOff } from './handoff.ts'
import { withConversation } from './ledger.ts'
import { requireOwner } from './owning.ts'
import type { ConversationParts } from './parts.ts'
import type { ConversationRow } from './row.ts'
import { findConversation } from './store.ts'

/**
 * The Personal Agent asks for a person (7.9): the conversation waits for one, or is told why nobody comes. Gives it as it is
 * then.
 * @throws PoppyError `conversation_not_found`, `sign_in_required`, `conversation_closed`, `direct_conversation_open`
 */
export async function askForPerson(
  parts: ConversationParts,
  id: string,
  principal: Principal,
): Promise<ConversationRow> {
  const found = await findConversation(await parts.scope(), id)
  requireOwner(found, principal)
  const who = await parts.people.whoComes(found)
  const messageId = makeId('msg', parts.random)
  const settled = await withConversation(parts, id, (row) => {
    requireOwner(row, principal)
    // 7.10: not beside an open Direct Conversation
    requireOpen(row)
    return handedOff(row, { now: parts.now(), who, messageId })
  })
  if (settled === null)
    throw new PoppyError('conversation_not_found', { description: 'There is no such conversation.' })
  return settled.row
}

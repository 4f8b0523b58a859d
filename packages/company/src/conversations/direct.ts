import { directClosed } from './conversation.ts'
import { refuseClosed, requireHeld, type Staff, staffConflict } from './held.ts'
import type { ConversationRow, Decision } from './row.ts'

/** 7.10: the User talks with the company themselves, beside the conversation before it. Rules alone. */

/**
 * How a Direct Conversation begins: with the person who has its parent, because the User is wanted there; else with the
 * Company Agent.
 */
export function directBegins(
  parent: ConversationRow,
): Pick<ConversationRow, 'parent_id' | 'account' | 'responder' | 'held_by' | 'held_name'> {
  const { id, account, responder, held_by, held_name } = parent
  // 7.2: what was said of the account in the parent may be said here, so it is the account's from the first word.
  return { parent_id: id, account, responder, held_by, held_name }
}

/**
 * What a Direct Conversation tells that begins with a person: after its first message, that one has it (7.7). Until then it
 * is taken to be idle and the Company Agent's, as every conversation begins.
 */
export function withStanding({ responder }: Pick<ConversationRow, 'responder'>, decided: Decision): Decision {
  if (responder === 'agent') return decided
  return { ...decided, events: [...decided.events, { type: 'state', status: 'idle', responder }] }
}

/**
 * What the parent is told when its Direct Conversation closes: it takes messages again (7.10). Null where that isn't beside it.
 */
export function directOver(
  parent: ConversationRow,
  { id, account }: Pick<ConversationRow, 'id' | 'account'>,
): Decision | null {
  const told = directClosed(parent, id)
  if (told === null || parent.account !== null || account === null) return told
  // 7.2: from here on the parent's agent knows what was said there, of the account too.
  return { ...told, set: { ...told.set, account } }
}

/**
 * The company asks for the User (7.10): whoever answers does so.
 * @param staff who asks; left out for the Company Agent, whose turn is checked where it writes
 * @throws PoppyError `conversation_closed`, `staff_conflict` where it isn't theirs, or the User takes part already
 */
export function userRequested(row: ConversationRow, { reason, staff }: UserRequest): Decision {
  if (staff === undefined) refuseClosed(row)
  else requireHeld(row, staff)
  if (row.parent_id !== null) throw staffConflict('is_direct')
  if (row.direct_id !== null) throw staffConflict('direct_open')
  return { set: {}, events: [{ type: 'user_requested', reason }] }
}

/** See {@link userRequested}. */
export interface UserRequest {
  /** A sentence for the User. */
  readonly reason: string
  readonly staff?: Staff
}

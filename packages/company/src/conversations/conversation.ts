import { conversationLimits, PoppyError, type WireAgentMessage, type WireEventMessage } from '@poppyseed/protocol'
import type { Principal } from '../sessions/principal.ts'
import type { ConversationRow, ConversationSet, Decision, NewEvent } from './row.ts'

/**
 * The rules of a conversation (7.3 to 7.12): from its row to what a change sets and tells. Pure; time is handed in. Each change
 * of status or responder has its `state` event by construction (7.7).
 */

/** Who sent a message, with the rights of its token (reading 22). */
export interface Caller {
  readonly principal: Principal
  /** How many sign-outs the token's Session had seen when it was issued. */
  readonly epoch: number
}

/** A message that is to be accepted. */
export interface Incoming {
  readonly message: WireAgentMessage
  readonly caller: Caller
  /** Milliseconds since 1970. */
  readonly now: number
}

/**
 * Makes a decision of what is set and told. A change of status or responder is told between `before` and `after`, which is
 * where its `state` event stands (7.7).
 * @param isOwn whether the Personal Agent itself caused the new state, by a message
 */
export function decision(
  row: ConversationRow,
  set: ConversationSet,
  {
    before = [],
    after = [],
    isOwn = false,
  }: { readonly before?: readonly NewEvent[]; readonly after?: readonly NewEvent[]; readonly isOwn?: boolean } = {},
): Decision {
  const { status = row.status, responder = row.responder } = set
  if (status === row.status && responder === row.responder) return { set, events: [...before, ...after] }
  const state: NewEvent = { type: 'state', status, responder, ...(isOwn ? { isOwn } : {}) }
  return { set, events: [...before, state, ...after] }
}

/** The row of a conversation in which nothing has happened yet. */
export function emptyConversation(
  id: string,
  {
    caller,
    now,
    parentId = null,
  }: { readonly caller: Caller; readonly now: number; readonly parentId?: string | null },
): ConversationRow {
  const { principal } = caller
  return {
    id,
    client_id: principal.clientId,
    user_id: principal.userId,
    account: null,
    parent_id: parentId,
    direct_id: null,
    status: 'idle',
    responder: 'agent',
    version: 0,
    last_event: 0,
    first_event: 1,
    oldest_at: now,
    context: '{}',
    ...rightsOf(caller),
    sender: 'agent',
    asked: 0,
    answered: 0,
    turn: 0,
    turn_asked: 0,
    runner: 0,
    attempts: 0,
    turn_due_at: null,
    held_by: null,
    held_name: null,
    queued_at: null,
    queue_reason: null,
    care_due_at: null,
    notes: 0,
    created_at: now,
    updated_at: now,
    closed_at: null,
  }
}

/** The rights of a caller, as a conversation's row keeps them. */
export function rightsOf({ principal, epoch }: Caller) {
  return {
    session_id: principal.sessionId,
    caller_user_id: principal.userId,
    caller_account: principal.account,
    grant_id: principal.grantId,
    scopes: principal.scopes.join(' '),
    epoch,
  }
}

/** Whether a message says something: text or data, and not context alone (reading 20). Blank text says nothing. */
function asksForReply({ text, data }: WireAgentMessage): boolean {
  return data !== undefined || (text !== undefined && text.trim() !== '')
}

/** Events of a conversation after which it takes no more messages: nobody reads that far, and it has to end somewhere. */
export const mostEvents = 200_000

/**
 * Accepts a message (7.3). With text or data it is to be answered: by a turn of the Company Agent where that handles the
 * conversation; a person who was asked for or has joined reads it.
 * @throws PoppyError `conversation_closed`, `direct_conversation_open`, `request_too_large` for more context than is kept
 */
export function accepted(row: ConversationRow, { message, caller, now }: Incoming): Decision {
  requireOpen(row)
  if (row.last_event >= mostEvents)
    throw new PoppyError('conversation_closed', {
      description: 'The conversation is as long as one can be. Start a new one.',
    })
  const set: ConversationSet = {
    ...rightsOf(caller),
    sender: message.sender,
    ...(message.context === undefined ? {} : { context: withContext(row.context, message.context) }),
  }
  const before: readonly NewEvent[] = [{ type: 'message', message: asEvent(message), isOwn: true }]
  if (!asksForReply(message)) return decision(row, set, { before })
  const asked = row.last_event + 1
  if (row.responder === 'human' || row.status === 'queued') return decision(row, { ...set, asked }, { before })
  const due = row.turn_due_at ?? now
  return decision(row, { ...set, asked, status: 'working', turn_due_at: due }, { before, isOwn: true })
}

/** @throws PoppyError `conversation_closed`, `direct_conversation_open` (7.10) */
export function requireOpen(row: ConversationRow): void {
  requireNotClosed(row)
  if (row.direct_id !== null)
    throw new PoppyError('direct_conversation_open', {
      description: 'A Direct Conversation is open beside this one. It takes messages again when that is closed.',
      extra: { conversation_id: row.direct_id },
    })
}

/** @throws PoppyError `conversation_closed` */
export function requireNotClosed(row: ConversationRow): void {
  if (row.status === 'closed')
    throw new PoppyError('conversation_closed', { description: 'The conversation is closed. Start a new one.' })
}

function asEvent({ id, sender, text, data, context }: WireAgentMessage): WireEventMessage {
  return {
    id,
    role: 'user',
    sender,
    ...(text === undefined ? {} : { text }),
    ...(data === undefined ? {} : { data }),
    ...(context === undefined ? {} : { context }),
  }
}

/** 7.4: fields that a message leaves out keep their previous values. */
function withContext(before: string, context: NonNullable<WireAgentMessage['context']>): string {
  const gathered = JSON.stringify({ ...(JSON.parse(before) as Record<string, unknown>), ...context })
  if (Buffer.byteLength(gathered) > conversationLimits.context)
    throw new PoppyError('request_too_large', {
      description: `The context of a conversation has at most ${conversationLimits.context} bytes, all of its messages together.`,
    })
  return gathered
}

/**
 * Ends a turn that has answered the messages up to `answered`; where newer ones are left, the next turn is due at once and
 * `working` stays.
 */
export function turnEnded(
  row: ConversationRow,
  {
    answered,
    now,
    events = [],
  }: { readonly answered: number; readonly now: number; readonly events?: readonly NewEvent[] },
): Decision {
  const set = { answered: Math.max(row.answered, answered), attempts: 0 }
  const isMore = row.asked > set.answered
  return decision(
    row,
    isMore ? { ...set, status: 'working', turn_due_at: now } : { ...set, status: 'idle', turn_due_at: null },
    { before: events },
  )
}

/** What a closed conversation has left of its work: nothing, and the turn that runs can write no more. */
function ended(row: ConversationRow, now: number): ConversationSet {
  return {
    status: 'closed',
    closed_at: now,
    turn_due_at: null,
    runner: row.runner + 1,
    held_by: null,
    held_name: null,
    queued_at: null,
    queue_reason: null,
    direct_id: null,
  }
}

/**
 * Closes a conversation (7.12), which cancels a pending handoff and ends its turn; the last responder stays. Null when it is
 * closed already. Where a Direct Conversation is open beside it, `direct_closed` is told first; its own end is for whoever
 * closes this one, in the same transaction.
 */
export function closed(row: ConversationRow, now: number): Decision | null {
  if (row.status === 'closed') return null
  const before = row.direct_id === null ? [] : [directClosedEvent(row.direct_id)]
  return decision(row, ended(row, now), { before })
}

/** Notes at the parent that a Direct Conversation has opened (7.10). @throws PoppyError as {@link requireOpen} */
export function directOpened(row: ConversationRow, directId: string): Decision {
  // 7.10: a Direct Conversation has none of its own
  if (row.parent_id !== null)
    throw new PoppyError('conversation_not_found', { description: 'There is no such conversation to start one from.' })
  requireOpen(row)
  return decision(row, { direct_id: directId }, { after: [{ type: 'direct_opened', conversation_id: directId }] })
}

/** Notes at the parent that its Direct Conversation has closed: it takes messages again (7.10). Null when it isn't open. */
export function directClosed(row: ConversationRow, directId: string): Decision | null {
  if (row.direct_id !== directId) return null
  return decision(row, { direct_id: null }, { before: [directClosedEvent(directId)] })
}

const directClosedEvent = (directId: string): NewEvent => ({ type: 'direct_closed', conversation_id: directId })

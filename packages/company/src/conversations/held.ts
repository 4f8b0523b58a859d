import { PoppyError, type WireOperation } from '@poppyseed/protocol'
import { decision } from './conversation.ts'
import { turnStopped } from './handoff.ts'
import type { ConversationRow, Decision, NewEvent } from './row.ts'

/** A person of the company has a conversation (7.7, 7.9): takes it, speaks in it, gives it back. Rules alone. */

/** A member of staff, from the company's own login. Neither name nor id ever leaves the company. */
export interface Staff {
  readonly id: string
  readonly name: string
}

/** Why staff can't do something with a conversation at this moment. */
export type Because =
  /** A colleague has it. */
  | 'held_by_other'
  /** Whoever asks has to take it first. */
  | 'not_held'
  /** The User takes part in it already: it is a Direct Conversation. */
  | 'is_direct'
  /** The User takes part in a Direct Conversation beside it. */
  | 'direct_open'
  /** What is asked for is allowed already. */
  | 'already_allowed'
  /** There is no Company Agent to hand back to. */
  | 'no_agent'
  /** This was done before, with the same key: it isn't done twice. */
  | 'already_done'
  /** Something else was done before with the same key: what is asked for now was not done. */
  | 'key_used'

const descriptions: Readonly<Record<Because, string>> = {
  held_by_other: 'A colleague has this conversation.',
  not_held: 'You don’t have this conversation. Take it first.',
  is_direct: 'This is a Direct Conversation: the User takes part in it.',
  direct_open: 'The User takes part in a Direct Conversation beside this one.',
  already_allowed: 'The sign-in allows that already.',
  no_agent: 'There is no Company Agent that could go on with it.',
  already_done: 'This was done already. It isn’t done twice.',
  key_used: 'Something else was done with this key. This wasn’t: send it with a key of its own.',
}

/** What staff are told: `staff_conflict`, with the reason in `extra.because`. */
export function staffConflict(because: Because): PoppyError {
  return new PoppyError('staff_conflict', { description: descriptions[because], extra: { because } })
}

/** @throws PoppyError `conversation_closed` */
export function refuseClosed(row: ConversationRow): void {
  if (row.status === 'closed')
    throw new PoppyError('conversation_closed', { description: 'The conversation is closed.' })
}

/**
 * Checks that an open conversation is this member of staff's.
 * @throws PoppyError `conversation_closed`, `staff_conflict`
 */
export function requireHeld(row: ConversationRow, staff: Staff): void {
  refuseClosed(row)
  if (row.held_by === staff.id) return
  throw staffConflict(row.held_by === null ? 'not_held' : 'held_by_other')
}

/**
 * Takes a conversation, whoever answers in it: out of the queue, or from the Company Agent, whose turn ends with that. Null
 * for whoever has it.
 * @throws PoppyError `conversation_closed`, `staff_conflict` where a colleague has it
 */
export function taken(row: ConversationRow, staff: Staff): Decision | null {
  refuseClosed(row)
  if (row.held_by === staff.id) return null
  if (row.held_by !== null) throw staffConflict('held_by_other')
  // `queued_at` stays: whoever comes back to the queue waits since they first did.
  const holder = { held_by: staff.id, held_name: staff.name }
  return decision(row, { status: 'idle', responder: 'human', ...holder, ...turnStopped(row) })
}

/**
 * Gives a conversation to a colleague. Nothing of it is told: a person has it as before.
 * @throws PoppyError as {@link requireHeld}
 */
export function given(row: ConversationRow, staff: Staff, to: Staff): Decision {
  requireHeld(row, staff)
  return { set: { held_by: to.id, held_name: to.name }, events: [] }
}

/**
 * Puts it back into the queue.
 * @throws PoppyError as {@link requireHeld}
 */
export function released(row: ConversationRow, staff: Staff, now: number): Decision {
  requireHeld(row, staff)
  return putBack(row, now)
}

/** Puts a conversation back into the queue, of whoever is gone. */
export function putBack(row: ConversationRow, now: number): Decision {
  const queued_at = row.queued_at ?? now
  return decision(row, { status: 'queued', responder: 'agent', held_by: null, held_name: null, queued_at })
}

/** What a person writes. */
export interface Written {
  /** The message's id. */
  readonly id: string
  readonly text?: string
  readonly data?: Readonly<Record<string, unknown>>
}

/**
 * A person answers: all that was asked until then.
 * @throws PoppyError as {@link requireHeld}
 */
export function replied(row: ConversationRow, staff: Staff, written: Written): Decision {
  requireHeld(row, staff)
  return { set: { answered: row.asked }, events: [personSays(written)] }
}

/**
 * Hands it back to the Company Agent, with a last word where there is one. What nobody has answered is its next turn's.
 * @throws PoppyError as {@link requireHeld}
 */
export function handedBack(
  row: ConversationRow,
  { staff, now, last }: { readonly staff: Staff; readonly now: number; readonly last?: Written | undefined },
): Decision {
  requireHeld(row, staff)
  const isAnswered = last !== undefined || row.answered >= row.asked
  return decision(
    row,
    {
      status: isAnswered ? 'idle' : 'working',
      responder: 'agent',
      held_by: null,
      held_name: null,
      queued_at: null,
      queue_reason: null,
      answered: isAnswered ? row.asked : row.answered,
      turn_due_at: isAnswered ? null : now,
    },
    { before: last === undefined ? [] : [personSays(last)] },
  )
}

/**
 * A person asks for a sign-in, or for more of one (7.11), and says so in a message, for a User who sees only those.
 * @throws PoppyError as {@link requireHeld}
 */
export function signInAsked(
  row: ConversationRow,
  staff: Staff,
  asked: {
    readonly error: 'sign_in_required' | 'insufficient_scope'
    readonly scope: string | undefined
    readonly message: Written
  },
): Decision {
  requireHeld(row, staff)
  const { error, scope, message } = asked
  return {
    set: {},
    events: [{ type: 'authorization', error, ...(scope === undefined ? {} : { scope }) }, personSays(message)],
  }
}

/**
 * Tells what a member of staff proposed (Operations 4.3), once for its key. Where they lost the conversation over it, it is told all
 * the same, and nobody is said to be there who isn't.
 * @throws PoppyError `conversation_closed`
 */
export function proposed(
  row: ConversationRow,
  staff: Staff,
  { id, key, operation }: { readonly id: string; readonly key: string; readonly operation: WireOperation },
): Decision {
  refuseClosed(row)
  const sender = row.held_by === staff.id ? 'human' : 'agent'
  const message = { id, role: 'company', sender, text: operation.summary, operation } as const
  return {
    set: sender === 'human' ? { answered: row.asked } : {},
    events: [{ type: 'message', message, writtenFor: key }],
  }
}

/** 7.8: only what a member of staff says is a person's. */
function personSays({ id, text, data }: Written): NewEvent {
  return {
    type: 'message',
    message: {
      id,
      role: 'company',
      sender: 'human',
      ...(text === undefined ? {} : { text }),
      ...(data === undefined ? {} : { data }),
    },
  }
}

import { decision, requireNotClosed } from './conversation.ts'
import type { ConversationRow, ConversationSet, Decision, NewEvent } from './row.ts'

/** 7.9: somebody of the company is asked for, comes, or doesn't. Rules alone: rows and a moment in, a change out. */

/** Whether somebody of the company will take a conversation over, and if not, what the User's side is told. */
export type WhoComes = { readonly comes: true } | { readonly comes: false; readonly text: string }

/**
 * Somebody is asked for, by either side: the conversation waits in the queue, or is told at once that nobody comes. One that
 * waits already, or has a person, stays as it is: null. The Company Agent may ask while a Direct Conversation is open beside it;
 * that the Personal Agent may not is for whoever asks in its name (7.10).
 * @throws PoppyError `conversation_closed`
 */
export function handedOff(
  row: ConversationRow,
  {
    now,
    who,
    reason,
    messageId,
  }: {
    /** Milliseconds since 1970. */
    readonly now: number
    readonly who: WhoComes
    /** For the staff alone. */
    readonly reason?: string | undefined
    /** The id of the message that says that nobody comes. */
    readonly messageId: string
  },
): Decision | null {
  requireNotClosed(row)
  if (row.status === 'queued' || row.responder === 'human') return null
  // A turn that runs goes on: what was asked is answered, though by nobody else.
  if (!who.comes) return { set: {}, events: [agentSays(messageId, who.text)] }
  // From here on a person is meant to answer: what a turn still says comes too late.
  return decision(row, {
    status: 'queued',
    queued_at: now,
    queue_reason: reason ?? null,
    ...turnStopped(row),
  })
}

/** Nobody took it in time (7.9): it is the Company Agent's again, which says why. Nothing is left to answer. */
export function nobodyCame(
  row: ConversationRow,
  { text, messageId }: { readonly text: string; readonly messageId: string },
): Decision {
  return decision(
    row,
    { status: 'idle', queued_at: null, queue_reason: null, answered: row.asked },
    { before: [agentSays(messageId, text)] },
  )
}

/** Ends the right to write of a turn that runs or is due. What it was to answer is another turn's, should there be one. */
export function turnStopped(row: ConversationRow): ConversationSet {
  return { turn_due_at: null, runner: row.runner + 1, attempts: 0 }
}

/** A message that the library writes in the Company Agent's name. */
function agentSays(id: string, text: string): NewEvent {
  return { type: 'message', message: { id, role: 'company', sender: 'agent', text } }
}

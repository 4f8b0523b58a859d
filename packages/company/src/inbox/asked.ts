import type { WireEvent } from '@poppyseed/protocol'
import { sideOf } from '../conversations/last-messages.ts'
import type { ConversationRecord } from '../conversations/staff-view.ts'
import { inPlainSight } from '../operations/terms.ts'
import type { Reader } from './parts.ts'
import { readable, readableLine } from './readable.ts'
import type { ConversationView, OperationCard } from './view.ts'

/** What stands on top of a conversation: what is asked, in the words in which it was, and which decision is wanted. */

/** Characters of what is asked: all of it is in the history. */
const longest = 2_000

/**
 * The last message of the other side that no person answered yet; null where nothing is asked.
 * @param events the newest, oldest first
 */
export function askedOf(
  conversation: Pick<ConversationRecord, 'status' | 'responder' | 'isUnanswered'>,
  events: readonly WireEvent[],
  { style }: Pick<Reader, 'style'>,
): ConversationView['asked'] {
  if (conversation.status === 'closed') return null
  // The Company Agent's "I get you a person" answers nothing of what a person is wanted for.
  const wantsPerson = conversation.status === 'queued' || conversation.responder === 'human'
  if (!wantsPerson && !conversation.isUnanswered) return null
  for (const event of events.toReversed()) {
    if (event.type !== 'message') continue
    const { message } = event
    if (message.role === 'company') {
      if (message.sender === 'human' && !conversation.isUnanswered) return null
      continue
    }
    const text = message.text ?? (message.data && readableLine(readable(message.data, style), longest)) ?? ''
    if (text === '') continue
    return {
      text: inPlainSight(text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}…`),
      by: sideOf(message),
      isPerson: message.sender === 'human',
      at: Date.parse(event.created_at),
    }
  }
  return null
}

/** Why a person is wanted, until one has answered; else a proposal that waits, or a right that was asked for and isn't there. Null for neither. */
export function decisionOf(
  conversation: Pick<ConversationRecord, 'status' | 'waitingFor'>,
  events: readonly WireEvent[],
  open: {
    readonly operations: ReadonlyMap<string, OperationCard>
    /** What {@link askedOf} gave. */
    readonly asked: ConversationView['asked']
    /** Scopes that are granted now; null where the User is signed out. */
    readonly granted: readonly string[] | null
  } & Pick<Reader, 'wording'>,
): string | null {
  if (conversation.status === 'closed') return null
  const isWanted = conversation.status === 'queued' || open.asked !== null
  if (conversation.waitingFor !== null && isWanted) {
    const reason = inPlainSight(conversation.waitingFor)
    // What stands above it already isn't said twice.
    if (open.asked === null || !saysAlready(open.asked.text, reason)) return reason
  }
  for (const event of events.toReversed()) {
    if (event.type === 'message' && event.message.operation !== undefined) {
      const operation = open.operations.get(event.message.operation.operation_id)
      if (operation?.state !== 'proposed') continue
      return `${open.wording.say('inbox.operation.proposed')}: ${operation.summary}`
    }
    if (event.type !== 'authorization') continue
    const needed = (event.scope ?? '').split(' ').filter((scope) => scope !== '')
    const { granted } = open
    if (granted !== null && needed.every((scope) => granted.includes(scope))) continue
    const word = event.error === 'sign_in_required' ? 'sign-in' : 'scope'
    const rights = needed.map((scope) => open.wording.scope(scope).text).join(', ')
    return [open.wording.say(`inbox.authorization.${word}`), rights].filter((text) => text !== '').join(': ')
  }
  return null
}

/** Whether a reason is among the sentences of a text, however it is spaced and however it ends. */
function saysAlready(text: string, reason: string): boolean {
  const [all, one] = [text, reason].map((words) => words.replace(/\s+/g, ' ').trim().toLowerCase()) as [string, string]
  const sentence = one.replace(/[\s.!?…]+$/, '')
  const at = all.indexOf(sentence)
  return sentence !== '' && at >= 0 && /(?:^|[.!?:…–-] ?)$/.test(all.slice(0, at))
}

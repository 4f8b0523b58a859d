import { AgentError } from '../errors.ts'
import type { OperationParts } from '../operations/desk.ts'
import { type Conversation, type ConversationRoom, conversationOf, openStarted } from './conversation.ts'
import { checkConversationId } from './desk.ts'
import {
  agentContent,
  type ConversationContext,
  contextContent,
  type OutgoingMessage,
  ownersContent,
} from './message.ts'
import { openOutbox, type UnsentMessage } from './outbox.ts'
import { conversationRecords, heed, type KnownConversation } from './records.ts'

/** The conversations of one Session (7). */

/** What became of a message that was sent again. */
export interface ResumedMessage {
  readonly id: string
  /** Where it was said; undefined where that couldn't be found out. */
  readonly conversation: Conversation | undefined
  readonly error: AgentError | undefined
}

/** Talks with a Company. A conversation belongs to the User, then to the account: any Session of the same continues it. */
export interface SessionConversations {
  /**
   * Starts a conversation with what the agent says (7.3). Kept before it is sent: where this ends in `unreachable` or the
   * like, the same once more, or {@link SessionConversations.resumeSending}, opens no second one.
   * @throws AgentError `invalid_input`, `conversations_unavailable`, and what any call may end in
   */
  readonly start: (
    message: string | OutgoingMessage,
    options?: { readonly signal?: AbortSignal },
  ) => Promise<Conversation>
  /** Starts one with the owner's own words (7.8). */
  readonly startAsUser: (
    words: string,
    options?: { readonly signal?: AbortSignal; readonly context?: ConversationContext },
  ) => Promise<Conversation>
  /** Goes on with one, after a restart too. Asks nobody: one that the Company doesn't know is found out when it is used. */
  readonly open: (id: string) => Promise<Conversation>
  /** Those that this agent knows of at this account, as last heard; asks nobody. */
  readonly list: () => Promise<readonly KnownConversation[]>
  /** Messages of which it isn't known what became of them: a process died, or the Company couldn't be reached. */
  readonly unsent: () => Promise<readonly UnsentMessage[]>
  /** After a restart: sends those again, each with the ID that it had (7.3), so that nothing is said twice. */
  readonly resumeSending: (options?: { readonly signal?: AbortSignal }) => Promise<readonly ResumedMessage[]>
  /** Doesn't send one of them again. It may have been said all the same. */
  readonly discard: (messageId: string) => Promise<void>
}

/** Makes the conversations of a Session. */
export function createConversations(parts: OperationParts): SessionConversations {
  const openRoom = async (): Promise<ConversationRoom> => {
    const found = await parts.find()
    const place = { ...parts.tokens.place, company: found.name, domain: found.domain, address: parts.address }
    return { parts, records: conversationRecords(parts.context, place), outbox: openOutbox(parts) }
  }
  const first = { conversation: null, parent: null }
  return {
    start: async (message, { signal } = {}) => {
      const content = agentContent(message)
      const room = await openRoom()
      const sent = await room.outbox.send(first, content, { signal })
      return openStarted(room, sent.conversationId, sent, null)
    },
    startAsUser: async (words, { signal, context } = {}) => {
      const facts = context === undefined ? {} : { context: contextContent(context).context }
      const content = { ...ownersContent(words), ...facts }
      const room = await openRoom()
      const sent = await room.outbox.send(first, content, { signal })
      return openStarted(room, sent.conversationId, sent, null)
    },
    open: async (id) => {
      const room = await openRoom()
      const record = await room.records.get(checkConversationId(id))
      return conversationOf(room, id, record ?? room.records.blank())
    },
    list: async () => (await openRoom()).records.list(),
    unsent: async () => openOutbox(parts).list(),
    resumeSending: async ({ signal } = {}) => {
      const room = await openRoom()
      const resumed: ResumedMessage[] = []
      const waiting = new Map<string, AgentError>()
      for (const { id, conversationId, parentId } of await room.outbox.list()) {
        const before = conversationId === undefined ? undefined : waiting.get(conversationId)
        if (before !== undefined) {
          // Not before what was said before it.
          resumed.push({ id, conversation: undefined, error: before })
          continue
        }
        try {
          const sent = await room.outbox.sendKept(id, { signal })
          if (!sent) continue
          const parent = (await room.records.get(sent.conversationId))?.parent ?? null
          const conversation = await openStarted(
            room,
            sent.conversationId,
            sent,
            conversationId === undefined ? (parentId ?? null) : parent,
          )
          resumed.push({ id, conversation, error: undefined })
        } catch (error) {
          signal?.throwIfAborted()
          if (!(error instanceof AgentError)) throw error
          if (conversationId !== undefined) {
            await heed(room.records, conversationId, error)
            const isLeft = (await room.outbox.list()).some((each) => each.id === id)
            if (isLeft) waiting.set(conversationId, error)
          }
          resumed.push({ id, conversation: undefined, error })
        }
      }
      return resumed
    },
    discard: async (messageId) => openOutbox(parts).discard(messageId),
  }
}

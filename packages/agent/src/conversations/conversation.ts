import type { ConversationStatus, Speaker, WireStanding } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import { cleanLines } from '../net/text.ts'
import type { OperationParts } from '../operations/desk.ts'
import { noteOperation } from '../operations/operations.ts'
import { checkConversationId, postTo } from './desk.ts'
import { type AuthorizationOutcome, type ConversationEvent, eventOf, type UserOutcome } from './event.ts'
import {
  agentContent,
  type ConversationContext,
  type ConversationStanding,
  contextContent,
  type OutgoingMessage,
  ownersContent,
  type WireContent,
} from './message.ts'
import type { Outbox } from './outbox.ts'
import { openPosition } from './position.ts'
import { type Reading, readings } from './reading.ts'
import { type ConversationRecord, type ConversationRecords, heed } from './records.ts'
import { awaitReply, type ConversationReply, type ReplyOptions } from './reply.ts'
import { type AskToSignIn, type AuthorizationNeed, stepUp } from './step-up.ts'

/** One conversation (7), as whoever uses this library holds it. */

/** What the owner is asked where the Company wants to talk with them (7.10). */
export interface UserRequest {
  /** The Company's words. */
  readonly reason: string
  readonly signal: AbortSignal | undefined
}

/** The owner's answer: their first words, and a Direct Conversation begins; or what the agent says to decline. */
export type UserAnswer = { readonly words: string } | { readonly decline: string }

/** Who is asked while a conversation goes on. */
export interface OwnerCallbacks {
  /** Signs in where the Company needs the account and no Account Token does (7.11). Without it that is told in the event. */
  readonly signIn?: AskToSignIn
  /** Asks the owner whether they talk with the Company (7.10). Without it that is told in the event. */
  readonly onUser?: (request: UserRequest) => Promise<UserAnswer>
}

/** How a conversation is followed. */
export interface FollowOptions extends OwnerCallbacks {
  readonly signal?: AbortSignal
}

/** How a message is sent. */
export interface SendOptions {
  readonly signal?: AbortSignal
  /** Facts about the owner's situation that go along. */
  readonly context?: ConversationContext
}

/** What became of a message: where the conversation stands now. */
export interface SentMessage extends ConversationStanding {
  readonly id: string
}

/** A conversation. It outlasts the Session and the process: `session.conversations.open(id)` goes on with it. */
export interface Conversation {
  readonly id: string
  /** The conversation before it, for a Direct Conversation (7.10): then only the owner's own words are sent. */
  readonly parentId: string | undefined
  /** As last heard (7.7). */
  readonly status: ConversationStatus
  readonly responder: Speaker
  /**
   * Sends what the agent says. `sender` is `agent`; the owner's own words go by {@link Conversation.sendAsUser} alone.
   * Kept before it is sent, so nothing is said twice: where this ends in `unreachable` or the like, the same once more, or
   * `session.conversations.resumeSending`, is a retry of the same message.
   * @throws AgentError `invalid_input`, `conversation_closed`, `direct_conversation_open`, and what any call may end in
   */
  readonly send: (
    message: string | OutgoingMessage,
    options?: { readonly signal?: AbortSignal },
  ) => Promise<SentMessage>
  /** Sends the owner's own words as they wrote them, with `sender: "human"` (7.8). Never a summary or a translation. */
  readonly sendAsUser: (words: string, options?: SendOptions) => Promise<SentMessage>
  /** Says what changed in the owner's situation and nothing else (7.4), such as that they have gone. */
  readonly context: (facts: ConversationContext) => Promise<SentMessage>
  /**
   * What happens, from the last event that was handled on: by stream where the Company streams, else by long poll, through
   * broken connections and ended tokens, until the conversation is closed. An event counts as handled, for good, when the next
   * is asked for; whoever leaves the loop with one in hand gets it again, or says {@link Conversation.handled}. One at a time
   * reads a conversation in a process, by this or by `reply` and `answer`, whichever object it has of it: the next one begins
   * when that has ended, or its signal has stopped it.
   * @throws AgentError `invalid_input` while another one reads, an error where it can't go on, or the signal's own reason
   */
  readonly follow: (options?: FollowOptions) => AsyncIterableIterator<ConversationEvent>
  /** That an event was handled: for whoever leaves the loop of {@link Conversation.follow} afterwards. */
  readonly handled: (event: ConversationEvent) => Promise<void>
  /** Sends and waits until the Company's turn is over: the simple way. What it gives counts as handled. */
  readonly reply: (message: string | OutgoingMessage, options?: ReplyOptions) => Promise<ConversationReply>
  /** The same for the owner's own words. */
  readonly replyToUser: (words: string, options?: ReplyOptions) => Promise<ConversationReply>
  /**
   * Waits until the Company's turn is over, such as after `start`, and gives what wasn't handled yet. Where it is over already
   * it gives that at once; what may come of itself, such as the outcome of an operation, is for {@link Conversation.follow}.
   */
  readonly answer: (options?: ReplyOptions) => Promise<ConversationReply>
  /**
   * Does what an `authorization` event asks for (7.11): the Account Token first, else `signIn`; then it tells the Company to go
   * on. Asks for the same no second time after a no, nor for what was given.
   */
  readonly authorize: (
    event: AuthorizationNeed,
    options?: { readonly signIn?: AskToSignIn; readonly message?: string | OutgoingMessage },
  ) => Promise<AuthorizationOutcome>
  /** Asks for a person at the Company (7.9). Messages may be sent meanwhile; closing cancels it. */
  readonly handoff: (options?: { readonly signal?: AbortSignal }) => Promise<ConversationStanding>
  /** Closes it (7.12). What it started, such as an operation, goes on. */
  readonly close: (options?: { readonly signal?: AbortSignal }) => Promise<ConversationStanding>
  /** Starts a Direct Conversation (7.10) with the owner's first words. This one waits until that is closed. */
  readonly direct: (words: string, options?: SendOptions) => Promise<Conversation>
  /** Says that the owner won't talk with the Company, or can't (7.10). */
  readonly declineUser: (text?: string) => Promise<SentMessage>
}

/** What a conversation works with. */
export interface ConversationRoom {
  readonly parts: OperationParts
  readonly records: ConversationRecords
  readonly outbox: Outbox
}

const goOn = 'The user has signed in. Please go on.'
const notNow = 'The user can’t talk with you themselves right now.'

/** Makes a conversation of its record. */
export function conversationOf(room: ConversationRoom, id: string, record: ConversationRecord): Conversation {
  const { parts, records, outbox } = room
  const isDirect = record.parent !== null
  let standing: ConversationStanding = { status: record.status, responder: record.responder }
  const { userKey, issuer, account } = parts.tokens.place
  const read = (signal: AbortSignal | undefined) =>
    parts.context.readers.take(JSON.stringify([userKey, issuer, account, id]), signal)

  const stands = async ({ status, responder }: WireStanding | ConversationStanding): Promise<ConversationStanding> => {
    standing = { status, responder }
    const kept = await records.get(id)
    if (kept?.status !== status || kept.responder !== responder || kept.isUnknown)
      await records.note(id, () => ({ ...standing, isUnknown: false }))
    return standing
  }
  const heeding = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      await heed(records, id, error)
      if (error instanceof AgentError && error.code === 'conversation_closed')
        standing = { ...standing, status: 'closed' }
      throw error
    }
  }
  const deliver = async (content: WireContent, signal?: AbortSignal): Promise<SentMessage> => {
    const sent = await heeding(() => outbox.send({ conversation: id, parent: null }, content, { signal }))
    return { id: sent.messageId, ...(await stands(sent)) }
  }
  const agentsOwn = (message: string | OutgoingMessage): WireContent => {
    const content = agentContent(message)
    if (isDirect && (content.text !== undefined || content.data !== undefined)) {
      // 7.10: the User sees it and takes part
      throw new AgentError('invalid_input', 'A Direct Conversation is the owner’s own: send their words by sendAsUser.')
    }
    return content
  }
  const inTheirWords = (words: string, facts?: ConversationContext): WireContent => {
    const content = ownersContent(words)
    return facts === undefined ? content : { ...content, ...{ context: contextContent(facts).context } }
  }

  /** An event in our words, once it is seen to: what it proposes is kept, and who has to be asked was asked. */
  const seeTo = async (
    { wire, operation }: Extract<Reading, { readonly kind: 'event' }>,
    { signIn, onUser }: OwnerCallbacks,
    signal: AbortSignal | undefined,
  ): Promise<ConversationEvent> => {
    // 7.4, Operations 4: known from now on; nothing that stands in a message confirms it
    const proposed = operation === undefined ? undefined : await noteOperation(parts, { operation }, undefined, false)
    // A stream may outlast the token that it was opened with, whose echo it was looked through for.
    const event = await eventOf(await parts.tokens.redact(wire), proposed, {
      authorize: (need) => conversation.authorize(need, signIn ? { signIn } : {}),
      askUser: async (reason) => (onUser ? askUser(reason, onUser, signal) : undefined),
    })
    if (event.type === 'state') await stands(event)
    return event
  }

  const askUser = async (
    reason: string,
    onUser: NonNullable<OwnerCallbacks['onUser']>,
    signal: AbortSignal | undefined,
  ): Promise<UserOutcome> => {
    const answer = await onUser({ reason, signal })
    signal?.throwIfAborted()
    if ('words' in answer) return { result: 'direct', conversation: await conversation.direct(answer.words) }
    await conversation.declineUser(answer.decline)
    return { result: 'declined' }
  }

  async function* follow({
    signal,
    ...callbacks
  }: FollowOptions = {}): AsyncGenerator<ConversationEvent, void, undefined> {
    const leave = read(signal)
    try {
      const position = await openPosition(records, id)
      for await (const reading of readings(parts, id, position, {
        signal,
        wantsStream: standing.status !== 'closed',
      })) {
        // Whoever was stopped gives nothing any more: somebody else may be reading.
        signal?.throwIfAborted()
        if (reading.kind === 'event') {
          yield await seeTo(reading, callbacks, signal)
          // 7.5: after it was handled
          await position.handled(reading.wire.id)
        } else if (reading.kind === 'standing') await stands(reading.standing)
        // An error that is ours stays one: what it is told of was looked through when it came.
        else if (reading.kind === 'lost') yield ourWords(reading)
        else yield await parts.tokens.redact(ourWords(reading))
      }
    } catch (error) {
      await heed(records, id, error)
      throw error
    } finally {
      leave()
    }
  }

  const replying = async (content: WireContent | undefined, options: ReplyOptions = {}) => {
    const leave = read(options.signal)
    try {
      return await heeding(() => awaitReply({ room, id, content, stands, seeTo }, options))
    } finally {
      leave()
    }
  }

  const conversation: Conversation = {
    id,
    parentId: record.parent ?? undefined,
    get status() {
      return standing.status
    },
    get responder() {
      return standing.responder
    },
    send: async (message, { signal } = {}) => deliver(agentsOwn(message), signal),
    sendAsUser: async (words, { signal, context } = {}) => deliver(inTheirWords(words, context), signal),
    context: async (facts) => deliver(contextContent(facts)),
    follow,
    handled: async (event) => {
      if ('id' in event) await records.handled(id, [event.id], event.id)
    },
    reply: async (message, options) => replying(agentsOwn(message), options),
    replyToUser: async (words, options) => replying(inTheirWords(words), options),
    answer: async (options) => replying(undefined, options),
    authorize: async (event, { signIn, message = goOn } = {}) => {
      const { isAnswered, ...outcome } = await stepUp(parts, records, id, event, signIn)
      // 7.11: the same conversation, with the new token. In a Direct Conversation it goes with the owner's next words.
      if (outcome.result === 'continued' && !isAnswered && !isDirect) await deliver(agentContent(message))
      return outcome
    },
    handoff: async ({ signal } = {}) => stands(await heeding(() => postTo(parts, id, 'handoff', {}, { signal }))),
    close: async ({ signal } = {}) => stands(await heeding(() => postTo(parts, id, 'close', {}, { signal }))),
    direct: async (words, { signal, context } = {}) => {
      const content = inTheirWords(words, context)
      const start = () => outbox.send({ conversation: null, parent: id }, content, { signal })
      // 7.10: a Direct Conversation is no parent, and a Company says so as if it didn't know it
      const sent = await (isDirect ? start() : heeding(start))
      return openStarted(room, sent.conversationId, sent, id)
    },
    declineUser: async (text = notNow) => deliver(agentsOwn(text)),
  }
  return conversation
}

/** A conversation that was just started. */
export async function openStarted(
  room: ConversationRoom,
  id: string,
  { status, responder }: ConversationStanding,
  parent: string | null,
): Promise<Conversation> {
  const record = await room.records.note(checkConversationId(id), () => ({ status, responder, parent }))
  return conversationOf(room, id, record)
}

function ourWords(reading: Exclude<Reading, { readonly kind: 'event' | 'standing' }>): ConversationEvent {
  switch (reading.kind) {
    case 'delta':
      return { type: 'delta', messageId: reading.messageId, provisionalText: cleanLines(reading.text) }
    case 'dropped':
      return { type: 'deltasDropped', messageIds: reading.messageIds }
    case 'missing':
      return { type: 'missing', reason: reading.reason }
    case 'lost':
      return { type: 'connectionLost', error: reading.error }
    case 'back':
      return { type: 'connectionBack' }
  }
}

import type { CompanyAgent } from '../company-agent/turn.ts'
import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import { type CheckedPeople, checkPeople, type PeopleConfig } from './people-settings.ts'
import { type CheckedStreams, checkStreams, type StreamSettings } from './stream-settings.ts'
import { type CheckedTurn, checkTurn, type TurnConfig } from './turn-settings.ts'

/** The settings for conversations (7). */
export interface ConversationsConfig {
  /** The company's own agent, the Company Agent: a generator that is run once for each turn of a conversation. */
  readonly agent?: CompanyAgent
  /** Conversations: there are some where this or `agent` is set. */
  readonly conversations?: ConversationSettings
}

/** What a company may set about conversations. */
export interface ConversationSettings extends PeopleConfig, TurnConfig {
  /** Makes the conversations endpoint a service with tokens of its own (4.3): an absolute URI. */
  readonly resource?: string
  /** How many conversations one User may have open at once: 100 when left out. */
  readonly open?: number
  /** How events are streamed (7.6): as it is usual when left out, and not at all with `false`. */
  readonly streams?: StreamSettings | boolean
}

/** {@link ConversationsConfig}, once it is known to be right. */
export interface CheckedConversations extends CheckedPeople, CheckedTurn {
  readonly resource: string | undefined
  readonly open: number
  /** Null where nothing is streamed. */
  readonly streams: CheckedStreams | null
}

/** What stands below a conversation's id, each a path of the endpoint (7.2). */
export const conversationWords = ['messages', 'events', 'handoff', 'close'] as const

const standardOpen = 100

/**
 * Null where there are no conversations.
 * @throws ConfigurationError with a sentence that says what to write
 */
export function checkConversations({ agent, conversations }: ConversationsConfig): CheckedConversations | null {
  if (agent !== undefined && typeof agent !== 'function')
    throw wrong('`agent` is a generator that answers one turn: agent: async function* (turn) { … }.')
  if (conversations === undefined) return agent === undefined ? null : checked({})
  if (!isPlain(conversations))
    throw wrong("Write conversations: { resource: 'https://…' }, or {} for conversations as they are.")
  refuseUnknown('conversations', conversations, ['resource', 'open', 'people', 'inactivity', 'streams', 'turn'])
  return checked(conversations)
}

function checked({
  resource,
  open = standardOpen,
  streams,
  turn,
  ...people
}: ConversationSettings): CheckedConversations {
  if (!Number.isInteger(open) || open < 1 || open > 10_000)
    throw wrong(`\`conversations.open\` is a whole number from 1 to 10000, such as ${standardOpen}.`)
  const checkedTurn = checkTurn(turn === undefined ? {} : { turn })
  return { resource, open, streams: checkStreams(streams), ...checkPeople(people), ...checkedTurn }
}

import {
  type ConversationStatus,
  conversationLimits,
  isJsonObject,
  isLocale,
  isTimeZone,
  type Speaker,
  type WireAgentMessage,
  type WireContext,
} from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'

/** What a Personal Agent says in a conversation (7.4, 7.8), checked before anything is sent. */

/** Facts about the owner's situation (7.4). Share what the task needs, and no more. What is left out stays as it was. */
export interface ConversationContext {
  /** A language tag such as `en-US` (RFC 5646), for the language and formatting of replies. */
  readonly locale?: string
  /** An IANA time zone name such as `America/Los_Angeles`. */
  readonly timeZone?: string
  /** Whether the owner can answer questions right now. */
  readonly userAvailable?: boolean
  /** Other facts, such as accessibility needs or preferred units, by names of your own. A Company may ignore them. */
  readonly other?: Readonly<Record<string, unknown>>
}

/**
 * What the agent says itself: `sender` is `agent`, always. A summary, a paraphrase or a translation of what the owner said is
 * the agent's too (7.8). At least one of the three.
 */
export interface OutgoingMessage {
  readonly text?: string
  /** Details that would otherwise need markup to fit in a sentence: a JSON object. */
  readonly data?: Readonly<Record<string, unknown>>
  readonly context?: ConversationContext
}

/** Where a conversation stands (7.7). */
export interface ConversationStanding {
  readonly status: ConversationStatus
  /** Who handles the Company's side: an AI (`agent`) or a person (`human`). */
  readonly responder: Speaker
}

/** A message without its ID. */
export type WireContent = Omit<WireAgentMessage, 'id'>

/** The agent's own message. @throws AgentError `invalid_input` */
export function agentContent(message: string | OutgoingMessage): WireContent {
  const given: unknown = typeof message === 'string' ? { text: message } : message
  if (!isJsonObject(given)) throw invalid('A message is a text, or an object with text, data or context.')
  const { text, data, context } = given
  if (text !== undefined) checkText(text)
  if (text !== undefined && isMarkup(String(text)))
    throw invalid('JSON has no place in text: give it as data, and say in text what it is about.')
  const content = {
    sender: 'agent' as const,
    ...(text === undefined ? {} : { text: String(text) }),
    ...(data === undefined ? {} : { data: checkData(data) }),
    ...(context === undefined ? {} : { context: wireContext(context) }),
  }
  if (text === undefined && data === undefined && context === undefined)
    throw invalid('A message needs at least one of text, data and context.')
  return content
}

/** The owner's own words, as they were written (7.8). @throws AgentError `invalid_input` */
export function ownersContent(words: string): WireContent {
  checkText(words)
  return { sender: 'human', text: words }
}

/** Facts alone: they update what the Company knows and say nothing else (7.4). @throws AgentError `invalid_input` */
export function contextContent(facts: ConversationContext): WireContent {
  return { sender: 'agent', context: wireContext(facts) }
}

function checkText(text: unknown): void {
  if (typeof text !== 'string' || text.trim() === '') throw invalid('The text of a message is empty.')
  if (text.length > conversationLimits.text)
    throw invalid(`The text of a message has at most ${conversationLimits.text} characters.`)
}

/** Whether a text is JSON and not words. */
function isMarkup(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

function checkData(data: unknown): Record<string, unknown> {
  return bounded(data, conversationLimits.data, 'data')
}

/** What can be sent as JSON, whole, and no more than a Company will take. */
function bounded(value: unknown, most: number, name: string): Record<string, unknown> {
  if (!isJsonObject(value)) throw invalid(`${name} is a JSON object.`)
  let text: string
  try {
    text = JSON.stringify(value)
  } catch {
    throw invalid(`${name} holds something that is no JSON.`)
  }
  if (Buffer.byteLength(text) > most) throw invalid(`${name} has at most ${Math.round(most / 1024)} KB.`)
  const plain: unknown = JSON.parse(text)
  if (depthOf(plain) > conversationLimits.depth - 2) throw invalid(`${name} is nested too deeply.`)
  return plain as Record<string, unknown>
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

/** Names of 7.4, and those that somebody might mean by them: each of the three has one place. */
const reserved = /^(?:locale|lang|language|time[-_ ]?zone|tz|user[-_ ]?available)$/i

/** 7.4: the three that are defined, in their fields and formats. */
function wireContext(facts: unknown): WireContext {
  if (!isJsonObject(facts)) throw invalid('context is an object.')
  const { locale, timeZone, userAvailable, other = {}, ...unknown } = facts
  const [strange] = Object.keys(unknown)
  if (strange !== undefined)
    throw invalid(`context has no "${strange}": facts other than locale, timeZone and userAvailable go into other.`)
  if (locale !== undefined && !(typeof locale === 'string' && isLocale(locale)))
    throw invalid('locale is a language tag such as en-US.')
  if (timeZone !== undefined && !(typeof timeZone === 'string' && isTimeZone(timeZone)))
    throw invalid('timeZone is the name of a time zone, such as America/Los_Angeles.')
  if (userAvailable !== undefined && typeof userAvailable !== 'boolean')
    throw invalid('userAvailable is true or false.')
  const others = bounded(other, conversationLimits.context, 'context.other')
  const taken = Object.keys(others).find((name) => reserved.test(name))
  if (taken !== undefined) throw invalid(`"${taken}" doesn't go into context.other: it has a field of its own.`)
  return {
    ...others,
    ...(locale === undefined ? {} : { locale }),
    ...(timeZone === undefined ? {} : { time_zone: timeZone }),
    ...(userAvailable === undefined ? {} : { user_available: userAvailable }),
  }
}

function invalid(message: string): AgentError {
  return new AgentError('invalid_input', message)
}

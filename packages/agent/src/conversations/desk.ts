import {
  conversationStandingSchema,
  eventsPageSchema,
  isId,
  isJsonObject,
  JsonError,
  parseStrictJson,
  type WireStanding,
} from '@poppyseed/protocol'
import { authorisedFetch } from '../apis/authorised-fetch.ts'
import type { FoundCompany } from '../discovery/discover.ts'
import { AgentError, type AgentErrorCode } from '../errors.ts'
import { dateOf } from '../net/clocks.ts'
import { type Fetch, readText } from '../net/exchange.ts'
import { readRetryAfter } from '../net/retry-after.ts'
import { cleanText } from '../net/text.ts'
import type { OperationParts } from '../operations/desk.ts'
import { requireConversations } from './service.ts'

/** The requests of section 7: posts, and reads by long poll or by stream. */

/** A page of events, as far as it can be relied on. */
export interface Page extends WireStanding {
  readonly events: readonly unknown[]
  /** Undefined where the Company left it out. */
  readonly cursor: string | null | undefined
  readonly hasMore: boolean
}

/** What a read gave: a page, or a stream that goes on. */
export type ReadAnswer =
  | { readonly kind: 'page'; readonly page: Page }
  | { readonly kind: 'stream'; readonly body: ReadableStream<Uint8Array> }

/** What a post gave: where the conversation stands and, where `wait` was asked for and is known there, a page. */
export interface PostAnswer extends WireStanding {
  readonly page: Page | undefined
}

/** How a conversation is read. */
export interface ReadOptions {
  readonly cursor: string | null
  /** Asks for a stream; a Company that has none answers with a page. */
  readonly wantsStream: boolean
  /** After a stream has broken: the cursor goes into `Last-Event-ID` (7.6). */
  readonly isReconnect: boolean
  /** Seconds. */
  readonly wait: number
  readonly signal: AbortSignal | undefined
}

/** What of a post differs. */
export interface PostOptions {
  /** Seconds to hold the request for an answer (7.3). */
  readonly wait?: number | undefined
  readonly cursor?: string | null | undefined
  readonly signal?: AbortSignal | undefined
}

const maxBytes = 8 * 1024 * 1024
/** Of a page: each event has a bound of its own, so that one that goes too deep spoils no other. */
const maxDepth = 10_000
const maxValues = 200_000

/** An id as it goes into an address. @throws AgentError `invalid_input` */
export function checkConversationId(id: string): string {
  if (typeof id === 'string' && isId(id)) return id
  throw new AgentError('invalid_input', `"${cleanText(String(id), 80)}" is not the id of a conversation.`)
}

/** Starts a conversation (7.3, 7.10). */
export function postStart(parts: OperationParts, body: object, options: PostOptions): Promise<PostAnswer> {
  return post(parts, undefined, '', body, options)
}

/** A later message, a handoff (7.9) or a close (7.12). */
export function postTo(
  parts: OperationParts,
  id: string,
  verb: 'messages' | 'handoff' | 'close',
  body: object,
  options: PostOptions = {},
): Promise<PostAnswer> {
  return post(parts, id, `/${checkConversationId(id)}/${verb}`, body, options)
}

async function post(
  parts: OperationParts,
  id: string | undefined,
  path: string,
  body: object,
  { wait, cursor, signal }: PostOptions,
): Promise<PostAnswer> {
  const query = queryOf({ cursor: wait === undefined ? null : (cursor ?? null), wait })
  const seconds = parts.context.seconds.call + (wait ?? 0)
  const headers = new Headers({ accept: 'application/json', 'content-type': 'application/json' })
  const sent = { method: 'POST' as const, path, query, headers, body: JSON.stringify(body), signal }
  const { found, response, within } = await send(parts, sent, seconds)
  const stated = await within(() => readAnswer(parts, found, response))
  const standing = standingIn(found, stated, id)
  const page = isJsonObject(stated) && Array.isArray(stated.events) ? pageIn(found, stated, id) : undefined
  return { ...standing, page }
}

/** Whether a Company says that it can't go on from where it was to be read from (7.5): that is no word on anything else. */
export function isCursorGone(error: unknown): boolean {
  return error instanceof AgentError && ['cursor_expired', 'invalid_cursor'].includes(error.companyCode ?? '')
}

/** Reads events (7.5, 7.6). @throws AgentError; {@link isCursorGone} tells one kind of them */
export async function readEvents(
  parts: OperationParts,
  id: string,
  { cursor, wantsStream, isReconnect, wait, signal }: ReadOptions,
): Promise<ReadAnswer> {
  const isByHeader = wantsStream && isReconnect && cursor !== null
  const headers = new Headers({ accept: wantsStream ? 'text/event-stream' : 'application/json' })
  // 7.6: in place of cursor
  if (isByHeader) headers.set('last-event-id', cursor)
  const seconds = parts.context.seconds.call + wait
  const query = queryOf({ cursor: isByHeader ? null : cursor, wait })
  const path = `/${checkConversationId(id)}/events`
  const sent = { method: 'GET' as const, path, query, headers, body: undefined, signal }
  const { found, response, within } = await send(parts, sent, seconds)
  const isStream = /^text\/event-stream *(?:;|$)/i.test(response.headers.get('content-type') ?? '')
  if (wantsStream && isStream && response.status === 200 && response.body) {
    return { kind: 'stream', body: response.body }
  }
  return { kind: 'page', page: pageIn(found, await within(() => readAnswer(parts, found, response)), id) }
}

interface Sent {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly query: string
  readonly headers: Headers
  readonly body: string | undefined
  readonly signal: AbortSignal | undefined
}

/** An answer that has begun. */
interface Begun {
  readonly found: FoundCompany
  readonly response: Response
  /** Reads a body that has an end: it has to come in time, too. */
  readonly within: <T>(work: () => Promise<T>) => Promise<T>
}

/** Sends a request. @param seconds until the answer begins, and then until it ends: a stream has no end */
async function send(parts: OperationParts, request: Sent, seconds: number): Promise<Begun> {
  const { context, tokens } = parts
  const found = await parts.find()
  const { endpoint, base, resource } = requireConversations(found)
  const { method, path, query, headers, body, signal } = request
  let late = new AbortController()
  const within: Begun['within'] = async (work) => {
    const timer = setTimeout(
      () => late.abort(new AgentError('unreachable', `${found.name} did not answer within ${seconds} seconds.`)),
      seconds * 1000,
    )
    try {
      return await work()
    } finally {
      clearTimeout(timer)
    }
  }
  const fetch: Fetch = (url, init) => {
    late = new AbortController()
    const signals = [init.signal, late.signal].filter((one) => one instanceof AbortSignal)
    return within(() => context.fetch(url, { ...init, signal: AbortSignal.any(signals) }))
  }
  const response = await authorisedFetch(
    { ...context, fetch },
    tokens,
    { method, url: `${path === '' ? endpoint : base + path}${query}`, headers, body, signal, seconds: undefined },
    { company: found.name, origin: new URL(endpoint).origin, wanted: { kind: 'dpop', resource } },
  )
  return { found, response, within }
}

function queryOf({ cursor, wait }: { readonly cursor: string | null; readonly wait: number | undefined }): string {
  const query = new URLSearchParams()
  if (cursor !== null) query.set('cursor', cursor)
  if (wait !== undefined) query.set('wait', String(Math.floor(wait)))
  return query.size === 0 ? '' : `?${query}`
}

async function readAnswer({ context }: OperationParts, found: FoundCompany, response: Response): Promise<unknown> {
  const text = await readText(response, maxBytes)
  const stated = parse(text)
  const { status, headers } = response
  if (status < 400) {
    if (!isJsonObject(stated)) throw new AgentError('bad_answer', `${found.name} answered with something unreadable.`)
    return stated
  }
  const { error, error_description: description, conversation_id: conversationId } = isJsonObject(stated) ? stated : {}
  const companyCode = typeof error === 'string' ? error : undefined
  const retryAfter = headers.get('retry-after')
  const details = {
    ...{ status, companyCode },
    ...(retryAfter === null ? {} : { retryAfter: readRetryAfter(retryAfter, dateOf(response) ?? context.now()) }),
    ...(typeof conversationId === 'string' && isId(conversationId) ? { conversationId } : {}),
  }
  if (status >= 500) throw new AgentError('company_error', `${found.name} answered HTTP ${status}.`, details)
  const known = companyCode !== undefined && Object.hasOwn(refusals, companyCode) ? refusals[companyCode] : undefined
  if (known) throw new AgentError(known.code, `${found.name} ${known.words}`, details)
  const said = typeof description === 'string' ? description : companyCode
  throw new AgentError(
    'call_failed',
    said === undefined ? `${found.name} answered HTTP ${status}.` : `${found.name} answered: ${cleanText(said, 500)}`,
    details,
  )
}

/** 7.13. */
const refusals: Readonly<Record<string, { readonly code: AgentErrorCode; readonly words: string }>> = {
  conversation_not_found: { code: 'conversation_not_found', words: 'knows no such conversation of yours.' },
  conversation_closed: { code: 'conversation_closed', words: 'has closed this conversation.' },
  direct_conversation_open: {
    code: 'direct_conversation_open',
    words: 'takes nothing here while you talk with it yourself; close that conversation first.',
  },
  message_id_conflict: { code: 'message_conflict', words: 'already has another message with the same ID.' },
}

function parse(text: string): unknown {
  try {
    return parseStrictJson(text, maxDepth, maxValues)
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** 7.7: status and responder stand in every answer. A later one may leave the id out, and may not have another. */
function standingIn(found: FoundCompany, stated: unknown, id: string | undefined): WireStanding {
  const parsed = conversationStandingSchema.safeParse(stated)
  if (!parsed.success) {
    throw new AgentError('bad_answer', `${found.name} did not say where the conversation stands.`)
  }
  const { conversation_id: given } = parsed.data
  if (id === undefined && given === undefined)
    throw new AgentError('bad_answer', `${found.name} started a conversation without giving its ID.`)
  if (id !== undefined && given !== undefined && given !== id)
    throw new AgentError('bad_answer', `${found.name} answered about another conversation.`)
  return parsed.data
}

function pageIn(found: FoundCompany, stated: unknown, id: string | undefined): Page {
  const standing = standingIn(found, stated, id)
  const parsed = eventsPageSchema.partial({ cursor: true, has_more: true }).safeParse(stated)
  if (!parsed.success) throw new AgentError('bad_answer', `${found.name} sent a page of events that can't be read.`)
  const { events, cursor, has_more: hasMore = false } = parsed.data
  return { ...standing, events, cursor, hasMore }
}

import { conversationLimits, PoppyError } from '@poppyseed/protocol'
import { readJsonObject } from '../http/body.ts'
import { json, jsonText } from '../http/respond.ts'
import type { Handler } from '../http/router.ts'
import type { Authenticator, Need, TokenHolder } from '../sessions/authenticate.ts'
import { requireStillGood } from '../sessions/late-body.ts'
import { type Acceptance, acceptMessage, startConversation } from './accepting.ts'
import { askForPerson } from './asking.ts'
import { closeConversation } from './closing.ts'
import { readCursor } from './cursor.ts'
import { readMessage, readStart } from './message.ts'
import { requireOwner } from './owning.ts'
import type { ConversationParts } from './parts.ts'
import { findOwn, pageText, readEvents } from './reading.ts'
import { callerNow } from './rights-now.ts'
import type { ConversationRow } from './row.ts'
import type { Streams } from './streaming.ts'

/** The endpoint (7.2): conversations over HTTPS, with a DPoP Session Token. */

/** What the endpoint needs. */
export interface ConversationsEndpoint {
  readonly parts: ConversationParts
  /** Null where nothing is streamed. */
  readonly streams: Streams | null
  readonly authenticator: Pick<Authenticator, 'withEpoch'>
  /** Which tokens it takes (4.3). */
  readonly need: Need
  /** Aborts when the Company begins to close: whoever waits is answered then. */
  readonly ending: AbortSignal
}

/** How an answer is read: not at all for a message without `wait`. */
interface Reading {
  readonly cursor: string | null
  /** Milliseconds; null where there is no `wait`. */
  readonly wait: number | null
}

/** Makes the handlers; all but `start` get the conversation's id. */
export function conversationHandlers(
  endpoint: ConversationsEndpoint,
): Readonly<Record<'start' | 'send' | 'read' | 'handoff' | 'close', Handler>> {
  const { parts, streams } = endpoint
  const authenticate = (request: Request): Promise<TokenHolder> =>
    endpoint.authenticator.withEpoch(request, endpoint.need)
  // 4.3, 4.9: the token is looked at before the body, which may be long on its way
  const bodyOf = async (request: Request, holder: TokenHolder) => {
    const since = parts.now()
    const body = await readJsonObject(request, conversationLimits.body, conversationLimits.depth)
    await requireStillGood(holder, { now: parts.now(), since })
    return body
  }

  return {
    async start(request) {
      const caller = await authenticate(request)
      const reading = readQuery(request)
      const start = readStart(await bodyOf(request, caller))
      return answer(request, caller, reading, await startConversation(parts, start, { caller, ...cursorOf(reading) }))
    },

    async send(request, id) {
      const caller = await authenticate(request)
      const row = await findOwn(parts, id, caller.principal)
      const reading = readQuery(request)
      const message = readMessage(await bodyOf(request, caller))
      const acceptance = await acceptMessage(parts, row, { message, caller, ...cursorOf(reading) })
      return answer(request, caller, reading, acceptance)
    },

    async read(request, id) {
      const caller = await authenticate(request)
      const { cursor, wait } = readQuery(request)
      if (streams !== null && asksForStream(request)) return stream(request, id, caller, cursor)
      return jsonText(await readText(request, id, caller, { cursor, wait: wait ?? 0 }))
    },

    async handoff(request, id) {
      const caller = await authenticate(request)
      await findOwn(parts, id, caller.principal)
      await bodyOf(request, caller)
      const { principal } = await callerNow(parts, caller)
      return json(standing(await askForPerson(parts, id, principal)), 202)
    },

    async close(request, id) {
      const caller = await authenticate(request)
      await findOwn(parts, id, caller.principal)
      await bodyOf(request, caller)
      const { principal } = await callerNow(parts, caller)
      const closed = await closeConversation(parts, id, (row) => {
        requireOwner(row, principal)
        return true
      })
      if (closed === null)
        throw new PoppyError('conversation_not_found', { description: 'There is no such conversation.' })
      return json(standing(closed.row))
    },
  }

  /** 7.3: the standing after the message, or with `wait` a read of what came of it; a retry with `wait` reads as well. */
  async function answer(
    request: Request,
    caller: TokenHolder,
    { cursor, wait }: Reading,
    { conversationId, receipt }: Acceptance,
  ): Promise<Response> {
    const { code, status, responder } = receipt
    if (wait === null) return json({ conversation_id: conversationId, status, responder }, code)
    return jsonText(await readText(request, conversationId, caller, { cursor, wait }), code)
  }

  /** 7.6: what keeps it from opening is told as at any read, before it opens. */
  async function stream(request: Request, id: string, caller: TokenHolder, cursor: string | null): Promise<Response> {
    const row = await findOwn(parts, id, caller.principal)
    const after = readCursor(row, request.headers.get('last-event-id') || cursor)
    return (streams as Streams).open(row, after, caller)
  }

  async function readText(
    request: Request,
    id: string,
    reader: TokenHolder,
    { cursor, wait }: { readonly cursor: string | null; readonly wait: number },
  ): Promise<string> {
    const signal = AbortSignal.any([request.signal, endpoint.ending])
    return pageText(await readEvents(parts, id, { reader, cursor, wait, signal }), cursor)
  }
}

/** Whether a read is to be a stream (7.6). Who asks for its head alone gets none that nobody would read. */
function asksForStream({ method, headers }: Request): boolean {
  return (
    method === 'GET' &&
    (headers.get('accept') ?? '')
      .split(',')
      .some((range) => /^text\/event-stream(?!.*;\s*q=0(?:\.0*)?\s*(?:;|$))\s*(?:;.*)?$/i.test(range.trim()))
  )
}

/** Where a conversation stands, as each answer says it (7.7). */
export function standing({ id, status, responder }: Pick<ConversationRow, 'id' | 'status' | 'responder'>) {
  return { conversation_id: id, status, responder }
}

function cursorOf({ cursor, wait }: Reading): { readonly cursor?: string | null } {
  return wait === null ? {} : { cursor }
}

/** @throws PoppyError `invalid_request` for a `wait` that is no number of seconds, and for a parameter that stands there twice */
function readQuery(request: Request): Reading {
  const { searchParams } = new URL(request.url)
  const one = (name: string): string | null => {
    const given = searchParams.getAll(name)
    if (given.length > 1) throw new PoppyError('invalid_request', { description: `${name} stands there twice.` })
    return given[0] ?? null
  }
  const cursor = one('cursor')
  const wait = one('wait')
  if (wait === null) return { cursor, wait: null }
  if (!/^[0-9]{1,9}(\.[0-9]{1,9})?$/.test(wait))
    throw new PoppyError('invalid_request', { description: 'wait is a number of seconds, such as 30.' })
  // 7.5: the Company may cap it
  return { cursor, wait: Math.min(Number(wait), conversationLimits.wait) * 1000 }
}

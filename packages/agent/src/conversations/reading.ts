import {
  isId,
  JsonError,
  parseStrictJson,
  textDeltaEvent,
  textDeltaSchema,
  type WireEvent,
  type WireStanding,
} from '@poppyseed/protocol'
import { AgentError, type AgentErrorCode } from '../errors.ts'
import type { OperationParts } from '../operations/desk.ts'
import { isCursorGone, type Page, type ReadAnswer, readEvents } from './desk.ts'
import { readEvent } from './event.ts'
import { type Frame, readFrames } from './frames.ts'
import type { Position } from './position.ts'

/** Reading a conversation for as long as it lasts (7.5, 7.6): by stream where there is one, else by long poll. */

/** One thing that was read. Who takes an `event` says that it was handled before it asks for the next. */
export type Reading =
  | { readonly kind: 'event'; readonly wire: WireEvent; readonly operation: unknown }
  | { readonly kind: 'delta'; readonly messageId: string; readonly text: string }
  | { readonly kind: 'dropped'; readonly messageIds: readonly string[] }
  | { readonly kind: 'missing'; readonly reason: 'expired' | 'unreadable' }
  /** Reads fail one after the other, and are tried again; `back` once one was answered. */
  | { readonly kind: 'lost'; readonly error: AgentError }
  | { readonly kind: 'back' }
  /** How the conversation stands, as a page says. */
  | { readonly kind: 'standing'; readonly standing: WireStanding }

/** How it is read. */
export interface ReadingOptions {
  readonly signal?: AbortSignal | undefined
  /** False reads by long poll alone. */
  readonly wantsStream?: boolean
}

/** Seconds that a read is held. */
export const longPoll = 30
/** Pauses before another attempt, in milliseconds: at first, and at most. */
const firstPause = 1000
const longestPause = 30_000
/** Without a sign of life of the Company it is given up after so many milliseconds. */
const patience = 15 * 60 * 1000
/** A stream that lasted so long was a good one, and so was a read that was held for so long. Milliseconds. */
const good = 30_000
const held = 3000
/** Answers that nobody can read, or cursors that are refused, one after the other. */
const maxInVain = 5
/** Reads in a row that moved the cursor and brought nothing new, before they are made with pauses. */
const maxVainReads = 100
/** Reads in a row that fail before it is told: one alone is soon mended. */
const toldAfter = 2
/** Streams that brought nothing although there was something: a proxy may hold them back. */
const maxVainStreams = 2

/** What a later attempt may mend. */
const passing: ReadonlySet<AgentErrorCode> = new Set<AgentErrorCode>([
  ...(['unreachable', 'company_error', 'rate_limited', 'store_busy', 'token_refused'] as const),
])

/** Ends when the conversation is closed and all of it was read. @throws AgentError, or the signal's own reason */
export async function* readings(
  parts: OperationParts,
  id: string,
  position: Position,
  { signal, wantsStream = true }: ReadingOptions,
): AsyncGenerator<Reading, void, undefined> {
  const { now, wait, seconds } = parts.context
  const pieces = pieceKeeper()
  let mode: 'stream' | 'poll' = wantsStream ? 'stream' : 'poll'
  // A stream that brought nothing: a page says whether there is nothing to bring.
  let isDoubtful = false
  let vainStreams = 0
  let vainReads = 0
  let isReconnect = false
  let pause = firstPause
  let inVain = 0
  let heardAt = now()
  let failures = 0
  let asked = 0

  for (;;) {
    signal?.throwIfAborted()
    const from = position.cursor()
    const began = now()
    const before = position.count()
    const asStream: boolean = mode === 'stream' && !isDoubtful
    let hasStreamed = false
    let failure: AgentError | undefined
    let isPage = !asStream
    try {
      const isByHeader = asStream && isReconnect && from !== null
      const answer: ReadAnswer = await readEvents(parts, id, {
        ...{ cursor: from, wantsStream: asStream, isReconnect, wait: isDoubtful ? 0 : longPoll, signal },
      })
      heardAt = now()
      const wasLost = failures >= toldAfter
      failures = 0
      if (wasLost) yield { kind: 'back' }
      if (answer.kind === 'page') {
        isPage = true
        if (asStream) mode = 'poll'
        // A Company that doesn't stream looks at no Last-Event-ID: this page may begin anywhere.
        if (isByHeader) continue
        const { page } = answer
        yield* readPage(page, position)
        yield { kind: 'standing', standing: page }
        if (!page.hasMore && page.status === 'closed') return
      } else {
        hasStreamed = true
        const frames = readFrames(answer.body, {
          ...{ silentSeconds: seconds.stream, signal },
          onRetry: (milliseconds) => {
            asked = Math.min(milliseconds, longestPause)
          },
        })
        for await (const frame of frames) {
          heardAt = now()
          for await (const reading of readFrame(frame, position, pieces)) {
            yield reading
            if (reading.kind === 'event' && reading.wire.type === 'state' && reading.wire.status === 'closed') return
          }
        }
      }
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof AgentError)) throw error
      if (from !== null && isCursorGone(error)) {
        // 7.5: from the beginning, and the owner is told
        inVain += 1
        if (inVain > maxInVain) throw error
        await position.restart()
        isReconnect = false
        if (inVain === 1) yield { kind: 'missing', reason: 'expired' }
        continue
      }
      if (!passing.has(error.code) && !(error.code === 'bad_answer' && ++inVain <= maxInVain)) throw error
      failure = error
    }
    isReconnect = true
    const lost = pieces.drop()
    if (lost.length > 0) yield { kind: 'dropped', messageIds: lost }
    const retryAfter = (failure?.retryAfter ?? 0) * 1000
    if (failure && now() - heardAt + retryAfter > patience) throw failure
    if (failure && ++failures === toldAfter) yield { kind: 'lost', error: failure }
    const hasGoneOn = position.cursor() !== from
    const hasBrought = position.count() > before
    if (hasBrought) inVain = 0
    vainReads = hasBrought ? 0 : vainReads + 1
    if (isDoubtful && hasGoneOn && ++vainStreams >= maxVainStreams) mode = 'poll'
    if (asStream && hasGoneOn) vainStreams = 0
    const wasDoubtful = isDoubtful
    isDoubtful = hasStreamed && !hasGoneOn
    if (hasStreamed && now() - began >= good) pause = firstPause
    // The page that is looked at after such a stream comes at once, and the pause after it.
    if (isDoubtful && retryAfter === 0) continue
    const isFine =
      (hasGoneOn && vainReads <= maxVainReads) || (isPage && !failure && !wasDoubtful && now() - began >= held)
    const least = Math.max(asked, retryAfter)
    if (isFine) pause = firstPause
    if (!isFine || least > 0) await wait(isFine ? least : Math.max(pause, least), signal)
    if (!isFine) pause = Math.min(pause * 2, longestPause)
  }
}

/** The events of a page that are new, in their order. */
async function* readPage(page: Page, position: Position): AsyncGenerator<Reading, void, undefined> {
  for (const value of page.events) {
    const event = readEvent(value)
    if (event.id !== undefined && position.wasHandled(event.id)) continue
    if (event.kind === 'known') yield { kind: 'event', wire: event.wire, operation: event.operation }
    else if (event.kind === 'unreadable') yield { kind: 'missing', reason: 'unreadable' }
    if (event.kind !== 'known' && event.id !== undefined) await position.handled(event.id)
  }
  // 7.5: the last event returned. What had no id of its own is behind us with it.
  if (typeof page.cursor === 'string' && page.events.length > 0) await position.reached(page.cursor)
}

/** An event of a stream. */
async function* readFrame(
  { id: frameId, event: name, data }: Frame,
  position: Position,
  pieces: PieceKeeper,
): AsyncGenerator<Reading, void, undefined> {
  const value = parse(data)
  if (name === textDeltaEvent) {
    const { data: delta } = textDeltaSchema.safeParse(value)
    if (delta && pieces.add(delta.message_id)) {
      yield { kind: 'delta', messageId: delta.message_id, text: delta.text }
    }
    return
  }
  const event = readEvent(value)
  const id = event.id ?? (frameId !== undefined && isId(frameId) ? frameId : undefined)
  if (id !== undefined && position.wasHandled(id)) return
  // 7.5, 7.6: an SSE event of another name is one that we don't know
  const isOurs = name === undefined || name === 'message'
  if (isOurs && event.kind === 'known') {
    if (event.wire.type === 'message') pieces.complete(event.wire.message.id)
    yield { kind: 'event', wire: event.wire, operation: event.operation }
    return
  }
  if (isOurs && event.kind === 'unreadable') yield { kind: 'missing', reason: 'unreadable' }
  if (id !== undefined) await position.handled(id)
}

function parse(text: string): unknown {
  try {
    return parseStrictJson(text, 10_000, 100_000)
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** Which messages have come in pieces (7.6). */
interface PieceKeeper {
  /** Whether a piece may be shown: not of a message that is there, or of one whose beginning was lost. */
  readonly add: (messageId: string) => boolean
  readonly complete: (messageId: string) => void
  /** After a break: the unfinished ones, which are not shown any more. */
  readonly drop: () => readonly string[]
}

/** As many messages are written at once, at most; and as many are remembered that are not shown. */
const maxPieces = 100

function pieceKeeper(): PieceKeeper {
  const open = new Set<string>()
  const closed = new Set<string>()
  const close = (messageId: string) => {
    open.delete(messageId)
    closed.add(messageId)
    const [oldest] = closed
    if (closed.size > maxPieces && oldest !== undefined) closed.delete(oldest)
  }
  return {
    add: (messageId) => {
      if (closed.has(messageId) || (open.size >= maxPieces && !open.has(messageId))) return false
      open.add(messageId)
      return true
    },
    complete: close,
    drop: () => {
      const dropped = [...open]
      for (const messageId of dropped) close(messageId)
      return dropped
    },
  }
}

import { PoppyError } from '@poppyseed/protocol'
import type { Ear } from '../changes/changes.ts'
import { blockedAgents } from '../changes/wide-ears.ts'
import { streamResponse } from '../http/event-stream.ts'
import type { ConversationParts } from './parts.ts'
import type { ConversationRow } from './row.ts'
import { ConversationStream, type StreamKeeper } from './stream.ts'
import type { Reader } from './stream-rights.ts'
import type { CheckedStreams } from './stream-settings.ts'
import { endedOf, readDelivery } from './stream-store.ts'

/**
 * Streams of events (7.6), all of an instance kept together: one timer for all, which sends what keeps them alive and closes
 * those that are over, and one look at the store for all whether their sign-ins still are.
 */

/** See {@link createStreams}. */
export interface Streams {
  /**
   * Opens a stream of a conversation's events, after the event of this number.
   * @throws PoppyError `rate_limited` where too many are open already
   */
  readonly open: (row: Pick<ConversationRow, 'id'>, after: number, reader: Reader) => Response
  /** How many are open. */
  readonly size: () => number
}

/** What {@link createStreams} needs. */
export interface StreamsOptions
  extends Pick<ConversationParts, 'scope' | 'now' | 'log' | 'changes' | 'listening' | 'sessionLimits'> {
  readonly settings: CheckedStreams
  /** Aborts when the Company begins to close: streams end then, and their readers go to another instance. */
  readonly ending: AbortSignal
}

/** Milliseconds between two ticks; at most, where the times that are set are shorter. */
const standardTick = 1000
/** In how many ticks each stream is looked at once, and how many are at least looked at in one. */
const ticksToLook = 3
const leastLooked = 200
/** Milliseconds in which somebody has to begin to read. */
const beginsWithin = 10_000
/** Seconds after which somebody who was refused may ask again. */
const refusedFor = 5

/** Makes the streams of an instance. */
export function createStreams({ settings, ending, ...parts }: StreamsOptions): Streams {
  const { scope, now, log, changes, listening, sessionLimits } = parts
  const streams = new Set<ConversationStream>()
  const ofClient = new Map<string, number>()
  const ofSession = new Map<string, number>()
  const asking = new Set<ConversationStream>()
  let isAsking = false
  let timer: NodeJS.Timeout | undefined
  /** Those that are still to be looked at in this round. */
  let round: Iterator<ConversationStream> = streams.values()
  let isLooking = false
  const tickTime = Math.min(standardTick, settings.keepAlive / 2, settings.patience / 2, settings.longest / 2)

  const keeper: StreamKeeper = {
    now,
    idle: sessionLimits.idle,
    async read({ conversationId: id, after, sessionId }, limit) {
      return readDelivery(await scope(), { id, after, limit, sessionId })
    },
    askForPieces(stream) {
      asking.add(stream)
      if (!isAsking) askForAll()
    },
    failed(error) {
      log.warn({ error: error instanceof Error ? error.name : typeof error }, 'a stream could not be read for')
    },
    stands: listening.note,
    left(stream) {
      streams.delete(stream)
      listening.leave(stream)
      asking.delete(stream)
      changes.leave(stream.conversationId, stream)
      less(ofClient, stream.reader.principal.clientId)
      less(ofSession, stream.sessionId)
      if (streams.size > 0) return
      clearInterval(timer)
      timer = undefined
      changes.leave(blockedAgents, blocks)
    },
  }

  /** 4.1: whoever is blocked hears nothing more: all are looked at at once, for that happens rarely. */
  const blocks: Ear = {
    told: () => void closeEnded([...streams]).catch(keeper.failed),
  }

  /** 4.9: pieces are of the account as well, so who gets them is looked at again: for all that were told meanwhile at once. */
  function askForAll(): void {
    isAsking = true
    // What is heard after this moment isn't looked at by this look: it may be of an account that was used meanwhile.
    const asked = [...asking].map((stream) => ({ stream, until: stream.heardUntil }))
    asking.clear()
    closeEnded(asked.map(({ stream }) => stream))
      .then(() => {
        for (const { stream, until } of asked) stream.tell(until)
      })
      .catch(keeper.failed)
      .finally(() => {
        isAsking = false
        if (asking.size > 0) askForAll()
      })
  }

  async function closeEnded(looked: readonly ConversationStream[]): Promise<void> {
    const time = now()
    for (const stream of looked) if (stream.closesAt <= time) stream.close()
    for (const stream of await endedOf(await scope(), looked, { now: time, idle: sessionLimits.idle })) stream.close()
  }

  function tick(): void {
    const time = now()
    for (const stream of streams) {
      if (stream.closesAt <= time) stream.close()
      else if (stream.fullSince > 0 && time - stream.fullSince >= settings.patience) stream.giveUp()
      else if (!stream.hasBegun && time - stream.writtenAt >= beginsWithin) stream.close()
      else if (time - stream.writtenAt >= settings.keepAlive) stream.keepAlive()
    }
    look()
  }

  /** Looks at some of them, so that each is looked at every few seconds and no look is a long one. */
  function look(): void {
    if (isLooking || streams.size === 0) return
    isLooking = true
    closeEnded(nextOf(Math.max(leastLooked, Math.ceil(streams.size / ticksToLook))))
      .catch(keeper.failed)
      .finally(() => {
        isLooking = false
      })
  }

  function nextOf(count: number): readonly ConversationStream[] {
    const next = new Set<ConversationStream>()
    for (let left = Math.min(count, streams.size); left > 0; left--) {
      let { value, done } = round.next()
      if (done === true) {
        round = streams.values()
        value = round.next().value
      }
      if (value !== undefined) next.add(value)
    }
    return [...next]
  }

  function requireRoom({ principal: { clientId, sessionId } }: Reader): void {
    const isFull =
      streams.size >= settings.inAll ||
      (ofClient.get(clientId) ?? 0) >= settings.perClient ||
      (ofSession.get(sessionId) ?? 0) >= settings.perSession
    if (isFull)
      throw new PoppyError('rate_limited', {
        description: 'Too many streams are open. Close some, or read without streaming.',
        retryAfter: refusedFor,
      })
  }

  ending.addEventListener(
    'abort',
    () => {
      for (const stream of streams) stream.close()
    },
    { once: true },
  )

  return {
    open({ id }, after, reader) {
      requireRoom(reader)
      // Not all at once: who comes at the same moment would come again at the same moment.
      const longest = now() + settings.longest * (0.8 + 0.4 * Math.random())
      const stream = new ConversationStream(keeper, {
        conversationId: id,
        reader,
        after,
        closesAt: Math.min(longest, reader.expiresAt * 1000),
      })
      if (streams.size === 0) changes.listen(blockedAgents, blocks)
      streams.add(stream)
      more(ofClient, reader.principal.clientId)
      more(ofSession, reader.principal.sessionId)
      // Told from here on, and read when it begins: what happens in between is not missed.
      changes.listen(id, stream)
      timer ??= setInterval(tick, tickTime).unref()
      if (ending.aborted) stream.close()
      return streamResponse(stream)
    },
    size: () => streams.size,
  }
}

function more(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function less(counts: Map<string, number>, key: string): void {
  const left = (counts.get(key) ?? 1) - 1
  if (left > 0) counts.set(key, left)
  else counts.delete(key)
}

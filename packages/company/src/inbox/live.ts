import { PoppyError } from '@poppyseed/protocol'
import type { Changes } from '../changes/changes.ts'
import { anything, listeningTo } from '../changes/wide-ears.ts'
import type { Staff } from '../conversations/held.ts'
import type { People } from '../conversations/presence.ts'
import { streamResponse } from '../http/event-stream.ts'
import type { Lifecycle } from '../lifecycle.ts'
import type { SessionLimits } from '../sessions/rights.ts'
import type { Logger, Scope } from '../store/database.ts'
import { type Found, look } from './live-looks.ts'
import { LiveStream } from './live-stream.ts'

/**
 * What makes the inbox live: a stream for each page that is open, which says that something has changed. What it is the page
 * asks for itself, so that a stream never tells anything that a member of staff may not see. An open one is a sign of life.
 *
 * Each ends by itself after a minute, and the browser opens the next: a page that lost its network is gone soon, however
 * long its connection seems to be there, and who is signed in as staff is asked with the cookies of that moment.
 */

/** See {@link createStaffStreams}. */
export interface StaffStreams {
  /**
   * Opens a stream for a member of staff; `conversation` in the query is what their page has open.
   * @throws PoppyError `invalid_request` for a conversation that stands there twice or can be none, `rate_limited` where too
   * many streams are open
   */
  readonly open: (staff: Staff, request: Request) => Response
  /** How many are open. */
  readonly size: () => number
}

/** What {@link createStaffStreams} needs. */
export interface StaffStreamsOptions {
  readonly scope: () => Promise<Scope>
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: Logger
  readonly changes: Pick<Changes, 'listenToAll'>
  /** Has the end of the Company wait for what asks the store. */
  readonly track: Lifecycle['track']
  /** Aborts when the Company begins to close: streams end then. */
  readonly ending: AbortSignal
  /** Who makes a request: asked again while a stream is open. */
  readonly who: (request: Request) => Promise<Staff | null>
  /** Notes signs of life; null where there are no conversations. */
  readonly people: Pick<People, 'seen' | 'stays'> | null
  readonly sessionLimits: SessionLimits
  /** Milliseconds without a sign of life after which somebody is gone. */
  readonly absence: number
}

/** How many one member of staff may have open at one instance, and how many all of them. */
const mostOfOne = 20
const mostInAll = 1_000
/** Milliseconds. */
const times = {
  tick: 1_000,
  /** Something is sent at least this often. */
  keepAlive: 15_000,
  /** It ends by itself; a little sooner by chance, so that not all come back at once. */
  longest: 60_000,
  /** The page has to begin to read, and to go on reading. */
  begins: 10_000,
  patience: 30_000,
  /** Between two times that it is asked who this is, at most, and how long that may take. */
  ask: 60_000,
  answer: 10_000,
  /** Between two signs of life. */
  seen: 30_000,
  /** Between two looks. */
  look: 5_000,
  /** Until what came soon after the last event is told. */
  later: 100,
} as const
/** Seconds after which a page that was refused may ask again. */
const refusedFor = 10

interface Present {
  readonly staff: Staff
  readonly streams: Set<LiveStream>
  seenAt: number
}

/** Makes the streams of an instance. While none is open, nothing is listened to and no timer runs. */
export function createStaffStreams(options: StaffStreamsOptions): StaffStreams {
  const { scope, now, log, changes, track, ending, people, absence } = options
  const streams = new Set<LiveStream>()
  const present = new Map<string, Present>()
  let timer: NodeJS.Timeout | undefined
  let laterTimer: NodeJS.Timeout | undefined
  let stop: (() => void) | null = null
  let found: Found | null = null
  let isLooking = false
  let lookedAt = 0

  const keeper = {
    now,
    who: options.who,
    failed(error: unknown) {
      log.warn({ error: error instanceof Error ? error.name : typeof error }, 'what makes the inbox live has failed')
    },
    later() {
      laterTimer ??= setTimeout(() => {
        laterTimer = undefined
        for (const stream of streams) stream.tellLater()
      }, times.later).unref()
    },
    left(stream: LiveStream) {
      streams.delete(stream)
      const one = present.get(stream.staff.id)
      one?.streams.delete(stream)
      if (one?.streams.size === 0) present.delete(stream.staff.id)
      if (streams.size > 0) return
      clearInterval(timer)
      clearTimeout(laterTimer)
      timer = undefined
      laterTimer = undefined
      stop?.()
      stop = null
      found = null
    },
  }

  function told(changed: ReadonlySet<string> | null): void {
    for (const stream of streams) stream.changed(isNear(stream, changed))
  }

  function tick(): void {
    const time = now()
    for (const stream of streams) {
      if (stream.closesAt <= time) stream.close(true)
      else if (stream.fullSince > 0 && time - stream.fullSince >= times.patience) stream.giveUp()
      else if (!stream.hasBegun && time - stream.writtenAt >= times.begins) stream.close()
      else if (stream.askingSince > 0 && time - stream.askingSince >= times.answer) stream.close()
      else if (time - stream.askedAt >= times.ask) stream.ask()
      else if (time - stream.writtenAt >= times.keepAlive) stream.keepAlive()
    }
    for (const one of present.values()) if (time - one.seenAt >= times.seen) note(one, 'stays')
    if (streams.size > 0 && time - lookedAt >= times.look) lookForAll()
  }

  function note(one: Present, sign: 'seen' | 'stays'): void {
    one.seenAt = now()
    if (people !== null) track(people[sign](one.staff)).catch(keeper.failed)
  }

  function lookForAll(): void {
    if (isLooking) return
    isLooking = true
    lookedAt = now()
    const ids = new Set([...streams].flatMap(({ conversation }) => conversation ?? []))
    track(lookFor([...ids]))
      .catch(keeper.failed)
      .finally(() => {
        isLooking = false
      })
  }

  async function lookFor(ids: readonly string[]): Promise<void> {
    const how = { ids, now: now(), idle: options.sessionLimits.idle, absence }
    const next = await look(await scope(), how)
    const before = found
    if (streams.size === 0) return
    found = next
    if (before === null) return
    for (const stream of streams) {
      if (isOther(before.conversations, next.conversations, stream.conversation)) stream.changed(true)
      else if (before.people !== next.people) stream.changed(false)
    }
  }

  ending.addEventListener(
    'abort',
    () => {
      for (const stream of streams) stream.close()
    },
    { once: true },
  )

  return {
    open(staff, request) {
      const conversation = readConversation(request)
      // Who asks for its head alone gets no stream that nobody would read.
      if (request.method === 'HEAD') return new Response(null, { headers: { 'content-type': 'text/event-stream' } })
      const one = present.get(staff.id) ?? { staff, streams: new Set(), seenAt: Number.NEGATIVE_INFINITY }
      if (streams.size >= mostInAll || one.streams.size >= mostOfOne)
        throw new PoppyError('rate_limited', {
          description: 'Too many pages of the inbox are open. Close some.',
          retryAfter: refusedFor,
        })
      const closesAt = now() + times.longest * (0.85 + 0.15 * Math.random())
      const stream = new LiveStream(keeper, { staff, conversation, request, closesAt })
      streams.add(stream)
      one.streams.add(stream)
      present.set(staff.id, one)
      stop ??= changes.listenToAll({ told })
      timer ??= setInterval(tick, times.tick).unref()
      // A request is a sign of life, however soon it comes after another. Who comes back may have said meanwhile that they go.
      note(one, isComingBack(request) ? 'stays' : 'seen')
      if (ending.aborted) stream.close()
      return streamResponse(stream)
    },
    size: () => streams.size,
  }
}

/** Whether a page was here before: its browser says so, or the page does, of somebody who said that they go. */
function isComingBack({ headers, url }: Request): boolean {
  return headers.get('last-event-id') !== null || new URL(url).searchParams.has('stays')
}

/** Whether what changed may be of the conversation that is open, or of what may be done there. */
function isNear({ conversation }: LiveStream, changed: ReadonlySet<string> | null): boolean {
  if (conversation === null || changed === null) return false
  return changed.has(conversation) || changed.has(anything) || changed.has(listeningTo(conversation))
}

function isOther(before: Found['conversations'], next: Found['conversations'], id: string | null): boolean {
  // One that was opened meanwhile wasn't looked at before.
  return id !== null && before.has(id) && before.get(id) !== next.get(id)
}

/** @throws PoppyError `invalid_request` */
function readConversation(request: Request): string | null {
  const given = new URL(request.url).searchParams.getAll('conversation')
  const [id = ''] = given
  if (given.length > 1 || !/^[A-Za-z0-9_-]{0,256}$/.test(id))
    throw new PoppyError('invalid_request', { description: 'conversation is the id of one conversation.' })
  return id === '' ? null : id
}

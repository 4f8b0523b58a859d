import type { Logger, Scope } from '../store/database.ts'
import { type Local, type Others, tellOthers } from './other-instances.ts'
import { createWideEars, type WideEar } from './wide-ears.ts'

/**
 * Who waits for an operation or a conversation to change is told: in this process at once, and by other instances a moment
 * later. What nobody tells is found by looking: whoever waits for an operation looks now and then, and for conversations
 * one look is taken for all who wait.
 */

/** A piece of a message that is being written (7.6). */
export interface Piece {
  readonly messageId: string
  /** Characters of the message that were told before it: 0 for the first piece. */
  readonly from: number
  readonly text: string
  /** Those characters, where this process is the one that writes the message: for whoever comes when it has begun. */
  readonly before?: string
}

/** Somebody who waits for something to change. */
export interface Ear {
  /** The number of the newest event that it has: a look tells it of newer ones. Left out: it isn't looked for. */
  readonly after?: number
  readonly told: () => void
  readonly heard?: (piece: Piece) => void
}

/** A wait that has begun: a change from here on ends it. */
export interface Watch {
  /** Resolves with the next change, or after so many milliseconds, or when the signal aborts. */
  readonly within: (milliseconds: number, signal: AbortSignal) => Promise<void>
  readonly release: () => void
}

/** Who waits: so that none of them takes all the room there is. */
export interface Waiter {
  readonly session: string
  /** The Personal Agent, by its `client_id`. */
  readonly client: string
}

/** See {@link createChanges}. */
export interface Changes {
  /**
   * Says that an operation or a conversation has changed, after the change is committed; or `anything`, where that has no
   * id.
   */
  readonly changed: (id: string) => void
  /** Hands on a piece of a message, before the message itself is committed. Nobody may act on it, and it may be lost. */
  readonly piece: (conversationId: string, piece: Piece) => void
  /** @param after the number of the newest event that is known, for a conversation */
  readonly watch: (id: string, after?: number) => Watch
  /** Has somebody told, until {@link Changes.leave}. */
  readonly listen: (id: string, ear: Ear) => void
  readonly leave: (id: string, ear: Ear) => void
  /** Has somebody told of everything, until what comes back is called. */
  readonly listenToAll: (ear: WideEar) => () => void
  /** Has somebody begin to wait: what ends it, or null where too many wait already. */
  readonly enter: (who: Waiter) => (() => void) | null
  /** Stops listening to other instances. */
  readonly close: () => void
}

/** What {@link createChanges} needs, for other instances; without it there are none. */
export interface ChangesOptions {
  readonly scope: () => Promise<Scope>
  readonly log: Logger
}

/** How many may wait at once, how many of one Personal Agent, and how many of one Session. */
const mostWaits = 2000
const mostOfClient = 1000
const mostOfSession = 8

/** Makes the place where changes are told. */
export function createChanges(options?: ChangesOptions): Changes {
  const ears = new Map<string, Set<Ear>>()
  const ofSession = new Map<string, number>()
  const ofClient = new Map<string, number>()
  let waiting = 0

  const wide = createWideEars()
  const local: Local = {
    changed(id) {
      wide.changed(id)
      for (const ear of ears.get(id) ?? []) ear.told()
    },
    piece(id, piece) {
      for (const ear of ears.get(id) ?? []) ear.heard?.(piece)
    },
    stirred: () => wide.changed(null),
  }
  const others: Others | null = options ? tellOthers({ ...options, local, ears }) : null

  function listen(id: string, ear: Ear): void {
    const all = ears.get(id)
    if (all) all.add(ear)
    else ears.set(id, new Set([ear]))
    others?.listen()
  }
  function leave(id: string, ear: Ear): void {
    const all = ears.get(id)
    all?.delete(ear)
    if (all?.size === 0) ears.delete(id)
  }

  return {
    changed(id) {
      local.changed(id)
      others?.changed(id)
    },
    piece(id, piece) {
      local.piece(id, piece)
      others?.piece(id, piece)
    },
    listen,
    leave,
    listenToAll(ear) {
      others?.listen()
      return wide.add(ear)
    },
    watch(id, after) {
      const { promise: changed, resolve } = Promise.withResolvers<void>()
      const ear: Ear = { told: resolve, ...(after === undefined ? {} : { after }) }
      listen(id, ear)
      return {
        within: (milliseconds, signal) => first(changed, milliseconds, signal),
        release: () => leave(id, ear),
      }
    },
    enter({ session, client }) {
      const isFull =
        waiting >= mostWaits ||
        (ofClient.get(client) ?? 0) >= mostOfClient ||
        (ofSession.get(session) ?? 0) >= mostOfSession
      if (isFull) return null
      count(ofSession, session, 1)
      count(ofClient, client, 1)
      waiting += 1
      return () => {
        waiting -= 1
        count(ofSession, session, -1)
        count(ofClient, client, -1)
      }
    },
    close: () => others?.close(),
  }
}

function count(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + change
  if (now > 0) counts.set(key, now)
  else counts.delete(key)
}

async function first(changed: Promise<void>, milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const alarm = setTimeout(resolve, milliseconds)
  const stop = () => resolve()
  signal.addEventListener('abort', stop, { once: true })
  await Promise.race([changed, over])
  clearTimeout(alarm)
  signal.removeEventListener('abort', stop)
}

/**
 * Who waits for an operation to change is told in this process at once. Of what other instances do nobody tells: whoever
 * waits also looks now and then.
 */

/** A wait that has begun: a change from here on ends it. */
export interface Watch {
  /** Resolves with the next change, or after so many milliseconds, or when the signal aborts. */
  readonly within: (milliseconds: number, signal: AbortSignal) => Promise<void>
  readonly release: () => void
}

/** See {@link createChanges}. */
export interface Changes {
  /** Says that an operation has changed, after the change is committed. */
  readonly changed: (id: string) => void
  readonly watch: (id: string) => Watch
  /** Has somebody begin to wait, by their Session: what ends it, or null where too many wait already. */
  readonly enter: (session: string) => (() => void) | null
}

/** How many may wait at once, and how many of one Session. */
const mostWaits = 2000
const mostOfSession = 8

/** Makes the place where changes are told. */
export function createChanges(): Changes {
  const watched = new Map<string, Set<() => void>>()
  const waits = new Map<string, number>()
  let waiting = 0
  return {
    changed(id) {
      for (const tell of watched.get(id) ?? []) tell()
    },
    watch(id) {
      const { promise: changed, resolve } = Promise.withResolvers<void>()
      const others = watched.get(id) ?? new Set()
      watched.set(id, others)
      others.add(resolve)
      return {
        within: (milliseconds, signal) => first(changed, milliseconds, signal),
        release() {
          others.delete(resolve)
          if (others.size === 0 && watched.get(id) === others) watched.delete(id)
        },
      }
    },
    enter(session) {
      const before = waits.get(session) ?? 0
      if (before >= mostOfSession || waiting >= mostWaits) return null
      waits.set(session, before + 1)
      waiting += 1
      return () => {
        waiting -= 1
        const left = (waits.get(session) ?? 1) - 1
        if (left === 0) waits.delete(session)
        else waits.set(session, left)
      }
    },
  }
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

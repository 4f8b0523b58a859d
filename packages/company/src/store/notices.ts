/**
 * What instances on one database tell each other beside it, so that nobody has to look all the time. A courtesy: what
 * isn't told is found by looking.
 */

/**
 * Hears what was sent, or null: something may have changed that nobody told of. `isRoutine`: all that was sent should have
 * been heard, and this is said for the case that it was not.
 */
export type Hear = (text: string | null, isRoutine?: boolean) => void

/** See {@link Database.notices}. */
export interface Notices {
  /** Sends to all who listen to a topic, the sender among them. To be called after a commit, never inside a transaction. */
  readonly send: (topic: string, texts: readonly string[]) => Promise<void>
  /** Listens to a topic, until what comes back is called. */
  readonly listen: (topic: string, hear: Hear) => () => void
}

/** Bytes that one text may have: PostgreSQL takes less than 8000. */
export const longestNotice = 7_900

/** Those who listen, by topic. */
export interface Listeners {
  readonly add: (topic: string, hear: Hear) => () => void
  readonly tell: (topic: string, text: string) => void
  /** Has all of them look; see {@link Hear} for `isRoutine`. */
  readonly stir: (isRoutine?: boolean) => void
  readonly topics: () => readonly string[]
}

/** Keeps those who listen. `onChange` hears when the first one comes and when the last one has gone. */
export function createListeners(onChange: (isAnybody: boolean) => void): Listeners {
  const byTopic = new Map<string, Set<Hear>>()
  return {
    add(topic, hear) {
      const others = byTopic.get(topic) ?? new Set()
      byTopic.set(topic, others)
      others.add(hear)
      if (byTopic.size === 1 && others.size === 1) onChange(true)
      return () => {
        if (!others.delete(hear) || others.size > 0) return
        byTopic.delete(topic)
        if (byTopic.size === 0) onChange(false)
      }
    },
    tell(topic, text) {
      for (const hear of byTopic.get(topic) ?? []) hear(text)
    },
    stir(isRoutine = false) {
      for (const listeners of byTopic.values()) for (const hear of listeners) hear(null, isRoutine)
    },
    topics: () => [...byTopic.keys()],
  }
}

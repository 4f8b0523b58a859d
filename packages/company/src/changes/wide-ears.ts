/**
 * Who is told of everything: of each conversation and operation that changes, of who comes and goes, and of rights that are
 * given and taken. While nobody is, a change costs one look at an empty set.
 */

/** What stands for a change of what has no id of its own: who of the company's people is here, and what Sessions may do. */
export const anything = '*'

/** What stands for a change of which Personal Agents the company keeps out. */
export const blockedAgents = '*/blocked'

/** What stands for a change of whether anybody listens to a conversation. */
export const listeningTo = (conversationId: string): string => `${conversationId}/listening`

/** Somebody who is told of everything. */
export interface WideEar {
  /** What has changed since it was last told: ids, {@link anything} and {@link listeningTo}; null where that isn't known. */
  readonly told: (changed: ReadonlySet<string> | null) => void
}

/** See {@link createWideEars}. */
export interface WideEars {
  /** Has somebody told, until what comes back is called. */
  readonly add: (ear: WideEar) => () => void
  /** @param what an id, or null: something may have changed that nobody told of */
  readonly changed: (what: string | null) => void
}

/** Milliseconds between two times that they are told: the first news after quiet is told at once, what follows is gathered. */
const pause = 50
/** With more, they are told that there is much. */
const most = 1_000

/** Keeps those who are told of everything. */
export function createWideEars(): WideEars {
  const ears = new Set<WideEar>()
  let changed = new Set<string>()
  let isUnknown = false
  /** Runs until they may be told again. */
  let timer: NodeJS.Timeout | undefined
  /** What changes in the same turn of the event loop is told together. */
  let soon: NodeJS.Immediate | undefined

  function takeAll(): ReadonlySet<string> | null {
    const taken = isUnknown ? null : changed
    changed = new Set()
    isUnknown = false
    return taken
  }

  function stop(): void {
    clearTimeout(timer)
    clearImmediate(soon)
    timer = undefined
    soon = undefined
    takeAll()
  }

  function tell(): void {
    soon = undefined
    timer = setTimeout(() => {
      timer = undefined
      if (isUnknown || changed.size > 0) tell()
    }, pause).unref()
    const taken = takeAll()
    for (const ear of ears) ear.told(taken)
  }

  return {
    add(ear) {
      ears.add(ear)
      return () => {
        ears.delete(ear)
        if (ears.size === 0) stop()
      }
    },
    changed(what) {
      if (ears.size === 0) return
      if (what === null || changed.size >= most) isUnknown = true
      else changed.add(what)
      if (timer === undefined) soon ??= setImmediate(tell)
    },
  }
}

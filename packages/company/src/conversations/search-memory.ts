import type { Database } from '../store/database.ts'

/**
 * What took long to find is remembered for a moment: a page that is live asks for its search again with each change, and would
 * do little else. What was quick is found anew each time.
 */

/** How something is remembered. */
export interface Remembering {
  /** What it is that is looked for, and where. */
  readonly key: string
  /** Milliseconds from which on it took long. */
  readonly long: number
  /** Milliseconds since any moment. */
  readonly ticks: () => number
}

/** Milliseconds for which it is remembered. */
export const rememberedFor = 10_000
/** Of more searches than that the oldest are forgotten. */
const mostRemembered = 200

interface Memory {
  readonly until: number
  readonly found: unknown
}

const memories = new WeakMap<Database, Map<string, Memory>>()

/** Finds it, or gives what was found a moment ago. `find` gives the same kind of thing for a key each time. */
export async function remembered<Found>(
  db: Database,
  { key, long, ticks }: Remembering,
  find: () => Promise<Found>,
): Promise<Found> {
  const memory = memories.get(db) ?? new Map<string, Memory>()
  memories.set(db, memory)
  const known = memory.get(key)
  const began = ticks()
  if (known !== undefined && began < known.until) return known.found as Found
  memory.delete(key)
  const found = await find()
  const ended = ticks()
  if (ended - began < long) return found
  const [oldest] = memory.keys()
  if (memory.size >= mostRemembered && oldest !== undefined) memory.delete(oldest)
  memory.set(key, { until: ended + rememberedFor, found })
  return found
}

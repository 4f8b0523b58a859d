import type { Database, Scope } from './database.ts'

/**
 * On PostgreSQL each statement is a round trip and a commit of its own. So what many requests ask for at the same moment is
 * gathered, and one statement does it for all of them: under load it costs little more than for one. SQLite has no need of it,
 * where all that is written in one turn of the event loop is one commit.
 */

/** How a thing is done, for one and for several. */
export interface Gathering<Item extends { readonly id: string }, Result> {
  /** Does it for one. It has the last word. */
  readonly alone: (scope: Scope, item: Item) => Promise<Result>
  /**
   * Does it for several, no two with the same id, in one statement. Gives what it did, by id; whoever isn't among them is done
   * alone.
   */
  readonly together: (scope: Scope, items: readonly Item[]) => Promise<ReadonlyMap<string, Result>>
}

/** How many one statement is for at most. */
const mostTogether = 64
/** How many statements of a kind run at once: while these run, further ones gather. */
const mostAtOnce = 2
/** Milliseconds for which others gather behind a statement: one that waits for a lock longer than that holds nobody up. */
const patience = 100

interface Asked<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result | PromiseLike<Result>) => void
  readonly reject: (error: unknown) => void
}

interface Lane<Item, Result> {
  waiting: Asked<Item, Result>[]
  running: number
  isDue: boolean
}

/**
 * Makes of it what is called for one, and done together with the others of its moment. Nobody waits for company: where nothing
 * of the kind runs, it begins with the turn of the event loop. Inside a transaction it is always done alone, as a part of that.
 */
export function gathered<Item extends { readonly id: string }, Result>(
  gathering: Gathering<Item, Result>,
): (scope: Scope, item: Item) => Promise<Result> {
  const lanes = new WeakMap<Database, Map<string, Lane<Item, Result>>>()

  function laneOf({ db, company }: Scope): Lane<Item, Result> {
    const ofDatabase = lanes.get(db) ?? new Map<string, Lane<Item, Result>>()
    lanes.set(db, ofDatabase)
    const lane = ofDatabase.get(company) ?? { waiting: [], running: 0, isDue: false }
    ofDatabase.set(company, lane)
    return lane
  }

  function look(scope: Scope, lane: Lane<Item, Result>): void {
    if (lane.isDue || lane.waiting.length === 0 || lane.running >= mostAtOnce) return
    lane.isDue = true
    // What the answers of one turn lead to belongs together.
    setImmediate(() => {
      lane.isDue = false
      lane.running += 1
      void within(patience, serve(scope, take(lane))).then(() => {
        lane.running -= 1
        look(scope, lane)
      })
      look(scope, lane)
    })
  }

  async function serve(scope: Scope, asked: readonly Asked<Item, Result>[]): Promise<void> {
    const alone = ({ item, resolve }: Asked<Item, Result>) => resolve(gathering.alone(scope, item))
    const [first] = asked
    if (first !== undefined && asked.length === 1) {
      // Whoever asked hears of its failure; the next ones only wait for its end.
      const result = gathering.alone(scope, first.item)
      first.resolve(result)
      await result.catch(() => {})
      return
    }
    try {
      const done = await gathering.together(
        scope,
        asked.map(({ item }) => item),
      )
      for (const one of asked) {
        if (done.has(one.item.id)) one.resolve(done.get(one.item.id) as Result)
        else alone(one)
      }
    } catch (error) {
      // Nothing of it was kept, and it may have been the fault of one of them.
      if (isOfOne(error)) asked.forEach(alone)
      else for (const { reject } of asked) reject(error)
    }
  }

  return async (scope, item) => {
    const { db } = scope
    if (db.name === 'sqlite' || db.isInTransaction()) return gathering.alone(scope, item)
    const lane = laneOf(scope)
    return new Promise((resolve, reject) => {
      lane.waiting.push({ item, resolve, reject })
      look(scope, lane)
    })
  }
}

/** Resolves with the end of something that never rejects, or after so many milliseconds. */
async function within(milliseconds: number, work: Promise<void>): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const alarm = setTimeout(resolve, milliseconds)
  await Promise.race([work, over])
  clearTimeout(alarm)
}

/** Takes the next ones from a lane, the longest waiting first, of each id one. */
function take<Item extends { readonly id: string }, Result>(lane: Lane<Item, Result>): readonly Asked<Item, Result>[] {
  const taken = new Map<string, Asked<Item, Result>>()
  const left: Asked<Item, Result>[] = []
  for (const asked of lane.waiting) {
    if (taken.size < mostTogether && !taken.has(asked.item.id)) taken.set(asked.item.id, asked)
    else left.push(asked)
  }
  lane.waiting = left
  // In one order everywhere, so that two instances never wait for each other.
  return [...taken.values()].sort((one, other) => (one.item.id < other.item.id ? -1 : 1))
}

/** Errors of data, of a key, of a deadlock: PostgreSQL has undone the statement. Others are the database's, for everybody. */
function isOfOne(error: unknown): boolean {
  const code: unknown = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^(?:22|23|40)[0-9A-Z]{3}$/.test(code)
}

import type { Scope } from '../store/database.ts'
import { earFor } from './found-words.ts'
import type { SearchBudget } from './search.ts'
import type { Exactly } from './search-exactly.ts'
import {
  type Candidate,
  candidates,
  type Half,
  notedIn,
  type Spoken,
  saidBetween,
  saidIn,
  type Told,
} from './search-store.ts'
import type { Place } from './staff-store.ts'

/** Looks through what was said, newest conversations first: the open ones, and then the closed ones. */

/** Where it goes on. */
export interface Spot {
  readonly half: Half
  /** After this conversation. Left out: at the beginning of the half. */
  readonly place?: Place
  /** In the conversation of `place` itself first, before this number of an event. */
  readonly before?: number
}

/** A conversation that was found. */
export interface Hit {
  readonly id: string
  /** Where the words stand: in the newest message or note that has them. Null: it goes by that name. */
  readonly spoken: Spoken | null
}

/** What is looked for, and how far. */
export interface Looking {
  readonly sought: string
  /** What goes by that name was given already, or is known when it is seen. */
  readonly exact: Exactly
  readonly from: Spot
  readonly limit: number
  readonly budget: SearchBudget
  /** Lets others do something between two bites. */
  readonly rest: () => Promise<unknown>
}

/** Conversations that are asked for at once. */
const some = 200
/** Events in one bite: a second's worth would hold up everybody on SQLite. */
const bite = 1000

/** Looks. Gives what it found, without a word of it, and where it goes on: null at the end. */
export async function lookThrough(
  scope: Scope,
  looking: Looking,
): Promise<{ readonly hits: readonly Hit[]; readonly next: Spot | null }> {
  const { exact, limit, budget, rest } = looking
  const hears = earFor(looking.sought)
  const heardIn = (told: readonly Told[]) => newestOf(told.filter(({ text }) => hears(text)))
  const given = new Set(exact.found.map(({ id }) => id))
  const began = performance.now()
  const hits: Hit[] = []
  let rows = 0
  let spot: Spot | null = looking.from
  const isOver = () => hits.length >= limit || rows >= budget.rows || performance.now() - began >= budget.milliseconds

  while (spot !== null && !isOver()) {
    const { half, place, before }: Spot = spot
    if (place !== undefined && before !== undefined) {
      const from = Math.max(1, before - bite)
      const told = await saidBetween(scope, { id: place.id, from, before })
      rows += bite
      const spoken = heardIn(told).get(place.id)
      if (spoken !== undefined) hits.push({ id: place.id, spoken })
      spot = { half, place, ...(spoken !== undefined || from === 1 ? {} : { before: from }) }
      await rest()
      continue
    }
    const next = await candidates(scope, { half, after: place, limit: some })
    if (next.length === 0) {
      spot = half === 'open' ? { half: 'closed' } : null
      continue
    }
    for (const group of groupsOf(next)) {
      const wanted = group.filter(({ id }) => !given.has(id))
      const [first] = wanted
      const isLong = first !== undefined && sizeOf(first) > bite
      const unnamed = wanted.filter((one) => exact.isAll || !exact.isOne(one))
      const noted = await notedIn(
        scope,
        unnamed.flatMap(({ id, notes }) => (notes > 0 ? [id] : [])),
      )
      const told = isLong
        ? []
        : await saidIn(
            scope,
            unnamed.map(({ id }) => id),
          )
      rows += group.length + noted.length + told.length
      const heard = heardIn([...told, ...noted])
      const found = wanted.filter((one) => heard.has(one.id) || (!exact.isAll && exact.isOne(one)))
      const taken = found.slice(0, limit - hits.length)
      hits.push(...taken.map(({ id }) => ({ id, spoken: heard.get(id) ?? null })))
      const last = taken.length < found.length ? taken.at(-1) : group.at(-1)
      if (last === undefined) break
      spot = { half, place: { at: last.at, id: last.id } }
      if (isLong && taken.length === 0) spot = { ...spot, before: first.lastEvent + 1 }
      await rest()
      if (isOver() || spot.before !== undefined) break
    }
  }
  return { hits, next: spot }
}

const sizeOf = ({ firstEvent, lastEvent }: Candidate) => lastEvent - firstEvent + 1

/** Groups of whole conversations, in their order, each of a bite of events; a longer conversation is one of its own. */
function groupsOf(all: readonly Candidate[]): readonly (readonly Candidate[])[] {
  const groups: Candidate[][] = []
  let left = 0
  for (const one of all) {
    const size = Math.max(1, sizeOf(one))
    if (size > left) {
      groups.push([])
      left = bite
    }
    groups.at(-1)?.push(one)
    left -= size
  }
  return groups
}

/** The newest of what was said, by the conversation's id. */
function newestOf(told: readonly Told[]): ReadonlyMap<string, Spoken> {
  const newest = new Map<string, Told>()
  for (const one of told) {
    const known = newest.get(one.id)
    if (known === undefined || one.at > known.at || (one.at === known.at && one.number > known.number))
      newest.set(one.id, one)
  }
  return new Map([...newest].map(([id, { kind, number }]) => [id, { kind, number }]))
}

import { setImmediate as otherWork } from 'node:timers/promises'
import { isId } from '@poppyseed/protocol'
import { findOperation } from '../operations/store.ts'
import { type OperationView, viewOf } from '../operations/view.ts'
import type { Scope } from '../store/database.ts'
import { type FoundBy, foundBy } from './found-by.ts'
import { findExactly } from './search-exactly.ts'
import { remembered } from './search-memory.ts'
import { conversationsByIds } from './search-store.ts'
import { type Hit, lookThrough, type Spot } from './search-through.ts'
import { isStorable } from './staff-input.ts'
import { type ConversationRecord, recordOf } from './staff-view.ts'

/**
 * Searching for a conversation: by an id, an account or an agent at once, and else through what was said, newest first, as far
 * as a moment reaches. There is no index of words: accepting a message would pay for it.
 */

/** What is searched for. */
export interface SearchAsked {
  /**
   * The id of a conversation or an operation, an account, the id or the host of a Personal Agent; or else words, of which case
   * doesn't matter, out of a message or a note. Of a very long one the beginning.
   */
  readonly text: string
  /** `since` of the search before, which goes on from there. */
  readonly since?: string
  /** How many at most: 50 when left out, at most 200. */
  readonly limit?: number
}

/** What a search found, until now. */
export interface SearchFound {
  readonly conversations: readonly ConversationRecord[]
  /** By what each of them was found, by its id: with the words, in what stands around them, where it was words. */
  readonly foundBy: ReadonlyMap<string, FoundBy>
  /** One that was searched for by its id. */
  readonly operations: readonly OperationView[]
  /** Goes on searching from there, also where nothing was found yet; null once everything was looked through. */
  readonly since: string | null
  /** Until when it has looked through what was said, milliseconds since 1970; null where it is through, or doesn't have to. */
  readonly lookedBackTo: number | null
}

/** How much one search may look at, before it says how far it came. */
export interface SearchBudget {
  readonly milliseconds: number
  /** Messages and notes. */
  readonly rows: number
}

const standardBudget: SearchBudget = { milliseconds: 400, rows: 100_000 }
const mostOnPage = 200
/** Characters of what is searched for. */
const mostSought = 500

/** Searches. @throws TypeError for what no search is */
export async function searchConversations(
  {
    scope,
    now,
    budget = standardBudget,
    ticks = () => performance.now(),
  }: {
    readonly scope: Scope
    readonly now: number
    readonly budget?: SearchBudget
    /** Milliseconds since any moment: how long something takes. */
    readonly ticks?: () => number
  },
  { text, since, limit = 50 }: SearchAsked,
): Promise<SearchFound> {
  if (typeof text !== 'string') throw new TypeError('text is what is searched for.')
  if (!Number.isInteger(limit) || limit < 1 || limit > mostOnPage)
    throw new TypeError(`limit is a whole number from 1 to ${mostOnPage}.`)
  const from = since === undefined ? null : readSince(since)
  const sought = soughtOf(text)
  if (sought === '') return { conversations: [], foundBy: new Map(), operations: [], since: null, lookedBackTo: null }

  if (from === null && isId(sought)) {
    const found = await findById(scope, sought, now)
    if (found !== null) return found
  }
  const exact = await findExactly(scope, sought)
  if (exact.isAll && exact.found.length > 0 && (from === null || from.kind === 'named')) {
    const left = from === null ? exact.found : exact.found.filter((one) => isAfter(one, from))
    const shown = left.slice(0, limit)
    const last = shown.at(-1)
    const hits = shown.map(({ id }) => ({ id, spoken: null }))
    const isMore = left.length > limit && last !== undefined
    return {
      ...(await shownOf(scope, sought, hits)),
      operations: [],
      since: isMore ? `named.${last.created_at}.${last.id}` : 'open',
      lookedBackTo: isMore ? null : now,
    }
  }

  const spot = from === null || from.kind === 'named' ? ({ half: 'open' } as const) : from
  const key = JSON.stringify([scope.company, sought, writeSpot(spot), limit])
  // Where it is alone: rows and words are read anew, and so are what goes by that name and who is erased meanwhile.
  const { hits, next } = await remembered(scope.db, { key, long: budget.milliseconds / 4, ticks }, () =>
    lookThrough(scope, { sought, exact, from: spot, limit, budget, rest: otherWork }),
  )
  return {
    ...(await shownOf(scope, sought, hits)),
    operations: [],
    since: next === null ? null : writeSpot(next),
    lookedBackTo: next === null ? null : (next.place?.at ?? now),
  }
}

/** What was found, as it is now, and by what. */
async function shownOf(
  scope: Scope,
  sought: string,
  hits: readonly Hit[],
): Promise<Pick<SearchFound, 'conversations' | 'foundBy'>> {
  const rows = await conversationsByIds(
    scope,
    hits.map(({ id }) => id),
  )
  return { conversations: rows.map(recordOf), foundBy: await foundBy(scope, { sought, rows, hits }) }
}

/** What is known by an id: a conversation, or an operation with the conversation that it was proposed in. */
async function findById(scope: Scope, id: string, now: number): Promise<SearchFound | null> {
  const operation = await findOperation(scope, id)
  const of = operation?.operation.conversation_id
  const rows = await conversationsByIds(scope, [...new Set([id, ...(of == null ? [] : [of])])])
  if (operation === null && rows.length === 0) return null
  const operations = operation === null ? [] : [viewOf(operation, now)]
  const by = (found: string): FoundBy => (found === id ? { kind: 'conversation' } : { kind: 'operation', id })
  return {
    conversations: rows.map(recordOf),
    foundBy: new Map(rows.map((row) => [row.id, by(row.id)])),
    operations,
    since: null,
    lookedBackTo: null,
  }
}

/** What is searched for, on one line, and not longer than anybody types. */
export function soughtOf(text: string): string {
  const line = text
    .slice(0, mostSought * 4)
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
    .replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, ' ')
    .trim()
    .slice(0, mostSought)
  // A character of two halves isn't cut in its middle.
  return isStorable(line) ? line : line.slice(0, -1)
}

/** Where a search goes on: in the list of what goes by that name, or where it has looked until now. */
type Since = (Spot & { readonly kind: 'spot' }) | { readonly kind: 'named'; readonly at: number; readonly id: string }

function isAfter(
  one: { readonly created_at: number; readonly id: string },
  { at, id }: { readonly at: number; readonly id: string },
): boolean {
  return one.created_at < at || (one.created_at === at && one.id < id)
}

function writeSpot({ half, place, before }: Spot): string {
  return [half, ...(place === undefined ? [] : [place.at, place.id]), ...(before === undefined ? [] : [before])].join(
    '.',
  )
}

/** @throws TypeError */
function readSince(since: string): Since {
  const [, name, at, id, before] =
    (typeof since === 'string' &&
      /^(open|closed|named)(?:\.([0-9]{1,16})\.([A-Za-z0-9_-]{1,256})(?:\.([0-9]{1,9}))?)?$/.exec(since)) ||
    []
  if (name === undefined || (name === 'named' && (id === undefined || before !== undefined)))
    throw new TypeError('since is what the search before gave as `since`.')
  if (name === 'named') return { kind: 'named', at: Number(at), id: String(id) }
  return {
    kind: 'spot',
    half: name as Spot['half'],
    ...(id === undefined ? {} : { place: { at: Number(at), id } }),
    ...(before === undefined ? {} : { before: Number(before) }),
  }
}

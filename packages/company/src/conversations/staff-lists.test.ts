import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { conversationParts } from '../../../../test/setup/conversation-parts.ts'
import { idOfMany, insertMany } from '../../../../test/setup/many-conversations.ts'
import { explained } from '../../../../test/setup/plans.ts'
import { now } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { rowsOf } from '../inbox/make-rows.ts'
import type { Scope } from '../store/database.ts'
import type { ConversationsAsked } from './staff-lists.ts'
import { createStaffReading } from './staff-reading.ts'

/** The lists of the inbox: what is in them, in which order, and that what is in none of them costs nothing. */

const company = 'https://miramar.example'
/** Since when the first that `insertMany` writes waits: it is the newest. */
const newestWaiting = now - 993

describe.each(stores)('The lists of the inbox on $name', { timeout: 60_000 }, ({ missing, lasting }) => {
  const test = it.skipIf(missing !== null)
  let made: Awaited<ReturnType<typeof lasting>> | null = null
  let scope: Scope
  let plans: () => Promise<readonly string[]>
  beforeAll(async () => {
    if (missing !== null) return
    made = await lasting()
    const watched = explained(made.db)
    plans = watched.plans
    scope = { db: watched.db, company }
    const plain = { db: made.db, company }
    await insertMany(plain, {
      open: 3000,
      waiting: 150,
      held: 1000,
      staff: 20,
      closed: 20_000,
      unsettled: 130,
      done: 20_000,
      sessions: 20_000,
      newest: now,
    })
    // The same in a Company beside it.
    await insertMany({ ...plain, company: 'https://other.example' }, { waiting: 3, closed: 5, newest: now })
  })
  afterAll(() => made?.end())
  const reading = () => createStaffReading(conversationParts(scope).parts)

  async function whole(asked: ConversationsAsked): Promise<readonly string[]> {
    const ids: string[] = []
    let after: string | null = null
    do {
      const page = await reading().list({ ...asked, ...(after === null ? {} : { after }) })
      ids.push(...page.conversations.map(({ id }) => id))
      after = page.after
    } while (after !== null)
    return ids
  }
  const numbered = (name: 'waiting' | 'held' | 'closed', count: number) =>
    Array.from({ length: count }, (_, at) => idOfMany(name, at + 1))

  test('those that wait come by who waits longest, page by page', async () => {
    expect(await whole({ kind: 'waiting', limit: 40 })).toEqual(numbered('waiting', 150).toReversed())
  })

  test('what a member of staff has is theirs alone, the newest first', async () => {
    const mine = await whole({ kind: 'mine', staff: 'staff-7', limit: 20 })
    expect(mine).toEqual(numbered('held', 1000).filter((id) => Number(id.slice(9)) % 20 === 7))
    expect(await whole({ kind: 'mine', staff: 'nobody' })).toEqual([])
    expect(await whole({ kind: 'mine', staff: "' or 1=1 --" })).toEqual([])
    expect(await whole({ kind: 'mine', staff: 'a\0b' })).toEqual([])
  })

  test('open ones come by when they began, closed ones by when they were closed', async () => {
    const open = await whole({ kind: 'open', limit: 200 })
    expect(new Set(open).size).toBe(4150)
    expect(open.length).toBe(4150)
    expect(open.slice(0, 4).toSorted()).toEqual(
      [idOfMany('held', 1), idOfMany('open', 1), idOfMany('waiting', 1), open[3]].toSorted(),
    )
    const first = await reading().list({ kind: 'closed', limit: 3 })
    expect(first.conversations.map(({ id }) => id)).toEqual(numbered('closed', 3))
    const second = await reading().list({ kind: 'closed', limit: 3, after: first.after as string })
    expect(second.conversations.map(({ id }) => id)).toEqual(numbered('closed', 6).slice(3))
  })

  test('without a filter the open ones come before the closed ones', async () => {
    const ids: string[] = []
    let after: string | undefined
    for (let pages = 0; pages < 22; pages++) {
      const page = await reading().list({ limit: 200, ...(after === undefined ? {} : { after }) })
      ids.push(...page.conversations.map(({ id }) => id))
      after = page.after as string
    }
    expect(new Set(ids).size).toBe(4400)
    expect(ids.slice(4150)).toEqual(numbered('closed', 250))
  })

  test('a cursor of another list, or anything else, is refused', async () => {
    const { after } = await reading().list({ kind: 'closed', limit: 1 })
    for (const wrong of [
      after,
      '',
      'open',
      'open.1',
      'open.-1.x',
      'open.1.x y',
      `open.${'9'.repeat(17)}.x`,
      'open.1.\0',
      5,
    ])
      await expect(reading().list({ kind: 'open', after: wrong as string })).rejects.toThrow(TypeError)
    await expect(reading().list({ kind: 'all' as 'open' })).rejects.toThrow('kind is one of')
    await expect(reading().list({ kind: 'mine' })).rejects.toThrow('goes with staff')
    await expect(reading().list({ kind: 'open', account: 'ada' })).rejects.toThrow('no other filter')
    await expect(reading().list({ staff: 'rita' })).rejects.toThrow("kind: 'mine'")
  })

  test('counts are exact up to 100, and say that there are more from 101 on', async () => {
    const bound: Scope = { db: (made as NonNullable<typeof made>).db, company: 'https://bound.example' }
    const counts = () => createStaffReading(conversationParts(bound).parts).counts('staff-0')
    const all = (number: number, isMore: boolean) => {
      const count = { number, isMore }
      return { waiting: count, mine: count, settle: count, newestWaiting: number === 0 ? null : newestWaiting }
    }
    expect(await counts()).toEqual(all(0, false))
    await insertMany(bound, { waiting: 100, held: 100, staff: 1, unsettled: 100, newest: now })
    expect(await counts()).toEqual(all(100, false))
    // One more of each: what was counted, and what is over, don't count.
    await insertMany(
      { ...bound, company: 'https://beyond.example' },
      {
        ...{ waiting: 101, held: 101, staff: 1, unsettled: 101 },
        ...{ open: 7, closed: 9, done: 9, newest: now },
      },
    )
    const beyond: Scope = { ...bound, company: 'https://beyond.example' }
    expect(await createStaffReading(conversationParts(beyond).parts).counts('staff-0')).toEqual(all(100, true))
  })

  test('counts go to 100', async () => {
    expect(await reading().counts('staff-7')).toEqual({
      waiting: { number: 100, isMore: true },
      mine: { number: 50, isMore: false },
      settle: { number: 100, isMore: true },
      newestWaiting,
    })
    const other = createStaffReading(conversationParts({ ...scope, company: 'https://other.example' }).parts)
    expect(await other.counts('a\0b')).toEqual({
      waiting: { number: 3, isMore: false },
      mine: { number: 0, isMore: false },
      settle: { number: 0, isMore: false },
      newestWaiting,
    })
  })

  test('each list is read along its index: nothing is gone through, nothing is sorted', async () => {
    const shown = async (work: Promise<unknown>) => {
      await work
      return (await plans()).join('\n')
    }
    const lists = {
      waiting: [{ kind: 'waiting' }, 'poppy_conversations_waiting'],
      mine: [{ kind: 'mine', staff: 'staff-7' }, 'poppy_conversations_held'],
      open: [{ kind: 'open' }, 'poppy_conversations_open'],
      closed: [{ kind: 'closed' }, 'poppy_conversations_closed'],
    } as const satisfies Record<string, readonly [ConversationsAsked, string]>
    await plans()
    for (const [asked, index] of Object.values(lists)) {
      const { after } = await reading().list({ ...asked, limit: 20 })
      const plan = await shown(reading().list({ ...asked, after: after as string }))
      for (const one of [await shown(reading().list(asked)), plan]) {
        expect(one).toContain(index)
        expect(one).not.toMatch(wholeTable)
      }
    }
    const counted = await shown(reading().counts('staff-7'))
    for (const index of [
      'poppy_conversations_waiting',
      'poppy_conversations_held',
      'poppy_operations_by_unknown_since',
    ])
      expect(counted).toContain(index)
    expect(counted).not.toMatch(wholeTable)
    expect(await shown(reading().list({ limit: 5 }))).not.toMatch(wholeTable)
    const { conversations } = await reading().list({ kind: 'closed', limit: 50 })
    await plans()
    expect(await shown(reading().lastMessages(conversations.map(({ id }) => id)))).not.toMatch(wholeTable)
    // All that stands in its rows beside: who is signed in, whose agent listens, what it calls itself. Each by its key.
    const { parts } = conversationParts(scope)
    const rows = rowsOf({ ...parts, conversations: reading() }, conversations)
    const drawn = await shown(rows)
    expect((await rows).every(({ isSignedIn }) => isSignedIn)).toBe(true)
    const byKey = { sqlite: /^SEARCH s USING PRIMARY KEY/m, postgres: /Index Cond: .*AND \(id = c\.session_id\)/ }
    expect(drawn).toMatch(byKey[scope.db.name])
    expect(drawn).not.toMatch(/poppy_sessions_by|Seq Scan on poppy_(?:conversations|events|sessions|grants)/)
    expect(drawn).not.toMatch(/^SCAN [a-z]$|^SEARCH [a-z] USING INDEX|Merge/m)
  })
})

/** What a plan has that goes through a table, or sorts. Sorting what has the same time is a sort of a few. */
const wholeTable = /Seq Scan|^SCAN (?:poppy_|[a-z]$)|TEMP B-TREE|(?<!Incremental )Sort(?! Key| Method)/m

import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { caller, conversationParts, startConversation } from '../../../../test/setup/conversation-parts.ts'
import { now, sessionRow } from '../../../../test/setup/rows.ts'
import { silent, stores } from '../../../../test/setup/stores.ts'
import { readStream } from '../../../../test/setup/streaming.ts'
import { blockAgent } from '../agents/store.ts'
import { createChanges } from '../changes/changes.ts'
import { anything } from '../changes/wide-ears.ts'
import { withConversation } from '../conversations/ledger.ts'
import { noteSeen, noteStays } from '../conversations/presence.ts'
import { type Sink, sourceOf } from '../http/event-stream.ts'
import { insertSession } from '../sessions/store.ts'
import type { Database } from '../store/database.ts'
import { createStaffStreams, type StaffStreamsOptions } from './live.ts'

// What keeps a page of the inbox up to date: it says that something has changed, and leaves nothing behind.

const company = 'https://miramar.example'
const rita = { id: 'rita', name: 'Rita Alvarez' }

/** A page that reads; `isFull` when nothing more fits in. */
function page(response: Response) {
  let raw = ''
  let isFull = false
  let isOver = false
  let isDestroyed = false
  const sink: Sink = {
    get isFull() {
      return isFull
    },
    write: (text) => {
      raw += text
    },
    end: () => {
      isOver = true
    },
    destroy: () => {
      isDestroyed = true
    },
  }
  const source = sourceOf(response)
  if (source === undefined) throw new Error('no stream')
  source.begin(sink)
  return {
    raw: () => raw,
    /** Without the signs of life. */
    events: () => readStream(raw).flatMap(({ event }) => (event === undefined || event === 'here' ? [] : [event])),
    isOver: () => isOver,
    isDestroyed: () => isDestroyed,
    fill: (full: boolean) => {
      isFull = full
      if (!full) source.drained()
    },
    cut: () => source.gone(),
  }
}

/** A database, and what it is asked beside the queries that are built. */
function watched(db: Database) {
  const asked: string[] = []
  const run = (...question: Parameters<Database['run']>) => {
    asked.push(question[0])
    return db.run(...question)
  }
  return { asked, db: Object.create(db, { run: { value: run } }) as Database }
}

function inbox(db: Database, more: Partial<StaffStreamsOptions> = {}) {
  const clock = { now }
  const scope = { db, company }
  const changes = createChanges()
  const seen: string[] = []
  const ending = new AbortController()
  onTestFinished(() => ending.abort())
  const streams = createStaffStreams({
    scope: async () => scope,
    now: () => clock.now,
    log: silent,
    changes,
    track: (work) => work,
    ending: ending.signal,
    who: async () => rita,
    people: {
      seen: async ({ id }) => {
        seen.push(id)
        await noteSeen(scope, rita, clock.now)
      },
      stays: async ({ id }) => {
        seen.push(`${id} stays`)
        await noteStays(scope, id, clock.now)
      },
    },
    sessionLimits: { idle: 7 * 86_400_000 },
    absence: 120_000,
    ...more,
  })
  const open = (conversation = '') =>
    page(streams.open(rita, new Request(`${company}/poppy/inbox/live?conversation=${conversation}`)))
  return { clock, scope, changes, seen, ending, streams, open }
}

const patiently = { timeout: 20_000 }

describe.each(stores)('A page of the inbox on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  test('is told at once of the conversation that it has open, and of others', async () => {
    const { changes, open } = inbox(await (await fresh()).open())
    const mine = open('cnv_mine')
    const other = open('cnv_other')
    const told = () => [mine.events().length, other.events().length]
    expect(mine.raw()).toBe('retry: 2000\nid: 1\n\nevent: changed\ndata: {}\n\n')
    changes.changed('cnv_mine')
    await expect.poll(told, patiently).toEqual([2, 2])
    changes.changed(anything)
    await expect.poll(told, patiently).toEqual([3, 3])
  })

  test('is told once of what happens while it takes nothing in, and is given up when it goes on like that', async () => {
    const { changes, clock, open, streams } = inbox(await (await fresh()).open())
    const slow = open('cnv_1')
    const quick = open('cnv_1')
    slow.fill(true)
    for (const count of [2, 3, 4]) {
      changes.changed('cnv_1')
      await expect.poll(() => quick.events().length, patiently).toBe(count)
    }
    expect(slow.events()).toHaveLength(1)
    slow.fill(false)
    expect(slow.events()).toHaveLength(2)
    slow.fill(true)
    // What is written into a way that is full is what shows it.
    const stuck = open('cnv_1')
    expect(streams.size()).toBe(3)
    stuck.cut()
    expect(streams.size()).toBe(2)
    clock.now += 61_000
    await expect.poll(() => streams.size(), patiently).toBe(0)
    expect(quick.raw().endsWith('retry: 250\n\n')).toBe(true)
  })

  test('hears something each 15 seconds, is a sign of life each 30, and ends by itself within a minute', async () => {
    const { clock, open, seen, streams } = inbox(await (await fresh()).open())
    const one = open()
    open()
    expect(seen).toEqual(['rita', 'rita'])
    clock.now += 15_000
    await expect.poll(() => one.raw().endsWith('\n\nevent: here\ndata: {}\n\n'), patiently).toBe(true)
    expect(seen).toHaveLength(2)
    clock.now += 15_000
    await expect.poll(() => seen, patiently).toEqual(['rita', 'rita', 'rita stays'])
    clock.now += 31_000
    await expect.poll(() => streams.size(), patiently).toBe(0)
    expect(one.isOver()).toBe(true)
    const again = { headers: { 'last-event-id': '1' } }
    page(streams.open(rita, new Request(`${company}/poppy/inbox/live`, again)))
    expect(seen.at(-1)).toBe('rita stays')
  })

  test('is told that its rights are gone, and that a colleague came or went, although nobody said so', async () => {
    const { db, asked } = watched(await (await fresh()).open())
    const { clock, open, scope } = inbox(db)
    await insertSession(scope, sessionRow())
    const { id } = await startConversation(scope)
    const mine = open(id)
    const lists = open()
    // The first look finds how it is; the second has compared with it.
    for (let looks = 0; looks < 2; looks++) {
      const earlier = asked.length
      clock.now += 5_000
      await expect.poll(() => asked.length, patiently).toBeGreaterThan(earlier)
    }
    const before = [mine.events().length, lists.events().length]
    await blockAgent(scope, { clientId: caller().principal.clientId, reason: null, now })
    clock.now += 5_000
    await expect.poll(() => mine.events().length, patiently).toBe((before[0] ?? 0) + 1)
    expect(lists.events()).toHaveLength(before[1] ?? 0)
    await noteSeen(scope, { id: 'omar', name: 'Omar' }, clock.now)
    clock.now += 5_000
    await expect.poll(() => lists.events().length, patiently).toBe((before[1] ?? 0) + 1)
  })

  test('is told what another instance did, and ends with its own', async () => {
    const { open: openDb } = await fresh()
    const here = { db: await openDb(), company }
    const there = { db: await openDb(), company }
    const mine = createChanges({ scope: async () => here, log: silent })
    const theirs = createChanges({ scope: async () => there, log: silent })
    onTestFinished(mine.close)
    onTestFinished(theirs.close)
    await insertSession(there, sessionRow())
    const { id } = await startConversation(there)
    const { open, ending, streams } = inbox(here.db, { changes: mine })
    const lists = open()
    const { parts } = conversationParts(there, { changes: theirs })
    // Until the instance listens, nobody hears.
    await expect
      .poll(async () => {
        await withConversation(parts, id, () => ({ set: { sender: 'agent' }, events: [] }))
        return lists.events().length
      }, patiently)
      .toBeGreaterThan(2)
    ending.abort()
    expect([lists.isOver(), streams.size()]).toEqual([true, 0])
    expect(lists.raw()).not.toContain('retry: 250')
    expect(open().isOver()).toBe(true)
  })
})

describe('A page of the inbox', { timeout: 60_000 }, () => {
  const memory = async () => (await (stores[0] as (typeof stores)[0]).fresh()).open()

  it('hears of others without a pause after quiet, and twice a second where there is much; of its own conversation at once', async () => {
    const db = await memory()
    const toFake = [
      'setTimeout',
      'clearTimeout',
      'setInterval',
      'clearInterval',
      'setImmediate',
      'performance',
    ] as const
    vi.useFakeTimers({ toFake: [...toFake, 'clearImmediate'] })
    onTestFinished(() => void vi.useRealTimers())
    const { changes, open } = inbox(db)
    const mine = open('cnv_mine')
    const lists = open()
    const told = () => [mine.events().length, lists.events().length]
    await vi.advanceTimersByTimeAsync(10_000)
    expect(told()).toEqual([1, 1])
    changes.changed('cnv_other')
    await vi.advanceTimersByTimeAsync(1)
    expect(told()).toEqual([2, 2])
    // It began, is answered, is handed over: each is told when it happens.
    await vi.advanceTimersByTimeAsync(60)
    for (const count of [3, 4]) {
      changes.changed('cnv_other')
      await vi.advanceTimersByTimeAsync(60)
      expect(told()).toEqual([count, count])
    }
    for (let change = 0; change < 100; change++) {
      changes.changed('cnv_other')
      await vi.advanceTimersByTimeAsync(50)
    }
    const [before = 0, much = 0] = told()
    expect(much - 4).toBeGreaterThanOrEqual(10)
    expect(much - 4).toBeLessThanOrEqual(12)
    changes.changed('cnv_mine')
    await vi.advanceTimersByTimeAsync(60)
    expect(mine.events().length).toBe(before + 1)
  })

  it('is told that its member of staff has signed out, before it is told anything else', async () => {
    let who: typeof rita | null = rita
    let asked = 0
    const { changes, clock, open, streams } = inbox(await memory(), {
      who: async () => {
        asked += 1
        return who
      },
    })
    const mine = open('cnv_1')
    who = null
    changes.changed('cnv_1')
    await expect.poll(() => mine.events().length, patiently).toBe(2)
    expect(asked).toBe(0)
    clock.now += 5_000
    changes.changed('cnv_1')
    await expect.poll(() => mine.isOver(), patiently).toBe(true)
    expect(mine.events().slice(2)).toEqual(['signed-out'])
    expect([asked, streams.size()]).toEqual([1, 0])

    // A colleague at the same computer is somebody else.
    who = { id: 'omar', name: 'Omar' }
    const next = open('cnv_1')
    clock.now += 5_000
    changes.changed('cnv_1')
    await expect.poll(() => next.isOver(), patiently).toBe(true)
    expect(next.events()).toEqual(['changed', 'signed-out'])
  })

  it('ends without a word where the company’s own login fails, or doesn’t answer', async () => {
    const errors: unknown[] = []
    let who = (): Promise<null> => Promise.reject(new Error('the login is down'))
    const { changes, clock, open } = inbox(await memory(), {
      who: () => who(),
      log: { ...silent, warn: (fields) => void errors.push(fields) },
    })
    const first = open('cnv_1')
    clock.now += 5_000
    changes.changed('cnv_1')
    await expect.poll(() => first.isOver(), patiently).toBe(true)
    expect(first.events()).toEqual(['changed'])
    expect(errors).toEqual([{ error: 'Error' }])
    who = () => new Promise(() => {})
    const second = open('cnv_1')
    clock.now += 5_000
    changes.changed('cnv_1')
    await expect
      .poll(() => {
        clock.now += 2_000
        return second.isOver()
      }, patiently)
      .toBe(true)
    expect(second.events()).toEqual(['changed'])
  })

  it('is one of 20 of its member of staff at most, and 200 that were dropped leave nothing behind', async () => {
    let listening = 0
    const { db, asked } = watched(await memory())
    const changes = createChanges()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const { clock, open, seen, streams } = inbox(db, {
      changes: {
        listenToAll(ear) {
          listening += 1
          const leave = changes.listenToAll(ear)
          return () => {
            listening -= 1
            leave()
          }
        },
      },
    })
    for (let round = 0; round < 10; round++) {
      const pages = Array.from({ length: 20 }, () => open('cnv_1'))
      expect(() => open()).toThrow('Too many pages')
      changes.changed('cnv_2')
      await vi.advanceTimersByTimeAsync(60)
      expect(vi.getTimerCount()).toBeGreaterThan(0)
      for (const one of pages) one.cut()
      expect([streams.size(), listening, vi.getTimerCount()]).toEqual([0, 0, 0])
    }
    expect(seen).toHaveLength(200)
    changes.changed('cnv_1')
    clock.now += 60_000
    await vi.advanceTimersByTimeAsync(60_000)
    expect([asked, vi.getTimerCount(), seen.length]).toEqual([[], 0, 200])
  })

  it.each(['?conversation=a&conversation=b', '?conversation=%00', '?conversation=../x'])(
    'is refused with a conversation that is none: %s',
    async (query) => {
      const { streams } = inbox(await memory())
      const request = new Request(`${company}/poppy/inbox/live${query}`)
      expect(() => streams.open(rita, request)).toThrow('the id of one conversation')
      expect(streams.size()).toBe(0)
    },
  )
})

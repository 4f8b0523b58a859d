import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { conversationParts, startConversation } from '../../../../test/setup/conversation-parts.ts'
import { now, sessionRow } from '../../../../test/setup/rows.ts'
import { silent, stores } from '../../../../test/setup/stores.ts'
import { createChanges } from '../changes/changes.ts'
import { listeningTo } from '../changes/wide-ears.ts'
import { insertSession } from '../sessions/store.ts'
import { withConversation } from './ledger.ts'
import { createListening, listeningNow } from './listening.ts'
import type { ConversationSet } from './row.ts'

// Whether a Personal Agent listens where people are wanted or at work, at whatever instance.

const company = 'https://miramar.example'
const patiently = { timeout: 20_000 }

describe.each(stores)('Who listens on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  async function begin() {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const clock = { now }
    const { open } = await fresh()
    const ending = new AbortController()
    onTestFinished(() => ending.abort())
    const written: string[] = []
    async function instance(onQuery: (sql: string) => void = () => {}) {
      const db = await open({ onQuery })
      const scope = { db, company }
      const changes = createChanges({ scope: async () => scope, log: silent })
      onTestFinished(changes.close)
      const told: string[] = []
      onTestFinished(changes.listenToAll({ told: (all) => void told.push(...(all ?? ['?'])) }))
      const running = new Set<Promise<unknown>>()
      const listening = createListening({
        ...{ scope: async () => scope, now: () => clock.now, log: silent, changes, ending: ending.signal },
        track(work) {
          running.add(work)
          return work
        },
      })
      const { parts } = conversationParts(scope, { now: () => clock.now, changes })
      return {
        scope,
        told,
        listening,
        parts,
        async done() {
          for (const work of running) await work
        },
      }
    }
    const isWritten = (sql: string) => /(insert into|update|delete from) poppy_listeners/.test(sql)
    const here = await instance((sql) => void (isWritten(sql) && written.push(sql)))
    const there = await instance()
    await insertSession(here.scope, sessionRow())
    const { id } = await startConversation(here.scope)
    const set = async (to: ConversationSet) => {
      const settled = await withConversation(here.parts, id, () => ({ set: to, events: [] }))
      if (settled === null) throw new Error('there is no conversation')
      return settled.row
    }
    const connected = async () => (await listeningNow(here.scope, { ids: [id], now: clock.now })).get(id)?.isConnected
    /** Moves the clock, and has what is due done. */
    async function pass(milliseconds: number) {
      clock.now += milliseconds
      vi.advanceTimersByTime(1_000)
      await here.done()
      await there.done()
    }
    return { id, clock, here, there, set, connected, pass, written, ending }
  }

  test('is not noted where nobody asks, and noted once a person is wanted, until they have gone', async () => {
    const { id, here, set, connected, pass, written } = await begin()
    const ear = {}
    const idle = await set({ status: 'idle' })
    const timers = vi.getTimerCount()
    here.listening.note(ear, idle)
    await pass(120_000)
    expect([written, vi.getTimerCount(), await connected()]).toEqual([[], timers, null])

    const queued = await set({ status: 'queued' })
    expect(await connected()).toBe(false)
    here.told.length = 0
    here.listening.note(ear, queued)
    here.listening.note(ear, queued)
    here.listening.note({}, queued)
    await here.done()
    expect(await connected()).toBe(true)
    await expect.poll(() => here.told.some((what) => what === listeningTo(id) || what === '?'), patiently).toBe(true)
    // It holds as long as somebody is there, whatever becomes of the turn of it.
    const first = written.length
    for (let minute = 0; minute < 5; minute++) await pass(61_000)
    expect([await connected(), written.length - first]).toEqual([true, 5])
    await pass(59_000)
    expect(written.length - first).toBe(5)

    // Handed back: nobody asks any more.
    here.listening.note(ear, await set({ status: 'idle', responder: 'agent' }))
    expect(await connected()).toBe(null)
  })

  test('is told when the last one has gone, a moment later, so that the next wait is the same', async () => {
    const { id, here, there, set, connected, pass } = await begin()
    const row = await set({ status: 'queued' })
    const timers = vi.getTimerCount()
    const [first, second] = [{}, {}]
    here.listening.note(first, row)
    await here.done()
    here.listening.leave(first)
    await pass(4_000)
    here.listening.note(second, row)
    await pass(6_000)
    expect(await connected()).toBe(true)
    here.listening.leave(second)
    here.listening.leave(second)
    await pass(4_000)
    expect(await connected()).toBe(true)
    there.told.length = 0
    await pass(2_000)
    expect([await connected(), vi.getTimerCount()]).toEqual([false, timers])
    await expect.poll(() => there.told.some((what) => what === listeningTo(id) || what === '?'), patiently).toBe(true)
  })

  test('is still there at another instance, whichever of them wrote last', async () => {
    const { here, there, set, connected, pass } = await begin()
    const row = await set({ status: 'idle', responder: 'human', held_by: 'rita', held_name: 'Rita' })
    const [mine, theirs] = [{}, {}]
    here.listening.note(mine, row)
    await here.done()
    await pass(1_000)
    there.listening.note(theirs, row)
    await there.done()
    here.listening.leave(mine)
    await pass(6_000)
    expect(await connected()).toBe(true)
    // Now the other way around: this one has written last, and goes.
    await pass(10_000)
    here.listening.note(mine, row)
    await here.done()
    here.listening.leave(mine)
    await pass(6_000)
    await expect.poll(connected, patiently).toBe(true)
    there.listening.leave(theirs)
    await pass(6_000)
    await expect.poll(connected, patiently).toBe(false)
  })

  test('runs out where an instance died, and is not written for what is gone', async () => {
    const { id, clock, here, set, connected, ending, pass } = await begin()
    const row = await set({ status: 'queued' })
    here.listening.note({}, row)
    await here.done()
    ending.abort()
    expect(await connected()).toBe(true)
    clock.now += 90_000
    expect(await connected()).toBe(false)
    here.listening.note({}, row)
    await pass(1_000)
    expect(await connected()).toBe(false)
    await here.scope.db.query.deleteFrom('poppy_conversations').where('company', '=', company).execute()
    expect((await listeningNow(here.scope, { ids: [id], now: clock.now })).size).toBe(0)
    expect((await listeningNow(here.scope, { ids: [], now: clock.now })).size).toBe(0)
  })
})

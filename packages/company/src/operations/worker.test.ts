import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { now as start } from '../../../../test/setup/rows.ts'
import { type FreshStore, silent, stores } from '../../../../test/setup/stores.ts'
import {
  company,
  confirmed,
  definition,
  eventsOf,
  id,
  proposed,
  stateOf,
  workerOf,
} from '../../../../test/setup/worked-operation.ts'
import { addWork, backlog } from '../outbox/store.ts'
import type { Scope } from '../store/database.ts'
import { postgres } from '../store/postgres.ts'
import type { OperationHooks } from './hooks.ts'
import { failed, succeeded, unknown } from './outcome.ts'
import { settle } from './settle.ts'
import { findOperation, listOperations, trailOf } from './store.ts'

/** What is confirmed is done at most once, whatever happens (Operations 6). */

describe.each(stores)('operations on $name', ({ name, missing, fresh }) => {
  const open = async (store: FreshStore): Promise<Scope> => ({ db: await store.open(), company })

  it.skipIf(missing)('are left to the instance that has begun them, until their work is due', async () => {
    const store = await fresh()
    const [scope, other] = [await open(store), await open(store)]
    const clock = { now: start }
    await confirmed(scope)
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let asked = 0
    const slow = definition({
      async perform() {
        begun.resolve()
        await gate.promise
        return succeeded({ booking: 'B1' })
      },
      reconcile() {
        asked += 1
        return unknown()
      },
    })
    const first = workerOf(scope, clock, slow).perform()
    await begun.promise
    // It confirmed as well, and comes later; and what is due is looked for each second.
    const second = workerOf(other, clock, slow)
    await second.perform()
    await second.sweep()
    expect(asked).toBe(0)
    expect(await eventsOf(scope)).toEqual(['proposed', 'confirmed', 'started'])
    gate.resolve()
    await first
    expect(await eventsOf(scope)).toEqual(['proposed', 'confirmed', 'started', 'succeeded'])
  })

  it.skipIf(missing)('are performed with the terms that were confirmed, and told as they ended', async () => {
    const scope = await open(await fresh())
    const clock = { now: start }
    const performed: unknown[] = []
    await confirmed(scope)
    await workerOf(
      scope,
      clock,
      definition({
        perform(agreement, { key, attempt }) {
          performed.push({ ...agreement, key, attempt })
          return succeeded({ booking: 'B1' })
        },
      }),
    ).perform()
    expect(performed).toEqual([
      expect.objectContaining({ id, key: id, attempt: 1, revision: 1, terms: { nights: 2 }, account: 'ada' }),
    ])
    const stored = await findOperation(scope, id)
    expect(stored?.operation).toMatchObject({ state: 'succeeded', result: '{"booking":"B1"}', unknown_since: null })
    expect(await eventsOf(scope)).toEqual(['proposed', 'confirmed', 'started', 'succeeded'])
    expect(await backlog(scope, { now: start + 1e9 })).toEqual({ waiting: 0, dueSince: null })
  })

  it.skipIf(missing)('that fail say why, and nothing of them is tried again', async () => {
    const scope = await open(await fresh())
    await confirmed(scope)
    const worker = workerOf(scope, { now: start }, definition({ perform: () => failed('The room was taken.') }))
    await worker.perform()
    await worker.perform()
    expect((await findOperation(scope, id))?.operation).toMatchObject({
      state: 'failed',
      result: '{"reason":"The room was taken."}',
    })
  })

  it.skipIf(missing)(
    'of which only a part happened succeed with what did and what did not [ops.partial-effects]',
    async () => {
      const scope = await open(await fresh())
      await confirmed(scope)
      const told = { booked: ['3 March'], notBooked: ['4 March'] }
      await workerOf(scope, { now: start }, definition({ perform: () => succeeded(told) })).perform()
      const stored = await findOperation(scope, id)
      expect(stored?.operation).toMatchObject({ state: 'succeeded', result: JSON.stringify(told) })
    },
  )

  it.skipIf(missing)(
    'that break off in the middle are not called failed, but stay in progress [ops.partial-effects, ops.failed-certain]',
    async () => {
      const scope = await open(await fresh())
      await confirmed(scope)
      const done: string[] = []
      const perform = () => {
        done.push('the room')
        throw new Error('the deposit')
      }
      await workerOf(scope, { now: start }, definition({ perform })).perform()
      expect({ done, state: await stateOf(scope) }).toEqual({ done: ['the room'], state: 'in_progress' })
    },
  )

  it.skipIf(missing)('are performed once by two instances that begin at once', async () => {
    const store = await fresh()
    const scopes = [await open(store), await open(store)]
    await confirmed(scopes[0] as Scope)
    let performed = 0
    const operation = definition({
      perform() {
        performed++
        return succeeded()
      },
    })
    await Promise.all(scopes.map((scope) => workerOf(scope, { now: start }, operation).perform()))
    expect(performed).toBe(1)
    expect(await stateOf(scopes[1] as Scope)).toBe('succeeded')
  })

  it.skipIf(missing)('whose perform throws are asked about with growing pauses [ops.failed-certain]', async () => {
    const scope = await open(await fresh())
    const clock = { now: start }
    await confirmed(scope)
    let performed = 0
    const answers = [unknown(), new Error('the network'), succeeded({ booking: 'B2' })]
    const asked: number[] = []
    const worker = workerOf(
      scope,
      clock,
      definition({
        perform() {
          performed++
          throw new Error('the line broke')
        },
        reconcile() {
          asked.push(clock.now - start)
          const answer = answers[asked.length - 1] as (typeof answers)[number]
          if (answer instanceof Error) throw answer
          return answer
        },
      }),
    )
    await worker.perform()
    expect(await stateOf(scope)).toBe('in_progress')
    expect(await listOperations(scope, { unsettled: true, limit: 10 })).toHaveLength(1)
    for (let second = 0; second < 20; second++) {
      clock.now += 1000
      await worker.sweep()
    }
    expect({ performed, asked: asked.length }).toEqual({ performed: 1, asked: 3 })
    const pauses = asked.map((at, index) => at - (asked[index - 1] ?? 0))
    expect(pauses).toEqual([...pauses].sort((left, right) => left - right))
    expect(await stateOf(scope)).toBe('succeeded')
    expect(await eventsOf(scope)).toEqual(['proposed', 'confirmed', 'started', 'unknown', 'succeeded'])
  })

  it.skipIf(missing)('whose process died after it began are never begun again [ops.at-most-once]', async () => {
    const store = await fresh()
    const [one, two] = [await open(store), await open(store)]
    const clock = { now: start }
    let performed = 0
    await confirmed(one)
    const dying = workerOf(
      one,
      clock,
      definition({
        perform() {
          performed++
          return succeeded()
        },
      }),
      { at: (point) => (point === 'started' ? new Promise(() => {}) : undefined) },
    )
    dying.poke(id)
    await expect.poll(() => eventsOf(two)).toContain('started')
    const other = workerOf(
      two,
      clock,
      definition({
        perform() {
          performed++
          return succeeded()
        },
        reconcile: () => failed('It had not begun.'),
      }),
    )
    await other.sweep()
    expect(await stateOf(two)).toBe('in_progress')
    clock.now += 7000
    await other.sweep()
    // It may go by a slower clock, and be at it still.
    expect(await stateOf(two)).toBe('in_progress')
    clock.now += 7000
    await other.sweep()
    expect({ performed, state: await stateOf(two) }).toEqual({ performed: 0, state: 'failed' })
  })

  it.skipIf(missing)(
    'are not called failed by an instance whose clock is minutes ahead of who performs them',
    async () => {
      const store = await fresh()
      const [scope, other] = [await open(store), await open(store)]
      await confirmed(scope)
      const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const booked: string[] = []
      const slow = definition({
        async perform(_, { key }) {
          begun.resolve()
          await gate.promise
          booked.push(key)
          return succeeded({ booking: 'B1' })
        },
        reconcile: (_, { key }) => (booked.includes(key) ? succeeded({ booking: 'B1' }) : failed('There is none.')),
      })
      const first = workerOf(scope, { now: start }, slow).perform()
      await begun.promise
      const ahead = { now: start + 300_000 }
      const second = workerOf(other, ahead, slow)
      await second.sweep()
      await second.sweep()
      ahead.now += 1100
      await second.sweep()
      expect(await stateOf(other)).toBe('in_progress')
      gate.resolve()
      await first
      ahead.now += 6000
      await second.sweep()
      expect([booked.length, await stateOf(other)]).toEqual([1, 'succeeded'])
    },
  )

  it.skipIf(missing)('are looked after, however much there is to tell and nobody to hear it', async () => {
    const scope = await open(await fresh())
    const clock = { now: start }
    await confirmed(scope)
    for (let at = 0; at < 60; at++)
      await addWork(scope, {
        id: `tell:other:${at}`,
        kind: 'tell',
        operation_id: id,
        payload: 'confirmed',
        due_at: start - 1000 + at,
        attempts: 0,
        created_at: start,
      })
    const worker = workerOf(scope, clock, definition(), { hooks: { confirmed: () => Promise.reject(new Error('no')) } })
    await worker.sweep()
    expect(await stateOf(scope)).toBe('succeeded')
  })

  it.skipIf(missing)('that outlast their time are unknown, whatever they say late [ops.unknown-outcome]', async () => {
    const scope = await open(await fresh())
    await confirmed(scope)
    const { promise, resolve } = Promise.withResolvers<void>()
    const worker = workerOf(
      scope,
      { now: start },
      definition({
        performTimeout: 5,
        async perform() {
          await promise
          return succeeded({ booking: 'late' })
        },
      }),
    )
    await worker.perform()
    expect(await stateOf(scope)).toBe('in_progress')
    resolve()
    await expect.poll(() => eventsOf(scope)).toContain('late_outcome')
    expect(await stateOf(scope)).toBe('in_progress')
    expect((await trailOf(scope, id)).at(-1)?.detail).toMatchObject({
      outcome: 'succeeded',
      result: { booking: 'late' },
    })
  })

  it.skipIf(missing)('whose outcome nobody knows are ended by a person, once, with who and why', async () => {
    const scope = await open(await fresh())
    await confirmed(scope)
    const told = { now: () => start, tells: () => false, complain: () => {} }
    const word = { by: 'desk1', why: 'The guest has the key.' }
    const early = settle(scope, id, succeeded({ booking: 'B9' }), word, told)
    await expect(early).rejects.toMatchObject({ code: 'revision_conflict' })
    await workerOf(scope, { now: start }, definition({ perform: () => unknown() })).perform()
    await expect(settle(scope, id, unknown() as never, word, told)).rejects.toThrow(TypeError)
    await expect(settle(scope, id, succeeded(), { ...word, why: '' }, told)).rejects.toThrow(/records/)
    expect(await settle(scope, id, succeeded({ booking: 'B9' }), word, told)).toMatchObject({
      state: 'succeeded',
      result: { booking: 'B9' },
      unknownSince: null,
    })
    const again = settle(scope, id, failed('No.'), word, told)
    await expect(again).rejects.toMatchObject({ code: 'revision_conflict' })
    expect((await trailOf(scope, id)).at(-1)).toMatchObject({
      event: 'settled',
      who: { staff: 'desk1' },
      detail: { as: 'succeeded', why: 'The guest has the key.' },
    })
  })

  it.skipIf(missing)('that are repeatable are performed again with the same key', async () => {
    const scope = await open(await fresh())
    const clock = { now: start }
    await confirmed(scope)
    const keys: string[] = []
    const worker = workerOf(
      scope,
      clock,
      definition({
        repeatable: true,
        perform(_, { key, attempt }) {
          keys.push(`${key} ${attempt}`)
          if (keys.length === 1) throw new Error('the line broke')
          return succeeded()
        },
      }),
    )
    await worker.perform()
    clock.now += 2000
    await worker.sweep()
    expect(keys).toEqual([`${id} 1`, `${id} 2`])
    expect(await stateOf(scope)).toBe('succeeded')
  })

  it.skipIf(missing)('that nobody confirmed in time expire', async () => {
    const scope = await open(await fresh())
    await proposed(scope)
    const clock = { now: start + 899_999 }
    const worker = workerOf(scope, clock, definition())
    await worker.sweep()
    expect(await stateOf(scope)).toBe('proposed')
    clock.now++
    await worker.sweep()
    expect(await stateOf(scope)).toBe('expired')
    expect(await eventsOf(scope)).toEqual(['proposed', 'expired'])
  })

  it.skipIf(missing)('tell the company at least once, each time with the same key', async () => {
    const scope = await open(await fresh())
    const clock = { now: start }
    const told: string[] = []
    let isBroken = true
    const hooks: OperationHooks = {
      confirmed: ({ key, event, operation }) => void told.push(`${event} ${key} ${operation.id}`),
      finished({ key, event, operation }) {
        told.push(`${event} ${key} ${operation.state}`)
        if (isBroken) throw new Error('the records are closed')
      },
    }
    await confirmed(scope, { hooks })
    const worker = workerOf(scope, clock, definition(), { hooks })
    await worker.perform()
    await worker.sweep()
    expect(told.toSorted()).toEqual([`confirmed tell:${id}:2 ${id}`, `finished tell:${id}:4 succeeded`])
    isBroken = false
    clock.now += 60_000
    await worker.sweep()
    clock.now += 1e7
    await worker.sweep()
    expect(told.filter((line) => line.startsWith('finished'))).toEqual(
      Array.from({ length: 2 }, () => `finished tell:${id}:4 succeeded`),
    )
  })

  it.skipIf(missing)('are not performed with other terms, or fewer rights, than they were confirmed with', async () => {
    const scope = await open(await fresh())
    await confirmed(scope)
    let performed = 0
    const perform = () => {
      performed++
      return succeeded()
    }
    await workerOf(scope, { now: start }, definition({ perform, scopes: ['poppy:write', 'spa'] })).perform()
    expect({ performed, state: await stateOf(scope) }).toEqual({ performed: 0, state: 'failed' })
  })

  it.skipIf(missing)('are not performed when their terms were changed in the database', async () => {
    const scope = await open(await fresh())
    await confirmed(scope)
    await scope.db.query
      .updateTable('poppy_revisions')
      .set({ terms: '{"nights":9}' })
      .where('company', '=', company)
      .execute()
    await workerOf(scope, { now: start }, definition()).perform()
    expect(await stateOf(scope)).toBe('failed')
  })

  it.skipIf(missing)('of another release are left to it', async () => {
    const scope = await open(await fresh())
    const clock = { now: start }
    await confirmed(scope)
    const complaints: string[] = []
    const log = { ...silent, error: (_: object, message: string) => void complaints.push(message) }
    const worker = workerOf(scope, clock, null, { log })
    await worker.sweep()
    await worker.sweep()
    expect({ complaints: complaints.length, state: await stateOf(scope) }).toEqual({
      complaints: 1,
      state: 'in_progress',
    })
    clock.now += 31_000
    await workerOf(scope, clock, definition()).sweep()
    expect(await stateOf(scope)).toBe('succeeded')
  })

  it.skipIf(missing || name !== 'postgres').each(['started', 'performed'] as const)(
    'have their outcome written though the database ends every connection when they are %s',
    async (where) => {
      const store = await fresh()
      const other = await open(store)
      // The server is the whole run's: only the connections of this test end.
      const named = new URL(store.address.kind === 'postgres' ? store.address.url : '')
      named.searchParams.set('application_name', `ended ${where}`)
      const db = await postgres(named.href.replaceAll('+', '%20')).open({ now: () => start, log: silent })
      onTestFinished(db.close)
      const scope = { db, company }
      await confirmed(scope)
      let performed = 0
      const endAll = () =>
        sql`select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = ${`ended ${where}`}`.execute(other.db.query as never)
      const worker = workerOf(
        scope,
        { now: start },
        definition({
          perform() {
            performed += 1
            return succeeded({ booking: 'B1' })
          },
        }),
        { at: async (point) => void (point === where && (await endAll())) },
      )
      await worker.perform()
      expect([performed, await stateOf(other), await eventsOf(other)]).toEqual([
        1,
        'succeeded',
        ['proposed', 'confirmed', 'started', 'succeeded'],
      ])
    },
  )
})

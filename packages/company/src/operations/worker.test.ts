import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { now as start } from '../../../../test/setup/rows.ts'
import { type FreshStore, silent, stores } from '../../../../test/setup/stores.ts'
import type { FaultPoint } from '../faults/faults.ts'
import { addWork, backlog } from '../outbox/store.ts'
import type { Logger, Scope } from '../store/database.ts'
import { compileSchema } from '../tools/schema.ts'
import type { Operation } from './definition.ts'
import { digestOf } from './digest.ts'
import { type OperationHooks, tellsOf } from './hooks.ts'
import { cancelled, failed, succeeded, tooLate, unknown } from './outcome.ts'
import { settle } from './settle.ts'
import {
  cancelOperation,
  confirmOperation,
  findOperation,
  insertOperation,
  listOperations,
  noteCancelAsked,
  trailOf,
} from './store.ts'
import { createWorker, type OperationWorker } from './worker.ts'

/** What is confirmed is done at most once, whatever happens (Operations 6). */

const company = 'https://miramar.example'
const id = 'opn_1'

/** A moment that tests move. */
interface Clock {
  now: number
}

const definition = (parts: Partial<Operation> = {}): Operation => ({
  name: 'book_room',
  title: undefined,
  description: 'Books a room.',
  input: compileSchema({ type: 'object' }, 'input', 'test'),
  scopes: ['poppy:write'],
  extension: undefined,
  annotations: undefined,
  approval: 'user',
  expiresIn: 900_000,
  timeout: 30_000,
  performTimeout: 1000,
  repeatable: false,
  identity: undefined,
  propose: () => ({ summary: 'Two nights.' }),
  perform: () => succeeded({ booking: 'B1' }),
  reconcile: undefined,
  cancel: undefined,
  ...parts,
})

function workerOf(
  scope: Scope,
  clock: Clock,
  operation: Operation | null,
  more: {
    readonly hooks?: OperationHooks
    readonly at?: (point: FaultPoint) => void | Promise<void>
    readonly log?: Logger
    readonly givenUp?: AbortSignal
  } = {},
) {
  const running = new Set<Promise<unknown>>()
  const hooks = more.hooks ?? {}
  const worker: OperationWorker = createWorker({
    scope: async () => scope,
    operations: new Map(operation === null ? [] : [[operation.name, operation]]),
    hooks,
    tells: tellsOf(hooks),
    now: () => clock.now,
    log: more.log ?? silent,
    givenUp: more.givenUp ?? new AbortController().signal,
    at: more.at ?? (() => {}),
    changed: () => {},
    track(work) {
      running.add(work)
      void work.finally(() => running.delete(work))
      return work
    },
  })
  /** Pokes, and waits until nothing runs any more. */
  const perform = async () => {
    worker.poke(id)
    while (running.size > 0) await Promise.allSettled(running)
  }
  return { ...worker, perform }
}

async function proposed(scope: Scope, { hooks = {} }: { readonly hooks?: OperationHooks } = {}) {
  const fixed = {
    operation_id: id,
    revision: 1,
    summary: 'Two nights.',
    terms: '{"nights":2}',
    input: '{}',
    data: null,
    approval: 'user',
    expires_at: start + 900_000,
  } as const
  await insertOperation(scope, {
    operation: {
      id,
      name: 'book_room',
      client_id: 'https://agent.example/client',
      user_id: 'user',
      account: 'ada',
      session_id: 's',
      identity: null,
      state: 'proposed',
      revision: 1,
      expires_at: start + 900_000,
      confirmed_revision: null,
      approved_by: null,
      confirmed_at: null,
      confirmed_scopes: null,
      turn: 0,
      started_at: null,
      unknown_since: null,
      cancel_asked_at: null,
      trail: 0,
      result: null,
      created_at: start,
      updated_at: start,
      finished_at: null,
    },
    revision: { ...fixed, digest: digestOf(fixed), created_at: start },
    entry: { event: 'proposed', channel: 'http', who: { clientId: 'https://agent.example/client' }, revision: 1 },
    tells: tellsOf(hooks)('proposed'),
  })
}

async function confirmed(scope: Scope, { hooks = {} }: { readonly hooks?: OperationHooks } = {}) {
  await proposed(scope, { hooks })
  const done = await confirmOperation(scope, {
    grantId: null,
    grantScopes: null,
    id,
    confirmed: 1,
    approvedBy: 'user',
    scopes: 'poppy:read poppy:write',
    now: start,
    dueAt: start,
    entry: { event: 'confirmed', channel: 'endpoint', who: {}, revision: 1 },
    tells: tellsOf(hooks)('confirmed'),
  })
  expect(done).not.toBeNull()
}

const stateOf = async (scope: Scope) => (await findOperation(scope, id))?.operation.state
const eventsOf = async (scope: Scope) => (await trailOf(scope, id)).map(({ event }) => event)

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

  it.skipIf(missing)('are cancelled for certain before they began, and never performed then', async () => {
    const scope = await open(await fresh())
    await confirmed(scope)
    const entry = { event: 'cancelled', channel: 'endpoint', who: {} } as const
    expect(await cancelOperation(scope, { id, result: null, now: start, entry })).not.toBeNull()
    let performed = 0
    const worker = workerOf(
      scope,
      { now: start },
      definition({
        perform() {
          performed++
          return succeeded()
        },
      }),
    )
    await worker.perform()
    await worker.sweep()
    expect({ performed, state: await stateOf(scope) }).toEqual({ performed: 0, state: 'cancelled' })
    expect(await cancelOperation(scope, { id, result: null, now: start, entry })).toBeNull()
  })

  it.skipIf(missing).each([
    ['cancelled', () => cancelled('The hotel took it back.'), 'cancelled'],
    ['too late', () => tooLate(), 'in_progress'],
    ['without a handler', undefined, 'in_progress'],
  ] as const)('that have begun are asked to stop: %s', async (_, cancel, state) => {
    const scope = await open(await fresh())
    await confirmed(scope)
    const worker = workerOf(scope, { now: start }, definition({ perform: () => unknown(), cancel }))
    await worker.perform()
    await scope.db.transaction(async () => {
      const entry = { event: 'cancel_asked', channel: 'endpoint', who: {} } as const
      expect(await noteCancelAsked(scope, { id, now: start, entry })).not.toBeNull()
      const work = { id: `cancel:${id}`, kind: 'cancel', operation_id: id, payload: null } as const
      await addWork(scope, { ...work, due_at: start, attempts: 0, created_at: start })
    })
    await worker.sweep()
    expect(await stateOf(scope)).toBe(state)
    if (state === 'in_progress') expect((await trailOf(scope, id)).at(-1)?.event).toBe('cancel_answered')
  })

  it.skipIf(missing)('are not called cancelled where they were begun again while that was found out', async () => {
    const store = await fresh()
    const [scope, other] = [await open(store), await open(store)]
    await confirmed(scope)
    const clock = { now: start }
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const [looked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const booked: string[] = []
    const again = definition({
      repeatable: true,
      async perform(_, { key, attempt }) {
        if (attempt === 1) return unknown()
        booked.push(key)
        begun.resolve()
        await gate.promise
        return succeeded({ booking: 'B1' })
      },
      async cancel() {
        if (booked.length > 0) return tooLate()
        looked.resolve()
        await answer.promise
        return cancelled('It was never booked.')
      },
    })
    await workerOf(scope, clock, again).perform()
    const entry = { event: 'cancel_asked', channel: 'endpoint', who: {} } as const
    await noteCancelAsked(scope, { id, now: start, entry })
    const work = { id: `cancel:${id}`, kind: 'cancel', operation_id: id, payload: null } as const
    await addWork(scope, { ...work, due_at: start, attempts: 0, created_at: start })
    const asking = workerOf(scope, clock, again).sweep()
    await looked.promise
    const ahead = { now: start + 1100 }
    const performing = workerOf(other, ahead, again).sweep()
    await begun.promise
    answer.resolve()
    await asking
    expect(await stateOf(other)).toBe('in_progress')
    gate.resolve()
    await performing
    expect([booked.length, await stateOf(other)]).toEqual([1, 'succeeded'])
  })

  it.skipIf(missing)('are not begun once the Company waits for nothing any more, but left to the next', async () => {
    const scope = await open(await fresh())
    await confirmed(scope)
    const attempts: number[] = []
    const once = definition({
      perform(_, { attempt }) {
        attempts.push(attempt)
        return succeeded()
      },
    })
    await workerOf(scope, { now: start }, once, { givenUp: AbortSignal.abort() }).perform()
    expect([attempts, await eventsOf(scope)]).toEqual([[], ['proposed', 'confirmed']])
    await workerOf(scope, { now: start }, once).sweep()
    expect([attempts, await stateOf(scope)]).toEqual([[1], 'succeeded'])
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
      const [scope, other] = [await open(store), await open(store)]
      await confirmed(scope)
      let performed = 0
      const endAll = () =>
        sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`.execute(other.db.query as never)
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

import { describe, expect, it } from 'vitest'
import { now as start } from '../../../../test/setup/rows.ts'
import { type FreshStore, stores } from '../../../../test/setup/stores.ts'
import {
  company,
  confirmed,
  definition,
  eventsOf,
  id,
  stateOf,
  workerOf,
} from '../../../../test/setup/worked-operation.ts'
import { addWork } from '../outbox/store.ts'
import type { Scope } from '../store/database.ts'
import { cancelled, succeeded, tooLate, unknown } from './outcome.ts'
import { cancelOperation, noteCancelAsked, trailOf } from './store.ts'

/** Stopping what is confirmed: only what is certain is called cancelled (Operations 6). */

describe.each(stores)('operations that are cancelled, on $name,', ({ missing, fresh }) => {
  const open = async (store: FreshStore): Promise<Scope> => ({ db: await store.open(), company })

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
})

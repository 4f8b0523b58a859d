import { describe, expect, it } from 'vitest'
import { days, minutes, now, operationRow, revisionRow, sessionRow } from '../../../../test/setup/rows.ts'
import { silent, stores } from '../../../../test/setup/stores.ts'
import { erasePerson, exportPerson } from '../accounts/person.ts'
import { holdSession, insertSession } from '../sessions/store.ts'
import { cleanUp } from '../store/clean-up.ts'
import type { Scope } from '../store/database.ts'
import type { OperationsTable } from '../store/tables.ts'
import {
  confirmOperation,
  expireOperation,
  finishOperation,
  insertOperation,
  startOperation,
  trailOf,
} from './store.ts'

/** What stays of operations, for how long, and what is left when a person is erased. */

const company = 'https://miramar.example'
const entry = { event: 'confirmed', channel: 'endpoint', who: { clientId: 'c', staff: 'Rita' } } as const

describe.each(stores)('Operations that are kept in $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  const start = async (): Promise<Scope> => ({ db: await (await fresh()).open(), company })
  const put = (scope: Scope, row: Partial<Omit<OperationsTable, 'company' | 'to_erase'>>, tells = false) => {
    const operation = operationRow(row)
    return insertOperation(scope, { operation, revision: revisionRow({ operation_id: operation.id }), entry, tells })
  }
  const ids = async ({ db }: Scope) =>
    (await db.query.selectFrom('poppy_operations').select('id').orderBy('id').execute()).map(({ id }) => id)
  const rest = async ({ db }: Scope) =>
    Promise.all(
      (['poppy_revisions', 'poppy_trail', 'poppy_outbox'] as const).map(
        async (table) => (await db.query.selectFrom(table).selectAll().execute()).length,
      ),
    )
  const clean = (scope: Scope, at: number, limit = 100) => cleanUp(scope, { now: at, limit, log: silent })

  test('stay for two years when they were confirmed, for a month when nobody did, and for good while they are open', async () => {
    const scope = await start()
    const over = { finished_at: now, expires_at: null }
    await put(scope, { id: 'proposed' })
    await put(scope, { id: 'begun', state: 'in_progress', expires_at: null, turn: 1 })
    await put(scope, { id: 'done', state: 'succeeded', confirmed_revision: 1, ...over })
    await put(scope, { id: 'failed', state: 'failed', confirmed_revision: 1, ...over })
    await put(scope, { id: 'stopped', state: 'cancelled', confirmed_revision: 1, ...over })
    await put(scope, { id: 'declined', state: 'cancelled', ...over })
    await put(scope, { id: 'expired', state: 'expired', ...over })
    expect((await clean(scope, now + days(30))).rows).toBe(0)
    await clean(scope, now + days(30) + 1)
    expect(await ids(scope)).toEqual(['begun', 'done', 'failed', 'proposed', 'stopped'])
    await clean(scope, now + days(730))
    expect(await ids(scope)).toHaveLength(5)
    await clean(scope, now + days(730) + 1)
    expect(await ids(scope)).toEqual(['begun', 'proposed'])
    expect(await rest(scope)).toEqual([2, 2, 0])
  })

  test('go in bites, each with all that belongs to it', async () => {
    const scope = await start()
    for (let index = 0; index < 25; index++)
      await put(scope, { id: `o${index}`, state: 'expired', finished_at: now, expires_at: null }, true)
    // Three rows besides its own: revision, trail, work.
    const { rows, isDone } = await clean(scope, now + days(31), 40)
    expect({ rows, isDone }).toEqual({ rows: 100, isDone: true })
    expect(await rest(scope)).toEqual([0, 0, 0])
  })

  test('are the person’s: exported with all of it but the names of staff, and erased once they have ended', async () => {
    const scope = await start()
    const change = { now, entry }
    await put(scope, { id: 'proposed' }, true)
    await put(scope, { id: 'begun' })
    await confirmOperation(scope, {
      ...change,
      id: 'begun',
      confirmed: 1,
      approvedBy: 'user',
      scopes: '',
      grantId: null,
      grantScopes: null,
      dueAt: now,
    })
    await put(scope, { id: 'of bob', account: 'bob' })
    const data = await exportPerson(scope, 'ada', { now: () => now })
    expect(data.operations.map(({ operationId }) => operationId)).toEqual(['begun', 'proposed'])
    expect(data.operations[0]).toMatchObject({
      state: 'in_progress',
      confirmedRevision: 1,
      revisions: [{ revision: 1, terms: { nights: 2 } }],
      trail: [{ event: 'confirmed', who: { clientId: 'c' } }, { event: 'confirmed' }],
    })
    expect(JSON.stringify(data)).not.toContain('Rita')

    expect(await erasePerson(scope, 'ada', { now: () => now })).toMatchObject({ operations: 1 })
    expect(await ids(scope)).toEqual(['begun', 'of bob'])
    expect((await rest(scope))[0]).toBe(2)
    // It goes on, is done, and told; then it goes.
    const started = await startOperation(scope, { ...change, id: 'begun', turn: 0, dueAt: now + minutes(1) })
    await clean(scope, now + days(1))
    const finish = { id: 'begun', turn: started?.turn ?? 0, state: 'succeeded', result: null, tells: true } as const
    expect(await finishOperation(scope, { ...change, ...finish })).not.toBeNull()
    await clean(scope, now + minutes(1))
    // The company's own records are told of its end first, for a day at most.
    expect(await ids(scope)).toEqual(['begun', 'of bob'])
    await scope.db.query.deleteFrom('poppy_outbox').where('company', '=', company).execute()
    await clean(scope, now + minutes(1))
    expect(await ids(scope)).toEqual(['of bob'])
    expect(await trailOf(scope, 'begun')).toEqual([])
  })

  test('are not waited for for ever by an erasure', async () => {
    const scope = await start()
    await put(scope, { id: 'begun', state: 'in_progress', turn: 1, expires_at: null })
    await erasePerson(scope, 'ada', { now: () => now })
    await finishOperation(scope, { id: 'begun', now, entry, turn: 1, state: 'failed', result: null, tells: true })
    await clean(scope, now + days(1))
    expect(await ids(scope)).toEqual(['begun'])
    await clean(scope, now + days(1) + 1)
    expect(await ids(scope)).toEqual([])
    expect(await rest(scope)).toEqual([0, 0, 0])
  })

  test('are kept on behalf of a Session that is there: an erasure at that moment finds them, or they are not kept', async () => {
    const { open } = await fresh()
    const scope: Scope = { db: await open(), company }
    const other: Scope = { db: await open(), company }
    await insertSession(scope, sessionRow({ account: 'ada' }))
    const held = Promise.withResolvers<void>()
    const erasing = held.promise.then(() => erasePerson(other, 'ada', { now: () => now }))
    await scope.db.transaction(async () => {
      expect(await holdSession(scope, 's')).toBe(true)
      held.resolve()
      for (let turn = 0; turn < 20; turn++) await exportPerson(scope, 'bob', { now: () => now })
      await put(scope, { id: 'late' })
    })
    expect(await erasing).toMatchObject({ operations: 1, sessions: 1 })
    expect(await ids(scope)).toEqual([])
    expect(await holdSession(scope, 's')).toBe(false)
  })

  test('that expired are over once, and not brought back', async () => {
    const scope = await start()
    await put(scope, { id: 'o', identity: 'the same' })
    const over = { id: 'o', now: now + minutes(15), entry }
    expect(await Promise.all([expireOperation(scope, over), expireOperation(scope, over)])).toContain(null)
    expect(await put(scope, { id: 'another', identity: 'the same' })).toBe(true)
    expect(await put(scope, { id: 'a third', identity: 'the same' })).toBe(false)
  })
})

import { describe, expect, it } from 'vitest'
import { grantRow, now, operationRow, revisionRow } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { insertGrant } from '../accounts/store.ts'
import type { Scope } from '../store/database.ts'
import type { Entry } from './agreement.ts'
import {
  confirmOperation,
  expireOperation,
  findOperation,
  findWithGrant,
  finishOperation,
  insertOperation,
  startOperation,
  takeOver,
} from './store.ts'

/** What many ask of the store at the same moment, which on PostgreSQL is done together. */

const company = 'https://miramar.example'
const entryOf = (event: Entry['event']) => ({ event, channel: 'worker', who: {}, revision: 1 }) as const

describe.each(stores)('At the same moment, $name', ({ name, missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  const onPostgres = it.skipIf(missing !== null || name !== 'postgres')
  const propose = async (scope: Scope, ids: readonly string[], row: Parameters<typeof operationRow>[0] = {}) => {
    for (const id of ids) {
      const revision = revisionRow({ operation_id: id })
      await insertOperation(scope, { operation: operationRow({ id, ...row }), revision, entry: entryOf('proposed') })
    }
  }
  const numbered = (count: number) => Array.from({ length: count }, (_, index) => `o${index}`)
  const confirm = (scope: Scope, id: string, grantId: string | null = null, tells = false) =>
    confirmOperation(scope, {
      id,
      now,
      confirmed: 1,
      approvedBy: 'user',
      scopes: 'poppy:write',
      grantId,
      grantScopes: grantId === null ? null : grantRow().scopes,
      dueAt: now,
      tells,
      entry: { ...entryOf('confirmed'), detail: { approved_by: 'user', of: id } },
    })
  const begin = (scope: Scope, id: string) =>
    startOperation(scope, { id, turn: 0, now, dueAt: now + 1000, entry: entryOf('started') })
  const finish = (scope: Scope, id: string, result: string | null = null) =>
    finishOperation(scope, { id, turn: 1, state: 'succeeded', result, now, entry: entryOf('succeeded'), tells: true })
  const everything = async ({ db }: Scope, of: string) =>
    Promise.all(
      (['poppy_operations', 'poppy_trail', 'poppy_outbox'] as const).map(async (table) => {
        const rows: readonly object[] = await db.query.selectFrom(table).selectAll().where('company', '=', of).execute()
        return rows.map((row) => JSON.stringify({ ...row, company: null })).sort()
      }),
    )

  test('writes to the letter what it writes one after the other, and nothing of another Company', async () => {
    const db = await (await fresh()).open()
    const ids = numbered(12)
    const steps = (scope: Scope): readonly (() => Promise<unknown>)[][] => [
      ids.map((id, index) => () => confirm(scope, id, null, index % 2 === 0)),
      ids.map((id) => () => begin(scope, id)),
      ids.slice(0, 8).map((id) => () => finish(scope, id, JSON.stringify({ booking: `"${id}" é` }))),
      ids.slice(6).map((id) => () => takeOver(scope, { id, turn: 1, now: now + 1, dueAt: now + 2000 })),
      ids.slice(8).map((id) => () => finish(scope, id)),
      ids.map((id) => () => expireOperation(scope, { id, now: now + 1e9, entry: entryOf('expired') })),
    ]
    const [byTurns, atOnce, untouched] = ['turns', 'once', 'other'].map((host) => ({
      db,
      company: `https://${host}.example`,
    })) as [Scope, Scope, Scope]
    for (const scope of [byTurns, atOnce, untouched]) await propose(scope, ids)
    const before = await everything(untouched, untouched.company)
    const answers: unknown[][] = [[], []]
    for (const step of steps(byTurns)) for (const one of step) answers[0]?.push(await one())
    for (const step of steps(atOnce)) answers[1]?.push(...(await Promise.all(step.map((one) => one()))))
    expect(answers[1]).toEqual(answers[0])
    expect(await everything(atOnce, atOnce.company)).toEqual(await everything(byTurns, byTurns.company))
    expect(await everything(untouched, untouched.company)).toEqual(before)
  })

  onPostgres('takes one statement for what is asked of it', async () => {
    const seen: string[] = []
    const scope = { db: await (await fresh()).open({ onQuery: (sql) => seen.push(sql) }), company }
    const ids = numbered(50)
    await propose(scope, ids)
    seen.length = 0
    await Promise.all(ids.map((id) => findWithGrant(scope, { id, grantId: 'g' })))
    await Promise.all(ids.map((id) => confirm(scope, id)))
    await Promise.all(ids.map((id) => begin(scope, id)))
    await Promise.all(ids.map((id) => finish(scope, id)))
    expect(seen).toHaveLength(4)
  })

  test('lets one start of several, also of two instances and of one that asks twice', async () => {
    const store = await fresh()
    const [one, other] = [
      { db: await store.open(), company },
      { db: await store.open(), company },
    ]
    const ids = numbered(40)
    await propose(one, ids, { state: 'in_progress', confirmed_revision: 1, expires_at: null })
    const backwards = ids.toReversed()
    const started = await Promise.all([
      ...ids.map((id) => begin(one, id)),
      ...backwards.map((id) => begin(other, id)),
      ...ids.map((id) => begin(one, id)),
    ])
    expect(started.filter((row) => row !== null)).toHaveLength(ids.length)
    for (const id of ids) expect((await findOperation(one, id))?.operation).toMatchObject({ turn: 1, trail: 2 })
  })

  test('finds for each its own operation and sign-in, and confirms by those that hold', async () => {
    const scope = { db: await (await fresh()).open(), company }
    const ids = numbered(6)
    await propose(scope, ids)
    await insertGrant(scope, grantRow({ id: 'g', token_hash: '1' }))
    await insertGrant(scope, grantRow({ id: 'ended', token_hash: '2', revoked_at: now }))
    const grants = ['g', 'ended', 'none', 'g', 'ended', 'g']
    const asked = [...ids.map((id, index) => ({ id, grantId: grants[index] as string })), { id: 'no', grantId: 'g' }]
    const found = await Promise.all(asked.map((both) => findWithGrant(scope, both)))
    expect(found.map((both) => both && [both.stored.operation.id, both.grant?.id, both.grant?.revoked_at])).toEqual([
      ['o0', 'g', null],
      ['o1', 'ended', now],
      ['o2', undefined, undefined],
      ['o3', 'g', null],
      ['o4', 'ended', now],
      ['o5', 'g', null],
      null,
    ])
    expect(found[3]?.stored).toEqual(await findOperation(scope, 'o3'))
    const confirmed = await Promise.all(ids.map((id, index) => confirm(scope, id, grants[index])))
    expect(confirmed.map((row) => row?.id)).toEqual(['o0', undefined, undefined, 'o3', undefined, 'o5'])
  })

  test('fails what can not be written, and nothing else', async () => {
    const scope = { db: await (await fresh()).open(), company }
    const ids = numbered(5)
    await propose(scope, ids, { state: 'in_progress', turn: 1, confirmed_revision: 1, expires_at: null })
    const written = await Promise.allSettled(
      ids.map((id, index) => finish(scope, id, index === 2 && name === 'postgres' ? '"\u0000"' : null)),
    )
    expect(written.map(({ status }) => status)).toEqual(
      ids.map((_, index) => (index === 2 && name === 'postgres' ? 'rejected' : 'fulfilled')),
    )
    expect((await findOperation(scope, 'o2'))?.operation.state).toBe(name === 'postgres' ? 'in_progress' : 'succeeded')
    expect((await findOperation(scope, 'o3'))?.operation.state).toBe('succeeded')
  })

  test('leaves what is done inside a transaction to that', async () => {
    const scope = { db: await (await fresh()).open(), company }
    await propose(scope, ['inside', 'o1', 'o2'], { state: 'in_progress', confirmed_revision: 1, expires_at: null })
    const undone = scope.db.transaction(async () => {
      expect(await begin(scope, 'inside')).not.toBeNull()
      throw new Error('undone')
    })
    const [ended, ...beside] = await Promise.allSettled([undone, begin(scope, 'o1'), begin(scope, 'o2')])
    expect(ended).toMatchObject({ status: 'rejected', reason: { message: 'undone' } })
    expect(beside.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    expect((await findOperation(scope, 'inside'))?.operation.turn).toBe(0)
    expect((await findOperation(scope, 'o2'))?.operation.turn).toBe(1)
  })

  onPostgres('waits for rows that somebody holds with those alone', async () => {
    const store = await fresh()
    const [scope, other] = [
      { db: await store.open(), company },
      { db: await store.open(), company },
    ]
    const held = ['held1', 'held2', 'held3']
    await propose(scope, [...held, 'o1', 'o2'], { state: 'in_progress', confirmed_revision: 1, expires_at: null })
    const [isHeld, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = other.db.transaction(async () => {
      await other.db.query.selectFrom('poppy_operations').select('id').where('id', 'in', held).forUpdate().execute()
      isHeld.resolve()
      await gate.promise
    })
    await isHeld.promise
    let isOver = false
    // Each by itself: more of them than statements run at once.
    const waiting: Promise<unknown>[] = []
    for (const id of held) {
      const one = begin(scope, id).finally(() => {
        isOver = true
      })
      waiting.push(one)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await Promise.all([begin(scope, 'o1'), begin(scope, 'o2')])).not.toContain(null)
    // Nor do later ones wait for it.
    expect(await Promise.all([finish(scope, 'o1'), finish(scope, 'o2')])).not.toContain(null)
    expect(isOver).toBe(false)
    gate.resolve()
    await holding
    expect(await Promise.all(waiting)).toMatchObject(held.map((id) => ({ id, turn: 1 })))
  })
})

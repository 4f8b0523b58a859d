import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { agentRow, codeRow, days, grantRow, minutes, now, sessionRow } from '../../../../test/setup/rows.ts'
import { silent, stores } from '../../../../test/setup/stores.ts'
import { insertGrant } from '../accounts/store.ts'
import { claimIds, claimProof, insertSession, readSession, signInSession } from '../sessions/store.ts'
import { insertCode, spendCode } from '../sign-in/store.ts'
import { cleanUp } from './clean-up.ts'
import type { Scope } from './database.ts'

const company = 'https://miramar.example'

describe.each(stores)('Cleaning up in $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  async function start(): Promise<{ readonly scope: Scope; readonly seen: string[] }> {
    const { open } = await fresh()
    const seen: string[] = []
    const db = await open({ onQuery: (sql) => seen.push(sql) })
    return { scope: { db, company }, seen }
  }
  const clean = async (scope: Scope, at: number, limit = 100) =>
    (await cleanUp(scope, { now: at, limit, log: silent })).rows

  test('a mark stays for as long as its proof could pass, and five minutes for clocks that differ [K01]', async () => {
    const { scope } = await start()
    const proof = { thumbprint: 'key', proofId: 'a', passesUntil: now }
    const ids = [{ kind: 'client_assertion', owner: 'c', id: 'a', expiresAt: now }] as const
    await claimProof(scope, proof)
    await claimIds(scope, ids)
    expect(await clean(scope, now + minutes(5))).toBe(0)
    expect(await claimProof(scope, proof)).toBe(false)
    expect(await claimIds(scope, ids)).toBe(false)
    expect(await clean(scope, now + minutes(5) + 1)).toBe(2)
    expect(await claimProof(scope, proof)).toBe(true)
    expect(await claimIds(scope, ids)).toBe(true)
  })

  test('what is over goes after a day, and what is not stays', async () => {
    const { scope } = await start()
    await insertSession(scope, sessionRow({ id: 'runs' }))
    await insertSession(scope, sessionRow({ id: 'expired', expires_at: now }))
    await insertSession(scope, sessionRow({ id: 'ended', ended_at: now }))
    await insertGrant(scope, grantRow({ id: 'for good', expires_at: null }))
    await insertGrant(scope, grantRow({ id: 'expired', expires_at: now }))
    await insertGrant(scope, grantRow({ id: 'revoked', expires_at: null, revoked_at: now }))
    await insertCode(scope, codeRow({ code_hash: 'expired', expires_at: now }))
    expect(await clean(scope, now + days(1))).toBe(0)
    expect(await clean(scope, now + days(1) + 1)).toBe(5)
    const left = async (table: 'poppy_sessions' | 'poppy_grants') =>
      (await scope.db.query.selectFrom(table).select('id').execute()).map(({ id }) => id)
    expect(await left('poppy_sessions')).toEqual(['runs'])
    expect(await left('poppy_grants')).toEqual(['for good'])
    expect(await spendCode(scope, { codeHash: 'expired', now })).toBe(false)
  })

  test('a Session whose grant was cleaned away is signed out, and its old tokens stay so', async () => {
    const { scope } = await start()
    await insertSession(scope, sessionRow())
    await insertGrant(scope, grantRow({ expires_at: now + 1 }))
    await signInSession(scope, { sessionId: 's', account: 'ada', grantId: 'g', now })
    const later = now + days(2)
    await clean(scope, later)
    const read = () => readSession(scope, { sessionId: 's', now: later, idle: days(30) })
    expect(await read()).toMatchObject({ account: 'ada', grant: null, epoch: 0 })
    await insertGrant(scope, grantRow({ id: 'g2' }))
    await signInSession(scope, { sessionId: 's', account: 'ada', grantId: 'g2', now: later })
    expect(await read()).toMatchObject({ grantId: 'g2', epoch: 1 })
  })

  test('the record of what staff did goes after a year, what nobody took after 30 days, who listened after one', async () => {
    const { scope } = await start()
    const { db } = scope
    const audit = { company, staff_id: 'rita', staff_name: 'Rita', act: 'took', operation_id: null, detail: null }
    for (const at of [now - 1, now])
      await db.query
        .insertInto('poppy_audit')
        .values({ ...audit, id: `at ${at}`, at, conversation_id: 'cnv_1' })
        .execute()
    const delivery = {
      company,
      endpoint: 'https://desk.example/',
      event: 'closed',
      body: '{}',
      attempts: 1,
      created_at: 0,
    }
    const about = { conversation_id: 'cnv_1', operation_id: null }
    for (const [id, given_up_at] of [
      ['before', now - 1],
      ['now', now],
      ['waits', null],
    ] as const)
      await db.query
        .insertInto('poppy_deliveries')
        .values({ ...delivery, ...about, id, given_up_at, due_at: given_up_at === null ? 0 : null })
        .execute()
    for (const ends_at of [now - 1, now])
      await db.query
        .insertInto('poppy_listeners')
        .values({ company, conversation_id: `at ${ends_at}`, ends_at })
        .execute()
    const left = async () =>
      Promise.all(
        (['poppy_audit', 'poppy_deliveries', 'poppy_listeners'] as const).map(
          async (table) => (await db.query.selectFrom(table).select('company').execute()).length,
        ),
      )
    await clean(scope, now + days(1))
    expect(await left()).toEqual([2, 3, 1])
    await clean(scope, now + days(30))
    expect(await left()).toEqual([2, 2, 0])
    await clean(scope, now + days(365))
    expect(await left()).toEqual([1, 1, 0])
    await cleanUp(scope, { now: now + days(366), limit: 100, log: silent, retention: { audit: days(400) } })
    expect(await left()).toEqual([1, 1, 0])
    // In bites, as everything is; and nobody else's.
    const many = Array.from({ length: 25 }, (_, at) => ({ ...audit, id: `old ${at}`, at: 0, conversation_id: null }))
    await db.query.insertInto('poppy_audit').values(many).execute()
    await db.query
      .insertInto('poppy_audit')
      .values({ ...audit, company: 'https://other.example', id: 'theirs', at: 0, conversation_id: null })
      .execute()
    const options = { now: now + days(366), limit: 10, log: silent, rest: async () => {} }
    expect(await cleanUp(scope, { ...options, mostBites: 1 })).toEqual({ rows: 10, isDone: false })
    expect(await cleanUp(scope, options)).toEqual({ rows: 16, isDone: true })
    expect(await left()).toEqual([1, 1, 0])
  })

  test('an agent is forgotten after ninety days away, unless somebody still lets it in', async () => {
    const { scope } = await start()
    const here = async () =>
      (await scope.db.query.selectFrom('poppy_agents').select('client_id').orderBy('client_id').execute()).map(
        ({ client_id }) => client_id,
      )
    await insertGrant(scope, grantRow({ client_id: 'https://kept.example/', expires_at: null }))
    await insertGrant(scope, grantRow({ id: 'g2', client_id: 'https://over.example/', expires_at: now + days(80) }))
    for (const host of ['gone', 'kept', 'over']) {
      const row = agentRow({ client_id: `https://${host}.example/` })
      await scope.db.query
        .insertInto('poppy_agents')
        .values({ ...row, company })
        .execute()
    }
    await scope.db.query
      .insertInto('poppy_agents')
      .values({ ...agentRow({ client_id: 'https://back.example/', last_seen_at: now + 1 }), company })
      .execute()
    await clean(scope, now + days(90))
    expect(await here()).toHaveLength(4)
    // The grant that ended goes first, then the agent that it had kept.
    await clean(scope, now + days(90) + 1)
    expect(await here()).toEqual(['https://back.example/', 'https://kept.example/'])
  })

  test('many rows go in bites, each a statement of its own', async () => {
    const { scope, seen } = await start()
    await scope.db.transaction(async () => {
      for (let index = 0; index < 25; index++) {
        await claimProof(scope, { thumbprint: 'key', proofId: `p${index}`, passesUntil: now })
      }
    })
    seen.length = 0
    expect(await clean(scope, now + days(2), 10)).toBe(25)
    expect(seen.filter((sql) => sql.includes('poppy_proofs'))).toHaveLength(3)
    expect(await clean(scope, now + days(2), 10)).toBe(0)
  })

  /** Marks and Sessions that are over, made in the database itself: one by one they would take longer than the test. */
  async function backlog({ db }: Scope, count: number): Promise<void> {
    const numbers =
      db.name === 'sqlite'
        ? `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})`
        : `with n (i) as (select * from generate_series(1, ${count}))`
    await sql`${sql.raw(numbers)} insert into poppy_proofs (company, mark, expires_at)
      select ${company}, 'mark ' || i, ${now} from n`.execute(db.query)
    await sql`${sql.raw(numbers)} insert into poppy_sessions (company, id, client_id, user_id, epoch, created_at, last_used_at,
      expires_at) select ${company}, 'session ' || i, 'c', 'u', 0, ${now}, ${now}, ${now} from n`.execute(db.query)
  }

  test('a pass is bounded, rests between bites, and the next one goes on', async () => {
    const { scope } = await start()
    await backlog(scope, 25)
    const rests: number[] = []
    const rest = async (milliseconds: number) => void rests.push(milliseconds)
    const pass = () => cleanUp(scope, { now: now + days(2), limit: 10, mostBites: 2, log: silent, rest })
    expect(await pass()).toEqual({ rows: 40, isDone: false })
    expect(rests).toHaveLength(4)
    expect(await pass()).toEqual({ rows: 10, isDone: true })
    expect(await pass()).toEqual({ rows: 0, isDone: true })
  })

  test('replaced Account Tokens go before their grant, none stays behind, and those of a grant that runs stay', async () => {
    const { scope } = await start()
    const retired = () => scope.db.query.selectFrom('poppy_retired_tokens').select('grant_id').execute()
    await insertGrant(scope, grantRow({ id: 'over', revoked_at: now }))
    await insertGrant(scope, grantRow({ id: 'runs', expires_at: null }))
    for (let number = 0; number < 10; number++) {
      await scope.db.query
        .insertInto('poppy_retired_tokens')
        .values({
          company,
          token_hash: `token ${number}`,
          grant_id: number < 7 ? 'over' : 'runs',
          successor_hash: `token ${number + 1}`,
          retired_at: now,
        })
        .execute()
    }
    const pass = () =>
      cleanUp(scope, { now: now + days(2), limit: 2, mostBites: 2, log: silent, rest: () => setImmediate() })
    expect(await pass()).toEqual({ rows: 4, isDone: false })
    expect(await scope.db.query.selectFrom('poppy_grants').select('id').execute()).toHaveLength(2)
    expect((await pass()).rows).toBe(4)
    expect((await pass()).rows).toBe(0)
    expect(await retired()).toEqual([{ grant_id: 'runs' }, { grant_id: 'runs' }, { grant_id: 'runs' }])
    expect(await scope.db.query.selectFrom('poppy_grants').select('id').execute()).toEqual([{ id: 'runs' }])
  })

  test('a pass that is told to end does so after the bite that runs', async () => {
    const { scope } = await start()
    await backlog(scope, 25)
    const stop = new AbortController()
    const rest = async () => stop.abort()
    const pass = { now: now + days(2), limit: 10, log: silent, rest, signal: stop.signal }
    expect(await cleanUp(scope, pass)).toEqual({ rows: 10, isDone: false })
  })

  test('a kind that fails is told, and the others go on', async () => {
    const { scope } = await start()
    await backlog(scope, 5)
    await scope.db.query.schema.dropTable('poppy_codes').execute()
    const log: object[] = []
    const error = (fields: object, message: string) => void log.push({ ...fields, message })
    const cleaned = await cleanUp(scope, { now: now + days(2), limit: 10, log: { ...silent, error } })
    expect(cleaned).toEqual({ rows: 10, isDone: false })
    expect(log).toEqual([{ table: 'poppy_codes', error: expect.any(String), message: 'clean-up failed' }])
  })

  test('instances that clean up together share the work, and a row that is held is left for the next time', async () => {
    const { open } = await fresh()
    const scopes = [
      { db: await open(), company },
      { db: await open(), company },
    ] as const
    await backlog(scopes[0], 3000)
    const log: object[] = []
    const error = (fields: object) => void log.push(fields)
    const pass = (scope: Scope) =>
      cleanUp(scope, { now: now + days(2), limit: 100, log: { ...silent, error }, rest: () => setImmediate() })
    const together = await Promise.all(scopes.flatMap((scope) => [pass(scope), pass(scope)]))
    expect(log).toEqual([])
    expect(together.reduce((sum, { rows }) => sum + rows, 0)).toBe(6000)

    if (scopes[0].db.name === 'sqlite') return
    await backlog(scopes[0], 3)
    const held = Promise.withResolvers<void>()
    const passed = held.promise.then(() => pass(scopes[1]))
    await scopes[0].db.transaction(async () => {
      await signInSession(scopes[0], { sessionId: 'session 2', account: 'ada', grantId: 'g', now: now - 1 })
      held.resolve()
      expect(await passed).toEqual({ rows: 5, isDone: true })
    })
    expect(await pass(scopes[1])).toEqual({ rows: 1, isDone: true })
  })
})

import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freshSchema, postgresMissing } from '../../../../test/setup/postgres.ts'
import { now, sessionRow } from '../../../../test/setup/rows.ts'
import { silent } from '../../../../test/setup/stores.ts'
import { insertSession, readSession } from '../sessions/store.ts'
import type { Database, Logger, Scope } from './database.ts'
import { postgres } from './postgres.ts'

const company = 'https://miramar.example'
const read = (scope: Scope) => readSession(scope, { sessionId: 's', now, idle: 1e9 })

async function ownPool(): Promise<{ readonly pool: pg.Pool; readonly url: string }> {
  const { url, drop } = await freshSchema()
  onTestFinished(drop)
  const pool = new pg.Pool({ connectionString: url, max: 3 })
  // Sockets close a moment after the pool has ended.
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  return { pool, url }
}

/** Ends every other connection to the same schema, as a restart of the server or a proxy does. */
async function cutConnections(url: string, applicationName: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rowCount } = await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and query like '%poppy_%'`,
    [applicationName],
  )
  await client.end()
  return rowCount ?? 0
}

describe.skipIf(postgresMissing !== null)('PostgreSQL', () => {
  async function start(source: string | { readonly pool: pg.Pool }, log: Logger = silent): Promise<Database> {
    const db = await postgres(source).open({ now: () => now, log })
    onTestFinished(db.close)
    return db
  }

  it('goes on after connections were lost, idle ones and one inside a transaction', async () => {
    const { url } = await ownPool()
    const name = `poppyseed test ${process.pid}`
    const named = new URL(url)
    named.searchParams.set('application_name', name)
    const warnings: string[] = []
    const log: Logger = { ...silent, warn: (fields, message) => warnings.push(`${message} ${JSON.stringify(fields)}`) }
    const db = await start(named.href.replaceAll('+', '%20'), log)
    const scope: Scope = { db, company }
    await insertSession(scope, sessionRow())

    const cut = db.transaction(async () => {
      await read(scope)
      expect(await cutConnections(url, name)).toBeGreaterThan(0)
      await read(scope)
    })
    await expect(cut).rejects.toThrow()
    expect(await read(scope)).not.toBeNull()

    expect(await cutConnections(url, name)).toBeGreaterThan(0)
    await expect.poll(() => read(scope).catch(() => null)).not.toBeNull()
    expect(warnings.length).toBeGreaterThan(0)
    for (const warning of warnings) expect(warning).toMatch(/^A connection to PostgreSQL was lost\. \{"code":"\w+"\}$/)
  })

  it("uses the company's own pool, leaves its numbers and its listeners alone, and doesn't end it", async () => {
    const { pool } = await ownPool()
    const before = pool.listenerCount('error')
    const db = await start({ pool })
    const scope: Scope = { db, company }
    await insertSession(scope, sessionRow())
    expect(await read(scope)).toMatchObject({ createdAt: now, epoch: 0 })
    const ours = await db.query.selectFrom('poppy_sessions').select('created_at').executeTakeFirstOrThrow()
    expect(ours.created_at).toBe(now)
    const theirs = async () => (await pool.query('select created_at from poppy_sessions')).rows[0].created_at
    expect(await theirs()).toBe(String(now))
    await db.close()
    expect(await theirs()).toBe(String(now))
    expect(pool.listenerCount('error')).toBe(before)
  })

  it('prepares statements once per connection, and not at all where that is switched off', async () => {
    for (const namedStatements of [true, false]) {
      const { pool } = await ownPool()
      const db = await postgres({ pool }, { namedStatements }).open({ now: () => now, log: silent })
      await insertSession({ db, company }, sessionRow())
      for (let times = 0; times < 3; times++) await read({ db, company })
      const { rows } = await pool.query(`select name from pg_prepared_statements where name like 'poppy\\_%'`)
      expect(rows.length > 0).toBe(namedStatements)
      await db.close()
    }
  })

  it('migrates nothing as a role that may not, where another one has', async () => {
    const { pool, url } = await ownPool()
    await (await start(url)).close()
    const role = `role_${process.pid}`
    const { rows } = await pool.query('select current_schema() as schema')
    const schema = rows[0].schema
    await pool.query(`create role ${role} login password 'secret'; grant usage on schema ${schema} to ${role};
      grant select, insert, update, delete on all tables in schema ${schema} to ${role}`)
    onTestFinished(async () => {
      await pool.query(`drop owned by ${role}; drop role ${role}`)
    })
    const asRole = new URL(url)
    asRole.username = role
    asRole.password = 'secret'
    const db = await start(asRole.href)
    await insertSession({ db, company }, sessionRow())
    expect(await read({ db, company })).not.toBeNull()
  })

  it('warns of a server that forgets its last commits when it crashes', async () => {
    const { url } = await ownPool()
    const warnings: string[] = []
    const log: Logger = { ...silent, warn: (_, message) => warnings.push(message) }
    await (await start(url, log)).close()
    expect(warnings).toEqual([])
    const loose = new URL(url)
    loose.searchParams.set('options', `${loose.searchParams.get('options')} -c synchronous_commit=off`)
    await (await start(loose.href.replaceAll('+', '%20'), log)).close()
    expect(warnings).toEqual([expect.stringMatching(/synchronous_commit=off/)])
  })

  it('says within seconds that there is no server, without telling the password', async () => {
    const nowhere = postgres('postgres://poppy:secret-password@127.0.0.1:1/poppy')
    const failure = await nowhere.open({ now: () => now, log: silent }).catch((error: unknown) => String(error))
    expect(failure).toMatch(/ECONNREFUSED/)
    expect(failure).not.toMatch(/secret-password/)
  })
})

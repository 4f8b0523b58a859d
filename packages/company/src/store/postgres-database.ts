import { Kysely, PostgresDialect, sql } from 'kysely'
import type { Pool } from 'pg'
import { bindDatabase } from './bound-database.ts'
import type { Database, Logger, Plan, StoreContext } from './database.ts'
import { latestSchema, migrate, refuseNewer, requireCurrent, schemaVersion } from './migrations.ts'
import type { PostgresOptions } from './postgres.ts'
import { createPostgresNotices } from './postgres-notices.ts'
import { type OwnPool, wrapPool } from './postgres-pool.ts'
import type { Tables } from './tables.ts'

/** PostgreSQL, through `pg`: where several instances serve one Company. Commits are durable, replay marks too. */

/** Opens a pool, or takes the company's, and brings the schema up to date. */
export async function openPostgres(
  source: string | { readonly pool: Pool },
  { namedStatements = true, connections = 10 }: PostgresOptions,
  { log, onQuery, asItIs }: StoreContext,
): Promise<Database> {
  const pool: OwnPool =
    typeof source === 'string' ? { pool: await connect(source, connections), ours: true } : { ...source, ours: false }
  const wrapped = wrapPool(pool, { namedStatements, log, ...(onQuery ? { onQuery } : {}) })
  const root = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: wrapped }) })
  // The query builder's own way to a connection costs more than some of these statements.
  async function runAlone(
    sql: string,
    parameters: readonly unknown[],
    plan: Plan = 'kept',
  ): Promise<readonly unknown[]> {
    const client = await wrapped.connect()
    try {
      return (await client.query(sql, parameters, plan)).rows
    } finally {
      client.release()
    }
  }
  const notices = createPostgresNotices({ pool: pool.pool, run: runAlone, log })
  const close = async () => {
    await notices.end()
    await root.destroy()
    // Kysely ends a pool only once it has used it.
    await wrapped.end()
  }
  try {
    if (asItIs) await requireCurrent(root, !(await hasSchemaTable(root)))
    else await bringUpToDate(root)
    await warnOfLooseCommits(root, log)
  } catch (error) {
    await close()
    throw error
  }
  return bindDatabase({
    name: 'postgres',
    root,
    marksCompleteSince: 0,
    runAlone,
    notices,
    close,
  })
}

async function connect(connectionString: string, max: number): Promise<Pool> {
  const { default: pg } = await import('pg').catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException | null)?.code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new Error('PostgreSQL needs the package pg beside poppyseed. Install it: npm install pg', { cause })
  })
  // A database that doesn't answer has to become an error, not a request that hangs.
  return new pg.Pool({
    connectionString,
    max,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    application_name: 'poppyseed',
  })
}

/** Any number will do, as long as it is ours: it names the lock that instances which start together wait for. */
const migrationLock = 7_679_767_984_121

async function bringUpToDate(root: Kysely<Tables>): Promise<void> {
  // Looked at first: a role that may not change the schema can then run what another one has migrated.
  if (await hasSchemaTable(root)) {
    const version = await schemaVersion(root)
    refuseNewer(version)
    if (version === latestSchema) return
  }
  await root.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(${sql.lit(migrationLock)})`.execute(transaction)
    await migrate(transaction, 'postgres', !(await hasSchemaTable(transaction)))
  })
}

/** What was used once has to be on the disk before it is answered for: a server that crashes must not forget it. */
async function warnOfLooseCommits(root: Kysely<Tables>, log: Logger): Promise<void> {
  const { rows } = await sql<{ loose: boolean }>`select current_setting('synchronous_commit') = 'off' as loose`.execute(
    root,
  )
  if (!rows[0]?.loose) return
  log.warn(
    {},
    'PostgreSQL has synchronous_commit=off: after a crash, codes and proofs that were used could be used again.',
  )
}

async function hasSchemaTable(query: Kysely<Tables>): Promise<boolean> {
  // Read from the catalogue: `to_regclass` answers from a cache that, inside a transaction, doesn't hear of a table that
  // another instance made while this one waited for the lock.
  const { rows } = await sql<{ there: boolean }>`select exists (
    select from pg_catalog.pg_class where relname = 'poppy_schema' and pg_catalog.pg_table_is_visible(oid)
  ) as there`.execute(query)
  return rows[0]?.there === true
}

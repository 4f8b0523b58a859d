import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

/** A schema of the caller's own in the run's PostgreSQL. */
export type FreshSchema = {
  /** Connection URL whose search_path is this schema alone: fits `new Pool({ connectionString })` and `postgres(url)`. */
  readonly url: string
  readonly name: string
  /** Drops the schema with everything in it. The server goes with the run, so forgetting it leaves nothing behind. */
  readonly drop: () => Promise<void>
}

/** Why PostgreSQL tests are skipped here, or null where they run: `describe.skipIf(postgresMissing)`. */
export const postgresMissing: string | null = inject('postgresMissing')

/**
 * Makes an empty schema, so that tests running side by side never see each other's rows.
 *
 * @example
 * const schema = await freshSchema()
 * onTestFinished(schema.drop)
 */
export async function freshSchema(): Promise<FreshSchema> {
  const server = inject('postgresUrl')
  if (!server) throw new Error(`no PostgreSQL: ${inject('postgresMissing')}`)
  const name = `t_${randomBytes(6).toString('hex')}`
  await query(server, `create schema ${name}`)
  const url = new URL(server)
  url.searchParams.set('options', `-c search_path=${name}`)
  return { url: url.href.replaceAll('+', '%20'), name, drop: () => query(server, `drop schema ${name} cascade`) }
}

/** Of this run's server: what {@link copiedDatabase} copies. */
const original = 'poppyseed_original'
/** Any number that no instance of a Company locks. */
const originalLock = 5_550_123

let prepared: Promise<void> | undefined

/**
 * Makes a database like {@link freshSchema} does, but one in which somebody has been: `prepare` fills the first one of
 * the run, and all that follow are copies, which costs a third of filling them.
 *
 * @param prepare the same for all callers; closes its connections
 */
export async function copiedDatabase(prepare: (url: string) => Promise<void>): Promise<FreshSchema> {
  const server = inject('postgresUrl')
  if (!server) throw new Error(`no PostgreSQL: ${inject('postgresMissing')}`)
  prepared ??= makeOriginal(server, prepare)
  await prepared
  const name = `t_${randomBytes(6).toString('hex')}`
  await query(server, `create database ${name} template ${original} strategy file_copy`)
  return { url: urlOf(server, name), name, drop: () => query(server, `drop database ${name} with (force)`) }
}

function urlOf(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

/** Whichever worker comes first makes it; it has its name once it is whole. */
async function makeOriginal(server: string, prepare: (url: string) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(`select pg_advisory_lock(${originalLock})`)
    const { rowCount } = await client.query(`select from pg_database where datname = '${original}'`)
    if (rowCount) return
    const part = `${original}_${randomBytes(6).toString('hex')}`
    await client.query(`create database ${part}`)
    await prepare(urlOf(server, part))
    await client.query(`alter database ${part} rename to ${original}`)
  } finally {
    await client.end()
  }
}

/** One connection for all that a worker's tests make and drop: each new one costs as much as half a database. */
let maker: Promise<pg.Client> | undefined

async function query(server: string, sql: string): Promise<void> {
  maker ??= connected(server)
  await (await maker).query(sql)
}

async function connected(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  const forget = () => {
    maker = undefined
  }
  // Lost between two statements: the next one makes another.
  client.on('error', forget)
  await client.connect().catch((error: unknown) => {
    forget()
    throw error
  })
  // It ends with the worker, which doesn't wait for it.
  ;(client as pg.Client & { readonly unref: () => void }).unref()
  // `drop … cascade` tells what it drops; nobody reads it.
  await client.query('set client_min_messages = warning')
  return client
}

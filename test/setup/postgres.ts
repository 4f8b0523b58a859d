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

async function query(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    // `drop … cascade` tells what it drops; nobody reads it.
    await client.query(`set client_min_messages = warning; ${sql}`)
  } finally {
    await client.end()
  }
}

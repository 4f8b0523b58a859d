/** Rows that are written by hand: what the commits of some work cost alone. `steps` are its commits, each the statements of one. */

import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { inTurn } from './figures.ts'

/** One after another on SQLite, as it takes them anyway; the statements have the id as `?1`. Gives pieces of work a second. */
export function commitOnSqlite(
  file: string,
  { pragmas, steps, ids }: Steps & { readonly pragmas: string; readonly ids: readonly string[] },
): number {
  const database = new DatabaseSync(file, { timeout: 60_000 })
  database.exec(pragmas)
  const [begin, commit] = [database.prepare('begin immediate'), database.prepare('commit')]
  const prepared = steps.map((statements) => statements.map((text) => database.prepare(text)))
  const from = performance.now()
  for (const id of ids) {
    for (const statements of prepared) {
      begin.run()
      for (const statement of statements) statement.run(id)
      commit.run()
    }
  }
  const perSecond = (ids.length / (performance.now() - from)) * 1000
  database.close()
  return perSecond
}

/** As many at once as there are connections, on PostgreSQL; the statements have the id as `$1`. Gives pieces of work a second. */
export async function commitOnPostgres(
  pool: pg.Pool,
  { steps, ids }: Steps & { readonly ids: readonly string[] },
): Promise<number> {
  // One statement for each commit, as a hand would write it.
  const queries = steps.map(([first, ...rest], index) => ({
    name: `by_hand_${index}`,
    text: `with ${rest.map((text, part) => `part_${part} as (${text})`).join(', ')} ${first}`,
  }))
  return inTurn(ids.length, pool.options.max, async (index) => {
    for (const query of queries) await pool.query({ ...query, values: [ids[index]] })
  })
}

/** Opens so many connections. */
export function openPool(connectionString: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString, max })
  // The server ends with the run, and a connection that is being closed may hear of that.
  pool.on('error', (error) => console.error(`a connection that was idle: ${error.message}`))
  return pool
}

interface Steps {
  readonly steps: readonly (readonly string[])[]
}

import { type KyselyPlugin, PostgresQueryCompiler, SqliteQueryCompiler } from 'kysely'
import type { Database } from '../../packages/company/src/store/database.ts'

/** How a database carries out what is asked of it, for tests that hold that. */

/** A database that keeps what it was asked, and explains it. */
export interface Explained {
  readonly db: Database
  /** The plan of each statement since it was asked last, as the database prints it. */
  readonly plans: () => Promise<readonly string[]>
}

/** Makes it of another one. Not for what runs inside a transaction. */
export function explained(db: Database): Explained {
  let asked: { readonly sql: string; readonly parameters: readonly unknown[] }[] = []
  const compiler = db.name === 'postgres' ? new PostgresQueryCompiler() : new SqliteQueryCompiler()
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      asked.push(compiler.compileQuery(node, queryId))
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return {
    db: {
      ...db,
      get query() {
        return db.query.withPlugin(plugin)
      },
      async run(sql, parameters, plan) {
        asked.push({ sql, parameters })
        return db.run(sql, parameters, plan)
      },
    },
    async plans() {
      const all = asked
      asked = []
      const plans: string[] = []
      for (const { sql, parameters } of all) {
        const how = db.name === 'postgres' ? 'explain (costs off)' : 'explain query plan'
        const rows = (await db.run(`${how} ${sql}`, parameters, 'anew')) as readonly Record<string, unknown>[]
        plans.push(rows.map((row) => String(row['QUERY PLAN'] ?? row.detail)).join('\n'))
      }
      return plans
    },
  }
}

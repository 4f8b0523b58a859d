import { AsyncLocalStorage } from 'node:async_hooks'
import { CompiledQuery, type Kysely, type Transaction } from 'kysely'
import type { Database, Plan } from './database.ts'
import { schemaVersion } from './migrations.ts'
import type { Notices } from './notices.ts'
import type { Tables } from './tables.ts'

/** The transaction that the current call runs in. What it left running after its end is refused by Kysely. */
interface Here {
  readonly transaction: Transaction<Tables>
  isOver: boolean
}

type Run = (sql: string, parameters: readonly unknown[]) => readonly unknown[]

/** What a dialect hands over for a {@link Database}. */
export interface Parts {
  readonly name: Database['name']
  readonly root: Kysely<Tables>
  readonly marksCompleteSince: number
  /** Settles when what was written so far is committed, where a transaction that ended may still wait for that. */
  readonly committed?: () => Promise<void>
  /** Runs prewritten SQL on the connection itself, where nothing has to be waited for. */
  readonly runNow?: {
    /** Whether none of Kysely's transactions is open. */
    readonly isPossible: () => boolean
    readonly read: Run
    readonly write: (...statement: Parameters<Run>) => Promise<readonly unknown[]>
    readonly inTransaction: Run
  }
  /** Runs prewritten SQL outside of any transaction, on whatever connection is free. */
  readonly runAlone?: (sql: string, parameters: readonly unknown[], plan: Plan) => Promise<readonly unknown[]>
  readonly overwrite?: () => Promise<void>
  readonly notices?: Notices
  readonly close: () => Promise<void>
}

/**
 * Makes the {@link Database} of a dialect's parts. The current transaction travels with the asynchronous call, so that
 * no query can miss it: on SQLite's one connection a query beside the transaction that awaits it would wait for ever,
 * and on PostgreSQL it would quietly run outside.
 */
export function bindDatabase(parts: Parts): Database {
  const { name, root, marksCompleteSince, committed, runNow, runAlone, overwrite, notices, close } = parts
  const here = new AsyncLocalStorage<Here>()
  let closing: Promise<void> | null = null
  return {
    name,
    marksCompleteSince,
    get query() {
      return here.getStore()?.transaction ?? root
    },
    async transaction(run) {
      if (here.getStore() !== undefined) return run()
      let durable: Promise<void> | undefined
      const result = await root.transaction().execute(async (transaction) => {
        durable = committed?.()
        const inside: Here = { transaction, isOver: false }
        try {
          return await here.run(inside, run)
        } finally {
          inside.isOver = true
        }
      })
      await durable
      return result
    },
    isInTransaction: () => here.getStore() !== undefined,
    async run(sql, parameters, plan = 'kept') {
      const inside = here.getStore()
      if (runNow && inside && !inside.isOver) return runNow.inTransaction(sql, parameters)
      if (!inside && runNow?.isPossible())
        return sql.startsWith('select') ? runNow.read(sql, parameters) : runNow.write(sql, parameters)
      if (!inside && runAlone) return runAlone(sql, parameters, plan)
      return (await (inside?.transaction ?? root).executeQuery(CompiledQuery.raw(sql, [...parameters]))).rows
    },
    ...(overwrite ? { overwrite } : {}),
    ...(notices ? { notices } : {}),
    async health() {
      return { schema: await schemaVersion(root) }
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

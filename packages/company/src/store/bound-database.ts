import { AsyncLocalStorage } from 'node:async_hooks'
import { CompiledQuery, type Kysely, type Transaction } from 'kysely'
import type { Database } from './database.ts'
import { schemaVersion } from './migrations.ts'
import type { Tables } from './tables.ts'

/** What a dialect hands over for a {@link Database}. */
export interface Parts {
  readonly name: Database['name']
  readonly root: Kysely<Tables>
  readonly marksCompleteSince: number
  /** Runs SQL at once where nothing has to be waited for, or answers null. Never called inside our own transaction. */
  readonly runNow?: (sql: string, parameters: readonly unknown[]) => readonly unknown[] | null
  readonly close: () => Promise<void>
}

/**
 * Makes the {@link Database} of a dialect's parts. The current transaction travels with the asynchronous call, so that
 * no query can miss it: on SQLite's one connection a query beside the transaction that awaits it would wait for ever,
 * and on PostgreSQL it would quietly run outside.
 */
export function bindDatabase({ name, root, marksCompleteSince, runNow, close }: Parts): Database {
  const here = new AsyncLocalStorage<Transaction<Tables>>()
  let closing: Promise<void> | null = null
  return {
    name,
    marksCompleteSince,
    get query() {
      return here.getStore() ?? root
    },
    transaction(run) {
      if (here.getStore() !== undefined) return run()
      return root.transaction().execute((transaction) => here.run(transaction, run))
    },
    async run(sql, parameters) {
      const transaction = here.getStore()
      const rows = transaction === undefined ? runNow?.(sql, parameters) : undefined
      return rows ?? (await (transaction ?? root).executeQuery(CompiledQuery.raw(sql, [...parameters]))).rows
    },
    async health() {
      return { schema: await schemaVersion(root) }
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

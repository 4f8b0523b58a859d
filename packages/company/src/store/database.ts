import type { Kysely } from 'kysely'
import type { Notices } from './notices.ts'
import type { Tables } from './tables.ts'

/** One SQL store, two dialects (SQLite, PostgreSQL). The chapters keep their queries in their own `store.ts`. */
export interface Database {
  readonly name: 'sqlite' | 'postgres'
  /** The query builder; inside {@link Database.transaction} it is bound to that transaction. */
  readonly query: Kysely<Tables>
  /** Runs all queries of `run` in one transaction; nested calls join the outer one. Never await HTTP or a handler inside. */
  readonly transaction: <T>(run: () => Promise<T>) => Promise<T>
  /** Whether the caller runs inside {@link Database.transaction}. */
  readonly isInTransaction: () => boolean
  /**
   * Runs SQL that was written beforehand (`statement.ts`), without building it anew; joins the transaction around it
   * like {@link Database.query}. For the paths that every request takes.
   */
  readonly run: (sql: string, parameters: readonly unknown[], plan?: Plan) => Promise<readonly unknown[]>
  /**
   * Milliseconds since 1970. Replay marks written before this moment may be lost (a power cut with relaxed durability),
   * so what could have been accepted before it is refused (4.3). 0 where marks are durable.
   */
  readonly marksCompleteSince: number
  /**
   * Overwrites what was deleted where files would still have it: after an erasure. Not inside a transaction. Left out where
   * the server sees to it.
   */
  readonly overwrite?: () => Promise<void>
  /** How instances tell each other what has changed; left out where there can be no others. */
  readonly notices?: Notices
  /** Schema version and reachability, for `company.health()`. */
  readonly health: () => Promise<{ readonly schema: number }>
  readonly close: () => Promise<void>
}

/** Whether PostgreSQL may keep how it runs a statement, or plans it anew for the tables and the values as they are then. */
export type Plan = 'kept' | 'anew'

/** What `sqlite(…)` and `postgres(…)` give: opened and migrated when the Company starts. */
export interface Store {
  readonly name: 'sqlite' | 'postgres'
  /** What `company.health()` calls it, where the name says too little. */
  readonly title?: string
  readonly open: (context: StoreContext) => Promise<Database>
}

/** What a store is opened with. */
export interface StoreContext {
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: Logger
  /** Makes and migrates nothing, and refuses a database that isn't as this release has it: for commands beside a Company. */
  readonly asItIs?: boolean
  /** Told of each statement just before it goes to the database, without its values. */
  readonly onQuery?: (sql: string) => void
}

/** A logger in pino's call shape: fields first, then the sentence. */
export interface Logger {
  readonly debug: (fields: object, message: string) => void
  readonly info: (fields: object, message: string) => void
  readonly warn: (fields: object, message: string) => void
  readonly error: (fields: object, message: string) => void
}

/** What every query needs: where to ask, and for which Company. No query may leave the Company out. */
export interface Scope {
  readonly db: Database
  /** The Company's id in the store: its issuer. */
  readonly company: string
}

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import type { SqliteDatabase, SqliteStatement } from 'kysely'

/** `node:sqlite` in the shape that Kysely's SQLite dialect takes, with prepared statements kept. */
export interface SqliteConnection extends SqliteDatabase {
  /** Runs SQL that isn't kept: pragmas, DDL, `attach`. */
  readonly exec: (sql: string) => void
  /** The rows of a statement, at once. */
  readonly all: (sql: string, parameters: readonly unknown[]) => unknown[]
  /** Whether a transaction is open: then a statement of somebody else's would become part of it. */
  readonly isInTransaction: () => boolean
}

/** Statements with lists in them differ by length, so there is no end to them: keep the newest. */
const keptStatements = 200

export function connect(path: string, busyTimeout: number, onQuery?: (sql: string) => void): SqliteConnection {
  const database = new DatabaseSync(path, { timeout: busyTimeout })
  const kept = new Map<string, SqliteStatement>()
  const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]

  function prepare(text: string): SqliteStatement {
    // A deferred transaction that reads and then writes fails at once when another process wrote in between.
    const sql = text === 'begin' ? 'begin immediate' : text
    const prepared: StatementSync = database.prepare(sql)
    return {
      reader: prepared.columns().length > 0,
      all(parameters) {
        onQuery?.(sql)
        return prepared.all(...values(parameters))
      },
      run(parameters) {
        onQuery?.(sql)
        return prepared.run(...values(parameters))
      },
      iterate(parameters) {
        onQuery?.(sql)
        // One of its own: a kept statement that is half read would start anew for the next reader.
        return database.prepare(sql).iterate(...values(parameters))
      },
    }
  }

  function statementOf(sql: string): SqliteStatement {
    const known = kept.get(sql)
    if (known !== undefined) return known
    const made = prepare(sql)
    if (kept.size >= keptStatements) kept.delete(kept.keys().next().value ?? '')
    kept.set(sql, made)
    return made
  }

  return {
    prepare: statementOf,
    exec: (sql) => database.exec(sql),
    all: (sql, parameters) => statementOf(sql).all(parameters),
    isInTransaction: () => database.isTransaction,
    close() {
      kept.clear()
      if (database.isOpen) database.close()
    },
  }
}

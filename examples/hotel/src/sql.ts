import type { DatabaseSync, SQLInputValue } from 'node:sqlite'

/** The hotel's own database. Opened by `openDatabase`. */
export type HotelDatabase = DatabaseSync

/** Runs `work` in one transaction: all of it is kept or nothing. `immediate`, so that no reader becomes a late writer. */
export function transaction<Result>(database: HotelDatabase, work: () => Result): Result {
  database.exec('begin immediate')
  try {
    const result = work()
    database.exec('commit')
    return result
  } catch (error) {
    database.exec('rollback')
    throw error
  }
}

/** All rows of a query. The caller names the row's type: it stands beside the SQL that makes it so. */
export function all<Row>(database: HotelDatabase, sql: string, ...values: SQLInputValue[]): readonly Row[] {
  return database.prepare(sql).all(...values) as unknown as Row[]
}

/** The first row of a query, or undefined. */
export function one<Row>(database: HotelDatabase, sql: string, ...values: SQLInputValue[]): Row | undefined {
  return database.prepare(sql).get(...values) as unknown as Row | undefined
}

/** Runs a statement and says how many rows it changed. */
export function run(database: HotelDatabase, sql: string, ...values: SQLInputValue[]): number {
  return Number(database.prepare(sql).run(...values).changes)
}

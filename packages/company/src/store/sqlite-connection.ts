import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setImmediate as otherWork } from 'node:timers/promises'
import type { SqliteDatabase, SqliteStatement } from 'kysely'

/**
 * `node:sqlite` in the shape that Kysely's SQLite dialect takes, with prepared statements kept, and with one commit for
 * all that is written in one turn of the event loop.
 *
 * A commit with `synchronous=FULL` waits for the disk, and everybody waits with it. So the first write of a turn begins
 * a transaction, later ones join it, each of Kysely's transactions is a savepoint within it, and the turn's end commits.
 * Nobody is told of a write before that: {@link SqliteConnection.write} and {@link SqliteConnection.committed} settle
 * when the commit has returned, and reject when it failed, for then nothing of the turn was kept.
 */
export interface SqliteConnection extends SqliteDatabase {
  /** Runs SQL that isn't kept: pragmas, DDL, `attach`. */
  readonly exec: (sql: string) => void
  /** The rows of a statement, at once. A write becomes part of whatever is open. */
  readonly all: (sql: string, parameters: readonly unknown[]) => unknown[]
  /** Runs a statement that writes, and gives its rows once they are committed. */
  readonly write: (sql: string, parameters: readonly unknown[]) => Promise<unknown[]>
  /** Settles with the commit of what is open now. */
  readonly committed: () => Promise<void>
  /** Moves the log into the file and empties it: what is overwritten there is in the log still. */
  readonly overwrite: () => Promise<void>
  /** All that the main database has, as bytes; undefined where this Node can't tell. */
  readonly image: () => Uint8Array | undefined
  /** Becomes what an image has. To be called before anything else, where {@link SqliteConnection.image} gives one. */
  readonly load: (image: Uint8Array) => void
  /** Whether one of Kysely's transactions is open: then a statement of somebody else's would become part of it. */
  readonly isInTransaction: () => boolean
}

/** What is committed together. */
interface Group {
  readonly settled: PromiseWithResolvers<void>
  /** The turn is over, and only a transaction that still runs holds the commit up. */
  isDue: boolean
}

/** Statements with lists in them differ by length, so there is no end to them: keep the newest. */
const keptStatements = 200

function asStatement(command: () => void): SqliteStatement {
  return {
    reader: false,
    all: () => [],
    run() {
      command()
      return { changes: 0, lastInsertRowid: 0 }
    },
    iterate: () => [].values(),
  }
}

/** Opens a file. `busyTimeout` in milliseconds; `onQuery` hears each statement but not transaction control. */
export function connect(path: string, busyTimeout: number, onQuery?: (sql: string) => void): SqliteConnection {
  const database = new DatabaseSync(path, { timeout: busyTimeout })
  const kept = new Map<string, SqliteStatement>()
  const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
  let group: Group | null = null
  let isInTransaction = false
  /** Kysely's transaction has lost the one that it was a savepoint of: what it would still write belongs to nothing. */
  let isLost = false

  function execute(sql: string): void {
    statementOf(sql).run([])
  }

  /** Runs a statement, and sees whether its failure took the whole transaction with it: a full disk does that. */
  function attempt<T>(run: () => T): T {
    if (isLost) throw new Error('The transaction was rolled back by an earlier failure. Nothing of it was kept.')
    try {
      return run()
    } catch (error) {
      if (group && !database.isTransaction) {
        const dead = group
        group = null
        isLost = isInTransaction
        dead.settled.reject(error)
      }
      throw error
    }
  }

  function join(): Group {
    if (group) return group
    // A deferred transaction that reads and then writes fails at once when another process wrote in between.
    execute('begin immediate')
    const opened: Group = { settled: Promise.withResolvers(), isDue: false }
    // Each waiter has the failure; that nobody waited is no failure of its own.
    opened.settled.promise.catch(() => {})
    group = opened
    setImmediate(() => {
      opened.isDue = true
      if (group === opened && !isInTransaction) commit()
    })
    return opened
  }

  function commit(): void {
    if (!group) return
    const { settled } = group
    group = null
    try {
      execute('commit')
      settled.resolve()
    } catch (error) {
      // What can't be rolled back either is gone with the connection; who waits is told why the commit failed.
      try {
        if (database.isTransaction) execute('rollback')
      } finally {
        settled.reject(error)
      }
    }
  }

  /** What Kysely's driver says to the connection, within the turn's transaction. */
  const control: Readonly<Record<string, () => void>> = {
    begin() {
      join()
      attempt(() => execute('savepoint kysely'))
      isInTransaction = true
    },
    commit() {
      attempt(() => execute('release kysely'))
      leave()
    },
    rollback() {
      if (!isInTransaction) return
      try {
        if (!isLost) {
          attempt(() => execute('rollback to kysely'))
          attempt(() => execute('release kysely'))
        }
      } finally {
        leave()
      }
    },
  }

  function leave(): void {
    isInTransaction = false
    isLost = false
    if (group?.isDue) commit()
  }

  function prepare(sql: string): SqliteStatement {
    const prepared: StatementSync = database.prepare(sql)
    return {
      reader: prepared.columns().length > 0,
      all: (parameters) => prepared.all(...values(parameters)),
      run: (parameters) => prepared.run(...values(parameters)),
      // One of its own: a kept statement that is half read would start anew for the next reader.
      iterate: (parameters) => database.prepare(sql).iterate(...values(parameters)),
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

  /** A statement as Kysely runs it. Outside a transaction of its own it is told of a write at once, so none is joined. */
  function forKysely(sql: string): SqliteStatement {
    const command = control[sql]
    if (command) return asStatement(command)
    const statement = statementOf(sql)
    const ready = () => {
      if (!isInTransaction) commit()
      onQuery?.(sql)
      return statement
    }
    return {
      reader: statement.reader,
      all: (parameters) => attempt(() => ready().all(parameters)),
      run: (parameters) => attempt(() => ready().run(parameters)),
      iterate: (parameters) => attempt(() => ready().iterate(parameters)),
    }
  }

  return {
    prepare: forKysely,
    exec: (sql) => database.exec(sql),
    all(sql, parameters) {
      onQuery?.(sql)
      return attempt(() => statementOf(sql).all(parameters))
    },
    async write(sql, parameters) {
      const { settled } = join()
      onQuery?.(sql)
      const rows = attempt(() => statementOf(sql).all(parameters))
      await settled.promise
      return rows
    },
    committed: () => group?.settled.promise ?? Promise.resolve(),
    isInTransaction: () => isInTransaction,
    // Since Node 24.16.
    image: () => (typeof database.serialize === 'function' ? database.serialize() : undefined),
    load: (image) => database.deserialize(image),
    async overwrite() {
      // Not possible inside a transaction, and somebody's may have begun meanwhile.
      while (isInTransaction) await otherWork()
      commit()
      execute('pragma main.wal_checkpoint(truncate)')
    },
    close() {
      if (!isInTransaction) commit()
      kept.clear()
      const left = group
      group = null
      if (database.isOpen) database.close()
      left?.settled.reject(new Error('The store was closed before this was committed. Nothing of it was kept.'))
    },
  }
}

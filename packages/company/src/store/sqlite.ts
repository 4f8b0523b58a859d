import type { Store } from './database.ts'

/** `poppyseed/sqlite`: SQLite and the query builder are loaded when the store opens, so that importing this costs nothing. */

/** Settings of {@link sqlite}. */
export interface SqliteOptions {
  /** Milliseconds to wait for another process that writes. Default 5000. */
  readonly busyTimeout?: number
  /** Names this run of the machine; another one after each start of it. Default: the kernel's boot id or boot time. */
  readonly machineRun?: string
}

/**
 * A store in a SQLite file. Replay marks are in `<path>-proofs` beside it. Both are made when they are missing, readable
 * by their owner alone. `':memory:'` keeps everything in memory, for tests.
 *
 * Companies in one process share one connection to a file, and several processes on one machine may share the file. Not
 * for network file systems.
 *
 * @example
 * createCompany({ store: sqlite('poppy.db'), … })
 */
export function sqlite(path: string, options: SqliteOptions = {}): Store {
  return {
    name: 'sqlite',
    ...(path === ':memory:' ? { title: 'sqlite in memory' } : {}),
    async open(context) {
      const { openSqlite } = await import('./sqlite-files.ts').catch((cause: unknown) => {
        if ((cause as NodeJS.ErrnoException | null)?.code !== 'ERR_UNKNOWN_BUILTIN_MODULE') throw cause
        throw new Error(`Poppyseed needs Node 22.19 or later for SQLite; this is Node ${process.versions.node}.`, {
          cause,
        })
      })
      return openSqlite(path, options, context)
    },
  }
}

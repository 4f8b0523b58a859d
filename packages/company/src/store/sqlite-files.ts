import { closeSync, openSync, readFileSync, realpathSync } from 'node:fs'
import { uptime } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { Kysely, SqliteDialect } from 'kysely'
import { bindDatabase } from './bound-database.ts'
import type { Database, StoreContext } from './database.ts'
import { migrate, requireCurrent } from './migrations.ts'
import type { SqliteOptions } from './sqlite.ts'
import { connect, type SqliteConnection } from './sqlite-connection.ts'
import { createSqliteNotices } from './sqlite-notices.ts'
import type { Tables } from './tables.ts'

/**
 * SQLite, embedded: for one machine, by way of Node's own `node:sqlite`.
 *
 * Two files. The main one commits with `synchronous=FULL`: what was answered for is on the disk, also after a power cut.
 * Replay marks of DPoP Proofs (4.3) are written at every request and live for minutes, so they have a file of their own
 * with NORMAL, attached to the same connection: one statement can still claim a mark and read the Session.
 *
 * NORMAL hands each commit to the operating system and syncs later. So a process that crashes or is killed loses
 * nothing; only a machine that dies (power, kernel) can lose the last marks. Then a proof could be used twice, and what
 * may have been accepted before is refused instead: `marksCompleteSince`. The file keeps which run of the machine it was
 * last opened in. Opened in the same run, no mark can be missing since the time that it had noted. Opened in another run,
 * or on another machine, or made anew beside a main file that has Sessions: marks are complete from now on.
 */

interface OpenFile {
  readonly database: Promise<Database>
  readonly listeners: Set<(sql: string) => void>
  users: number
}

/**
 * By real path. Two connections of one process to one file stop it: the second's `begin immediate` blocks the very event
 * loop that the first needs to get on and commit.
 */
const openFiles = new Map<string, OpenFile>()

/**
 * The tables without a row, as the first store in memory had them when its migrations had run: those that follow in this
 * process begin with that. Tests open one each, and making two hundred tables and indexes takes longer than what they test.
 */
let emptyTables: Uint8Array | undefined

/** Opens both files, or joins those who have them open. */
export async function openSqlite(path: string, options: SqliteOptions, context: StoreContext): Promise<Database> {
  if (path === ':memory:') {
    context.log.warn(
      {},
      'THE STORE IS IN MEMORY: Sessions and sign-ins are lost with this process, and another instance would accept what was used here. For tests alone.',
    )
    return connectFiles(path, path, options, context)
  }
  const proofsPath = `${path}-proofs`
  for (const file of [path, proofsPath]) makePrivate(file)
  const key = realpathSync(path)
  const file = openFiles.get(key) ?? openFirst(key, path, proofsPath, options, context)
  file.users++
  const { onQuery } = context
  if (onQuery) file.listeners.add(onQuery)
  const database = await file.database
  let isOpen = true
  return {
    ...database,
    get query() {
      return database.query
    },
    async close() {
      if (!isOpen) return
      isOpen = false
      if (onQuery) file.listeners.delete(onQuery)
      file.users--
      if (file.users > 0) return
      openFiles.delete(key)
      await database.close()
    },
  }
}

function openFirst(
  key: string,
  path: string,
  proofsPath: string,
  options: SqliteOptions,
  context: StoreContext,
): OpenFile {
  const listeners: OpenFile['listeners'] = new Set()
  const onQuery = (sql: string) => {
    for (const listener of listeners) listener(sql)
  }
  const database = connectFiles(path, proofsPath, options, { ...context, onQuery })
  const file: OpenFile = { database, listeners, users: 0 }
  openFiles.set(key, file)
  // The next one to open it tries anew.
  database.catch(() => openFiles.delete(key))
  return file
}

async function connectFiles(
  path: string,
  proofsPath: string,
  { busyTimeout = 5000, machineRun }: SqliteOptions,
  context: StoreContext,
): Promise<Database> {
  const connection = connect(path, busyTimeout, context.onQuery)
  const isInMemory = path === ':memory:'
  try {
    if (isInMemory && emptyTables !== undefined && !context.asItIs) connection.load(emptyTables)
    await untilFree(busyTimeout, () => useWal(connection, 'main'))
    connection.exec('pragma main.synchronous=FULL; pragma foreign_keys=on')
    connection.exec(`attach ${quote(proofsPath)} as replay`)
    await untilFree(busyTimeout, () => useWal(connection, 'replay'))
    // Marks land all over their table: moved to it in larger portions, a page is written once for many of them.
    connection.exec('pragma replay.synchronous=NORMAL; pragma wal_autocheckpoint=4000')
    // Deleted rows are overwritten, so that an erased person is hardly to be read in the file's free space; what an earlier
    // split of a page left there goes with a VACUUM alone. Marks name nobody.
    connection.exec('pragma main.secure_delete=on; pragma replay.secure_delete=off')

    const root = new Kysely<Tables>({ dialect: new SqliteDialect({ database: connection }) })
    const marksCompleteSince = await root.transaction().execute(async (transaction) => {
      // Kysely's `begin` is ours, `begin immediate`: the lock that processes which start together wait for.
      const isNew = connection.all(`select 1 from main.sqlite_master where name = 'poppy_schema'`, []).length === 0
      if (context.asItIs) await requireCurrent(transaction, isNew)
      else await migrate(transaction, 'sqlite', isNew)
      const run = machineRun ?? currentMachineRun(context.now())
      return openReplayFile(connection, { isMainNew: isNew || isInMemory, run, now: context.now() })
    })
    if (isInMemory && emptyTables === undefined) {
      await connection.committed()
      emptyTables = connection.image()
    }
    // Nobody else can open what is in memory.
    const notices = isInMemory ? undefined : createSqliteNotices(() => dataVersion(connection))
    return bindDatabase({
      name: 'sqlite',
      root,
      marksCompleteSince,
      committed: connection.committed,
      overwrite: connection.overwrite,
      runNow: {
        // Inside somebody's transaction the statement would be rolled back with it: then it waits its turn.
        isPossible: () => !connection.isInTransaction(),
        read: connection.all,
        write: connection.write,
        inTransaction: connection.all,
      },
      ...(notices ? { notices } : {}),
      async close() {
        notices?.end()
        await root.destroy()
        connection.close()
      },
    })
  } catch (error) {
    connection.close()
    throw error
  }
}

function openReplayFile(
  connection: SqliteConnection,
  { isMainNew, run, now }: { readonly isMainNew: boolean; readonly run: string; readonly now: number },
): number {
  connection.exec(`
    create table if not exists replay.poppy_proofs (
      company text not null, mark text not null, expires_at integer not null, primary key (company, mark)
    ) without rowid;
    create index if not exists replay.poppy_proofs_by_expires_at on poppy_proofs (company, expires_at);
    create table if not exists replay.poppy_opened (machine_run text not null, complete_since integer not null);
  `)
  const [last] = connection.all('select machine_run, complete_since from replay.poppy_opened', []) as readonly {
    readonly machine_run: string
    readonly complete_since: number
  }[]
  if (last !== undefined && last.machine_run === run) return last.complete_since
  // Where the main file is new as well, no Session is there that a lost proof could have served.
  const since = last === undefined && isMainNew ? 0 : now
  connection.all('delete from replay.poppy_opened', [])
  connection.all('insert into replay.poppy_opened (machine_run, complete_since) values (?, ?)', [run, since])
  return since
}

/**
 * Linux names each start of the kernel. Elsewhere the time of the start has to do; a clock that was set in between makes
 * it another one, which only refuses proofs that were on their way at that moment.
 */
function currentMachineRun(now: number): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return `started ${Math.round(now / 1000 - uptime())}`
  }
}

function makePrivate(file: string): void {
  // Made by us before SQLite does, which would let others read it; SQLite's own side files take this file's mode.
  try {
    closeSync(openSync(file, 'a', 0o600))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    const why = { ENOENT: 'its folder is not there', EACCES: 'it may not be written here', EISDIR: 'it is a folder' }
    const reason =
      typeof code === 'string' && code in why ? why[code as keyof typeof why] : `${code ?? 'unknown reason'}`
    throw new Error(
      `The store's file ${file} can't be opened: ${reason}. Write sqlite('…') with another path, or mend this one.`,
    )
  }
}

function useWal(connection: SqliteConnection, schema: 'main' | 'replay'): void {
  connection.all(`pragma ${schema}.journal_mode=wal`, [])
}

/** Changing a new file to WAL doesn't wait for other processes that do the same, so we do. */
async function untilFree(busyTimeout: number, run: () => void): Promise<void> {
  for (let waited = 0; ; waited += 20) {
    try {
      return run()
    } catch (error) {
      if (waited >= busyTimeout || !isBusy(error)) throw error
      await wait(20)
    }
  }
}

/** SQLITE_BUSY with any of its extended codes. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === 5
}

/** Another number once another process has written to the main file. */
function dataVersion(connection: SqliteConnection): unknown {
  const [row] = connection.all('pragma main.data_version', []) as readonly { readonly data_version: number }[]
  return row?.data_version
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

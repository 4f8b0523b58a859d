import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import type { Database, Logger, Store, StoreContext } from '../../packages/company/src/store/database.ts'
import { postgres } from '../../packages/company/src/store/postgres.ts'
import { type SqliteOptions, sqlite } from '../../packages/company/src/store/sqlite.ts'
import { copiedDatabase, type FreshSchema, freshSchema, postgresMissing } from './postgres.ts'
import { processScript } from './process-scripts.ts'
import type { StoreAddress, StoreTask } from './store-process.ts'

/** The two databases, so that each storage test runs on both: `describe.each(stores)('…', ({ missing, fresh }) => …)`. */

/** An empty database of one test's own. */
export interface FreshStore {
  readonly address: StoreAddress
  readonly store: (options?: SqliteOptions) => Store
  /** Opens another connection to it, as another instance would. It is closed when the test ends. */
  readonly open: (context?: Partial<StoreContext>, options?: SqliteOptions) => Promise<Database>
}

export const silent: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }

export const stores: readonly {
  readonly name: Database['name']
  /** Why it is skipped here, or null. */
  readonly missing: string | null
  /** A database of the newest schema, without a row. */
  readonly fresh: () => Promise<FreshStore>
  /** A database without a table: for tests of who makes them. */
  readonly empty: () => Promise<FreshStore>
  /** An empty database for all tests of a file, and how it ends: `beforeAll` makes it, `afterAll` ends it. */
  readonly lasting: (context?: Partial<StoreContext>) => Promise<{ db: Database; end: () => Promise<void> }>
}[] = [
  {
    name: 'sqlite',
    missing: null,
    fresh: async () => copiedFile(),
    empty: async () => freshFile(),
    async lasting(context) {
      const folder = mkdtempSync(join(tmpdir(), 'poppyseed-store-'))
      const path = join(folder, 'poppy.db')
      await writeTables(path)
      const db = await sqlite(path).open({ now: () => 0, log: silent, ...context })
      const end = async () => {
        await db.close()
        rmSync(folder, { recursive: true, force: true })
      }
      return { db, end }
    },
  },
  {
    name: 'postgres',
    missing: postgresMissing,
    fresh: async () => storeAt(await copiedDatabase(makeTables)),
    empty: async () => storeAt(await freshSchema()),
    async lasting(context) {
      const { url, drop } = await freshSchema()
      const db = await postgres(url).open({ now: () => 0, log: silent, ...context })
      const end = async () => {
        await db.close()
        await drop()
      }
      return { db, end }
    },
  },
]

function freshFile(): FreshStore {
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-store-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'poppy.db')
  return freshStore({ kind: 'sqlite', path }, (options) => sqlite(path, options))
}

/** What the two files of SQLite are once the tables are there: made once, where it is first needed. */
let files: Promise<Readonly<Record<'' | '-proofs', Buffer>>> | undefined

/** Writes them, without a row, so that the store at this path finds what its first start would have made. */
export async function writeTables(path: string): Promise<void> {
  files ??= makeFiles()
  const { '': main, '-proofs': proofs } = await files
  writeFileSync(path, main, { mode: 0o600 })
  writeFileSync(`${path}-proofs`, proofs, { mode: 0o600 })
}

async function makeFiles(): Promise<Readonly<Record<'' | '-proofs', Buffer>>> {
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-tables-'))
  const path = join(folder, 'poppy.db')
  try {
    // Whoever closes it last has its log moved into the file.
    await (await sqlite(path).open({ now: () => 0, log: silent })).close()
    return { '': readFileSync(path), '-proofs': readFileSync(`${path}-proofs`) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function copiedFile(): Promise<FreshStore> {
  const store = freshFile()
  if (store.address.kind === 'sqlite') await writeTables(store.address.path)
  return store
}

function storeAt({ url, drop }: FreshSchema): FreshStore {
  onTestFinished(drop)
  return freshStore({ kind: 'postgres', url }, () => postgres(url))
}

async function makeTables(url: string): Promise<void> {
  const database = await postgres(url).open({ now: () => 0, log: silent })
  await database.close()
}

function freshStore(address: StoreAddress, store: FreshStore['store']): FreshStore {
  return {
    address,
    store,
    async open(context, options) {
      const database = await store(options).open({ now: () => 0, log: silent, ...context })
      // Vitest runs these from the last to the first, so the folder and the schema go after it.
      onTestFinished(database.close)
      return database
    },
  }
}

/**
 * Starts processes that open the same database and do the same work at the same moment; gives what each of them got.
 * With `open` as their work they also migrate at the same moment.
 */
export async function race(address: StoreAddress, count: number, task: StoreTask): Promise<unknown[]> {
  const processes = Array.from({ length: count }, () => startProcess(address, task))
  await Promise.all(processes.map(({ lines }) => lines.next()))
  for (const { child } of processes) child.stdin.end('go\n')
  const results = await Promise.all(processes.map(({ lines }) => lines.next()))
  await Promise.all(processes.map(({ child }) => ended(child)))
  return results.map(({ value, done }) => {
    if (done) throw new Error('a process ended without a result')
    return JSON.parse(value)
  })
}

/** Lets one process work and kills it in the middle; gives the keys that it had got by then. */
export async function killHalfway(address: StoreAddress, task: StoreTask): Promise<string[]> {
  const { child, lines } = startProcess(address, { ...task, tell: true })
  await lines.next()
  child.stdin.end('go\n')
  const got: string[] = []
  for await (const line of { [Symbol.asyncIterator]: () => lines }) {
    // What it prints after its last claim is its whole result: then it was too fast.
    if (!task.keys.includes(line)) throw new Error('the process had ended before it was killed')
    if (got.push(line) === Math.floor(task.keys.length / 2)) child.kill('SIGKILL')
  }
  await ended(child)
  return got
}

function startProcess(address: StoreAddress, task: StoreTask) {
  const child = spawn(process.execPath, [processScript('store-process'), JSON.stringify({ address, task })], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill())
  // A process that failed has no ear for the signal; what it lacks is its result.
  child.stdin.on('error', ignore)
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

function ignore(): void {}

import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { base64url, isJsonObject } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import { type FileLockOptions, withFileLock } from './file-lock.ts'
import { type LockSurroundings, longestWait } from './lease.ts'
import { openPrivateFolder, readPrivateFile, writePrivateFile } from './private-file.ts'
import type { AgentStore, StoredValue } from './store.ts'

/** What a store in a file takes from the world around it, where it isn't the system's own. */
export interface FileStoreOptions {
  /** Unix time in milliseconds. */
  readonly now?: () => number
  /** So many random bytes, from a cryptographic source. */
  readonly random?: (length: number) => Uint8Array
  /** Waits so many milliseconds. */
  readonly wait?: (milliseconds: number) => Promise<void>
}

/** How long a change waits for others, in milliseconds: a change takes a few. */
const longestChange = 15_000

/**
 * A store in one file, for one person's agent: mode 0600 in a folder of mode 0700, replaced as a whole at each change,
 * and safe for several processes at once. It refuses a file that others may read: what is asked of it then rejects with an
 * AgentError, `store_unsafe`.
 *
 * @example
 * const store = fileStore(join(homedir(), '.poppy', 'state.json'))
 */
export function fileStore(path: string, options: FileStoreOptions = {}): AgentStore {
  const file = resolve(path)
  const around: LockSurroundings = {
    now: options.now ?? Date.now,
    random: options.random ?? ((length) => crypto.getRandomValues(new Uint8Array(length))),
    wait: options.wait ?? ((milliseconds) => sleep(milliseconds)),
  }
  const changing: FileLockOptions = { ...around, giveUpAfter: longestChange }
  const load = async (): Promise<Map<string, StoredValue>> => {
    const text = await readPrivateFile(file)
    if (text === undefined) return new Map()
    const state = parse(text)
    if (!isJsonObject(state) || state.version !== 1 || !isJsonObject(state.records)) {
      throw new AgentError('store_unsafe', `${file} is not a state file of this program, so it was left alone.`)
    }
    return new Map(Object.entries(state.records as Record<string, StoredValue>))
  }
  // Changes of this process wait for each other here, and for other processes at the lock.
  let last: Promise<unknown> = Promise.resolve()
  return {
    get: async (key) => (await load()).get(key),
    keys: async (prefix) => [...(await load()).keys()].filter((key) => key.startsWith(prefix)),
    update: (key, change) => {
      const mine = last.then(
        () => save(file, changing, load, key, change),
        () => save(file, changing, load, key, change),
      )
      last = mine
      return mine
    },
    lock: async (name, work) => {
      await openPrivateFolder(file)
      // A name may hold a person's: what stands in the folder doesn't tell.
      const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(name))
      const mark = base64url(new Uint8Array(digest)).slice(0, 22)
      return withFileLock(`${file}.${mark}.lock`, { ...around, giveUpAfter: longestWait }, work)
    },
  }
}

async function save(
  file: string,
  changing: FileLockOptions,
  load: () => Promise<Map<string, StoredValue>>,
  key: string,
  change: (before: StoredValue | undefined) => StoredValue | undefined,
): Promise<StoredValue | undefined> {
  await openPrivateFolder(file)
  return withFileLock(`${file}.lock`, changing, async (isStillOurs) => {
    const records = await load()
    const before = records.get(key)
    const next = change(before)
    if (next === before) return next
    if (next === undefined) records.delete(key)
    else records.set(key, next)
    const text = JSON.stringify({ version: 1, records: Object.fromEntries(records) }, null, 1)
    await writePrivateFile(file, text, isStillOurs)
    return next
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // No JSON is no state file, which the caller says.
    return undefined
  }
}

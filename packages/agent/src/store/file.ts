import { resolve } from 'node:path'
import { isJsonObject } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import { withFileLock } from './file-lock.ts'
import { openPrivateFolder, readPrivateFile, writePrivateFile } from './private-file.ts'
import type { AgentStore, StoredValue } from './store.ts'

/**
 * A store in one file, for one person's agent: mode 0600 in a folder of mode 0700, replaced as a whole at each change,
 * and safe for several processes at once. It refuses a file that others may read.
 *
 * @example
 * const store = fileStore(join(homedir(), '.poppy', 'state.json'))
 */
export function fileStore(path: string): AgentStore {
  const file = resolve(path)
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
        () => save(file, load, key, change),
        () => save(file, load, key, change),
      )
      last = mine
      return mine
    },
  }
}

async function save(
  file: string,
  load: () => Promise<Map<string, StoredValue>>,
  key: string,
  change: (before: StoredValue | undefined) => StoredValue | undefined,
): Promise<StoredValue | undefined> {
  await openPrivateFolder(file)
  return withFileLock(`${file}.lock`, async (isStillOurs) => {
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

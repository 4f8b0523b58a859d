import { randomBytes } from 'node:crypto'
import { open, readFile, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { AgentError } from '../errors.ts'
import { hasCode } from './private-file.ts'

/**
 * A lock between processes: a file that only one of them can create. It is held for the milliseconds that a change
 * takes; one that a process left behind when it died is taken away.
 */

/** Milliseconds after which a lock counts as left behind, whoever holds it. */
const abandonedAfter = 30_000
const giveUpAfter = 15_000

/** Runs work while holding the lock. `isStillOurs` says whether it is still held. */
export async function withFileLock<T>(
  path: string,
  work: (isStillOurs: () => Promise<boolean>) => Promise<T>,
): Promise<T> {
  const mark = `${process.pid} ${hostname()} ${randomBytes(9).toString('base64url')}`
  await acquire(path, mark)
  const isStillOurs = async () => (await read(path)) === mark
  try {
    return await work(isStillOurs)
  } finally {
    if (await isStillOurs()) await rm(path, { force: true })
  }
}

async function acquire(path: string, mark: string): Promise<void> {
  for (let waited = 0; ; ) {
    if (await create(path, mark)) return
    await breakAbandoned(path)
    if (waited > giveUpAfter) {
      throw new AgentError(
        'store_unsafe',
        `Another process holds ${path} and does not let go. If none runs, remove that file.`,
        {
          action: 'retry',
        },
      )
    }
    const pause = 5 + Math.floor(Math.random() * 20)
    await sleep(pause)
    waited += pause
  }
}

async function create(path: string, mark: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(mark)
    } finally {
      await file.close()
    }
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

/** Takes away a lock whose process is dead. Under a lock of its own, so that no two can break one after the other. */
async function breakAbandoned(path: string): Promise<void> {
  if (!(await isAbandoned(path))) return
  const breaking = `${path}.break`
  if (!(await create(breaking, ''))) {
    const age = await ageOf(breaking)
    if (age !== undefined && age > abandonedAfter) await rm(breaking, { force: true })
    return
  }
  try {
    // Looked at again: another may have broken it, and a third taken it, before this one held the breaking lock.
    if (await isAbandoned(path)) await rm(path, { force: true })
  } finally {
    await rm(breaking, { force: true })
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  const [mark, age] = [await read(path), await ageOf(path)]
  if (mark === undefined || age === undefined) return false
  if (age > abandonedAfter) return true
  const [pid, host] = mark.split(' ')
  return host === hostname() && /^\d+$/.test(pid ?? '') && !isAlive(Number(pid))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !hasCode(error, 'ESRCH')
  }
}

async function ageOf(path: string): Promise<number | undefined> {
  try {
    return Date.now() - (await stat(path)).mtimeMs
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

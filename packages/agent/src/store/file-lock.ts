import { open, readFile, rm, stat, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { base64url } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import { type LockSurroundings, leaseFor } from './lease.ts'
import { hasCode } from './private-file.ts'

/**
 * A lock between processes: a file that only one of them can create. Its holder touches it now and then, as long as it
 * lives; one that was left behind is taken away: at once when its process is dead, else after a lease.
 */

/** Milliseconds between two touches. */
const touchEvery = leaseFor / 6

/** What a file's lock needs of the world; `now` is Unix time in milliseconds, which the file system has too. */
export interface FileLockOptions extends LockSurroundings {
  /** How long to wait for a holder that lives, in milliseconds. */
  readonly giveUpAfter: number
}

/** Runs work while holding the lock. `isStillOurs` says whether it is still held. */
export async function withFileLock<T>(
  path: string,
  options: FileLockOptions,
  work: (isStillOurs: () => Promise<boolean>) => Promise<T>,
): Promise<T> {
  const mark = `${process.pid} ${hostname()} ${base64url(options.random(9))}`
  await acquire(path, mark, options)
  const isStillOurs = async () => (await read(path)) === mark
  const touch = async () => {
    const time = new Date(options.now())
    if (await isStillOurs()) await utimes(path, time, time)
  }
  // A touch that fails is one that is missed: whoever writes asks first whether the lock is still theirs.
  const touching = setInterval(() => void touch().catch(() => clearInterval(touching)), touchEvery)
  touching.unref()
  try {
    return await work(isStillOurs)
  } finally {
    clearInterval(touching)
    if (await isStillOurs()) await rm(path, { force: true })
  }
}

async function acquire(path: string, mark: string, options: FileLockOptions): Promise<void> {
  const { now, random, wait, giveUpAfter } = options
  for (let waited = 0; ; ) {
    if (await create(path, mark)) return
    await breakAbandoned(path, now)
    if (waited > giveUpAfter) {
      throw new AgentError(
        'store_busy',
        `Another process holds ${path} and does not let go. If none runs, remove that file.`,
      )
    }
    // Not all at the same moment.
    const pause = 5 + ((random(1)[0] ?? 0) % 20)
    await wait(pause)
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
async function breakAbandoned(path: string, now: () => number): Promise<void> {
  if (!(await isAbandoned(path, now))) return
  const breaking = `${path}.break`
  if (!(await create(breaking, ''))) {
    const age = await ageOf(breaking, now)
    if (age !== undefined && age > leaseFor) await rm(breaking, { force: true })
    return
  }
  try {
    // Looked at again: another may have broken it, and a third taken it, before this one held the breaking lock.
    if (await isAbandoned(path, now)) await rm(path, { force: true })
  } finally {
    await rm(breaking, { force: true })
  }
}

async function isAbandoned(path: string, now: () => number): Promise<boolean> {
  const [mark, age] = [await read(path), await ageOf(path, now)]
  if (mark === undefined || age === undefined) return false
  if (age > leaseFor) return true
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

async function ageOf(path: string, now: () => number): Promise<number | undefined> {
  try {
    return now() - (await stat(path)).mtimeMs
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

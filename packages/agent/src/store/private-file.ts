import { randomBytes } from 'node:crypto'
import { chmod, type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AgentError } from '../errors.ts'

/** Files with secrets in them: mode 0600 in a folder of mode 0700, replaced as a whole or not at all. */

const hasModes = process.platform !== 'win32'
const maxBytes = 64 * 1024 * 1024

/**
 * Reads a private file.
 * @returns its text, or undefined when there is none
 * @throws AgentError `store_unsafe` when somebody else may read or change it
 */
export async function readPrivateFile(path: string): Promise<string | undefined> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  try {
    const { mode, uid, size } = await file.stat()
    if (hasModes && (mode & 0o077) !== 0) {
      throw new AgentError(
        'store_unsafe',
        `Others on this machine may read ${path}, which holds secrets. Close it first: chmod 600 '${path}'`,
      )
    }
    if (hasModes && uid !== process.getuid?.() && process.getuid?.() !== 0) {
      throw new AgentError('store_unsafe', `${path} belongs to another user of this machine, so it was not read.`)
    }
    if (size > maxBytes) throw new AgentError('store_unsafe', `${path} is too large to be a state file.`)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

/** Writes a private file: beside it first, then in its place, so that a reader sees the old text or the new. */
export async function writePrivateFile(
  path: string,
  text: string,
  isStillOurs?: () => Promise<boolean>,
): Promise<void> {
  const beside = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    const file = await open(beside, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    if (isStillOurs && !(await isStillOurs())) {
      throw new AgentError('store_unsafe', `Another process took over ${path} while it was being written. Try again.`, {
        action: 'retry',
      })
    }
    await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}

/**
 * Makes the folder of a private file, or checks the one that is there.
 * @throws AgentError `store_unsafe` when others may put files into it
 */
export async function openPrivateFolder(path: string): Promise<void> {
  const folder = dirname(path)
  if ((await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined) await chmod(folder, 0o700)
  const { mode } = await stat(folder)
  if (hasModes && (mode & 0o022) !== 0) {
    throw new AgentError(
      'store_unsafe',
      `Others on this machine may change what is in ${folder}. Close it first: chmod 700 '${folder}'`,
    )
  }
}

/** Whether an error of the system has this code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

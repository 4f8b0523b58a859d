import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const LENGTH = 32

/**
 * The hotel's secret, 32 random bytes in `directory/secret`. Made at the first start, readable by the owner alone, and
 * kept. Throws when the file is not what we wrote, or when others on the machine can read it.
 */
export function readSecret(directory: string): Uint8Array {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, 'secret')
  makeOnce(path)
  if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0) {
    throw new Error(`Others on this machine can read ${path}. Run: chmod 600 '${path}'`)
  }
  const secret = readFileSync(path)
  if (secret.length !== LENGTH)
    throw new Error(`${path} must hold exactly ${LENGTH} bytes. Remove it to get a new one.`)
  return new Uint8Array(secret)
}

// Written whole under another name, then linked: a second process never sees half a secret, and the first one wins.
function makeOnce(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })) return
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeSync(file, randomBytes(LENGTH))
    fsyncSync(file)
    linkSync(draft, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    closeSync(file)
    rmSync(draft, { force: true })
  }
}

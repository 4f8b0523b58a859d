import { existsSync } from 'node:fs'
import type { Database, Logger, Store } from '../store/database.ts'
import { CommandError } from './command-error.ts'
import { clean } from './terminal.ts'

/** The store that a command works on: as it is, with nothing made or migrated, and no password of it in any word. */

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

const example = '--store sqlite:poppy.db, or set POPPYSEED_STORE, such as postgres://user:…@host/database'

/**
 * Opens a store by its address: `sqlite:path` or a URL of PostgreSQL.
 * @throws CommandError `no_store`, `store_unavailable`
 */
export async function openStore(address: string | undefined, now: () => number): Promise<Database> {
  if (address === undefined || address === '')
    throw new CommandError('no_store', 'Say which store the Company has.', `Try: ${example}`)
  const store = await storeOf(address)
  try {
    return await store.open({ now, log: silent, asItIs: true })
  } catch (error) {
    throw new CommandError('store_unavailable', `The store can’t be used: ${wordsOf(error, secretsIn(address))}`)
  }
}

async function storeOf(address: string): Promise<Store> {
  if (/^postgres(?:ql)?:\/\//.test(address)) {
    if (!URL.canParse(address))
      throw new CommandError('no_store', 'The address of PostgreSQL is no URL.', `Try: ${example}`)
    const { postgres } = await import('../store/postgres.ts')
    return postgres(address, { connections: 1 })
  }
  const path = /^sqlite:(?:\/\/)?(.+)$/s.exec(address)?.[1]
  // An address that isn't understood may still hold a password.
  if (path === undefined || path === ':memory:')
    throw new CommandError('no_store', 'A store is sqlite:path or postgres://….', `Try: ${example}`)
  if (!existsSync(path))
    throw new CommandError(
      'no_store',
      `There is no file ${clean(path)}.`,
      `Try the path that the Company has: ${example}`,
    )
  const { sqlite } = await import('../store/sqlite.ts')
  return sqlite(path)
}

/** Everything in an address that may not be shown. */
function secretsIn(address: string): readonly string[] {
  if (!URL.canParse(address)) return [address]
  const { password, searchParams, search } = new URL(address)
  return [address, search, password, decode(password), ...searchParams.values()].filter((secret) => secret.length > 1)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at its address.',
  ENOTFOUND: 'there is no host of its name.',
  EAI_AGAIN: 'the name of its host could not be looked up.',
  ETIMEDOUT: 'it doesn’t answer.',
  ECONNRESET: 'it ended the connection.',
  '28P01': 'it refused the user or the password.',
  '28000': 'it refused the user.',
  '3D000': 'there is no database of that name.',
  '42501': 'this user may not use the tables.',
  '53300': 'it has no connection left.',
}

/** An error in words. A driver's may quote the address, so only its code is told; our own and SQLite's are sentences. */
function wordsOf(error: unknown, secrets: readonly string[]): string {
  if (!(error instanceof Error)) return 'for a reason that isn’t known.'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const known = code === undefined ? undefined : causes[code]
  if (known !== undefined) return known
  if (code !== undefined && code !== 'ERR_SQLITE_ERROR') return `${clean(code, 40)}.`
  return clean(secrets.reduce((text, secret) => text.replaceAll(secret, '…'), error.message))
}

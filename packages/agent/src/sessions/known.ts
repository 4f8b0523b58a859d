import type { AgentContext } from '../context.ts'
import { storeKey } from '../store/store.ts'
import { accountSchema, read, userSchema } from './records.ts'
import { countRetired } from './retired.ts'

/** What a person may see of what is kept: where they are signed in, and with what rights. */

/** An account of a User at a Company that an Account Token is held for: no secret in it. */
export interface KnownAccount {
  /** What this agent calls it; `default` where it was given no name. No Company sees it. */
  readonly account: string
  readonly scopes: readonly string[]
  /** Unix time in milliseconds, or null where the Company didn't say. */
  readonly expiresAt: number | null
}

/** What is known of a User's Companies, for `poppy status`: no secret in it. */
export interface KnownCompany {
  readonly issuer: string
  readonly domain: string
  readonly name: string
  readonly accounts: readonly KnownAccount[]
  /** Account Tokens that were replaced and could not be revoked yet (4.4). They are tried again. */
  readonly unrevoked: number
}

/** The accounts that a User is signed in to at a Company. */
export async function knownAccounts(
  { store, now }: AgentContext,
  userKey: string,
  issuer: string,
): Promise<readonly KnownAccount[]> {
  const accounts: KnownAccount[] = []
  for (const key of await store.keys(`${storeKey('account', userKey, issuer)}/`)) {
    const record = read(accountSchema, await store.get(key))
    if (!record || (record.expiresAt !== null && now() >= record.expiresAt)) continue
    const { scopes, expiresAt } = record
    accounts.push({ account: decodeURIComponent(key.split('/')[3] ?? ''), scopes, expiresAt })
  }
  return accounts.sort((left, right) => (left.account < right.account ? -1 : 1))
}

/** The Companies that a User has been at. */
export async function knownCompanies(context: AgentContext, userKey: string): Promise<readonly KnownCompany[]> {
  const { store } = context
  const known: KnownCompany[] = []
  for (const key of await store.keys(`${storeKey('user', userKey)}/`)) {
    const issuer = decodeURIComponent(key.split('/')[2] ?? '')
    const record = read(userSchema, await store.get(key))
    if (!record) continue
    known.push({
      issuer,
      domain: record.domain,
      name: record.name,
      accounts: await knownAccounts(context, userKey, issuer),
      unrevoked: await countRetired(context, userKey, issuer),
    })
  }
  return known
}

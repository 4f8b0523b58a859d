import type { OAuthMetadata } from '@poppyseed/protocol'
import { z } from 'zod'
import type { AgentContext } from '../context.ts'
import { AgentError } from '../errors.ts'
import { type StoredValue, storeKey } from '../store/store.ts'
import { type AccountRecord, recordsOf, type SessionPlace } from './records.ts'
import { revokeToken } from './token-endpoint.ts'

/**
 * Account Tokens that another has replaced and that are still to be revoked (4.4). One is written down before its successor
 * is kept, so that neither a crash nor a revocation that fails leaves an access behind that nobody knows of.
 */

const retiredSchema = z.array(
  z.object({
    token: z.string(),
    /** Unix time in milliseconds, or null when the Company didn't say: after it there is nothing to revoke. */
    expiresAt: z.number().nullable(),
    tries: z.number(),
    /** Not tried again before, Unix time in milliseconds. */
    notBefore: z.number(),
  }),
)
type Retired = z.infer<typeof retiredSchema>

/** As many of one account are kept; more sign-ins than that don't fail to be revoked in a row. */
const maxRetired = 50
const minute = 60_000
const longestPause = 24 * 60 * minute
/** How long one revocation may take that nobody asked for just now, in milliseconds. */
const patience = 5000

function keyOf({ userKey, issuer, account }: SessionPlace): string {
  return storeKey('retired', userKey, issuer, account)
}

function read(value: StoredValue | undefined): Retired {
  return retiredSchema.safeParse(value).data ?? []
}

async function change({ store }: AgentContext, place: SessionPlace, next: (before: Retired) => Retired): Promise<void> {
  await store.update(keyOf(place), (before) => {
    const after = next(read(before))
    return after.length === 0 ? undefined : after
  })
}

/** Writes down a token that is to be revoked. Called before whatever replaces it is kept. */
export function retire(
  context: AgentContext,
  place: SessionPlace,
  { token, expiresAt }: Pick<AccountRecord, 'token' | 'expiresAt'>,
): Promise<void> {
  return change(context, place, (before) =>
    before.some((one) => one.token === token)
      ? before
      : [...before, { token, expiresAt, tries: 0, notBefore: 0 }].slice(-maxRetired),
  )
}

/** Takes a token off the list: it was revoked, or the Company itself has put another in its place (4.8). */
export function forgetRetired(context: AgentContext, place: SessionPlace, token: string): Promise<void> {
  return change(context, place, (before) => before.filter((one) => one.token !== token))
}

/** The tokens that are still to be revoked: secrets. */
export async function retiredTokens({ store }: AgentContext, place: SessionPlace): Promise<readonly string[]> {
  return read(await store.get(keyOf(place))).map(({ token }) => token)
}

/** How many Account Tokens of a User at a Company are still to be revoked. */
export async function countRetired(context: AgentContext, userKey: string, issuer: string): Promise<number> {
  const { store, now } = context
  let count = 0
  for (const key of await store.keys(`${storeKey('retired', userKey, issuer)}/`)) {
    const account = decodeURIComponent(key.split('/')[3] ?? '')
    const held = await recordsOf(context, { userKey, issuer, account, session: '' }).account()
    const isWaiting = ({ token, expiresAt }: Retired[number]) =>
      token !== held?.token && (expiresAt === null || now() < expiresAt)
    count += read(await store.get(key)).filter(isWaiting).length
  }
  return count
}

/**
 * Revokes what is to be revoked and whose time has come. What fails is kept, and tried again later, at growing intervals.
 * @param which `all` where the User waits for it; `due` beside other work, which it must not hold up
 * @returns how many could not be revoked
 */
export async function revokeRetired(
  context: AgentContext,
  server: OAuthMetadata,
  place: SessionPlace,
  which: 'all' | 'due',
): Promise<number> {
  const { now, store } = context
  if (read(await store.get(keyOf(place))).length === 0) return 0
  const held = (await recordsOf(context, place).account())?.token
  let claimed: readonly string[] = []
  await change(context, place, (before) => {
    const alive = before.filter(({ expiresAt }) => expiresAt === null || now() < expiresAt)
    // One that is still held was written down by a sign-in that did not come to its end.
    const isDue = (one: Retired[number]) => one.token !== held && (which === 'all' || now() >= one.notBefore)
    claimed = alive.filter(isDue).map(({ token }) => token)
    // Claimed before it is tried: another process doesn't try it too, and a crash leaves it for later.
    return alive.map((one) =>
      isDue(one)
        ? { ...one, tries: one.tries + 1, notBefore: now() + Math.min(longestPause, 5 * minute * 4 ** one.tries) }
        : one,
    )
  })
  let left = claimed.length
  for (const token of claimed) {
    const end = await revoke(context, server, token, which)
    if (end === 'revoked') {
      await forgetRetired(context, place, token)
      left -= 1
    }
    // The next one would not be answered either, and the User may be waiting.
    if (end === 'unanswered') break
  }
  return left
}

/**
 * Revokes what is due of all of a User's accounts at a Company: whoever uses one of them may never use the other again, and
 * what it left behind would stay alive.
 */
export async function revokeRetiredThere(
  context: AgentContext,
  server: OAuthMetadata,
  { userKey, issuer }: Pick<SessionPlace, 'userKey' | 'issuer'>,
): Promise<void> {
  for (const key of await context.store.keys(`${storeKey('retired', userKey, issuer)}/`)) {
    const account = decodeURIComponent(key.split('/')[3] ?? '')
    const left = await revokeRetired(context, server, { userKey, issuer, account, session: '' }, 'due')
    // Nor would the next account's be revoked now, and somebody may be waiting.
    if (left > 0) return
  }
}

async function revoke(
  context: AgentContext,
  server: OAuthMetadata,
  token: string,
  which: 'all' | 'due',
): Promise<'revoked' | 'refused' | 'unanswered'> {
  const signal = which === 'due' ? AbortSignal.timeout(patience) : undefined
  try {
    await revokeToken(context, server, token, signal === undefined ? {} : { signal, mayWait: false })
    return 'revoked'
  } catch (error) {
    if (error instanceof AgentError) return error.code === 'revocation_failed' ? 'refused' : 'unanswered'
    if (signal?.aborted) return 'unanswered'
    throw error
  }
}

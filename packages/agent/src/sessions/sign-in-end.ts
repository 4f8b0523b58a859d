import { coversScopes, isScope } from '@poppyseed/protocol'
import { z } from 'zod'
import { declinedBy, union } from '../apis/step-up.ts'
import type { AgentContext } from '../context.ts'
import type { FoundCompany } from '../discovery/discover.ts'
import { AgentError } from '../errors.ts'
import { cleanText } from '../net/text.ts'
import { recordsOf, type SessionPlace } from './records.ts'
import { revokeRetired } from './retired.ts'
import type { SessionTokens, SignedIn, TokenSource } from './tokens.ts'

/** What the three types of sign-in have in common (4.4): what is asked for, and how one ends. */

/** How a sign-in ended, as it is kept. */
export const resultSchema = z.object({
  /** Scopes that were granted: maybe fewer than asked. */
  granted: z.array(z.string()),
  asked: z.array(z.string()),
  /** Asked and not granted. */
  missing: z.array(z.string()),
  /** What became of the Account Token that this one replaced (4.4); one that is not revoked yet is tried again later. */
  replaced: z.enum(['none', 'revoked', 'not_revoked']),
  /** True where the Company said that the Session was another account's: this one took its place here (4.4). */
  switched: z.boolean().default(false),
})

/** How a sign-in ended. */
export type SignInResult = Readonly<z.infer<typeof resultSchema>>

/**
 * What to ask for: what the task needs, and what the Account Token already has as far as this type can give it (4.4).
 * @param offered the scopes of this type
 * @throws AgentError `sign_in_unavailable` where the type doesn't offer all of them
 */
export async function scopesToAsk(
  found: FoundCompany,
  offered: readonly string[],
  tokens: SessionTokens,
  scopes: readonly string[],
): Promise<readonly string[]> {
  const refused = scopes.filter((scope) => !isScope(scope) || !offered.includes(scope))
  if (refused.length > 0) {
    throw new AgentError(
      'sign_in_unavailable',
      `${found.name} does not offer ${cleanText(refused.join(', '), 200)} at sign-in; it offers ${cleanText(offered.join(', '), 400) || 'nothing'}.`,
    )
  }
  const held = (await tokens.records.account())?.scopes ?? []
  const asked = union(
    held.filter((scope) => offered.includes(scope)),
    scopes,
  )
  if (asked.length === 0) throw new AgentError('invalid_input', 'A sign-in needs at least one scope.')
  return asked
}

/** The result of a sign-in that worked. The Account Token that it replaced is revoked, now or later (4.4). */
export async function endOf(
  context: AgentContext,
  source: TokenSource,
  place: SessionPlace,
  asked: readonly string[],
  { scopes, hasReplaced, wasOther = false }: SignedIn,
): Promise<SignInResult> {
  // The sign-in stands whether or not that works; the result says which.
  const left = await revokeRetired(context, source.server, place, 'all')
  return {
    granted: [...scopes],
    asked: [...asked],
    missing: asked.filter((scope) => !coversScopes(scopes, [scope])),
    replaced: left > 0 ? 'not_revoked' : hasReplaced ? 'revoked' : 'none',
    switched: wasOther,
  }
}

/** How many refused asks are kept for a Session. */
const maxDeclined = 50

/** 4.4: what the User did not give isn't asked for again in this Session, until somebody signs in on purpose. */
export async function rememberDeclined(
  context: AgentContext,
  place: SessionPlace,
  scopes: readonly string[],
  granted: readonly string[] | 'nothing',
): Promise<void> {
  const records = recordsOf(context, place)
  const asks = declinedBy(scopes, granted, (await records.account())?.scopes ?? []).map((ask) => [...ask])
  if (asks.length === 0) return
  await records.saveSession((before) => ({ ...before, declined: [...before.declined, ...asks].slice(-maxDeclined) }))
}

import { coversScopes } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import { cleanText } from '../net/text.ts'
import type { Secret } from '../secret.ts'
import { isMendedBySignIn } from '../sessions/token-endpoint.ts'
import type { HeldToken, SessionTokens, TokenWanted } from '../sessions/tokens.ts'

/**
 * More access in the middle of a task (4.4, 6): what to ask the owner for, and when to stop asking. A Company that never
 * gives what it asks for, and an owner who has said no, must not lead a program round in a circle.
 */

/** What a Company says when a call needs the account, or more of it (6). */
export type AccessError = 'sign_in_required' | 'insufficient_scope'

/** Whether a code is one of the two. */
export function isAccessError(code: string | undefined): code is AccessError {
  return code === 'sign_in_required' || code === 'insufficient_scope'
}

/** What came of trying: `failed` where it couldn't be found out what the Account Token gives, and a new sign-in may mend that. */
export type AccountTry = 'helped' | 'in_vain' | 'not_tried' | 'failed'

interface Refused {
  readonly wanted: TokenWanted
  readonly error: AccessError
  /** The token that was refused. */
  readonly held: HeldToken
  readonly needed: readonly string[]
}

/** How often one request is sent again because of an Account Token. */
const mostTries = 3

/**
 * Tries for one request: each Account Token once. The owner may sign in while a request is on its way, in another Session too,
 * and what it was tried with is over then (4.4): the next one is tried as well.
 */
export function accountTries(
  tokens: SessionTokens,
  wanted: TokenWanted,
): (error: AccessError, held: HeldToken, needed: readonly string[]) => Promise<AccountTry> {
  let used: Secret | undefined
  let times = 0
  return async (error, held, needed) => {
    if (times >= mostTries) return 'in_vain'
    if (used !== undefined && (await tokens.records.account())?.token === used.reveal()) return 'in_vain'
    times += 1
    return useAccount(tokens, { wanted, error, held, needed }, (token) => {
      used = token
    })
  }
}

/**
 * Whether the Account Token gives what this Session Token didn't: it is used, where it covers what is needed as far as
 * anybody here knows (4.8). What the Company then says of it counts: the owner may have ended the access there, or taken a
 * part of it away, and nobody told us (4.9).
 * @param used hears which Account Token it was, where that is known
 * @returns `helped`: another attempt makes sense; `in_vain`: it was tried; `not_tried` where it couldn't help; or `failed`
 */
async function useAccount(
  tokens: SessionTokens,
  { wanted, error, held, needed }: Refused,
  used: (token: Secret) => void,
): Promise<AccountTry> {
  const before = await tokens.records.account()
  if (before === undefined || !coversScopes(before.scopes, needed)) return 'not_tried'
  if (error === 'insufficient_scope' && held.signedIn && coversScopes(held.scopes, needed)) {
    // It names nothing, or it refuses what it gave a moment ago: asking once more tells nothing new.
    if (needed.length === 0 || held.isNew) return 'in_vain'
  }
  try {
    const token = await tokens.useAccountToken(wanted, held.token)
    if (token === false) return 'in_vain'
    if (token !== true) used(token)
  } catch (thrown) {
    // 4.8: a Company that may do better in a moment is asked again, and its User is not
    if (isMendedBySignIn(thrown) && thrown.action !== 'retry') return 'failed'
    throw thrown
  }
  const account = await tokens.records.account()
  return account !== undefined && coversScopes(account.scopes, needed) ? 'helped' : 'in_vain'
}

/**
 * The error for a call that needs more than there is. Usually it asks the owner, with every scope that is needed, those
 * already granted too (4.4). It stops where asking leads nowhere: the owner has declined just that in this Session, or
 * the Company asks for what it has been given.
 * @param tried what came of the Account Token
 */
export async function stepUpError(
  tokens: SessionTokens,
  company: string,
  error: AccessError,
  needed: readonly string[],
  tried: Exclude<AccountTry, 'helped'>,
): Promise<AgentError> {
  const [account, { declined }] = [await tokens.records.account(), await tokens.records.session()]
  const scopes = union(account?.scopes ?? [], needed)
  const details = { companyCode: error, ...(scopes.length === 0 ? {} : { scopes }) }
  const stop = { ...details, action: 'give_up' } as const
  if (account && tried !== 'failed' && coversScopes(account.scopes, needed)) {
    if (error === 'insufficient_scope') {
      return new AgentError(
        error,
        needed.length === 0
          ? `${company} needs more access for this than you have given, and doesn't say which.`
          : `${company} asks for access that it has been given: ${spoken(needed)}.`,
        stop,
      )
    }
    if (tried === 'in_vain')
      return new AgentError(error, `${company} asks you to sign in although you are signed in.`, stop)
  }
  const isDeclined =
    needed.length === 0
      ? account === undefined && declined.length > 0
      : declined.some((ask) => ask.length > 0 && ask.every((scope) => needed.includes(scope)))
  if (isDeclined) {
    return new AgentError(
      'sign_in_declined',
      `${company} needs access for this that you declined in this Session${needed.length === 0 ? '' : ` (${spoken(needed)})`}, so you aren't asked again. Sign in once more if you have changed your mind.`,
      details,
    )
  }
  if (account && tried === 'failed') {
    return new AgentError(
      error,
      `${company} needs you to sign in for this: it could not say what the access that you gave before still covers.`,
      details,
    )
  }
  return new AgentError(
    error,
    error === 'sign_in_required'
      ? `${company} needs you to sign in for this.`
      : `${company} needs more access for this than you have given.`,
    details,
  )
}

/** What a sign-in leaves declined, each as an ask of its own. */
export function declinedBy(
  asked: readonly string[],
  granted: readonly string[] | 'nothing',
  held: readonly string[],
): readonly (readonly string[])[] {
  // Each switch that was left off is a no of its own; a no to the whole is a no to just this whole.
  if (granted !== 'nothing') return asked.filter((scope) => !granted.includes(scope)).map((scope) => [scope])
  const more = asked.filter((scope) => !held.includes(scope))
  return [more.length === 0 ? asked : more]
}

function spoken(scopes: readonly string[]): string {
  return cleanText(scopes.join(', '), 200)
}

/** Both lists in one, without repeats. */
export function union(left: readonly string[], right: readonly string[]): readonly string[] {
  return [...new Set([...left, ...right])]
}

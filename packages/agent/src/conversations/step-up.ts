import { coversScopes } from '@poppyseed/protocol'
import { type AccessError, type AccountTry, accountTries, stepUpError } from '../apis/step-up.ts'
import { AgentError } from '../errors.ts'
import type { OperationParts } from '../operations/desk.ts'
import { rememberDeclined } from '../sessions/sign-in-end.ts'
import { isMendedBySignIn } from '../sessions/token-endpoint.ts'
import type { TokenWanted } from '../sessions/tokens.ts'
import type { AuthorizationOutcome } from './event.ts'
import type { ConversationRecords } from './records.ts'
import { requireConversations } from './service.ts'

/** Sign-in during a conversation (7.11): the same as for a call (6, 4.4), and then the same conversation with the new token. */

/** What the owner is asked. */
export interface SignInNeeded {
  /** All scopes to ask for, those already granted too (4.4). May be empty: the Company doesn't say which. */
  readonly scopes: readonly string[]
  /** Says in a sentence what the Company needs. */
  readonly error: AgentError
}

/**
 * Asks the owner to sign in, such as by `session.signIn({ scopes, open })`. Anything but false counts as tried: what was
 * granted is looked at afterwards. An {@link AgentError} of a sign-in that failed or was declined ends the asking.
 */
export type AskToSignIn = (needed: SignInNeeded) => Promise<unknown>

/** The part of an event that says what is needed. */
export interface AuthorizationNeed {
  /** Of the event: the same one is answered once. */
  readonly id?: string
  readonly error: AccessError
  readonly scopes: readonly string[]
}

/** How long the same ask counts as the same, in milliseconds; and how often anything is given without a pause of that length. */
const sameFor = 3600 * 1000
const mostGiven = 10

/**
 * Gets the rights that the Company needs. Says nothing to the Company.
 * @returns with `isAnswered` where this very event was answered before, maybe by a process that died
 */
export async function stepUp(
  parts: OperationParts,
  records: ConversationRecords,
  id: string,
  need: AuthorizationNeed,
  signIn: AskToSignIn | undefined,
): Promise<AuthorizationOutcome & { readonly isAnswered?: boolean }> {
  const { context, tokens } = parts
  const found = await parts.find()
  const wanted: TokenWanted = { kind: 'dpop', resource: requireConversations(found).resource }
  const { error: code, scopes: needed } = need
  const what = [code, ...[...needed].sort()].join(' ')
  const before = (await records.get(id))?.asked
  if (before && before.event !== null && before.event === need.id) return { ...continued, isAnswered: true }
  // Whoever goes on asking for what it was given is not obeyed for ever.
  const recent = before && context.now() - before.at < sameFor ? before : undefined
  const hasTried = recent?.what === what || (recent?.times ?? 0) >= mostGiven
  const given = { what, event: need.id ?? null, at: context.now(), times: (recent?.times ?? 0) + 1 }
  // 4.8: the Account Token first. What is held may be from before the event or after it, so the Company is asked what it gives
  // now, unless it was this very moment; 4.9: also where the same was given before, because it may have been taken away since.
  const tryNow = async (): Promise<AccountTry> => {
    try {
      const held = await tokens.get(wanted)
      if (held.isNew && held.signedIn && coversScopes(held.scopes, needed)) return 'helped'
      return await accountTries(tokens, wanted)('sign_in_required', held, needed)
    } catch (thrown) {
      if (isMendedBySignIn(thrown)) return 'failed'
      throw thrown
    }
  }
  const refused = await tokens.records.account()
  const tried = await tryNow()
  if (tried === 'helped' && !hasTried) {
    await records.note(id, () => ({ asked: given }))
    return continued
  }
  const isUnsure = tried === 'failed' && !hasTried
  const soFar = isUnsure ? 'failed' : hasTried ? 'in_vain' : 'not_tried'
  const error = await stepUpError(tokens, found.name, code, needed, soFar)
  if (error.action !== 'ask_owner') return { result: error.code === 'sign_in_declined' ? 'declined' : 'stopped', error }
  if (!signIn) return { result: 'needs_owner', error }
  const asked = error.scopes ?? []
  try {
    if ((await signIn({ scopes: asked, error })) === false) {
      await rememberDeclined(context, tokens.place, asked, 'nothing')
      return { result: 'declined', error: declinedError(found.name) }
    }
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown
    return { result: thrown.code === 'sign_in_declined' ? 'declined' : 'stopped', error: thrown }
  }
  const now = await tokens.records.account()
  // An Account Token that couldn't be used before is none that somebody has just signed in with.
  const isOld = isUnsure && now?.token === refused?.token && (await tryNow()) !== 'helped'
  if (!now || isOld || !coversScopes(now.scopes, needed)) {
    return { result: 'declined', error: await stepUpError(tokens, found.name, code, needed, isOld ? soFar : 'in_vain') }
  }
  // Where the next one can't be used either, it isn't asked for once more.
  await records.note(id, () => ({ asked: isUnsure ? given : null }))
  return continued
}

const continued: AuthorizationOutcome = { result: 'continued', error: undefined }

function declinedError(company: string): AgentError {
  return new AgentError('sign_in_declined', `${company} needs you to sign in for this, and you declined.`)
}

import { isId, makeId, PoppyError } from '@poppyseed/protocol'
import { accessOf } from '../../accounts/access.ts'
import { accountMismatch } from '../../accounts/account-token-grant.ts'
import { grantSignIn } from '../../accounts/grant-sign-in.ts'
import { wasEndedSince } from '../../accounts/person-store.ts'
import { grantsOf, wasRevokedSince } from '../../accounts/store.ts'
import type { Admission } from '../../agents/admission.ts'
import type { KeyedHash } from '../../crypto/keyed-hash.ts'
import type { Principal } from '../../sessions/principal.ts'
import { isActive, refuseBlocked } from '../../sessions/rights.ts'
import { invalidSession } from '../../sessions/session-grant.ts'
import { peekSession } from '../../sessions/store.ts'
import type { TokenSettings } from '../../sessions/token-request.ts'
import type { Issued } from '../../sessions/token-response.ts'
import type { Logger, Scope } from '../../store/database.ts'
import { type AttemptLimit, countAttempts, forgetAttempt } from '../attempts.ts'
import type { MediatedSettings, MediatedSignIn } from './mediated-settings.ts'
import { codeLifetime, makeOneTimeCode, mostTries, readOneTimeCode } from './one-time-code.ts'
import { endMediated, findMediated, insertMediated, takeTry } from './store.ts'

/** Section 4.7: the rules of Mediated Sign-In. Credentials go through memory to the company's own check, and end there. */

/** How a sign-in stands. */
export type MediatedOutcome =
  | { readonly status: 'complete'; readonly issued: Issued }
  | { readonly status: 'code_required'; readonly id: string; readonly sentTo: string; readonly expiresAt: number }
  | { readonly status: 'failed' }
  | { readonly status: 'expired' }

/** What the rules need. */
export interface MediatedRules {
  readonly mediated: MediatedSettings
  readonly token: TokenSettings
  readonly codes: KeyedHash
  readonly admission: Admission
  readonly log: Logger
}

/** Milliseconds that the company's own functions have. */
const verifyTime = 10_000

const quarter = 15 * 60_000
/** 4.7: attempts are limited, for whoever makes them and for whom they are about. A success takes none of them back. */
const limits: Readonly<Record<'client' | 'user' | 'person' | 'codes', AttemptLimit>> = {
  client: { kind: 'mediated:client', most: 200, window: quarter },
  user: { kind: 'mediated:user', most: 10, window: quarter },
  person: { kind: 'mediated:person', most: 10, window: quarter },
  codes: { kind: 'mediated:codes', most: 5, window: 60 * 60_000 },
}

/** Checks credentials and signs the Session in, or asks for a one-time code first. */
export async function beginMediated(
  scope: Scope,
  principal: Principal,
  client: { readonly clientId: string },
  attempt: { readonly scopes: readonly string[]; readonly credentials: Readonly<Record<string, string>> },
  rules: MediatedRules,
): Promise<MediatedOutcome> {
  const { mediated, token } = rules
  const now = token.now()
  const { clientId, userId } = principal
  const user = `${clientId} ${userId}`
  const person = personOf(mediated, attempt.credentials)
  const counted = [
    { ...limits.person, owner: person },
    { ...limits.user, owner: user },
    { ...limits.client, owner: clientId },
  ]
  await count(scope, counted, now)
  const about = { clientId, userId, scopes: attempt.scopes }
  const account = await within(rules, 'verify', (signal) => mediated.verify(attempt.credentials, { ...about, signal }))
  if (account === null || account === undefined) return { status: 'failed' }
  if (typeof account !== 'string' || account === '')
    throw new TypeError('`signIn.mediated.verify` has to give the id of an account, a text, or null.')
  // 4.1: blocked while its credentials were checked
  if (!(await rules.admission.admits(clientId)))
    throw new PoppyError('invalid_token', {
      description: 'The Session Token is not valid.',
      reason: 'client not admitted',
    })
  // It was no guess. What was counted before it stays.
  for (const one of counted) await forgetAttempt(scope, one)

  const session = await peekSession(scope, principal.sessionId)
  if (session) refuseBlocked(session)
  if (!session || !isActive(session, token.limits, now)) throw invalidSession('ended')
  if (session.account !== null && session.account !== account) throw accountMismatch()
  const grants = await grantsOf(scope, { account, now })
  const signIn: MediatedSignIn = {
    ...about,
    account,
    // 4.2: one Personal Agent acts for many people, and a stranger with the password may use the same one
    isNewAgent: !grants.some((grant) => grant.clientId === clientId && grant.userId === userId),
  }
  if (await wantsCode(signIn, rules)) return sendCode(scope, principal, signIn, rules, now)
  return scope.db.transaction(async () => {
    if (await isOvertaken(scope, signIn, now)) return { status: 'failed' }
    return complete(scope, principal, client, signIn, rules)
  })
}

/**
 * 4.9: whether the person ended this agent's access, took a right of it away, or ended all access, since the credentials
 * came: then they buy nothing any more, as with a code on its way. Nobody ends it before the transaction does.
 */
async function isOvertaken(scope: Scope, { account, clientId }: MediatedSignIn, since: number): Promise<boolean> {
  if (await wasEndedSince(scope, { account, at: since })) return true
  if (await wasEndedSince(scope, { account: accessOf(account, clientId), at: since })) return true
  return wasRevokedSince(scope, { account, clientId, since })
}

/** Checks a one-time code and signs the Session in. Only the Session that began the sign-in may finish it. */
export async function finishMediated(
  scope: Scope,
  principal: Principal,
  client: { readonly clientId: string },
  attempt: { readonly id: string; readonly code: string },
  rules: MediatedRules,
): Promise<MediatedOutcome> {
  const now = rules.token.now()
  const { id } = attempt
  const { sessionId } = principal
  // What can't be an id of ours is not asked for: PostgreSQL takes no NUL in a text.
  if (!isId(id)) return { status: 'failed' }
  const outcome = await scope.db.transaction(async (): Promise<MediatedOutcome | PoppyError> => {
    const found = await findMediated(scope, { id, sessionId })
    if (found === null || found.client_id !== principal.clientId || found.status !== 'waiting')
      return { status: 'failed' }
    if (found.expires_at <= now) return { status: 'expired' }
    const tries = await takeTry(scope, { id, sessionId, most: mostTries, now })
    if (tries === null) return { status: 'failed' }
    const code = readOneTimeCode(attempt.code)
    if (code === null || !rules.codes.matches(`${id} ${code}`, found.code_hash)) {
      if (tries < mostTries) return { status: 'code_required', id, sentTo: found.sent_to, expiresAt: found.expires_at }
      await endMediated(scope, { id, status: 'failed' })
      return { status: 'failed' }
    }
    if (!(await endMediated(scope, { id, status: 'done' }))) return { status: 'failed' }
    const signIn = {
      clientId: principal.clientId,
      userId: principal.userId,
      account: found.account,
      scopes: found.scopes.split(' '),
    }
    return complete(scope, principal, client, signIn, rules)
  })
  if (outcome instanceof PoppyError) throw outcome
  return outcome
}

async function complete(
  scope: Scope,
  principal: Principal,
  client: { readonly clientId: string },
  signIn: Omit<MediatedSignIn, 'isNewAgent'>,
  { token }: MediatedRules,
): Promise<MediatedOutcome> {
  const now = token.now()
  const session = await peekSession(scope, principal.sessionId)
  // Thrown: nothing of this transaction may be kept, a code that was right among it.
  if (session) refuseBlocked(session)
  if (!session || !isActive(session, token.limits, now)) throw invalidSession('ended')
  if (session.account !== null && session.account !== signIn.account) throw accountMismatch()
  const { issued } = await grantSignIn(
    { client, scope, settings: token },
    { session, account: signIn.account, approved: signIn.scopes, scopes: signIn.scopes, signIn: 'mediated' },
  )
  return { status: 'complete', issued }
}

async function wantsCode(signIn: MediatedSignIn, rules: MediatedRules): Promise<boolean> {
  const { sendCode: send, needsCode } = rules.mediated
  if (send === undefined) return false
  if (needsCode === undefined) return signIn.isNewAgent
  // Whatever isn't a clear no asks for the code.
  return (await within(rules, 'needsCode', () => needsCode(signIn))) !== false
}

async function sendCode(
  scope: Scope,
  principal: Principal,
  signIn: MediatedSignIn,
  rules: MediatedRules,
  since: number,
): Promise<MediatedOutcome> {
  const { mediated, token, codes } = rules
  const now = token.now()
  // Nobody gets a telephone full of codes.
  await count(scope, [{ ...limits.codes, owner: signIn.account }], now)
  const id = makeId('sgn', token.random)
  const code = makeOneTimeCode(token.random)
  const sentTo: unknown = await within(rules, 'sendCode', () => mediated.sendCode?.(code, signIn))
  if (typeof sentTo !== 'string' || sentTo.trim() === '')
    throw new TypeError('`signIn.mediated.sendCode` has to say where the code went, in words.')
  const expiresAt = now + codeLifetime
  return scope.db.transaction(async () => {
    if (await isOvertaken(scope, signIn, since)) return { status: 'failed' }
    await insertMediated(scope, {
      id,
      session_id: principal.sessionId,
      client_id: principal.clientId,
      account: signIn.account,
      scopes: signIn.scopes.join(' '),
      code_hash: codes.make(`${id} ${code}`),
      sent_to: sentTo.slice(0, 200),
      status: 'waiting',
      tries: 0,
      created_at: now,
      expires_at: expiresAt,
    })
    return { status: 'code_required', id, sentTo: sentTo.slice(0, 200), expiresAt }
  })
}

/** Counts before anything is looked at: many at once are many. */
async function count(
  scope: Scope,
  attempts: readonly (AttemptLimit & { readonly owner: string })[],
  now: number,
): Promise<void> {
  const wait = await countAttempts(scope, attempts, now)
  if (wait > 0) {
    throw new PoppyError('rate_limited', {
      description: 'Too many attempts to sign in. Wait before the next one.',
      retryAfter: wait,
      reason: 'mediated sign-in',
    })
  }
}

/**
 * Whom an attempt is about, before anybody knows whether they exist: what isn't secret of the credentials. There always is
 * something, as the configuration has to have it; nothing secret is counted by, not even as a hash.
 */
function personOf({ fields }: MediatedSettings, credentials: Readonly<Record<string, string>>): string {
  const open = fields.filter(({ secret }) => !secret).map(({ name }) => [name, fold(credentials[name] ?? '')])
  return JSON.stringify(open)
}

function fold(value: string): string {
  return value.normalize('NFKC').trim().toLowerCase()
}

/**
 * Runs a function of the company's that has seen credentials or a code. It gets its time, and what it throws stays here:
 * its message may hold what it was given.
 */
async function within<T>(
  { log }: MediatedRules,
  name: string,
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  const unavailable = () =>
    new PoppyError('temporarily_unavailable', { description: 'Try again in a while.', retryAfter: 5, reason: name })
  const tooLate = unavailable()
  const { promise: late, reject } = Promise.withResolvers<never>()
  late.catch(() => {})
  const timer = setTimeout(() => {
    stop.abort()
    reject(tooLate)
  }, verifyTime)
  const running = (async () => work(stop.signal))()
  try {
    return await Promise.race([running, late])
  } catch (error) {
    if (error === tooLate) throw error
    // A PoppyError of theirs too: its description would go out.
    log.error(
      { hook: name, error: error instanceof Error ? error.name : typeof error },
      'a hook of Mediated Sign-In failed',
    )
    throw unavailable()
  } finally {
    clearTimeout(timer)
    // A loser of the race is nobody's unhandled rejection.
    running.catch(() => {})
  }
}

import { formatScope, grantTypes } from '@poppyseed/protocol'
import type { AgentContext } from '../context.ts'
import type { FoundCompany } from '../discovery/discover.ts'
import { AgentError } from '../errors.ts'
import { cleanText } from '../net/text.ts'
import { Secret } from '../secret.ts'
import { type DeviceShown, deviceSchema, whatIsShown } from './device-page.ts'
import { endOf, rememberDeclined, type SignInResult, scopesToAsk } from './sign-in-end.ts'
import { askEndpoint, type OAuthFailure, refusal, requestToken } from './token-endpoint.ts'
import type { SessionTokens, TokenSource } from './tokens.ts'

/**
 * Device Sign-In (4.6, RFC 8628): the User gets a link and a short code, and signs in on whatever device they like. The
 * device code stays in this process's memory: it is in no store, no error and nothing that is given back.
 */

/** A Device Sign-In under way. It holds what the User is shown, and no secret. */
export interface PendingDeviceSignIn {
  /** What the User types on the Company's page, as the Company writes it. */
  readonly userCode: string
  /** The page where they type it. */
  readonly verificationUri: string
  /** The same page with the code filled in, for a link or a QR code, where the Company gives one. */
  readonly verificationUriComplete: string | undefined
  /**
   * Whether the page is the Company's own: at its issuer, its domain or a subdomain of it. Where it isn't, name its host to
   * the User beside the Company, and draw no QR code, which nobody can read: a Company may hand on a code that it got of
   * another one, so that the User lets it in there.
   */
  readonly isOwnPage: boolean
  /** When the code ends, Unix time in milliseconds. */
  readonly expiresAt: number
  /**
   * Ends when the User has approved or declined, or the code has expired. The Company is asked from when this is first
   * looked at, at its interval; a broken answer or a lost one ends nothing.
   */
  readonly done: Promise<SignInResult>
}

const defaultInterval = 5
/** RFC 8628, 3.5: so many seconds longer after each `slow_down`. */
const slowDownBy = 5
/** What a connection that breaks makes of the interval at most, in seconds. */
const longestBackOff = 60
/** However long a Company says: nobody comes back to a code after a day. In milliseconds. */
const longest = 24 * 60 * 60 * 1000

/**
 * Begins Device Sign-In.
 * @param signal ends the waiting: `done` throws its reason. A request under way is let finish first, at most
 *   `timeouts.token` seconds, so that no access is given that nobody keeps.
 * @throws AgentError `sign_in_unavailable` where the Company doesn't offer it for these scopes
 */
export async function beginDeviceSignIn(
  context: AgentContext,
  found: FoundCompany & TokenSource,
  tokens: SessionTokens,
  scopes: readonly string[],
  signal: AbortSignal | undefined,
): Promise<PendingDeviceSignIn> {
  const offered = found.discovery.signIn.device
  const endpoint = found.server.device_authorization_endpoint
  if (!offered || !endpoint) {
    throw new AgentError('sign_in_unavailable', `${found.name} offers no sign-in with a code on another device.`)
  }
  const asked = await scopesToAsk(found, offered, tokens, scopes)
  // The Session that will be signed in is there before the User is asked.
  await tokens.get({ kind: 'dpop', resource: undefined })
  const answer = await askEndpoint(context, found.server, endpoint, async () => ({ scope: formatScope(asked) }), {
    signal,
  })
  if (answer.failure) throw refusal(found.name, answer.failure)
  const device = deviceSchema.safeParse(answer.value)
  const shown = device.success ? whatIsShown(device.data, found, context.allowHttp) : undefined
  if (!device.success || !shown) {
    throw new AgentError('bad_answer', `${found.name} began a sign-in with a link or a code that can't be used.`)
  }
  const { device_code, expires_in, interval = defaultInterval } = device.data
  const expiresAt = context.now() + Math.min(expires_in * 1000, longest)
  const code = new Secret(device_code)
  return new Pending({ ...shown, expiresAt }, () =>
    wait(context, found, tokens, { code, asked, expiresAt, interval, signal }),
  )
}

/** `done` is made when it is asked for: a sign-in that nobody waits for asks nothing and fails nowhere. */
class Pending implements PendingDeviceSignIn {
  readonly userCode: string
  readonly verificationUri: string
  readonly verificationUriComplete: string | undefined
  readonly isOwnPage: boolean
  readonly expiresAt: number
  readonly #wait: () => Promise<SignInResult>
  #done: Promise<SignInResult> | undefined

  constructor(shown: DeviceShown & { readonly expiresAt: number }, wait: () => Promise<SignInResult>) {
    this.userCode = shown.userCode
    this.verificationUri = shown.verificationUri
    this.verificationUriComplete = shown.verificationUriComplete
    this.isOwnPage = shown.isOwnPage
    this.expiresAt = shown.expiresAt
    this.#wait = wait
  }

  get done(): Promise<SignInResult> {
    this.#done ??= this.#wait()
    return this.#done
  }
}

interface Waiting {
  readonly code: Secret
  readonly asked: readonly string[]
  /** Unix time in milliseconds. */
  readonly expiresAt: number
  /** Seconds. */
  readonly interval: number
  readonly signal: AbortSignal | undefined
}

/** What one poll told: the end, or how many seconds to wait from now on. */
type Poll =
  | { readonly result: SignInResult }
  | {
      /** Seconds between polls from now on. */
      readonly interval: number
      /** Seconds before the next one alone, where that is longer. */
      readonly once?: number | undefined
      readonly newSession?: 'invalid_session' | 'account_mismatch'
    }

/** A Session that has ended, or that is another account's, is replaced so often. */
const maxNewSessions = 2

async function wait(
  context: AgentContext,
  source: TokenSource,
  tokens: SessionTokens,
  waiting: Waiting,
): Promise<SignInResult> {
  const { expiresAt, signal, asked } = waiting
  let { interval } = waiting
  let pause = interval
  let newSessions = 0
  let wasOther = false
  for (;;) {
    signal?.throwIfAborted()
    const left = expiresAt - context.now()
    const isLast = left <= pause * 1000
    await unlessAborted(signal, () => context.wait(Math.max(0, isLast ? left : pause * 1000), signal))
    if (isLast) throw expired()
    const poll = await pollOnce(context, source, tokens, waiting, { interval, newSessions, wasOther })
    if ('result' in poll) {
      await rememberDeclined(context, tokens.place, asked, poll.result.granted)
      return poll.result
    }
    if (poll.newSession) newSessions++
    if (poll.newSession === 'account_mismatch') wasOther = true
    interval = poll.interval
    pause = Math.max(interval, poll.once ?? 0)
  }
}

/** Waits; what ends it early is the host's own reason. */
async function unlessAborted(signal: AbortSignal | undefined, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}

function expired(): AgentError {
  return new AgentError('sign_in_expired', 'The code has expired before the sign-in was finished. Begin again.')
}

interface Progress {
  /** Seconds between polls. */
  readonly interval: number
  readonly newSessions: number
  /** Whether the Session was another account's. */
  readonly wasOther: boolean
}

/** One poll. @throws AgentError where there is nothing to wait for any more */
async function pollOnce(
  context: AgentContext,
  source: TokenSource,
  tokens: SessionTokens,
  { code, asked }: Waiting,
  { interval, newSessions, wasOther }: Progress,
): Promise<Poll> {
  try {
    const end = await tokens.signIn(source, ({ sessionId, proofKeys }) =>
      requestToken(context, source.server, {
        proofKeys,
        // Whoever waits here would hold up every other token request of the User.
        mayWait: false,
        parameters: async () => ({
          grant_type: grantTypes.deviceCode,
          device_code: code.reveal(),
          session_id: sessionId,
        }),
      }),
    )
    if (!end.failure) return { result: await endOf(context, source, tokens.place, asked, { ...end, wasOther }) }
    if (end.failure.error === 'access_denied') await rememberDeclined(context, tokens.place, asked, 'nothing')
    return afterFailure(source, end.failure, interval, newSessions)
  } catch (error) {
    if (!(error instanceof AgentError)) throw error
    switch (error.code) {
      case 'unreachable':
        if (error.action !== 'retry') throw error
        // RFC 8628, 3.5: less often after a connection that failed
        return { interval: Math.max(interval, Math.min(interval * 2, longestBackOff)) }
      case 'company_error':
      case 'store_busy':
        return { interval }
      case 'rate_limited':
        return { interval, once: error.retryAfter }
      default:
        throw error
    }
  }
}

/** 4.6, RFC 8628, 3.5: goes on after what passes, and stops after everything else. */
function afterFailure(source: TokenSource, failure: OAuthFailure, interval: number, newSessions: number): Poll {
  switch (failure.error) {
    case 'authorization_pending':
      return { interval }
    case 'slow_down':
      return { interval: Math.max(interval + slowDownBy, failure.interval ?? 0) }
    case 'access_denied':
      throw new AgentError('sign_in_declined', 'The sign-in was declined. Nothing was granted.', {
        companyCode: failure.error,
      })
    case 'expired_token':
      throw expired()
    case 'invalid_session':
    case 'account_mismatch':
      if (newSessions < maxNewSessions) return { interval, newSession: failure.error }
      break
    case 'invalid_client':
    case 'unauthorized_client':
    case 'invalid_dpop_proof':
      throw refusal(source.name, failure)
  }
  if (failure.status >= 500) return { interval }
  throw new AgentError(
    'sign_in_failed',
    `${cleanText(source.name, 200)} did not complete the sign-in (${failure.error}).`,
    { companyCode: failure.error, status: failure.status },
  )
}

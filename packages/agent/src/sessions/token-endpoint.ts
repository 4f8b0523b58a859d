import {
  base64url,
  clientAssertionType,
  errorResponseSchema,
  findChallenge,
  makeClientAssertion,
  makeProof,
  type OAuthMetadata,
  parseChallenges,
  type TokenResponse,
  tokenResponseSchema,
} from '@poppyseed/protocol'
import { z } from 'zod'
import type { AgentContext } from '../context.ts'
import { AgentError, type AgentErrorCode } from '../errors.ts'
import type { ProofKeys } from '../identity/keys.ts'
import { isRedirect, readText, send } from '../net/exchange.ts'
import { cleanText, withoutSecrets } from '../net/text.ts'

/** Requests to the token and revocation endpoints (4.2, 4.8, 4.9): client assertion, proof, nonce, rate limit. */

const maxBytes = 64 * 1024

/** An OAuth error of the endpoint, as the Company sent it. */
export interface OAuthFailure {
  readonly error: string
  readonly status: number
  /** Cleaned and cut, with whatever was sent taken out of it. */
  readonly description: string | undefined
  /** Seconds between two polls from now on, where `slow_down` says so (4.6). */
  readonly interval?: number | undefined
}

/** What the token endpoint said: tokens, or one of its errors (4.2). */
export type TokenAnswer =
  | { readonly response: TokenResponse; readonly failure?: undefined }
  | { readonly failure: OAuthFailure; readonly response?: undefined }

/** What one token request is made of. `parameters` is called for each attempt: an assertion's `jti` is spent by the first. */
export interface TokenRequest {
  readonly parameters: () => Promise<Readonly<Record<string, string>>>
  /** With them a DPoP token is asked for; without them a Bearer token for one MCP server (4.3). */
  readonly proofKeys: ProofKeys | undefined
  /** False where a 429 is reported at once: whoever asks waits by itself. */
  readonly mayWait?: boolean
  /** The host's own abort; left out where an answer that is lost would leave somebody's access lying about. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Asks the token endpoint.
 * @returns the tokens, or the OAuth error for the caller to act on
 * @throws AgentError when the endpoint can't be reached, limits us, or answers what can't be used
 */
export async function requestToken(
  context: AgentContext,
  server: OAuthMetadata,
  request: TokenRequest,
): Promise<TokenAnswer> {
  const { text, status, failure } = await post(context, server, server.token_endpoint, server.token_endpoint, request)
  if (failure) return { failure }
  const parsed = tokenResponseSchema.safeParse(parseJson(text))
  if (status !== 200 || !parsed.success) {
    throw new AgentError(
      'bad_answer',
      `The token endpoint of ${new URL(server.issuer).host} gave an answer that can't be used.`,
      { status },
    )
  }
  return { response: parsed.data }
}

/**
 * Who may be named in an assertion that goes to an endpoint beside the token endpoint. Companies differ: most take the
 * token endpoint, some the one that is called. But an assertion that names an endpoint must not go elsewhere: a Company that published
 * another one's token endpoint as its own would get what authenticates this agent there.
 */
function audiencesAt({ issuer, token_endpoint }: OAuthMetadata, endpoint: string): ReadonlySet<string> {
  const isOneServer = new URL(token_endpoint).origin === new URL(endpoint).origin
  // The issuer is surely its own: its metadata came from there (3.2).
  return new Set(isOneServer ? [token_endpoint, endpoint] : [endpoint, issuer])
}

/** What an endpoint of the OAuth server beside the token endpoint answered. */
export type EndpointAnswer =
  | { readonly value: unknown; readonly failure?: undefined }
  | { readonly failure: OAuthFailure; readonly value?: undefined }

/**
 * Asks the device authorization endpoint (4.6) or the revocation endpoint (4.9), with a client assertion and no proof.
 * The other `aud` is tried once.
 * @returns what its JSON says, unchecked, or the OAuth error
 * @throws AgentError
 */
export async function askEndpoint(
  context: AgentContext,
  server: OAuthMetadata,
  endpoint: string,
  parameters: () => Promise<Readonly<Record<string, string>>>,
  options: Pick<TokenRequest, 'signal' | 'mayWait'> = {},
): Promise<EndpointAnswer> {
  let failure: OAuthFailure | undefined
  for (const audience of audiencesAt(server, endpoint)) {
    const answer = await post(context, server, endpoint, audience, { ...options, parameters, proofKeys: undefined })
    if (!answer.failure) return { value: parseJson(answer.text) }
    failure = answer.failure
    if (failure.error !== 'invalid_client') break
  }
  if (!failure) throw new AgentError('bad_answer', 'The Company could not be asked.')
  return { failure }
}

/**
 * Revokes an Account Token (4.9).
 * @throws AgentError
 */
export async function revokeToken(
  context: AgentContext,
  server: OAuthMetadata,
  token: string,
  options: Pick<TokenRequest, 'signal' | 'mayWait'> = {},
): Promise<void> {
  const { failure } = await askEndpoint(
    context,
    server,
    server.revocation_endpoint,
    async () => ({ token, token_type_hint: 'refresh_token' }),
    options,
  )
  if (!failure) return
  throw new AgentError('revocation_failed', `The Company did not confirm the sign-out (${failure.error}).`, {
    companyCode: failure.error,
    status: failure.status,
  })
}

async function post(
  context: AgentContext,
  server: OAuthMetadata,
  url: string,
  audience: string,
  request: TokenRequest,
): Promise<{ readonly text: string; readonly status: number; readonly failure?: OAuthFailure }> {
  // 4.3: one retry with the nonce, never more, and none without a nonce to use; and one with the Company's own time
  let mayRetry = request.proofKeys !== undefined
  let mayLearn = true
  const now = () => context.clocks.at(server.issuer, url) / 1000
  const { signal, mayWait = true } = request
  for (;;) {
    let sent: Readonly<Record<string, string>> = {}
    const response = await context.patience({ method: 'POST', url, signal, mayWait }, async () => {
      const form = await withClientAssertion(context, audience, now(), await request.parameters())
      sent = form
      const headers: Record<string, string> = {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
      }
      if (request.proofKeys) headers.dpop = await tokenProof(context, url, now(), request.proofKeys)
      const answer = await send(
        context.fetch,
        url,
        { method: 'POST', headers, body: new URLSearchParams(form).toString() },
        { seconds: context.seconds.token, signal },
      )
      context.nonces.remember(url, answer)
      return answer
    })
    if (isRedirect(response)) {
      await response.body?.cancel()
      throw new AgentError('bad_answer', `${new URL(url).host} redirects a token request, so it was not followed.`)
    }
    const text = await readText(response, maxBytes)
    if (response.ok) return { text, status: response.status }
    const failure = readFailure(response, text, Object.values(sent))
    if (mayLearn && isAboutTime(failure, sent) && context.clocks.learn(server.issuer, url, response)) {
      mayLearn = false
      continue
    }
    if (failure.error !== 'use_dpop_nonce') return { text, status: response.status, failure }
    if (!mayRetry || response.headers.get('dpop-nonce') === null) {
      throw new AgentError('proof_refused', nonceTrouble(url, mayRetry), {
        companyCode: 'use_dpop_nonce',
        status: response.status,
      })
    }
    mayRetry = false
  }
}

/** Whether the time in an assertion or a proof may be why it was refused: an `invalid_grant` without one is about a code. */
function isAboutTime({ error }: OAuthFailure, form: Readonly<Record<string, string>>): boolean {
  return (
    error === 'invalid_client' || error === 'invalid_dpop_proof' || (error === 'invalid_grant' && 'assertion' in form)
  )
}

/** What to say of a Company that goes on asking for nonces, or asks for one without giving it. */
export function nonceTrouble(url: string, isFirst: boolean): string {
  const { host } = new URL(url)
  return isFirst
    ? `${host} asks for a nonce in the proof but gave none.`
    : `${host} asked for another nonce after it got the one that it gave.`
}

function withClientAssertion(
  context: AgentContext,
  audience: string,
  now: number,
  parameters: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const { identity, random } = context
  return identity.signingKey().then(async (key) => ({
    ...parameters,
    client_id: identity.clientId,
    client_assertion_type: clientAssertionType,
    client_assertion: await makeClientAssertion(key, {
      clientId: identity.clientId,
      audience,
      now,
      id: base64url(random(16)),
    }),
  }))
}

function tokenProof(context: AgentContext, url: string, now: number, keys: ProofKeys): Promise<string> {
  const nonce = context.nonces.get(url)
  return makeProof(keys, {
    method: 'POST',
    url,
    now,
    id: base64url(context.random(16)),
    ...(nonce === undefined ? {} : { nonce }),
  })
}

const intervalSchema = z.object({ interval: z.number().positive() })

function readFailure(response: Response, text: string, sent: readonly string[]): OAuthFailure {
  const body = errorResponseSchema.safeParse(parseJson(text))
  const challenge = findChallenge(parseChallenges(response.headers.get('www-authenticate') ?? ''), 'DPoP')
  const error = (body.success ? body.data.error : undefined) ?? challenge?.parameters.error
  if (error === undefined) {
    throw new AgentError(
      response.status >= 500 ? 'company_error' : 'bad_answer',
      `The Company answered HTTP ${response.status} to a token request, without a reason.`,
      { status: response.status },
    )
  }
  const description = body.success ? body.data.error_description : undefined
  return {
    error: cleanText(withoutSecrets(error, sent), 80),
    status: response.status,
    description: description === undefined ? undefined : cleanText(withoutSecrets(description, sent)),
    interval: intervalSchema.safeParse(parseJson(text)).data?.interval,
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Whoever asks checks the shape, and undefined has none.
    return undefined
  }
}

/** The error for a refusal that nothing can be done about here. */
export function refusal(company: string, failure: OAuthFailure): AgentError {
  const details = { companyCode: failure.error, status: failure.status }
  const why = failure.description === undefined ? failure.error : `${failure.error}: ${failure.description}`
  switch (failure.error) {
    case 'invalid_client':
    case 'unauthorized_client':
      return new AgentError('client_refused', `${company} does not accept this Personal Agent (${why}).`, details)
    case 'invalid_dpop_proof':
      return new AgentError('proof_refused', `${company} did not accept the proof (${why}).`, details)
    default:
      return failure.status >= 500
        ? new AgentError('company_error', `${company} could not answer the token request (${why}).`, details)
        : new AgentError('request_refused', `${company} refused the token request (${why}).`, details)
  }
}

const mended: ReadonlySet<AgentErrorCode> = new Set<AgentErrorCode>(['company_error', 'bad_answer', 'request_refused'])

/**
 * Whether a failure may be about the Account Token alone (4.8): then a new sign-in mends it, which brings another one. Where the
 * Company can't be reached, or doesn't take this agent, a sign-in would end in the same.
 */
export function isMendedBySignIn(error: unknown): error is AgentError {
  return error instanceof AgentError && (mended.has(error.code) || error.companyCode === 'unauthorized_client')
}

/** The error where an Account Token was refused for another reason than that it has ended: only its User can mend that. */
export function refusedAccount(company: string, failure: OAuthFailure, scopes: readonly string[]): AgentError {
  const error = refusal(company, failure)
  if (!isMendedBySignIn(error) || error.action === 'retry') return error
  const { code, message, companyCode, status } = error
  return new AgentError(code, `${message} Signing in again may help.`, {
    ...{ companyCode, status, scopes },
    action: 'ask_owner',
  })
}

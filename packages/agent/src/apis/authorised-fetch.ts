import {
  base64url,
  errorResponseSchema,
  findChallenge,
  makeProof,
  parseChallenges,
  parseScope,
} from '@poppyseed/protocol'
import type { AgentContext } from '../context.ts'
import { AgentError } from '../errors.ts'
import { isRedirect, readText, send } from '../net/exchange.ts'
import { withoutSecretsIn } from '../net/redact.ts'
import { cleanText, withoutSecrets } from '../net/text.ts'
import { nonceTrouble } from '../sessions/token-endpoint.ts'
import type { HeldToken, SessionTokens, TokenWanted } from '../sessions/tokens.ts'
import { accountTries, stepUpError, union } from './step-up.ts'

/** Requests that carry a Session Token (4.3, 6): everything that calls a Company goes through here. */

/** One request to a service of the Company. */
export interface AuthorisedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  /** A stream is sent once: what would have to be sent again fails (see {@link spent}). */
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined
  readonly signal?: AbortSignal | undefined
  /** Seconds for the whole answer; no limit when undefined. */
  readonly seconds: number | undefined
}

/** The service that a request goes to. */
export interface Service {
  /** The Company's name, for errors. */
  readonly company: string
  /** The origin that the Company published: a token goes nowhere else. */
  readonly origin: string
  readonly wanted: TokenWanted
  /** Gives a redirect back, for a caller that reads it; it is followed in no case. */
  readonly givesRedirects?: boolean
  /** New tokens are what is asked for (4.7): the answer is for the library alone and comes as it is. */
  readonly givesTokens?: boolean
  /** Scopes that the request is known to need, for the error that asks the owner. */
  readonly scopes?: readonly string[]
}

/** The largest error answer that is read. */
const maxErrorBytes = 256 * 1024

/** What an answer says in its challenge or, failing that, in its body. */
interface Refusal {
  readonly error: string | undefined
  readonly scopes: readonly string[]
  readonly extension: string | undefined
}

/**
 * Sends a request with a token (and a proof), and does once what the answer asks for: another nonce, a renewed token,
 * the Account Token. Answers of 400 and above that aren't about the token are given back. What is given back has no
 * token and no proof in it, whatever the Company repeats.
 * @throws AgentError
 */
export async function authorisedFetch(
  context: AgentContext,
  tokens: SessionTokens,
  request: AuthorisedRequest,
  service: Service,
): Promise<Response> {
  const { company, wanted } = service
  const url = new URL(request.url)
  if (url.origin !== service.origin) {
    throw new AgentError(
      'foreign_origin',
      `The request would go to ${url.host}, which is not the Company's published address ${new URL(service.origin).host}, so the token was not sent.`,
    )
  }
  // Each reason for another attempt counts once, so this ends.
  const done = { nonce: false, clock: false, renewed: false }
  const tryAccount = accountTries(tokens, wanted)
  let stale: HeldToken | undefined
  let isSpent = false
  const isStream = request.body instanceof ReadableStream
  for (;;) {
    if (isSpent) throw spent(company)
    const held = await unlessAborted(tokens.get(wanted, stale?.token), request.signal)
    let proof: string | undefined
    const response = await context.patience({ ...request, mayWait: !isStream }, async () => {
      isSpent = isStream
      const headers = new Headers(request.headers)
      proof = await authorise(context, tokens, request, wanted, held, headers)
      return sendWith(context, request, headers)
    })
    const secrets = [...(await tokens.secrets()), held.token.reveal(), ...(proof === undefined ? [] : [proof])]
    const given = (answer: Response) => (service.givesTokens ? answer : withoutSecretsIn(answer, secrets))
    if (isRedirect(response)) {
      if (service.givesRedirects) return given(response)
      await response.body?.cancel()
      throw new AgentError(
        'bad_answer',
        `${company} answered with a redirect, which was not followed: it would take the token along.`,
      )
    }
    if (response.status !== 401 && response.status !== 403) return given(response)

    const text = await readText(response, maxErrorBytes)
    const refusal = readRefusal(response, text, wanted.kind, secrets)
    switch (refusal.error) {
      case 'use_dpop_nonce':
        if (done.nonce || response.headers.get('dpop-nonce') === null) {
          throw new AgentError('proof_refused', nonceTrouble(request.url, !done.nonce), {
            companyCode: refusal.error,
            status: response.status,
          })
        }
        done.nonce = true
        continue
      case 'invalid_dpop_proof':
        if (!done.clock && context.clocks.learn(tokens.place.issuer, request.url, response)) {
          done.clock = true
          continue
        }
        throw new AgentError('proof_refused', `${company} did not accept the proof.`, {
          companyCode: refusal.error,
          status: response.status,
        })
      case 'invalid_token':
        // 6: renew the token, or start a new Session, and try again
        if (done.renewed) break
        done.renewed = true
        stale = held
        continue
      case 'sign_in_required':
      case 'insufficient_scope': {
        const needed = union(refusal.scopes, service.scopes ?? [])
        // 4.4: an Account Token that covers the task comes before a new sign-in
        const end = await tryAccount(refusal.error, held, needed)
        if (end === 'helped') continue
        throw await stepUpError(tokens, company, refusal.error, needed, end)
      }
      case 'extension_required':
        throw new AgentError('extension_required', extensionMissing(company, refusal.extension), {
          companyCode: refusal.error,
          status: response.status,
        })
    }
    if (response.status === 401) {
      throw new AgentError('token_refused', `${company} did not accept the Session Token.`, {
        companyCode: refusal.error,
        status: 401,
      })
    }
    return given(new Response(text, { status: response.status, headers: response.headers }))
  }
}

/** The body of the request was a stream, which is gone once it was sent. */
function spent(company: string): AgentError {
  return new AgentError(
    'body_spent',
    `${company} wants the request once more, and its body was a stream that can't be sent again. Call again with a new one: what was missing is there now.`,
  )
}

/** What the work gives, unless the caller gives up first; the work goes on, for whoever else waits for it. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** Puts the token to a request, and a fresh proof (4.3). @returns the proof */
async function authorise(
  context: AgentContext,
  tokens: SessionTokens,
  request: AuthorisedRequest,
  wanted: TokenWanted,
  held: HeldToken,
  headers: Headers,
): Promise<string | undefined> {
  const token = held.token.reveal()
  if (wanted.kind === 'bearer') {
    headers.set('authorization', `Bearer ${token}`)
    headers.delete('dpop')
    return undefined
  }
  const { proofKeys } = await tokens.user()
  const nonce = context.nonces.get(request.url)
  const proof = await makeProof(proofKeys, {
    method: request.method,
    url: request.url,
    now: context.clocks.at(tokens.place.issuer, request.url) / 1000,
    id: base64url(context.random(16)),
    tokenHash: await sha256(token),
    ...(nonce === undefined ? {} : { nonce }),
  })
  headers.set('authorization', `DPoP ${token}`)
  headers.set('dpop', proof)
  return proof
}

async function sendWith(context: AgentContext, request: AuthorisedRequest, headers: Headers): Promise<Response> {
  const { method, url, body, seconds, signal } = request
  const streaming = body instanceof ReadableStream ? ({ duplex: 'half' } as object) : {}
  const response = await send(
    context.fetch,
    url,
    { method, headers, ...(body === undefined ? {} : { body }), ...streaming },
    { seconds, signal },
  )
  context.nonces.remember(url, response)
  return response
}

async function sha256(text: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))
}

const codes = [
  'invalid_token',
  'invalid_dpop_proof',
  'use_dpop_nonce',
  'sign_in_required',
  'insufficient_scope',
  'extension_required',
]

/** 6: the challenge of our scheme speaks first; the body, where the same code stands, only without one. */
function readRefusal(response: Response, text: string, kind: TokenWanted['kind'], secrets: readonly string[]): Refusal {
  const challenge = findChallenge(parseChallenges(response.headers.get('www-authenticate') ?? ''), kind)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    // Many errors have no JSON body; the challenge alone counts then.
  }
  const body = errorResponseSchema.safeParse(json)
  const fromBody = body.success && codes.includes(body.data.error) ? body.data : undefined
  const error = challenge?.parameters.error ?? fromBody?.error
  const scope = challenge?.parameters.error === undefined ? fromBody?.scope : challenge.parameters.scope
  const clean = (said: string | undefined) =>
    said === undefined ? undefined : cleanText(withoutSecrets(said, secrets), 80)
  return {
    error: clean(error),
    // What is asked for is shown to people and models, and a token could pass for a scope.
    scopes: ((scope === undefined ? null : parseScope(scope.trim())) ?? []).filter(
      (one) => !secrets.some((secret) => one.includes(secret)),
    ),
    extension: clean(fromBody?.extension),
  }
}

/** What to say of an extension that a Company needs (3.3). */
export function extensionMissing(company: string, extension: string | undefined): string {
  const named = extension === undefined || extension === '' ? '' : `: ${cleanText(extension, 80)}`
  return `${company} needs an extension that this Personal Agent doesn't have${named}.`
}

import {
  base64url,
  coversScopes,
  errorResponseSchema,
  findChallenge,
  makeProof,
  parseChallenges,
  parseScope,
} from '@poppyseed/protocol'
import type { AgentContext } from '../context.ts'
import { AgentError } from '../errors.ts'
import { isRedirect, readText, send } from '../net/exchange.ts'
import { cleanText } from '../net/text.ts'
import { nonceTrouble } from '../sessions/token-endpoint.ts'
import type { HeldToken, SessionTokens, TokenWanted } from '../sessions/tokens.ts'

/** Requests that carry a Session Token (4.3, 6): everything that calls a Company goes through here. */

/** One request to a service of the Company. */
export interface AuthorisedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body: string | undefined
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
 * the Account Token. Answers of 400 and above that aren't about the token are given back as they are.
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
  const done = { nonce: false, clock: false, renewed: false, signedIn: false }
  let stale: HeldToken | undefined
  for (;;) {
    const held = await tokens.get(wanted, stale?.token)
    const response = await context.patience(request, () => sendWith(context, tokens, request, wanted, held))
    if (isRedirect(response)) {
      await response.body?.cancel()
      throw new AgentError(
        'bad_answer',
        `${company} answered with a redirect, which was not followed: it would take the token along.`,
      )
    }
    if (response.status !== 401 && response.status !== 403) return response

    const text = await readText(response, maxErrorBytes)
    const refusal = readRefusal(response, text, wanted.kind)
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
        const account = await tokens.records.account()
        if (!done.signedIn && canAccountHelp(refusal.error, account, held, needed)) {
          done.signedIn = true
          if (await tokens.useAccountToken(wanted, held.token)) continue
        }
        throw signInError(company, refusal.error, union(account?.scopes ?? [], needed))
      }
      case 'extension_required':
        throw new AgentError(
          'extension_required',
          `${company} needs an extension that this Personal Agent doesn't have${refusal.extension ? `: ${cleanText(refusal.extension, 80)}` : ''}.`,
          { companyCode: refusal.error, status: response.status },
        )
    }
    if (response.status === 401) {
      throw new AgentError('token_refused', `${company} did not accept the Session Token.`, {
        companyCode: refusal.error,
        status: 401,
      })
    }
    return new Response(text, { status: response.status, headers: response.headers })
  }
}

/** The error that asks the owner to sign in, with every scope that is needed: those already granted too (4.4). */
export function signInError(
  company: string,
  error: 'sign_in_required' | 'insufficient_scope',
  scopes: readonly string[],
): AgentError {
  return new AgentError(
    error,
    error === 'sign_in_required'
      ? `${company} needs you to sign in for this.`
      : `${company} needs more access for this than you have given.`,
    { companyCode: error, ...(scopes.length === 0 ? {} : { scopes }) },
  )
}

/**
 * Whether the Account Token would help where this Session Token didn't: it covers what is needed. After
 * `insufficient_scope` it helps only if the token that was refused had less.
 */
export function canAccountHelp(
  error: 'sign_in_required' | 'insufficient_scope',
  account: { readonly scopes: readonly string[] } | undefined,
  held: HeldToken,
  needed: readonly string[],
): boolean {
  if (account === undefined || !coversScopes(account.scopes, needed)) return false
  return error === 'sign_in_required' || !held.signedIn || !coversScopes(held.scopes, needed)
}

async function sendWith(
  context: AgentContext,
  tokens: SessionTokens,
  request: AuthorisedRequest,
  wanted: TokenWanted,
  held: HeldToken,
): Promise<Response> {
  const headers = new Headers(request.headers)
  const token = held.token.reveal()
  if (wanted.kind === 'bearer') {
    headers.set('authorization', `Bearer ${token}`)
    headers.delete('dpop')
  } else {
    const { proofKeys } = await tokens.user()
    const nonce = context.nonces.get(request.url)
    headers.set('authorization', `DPoP ${token}`)
    headers.set(
      'dpop',
      await makeProof(proofKeys, {
        method: request.method,
        url: request.url,
        now: context.clocks.at(tokens.place.issuer, request.url) / 1000,
        id: base64url(context.random(16)),
        tokenHash: await sha256(token),
        ...(nonce === undefined ? {} : { nonce }),
      }),
    )
  }
  const response = await send(
    context.fetch,
    request.url,
    { method: request.method, headers, ...(request.body === undefined ? {} : { body: request.body }) },
    { seconds: request.seconds, signal: request.signal },
  )
  context.nonces.remember(request.url, response)
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
function readRefusal(response: Response, text: string, kind: TokenWanted['kind']): Refusal {
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
  return {
    error: error === undefined ? undefined : cleanText(error, 80),
    scopes: (scope === undefined ? null : parseScope(scope.trim())) ?? [],
    extension: fromBody?.extension,
  }
}

/** Both lists in one, without repeats. */
export function union(left: readonly string[], right: readonly string[]): readonly string[] {
  return [...new Set([...left, ...right])]
}

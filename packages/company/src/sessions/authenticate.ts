import { checkProof, errorRow, type KeyImporter, PoppyError, parseAuthorization } from '@poppyseed/protocol'
import type { Admission } from '../agents/admission.ts'
import { sha256 } from '../crypto/hash.ts'
import type { Nonces } from '../crypto/nonce.ts'
import type { RequestLimits, Undo } from '../limits/request-limits.ts'
import type { Scope } from '../store/database.ts'
import { noteCaller } from '../telemetry/caller.ts'
import type { Principal } from './principal.ts'
import { principalOf, type SessionLimits } from './rights.ts'
import type { SessionToken, SessionTokens } from './session-token.ts'
import { admitProof, readSession } from './store.ts'

/** Who is calling (4.3): from the `Authorization` header to a Principal, in one round trip to the store. */

/** What checking a Session Token needs. */
export interface AuthenticatorSettings {
  readonly scope: () => Promise<Scope>
  readonly tokens: SessionTokens
  readonly importKey: KeyImporter
  readonly nonces: Nonces | null
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Seconds: how old a proof may be, and how far ahead of our clock. */
  readonly proofWindow: number
  readonly proofSkew: number
  /** The URL that the caller of a request asked for, as `htu` has it: on the Company's origin, or the one that is given. */
  readonly askedFor: (request: Request, origin?: string) => string
  readonly company: string
  readonly limits: SessionLimits
  readonly requestLimits: RequestLimits
  readonly admission: Admission
}

/** What a request has to bring. */
export interface Need {
  /** Identifiers by which tokens may name this service (4.3, RFC 8707). */
  readonly resources?: readonly string[]
  /** Whether a token has to name one of them: a service with tokens of its own (4.3). */
  readonly isNarrow?: boolean
  /** Where the service is, when not on the Company's origin. */
  readonly origin?: string
}

/** Who came with a token, and what the token says of its Session and its own end. */
export interface TokenHolder {
  readonly principal: Principal
  /** How many sign-outs the Session had seen when the token was issued. */
  readonly epoch: number
  /** Seconds since 1970. */
  readonly expiresAt: number
  /** Whether it is of a client that signed in through MCP's own flow (6), and is worth nothing signed out. */
  readonly ownMcpFlow: boolean
  /** Whether its Personal Agent may come in, by the configuration's lists as they are when this is asked (4.1). */
  readonly isAdmitted: () => boolean | Promise<boolean>
}

/** Makes a Principal of a request’s token, or throws. */
export interface Authenticator {
  /** DPoP Session Tokens: everywhere but MCP. */
  readonly withProof: (request: Request, need?: Need) => Promise<Principal>
  /** The same, with the thumbprint of the key that signed the proof: for an endpoint that gives tokens (4.7). */
  readonly withKey: (request: Request) => Promise<TokenHolder & { readonly thumbprint: string }>
  /** The same, with what the token says beside it: for what is done later in its name (7.11), and for as long as it is valid. */
  readonly withEpoch: (request: Request, need?: Need) => Promise<TokenHolder>
  /** Bearer Session Tokens: one MCP server, which is named. */
  readonly withBearer: (request: Request, resource: string) => Promise<TokenHolder>
}

function refuse(reason: string): PoppyError {
  return new PoppyError('invalid_token', { description: 'The Session Token is not valid.', reason })
}

/**
 * Makes the two checks of 4.3. Both throw PoppyError: `invalid_token`, and with proofs `invalid_dpop_proof` and
 * `use_dpop_nonce`.
 */
export function createAuthenticator(settings: AuthenticatorSettings): Authenticator {
  const { tokens, now, requestLimits } = settings
  const holderOf = (principal: Principal, { epoch, expiresAt, ownMcpFlow }: SessionToken): TokenHolder => ({
    principal,
    epoch,
    expiresAt,
    ownMcpFlow,
    isAdmitted: () => settings.admission.admits(principal.clientId),
  })

  function open(request: Request, scheme: 'dpop' | 'bearer'): { token: SessionToken; hash: string } {
    // 4.3: never from a URL, not even beside a good header
    if (request.url.includes('?') && new URL(request.url).searchParams.has('access_token')) {
      throw refuse('token in the URL')
    }
    const header = parseAuthorization(request.headers.get('authorization'))
    if (header === null) throw refuse('no Authorization header')
    if (header === 'malformed') throw refuse('malformed Authorization header')
    if (header.scheme !== scheme) throw refuse('wrong scheme')
    const hash = sha256(header.token)
    const token = tokens.open(header.token, hash)
    if (token === null || token.company !== settings.company) throw refuse('not one of our tokens')
    if (token.expiresAt * 1000 <= now()) throw refuse('expired')
    return { token, hash }
  }

  /** Who shows no token of ours counts by address, and by nothing else that the request says. */
  function identify(request: Request, scheme: 'dpop' | 'bearer'): { token: SessionToken; hash: string } {
    try {
      return open(request, scheme)
    } catch (error) {
      if (request.headers.has('authorization')) requestLimits.countFailure(request)
      else requestLimits.countAnonymous(request)
      throw error
    }
  }

  /**
   * 4.3: rate limits. Who has no request left is refused before anything dear is done, and with nothing spent. Whoever
   * has one is counted when `authenticate` says so, and not after all when it then fails: a proof that somebody else uses
   * again takes nothing from the Session.
   */
  async function counted(
    request: Request,
    token: SessionToken,
    authenticate: (count: () => void) => Promise<Principal>,
  ): Promise<Principal> {
    requestLimits.checkFailures(request, token.sessionId)
    requestLimits.checkCaller(token)
    const undo: Undo[] = []
    try {
      return await authenticate(() => void undo.push(requestLimits.countCaller(token)))
    } catch (error) {
      for (const one of undo) one()
      if (isFailure(error)) requestLimits.countFailure(request, token.sessionId)
      throw error
    }
  }

  async function proved(request: Request, need: Need = {}): Promise<TokenHolder & { readonly thumbprint: string }> {
    const { token, hash } = identify(request, 'dpop')
    let thumbprint = ''
    const principal = await counted(request, token, async (count) => {
      if (token.keyThumbprint === undefined) throw refuse('a Bearer token where proofs are required')
      const resources = need.resources ?? []
      const isForIt = token.resource === undefined ? need.isNarrow !== true : resources.includes(token.resource)
      if (!isForIt) throw refuse('issued for another service')
      const proof = await checkProof(request.headers.get('dpop'), {
        method: request.method,
        url: settings.askedFor(request, need.origin),
        now: now() / 1000,
        window: settings.proofWindow,
        skew: settings.proofSkew,
        tokenHash: hash,
        boundTo: token.keyThumbprint,
        importKey: settings.importKey,
        ...(settings.nonces ? { acceptsNonce: settings.nonces.accepts } : {}),
      })
      if (!(await settings.admission.admits(token.clientId))) throw refuse('client not admitted')
      // The key is the token's own, and nothing is claimed yet: a retry may bring the same proof.
      count()
      const scope = await settings.scope()
      // 4.3: a proof whose mark may have been lost could be a replay
      if ((proof.issuedAt - settings.proofSkew) * 1000 < scope.db.marksCompleteSince)
        throw new PoppyError('invalid_dpop_proof', {
          description: 'The DPoP proof was not accepted.',
          reason: 'made before replay marks are complete',
        })
      const admitted = await admitProof(scope, {
        sessionId: token.sessionId,
        thumbprint: proof.thumbprint,
        proofId: proof.id,
        passesUntil: Math.ceil(proof.passesUntil * 1000),
        now: now(),
        idle: settings.limits.idle,
      })
      if (admitted.replayed)
        throw new PoppyError('invalid_dpop_proof', {
          description: 'The DPoP proof was not accepted.',
          reason: 'used before',
        })
      noteCaller(request, token)
      thumbprint = proof.thumbprint
      return principalOf(token, admitted.session, settings.limits, now())
    })
    return { ...holderOf(principal, token), thumbprint }
  }

  return {
    withProof: async (request, need) => (await proved(request, need)).principal,
    withKey: (request) => proved(request),
    withEpoch: (request, need) => proved(request, need),
    async withBearer(request, resource) {
      const { token } = identify(request, 'bearer')
      const bearer = await counted(request, token, async (count) => {
        if (token.keyThumbprint !== undefined) throw refuse('a DPoP token sent as Bearer')
        if (token.resource !== resource) throw refuse('issued for another MCP server')
        if (!(await settings.admission.admits(token.clientId))) throw refuse('client not admitted')
        count()
        noteCaller(request, token)
        const session = await readSession(await settings.scope(), {
          sessionId: token.sessionId,
          now: now(),
          idle: settings.limits.idle,
        })
        const principal = principalOf(token, session, settings.limits, now())
        // 4.9: such a client knows only `invalid_token` as a reason to get another one or to sign in again
        if (token.ownMcpFlow && principal.account === null) throw refuse('signed out')
        return principal
      })
      return holderOf(bearer, token)
    },
  }
}

/** Whether something that was shown was wrong. A nonce that has to be asked for is the way it goes. */
function isFailure(error: unknown): boolean {
  return error instanceof PoppyError && errorRow(error.code).status === 401 && error.code !== 'use_dpop_nonce'
}

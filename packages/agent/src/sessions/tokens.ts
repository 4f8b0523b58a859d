import {
  base64url,
  coversScopes,
  grantTypes,
  makeSessionAssertion,
  type OAuthMetadata,
  parseScope,
  type TokenResponse,
  type VersionCodec,
} from '@poppyseed/protocol'
import type { AgentContext } from '../context.ts'
import { AgentError } from '../errors.ts'
import type { ProofKeys } from '../identity/keys.ts'
import { withoutSecretsInside } from '../net/text.ts'
import { Secret } from '../secret.ts'
import {
  type AccountRecord,
  emptySession,
  type Records,
  recordsOf,
  type SessionPlace,
  type SessionRecord,
  type TokenRecord,
  type UserAtCompany,
} from './records.ts'
import { forgetRetired, retire, retiredTokens, revokeRetiredThere } from './retired.ts'
import { type OAuthFailure, refusal, refusedAccount, requestToken, type TokenAnswer } from './token-endpoint.ts'

/** Session Tokens: kept, renewed, and asked for in the way that the Session's state wants (4.2, 4.3, 4.8). */

/** Which token: DPoP for everything but MCP, or Bearer for one MCP server; `resource` where the service has its own. */
export interface TokenWanted {
  readonly kind: 'dpop' | 'bearer'
  readonly resource: string | undefined
}

/** A Session Token in hand. */
export interface HeldToken {
  readonly token: Secret
  readonly scopes: readonly string[]
  readonly signedIn: boolean
  /** Whether the Company gave it while it was asked for here: what it says of the Session is not older than the question. */
  readonly isNew: boolean
}

/** A Session that was signed in (4.4). */
export interface SignedIn {
  readonly scopes: readonly string[]
  /** Whether another Account Token was held before: it is on the list of those to revoke. */
  readonly hasReplaced: boolean
  /** Whether the Session was another account's, so that a new one took the sign-in (4.4). */
  readonly wasOther?: boolean
  readonly failure?: undefined
}

/** Asks for what signs a Session in. */
export type SignInAttempt = (session: {
  readonly sessionId: string
  readonly proofKeys: ProofKeys
}) => Promise<TokenAnswer>

/** Where tokens are asked for, as discovery says now. */
export interface TokenSource {
  readonly server: OAuthMetadata
  readonly codec: VersionCodec
  readonly name: string
}

/** A Session's tokens. */
export interface SessionTokens {
  readonly place: SessionPlace
  readonly records: Records
  /**
   * A token that can be used now; renewed first when it is old.
   * @param stale a token that the Company refused: never given again
   */
  readonly get: (wanted: TokenWanted, stale?: Secret) => Promise<HeldToken>
  /**
   * 4.8: signs the Session in with the Account Token that is held; false when there is none, or when it doesn't.
   * @returns the Account Token that did, as it is from then on; true where another call had done it already
   */
  readonly useAccountToken: (wanted: TokenWanted, stale?: Secret) => Promise<Secret | boolean>
  /**
   * 4.8, 4.9: asks the Company whether the Account Token that is held still signs in, and what it covers now; false without
   * one. Who else asks in that moment has the same answer by the same request.
   */
  readonly confirmAccount: () => Promise<boolean>
  /**
   * 4.5: has there be a Session with a token, without the Account Token: for a sign-in where that can't be used. Where the Company
   * renews the Session by the Account Token alone, it is a new one.
   */
  readonly startWithoutAccount: () => Promise<void>
  /** 4.5: exchanges a code; the Session is signed in and the Account Token kept. */
  readonly exchangeCode: (
    source: TokenSource,
    code: { readonly code: string; readonly redirectUri: string; readonly verifier: string },
  ) => Promise<SignedIn>
  /**
   * Asks once for what signs the Session in (4.6, 4.7) and keeps what comes. A Session that has ended, or that is another
   * account's (4.4), is put aside: the next attempt gets a new one.
   * @param ask sends the request for the Session that it is given; called while no other token request of the User runs
   * @returns what was granted, or what the Company said instead
   */
  readonly signIn: (source: TokenSource, ask: SignInAttempt) => Promise<SignedIn | { readonly failure: OAuthFailure }>
  /**
   * Puts the Session aside and starts a new one, signed out whatever Account Token is held: it takes a sign-in that may be
   * another account's (4.4).
   */
  readonly startAnew: () => Promise<void>
  readonly user: () => Promise<UserAtCompany>
  /** The Session's own tokens, for taking them out of what a Company says. */
  readonly secrets: () => Promise<readonly string[]>
  /** Takes the Session's own tokens out of a text, or every text in a value: a Company's echo must not carry them on. */
  readonly redact: <T>(value: T) => Promise<T>
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>
}

/** Gets tokens for one Session and keeps them: started, renewed and refreshed, one request at a time (4.2, 4.8). */
export function createSessionTokens(
  context: AgentContext,
  place: SessionPlace,
  findSource: () => Promise<TokenSource>,
  user: () => Promise<UserAtCompany>,
): SessionTokens {
  const records = recordsOf(context, place)
  // One at a time per User and Company: an Account Token that rotates must not be used twice at once.
  const alone = <T>(work: () => Promise<T>) => context.alone(JSON.stringify([place.userKey, place.issuer]), work)
  const fresh = (session: SessionRecord, wanted: TokenWanted, stale?: Secret) => {
    const held = session.tokens.find((token) => isFor(token, wanted))
    if (!held || held.token === stale?.reveal()) return undefined
    // Renewed a little early, so that it doesn't expire on the way.
    const margin = Math.min(30_000, held.lifetime / 10)
    if (context.now() >= held.expiresAt - margin) return undefined
    return { token: new Secret(held.token), scopes: held.scopes, signedIn: session.signedIn, isNew: false }
  }

  /** Asks for a token until there is one; each turn takes away one reason for the next. */
  const obtain = async (wanted: TokenWanted, signIn: boolean): Promise<HeldToken> => {
    const source = await findSource()
    const session = await records.session()
    let { sessionId } = session
    let account = await heldAccount()
    let useAccount = account !== undefined && (sessionId === null || session.signedIn || signIn)
    for (let turn = 0; turn < 5; turn++) {
      const answer =
        useAccount && account
          ? await refresh(source, account, sessionId, wanted)
          : await startOrRenew(source, sessionId, wanted)
      if (answer.response) return keep(answer.response, wanted, source, account)
      const { error } = answer.failure
      if (sessionId !== null && (error === 'invalid_session' || error === 'account_mismatch')) {
        // 4.2, 4.4: the Session has ended or belongs to another account: a new one
        sessionId = null
      } else if (error === 'invalid_grant' && useAccount && account) {
        const used = account.token
        account = await heldAccount()
        if (account === undefined || account.token === used) {
          // 4.8: the Account Token has ended, and the Session goes on signed out
          await records.saveAccount(undefined, used)
          account = undefined
          useAccount = false
        }
      } else if (error === 'invalid_grant' && account && !useAccount && sessionId !== null) {
        // Some Companies renew a signed-in Session by the Account Token alone.
        useAccount = true
      } else {
        throw useAccount && account
          ? refusedAccount(source.name, answer.failure, account.scopes)
          : refusal(source.name, answer.failure)
      }
    }
    throw new AgentError('request_refused', `${source.name} gave no Session Token.`)
  }

  const heldAccount = async (): Promise<AccountRecord | undefined> => {
    const account = await records.account()
    if (account && account.expiresAt !== null && context.now() >= account.expiresAt) {
      await records.saveAccount(undefined, account.token)
      return undefined
    }
    return account
  }

  const startOrRenew = async (source: TokenSource, sessionId: string | null, wanted: TokenWanted) => {
    const { userId, proofKeys } = await user()
    return requestToken(context, source.server, {
      proofKeys: wanted.kind === 'dpop' ? proofKeys : undefined,
      parameters: async () =>
        source.codec.sessionParameters({
          assertion: await makeSessionAssertion(await context.identity.signingKey(), {
            clientId: context.identity.clientId,
            userId,
            tokenEndpoint: source.server.token_endpoint,
            now: context.clocks.at(source.server.issuer, source.server.token_endpoint) / 1000,
            id: base64url(context.random(16)),
          }),
          ...(sessionId === null ? {} : { sessionId }),
          ...(wanted.resource === undefined ? {} : { resource: wanted.resource }),
        }),
    })
  }

  const refresh = async (
    source: TokenSource,
    account: AccountRecord,
    sessionId: string | null,
    wanted: TokenWanted,
  ) => {
    const { proofKeys } = await user()
    return requestToken(context, source.server, {
      proofKeys: wanted.kind === 'dpop' ? proofKeys : undefined,
      // No scope: the Company knows what the person approved, which may be less than was once asked for.
      parameters: async () => ({
        grant_type: grantTypes.refreshToken,
        refresh_token: account.token,
        ...(sessionId === null ? {} : { session_id: sessionId }),
        ...(wanted.resource === undefined ? {} : { resource: wanted.resource }),
      }),
    })
  }

  const keep = async (
    response: TokenResponse,
    wanted: TokenWanted,
    source: TokenSource,
    account: AccountRecord | undefined,
  ): Promise<HeldToken> => {
    const scopes = scopesOf(response)
    if (account && response.signed_in) {
      // 4.8: a new Account Token is used from now on. First of all: the old one may be dead already.
      const token = response.refresh_token ?? account.token
      const expiresAt = accountExpiry(response) ?? (response.refresh_token === undefined ? account.expiresAt : null)
      await records.saveAccount({ token, scopes: [...scopes], expiresAt }, account.token)
      // 4.8: revoked, the old one might take its successor with it
      if (token !== account.token) await forgetRetired(context, place, account.token)
    }
    checkTokenType(response, wanted, source.name)
    const token: TokenRecord = {
      kind: wanted.kind,
      resource: wanted.resource ?? null,
      token: response.access_token,
      scopes: [...scopes],
      expiresAt: context.now() + milliseconds(response.expires_in),
      lifetime: milliseconds(response.expires_in),
    }
    await records.saveSession((before) => ({
      sessionId: response.session_id,
      signedIn: response.signed_in,
      tokens: [
        // 4.3: the new token is used from now on; tokens of another Session, or of another state of it, are not
        ...(before.sessionId === response.session_id && before.signedIn === response.signed_in
          ? before.tokens.filter((other) => !isFor(other, wanted) && context.now() < other.expiresAt).slice(-maxTokens)
          : []),
        token,
      ],
      declined: before.sessionId === response.session_id ? before.declined : [],
    }))
    return { token: new Secret(token.token), scopes, signedIn: response.signed_in, isNew: true }
  }

  const accountExpiry = (response: TokenResponse): number | undefined =>
    response.refresh_token_expires_in === undefined
      ? undefined
      : context.now() + milliseconds(response.refresh_token_expires_in)

  const secrets = async () => {
    const [session, account] = [await records.session(), await records.account()]
    const retired = await retiredTokens(context, place)
    return [...session.tokens.map(({ token }) => token), ...(account ? [account.token] : []), ...retired]
  }

  const useAccountToken: SessionTokens['useAccountToken'] = (wanted, stale) =>
    alone(async () => {
      if (!(await heldAccount())) return false
      const session = await records.session()
      // Another call of this Session may have done it while this one waited.
      if (session.signedIn && fresh(session, wanted, stale)) return true
      if (!(await obtain(wanted, true)).signedIn) return false
      const account = await records.account()
      return account === undefined || new Secret(account.token)
    })

  return {
    place,
    records,
    user,
    alone,
    secrets,
    redact: async (value) => withoutSecretsInside(value, await secrets()),
    get: async (wanted, stale) => {
      const held = fresh(await records.session(), wanted, stale)
      if (held) return held
      const token = await alone(
        async () => fresh(await records.session(), wanted, stale) ?? (await obtain(wanted, false)),
      )
      // 4.4: what could not be revoked before is tried again where the Company is talked to anyway
      await revokeRetiredThere(context, (await findSource()).server, place)
      return token
    },
    useAccountToken,
    confirmAccount: async () => {
      const wanted: TokenWanted = { kind: 'dpop', resource: undefined }
      // Whatever is held now is from before the question, so it is no answer to it.
      const before = (await records.session()).tokens.find((token) => isFor(token, wanted))
      return (await useAccountToken(wanted, before && new Secret(before.token))) !== false
    },
    startWithoutAccount: () =>
      alone(async () => {
        const wanted: TokenWanted = { kind: 'dpop', resource: undefined }
        const session = await records.session()
        if (fresh(session, wanted)) return
        const source = await findSource()
        let answer = await startOrRenew(source, session.sessionId, wanted)
        if (session.sessionId !== null && (isOfSession(answer.failure) || answer.failure?.error === 'invalid_grant'))
          answer = await startOrRenew(source, null, wanted)
        if (answer.failure) throw refusal(source.name, answer.failure)
        await keep(answer.response, wanted, source, undefined)
      }),
    exchangeCode: (source, { code, redirectUri, verifier }) =>
      alone(async () => {
        const exchangeOnce: SignInAttempt = ({ sessionId, proofKeys }) =>
          requestToken(context, source.server, {
            proofKeys,
            parameters: async () => ({
              grant_type: grantTypes.authorizationCode,
              code,
              redirect_uri: redirectUri,
              code_verifier: verifier,
              session_id: sessionId,
            }),
          })
        const exchange: SignInAttempt = async (session) => {
          try {
            return await exchangeOnce(session)
          } catch (error) {
            if (!(error instanceof AgentError) || error.code !== 'unreachable') throw error
            // The request may have been lost, or the answer. Asked once more the Company gives what the code is for, or
            // takes back what it gave with it (RFC 6749, 4.1.2), so that nobody's access is left lying about.
            return exchangeOnce(session)
          }
        }
        let end = await attempt(source, exchange)
        const wasOther = end.failure?.error === 'account_mismatch'
        // 4.4: the Session has ended, or it was signed in to another account: a new one takes the sign-in
        if (isOfSession(end.failure)) end = await attempt(source, exchange)
        if (end.failure) {
          throw new AgentError(
            'sign_in_failed',
            `${source.name} did not complete the sign-in (${end.failure.error}).`,
            {
              companyCode: end.failure.error,
              status: end.failure.status,
            },
          )
        }
        return { ...end, wasOther }
      }),
    signIn: (source, ask) => alone(() => attempt(source, ask)),
    startAnew: () =>
      alone(async () => {
        await sessionIdOf(await records.saveSession(() => emptySession))
      }),
  }

  /** One attempt to sign in. Called while this place is held alone. */
  async function attempt(
    source: TokenSource,
    ask: SignInAttempt,
  ): Promise<SignedIn | { readonly failure: OAuthFailure }> {
    const { proofKeys } = await user()
    const before = await records.account()
    const { response, failure } = await ask({ sessionId: await sessionIdOf(await records.session()), proofKeys })
    if (failure) {
      if (isOfSession(failure)) await records.saveSession(() => emptySession)
      return { failure }
    }
    const wanted: TokenWanted = { kind: 'dpop', resource: undefined }
    const token = response.refresh_token
    const expiresAt = accountExpiry(response) ?? null
    if (token === undefined || !response.signed_in || !isTokenType(response, wanted)) {
      // What it gave all the same is nobody's now.
      if (token !== undefined && token !== before?.token) await retire(context, place, { token, expiresAt })
      checkTokenType(response, wanted, source.name)
      throw new AgentError('bad_answer', `${source.name} completed the sign-in without signing the Session in.`)
    }
    const scopes = scopesOf(response)
    const hasReplaced = before !== undefined && before.token !== token
    // 4.4: first of all, so that the old one can be revoked whatever happens from here on
    if (hasReplaced) await retire(context, place, before)
    await records.saveAccount({ token, scopes: [...scopes], expiresAt })
    // Tokens from before the sign-in stay signed out (4.4), so none of them is kept.
    await records.saveSession(({ declined }) => ({
      sessionId: response.session_id,
      signedIn: true,
      tokens: [],
      declined: declined.filter((one) => !coversScopes(scopes, one)),
    }))
    await keep(response, wanted, source, undefined)
    return { scopes, hasReplaced }
  }

  /** A code is exchanged for a Session that exists (4.5). Called while this place is held alone. */
  async function sessionIdOf(session: SessionRecord): Promise<string> {
    if (session.sessionId !== null) return session.sessionId
    const source = await findSource()
    const wanted: TokenWanted = { kind: 'dpop', resource: undefined }
    const answer = await startOrRenew(source, null, wanted)
    if (answer.failure) throw refusal(source.name, answer.failure)
    await keep(answer.response, wanted, source, undefined)
    return answer.response.session_id
  }
}

function isOfSession(failure: OAuthFailure | undefined): boolean {
  return failure?.error === 'invalid_session' || failure?.error === 'account_mismatch'
}

/** What was granted. Scopes are shown to people and models, so a token can't pass for one. */
function scopesOf({ scope, access_token, refresh_token }: TokenResponse): readonly string[] {
  return (parseScope(scope) ?? []).filter(
    (one) => !one.includes(access_token) && (refresh_token === undefined || !one.includes(refresh_token)),
  )
}

/** A lifetime in seconds, as far as a date goes: a Company may say any number. */
function milliseconds(seconds: number): number {
  return Math.min(seconds, 1e9) * 1000
}

/** As many tokens of one Session are kept beside the newest. */
const maxTokens = 50

function isFor(token: TokenRecord, wanted: TokenWanted): boolean {
  return token.kind === wanted.kind && token.resource === (wanted.resource ?? null)
}

function isTokenType(response: TokenResponse, wanted: TokenWanted): boolean {
  return response.token_type.toLowerCase() === wanted.kind
}

/**
 * 4.2, 4.3: `DPoP` in any letter case after a proof, `Bearer` without one. Anything else is a token that would travel
 * unprotected, so it is never sent.
 */
function checkTokenType(response: TokenResponse, wanted: TokenWanted, company: string): void {
  if (isTokenType(response, wanted)) return
  throw new AgentError(
    'bad_answer',
    wanted.kind === 'dpop'
      ? `${company} answered a proof with a token that is not bound to it, so the token was not used.`
      : `${company} did not give a Bearer token for its MCP server.`,
  )
}

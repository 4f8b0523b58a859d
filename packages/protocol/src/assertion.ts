import type { CryptoKey } from 'jose'
import { SignJWT } from 'jose/jwt/sign'
import { PoppyError } from './errors.ts'
import { hasValidSignature, type PublicKey, readJwt, readText, readTime, type UnverifiedJwt } from './jwt.ts'

/**
 * Client assertions (4.1, RFC 7523), Session assertions (4.2) and browser assertions (5). Pure: time and keys are
 * handed in.
 */

/** The value of `client_assertion_type` (4.1, RFC 7523). */
export const clientAssertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/**
 * Finds the keys of the client that may have signed: those of the `kid`, or all that fit when there is none. Asked `again`
 * when none of them had made the signature: the client may have changed its keys since they were fetched, also under the
 * same name.
 */
export type KeyFinder = (jwt: UnverifiedJwt, again: boolean) => Promise<readonly PublicKey[]>

/** What either kind of assertion is checked against. */
export interface AssertionExpectation {
  readonly clientId: string
  /** Unix time in seconds. */
  readonly now: number
  /** Seconds by which the clocks may differ. */
  readonly skew: number
  /** The longest `exp - iat` (and `exp - now`) taken, in seconds. */
  readonly maxLifetime: number
  readonly findKeys: KeyFinder
}

/** An assertion that passed everything but the replay check, which needs a store. */
export interface CheckedAssertion {
  readonly id: string
  /** Seconds, whole: from then on the assertion can't pass any more, skew included, so its id is remembered until then. */
  readonly passesUntil: number
}

/**
 * Checks a client assertion (4.1). `aud` may be any of `audiences` as a string, or an array that names nobody else.
 * @throws PoppyError `invalid_client`
 */
export async function checkClientAssertion(
  assertion: string,
  expected: AssertionExpectation & { readonly audiences: readonly string[] },
): Promise<CheckedAssertion> {
  const refuse = (reason: string) =>
    new PoppyError('invalid_client', { description: 'The client assertion was not accepted.', reason })
  const jwt = readJwt(assertion)
  if (typeof jwt === 'string') throw refuse(jwt)
  if (jwt.type !== undefined && jwt.type !== 'jwt' && jwt.type !== 'client-authentication+jwt')
    throw refuse('wrong typ')
  if (jwt.payload.sub !== expected.clientId) throw refuse('sub is not the client_id')
  const { aud } = jwt.payload
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (named.length === 0 || !named.every((one) => typeof one === 'string' && expected.audiences.includes(one))) {
    throw refuse('aud names somebody else')
  }
  return check(jwt, expected, refuse)
}

/** A Session assertion that passed, with the User it names. */
export interface CheckedSessionAssertion extends CheckedAssertion {
  /** `sub`: the User ID that the Personal Agent gave its User for this Company. */
  readonly userId: string
}

/**
 * Checks a Session assertion (4.2). `aud` is the token endpoint, one exact string.
 * @throws PoppyError `invalid_grant`
 */
export async function checkSessionAssertion(
  assertion: string,
  expected: AssertionExpectation & { readonly tokenEndpoint: string },
): Promise<CheckedSessionAssertion> {
  const refuse = (reason: string) =>
    new PoppyError('invalid_grant', { description: 'The Session assertion was not accepted.', reason })
  const jwt = readJwt(assertion)
  if (typeof jwt === 'string') throw refuse(jwt)
  // 5: a browser assertion isn't accepted here; nor is anything else that names another purpose
  if (jwt.type !== undefined && jwt.type !== 'jwt') throw refuse('wrong typ')
  if (jwt.payload.aud !== expected.tokenEndpoint) throw refuse('aud is not the token endpoint')
  const userId = readText(jwt.payload, 'sub', 255)
  if (userId === undefined) throw refuse('sub missing')
  // A client assertion has the same iss and aud: one that was copied must not open a Session
  if (userId === expected.clientId) throw refuse('sub is the client, not a User')
  if (readTime(jwt.payload, 'iat') === undefined) throw refuse('iat missing')
  return { userId, ...(await check(jwt, expected, refuse)) }
}

/** `typ` of a browser assertion (5). */
const browserAssertionType = 'poppy-browser+jwt'

/** Seconds that a browser assertion may live at most (5). */
const browserAssertionLifetime = 60

/** What a browser assertion says, once it passed (5). */
export interface CheckedBrowserAssertion extends CheckedAssertion {
  readonly clientId: string
  readonly userId: string
  readonly sessionId: string
  /** As it was sent: whether it is an address of the Company's is for the Company to say. */
  readonly returnTo: string
}

/**
 * Checks a browser assertion (5). Who signed it is what its `iss` says, so the keys are looked for by that name.
 * @throws PoppyError `invalid_request`; whatever `findClient` throws for a client that isn't accepted
 */
export async function checkBrowserAssertion(
  assertion: string,
  expected: Pick<AssertionExpectation, 'now' | 'skew'> & {
    /** The Company's `web.browser_session_endpoint`, one exact string. */
    readonly endpoint: string
    readonly findClient: (clientId: string) => Promise<{ readonly findKeys: KeyFinder }>
  },
): Promise<CheckedBrowserAssertion> {
  const refuse = (reason: string) =>
    new PoppyError('invalid_request', { description: 'The browser assertion was not accepted.', reason })
  const jwt = readJwt(assertion)
  if (typeof jwt === 'string') throw refuse(jwt)
  // 5: a Session assertion isn't accepted here
  if (jwt.type !== browserAssertionType) throw refuse('wrong typ')
  const { payload } = jwt
  if (payload.aud !== expected.endpoint) throw refuse('aud is not the endpoint')
  const clientId = readText(payload, 'iss', 2048)
  if (clientId === undefined) throw refuse('iss missing')
  const userId = readText(payload, 'sub', 255)
  if (userId === undefined) throw refuse('sub missing')
  const sessionId = readText(payload, 'session_id', 255)
  if (sessionId === undefined) throw refuse('session_id missing')
  const returnTo = readText(payload, 'return_to', 2048)
  if (returnTo === undefined) throw refuse('return_to missing')
  if (readTime(payload, 'iat') === undefined) throw refuse('iat missing')
  if (readTime(payload, 'exp') === undefined) throw refuse('exp missing')
  const { findKeys } = await expected.findClient(clientId)
  const { now, skew } = expected
  const passed = await check(jwt, { clientId, now, skew, maxLifetime: browserAssertionLifetime, findKeys }, refuse)
  return { clientId, userId, sessionId, returnTo, ...passed }
}

async function check(
  jwt: UnverifiedJwt,
  expected: AssertionExpectation,
  refuse: (reason: string) => PoppyError,
): Promise<CheckedAssertion> {
  const { payload } = jwt
  if (payload.iss !== expected.clientId) throw refuse('iss is not the client_id')
  const id = readText(payload, 'jti')
  if (id === undefined) throw refuse('jti missing')
  const expires = readTime(payload, 'exp')
  if (expires === undefined) throw refuse('exp missing')
  const issued = payload.iat === undefined ? undefined : readTime(payload, 'iat')
  if (payload.iat !== undefined && issued === undefined) throw refuse('iat is not a time')
  const { now, skew, maxLifetime } = expected
  if (expires <= now - skew) throw refuse('expired')
  if (issued !== undefined && issued > now + skew) throw refuse('iat in the future')
  if (expires > now + skew + maxLifetime || (issued !== undefined && expires - issued > maxLifetime))
    throw refuse('lives too long')
  if (issued !== undefined && expires <= issued) throw refuse('exp before iat')
  const notBefore = payload.nbf === undefined ? undefined : (readTime(payload, 'nbf') ?? Number.POSITIVE_INFINITY)
  if (notBefore !== undefined && notBefore > now + skew) throw refuse('nbf in the future')

  for (const again of [false, true]) {
    for (const key of await expected.findKeys(jwt, again)) {
      if (await hasValidSignature(jwt, key)) return { id, passesUntil: Math.ceil(expires + skew) }
    }
  }
  throw refuse('no key of the client made this signature')
}

/** The Personal Agent's signing key: one of those that its `jwks_uri` publishes. */
export interface SigningKey {
  readonly keyId: string
  readonly algorithm: 'ES256'
  readonly privateKey: CryptoKey
}

/** Makes a client assertion (4.1) that lives for one minute. */
export function makeClientAssertion(
  key: SigningKey,
  claims: { readonly clientId: string; readonly audience: string; readonly now: number; readonly id: string },
): Promise<string> {
  return sign(key, { iss: claims.clientId, sub: claims.clientId, aud: claims.audience, jti: claims.id }, claims.now)
}

/** Makes a Session assertion (4.2) that lives for one minute. */
export function makeSessionAssertion(
  key: SigningKey,
  claims: {
    readonly clientId: string
    readonly userId: string
    readonly tokenEndpoint: string
    readonly now: number
    readonly id: string
  },
): Promise<string> {
  return sign(key, { iss: claims.clientId, sub: claims.userId, aud: claims.tokenEndpoint, jti: claims.id }, claims.now)
}

/** Makes a browser assertion (5) that lives for one minute. It goes into the body of a form POST, never into a URL. */
export function makeBrowserAssertion(
  key: SigningKey,
  claims: {
    readonly clientId: string
    readonly userId: string
    /** The Company's `web.browser_session_endpoint`. */
    readonly endpoint: string
    readonly sessionId: string
    /** The page to open: HTTPS on `organization.domain` or a subdomain of it. */
    readonly returnTo: string
    readonly now: number
    readonly id: string
  },
): Promise<string> {
  const payload = {
    iss: claims.clientId,
    sub: claims.userId,
    aud: claims.endpoint,
    session_id: claims.sessionId,
    return_to: claims.returnTo,
    jti: claims.id,
  }
  return sign(key, payload, claims.now, browserAssertionType)
}

function sign(key: SigningKey, payload: Record<string, unknown>, now: number, type = 'JWT'): Promise<string> {
  const issued = Math.floor(now)
  return new SignJWT({ ...payload, iat: issued, exp: issued + 60 })
    .setProtectedHeader({ alg: key.algorithm, kid: key.keyId, typ: type })
    .sign(key.privateKey)
}

import { createHash, randomBytes } from 'node:crypto'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

/** A Personal Agent at the level of the wire: every claim and header can be bent. Uses jose and nothing of ours. */

export interface KeyPair {
  readonly privateKey: CryptoKey
  readonly publicJwk: JWK
}

export async function makeKeys(alg = 'ES256'): Promise<KeyPair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { privateKey, publicJwk: await exportJWK(publicKey) }
}

export const id = () => randomBytes(16).toString('base64url')
export const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url')

/** Claims and header members laid over the right ones; `undefined` takes one away. */
export interface Bend {
  readonly claims?: Record<string, unknown>
  readonly header?: Record<string, unknown>
  readonly key?: CryptoKey
}

export interface WireAgentOptions {
  readonly clientId: string
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly origin: string
  readonly send: (request: Request) => Promise<Response>
}

/** What a form post has beside its parameters; a null proof sends none. */
export interface PostExtra {
  readonly proof?: string | null
  readonly headers?: Record<string, string>
}

export type WireAgent = Awaited<ReturnType<typeof makeWireAgent>>

const without = (value: Record<string, unknown>) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>

export async function makeWireAgent(options: WireAgentOptions) {
  const { clientId, now, origin, send } = options
  const signing = await makeKeys()
  const keyId = id()
  const dpop = await makeKeys()
  const jwk = { ...signing.publicJwk, kid: keyId, alg: 'ES256', use: 'sig' }
  const base = new URL(clientId)
  const redirectUri = `${base.origin}/oauth/callback`
  const documents: Record<string, unknown> = {
    [clientId]: {
      client_id: clientId,
      client_name: 'Example Agent',
      jwks_uri: `${base.origin}/jwks.json`,
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'private_key_jwt',
    },
    [`${base.origin}/jwks.json`]: { keys: [jwk] },
  }
  const seconds = () => Math.floor(now() / 1000)
  const tokenUrl = `${origin}/poppy/token`

  async function sign(payload: Record<string, unknown>, bend: Bend, header: Record<string, unknown>, key: CryptoKey) {
    const full = without({ ...header, ...bend.header }) as { alg: string }
    return new SignJWT(without({ ...payload, ...bend.claims })).setProtectedHeader(full).sign(bend.key ?? key)
  }

  const agent = {
    clientId,
    redirectUri,
    documents,
    signing,
    dpop,
    keyId,
    tokenUrl,
    userId: `usr_${id()}`,
    clientAssertion: (bend: Bend = {}) =>
      sign(
        { iss: clientId, sub: clientId, aud: tokenUrl, jti: id(), iat: seconds(), exp: seconds() + 60 },
        bend,
        { alg: 'ES256', kid: keyId },
        signing.privateKey,
      ),
    sessionAssertion: (bend: Bend = {}) =>
      sign(
        { iss: clientId, sub: agent.userId, aud: tokenUrl, jti: id(), iat: seconds(), exp: seconds() + 60 },
        bend,
        { alg: 'ES256', kid: keyId },
        signing.privateKey,
      ),
    browserAssertion: (sessionId: string, returnTo: string, bend: Bend = {}) =>
      sign(
        {
          iss: clientId,
          sub: agent.userId,
          aud: `${origin}/poppy/browser-session`,
          session_id: sessionId,
          return_to: returnTo,
          jti: id(),
          iat: seconds(),
          exp: seconds() + 60,
        },
        bend,
        { typ: 'poppy-browser+jwt', alg: 'ES256', kid: keyId },
        signing.privateKey,
      ),
    proof: (method: string, url: string, token?: string, bend: Bend = {}) =>
      sign(
        { jti: id(), htm: method, htu: url, iat: seconds(), ...(token === undefined ? {} : { ath: sha256(token) }) },
        bend,
        { typ: 'dpop+jwt', alg: 'ES256', jwk: dpop.publicJwk },
        dpop.privateKey,
      ),
    /** Posts a form; a null proof sends none, a null parameter leaves one out. */
    async post(url: string, parameters: Record<string, string | null>, extra: PostExtra = {}): Promise<Response> {
      const body = new URLSearchParams({
        client_id: clientId,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await agent.clientAssertion(),
      })
      for (const [name, value] of Object.entries(parameters)) value === null ? body.delete(name) : body.set(name, value)
      const proof = extra.proof === undefined ? await agent.proof('POST', url) : extra.proof
      return send(
        new Request(url, {
          method: 'POST',
          body,
          headers: { ...(proof === null ? {} : { dpop: proof }), ...extra.headers },
        }),
      )
    },
    token: (parameters: Record<string, string | null>, extra: PostExtra = {}) =>
      agent.post(tokenUrl, parameters, extra),
    async startSession(parameters: Record<string, string | null> = {}, extra: PostExtra = {}) {
      return agent.token(
        {
          grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
          assertion: await agent.sessionAssertion(),
          ...parameters,
        },
        extra,
      )
    },
    /** Sends a request with a Session Token and a fresh proof. */
    async call(
      path: string,
      token: string,
      init: {
        readonly method?: string
        readonly body?: unknown
        readonly proof?: string
        readonly headers?: Record<string, string>
      } = {},
    ): Promise<Response> {
      const url = new URL(path, origin)
      const method = init.method ?? 'POST'
      const proof = init.proof ?? (await agent.proof(method, url.origin + url.pathname, token))
      return send(
        new Request(url, {
          method,
          headers: {
            authorization: `DPoP ${token}`,
            dpop: proof,
            ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
            ...init.headers,
          },
          ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
        }),
      )
    },
    revoke: (token: string, parameters: Record<string, string | null> = {}) =>
      agent.post(`${origin}/poppy/revoke`, { token, ...parameters }, { proof: null }),
  }
  return agent
}

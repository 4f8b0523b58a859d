import { exportJWK, SignJWT } from 'jose'
import * as oauth from 'oauth4webapi'
import type { Person } from '../../examples/hotel/src/person.ts'
import { listen } from './listen.ts'
import { guests } from './site.ts'

/** A Personal Agent made of oauth4webapi alone, which knows nothing of this protocol and nothing of this project. */

export const insecure = { [oauth.allowInsecureRequests]: true } as const
const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** What a foreign Personal Agent has: a key, documents at an address, and a place where the browser comes back to. */
export async function openForeignAgent(alg: string) {
  const keys = await oauth.generateKeyPair(alg, { extractable: true })
  const kid = crypto.randomUUID()
  const jwk = { ...(await exportJWK(keys.publicKey)), kid, alg, use: 'sig' }
  const callbacks: URL[] = []
  const { origin } = await listen((origin) => ({ url }) => {
    const { pathname } = new URL(url)
    if (pathname === '/agent.json') {
      return Response.json({
        client_id: `${origin}/agent.json`,
        client_name: 'Foreign Agent',
        jwks_uri: `${origin}/keys.json`,
        redirect_uris: [`${origin}/back`],
        token_endpoint_auth_method: 'private_key_jwt',
        something_of_its_own: { nobody: 'knows' },
      })
    }
    if (pathname === '/keys.json') return Response.json({ keys: [jwk] })
    if (pathname !== '/back') return new Response(null, { status: 404 })
    callbacks.push(new URL(url))
    return new Response('You can close this window.')
  })
  const client: oauth.Client = { client_id: `${origin}/agent.json` }
  return {
    client,
    redirectUri: `${origin}/back`,
    callbacks,
    authentication: oauth.PrivateKeyJwt({ key: keys.privateKey, kid }),
    sessionAssertion: (audience: string, userId: string) =>
      new SignJWT()
        .setProtectedHeader({ alg, kid })
        .setIssuer(client.client_id)
        .setSubject(userId)
        .setAudience(audience)
        .setJti(crypto.randomUUID())
        .setIssuedAt()
        .setExpirationTime('60s')
        .sign(keys.privateKey),
  }
}
export type ForeignAgent = Awaited<ReturnType<typeof openForeignAgent>>

export async function discover(origin: string): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(origin)
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
  return oauth.processDiscoveryResponse(issuer, response)
}

/** The client’s own habit: once more with a fresh request after a nonce came. */
async function withNonce<T>(send: () => Promise<T>): Promise<{ readonly result: T; readonly challenged: boolean }> {
  try {
    return { result: await send(), challenged: false }
  } catch (error) {
    if (!oauth.isDPoPNonceError(error)) throw error
    return { result: await send(), challenged: true }
  }
}

/** Starts a Session, or renews one; without a DPoP handle it asks for a Bearer token. */
export function startSession(
  server: oauth.AuthorizationServer,
  agent: ForeignAgent,
  DPoP: oauth.DPoPHandle | undefined,
  parameters: Record<string, string> = {},
) {
  return withNonce(async () => {
    const assertion = await agent.sessionAssertion(server.token_endpoint ?? '', 'usr_a-foreign-user-of-this-agent')
    const response = await oauth.genericTokenEndpointRequest(
      server,
      agent.client,
      agent.authentication,
      jwtBearer,
      { assertion, ...parameters },
      { ...(DPoP ? { DPoP } : {}), ...insecure },
    )
    return oauth.processGenericTokenEndpointResponse(server, agent.client, response)
  })
}

/** Direct Sign-In as RFC 6749 and 7636 have it; the person follows the address and submits the pages' own forms. */
export async function signIn(
  server: oauth.AuthorizationServer,
  agent: ForeignAgent,
  person: Person,
  asked: { readonly scope: string; readonly approve: readonly string[]; readonly decision?: string },
) {
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const url = new URL(server.authorization_endpoint ?? '')
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: agent.client.client_id,
    redirect_uri: agent.redirectUri,
    scope: asked.scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString()
  const first = await person.open(url.href)
  const consent = first.html.includes('name="password"') ? await person.submit(first, guests.maya) : first
  await person.submit(consent, { scope: asked.approve, decision: asked.decision ?? 'approve' })
  const callback = agent.callbacks.at(-1)
  if (!callback) throw new Error('the browser never came back')
  return { verifier, state, callback }
}

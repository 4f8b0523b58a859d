import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateProof } from 'dpop'
import { exportJWK, SignJWT } from 'jose'
import * as oauth from 'oauth4webapi'
import { expect, it, onTestFinished } from 'vitest'

// Nothing in this file is ours, neither the client nor what it stands on: the hotel is another process, and all that
// it knows of the hotel is its address.

const timeout = 180_000
const insecure = { [oauth.allowInsecureRequests]: true } as const
const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const callTool = (origin: string, name: string) => `${origin}/poppy/tools/${name}`

function signal(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

/** Types `npm start` and reads the address. */
async function openHotel(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'poppyseed-stranger-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const child = spawn('npm', ['start'], {
    cwd: new URL('..', import.meta.url),
    env: { ...process.env, PORT: '0', DATABASE_DIR: directory, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  onTestFinished(() => signal(child))
  let told = ''
  for await (const chunk of child.stdout) {
    told += String(chunk)
    const origin = /is open at (http:\/\/localhost:\d+)\n/.exec(told)?.[1]
    if (origin && told.includes('Ctrl+C')) return origin
  }
  throw new Error(`it ended without an address: ${told}`)
}

/** An agent's host: its document, its keys, and the address that browsers come back to. */
async function openAgent() {
  const keys = await oauth.generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }
  const documents: Record<string, unknown> = {}
  const server = createServer((request, response) => {
    const document = documents[request.url ?? '']
    response.writeHead(document ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(document ?? {}))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  documents['/agent.json'] = {
    client_id: `${origin}/agent.json`,
    client_name: 'Stranger',
    jwks_uri: `${origin}/keys.json`,
    redirect_uris: [`${origin}/back`],
    token_endpoint_auth_method: 'private_key_jwt',
  }
  documents['/keys.json'] = { keys: [jwk] }
  const client: oauth.Client = { client_id: `${origin}/agent.json` }
  const assertion = (audience: string) =>
    new SignJWT({ iss: client.client_id, sub: 'usr_a-user-of-a-stranger', aud: audience, jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuedAt()
      .setExpirationTime('60s')
      .sign(keys.privateKey)
  return {
    client,
    assertion,
    redirectUri: `${origin}/back`,
    authentication: oauth.PrivateKeyJwt({ key: keys.privateKey, kid: 'one' }),
  }
}

/** What a person does: the site's sign-in and then its consent page, until the browser leaves for the agent. */
async function approveAsMaya(address: URL, scopes: readonly string[]): Promise<URL> {
  const cookies = new Map<string, string>()
  const visit = async (url: URL, body?: URLSearchParams): Promise<Response> => {
    const headers = { cookie: [...cookies].map((pair) => pair.join('=')).join('; '), origin: url.origin }
    const response = await fetch(url, { redirect: 'manual', headers, ...(body ? { method: 'POST', body } : {}) })
    for (const [name = '', value = ''] of response.headers.getSetCookie().map((line) => line.split(/[=;]/)))
      cookies.set(name, value)
    return response
  }
  const next = (response: Response, from: URL) => new URL(response.headers.get('location') ?? 'nowhere:', from)
  const hidden = async (response: Response) =>
    [...(await response.text()).matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
      ([, name = '', value = '']): [string, string] => [name, value.replaceAll('&amp;', '&')],
    )
  const login = next(await visit(address), address)
  const credentials = new URLSearchParams(await hidden(await visit(login)))
  credentials.set('email', 'maya@example.com')
  credentials.set('password', 'sea-view-42')
  const consent = next(await visit(login, credentials), login)
  const decision = new URLSearchParams(await hidden(await visit(consent)))
  decision.set('decision', 'approve')
  for (const scope of scopes) decision.append('scope', scope)
  return next(await visit(new URL('/poppy/authorize', address), decision), address)
}

it('a stranger with oauth4webapi and dpop starts a Session, renews it, signs in and calls a tool', {
  timeout,
}, async () => {
  const origin = await openHotel()
  const { client, assertion, authentication, redirectUri } = await openAgent()
  const issuer = new URL(origin)
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  )
  const keys = await oauth.generateKeyPair('ES256')
  const DPoP = oauth.DPoP(client, keys)
  const call = async (name: string, token: string) => {
    const dpop = await generateProof(keys, callTool(origin, name), 'POST', undefined, token)
    const headers = { authorization: `DPoP ${token}`, dpop, 'content-type': 'application/json' }
    return fetch(callTool(origin, name), { method: 'POST', headers, body: '{}' })
  }

  const start = async (more: Record<string, string> = {}) => {
    const parameters = { assertion: await assertion(server.token_endpoint ?? ''), ...more }
    const response = await oauth.genericTokenEndpointRequest(server, client, authentication, jwtBearer, parameters, {
      DPoP,
      ...insecure,
    })
    return oauth.processGenericTokenEndpointResponse(server, client, response)
  }
  const started = await start()
  expect(started).toMatchObject({ token_type: 'dpop', signed_in: false, scope: '' })
  const session_id = String(started.session_id)
  const renewed = await start({ session_id })
  expect(renewed).toMatchObject({ session_id, signed_in: false })
  const refused = await call('my_bookings', renewed.access_token)
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
    403,
    expect.stringContaining('error="sign_in_required"'),
  ])

  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const address = new URL(server.authorization_endpoint ?? '')
  address.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri,
    scope: 'poppy:read',
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString()
  const back = oauth.validateAuthResponse(server, client, await approveAsMaya(address, ['poppy:read']), state)
  const exchanged = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    back,
    redirectUri,
    verifier,
    { DPoP, additionalParameters: { session_id }, ...insecure },
  )
  const signedIn = await oauth.processAuthorizationCodeResponse(server, client, exchanged)
  expect(signedIn).toMatchObject({ scope: 'poppy:read', session_id, signed_in: true })
  const bookings = await call('my_bookings', signedIn.access_token)
  expect([bookings.status, await bookings.json()]).toEqual([200, { bookings: expect.any(Array) }])
})

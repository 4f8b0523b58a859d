/** The product: a Company on SQLite behind @hono/node-server, with one tool that needs `poppy:read`. */

import { randomBytes } from 'node:crypto'
import { createAdaptorServer } from '@hono/node-server'
import { createCompany, tool } from 'poppyseed'
import { sqlite } from 'poppyseed/sqlite'
import { asForm, clientAssertion, proof, sessionAssertion, sha256 } from './client.ts'
import { type Client, type Keys, listen, readArguments, sayReady } from './parties.ts'

const { parties, folder } = readArguments()
const origin = 'https://company.example'
const tokenUrl = `${origin}/poppy/token`

/** What the agents publish. It is asked for once and then cached: a Company meets few agents and many Users. */
const documents = new Map<string, unknown>()
for (const { id, keys } of parties.clients) {
  const base = new URL(id).origin
  documents.set(id, {
    client_id: id,
    client_name: 'Bench',
    jwks_uri: `${base}/jwks.json`,
    redirect_uris: [`${base}/callback`],
    token_endpoint_auth_method: 'private_key_jwt',
  })
  documents.set(`${base}/jwks.json`, { keys: [{ ...keys.publicJwk, kid: keys.thumbprint, alg: 'ES256', use: 'sig' }] })
}

let account = ''
const unmet = { requests: 1_000_000, seconds: 1 }
const company = createCompany({
  organization: { name: 'Bench', domain: 'company.example' },
  origin,
  secret: randomBytes(32).toString('base64url'),
  store: sqlite(`${folder}/poppy.db`),
  account: () => ({ id: account, name: account }),
  signInPage: () => '/login',
  scopes: { 'poppy:read': 'See your bookings' },
  signIn: { direct: ['poppy:read'] },
  tools: [
    tool({
      name: 'my_bookings',
      description: 'Bookings of the guest.',
      scope: 'poppy:read',
      run: (input, { principal }) => ({ account: principal.account, input }),
    }),
  ],
  // All limits on, and none met: what is measured comes faster than any honest agent's requests.
  limits: {
    sessionsPerClient: unmet,
    sessionsPerUser: unmet,
    tokenRequestsPerClient: unmet,
    requestsPerClient: unmet,
    requestsPerUser: unmet,
    requestsPerSession: unmet,
  },
  address: () => '203.0.113.7',
  fetchDocument: async (url) => ({ document: documents.get(url), headers: new Headers() }),
})
await company.start()

async function post(path: string, body: URLSearchParams, headers: Record<string, string>): Promise<Response> {
  return company.fetch(new Request(origin + path, { method: 'POST', body, headers, redirect: 'manual' }))
}

/** One whole Direct Sign-In (4.5). Gives the signed-in Session Token, and a Bearer token of the same Session for MCP. */
async function signIn(client: Client, keys: Keys): Promise<{ readonly token: string; readonly bearer: string }> {
  const token = async (grant: Record<string, string>) => {
    const form = asForm(client, { ...grant, client_assertion: clientAssertion(client, origin) })
    const headers = 'resource' in grant ? {} : { dpop: proof(keys, 'POST', tokenUrl) }
    const answer = await post('/poppy/token', form, headers)
    if (!answer.ok) throw new Error(`no token: ${answer.status}`)
    return (await answer.json()) as {
      readonly access_token: string
      readonly session_id: string
      readonly refresh_token?: string
    }
  }
  const { session_id } = await token({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: sessionAssertion(client, account, tokenUrl),
  })
  const redirect = `${new URL(client.id).origin}/callback`
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: redirect,
    scope: 'poppy:read',
    state: 'state',
    code_challenge: sha256('verifier'.repeat(8)),
    code_challenge_method: 'S256',
  })
  const page = await company.fetch(new Request(`${origin}/poppy/authorize?${query}`))
  const request = /name="request" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
  const decision = new URLSearchParams({ request, decision: 'approve', scope: 'poppy:read' })
  const decided = await post('/poppy/authorize', decision, { origin })
  const code = new URL(decided.headers.get('location') ?? '').searchParams.get('code') ?? ''
  const code_verifier = 'verifier'.repeat(8)
  const grant = { grant_type: 'authorization_code', code, redirect_uri: redirect, code_verifier, session_id }
  const { access_token, refresh_token = '' } = await token(grant)
  const resource = `${origin}/poppy/mcp`
  const bearer = await token({ grant_type: 'refresh_token', refresh_token, session_id, resource })
  return { token: access_token, bearer: bearer.access_token }
}

const [tokens, bearers]: [string[], string[]] = [[], []]
for (const [n, keys] of parties.proofKeys.entries()) {
  account = `account-${n}`
  const client = parties.clients[n % parties.clients.length]
  if (!client) continue
  const { token, bearer } = await signIn(client, keys)
  tokens.push(token)
  bearers.push(bearer)
}

const server = createAdaptorServer({ fetch: company.fetch })
const { port } = await listen(server as Parameters<typeof listen>[0])
sayReady({
  port,
  origin,
  call: { method: 'POST', path: '/poppy/tools/my_bookings', body: '{}', tokens },
  start: { path: '/poppy/token', grant: 'session', audience: origin },
  mcp: { path: '/poppy/mcp', tokens: bearers },
})

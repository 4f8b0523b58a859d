import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import * as oauth from 'oauth4webapi'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPerson } from '../examples/hotel/src/person.ts'
import { discover, type ForeignAgent, insecure, openForeignAgent, signIn, startSession } from './setup/foreign-agent.ts'
import { openSite, type Site } from './setup/site.ts'

// The official MCP client, over real HTTP, handed a Bearer token that oauth4webapi got from the token endpoint.

const timeout = 60_000
const revisions = [
  { revision: '2025-11-25', options: {} },
  { revision: '2026-07-28', options: { versionNegotiation: { mode: 'auto' } } },
] as const

const mcpUrl = (site: Site) => `${site.origin}/poppy/mcp`

/** The MCP client with a token that can be changed; also the headers and statuses that came back. */
async function connect(site: Site, token: { value: string }, options: object) {
  const answers: { status: number; challenge: string }[] = []
  const transport = new StreamableHTTPClientTransport(new URL(mcpUrl(site)), {
    authProvider: { token: async () => token.value },
    fetch: async (target, init) => {
      const response = await fetch(target, init)
      answers.push({ status: response.status, challenge: response.headers.get('www-authenticate') ?? '' })
      return response
    },
  })
  const client = new Client({ name: 'foreign', version: '1' }, options)
  await client.connect(transport)
  onTestFinished(() => client.close())
  return { client, answers }
}

async function bearer(site: Site, agent: ForeignAgent, parameters: Record<string, string> = {}) {
  const server = await discover(site.origin)
  const { result } = await startSession(server, agent, undefined, { resource: mcpUrl(site), ...parameters })
  return { server, result, sessionId: String(result.session_id) }
}

/** A message by hand, for what no MCP client would send. */
function post(site: Site, headers: Record<string, string>, query = ''): Promise<Response> {
  return fetch(mcpUrl(site) + query, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  })
}

describe.each(revisions)('the official MCP client, $revision', ({ revision, options }) => {
  it('lists and calls tools, is told over HTTP to sign in, and goes on with the next token [4.3.bearer-for-mcp, 4.3.both-kinds, 6.mcp-tokens, 6.mcp-scopes, 6.sign-in-required, 6.insufficient-scope, 6.challenge, 4.8.account-token-where]', {
    timeout,
  }, async () => {
    const site = await openSite({ nonces: true })
    const agent = await openForeignAgent('ES256')
    const { server, result, sessionId } = await bearer(site, agent)
    expect(result).toMatchObject({ token_type: 'bearer', scope: '', signed_in: false })
    const token = { value: result.access_token }
    const { client, answers } = await connect(site, token, options)
    expect(client.getNegotiatedProtocolVersion()).toBe(revision)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['echo', 'my_bookings', 'add_note', 'points'])
    expect(await client.callTool({ name: 'echo', arguments: { text: 'hello' } })).toMatchObject({
      structuredContent: { text: 'hello', account: null },
    })

    await expect(client.callTool({ name: 'my_bookings' })).rejects.toThrow()
    expect(answers.at(-1)).toEqual({
      status: 403,
      challenge: expect.stringMatching(/^Bearer error="sign_in_required".*resource_metadata="/),
    })

    const back = await signIn(server, agent, createPerson(), { scope: 'poppy:read', approve: ['poppy:read'] })
    const DPoP = oauth.DPoP(agent.client, await oauth.generateKeyPair('ES256'))
    // The first proof has no nonce and is refused; nothing else is lost by it.
    const exchange = async () =>
      oauth.processAuthorizationCodeResponse(
        server,
        agent.client,
        await oauth.authorizationCodeGrantRequest(
          server,
          agent.client,
          agent.authentication,
          oauth.validateAuthResponse(server, agent.client, back.callback, back.state),
          agent.redirectUri,
          back.verifier,
          { DPoP, additionalParameters: { session_id: sessionId }, ...insecure },
        ),
      )
    await expect(exchange()).rejects.toSatisfy(oauth.isDPoPNonceError)
    const signedIn = await exchange()
    expect((await post(site, { authorization: `Bearer ${signedIn.refresh_token}` })).status).toBe(401)
    // The old Bearer token stays what it was.
    await expect(client.callTool({ name: 'my_bookings' })).rejects.toThrow()
    const refreshed = await oauth.processRefreshTokenResponse(
      server,
      agent.client,
      await oauth.refreshTokenGrantRequest(server, agent.client, agent.authentication, signedIn.refresh_token ?? '', {
        additionalParameters: { session_id: sessionId, resource: mcpUrl(site) },
        ...insecure,
      }),
    )
    expect(refreshed).toMatchObject({ token_type: 'bearer', scope: 'poppy:read', session_id: sessionId })
    token.value = refreshed.access_token
    expect(await client.callTool({ name: 'my_bookings' })).toMatchObject({ structuredContent: { account: 'acc-maya' } })
    await expect(client.callTool({ name: 'add_note' })).rejects.toThrow()
    expect(answers.at(-1)).toEqual({
      status: 403,
      challenge: expect.stringMatching(/^Bearer error="insufficient_scope".*scope="poppy:read poppy:write"/),
    })
  })
})

describe('the way to a token', () => {
  it('is told with each 401: metadata that agrees with poppy.json and names the issuer [6.mcp-metadata, 6.mcp-authorization-servers, 6.challenge]', {
    timeout,
  }, async () => {
    const site = await openSite()
    const unauthorised = await post(site, {})
    expect(unauthorised.status).toBe(401)
    const [, address = ''] =
      /resource_metadata="([^"]+)"/.exec(unauthorised.headers.get('www-authenticate') ?? '') ?? []
    const metadata = await oauth.processResourceDiscoveryResponse(
      new URL(mcpUrl(site)),
      await oauth.resourceDiscoveryRequest(new URL(mcpUrl(site)), insecure),
    )
    expect(await (await fetch(address)).json()).toEqual(metadata)
    const poppy = (await (await fetch(`${site.origin}/.well-known/poppy.json`)).json()) as {
      auth: { issuer: string }
      apis: { type: string; url: string }[]
    }
    expect(poppy.apis.filter(({ type }) => type === 'mcp').map(({ url }) => url)).toEqual([metadata.resource])
    expect(metadata.authorization_servers).toContain(poppy.auth.issuer)
    expect((await discover(metadata.authorization_servers?.[0] ?? '')).issuer).toBe(poppy.auth.issuer)
  })

  it('is the same for every token that does not belong here [6.mcp-own-url, 6.invalid-token, 4.3.bearer-one-server, 4.3.bearer-only-at-mcp, 4.3.no-token-in-url]', {
    timeout,
  }, async () => {
    const agent = await openForeignAgent('ES256')
    const [site, other] = [await openSite(), await openSite()]
    const { server, result } = await bearer(site, agent)
    const foreign = await bearer(other, agent)
    const DPoP = oauth.DPoP(agent.client, await oauth.generateKeyPair('ES256'))
    const bound = await startSession(server, agent, DPoP)
    const [mine, theirs, proven] = [result, foreign.result, bound.result].map((tokens) => tokens.access_token)
    expect((await post(site, { authorization: `Bearer ${mine}` })).status).toBe(200)
    // Both Companies seal with the same secret, as a careless operator's would.
    expect((await post(other, { authorization: `Bearer ${theirs}` })).status).toBe(200)

    const strangers: readonly [Record<string, string>, string?][] = [
      [{}],
      [{ authorization: `Bearer ${theirs}` }],
      [{ authorization: `Bearer ${proven}` }],
      [{ authorization: `DPoP ${proven}` }],
      [{ authorization: `DPoP ${mine}` }],
      [{ authorization: `Bearer ${mine}x` }],
      [{ authorization: `Bearer ${mine}, Bearer ${mine}` }],
      [{ authorization: 'Bearer' }],
      [{}, `?access_token=${mine}`],
      [{ authorization: `Bearer ${mine}` }, `?access_token=${mine}`],
    ]
    const answers = await Promise.all(strangers.map(([headers, query]) => post(site, headers, query)))
    for (const answer of answers) {
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toMatch(
        /^Bearer error="invalid_token".*resource_metadata="http:\/\/localhost:\d+\/\.well-known\/oauth-protected-resource\/poppy\/mcp"/,
      )
    }
    // One answer for all: nobody learns which tokens exist.
    expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1)

    const atTool = await fetch(`${site.origin}/poppy/tools/echo`, {
      method: 'POST',
      headers: { authorization: `Bearer ${mine}`, 'content-type': 'application/json' },
      body: '{"text":"hello"}',
    })
    expect([atTool.status, atTool.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('error="invalid_token"'),
    ])
  })

  it('has no token for a server that is not there, and none with neither proof nor server [4.2.invalid-target, 4.3.bearer-resource]', {
    timeout,
  }, async () => {
    const site = await openSite()
    const agent = await openForeignAgent('ES256')
    const server = await discover(site.origin)
    const refused = (parameters: Record<string, string>) => startSession(server, agent, undefined, parameters)
    await expect(refused({ resource: `${mcpUrl(site)}/` })).rejects.toMatchObject({ error: 'invalid_target' })
    await expect(refused({ resource: 'https://other.example/mcp' })).rejects.toMatchObject({ error: 'invalid_target' })
    const noProof = { status: 400, cause: [{ parameters: { error: 'invalid_dpop_proof' } }] }
    await expect(refused({ resource: `${site.origin}/poppy/openapi.json` })).rejects.toMatchObject(noProof)
    await expect(refused({})).rejects.toMatchObject(noProof)
  })
})

import { describe, expect, it } from 'vitest'
import { makeWorld, outcome, type World } from './setup/world.ts'

const origin = 'https://miramar.example'
const poppy = '/.well-known/poppy.json'
const oauth = '/.well-known/oauth-authorization-server'
const resource = '/.well-known/oauth-protected-resource/poppy/mcp'
const documents = [poppy, oauth, resource, '/poppy/openapi.json']

const get = (world: World, path: string, headers: Record<string, string> = {}, base = origin) =>
  world.send(new Request(base + path, { headers }))
const read = async (world: World, path: string) => (await (await get(world, path)).json()) as Record<string, unknown>

describe('poppy.json', () => {
  it('says what this Company is and has, in exact strings, and nothing more [3.well-known, 3.1.protocol-version, 3.1.organization, 3.1.organization-domain, 3.1.auth-issuer, 3.1.direct-scopes, 3.1.custom-scopes, 3.1.apis-fields, 3.1.something-to-use, 6.api-type]', async () => {
    expect(await read(await makeWorld(), poppy)).toEqual({
      protocol_version: '0.1',
      organization: { name: 'Hotel Miramar', domain: 'miramar.example' },
      auth: {
        issuer: origin,
        direct: { scopes: ['poppy:read', 'poppy:write', 'loyalty'] },
        custom_scopes: { loyalty: 'See your points' },
      },
      apis: [
        { type: 'openapi', url: `${origin}/poppy/openapi.json`, description: expect.any(String) },
        { type: 'mcp', url: `${origin}/poppy/mcp`, description: expect.any(String) },
      ],
    })
  })

  it('speaks for the domain, also where the site itself is on a subdomain', async () => {
    const world = await makeWorld({ origin: 'https://www.miramar.example' })
    const document = (await (await get(world, poppy, {}, 'https://miramar.example')).json()) as Record<string, unknown>
    expect(document).toMatchObject({
      organization: { domain: 'miramar.example' },
      auth: { issuer: 'https://www.miramar.example' },
    })
    const metadata = (await (await get(world, oauth, {}, 'https://www.miramar.example')).json()) as Record<
      string,
      unknown
    >
    expect(metadata).toMatchObject({ issuer: 'https://www.miramar.example', poppy_domains: ['miramar.example'] })
  })
})

describe('the OAuth metadata', () => {
  it('names the issuer of poppy.json, its domains, and endpoints that are there [3.2.metadata, 3.2.poppy-domains, 3.2.token-endpoint, 3.2.revocation-endpoint, 3.2.authorization-endpoint, 4.1.auth-method]', async () => {
    const world = await makeWorld()
    const metadata = await read(world, oauth)
    const algorithms = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519']
    expect(metadata).toEqual({
      issuer: origin,
      token_endpoint: `${origin}/poppy/token`,
      revocation_endpoint: `${origin}/poppy/revoke`,
      authorization_endpoint: `${origin}/poppy/authorize`,
      poppy_domains: ['miramar.example'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['urn:ietf:params:oauth:grant-type:jwt-bearer', 'authorization_code', 'refresh_token'],
      scopes_supported: ['poppy:read', 'poppy:write', 'loyalty'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'],
      token_endpoint_auth_signing_alg_values_supported: algorithms,
      revocation_endpoint_auth_methods_supported: ['private_key_jwt'],
      revocation_endpoint_auth_signing_alg_values_supported: algorithms,
      dpop_signing_alg_values_supported: algorithms,
      client_id_metadata_document_supported: true,
      protected_resources: [`${origin}/poppy/mcp`],
    })
    for (const name of ['token_endpoint', 'revocation_endpoint', 'authorization_endpoint'])
      expect(world.company.owns(new Request(String(metadata[name])))).toBe(true)
  })
})

describe('the MCP server', () => {
  it('says where a token for it comes from: in its metadata, and in its 401 [6.mcp-metadata, 6.mcp-authorization-servers, K37]', async () => {
    const world = await makeWorld()
    const { apis } = (await read(world, poppy)) as { apis: { type: string; url: string }[] }
    const url = apis.find(({ type }) => type === 'mcp')?.url ?? ''
    const refused = await world.send(new Request(url, { method: 'POST' }))
    const metadataUrl = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? ''
    expect(await outcome(refused)).toBe('401 invalid_token')
    expect(metadataUrl).toBe(origin + resource)
    expect(await (await world.send(new Request(metadataUrl))).json()).toEqual({
      resource: url,
      authorization_servers: [origin],
      scopes_supported: ['poppy:read', 'poppy:write', 'loyalty'],
      bearer_methods_supported: ['header'],
      resource_name: 'Hotel Miramar',
    })
  })
})

describe('every document', () => {
  it('is JSON at the address that was asked, may be kept for a while, and is not sent again to whoever has it [3.redirect-https-company]', async () => {
    const world = await makeWorld()
    for (const path of documents) {
      const answer = await get(world, path)
      const headers = Object.fromEntries(answer.headers)
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'cache-control': 'public, max-age=300',
        etag: expect.stringMatching(/^"[\w-]{22}"$/),
        'x-content-type-options': 'nosniff',
      })
      const etag = headers.etag ?? ''
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await get(world, path, { 'if-none-match': known })
        expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
      }
      expect((await get(world, path, { 'if-none-match': '"other"' })).status).toBe(200)
      const head = await world.send(new Request(origin + path, { method: 'HEAD' }))
      expect([head.status, await head.text(), head.headers.get('etag')]).toEqual([200, '', etag])
      expect((await get(await makeWorld(), path)).headers.get('etag')).toBe(etag)
    }
  })

  it('may be read by pages of any origin, without their cookies', async () => {
    const world = await makeWorld()
    for (const path of documents) {
      const { headers } = await get(world, path, { origin: 'https://agent.example' })
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.has('access-control-allow-credentials')).toBe(false)
      expect(headers.has('set-cookie')).toBe(false)
    }
  })

  it('is the same whatever a request forwards of host, scheme and port; so is every answer to an error [K38]', async () => {
    const world = await makeWorld()
    const lies: Record<string, string>[] = [
      {
        'x-forwarded-host': 'evil.test',
        'x-forwarded-proto': 'javascript',
        'x-forwarded-port': '666',
      },
      { forwarded: 'host=evil.test;proto=http', 'x-original-url': '/evil.test', 'x-forwarded-prefix': '/evil.test' },
      { 'x-forwarded-host': 'evil.test", evil="1, https://evil.test' },
    ]
    const asked = [
      ...documents.map((path) => ['GET', path]),
      ['POST', '/poppy/token'],
      ['POST', '/poppy/revoke'],
      ['POST', '/poppy/mcp'],
      ['POST', '/poppy/tools/echo'],
      ['GET', '/poppy/authorize?client_id=x'],
      ['GET', '/nothing'],
    ] as const
    const told = async (url: string, method: string, headers: Record<string, string>) => {
      const answer = await world.send(new Request(url, { method, headers }))
      return `${answer.status} ${JSON.stringify([...answer.headers])} ${await answer.text()}`
    }
    for (const [method = '', path = ''] of asked) {
      const right = await told(origin + path, method, {})
      for (const headers of lies)
        for (const base of [origin, 'http://127.0.0.1:3000', 'http://localhost:8080'])
          expect(await told(base + path, method, headers)).toBe(right)
      expect(right).not.toContain('evil')
      // Whose name isn't ours learns that, and gets nothing that a cache could keep.
      for (const host of ['evil.test', 'miramar.example.evil.test', 'miramar.example, evil.test', '"evil.test"']) {
        const answer = await world.send(new Request(`http://127.0.0.1:3000${path}`, { method, headers: { host } }))
        expect([path, answer.status]).toEqual([path, path === '/nothing' ? 404 : 421])
        expect(answer.headers.get('cache-control')).toBe('no-store')
        expect(`${JSON.stringify([...answer.headers])} ${await answer.text()}`).not.toContain('evil')
      }
    }
  })

  it('sends a person to the company’s own sign-in, not to where the request says it came', async () => {
    const world = await makeWorld()
    world.site.account = null
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: world.agent.clientId,
      redirect_uri: world.agent.redirectUri,
      scope: 'poppy:read',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    })
    const headers = { 'x-forwarded-host': 'evil.test', 'x-forwarded-proto': 'http', origin: 'http://evil.test' }
    const answer = await world.send(new Request(`http://localhost:3000/poppy/authorize?${query}`, { headers }))
    expect(answer.headers.get('location')).toBe(
      `${origin}/login?next=${encodeURIComponent(`/poppy/authorize?${query}`)}`,
    )
  })
})

describe('an agent in a browser', () => {
  it('may send its headers and read the challenge and the nonce, on errors too, and never with cookies [K08]', async () => {
    const world = await makeWorld({ nonces: true })
    for (const [path, methods] of [
      ['/poppy/token', 'POST, OPTIONS'],
      ['/poppy/revoke', 'POST, OPTIONS'],
      ['/poppy/tools/echo', 'POST, OPTIONS'],
      ['/poppy/mcp', 'POST, GET, DELETE, HEAD, OPTIONS'],
      [poppy, 'GET, HEAD, OPTIONS'],
    ]) {
      const preflight = await world.send(
        new Request(origin + path, {
          method: 'OPTIONS',
          headers: {
            origin: 'https://agent.example',
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'authorization,dpop,content-type',
          },
        }),
      )
      expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([204, methods])
      const allowed = preflight.headers.get('access-control-allow-headers')?.split(', ')
      expect(allowed).toEqual(expect.arrayContaining(['authorization', 'dpop', 'content-type']))
      const answer = await world.send(new Request(origin + path, { method: 'POST' }))
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      const exposed = answer.headers.get('access-control-expose-headers')?.split(', ')
      expect(exposed).toEqual(expect.arrayContaining(['WWW-Authenticate', 'DPoP-Nonce', 'Retry-After']))
      for (const { headers } of [preflight, answer]) expect(headers.has('access-control-allow-credentials')).toBe(false)
    }
    const asked = await world.agent.startSession()
    expect(asked.headers.get('dpop-nonce')).toMatch(/./)
    expect(asked.headers.get('access-control-expose-headers')).toContain('DPoP-Nonce')
  })

  it('may never read what is meant for a person', async () => {
    const world = await makeWorld()
    const page = await get(world, '/poppy/authorize', { origin: 'https://agent.example' })
    expect(page.headers.has('access-control-allow-origin')).toBe(false)
  })
})

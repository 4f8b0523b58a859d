import { describe, expect, it } from 'vitest'
import { errorOf } from '../../test/visit.ts'
import { createPersonalAgent, generateKey, memoryStore, type PersonalAgentOptions } from '../index.ts'

const make = async (options: Partial<PersonalAgentOptions> = {}) =>
  createPersonalAgent({
    clientId: 'https://agent.example/me/agent.json',
    name: 'Example Agent',
    keys: [await generateKey(), await generateKey()],
    store: memoryStore(),
    ...options,
  })

const misconfigured = async (options: Partial<PersonalAgentOptions>) => (await errorOf(make(options))).code

describe('the identity', () => {
  it('is a document at its own address, with keys and callback beside it [ops.version-agent, 4.1.client-id-https-agent, 4.1.client-id-exact-agent, 4.1.jwks-same-domain-agent, 4.1.redirect-uris-same-domain-agent]', async () => {
    const agent = await make({ logoUri: 'https://agent.example/logo.png' })
    const answer = await agent.fetch(new Request('https://agent.example/me/agent.json'))
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(await answer.json()).toEqual({
      client_id: 'https://agent.example/me/agent.json',
      client_name: 'Example Agent',
      logo_uri: 'https://agent.example/logo.png',
      jwks_uri: 'https://agent.example/me/jwks.json',
      redirect_uris: ['https://agent.example/me/oauth/callback'],
      grant_types: ['urn:ietf:params:oauth:grant-type:jwt-bearer', 'authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'ES256',
      extensions: { operations: { version: '1' } },
    })
  })

  it('lists its extensions, each with its major version, under names that begin with a domain [3.3.version-agent, 3.3.extension-name, 4.1.extensions-agent]', async () => {
    const extensions = {
      'miramar.example/loyalty': { version: 1, tiers: ['gold'] },
      'agent.example/x': { version: '2' },
    }
    const agent = await make({ extensions })
    const answer = await agent.fetch(new Request('https://agent.example/me/agent.json'))
    expect(await answer.json()).toMatchObject({
      extensions: {
        operations: { version: '1' },
        'miramar.example/loyalty': { version: '1', tiers: ['gold'] },
        'agent.example/x': { version: '2' },
      },
    })
    for (const wrong of [
      { operations: { version: 1 } },
      { 'https://agent.example/x': { version: 1 } },
      { 'agent.example': { version: 1 } },
      { 'agent.example/x': {} },
      { 'agent.example/x': { version: '1.0' } },
      { 'agent.example/x': { version: 1, count: 1n } },
      { 'agent.example/x': 1 },
      ['agent.example/x'],
      'agent.example/x',
    ])
      expect([wrong, await misconfigured({ extensions: wrong as never })]).toEqual([wrong, 'misconfigured'])
  })

  it('publishes all its keys, and of each the public half alone [4.1.public-keys-agent]', async () => {
    const agent = await make()
    const answer = await agent.fetch(new Request('https://agent.example/me/jwks.json'))
    const { keys } = (await answer.json()) as { keys: Record<string, unknown>[] }
    expect(keys).toHaveLength(2)
    for (const key of keys) expect(Object.keys(key).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
  })

  it('is refused where it could not work, in a sentence', async () => {
    const codes = [
      await misconfigured({ clientId: 'http://agent.example/agent.json' }),
      await misconfigured({ clientId: 'https://agent.example/' }),
      await misconfigured({ clientId: 'http://localhost:1/agent.json' }),
      await misconfigured({ redirectUri: 'https://other.example/callback' }),
      await misconfigured({ redirectUri: 'http://agent.example/callback' }),
      await misconfigured({ keys: [] }),
      await misconfigured({ keys: [{ kty: 'oct', k: 'secret', kid: '1' }] }),
      await misconfigured({ keys: [{ ...(await generateKey()), kid: undefined }] }),
    ]
    expect(codes).toEqual(Array(8).fill('misconfigured'))
    expect((await make({ clientId: 'http://localhost:1/agent.json', allowHttp: true })).redirectUri).toBe(
      'http://localhost:1/oauth/callback',
    )
  })
})

describe('the handler', () => {
  it('answers its three paths, to GET alone', async () => {
    const agent = await make()
    const ask = async (path: string, method = 'GET') =>
      (await agent.fetch(new Request(`https://agent.example${path}`, { method }))).status
    expect(await ask('/')).toBe(404)
    expect(await ask('/me/agent.json', 'POST')).toBe(405)
    expect(await ask('/me/oauth/callback', 'POST')).toBe(405)
    expect(await ask('/me/oauth/callback', 'HEAD')).toBe(200)
    expect(await ask('/me/oauth/callback?code=x&state=y')).toBe(400)
  })

  it('shows errors in words, and nothing of what came in', async () => {
    const agent = await make()
    const url =
      'https://agent.example/me/oauth/callback?state=%3Cscript%3E&error=%3Cscript%3Ealert(1)%3C/script%3E&iss=x'
    const page = await agent.fetch(new Request(url))
    const html = await page.text()
    expect(html).toContain('This sign-in is not known here')
    expect(html).not.toContain('<script')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  })
})

import { createCompany } from 'poppyseed'
import { sqlite } from 'poppyseed/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeWireAgent } from './setup/wire-agent.ts'
import { outcome, secret, type Tokens, testTools } from './setup/world.ts'

// Behind a proxy that takes the prefix away, each endpoint goes by the address that was asked outside: what assertions and
// proofs name, where forms go, where people come back to.

const outside = 'https://miramar.example/svc2'
const scopes = { 'poppy:read': 'See your bookings', 'poppy:write': 'Change your bookings', loyalty: 'See your points' }

async function open() {
  const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
  const site: { account: { id: string; name: string } | null } = { account: null }
  let documents: Record<string, unknown> = {}
  const company = createCompany({
    organization: { name: 'Hotel Miramar', domain: 'miramar.example' },
    origin: 'https://miramar.example',
    basePath: '/svc2',
    proxy: { stripsBasePath: true, hosts: ['app:3000'] },
    secret,
    store: sqlite(':memory:'),
    account: () => site.account,
    signInPage: (returnTo) => `/svc2/login?next=${encodeURIComponent(returnTo)}`,
    scopes,
    signIn: { direct: Object.keys(scopes), device: ['poppy:read'] },
    browser: true,
    tools: testTools(),
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    now: () => clock.now,
    fetchDocument: async (url) => ({ document: structuredClone(documents[url]), headers: new Headers() }),
  })
  onTestFinished(() => company.close())
  /** The proxy: `Host` and path are its own, the rest is what was sent. */
  const send = async (request: Request) => {
    const url = new URL(request.url)
    const inner = `http://app:3000${url.pathname.replace(/^\/svc2(?=\/)/, '')}${url.search}`
    const headers = new Headers(request.headers)
    headers.set('host', 'app:3000')
    const body = request.method === 'GET' ? null : await request.text()
    return company.fetch(new Request(inner, { method: request.method, headers, ...(body === null ? {} : { body }) }))
  }
  const agent = await makeWireAgent({
    clientId: 'https://agent.example/agent.json',
    now: () => clock.now,
    origin: outside,
    send,
  })
  documents = agent.documents
  const start = async () => {
    const answer = await agent.startSession()
    expect(answer.status).toBe(200)
    return (await answer.json()) as Tokens
  }
  return { company, agent, send, site, start }
}

describe('below a prefix that the site never sees', () => {
  it('assertions are addressed to the endpoints as they are published, and to nothing else [4.2.aud-exact, K05]', async () => {
    const { agent, start } = await open()
    await start()
    for (const aud of [
      'https://miramar.example/poppy/token',
      'http://app:3000/poppy/token',
      'https://miramar.example',
    ]) {
      const assertion = await agent.sessionAssertion({ claims: { aud } })
      expect([aud, await outcome(await agent.startSession({ assertion }))]).toEqual([aud, '400 invalid_grant'])
      const client_assertion = await agent.clientAssertion({ claims: { aud } })
      expect([aud, await outcome(await agent.startSession({ client_assertion }))]).toEqual([aud, '401 invalid_client'])
    }
    const byIssuer = await agent.clientAssertion({ claims: { aud: outside } })
    expect(await outcome(await agent.startSession({ client_assertion: byIssuer }))).toBe('200')
    expect(await outcome(await agent.revoke('pat_unknown'))).toBe('200')
  })

  it('proofs name the address that was asked [4.3.htu, K05]', async () => {
    const { agent, start } = await open()
    const { access_token } = await start()
    const call = async (htu?: string) => {
      const proof = htu === undefined ? {} : { proof: await agent.proof('POST', htu, access_token) }
      return outcome(await agent.call('/svc2/poppy/tools/echo', access_token, { body: { text: 'a' }, ...proof }))
    }
    expect(await call()).toBe('200')
    for (const wrong of ['https://miramar.example/poppy/tools/echo', 'http://app:3000/poppy/tools/echo'])
      expect(await call(wrong)).toBe('401 invalid_dpop_proof')
    const proof = await agent.proof('POST', 'https://miramar.example/poppy/token')
    expect(await outcome(await agent.startSession({}, { proof }))).toBe('400 invalid_dpop_proof')
  })

  it('a person with a code comes to the page, to the sign-in and back by public addresses [K05]', async () => {
    const { agent, send, site } = await open()
    const answer = await agent.post(`${outside}/poppy/device-authorization`, { scope: 'poppy:read' }, { proof: null })
    const codes = (await answer.json()) as { verification_uri: string; verification_uri_complete: string }
    expect(codes.verification_uri).toBe(`${outside}/poppy/device`)
    const toSignIn = await send(new Request(codes.verification_uri_complete))
    const back = new URL(codes.verification_uri_complete)
    expect(toSignIn.headers.get('location')).toBe(
      `${outside}/login?next=${encodeURIComponent(back.pathname + back.search)}`,
    )
    site.account = { id: 'acc-maya', name: 'maya@example.com' }
    const page = await (await send(new Request(codes.verification_uri_complete))).text()
    expect(/<form[^>]*action="([^"]*)"/.exec(page)?.[1]).toBe('/svc2/poppy/device')
  })

  it('a browser joins by the published address, and its cookie is for the whole host [K05]', async () => {
    const { agent, send, start } = await open()
    const { session_id } = await start()
    const join = async (aud: string) => {
      const assertion = await agent.browserAssertion(session_id, 'https://miramar.example/svc2/rooms', {
        claims: { aud },
      })
      const body = new URLSearchParams({ assertion })
      return send(new Request(`${outside}/poppy/browser-session`, { method: 'POST', body }))
    }
    expect((await join('https://miramar.example/poppy/browser-session')).status).toBe(400)
    const joined = await join(`${outside}/poppy/browser-session`)
    expect([joined.status, joined.headers.get('location')]).toEqual([303, 'https://miramar.example/svc2/rooms'])
    expect(joined.headers.get('set-cookie')).toMatch(/^__Host-poppy=.*; Path=\/(;|$)/)
  })

  it('what is the library’s is told apart by the path that arrives', async () => {
    const { company } = await open()
    const owns = (path: string) => company.owns(new Request(`http://app:3000${path}`))
    expect(['/poppy/token', '/poppy/tools/echo', '/.well-known/poppy.json'].map(owns)).toEqual([true, true, true])
    expect(['/svc2/poppy/token', '/login', '/', '/.well-known/oauth-authorization-server'].map(owns)).toEqual(
      Array(4).fill(false),
    )
    expect(owns('/.well-known/oauth-authorization-server/svc2')).toBe(true)
    expect(owns('/.well-known/oauth-protected-resource/svc2/poppy/mcp')).toBe(true)
  })
})

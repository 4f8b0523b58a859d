import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { createCompany } from 'poppyseed'
import { toNodeHandler } from 'poppyseed/node'
import { sqlite } from 'poppyseed/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { authorizationQuery } from './setup/consent.ts'
import { echo, type LimitedCompany, openLimited, repeat, started, tally } from './setup/limited-company.ts'
import { talkativeLog } from './setup/site.ts'
import type { WireAgent } from './setup/wire-agent.ts'
import { makeWorld, outcome, secret, testTools } from './setup/world.ts'

// 4.3 over real HTTP: what is limited by address, since nobody knows more of whoever asks. The clock is moved.

const most = (requests: number) => ({ requests, seconds: 60 })
const parallel = <T>(count: number, work: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)))

const post = (company: LimitedCompany, address: string, path: string, headers: Record<string, string> = {}) =>
  company.sendFrom(address, new Request(company.origin + path, { method: 'POST', headers }))

describe('requests without a token', () => {
  it('are limited for each address, and MCP’s challenge with them [4.3.rate-limit]', async () => {
    const company = await openLimited({ anonymousPerAddress: most(4) })
    const paths = ['/poppy/tools/echo', '/poppy/mcp']
    const from = (address: string) => (n: number) => post(company, address, paths[n % 2] as string)
    expect(await repeat(6, from('203.0.113.1'))).toEqual({ 401: 4, 429: 2 })
    const refused = await post(company, '203.0.113.1', '/poppy/mcp')
    expect([refused.headers.get('retry-after'), refused.headers.get('access-control-expose-headers')]).toEqual([
      '15',
      expect.stringContaining('Retry-After'),
    ])
    expect(await outcome(refused)).toBe('429 rate_limited')
    expect(await repeat(1, from('203.0.113.2'))).toEqual({ 401: 1 })
    company.pass(15)
    expect(await repeat(2, from('203.0.113.1'))).toEqual({ 401: 1, 429: 1 })
  })

  it('that come at once are answered exactly as often as may be', async () => {
    const company = await openLimited({ anonymousPerAddress: most(30) })
    const answers = await parallel(100, () => post(company, '203.0.113.1', '/poppy/tools/echo'))
    expect(tally(answers)).toEqual({ 401: 30, 429: 70 })
  })

  it('count one household as one: by /64, and an IPv4 address in any spelling', async () => {
    const company = await openLimited({ anonymousPerAddress: most(2) })
    const from = (address: string) => post(company, address, '/poppy/tools/echo')
    const household = ['2001:db8:1:2::1', '2001:db8:1:2:ffff::7', '2001:DB8:1:2::99']
    expect(await repeat(3, (n) => from(household[n] as string))).toEqual({ 401: 2, 429: 1 })
    expect((await from('2001:db8:1:3::1')).status).toBe(401)
    const one = ['203.0.113.1', '::ffff:203.0.113.1', '203.0.113.1:4711']
    expect(await repeat(3, (n) => from(one[n] as string))).toEqual({ 401: 2, 429: 1 })
  })

  it('don’t hurt an agent at the same address that has a token', async () => {
    const company = await openLimited({ anonymousPerAddress: most(1), failuresPerAddress: most(1) })
    const agent = await company.agentAt('203.0.113.1')
    const session = await started(agent)
    await repeat(5, () => post(company, '203.0.113.1', '/poppy/tools/echo'))
    await repeat(5, () => post(company, '203.0.113.1', '/poppy/tools/echo', { authorization: 'DPoP made-up' }))
    expect(await repeat(5, () => echo(agent, session))).toEqual({ 200: 5 })
  })

  it('are not counted for documents that anybody may read', async () => {
    const company = await openLimited({ anonymousPerAddress: most(1), failuresPerAddress: most(1) })
    for (const path of ['/.well-known/poppy.json', '/.well-known/oauth-authorization-server', '/poppy/openapi.json']) {
      const read = () => company.sendFrom('203.0.113.1', new Request(company.origin + path))
      expect(await repeat(20, read)).toEqual({ 200: 20 })
    }
  })
})

describe('tokens, proofs and assertions that are wrong', () => {
  it('are limited for each address [4.3.rate-limit]', async () => {
    const company = await openLimited({ failuresPerAddress: most(4) })
    const wrong = (address: string) =>
      repeat(6, (n) => post(company, address, '/poppy/tools/echo', { authorization: `DPoP made-up-${n}` }))
    expect(await wrong('203.0.113.1')).toEqual({ 401: 4, 429: 2 })
    expect(await wrong('203.0.113.2')).toEqual({ 401: 4, 429: 2 })
    company.pass(60)
    expect(await wrong('203.0.113.1')).toEqual({ 401: 4, 429: 2 })
  })

  it('at the token endpoint end in 429 before anything is read or fetched', async () => {
    let fetched = 0
    const company = await openLimited(
      { failuresPerAddress: most(4) },
      {
        fetchDocument: async () => {
          fetched += 1
          throw new Error('nothing at this address')
        },
      },
    )
    const agent = await company.agentAt('203.0.113.1')
    const asAnybody = (n: number) => agent.startSession({ client_id: `https://made-up-${n}.example/agent.json` })
    expect(await repeat(10, asAnybody)).toEqual({ 401: 4, 429: 6 })
    expect(fetched).toBe(4)
    const refused = await agent.token({ grant_type: 'nonsense' })
    expect([refused.headers.get('retry-after'), await outcome(refused)]).toEqual(['15', '429 rate_limited'])
    expect((await agent.revoke('anything')).status).toBe(429)
    // What was not understood counts as well: it costs the same.
    const other = await company.agentAt('203.0.113.2')
    expect(await repeat(6, () => other.token({ grant_type: 'nonsense' }))).toEqual({ 400: 4, 429: 2 })
  })

  it('with somebody’s token count for its Session at this address alone', async () => {
    const company = await openLimited({ failuresPerAddress: most(3) })
    const agent = await company.agentAt('203.0.113.1')
    const neighbour = await company.agentAt('203.0.113.1')
    const thief = await company.agentAt('198.51.100.7')
    const [session, theirs] = [await started(agent), await started(neighbour)]
    // Another key than the token's.
    expect(await repeat(6, () => echo(thief, session))).toEqual({ 401: 3, 429: 3 })
    expect((await echo(agent, session)).status).toBe(200)
    // A broken agent at the same address as its neighbour.
    expect(await repeat(6, () => echo(agent, session, 'no-proof'))).toEqual({ 401: 3, 429: 3 })
    // Refused before the signature: a good proof too, here, and nothing of it is spent.
    const good = await agent.proof('POST', `${company.origin}/poppy/tools/echo`, session.access_token)
    expect((await echo(agent, session, good)).status).toBe(429)
    company.pass(20)
    expect((await echo(agent, session, good)).status).toBe(200)
    expect((await echo(neighbour, theirs)).status).toBe(200)
    expect((await neighbour.startSession()).status).toBe(200)
  })

  it('are not a nonce that has to be asked for', async () => {
    const company = await openLimited({ failuresPerAddress: most(1) }, { nonces: true })
    const agent = await company.agentAt('203.0.113.1')
    const ask = await agent.startSession()
    const nonce = ask.headers.get('dpop-nonce') ?? ''
    const withNonce = async () =>
      agent.startSession({}, { proof: await agent.proof('POST', agent.tokenUrl, undefined, { claims: { nonce } }) })
    expect(await repeat(5, () => agent.startSession())).toEqual({ 400: 5 })
    const session = (await (await withNonce()).json()) as Awaited<ReturnType<typeof started>>
    expect(await repeat(5, () => echo(agent, session))).toEqual({ 401: 5 })
    expect((await withNonce()).status).toBe(200)
  })
})

describe('the consent page', () => {
  const open = (company: LimitedCompany, address: string, agent: WireAgent) =>
    company.sendFrom(address, new Request(`${company.origin}/poppy/authorize?${authorizationQuery(agent)}`))
  const formOf = async (page: Response) => /name="request" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
  const decide = (company: LimitedCompany, address: string, request: string) =>
    company.sendFrom(
      address,
      new Request(`${company.origin}/poppy/authorize`, {
        method: 'POST',
        body: new URLSearchParams({ request, decision: 'approve', scope: 'poppy:read' }),
        headers: { origin: company.origin },
        redirect: 'manual',
      }),
    )

  it('is limited for each address, and tells a person in words how long to wait [4.3.rate-limit]', async () => {
    const company = await openLimited({ consentPerAddress: most(3) })
    const agent = await company.agentAt('203.0.113.1')
    const form = await formOf(await open(company, '192.0.2.1', agent))
    expect(await repeat(2, () => open(company, '192.0.2.1', agent))).toEqual({ 200: 2 })
    const refused = await open(company, '192.0.2.1', agent)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '20'])
    expect(refused.headers.get('content-type')).toContain('text/html')
    expect(refused.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    const text = await refused.text()
    expect(text).toContain('Too many requests just now')
    expect(text).toContain('Nothing was changed. Wait 20 seconds')
    expect((await open(company, '192.0.2.2', agent)).status).toBe(200)
    // An answer counts too, and the form is as good afterwards as it was.
    expect((await decide(company, '192.0.2.1', form)).status).toBe(429)
    company.pass(20)
    expect((await decide(company, '192.0.2.1', form)).status).toBe(303)
  })

  it('is limited for each account, and a form that had to wait is still good', async () => {
    const company = await openLimited({ consentPerAccount: most(2) })
    const agent = await company.agentAt('203.0.113.1')
    const forms: string[] = []
    for (let n = 0; n < 4; n++) forms.push(await formOf(await open(company, '192.0.2.1', agent)))
    expect((await decide(company, '192.0.2.1', forms[0] ?? '')).status).toBe(303)
    expect((await decide(company, '192.0.2.2', forms[1] ?? '')).status).toBe(303)
    const refused = await decide(company, '192.0.2.3', forms[2] ?? '')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '30'])
    // Somebody who is not this person can't use up what is theirs.
    company.world.site.account = { id: 'acc-jonas', name: 'jonas@example.com' }
    expect(await repeat(5, () => decide(company, '192.0.2.1', forms[3] ?? ''))).toEqual({ 403: 5 })
    const theirs = await formOf(await open(company, '192.0.2.1', agent))
    expect((await decide(company, '192.0.2.1', theirs)).status).toBe(303)
    company.world.site.account = { id: 'acc-maya', name: 'maya@example.com' }
    company.pass(30)
    expect((await decide(company, '192.0.2.3', forms[2] ?? '')).status).toBe(303)
  })

  it('answered a hundred times at once gives exactly as many codes as may be', async () => {
    const company = await openLimited({ consentPerAccount: most(10) })
    const agent = await company.agentAt('203.0.113.1')
    const forms = await parallel(40, async () => formOf(await open(company, '192.0.2.1', agent)))
    const answers = await parallel(40, (n) => decide(company, '192.0.2.1', forms[n] ?? ''))
    expect(tally(answers)).toEqual({ 303: 10, 429: 30 })
  })
})

describe('a browser that joins', () => {
  it('counts against the agent that signed its form; forged ones by address, in words [4.3.rate-limit]', async () => {
    const company = await openLimited(
      { failuresPerAddress: most(2), tokenRequestsPerClient: most(3) },
      { browser: true },
    )
    const agent = await company.agentAt('203.0.113.1')
    const session = await started(agent)
    const join = (assertion: string) =>
      company.sendFrom(
        '203.0.113.1',
        new Request(`${company.origin}/poppy/browser-session`, {
          method: 'POST',
          body: new URLSearchParams({ assertion }),
          redirect: 'manual',
        }),
      )
    const form = () => agent.browserAssertion(session.session_id, `${company.origin}/`)
    const used = await form()
    expect((await join(used)).status).toBe(303)
    expect((await join(used)).status).toBe(400)
    expect((await join(await form())).status).toBe(303)
    const refused = await join(await form())
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '20'])
    expect(await refused.text()).toContain('Too many requests just now')
    expect(await repeat(3, () => join('nonsense'))).toEqual({ 400: 1, 429: 2 })
  })
})

describe('the address', () => {
  it('comes from the Node adapter where the company has no word of its own', async () => {
    const log: string[] = []
    const server = createServer((request, response) => handler(request, response))
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const { port } = server.address() as { port: number }
    const company = createCompany({
      organization: { name: 'Hotel Miramar', domain: 'localhost' },
      origin: `http://localhost:${port}`,
      development: true,
      secret,
      store: sqlite(':memory:'),
      tools: testTools().slice(0, 1),
      limits: { anonymousPerAddress: most(2) },
      log: talkativeLog(log),
      now: () => Date.parse('2026-11-30T12:00:00Z'),
    })
    const handler = toNodeHandler(company)
    onTestFinished(async () => {
      server.closeAllConnections()
      server.close()
      await company.close()
    })
    const ask = () => fetch(`http://localhost:${port}/poppy/tools/echo`, { method: 'POST' })
    expect(await repeat(4, ask)).toEqual({ 401: 2, 429: 2 })
    expect(log.join()).not.toContain('limits by address are off')
  })

  it('is not a proxy’s that says nothing of its callers: one of them must not shut out all', async () => {
    const world = await makeWorld({ limits: { failuresPerAddress: most(3), consentPerAddress: most(3) } })
    const server = createServer(toNodeHandler(world.company)).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    // As nginx does it when nobody has told it to add headers.
    const through = async ({ path, ...more }: { path: string; method?: string; body?: string; type?: string }) => {
      const headers = { host: 'miramar.example', ...(more.type ? { 'content-type': more.type } : {}) }
      const sent = request({ port, host: '127.0.0.1', path, method: more.method ?? 'GET', headers })
      sent.end(more.body)
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      answer.resume()
      return answer.statusCode
    }
    const type = 'application/x-www-form-urlencoded'
    const nonsense = () => through({ path: '/poppy/token', method: 'POST', body: 'grant_type=nonsense', type })
    for (let n = 0; n < 6; n++) expect(await nonsense()).toBe(400)
    for (let n = 0; n < 6; n++) expect(await through({ path: '/poppy/authorize' })).toBe(400)
    expect(world.log.filter((line) => line.includes('limits by address are off'))).toHaveLength(1)
  })

  it('is missed once in the log where nobody tells it, and then nothing is limited by it', async () => {
    const world = await makeWorld({ limits: { anonymousPerAddress: most(1), failuresPerAddress: most(1) } })
    const ask = (headers = {}) =>
      world.send(new Request(`${world.origin}/poppy/tools/echo`, { method: 'POST', headers }))
    expect(await repeat(10, () => ask())).toEqual({ 401: 10 })
    expect(await repeat(10, () => ask({ authorization: 'DPoP made-up' }))).toEqual({ 401: 10 })
    expect(world.log.filter((line) => line.includes('limits by address are off'))).toHaveLength(1)
  })

  it.each([
    ['fails', () => Promise.reject(new Error('canary-address')), '`address` gave something that is no IP address'],
    ['gives the whole of what came from afar', () => 'canary-address, 10.0.0.1', 'no IP address'],
    ['gives a huge text', () => 'canary-address'.repeat(100_000), 'no IP address'],
    ['gives nothing', () => null, 'no IP address'],
    [
      'throws',
      () => {
        throw new Error('canary-address')
      },
      '`address` failed',
    ],
  ])('counts as one for everybody when the company’s word for it %s, and the log tells', async (_, address, told) => {
    const company = await openLimited({ anonymousPerAddress: most(3) }, { address: address as never })
    const agent = await company.agentAt('203.0.113.1')
    const session = await started(agent)
    const from = (n: number) => post(company, `203.0.113.${n}`, '/poppy/tools/echo')
    expect(await repeat(6, from)).toEqual({ 401: 3, 429: 3 })
    expect((await echo(agent, session)).status).toBe(200)
    const lines = company.world.log.filter((line) => line.includes(told))
    expect(lines).toHaveLength(1)
    expect(company.world.log.join()).not.toContain('canary-address')
  })
})

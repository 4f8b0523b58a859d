import { PoppyError, tool } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { makeInstances } from './setup/instances.ts'
import { echo, openLimited, repeat, started, tally } from './setup/limited-company.ts'
import { stores } from './setup/stores.ts'
import { watch } from './setup/watched-store.ts'
import { outcome } from './setup/world.ts'

// 4.1 and 4.3 over real HTTP: how much Personal Agents, their Users and their Sessions may ask. The clock is moved.

/** So many at once, and as many in a minute. */
const most = (requests: number) => ({ requests, seconds: 60 })
const parallel = <T>(count: number, work: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)))

describe('requests with a Session Token', () => {
  it('are limited in each Session by itself; a 429 says when to come again [4.3.rate-limit]', async () => {
    const company = await openLimited({ requestsPerSession: most(3) })
    const agent = await company.agentAt('203.0.113.1')
    const [one, other] = [await started(agent), await started(agent)]
    expect(await repeat(3, () => echo(agent, one))).toEqual({ 200: 3 })
    const refused = await echo(agent, one)
    expect(refused.headers.get('retry-after')).toBe('20')
    expect(refused.headers.get('access-control-expose-headers')).toContain('Retry-After')
    expect(refused.headers.get('www-authenticate')).toBeNull()
    expect(refused.headers.get('cache-control')).toBe('no-store')
    expect([refused.status, await refused.json()]).toEqual([
      429,
      { error: 'rate_limited', error_description: expect.stringContaining('Wait') },
    ])
    expect(await repeat(3, () => echo(agent, other))).toEqual({ 200: 3 })
    company.pass(19)
    expect((await echo(agent, one)).status).toBe(429)
    company.pass(1)
    expect(await repeat(2, () => echo(agent, one))).toEqual({ 200: 1, 429: 1 })
    company.pass(60)
    expect(await repeat(4, () => echo(agent, one))).toEqual({ 200: 3, 429: 1 })
  })

  it('are limited for each User, whatever the Session, and no other agent’s User of that name', async () => {
    const company = await openLimited({ requestsPerUser: most(4) })
    const agent = await company.agentAt('203.0.113.1')
    const sessions = [await started(agent), await started(agent)] as const
    expect(await repeat(6, (n) => echo(agent, sessions[n % 2 === 0 ? 0 : 1]))).toEqual({ 200: 4, 429: 2 })
    const other = await company.agentAt('203.0.113.1')
    other.userId = agent.userId
    expect((await echo(other, await started(other))).status).toBe(200)
    agent.userId = 'usr_somebody-else-of-the-same-agent'
    expect((await echo(agent, await started(agent))).status).toBe(200)
  })

  it('are limited for each Personal Agent, all its Users together', async () => {
    const company = await openLimited({ requestsPerClient: most(5) })
    const agent = await company.agentAt('203.0.113.1')
    const tokens: Awaited<ReturnType<typeof started>>[] = []
    for (const userId of ['usr_aaaaaaaaaaaaaaaa', 'usr_bbbbbbbbbbbbbbbb', 'usr_cccccccccccccccc']) {
      agent.userId = userId
      tokens.push(await started(agent))
    }
    const answers = await repeat(6, (n) => echo(agent, tokens[n % 3] as (typeof tokens)[number]))
    expect(answers).toEqual({ 200: 5, 429: 1 })
    const other = await company.agentAt('203.0.113.1')
    expect((await echo(other, await started(other))).status).toBe(200)
  })

  it('that come at once pass exactly as many as may [4.3.rate-limit]', async () => {
    const company = await openLimited({ requestsPerSession: most(60), requestsPerUser: most(70) })
    const agent = await company.agentAt('203.0.113.1')
    const [one, other] = [await started(agent), await started(agent)]
    expect(tally(await parallel(100, () => echo(agent, one)))).toEqual({ 200: 60, 429: 40 })
    // What one Session was refused is not taken from its User.
    expect(tally(await parallel(100, () => echo(agent, other)))).toEqual({ 200: 10, 429: 90 })
  })

  it('are counted over MCP, at the company’s own APIs and at its tools together', async () => {
    const company = await openLimited({ requestsPerSession: most(3) })
    const agent = await company.agentAt('203.0.113.1')
    const url = `${company.origin}/poppy/mcp`
    const bearer = await started(agent, { resource: url }, true)
    const { access_token } = await started(agent, { session_id: bearer.session_id })
    const listTools = () =>
      company.sendFrom(
        '203.0.113.1',
        new Request(url, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${bearer.access_token}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
        }),
      )
    const ownApi = async () => {
      const cart = `${company.origin}/api/cart`
      const headers = { authorization: `DPoP ${access_token}`, dpop: await agent.proof('GET', cart, access_token) }
      return company.world.company.authenticate(new Request(cart, { headers }))
    }
    expect((await listTools()).status).toBe(200)
    expect(await ownApi()).toMatchObject({ sessionId: bearer.session_id })
    expect((await agent.call('/poppy/tools/echo', access_token, { body: { text: 'x' } })).status).toBe(200)
    const refused = await listTools()
    expect(refused.headers.get('retry-after')).toBe('20')
    expect(await outcome(refused)).toBe('429 rate_limited')
    const answer = await ownApi()
    expect(answer instanceof Response && [answer.status, answer.headers.get('retry-after')]).toEqual([429, '20'])
  })

  it('spend nothing when they are refused: the same proof passes later, and the store was not asked', async () => {
    const { fresh } = stores[0] as (typeof stores)[number]
    const store = watch((await fresh()).store())
    const company = await openLimited({ requestsPerSession: { requests: 1, seconds: 20 } }, {}, store)
    const agent = await company.agentAt('203.0.113.1')
    const session = await started(agent)
    await echo(agent, session)
    store.statements.length = 0
    const proof = await agent.proof('POST', `${company.origin}/poppy/tools/echo`, session.access_token)
    expect((await echo(agent, session, proof)).status).toBe(429)
    expect(store.statements).toEqual([])
    company.pass(20)
    expect((await echo(agent, session, proof)).status).toBe(200)
    expect(await outcome(await echo(agent, session, proof))).toBe('429 rate_limited')
    company.pass(20)
    expect(await outcome(await echo(agent, session, proof))).toBe('401 invalid_dpop_proof')
  })
})

describe('somebody else', () => {
  const limits = { requestsPerSession: most(5), requestsPerUser: most(5), requestsPerClient: most(5) }

  it('takes nothing from a Session by using its proofs again, nor by its token without its key', async () => {
    const company = await openLimited(limits)
    const agent = await company.agentAt('203.0.113.1')
    const session = await started(agent)
    const thief = await company.agentAt('198.51.100.7')
    const proof = await agent.proof('POST', `${company.origin}/poppy/tools/echo`, session.access_token)
    expect((await echo(agent, session, proof)).status).toBe(200)
    const replays = await parallel(50, () => echo(thief, session, proof))
    expect(tally(replays)).toEqual({ 401: 50 })
    expect(await repeat(20, () => echo(thief, session))).toEqual({ 401: 20 })
    expect(await repeat(20, () => echo(thief, session, 'no-proof'))).toEqual({ 401: 20 })
    expect(await repeat(5, () => echo(agent, session))).toEqual({ 200: 4, 429: 1 })
  })

  it('takes nothing from a Personal Agent by calling itself by its name, nor by sending its requests again', async () => {
    const company = await openLimited({ tokenRequestsPerClient: most(5), sessionsPerClient: most(5) })
    const agent = await company.agentAt('203.0.113.1')
    const forger = await company.agentAt('198.51.100.7')
    const forged = await forger.clientAssertion({ claims: { iss: agent.clientId, sub: agent.clientId } })
    const asThem = { client_id: agent.clientId, client_assertion: forged }
    expect(await repeat(20, () => forger.startSession(asThem))).toEqual({ 401: 20 })

    const copy = {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: await agent.sessionAssertion(),
      client_assertion: await agent.clientAssertion(),
    }
    const proof = await agent.proof('POST', agent.tokenUrl)
    expect((await agent.token(copy, { proof })).status).toBe(200)
    expect(tally(await parallel(20, () => agent.token(copy, { proof })))).toEqual({ 400: 20 })
    // A copy that never gets as far as a grant is no dearer.
    const bad = { ...copy, client_assertion: await agent.clientAssertion(), scope: 'loyalty' }
    expect(await outcome(await agent.token(bad))).toBe('400 invalid_scope')
    expect(await repeat(20, () => agent.token(bad))).toEqual({ 400: 20 })
    const revocation = { client_assertion: await agent.clientAssertion() }
    expect((await agent.revoke('unknown', revocation)).status).toBe(200)
    expect(await repeat(20, () => agent.revoke('unknown', revocation))).toEqual({ 401: 20 })

    expect(await repeat(3, () => agent.startSession())).toEqual({ 200: 2, 429: 1 })
  })

  it('fills no place of others with made-up agents, Users and addresses', async () => {
    const company = await openLimited({
      ...limits,
      sessionsPerUser: most(5),
      anonymousPerAddress: most(2),
      failuresPerAddress: most(2),
    })
    const agent = await company.agentAt('203.0.113.1')
    const session = await started(agent)
    const send = (n: number, init: RequestInit) => {
      const address = n % 2 === 0 ? `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}` : `2001:db8:${n.toString(16)}::1`
      const request = new Request(`${company.origin}/poppy/tools/echo`, { method: 'POST', ...init })
      request.headers.set('x-client-address', address)
      return company.world.send(request)
    }
    for (let n = 0; n < 1500; n++) {
      expect((await send(n, {})).status).toBe(401)
      expect((await send(n, { headers: { authorization: `DPoP made-up-${n}` } })).status).toBe(401)
    }
    const flood = await company.agentAt('198.51.100.7')
    for (let n = 0; n < 50; n++) {
      flood.userId = `usr_made-up-${n}`
      await started(flood)
    }
    expect(await repeat(5, () => echo(agent, session))).toEqual({ 200: 5 })
  })
})

describe.each(stores)('Sessions that begin, on $name', ({ missing, fresh }) => {
  async function open(limits: Parameters<typeof openLimited>[0]) {
    const store = watch((await fresh()).store())
    const company = await openLimited(limits, {}, store)
    const agent = await company.agentAt('203.0.113.1')
    return { store, company, agent }
  }

  it.skipIf(missing)('are limited for each Personal Agent, and a renewal is none [4.3.rate-limit]', async () => {
    const { company, agent } = await open({ sessionsPerClient: most(3) })
    const first = await started(agent)
    const names = ['usr_aaaaaaaaaaaaaaaa', 'usr_bbbbbbbbbbbbbbbb', 'usr_cccccccccccccccc', 'usr_dddddddddddddddd']
    const userOfFirst = agent.userId
    const answers = await repeat(4, (n) => {
      agent.userId = names[n] ?? ''
      return agent.startSession()
    })
    expect(answers).toEqual({ 200: 2, 429: 2 })
    agent.userId = userOfFirst
    expect(await repeat(5, () => agent.startSession({ session_id: first.session_id }))).toEqual({ 200: 5 })
    const other = await company.agentAt('203.0.113.1')
    expect((await other.startSession()).status).toBe(200)
    company.pass(20)
    expect(await repeat(2, () => agent.startSession())).toEqual({ 200: 1, 429: 1 })
  })

  it.skipIf(missing)('are limited for each User of it', async () => {
    const { company, agent } = await open({ sessionsPerUser: most(2), sessionsPerClient: most(4) })
    expect(await repeat(4, () => agent.startSession())).toEqual({ 200: 2, 429: 2 })
    agent.userId = 'usr_somebody-else-of-the-same-agent'
    // What one User was refused is not taken from the client.
    expect(await repeat(2, () => agent.startSession())).toEqual({ 200: 2 })
    const other = await company.agentAt('203.0.113.1')
    other.userId = agent.userId
    expect((await other.startSession()).status).toBe(200)
  })

  it.skipIf(missing)('are not taken from a User by what its client was refused', async () => {
    const { company, agent } = await open({
      sessionsPerClient: { requests: 2, seconds: 20 },
      sessionsPerUser: { requests: 3, seconds: 3600 },
    })
    expect(await repeat(10, () => agent.startSession())).toEqual({ 200: 2, 429: 8 })
    company.pass(20)
    expect(await repeat(2, () => agent.startSession())).toEqual({ 200: 1, 429: 1 })
  })

  it.skipIf(missing)(
    'change nothing and spend nothing when they are refused: the very same request passes later',
    async () => {
      const { company, agent, store } = await open({ sessionsPerClient: { requests: 1, seconds: 20 } })
      await started(agent)
      const request = {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: await agent.sessionAssertion(),
        client_assertion: await agent.clientAssertion(),
      }
      const proof = await agent.proof('POST', agent.tokenUrl)
      const before = [await store.dump(), await store.spent()]
      const refused = await agent.token(request, { proof })
      expect(refused.headers.get('retry-after')).toBe('20')
      expect(await outcome(refused)).toBe('429 rate_limited')
      expect([await store.dump(), await store.spent()]).toEqual(before)
      company.pass(20)
      expect((await agent.token(request, { proof })).status).toBe(200)
      expect(await outcome(await agent.token(request, { proof }))).toBe('429 rate_limited')
    },
  )

  it.skipIf(missing)('with an Account Token count the same, and leave it as good as it was', async () => {
    const { company, agent, store } = await open({ sessionsPerUser: { requests: 2, seconds: 40 } })
    const { session_id } = await started(agent)
    const { refresh_token = '' } = await company.world.signIn(agent, session_id)
    const request = { grant_type: 'refresh_token', refresh_token }
    expect((await agent.token(request)).status).toBe(200)
    const whole = { ...request, client_assertion: await agent.clientAssertion() }
    const proof = await agent.proof('POST', agent.tokenUrl)
    const before = [await store.dump(), await store.spent()]
    expect(await outcome(await agent.token(whole, { proof }))).toBe('429 rate_limited')
    expect([await store.dump(), await store.spent()]).toEqual(before)
    // No new Session, so nothing to limit.
    expect((await agent.token({ ...request, session_id })).status).toBe(200)
    company.pass(20)
    expect((await agent.token(whole, { proof })).status).toBe(200)
  })

  it.skipIf(missing)('at once pass exactly as many as may', async () => {
    const { agent, store } = await open({ sessionsPerClient: most(30) })
    expect(tally(await parallel(100, () => agent.startSession()))).toEqual({ 200: 30, 429: 70 })
    expect(((await store.dump()) as { sessions: unknown[] }).sessions).toHaveLength(30)
  })
})

describe('token requests', () => {
  it('are limited for each Personal Agent, signing out among them, and nothing is spent [4.3.rate-limit]', async () => {
    const company = await openLimited({ tokenRequestsPerClient: most(3) })
    const agent = await company.agentAt('203.0.113.1')
    const { session_id } = await started(agent)
    const { refresh_token = '' } = await company.world.signIn(agent, session_id)
    company.pass(60)
    expect(await repeat(4, () => agent.token({ grant_type: 'refresh_token', refresh_token }))).toEqual({
      200: 3,
      429: 1,
    })
    const revocation = { client_assertion: await agent.clientAssertion() }
    const refused = await agent.revoke(refresh_token, revocation)
    expect([refused.headers.get('retry-after'), await outcome(refused)]).toEqual(['20', '429 rate_limited'])
    const other = await company.agentAt('203.0.113.1')
    expect((await other.startSession()).status).toBe(200)
    company.pass(20)
    expect((await agent.revoke(refresh_token, revocation)).status).toBe(200)
    company.pass(20)
    expect(await outcome(await agent.token({ grant_type: 'refresh_token', refresh_token }))).toBe('400 invalid_grant')
  })

  it('that were refused for something else count', async () => {
    const company = await openLimited({ tokenRequestsPerClient: most(3) })
    const agent = await company.agentAt('203.0.113.1')
    const wrong = () => agent.token({ grant_type: 'refresh_token', refresh_token: 'no-such-token' })
    expect(await repeat(5, wrong)).toEqual({ 400: 3, 429: 2 })
  })

  it('at once pass exactly as many as may', async () => {
    const company = await openLimited({ tokenRequestsPerClient: most(30) })
    const agent = await company.agentAt('203.0.113.1')
    const { session_id } = await started(agent)
    expect(tally(await parallel(100, () => agent.startSession({ session_id })))).toEqual({ 200: 29, 429: 71 })
  })
})

describe('a tool with a limit of its own', () => {
  it.each([
    [undefined, '1'],
    [2.2, '3'],
    [0, '1'],
    [-5, '1'],
    [Number.NaN, '1'],
    [86_400, '86400'],
  ])('answers 429 with a Retry-After that can be read, after %s [4.3.rate-limit]', async (retryAfter, said) => {
    const busy = tool({
      name: 'busy',
      description: 'Is busy.',
      run: () => {
        throw new PoppyError('rate_limited', retryAfter === undefined ? {} : { retryAfter })
      },
    })
    const company = await openLimited({}, { tools: [busy] })
    const agent = await company.agentAt('203.0.113.1')
    const { access_token } = await started(agent)
    const answer = await agent.call('/poppy/tools/busy', access_token)
    expect([answer.headers.get('retry-after'), await outcome(answer)]).toEqual([said, '429 rate_limited'])
    const url = `${company.origin}/poppy/mcp`
    const bearer = await started(agent, { resource: url }, true)
    const overMcp = await company.sendFrom(
      '203.0.113.1',
      new Request(url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${bearer.access_token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'busy', arguments: {} } }),
      }),
    )
    const text = await overMcp.text()
    expect(text).toContain('rate_limited')
    if (retryAfter !== undefined) expect(text).toContain(`Wait ${said} s before you try again.`)
  })
})

describe('limits', () => {
  it('can be switched off one by one, or all', async () => {
    const one = await openLimited({ requestsPerSession: false, requestsPerUser: most(1000) })
    const agent = await one.agentAt('203.0.113.1')
    const session = await started(agent)
    expect(await repeat(30, () => echo(agent, session))).toEqual({ 200: 30 })

    const none = await openLimited({}, { limits: false })
    const there = await none.agentAt('203.0.113.1')
    const theirs = await started(there)
    expect(tally(await parallel(100, () => there.startSession()))).toEqual({ 200: 100 })
    for (let round = 0; round < 13; round++)
      expect(tally(await parallel(100, () => echo(there, theirs)))).toEqual({ 200: 100 })
  })

  it('are on where the company says nothing, and an honest agent doesn’t meet them', async () => {
    const company = await openLimited({})
    const agent = await company.agentAt('203.0.113.1')
    // Thirty Sessions at once for one User, and a thousand calls in one second of one Session.
    expect(tally(await parallel(30, () => agent.startSession()))).toEqual({ 200: 30 })
    const session = await started(agent)
    for (let round = 0; round < 10; round++)
      expect(tally(await parallel(100, () => echo(agent, session)))).toEqual({ 200: 100 })
    for (let round = 0; round < 2; round++) await parallel(100, () => echo(agent, session))
    expect((await echo(agent, session)).headers.get('retry-after')).toBe('1')
  })

  it('say in the log which one was met and by whom, once a minute, and nothing secret', async () => {
    const company = await openLimited({ requestsPerSession: most(1) })
    const agent = await company.agentAt('203.0.113.1')
    const session = await started(agent)
    await repeat(10, () => echo(agent, session))
    const told = () => company.world.log.filter((line) => line.startsWith('warn a limit was met'))
    expect(told()).toEqual([
      `warn a limit was met {"limit":"requestsPerSession","clientId":"https://agent-0.example/agent.json"}`,
    ])
    company.pass(60)
    await repeat(3, () => echo(agent, session))
    expect(told()).toHaveLength(2)
    expect(company.world.log.join()).not.toContain(session.access_token)
  })

  it('are each instance’s own: two of them on one store let twice as much pass', async () => {
    const database = await (stores[0] as (typeof stores)[number]).fresh()
    const config = { limits: { requestsPerSession: most(3) } }
    const { agent, turnTo } = await makeInstances([
      { store: database.store(), config },
      { store: database.store(), config },
    ])
    turnTo(0)
    const session = await started(agent)
    expect(await repeat(4, () => echo(agent, session))).toEqual({ 200: 3, 429: 1 })
    turnTo(1)
    expect(await repeat(4, () => echo(agent, session))).toEqual({ 200: 3, 429: 1 })
  })
})

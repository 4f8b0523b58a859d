import type { CompanyConfig } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { stores } from './setup/stores.ts'
import type { WireAgent } from './setup/wire-agent.ts'
import { makeWorld, outcome, type Tokens, type World } from './setup/world.ts'

// Section 4.6: a person lets an agent in with a short code, on whatever device they like.

const scopes = 'poppy:read poppy:write'
const config = {
  signIn: { direct: ['poppy:read', 'poppy:write', 'loyalty'], device: ['poppy:read', 'poppy:write'] },
} as const

interface Codes {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
  readonly expires_in: number
  readonly interval: number
}

const endpoint = (world: World) => `${world.origin}/poppy/device-authorization`

async function begin(world: World, agent: WireAgent = world.agent, scope: string | null = scopes): Promise<Codes> {
  const answer = await agent.post(endpoint(world), { scope }, { proof: null })
  expect(answer.status).toBe(200)
  return (await answer.json()) as Codes
}

const poll = (world: World, codes: Codes, session: Tokens, agent: WireAgent = world.agent, more = {}) =>
  agent.token({
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: codes.device_code,
    session_id: session.session_id,
    ...more,
  })

const open = (world: World, url: string) => world.send(new Request(url))

const submit = (world: World, fields: Record<string, string> | URLSearchParams, headers: Record<string, string> = {}) =>
  world.send(
    new Request(`${world.origin}/poppy/device`, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { origin: world.origin, ...headers },
    }),
  )

async function formOf(page: Response): Promise<string> {
  const form = /name="request" value="([^"]+)"/.exec(await page.text())?.[1]
  if (!form) throw new Error(`no form on the page, status ${page.status}`)
  return form
}

async function decide(world: World, codes: Codes, decision: 'approve' | 'decline', chosen = scopes): Promise<Response> {
  const form = await formOf(await open(world, codes.verification_uri_complete))
  const fields = new URLSearchParams({ request: form, decision })
  for (const scope of chosen.split(' ')) fields.append('scope', scope)
  return submit(world, fields)
}

describe.each(stores)('Device Sign-In on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  const start = async (bend: Partial<CompanyConfig> = {}) => makeWorld({ ...config, ...bend }, (await fresh()).store())

  test('signs the Session in once the person has approved, and once only [4.6.complete, 4.6.pending, 4.6.start, K29]', async () => {
    const world = await start()
    const session = await world.start()
    const codes = await begin(world)
    expect(codes).toMatchObject({
      verification_uri: 'https://miramar.example/poppy/device',
      verification_uri_complete: `https://miramar.example/poppy/device?user_code=${codes.user_code}`,
      expires_in: 600,
      interval: 5,
    })
    expect(codes.user_code).toMatch(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/)
    expect(await outcome(await poll(world, codes, session))).toBe('400 authorization_pending')
    expect((await decide(world, codes, 'approve')).status).toBe(200)
    world.clock.now += 5_000
    const answer = await poll(world, codes, session)
    expect(answer.status).toBe(200)
    const tokens = (await answer.json()) as Tokens
    expect(tokens).toMatchObject({ token_type: 'DPoP', scope: scopes, signed_in: true, session_id: session.session_id })
    expect(tokens.refresh_token).toMatch(/^pat_/)
    expect((await world.agent.call('/poppy/tools/my_bookings', tokens.access_token, { body: {} })).status).toBe(200)
    world.clock.now += 5_000
    expect(await outcome(await poll(world, codes, session))).toBe('400 invalid_grant')
  })

  test('opening the link approves nothing, however often [4.6.link-never-approves]', async () => {
    const world = await start()
    const session = await world.start()
    const codes = await begin(world)
    for (let times = 0; times < 3; times++)
      expect((await open(world, codes.verification_uri_complete)).status).toBe(200)
    expect(await outcome(await poll(world, codes, session))).toBe('400 authorization_pending')
  })

  test('an agent that asks too soon is told to slow down, within bounds [4.6.slow-down]', async () => {
    const world = await start()
    const session = await world.start()
    const codes = await begin(world)
    expect(await outcome(await poll(world, codes, session))).toBe('400 authorization_pending')
    const intervals: unknown[] = []
    for (let times = 0; times < 14; times++) {
      const answer = await poll(world, codes, session)
      const body = (await answer.json()) as { error: string; interval: number }
      expect([answer.status, body.error]).toEqual([400, 'slow_down'])
      intervals.push(body.interval)
    }
    expect(intervals).toEqual([10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 60, 60, 60])
    world.clock.now += 60_000
    expect(await outcome(await poll(world, codes, session))).toBe('400 authorization_pending')
  })

  test('an agent that asks too soon after the person has approved gets what was approved [4.6.slow-down, 4.6.complete]', async () => {
    const world = await start()
    const session = await world.start()
    const codes = await begin(world)
    expect(await outcome(await poll(world, codes, session))).toBe('400 authorization_pending')
    await decide(world, codes, 'approve')
    world.clock.now += 1_000
    expect(await outcome(await poll(world, codes, session))).toBe('200')
  })

  test('a decline is told, again and again [4.6.access-denied, K29]', async () => {
    const world = await start()
    const session = await world.start()
    const codes = await begin(world)
    const page = await decide(world, codes, 'decline')
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Declined')])
    for (let times = 0; times < 2; times++)
      expect(await outcome(await poll(world, codes, session))).toBe('400 access_denied')
  })

  test('codes end after ten minutes, for the agent and for the person [4.6.expired-token, K29]', async () => {
    const world = await start()
    const session = await world.start()
    const codes = await begin(world)
    const form = await formOf(await open(world, codes.verification_uri_complete))
    world.clock.now += 600_000
    expect(await outcome(await poll(world, codes, session))).toBe('400 expired_token')
    expect(await (await open(world, codes.verification_uri_complete)).text()).toContain('This code has expired')
    const late = await submit(world, { request: form, decision: 'approve', scope: 'poppy:read' })
    expect([late.status, await late.text()]).toEqual([400, expect.stringContaining('This code has expired')])
    expect(await outcome(await poll(world, codes, session))).toBe('400 expired_token')
  })

  test('what was approved in time can’t be had after the time [4.6.expired-token]', async () => {
    const world = await start()
    const session = await world.start()
    const codes = await begin(world)
    await decide(world, codes, 'approve')
    world.clock.now += 600_000
    expect(await outcome(await poll(world, codes, session))).toBe('400 expired_token')
  })

  test('the person may approve some of it, and the agent gets no more [4.6.consent-page]', async () => {
    const world = await start()
    const session = await world.start()
    const codes = await begin(world)
    await decide(world, codes, 'approve', 'poppy:read')
    const asked = await poll(world, codes, session, world.agent, { scope: scopes })
    expect(await outcome(asked)).toBe('400 invalid_scope')
    world.clock.now += 5_000
    expect(((await (await poll(world, codes, session)).json()) as Tokens).scope).toBe('poppy:read')
  })

  test('of many polls at once for one approval, one gets tokens', async () => {
    const world = await start()
    const session = await world.start()
    const codes = await begin(world)
    await decide(world, codes, 'approve')
    const answers = await Promise.all(Array.from({ length: 8 }, async () => outcome(await poll(world, codes, session))))
    expect(answers.filter((one) => one === '200')).toHaveLength(1)
    expect(answers.filter((one) => one.startsWith('5'))).toEqual([])
  })

  test('of many decisions at once one counts', async () => {
    const world = await start()
    const session = await world.start()
    const codes = await begin(world)
    const forms = await Promise.all(
      Array.from({ length: 4 }, async () => formOf(await open(world, codes.verification_uri_complete))),
    )
    const pages = await Promise.all(
      forms.map((request, index) =>
        submit(world, { request, decision: index % 2 === 0 ? 'approve' : 'decline', scope: 'poppy:read' }),
      ),
    )
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    expect(['200', '400 access_denied']).toContain(await outcome(await poll(world, codes, session)))
  })

  test('another agent’s code is nothing to it, and stays good', async () => {
    const world = await start()
    const other = await world.newAgent()
    const [mine, theirs] = [await world.start(), await world.start(other)]
    const codes = await begin(world)
    await decide(world, codes, 'approve')
    expect(await outcome(await poll(world, codes, theirs, other))).toBe('400 invalid_grant')
    expect(await outcome(await poll(world, codes, theirs))).toBe('400 invalid_session')
    world.clock.now += 5_000
    expect(await outcome(await poll(world, codes, mine))).toBe('200')
  })

  test('a Session of another account refuses it, also after sign-out, and the code stays good for another Session [4.4.one-account]', async () => {
    const world = await start()
    const session = await world.start()
    await world.signIn(world.agent, session.session_id)
    world.site.account = { id: 'acc-jonas', name: 'jonas@example.com' }
    const codes = await begin(world)
    await decide(world, codes, 'approve')
    expect(await outcome(await poll(world, codes, session))).toBe('400 account_mismatch')
    // Nor after sign-out: it has had its account.
    await world.company.accounts.disconnect('acc-maya', world.agent.clientId)
    world.clock.now += 5_000
    expect(await outcome(await poll(world, codes, session))).toBe('400 account_mismatch')
    world.clock.now += 5_000
    expect(await outcome(await poll(world, codes, await world.start()))).toBe('200')
  })

  test('wrong codes are limited for a person, whatever right ones come between, and others go on', async () => {
    const world = await start()
    const codes = await begin(world)
    for (let times = 0; times < 9; times++) expect((await submit(world, { user_code: 'BBBB-BBBB' })).status).toBe(400)
    expect((await submit(world, { user_code: codes.user_code })).status).toBe(200)
    expect((await submit(world, { user_code: 'BBBB-BBBB' })).status).toBe(400)
    const limited = await submit(world, { user_code: codes.user_code })
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '3600'])
    expect((await open(world, codes.verification_uri_complete)).status).toBe(429)
    world.site.account = { id: 'acc-jonas', name: 'jonas@example.com' }
    expect((await submit(world, { user_code: codes.user_code })).status).toBe(200)
    world.site.account = { id: 'acc-maya', name: 'maya@example.com' }
    world.clock.now += 3_600_000
    expect((await submit(world, { user_code: 'BBBB-BBBB' })).status).toBe(400)
  })

  test('wrong codes are limited for an address too, whoever sits there, and other addresses go on', async () => {
    let address = '198.51.100.7'
    const world = await start({ address: () => address, limits: { consentPerAddress: false } })
    const codes = await begin(world)
    const guess = async (person: number) => {
      world.site.account = { id: `acc-${person}`, name: `${person}@example.com` }
      return (await submit(world, { user_code: 'BBBB-BBBB' })).status
    }
    for (let guesses = 0; guesses < 50; guesses++) expect(await guess(Math.floor(guesses / 10))).toBe(400)
    expect(await guess(5)).toBe(429)
    expect((await submit(world, { user_code: codes.user_code })).status).toBe(429)
    address = '198.51.100.8'
    expect((await submit(world, { user_code: codes.user_code })).status).toBe(200)
  })

  test('a hundred guesses at once are a hundred guesses', async () => {
    const world = await start()
    const pages = await Promise.all(
      Array.from({ length: 100 }, (_, index) => submit(world, { user_code: `BCDFGH${'BCDFGHJKLM'[index % 10]}B` })),
    )
    expect(pages.filter(({ status }) => status === 400)).toHaveLength(10)
    expect(pages.filter(({ status }) => status === 429)).toHaveLength(90)
  })
})

describe('the device authorization endpoint', () => {
  it.each([
    [null, 'invalid_scope'],
    ['', 'invalid_scope'],
    ['loyalty', 'invalid_scope'],
    ['poppy:read loyalty', 'invalid_scope'],
    ['poppy:admin', 'invalid_scope'],
    ['a"b', 'invalid_scope'],
  ])('refuses the scope %j [4.4.scope-required, 4.4.invalid-scope]', async (scope, error) => {
    const world = await makeWorld(config)
    expect(await outcome(await world.agent.post(endpoint(world), { scope }, { proof: null }))).toBe(`400 ${error}`)
  })

  it('wants a client assertion, each once [4.6.start]', async () => {
    const world = await makeWorld(config)
    const ask = (parameters: Record<string, string | null>) =>
      world.agent.post(endpoint(world), { scope: scopes, ...parameters }, { proof: null })
    expect(await outcome(await ask({ client_assertion: null }))).toBe('401 invalid_client')
    const assertion = await world.agent.clientAssertion()
    expect(await outcome(await ask({ client_assertion: assertion }))).toBe('200')
    expect(await outcome(await ask({ client_assertion: assertion }))).toBe('401 invalid_client')
  })

  it('is published where it is offered, and refuses everybody elsewhere [3.1.device-scopes, 3.2.device-endpoint, 4.6.unauthorized-client]', async () => {
    const read = async (world: World, path: string) => (await open(world, world.origin + path)).json()
    const world = await makeWorld(config)
    expect(await read(world, '/.well-known/poppy.json')).toMatchObject({
      auth: { device: { scopes: ['poppy:read', 'poppy:write'] } },
    })
    expect(await read(world, '/.well-known/oauth-authorization-server')).toMatchObject({
      device_authorization_endpoint: 'https://miramar.example/poppy/device-authorization',
      grant_types_supported: expect.arrayContaining(['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token']),
    })
    const without = await makeWorld()
    expect(await read(without, '/.well-known/oauth-authorization-server')).not.toHaveProperty(
      'device_authorization_endpoint',
    )
    expect(await outcome(await without.agent.post(endpoint(without), { scope: scopes }))).toBe(
      '400 unauthorized_client',
    )
    expect((await open(without, `${without.origin}/poppy/device`)).status).toBe(404)
    const session = await without.start()
    const codes = { device_code: 'x' } as Codes
    expect(await outcome(await poll(without, codes, session))).toBe('400 unsupported_grant_type')
  })
})

describe('the device page', () => {
  it('takes a code in any case, with spaces and dashes of any kind', async () => {
    const world = await makeWorld(config)
    const { user_code: code } = await begin(world)
    const plain = code.replace('-', '')
    const wide = plain.replace(/[A-Z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0))
    for (const typed of [
      code,
      code.toLowerCase(),
      plain,
      ` ${plain} `,
      plain.split('').join(' '),
      code.replace('-', '–'),
      wide,
    ])
      expect({ typed, status: (await submit(world, { user_code: typed })).status }).toEqual({ typed, status: 200 })
  })

  it.each(['', 'short', 'BBBB-BBBA', 'BBBBBBBBB', 'x'.repeat(10_000), '1234-5678', '<script>', '\u0000'])(
    'asks again after %j',
    async (typed) => {
      const world = await makeWorld(config)
      await begin(world)
      const page = await submit(world, { user_code: typed })
      expect(page.status).toBe(400)
      const text = await page.text()
      expect(text).toContain('No agent has shown this code')
      expect(text).not.toContain('<script>')
    },
  )

  it('shows who asks, from where, for what, since when and with which code [4.6.consent-page]', async () => {
    const world = await makeWorld(config)
    const codes = await begin(world)
    world.clock.now += 130_000
    const text = await (await open(world, codes.verification_uri_complete)).text()
    for (const shown of [
      'Example Agent',
      'agent.example',
      'See your bookings',
      'Change your bookings',
      '2 minutes ago',
      codes.user_code,
      'maya@example.com',
      'Approve only if you started this yourself',
    ])
      expect(text).toContain(shown)
  })

  it('sends who isn’t signed in to the site’s own sign-in, and back', async () => {
    const world = await makeWorld(config)
    const codes = await begin(world)
    world.site.account = null
    const away = await open(world, codes.verification_uri_complete)
    expect(away.status).toBe(303)
    expect(new URL(away.headers.get('location') ?? '').searchParams.get('next')).toBe(
      `/poppy/device?user_code=${codes.user_code}`,
    )
    expect((await submit(world, { user_code: codes.user_code })).status).toBe(303)
  })

  it('takes a form from its own page only, complete, and for the person that it was shown to', async () => {
    const world = await makeWorld(config)
    const session = await world.start()
    const codes = await begin(world)
    const request = await formOf(await open(world, codes.verification_uri_complete))
    const good = { request, decision: 'approve', scope: 'poppy:read' }
    expect((await submit(world, good, { origin: 'https://evil.test' })).status).toBe(403)
    expect((await submit(world, good, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await submit(world, { ...good, decision: 'maybe' })).status).toBe(400)
    expect((await submit(world, { decision: 'approve' })).status).toBe(400)
    expect((await submit(world, { ...good, request: `${request}x` })).status).toBe(400)
    expect((await submit(world, { request, decision: 'approve' })).status).toBe(400)
    expect((await submit(world, { request, decision: 'approve', scope: 'loyalty' })).status).toBe(400)
    world.site.account = { id: 'acc-jonas', name: 'jonas@example.com' }
    expect((await submit(world, good)).status).toBe(403)
    expect(await outcome(await poll(world, codes, session))).toBe('400 authorization_pending')
    world.site.account = { id: 'acc-maya', name: 'maya@example.com' }
    expect((await submit(world, good)).status).toBe(200)
  })

  it('doesn’t take the form of Direct Sign-In, nor that page this one’s', async () => {
    const world = await makeWorld(config)
    const codes = await begin(world)
    const request = await formOf(await open(world, codes.verification_uri_complete))
    const answer = await world.send(
      new Request(`${world.origin}/poppy/authorize`, {
        method: 'POST',
        body: new URLSearchParams({ request, decision: 'approve', scope: 'poppy:read' }),
        headers: { origin: world.origin },
      }),
    )
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: world.agent.clientId,
      redirect_uri: world.agent.redirectUri,
      scope: 'poppy:read',
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    })
    const direct = await formOf(await open(world, `${world.origin}/poppy/authorize?${query}`))
    expect((await submit(world, { request: direct, decision: 'approve', scope: 'poppy:read' })).status).toBe(400)
  })

  it('shuts a blocked agent out, also when the page was open already', async () => {
    let isBlocked = false
    const world = await makeWorld({ ...config, agents: { block: () => isBlocked } })
    const session = await world.start()
    const codes = await begin(world)
    const request = await formOf(await open(world, codes.verification_uri_complete))
    isBlocked = true
    expect((await open(world, codes.verification_uri_complete)).status).toBe(400)
    expect((await submit(world, { request, decision: 'approve', scope: 'poppy:read' })).status).toBe(400)
    isBlocked = false
    expect(await outcome(await poll(world, codes, session))).toBe('400 authorization_pending')
  })
})

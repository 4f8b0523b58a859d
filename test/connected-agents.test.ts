import { describe, expect, it } from 'vitest'
import { stores } from './setup/stores.ts'
import { makeWorld, outcome, type World } from './setup/world.ts'

// Section 4.9: a person sees in their account who acts for them, and ends it with one click that bites at once.

const open = (world: World, headers: Record<string, string> = {}) =>
  world.send(new Request(`${world.origin}/poppy/agents`, { headers }))

async function formOf(page: Response): Promise<string> {
  const form = /name="request" value="([^"]+)"/.exec(await page.text())?.[1]
  if (!form) throw new Error(`no form on the page, status ${page.status}`)
  return form
}

const submit = (world: World, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  world.send(
    new Request(`${world.origin}/poppy/agents`, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { origin: world.origin, ...headers },
    }),
  )

async function connected(world: World) {
  const session = await world.start()
  const tokens = await world.signIn(world.agent, session.session_id)
  return {
    session,
    tokens,
    call: (tool: string) => world.agent.call(`/poppy/tools/${tool}`, tokens.access_token, { body: {} }),
  }
}

describe.each(stores)('the page of connected agents, on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  const start = async () => makeWorld({}, (await fresh()).store())

  test('shows each agent once: who, from where, with which rights, how and since when', async () => {
    const world = await start()
    const { session } = await connected(world)
    world.clock.now += 3 * 86_400_000
    await world.signIn(world.agent, session.session_id, { scope: 'loyalty' })
    const other = await world.newAgent()
    await world.signIn(other, (await world.start(other)).session_id, { scope: 'poppy:read' })
    const text = await (await open(world)).text()
    expect(text.match(/<section/g)).toHaveLength(2)
    for (const shown of [
      'Example Agent',
      'agent.example',
      new URL(other.clientId).host,
      'See your bookings',
      'Change your bookings',
      'See your points',
      'by your approval on our page',
      'maya@example.com',
    ])
      expect(text).toContain(shown)
    world.clock.now += 5 * 86_400_000
    expect(await (await open(world)).text()).toContain('Connected on 3 December 2026')
    expect(await (await open(world, { 'accept-language': 'en-US,en;q=0.9' })).text()).toContain('December 3, 2026')
    for (const odd of ['*', 'x-klingon', '"', 'en-', 'a'.repeat(5000)])
      expect((await open(world, { 'accept-language': odd })).status).toBe(200)
  })

  test('disconnects an agent with one click, and its next request is signed out [4.9.disconnect]', async () => {
    const world = await start()
    const { call, tokens } = await connected(world)
    expect((await call('my_bookings')).status).toBe(200)
    const request = await formOf(await open(world))
    const done = await submit(world, { request, act: 'disconnect', client_id: world.agent.clientId })
    expect([done.status, await done.text()]).toEqual([200, expect.stringContaining('no longer has access')])
    expect(await outcome(await call('my_bookings'))).toBe('403 sign_in_required')
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' }
    expect(await outcome(await world.agent.token(refresh))).toBe('400 invalid_grant')
    expect(await (await open(world)).text()).toContain('No agent has access')
  })

  test('takes one right away: also from tokens that are out, and from what is still to be fetched', async () => {
    const world = await start()
    const { call, tokens } = await connected(world)
    const pending = await world.decide(world.agent, { scope: 'poppy:read poppy:write' })
    const request = await formOf(await open(world))
    const fields = { request, act: 'take_away', client_id: world.agent.clientId }
    expect((await submit(world, { ...fields, scope: 'poppy:write' })).status).toBe(200)
    expect(await outcome(await call('add_note'))).toBe('403 insufficient_scope')
    expect((await call('my_bookings')).status).toBe(200)
    const refresh = await world.agent.token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' })
    expect(((await refresh.json()) as { scope: string }).scope).toBe('poppy:read')
    const code = await world.agent.token({
      grant_type: 'authorization_code',
      code: pending.searchParams.get('code'),
      redirect_uri: world.agent.redirectUri,
      code_verifier: 'x'.repeat(43),
      session_id: (await world.start()).session_id,
    })
    expect(await outcome(code)).toBe('400 invalid_grant')
    expect((await submit(world, { ...fields, scope: 'poppy:read' })).status).toBe(200)
    expect(await outcome(await call('my_bookings'))).toBe('403 sign_in_required')
    expect(await world.company.accounts.connectedAgents('acc-maya')).toEqual([])
  })

  test('two rights that are taken away at once are both gone', async () => {
    const world = await start()
    const session = await world.start()
    await world.signIn(world.agent, session.session_id, { scope: 'poppy:read poppy:write loyalty' })
    const take = (scope: string) => world.company.accounts.takeAway('acc-maya', world.agent.clientId, scope)
    expect(await Promise.all([take('poppy:write'), take('loyalty'), take('unknown')])).toEqual([true, true, false])
    const [left] = await world.company.accounts.connectedAgents('acc-maya')
    expect(left?.rights.map(({ scope }) => scope)).toEqual(['poppy:read'])
  })

  test('disconnects all of them, and nobody else’s', async () => {
    const world = await start()
    await connected(world)
    const other = await world.newAgent()
    await world.signIn(other, (await world.start(other)).session_id)
    world.site.account = { id: 'acc-jonas', name: 'jonas@example.com' }
    const jonas = await world.newAgent()
    await world.signIn(jonas, (await world.start(jonas)).session_id)
    world.site.account = { id: 'acc-maya', name: 'maya@example.com' }
    const request = await formOf(await open(world))
    expect((await submit(world, { request, act: 'disconnect' })).status).toBe(200)
    expect(await world.company.accounts.connectedAgents('acc-maya')).toEqual([])
    expect(await world.company.accounts.connectedAgents('acc-jonas')).toHaveLength(1)
  })
})

describe('the form on the page of connected agents', () => {
  it('counts from that page only, whole, in time, and for the person that it was shown to', async () => {
    const world = await makeWorld()
    await connected(world)
    const request = await formOf(await open(world))
    const good = { request, act: 'disconnect', client_id: world.agent.clientId }
    const statuses = async (fields: Record<string, string>, headers = {}) =>
      (await submit(world, fields, headers)).status
    expect(await statuses(good, { origin: 'https://evil.test' })).toBe(403)
    expect(await statuses(good, { 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await statuses({ ...good, act: 'all' })).toBe(400)
    expect(await statuses({ ...good, request: `${request}x` })).toBe(400)
    expect(await statuses({ act: 'disconnect' })).toBe(400)
    expect(await statuses({ request, act: 'take_away', client_id: world.agent.clientId })).toBe(400)
    expect(await statuses({ request, act: 'take_away', scope: 'poppy:read' })).toBe(400)
    // A button for one right must never end everything because a field got lost.
    expect(await statuses({ request, act: 'disconnect', scope: 'poppy:read' })).toBe(400)
    world.site.account = { id: 'acc-jonas', name: 'jonas@example.com' }
    expect(await statuses(good)).toBe(403)
    world.site.account = null
    expect(await statuses(good)).toBe(303)
    world.site.account = { id: 'acc-maya', name: 'maya@example.com' }
    world.clock.now += 30 * 60_000
    expect(await statuses(good)).toBe(400)
    expect(await world.company.accounts.connectedAgents('acc-maya')).toHaveLength(1)
  })

  it('is not one of the sign-in pages’ forms', async () => {
    const world = await makeWorld()
    await connected(world)
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: world.agent.clientId,
      redirect_uri: world.agent.redirectUri,
      scope: 'poppy:read',
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    })
    const request = await formOf(await world.send(new Request(`${world.origin}/poppy/authorize?${query}`)))
    expect((await submit(world, { request, act: 'disconnect' })).status).toBe(400)
  })

  it('sends who isn’t signed in to the site’s sign-in, and is linked from the consent page', async () => {
    const world = await makeWorld()
    world.site.account = null
    const away = await open(world)
    expect([away.status, away.headers.get('location')]).toEqual([
      303,
      'https://miramar.example/login?next=%2Fpoppy%2Fagents',
    ])
  })
})

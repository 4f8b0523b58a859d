import { describe, expect, it } from 'vitest'
import { exchange, getCode } from './setup/consent.ts'
import { listTools, rightsOf, tokensOf } from './setup/rights.ts'
import { stores } from './setup/stores.ts'
import { makeWorld, outcome, type World } from './setup/world.ts'

// Section 4.9: a company's policy at sign-out: Sessions continue signed out, or they end.

const mcp = 'https://miramar.example/poppy/mcp'
const page = 'https://miramar.example/bookings'
const client = 'https://agent.example/agent.json'

const refresh = (world: World, token: string, more: Record<string, string> = {}, extra = {}) =>
  world.agent.token({ grant_type: 'refresh_token', refresh_token: token, ...more }, extra)

describe.each(stores)('at a company that ends Sessions at sign-out, on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  const start = async (config = {}) =>
    makeWorld({ browser: true, signOut: { sessions: 'end' }, ...config }, (await fresh()).store())

  async function join(world: World, sessionId: string) {
    const assertion = await world.agent.browserAssertion(sessionId, page)
    const body = new URLSearchParams({ assertion })
    const answer = await world.send(new Request(`${world.origin}/poppy/browser-session`, { method: 'POST', body }))
    const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
    return () => world.company.browserPrincipal(new Request(page, { headers: { cookie } }))
  }

  test.each<[string, (world: World, accountToken: string) => Promise<unknown>]>([
    ['its agent signs out', (world, token) => world.agent.revoke(token)],
    ['the person disconnects it', (world) => world.company.accounts.disconnect('acc-maya', client)],
    ['all access is ended', (world) => world.company.accounts.revokeAll('acc-maya')],
    [
      'its last right is taken away',
      async (world) => {
        await world.company.accounts.takeAway('acc-maya', client, 'poppy:read')
        await world.company.accounts.takeAway('acc-maya', client, 'poppy:write')
      },
    ],
  ])(
    'a Session ends when %s, and a new one has to be started [4.9.continue-signed-out, 4.2.session-ended]',
    async (_, end) => {
      const world = await start()
      const { agent } = world
      const { session_id } = await world.start()
      const { access_token, refresh_token = '' } = await world.signIn(agent, session_id)
      const second = await tokensOf(refresh(world, refresh_token))
      const bearer = await tokensOf(refresh(world, refresh_token, { session_id, resource: mcp }, { proof: null }))
      const signedOut = await tokensOf(agent.startSession({ session_id }))
      const browser = await join(world, session_id)
      const bystander = await world.start()
      const code = await getCode(world)
      expect(await browser()).toMatchObject({ account: 'acc-maya' })

      await end(world, refresh_token)
      for (const token of [access_token, second.access_token, signedOut.access_token])
        expect(await rightsOf(world, token)).toBe('401 invalid_token')
      expect(await outcome(await listTools(world, `Bearer ${bearer.access_token}`))).toBe('401 invalid_token')
      expect(await browser()).toBe(null)
      expect(await outcome(await agent.startSession({ session_id }))).toBe('400 invalid_session')
      expect(await outcome(await refresh(world, refresh_token))).toBe('400 invalid_grant')
      expect(await outcome(await exchange(agent, code, session_id))).toMatch(/^400 invalid_(grant|session)$/)
      // Whoever wasn't signed in goes on, and so does a new one.
      expect(await rightsOf(world, bystander.access_token)).toBe('out')
      world.clock.now += 1
      const again = await world.signIn(agent, (await world.start()).session_id)
      expect(await rightsOf(world, again.access_token)).toBe('in')
      expect(await outcome(await refresh(world, again.refresh_token ?? '', { session_id }))).toBe('400 invalid_session')
    },
  )

  test('a Session that moved to a later sign-in goes on when the replaced token is revoked', async () => {
    const world = await start()
    const { session_id } = await world.start()
    const { refresh_token: weak = '' } = await world.signIn(world.agent, session_id, { scope: 'poppy:read' })
    const left = await tokensOf(refresh(world, weak))
    world.clock.now += 1000
    const strong = await world.signIn(world.agent, session_id)
    expect(await outcome(await world.agent.revoke(weak))).toBe('200')
    expect(await rightsOf(world, strong.access_token)).toBe('in')
    expect(await rightsOf(world, left.access_token)).toBe('401 invalid_token')
  })

  test('a code and an Account Token that come again are a sign-out too; one that runs out is none', async () => {
    const world = await start({ rotation: { grace: 10 }, lifetimes: { accountToken: 600 } })
    const { agent } = world
    const { session_id } = await world.start()
    const code = await getCode(world)
    const first = await tokensOf(exchange(agent, code, session_id))
    expect(await outcome(await exchange(agent, code, session_id))).toBe('400 invalid_grant')
    expect(await rightsOf(world, first.access_token)).toBe('401 invalid_token')

    const { session_id: other } = await world.start()
    const { refresh_token: copied = '', access_token } = await world.signIn(agent, other)
    await refresh(world, copied)
    world.clock.now += 11_000
    expect(await outcome(await refresh(world, copied))).toBe('400 invalid_grant')
    expect(await rightsOf(world, access_token)).toBe('401 invalid_token')

    const { session_id: third } = await world.start()
    await world.signIn(agent, third)
    world.clock.now += 601_000
    const renewed = await agent.startSession({ session_id: third })
    expect(await renewed.json()).toMatchObject({ session_id: third, signed_in: false })
  })

  test('left out, they continue signed out [4.9.continue-signed-out]', async () => {
    for (const signOut of [undefined, {}, { sessions: 'continue' as const }]) {
      const world = await makeWorld(signOut === undefined ? {} : { signOut }, (await fresh()).store())
      const { session_id } = await world.start()
      const { access_token, refresh_token = '' } = await world.signIn(world.agent, session_id)
      await world.agent.revoke(refresh_token)
      expect(await rightsOf(world, access_token)).toBe('out')
      expect((await world.agent.startSession({ session_id })).status).toBe(200)
    }
  })
})

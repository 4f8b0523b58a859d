import { describe, expect, it } from 'vitest'
import { authorizationQuery, decideOn, exchange, getCode, openForm, openPage, redirectOf } from './setup/consent.ts'
import { makeInstances } from './setup/instances.ts'
import { listTools, rightsOf, tokensOf } from './setup/rights.ts'
import { race, stores } from './setup/stores.ts'
import { watch } from './setup/watched-store.ts'
import { makeWorld, outcome, type World } from './setup/world.ts'

// Section 4.1: a company blocks a Personal Agent, and it is out at once: at every endpoint, of every instance.

const client = 'https://agent.example/agent.json'
const mcp = 'https://miramar.example/poppy/mcp'
const page = 'https://miramar.example/bookings'
const config = {
  browser: true,
  signIn: {
    direct: ['poppy:read', 'poppy:write', 'loyalty'],
    device: ['poppy:read', 'poppy:write'],
    mediated: {
      fields: [
        { name: 'email', label: 'Email', secret: false },
        { name: 'password', label: 'Password', secret: true },
      ],
      scopes: ['poppy:read'],
      verify: async () => 'acc-maya',
    },
  },
} as const

const postForm = (world: World, path: string, fields: Record<string, string>, headers = {}) =>
  world.send(
    new Request(world.origin + path, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { origin: world.origin, ...headers },
    }),
  )

describe.each(stores)(
  'a Personal Agent that the company blocks, on $name',
  { timeout: 60_000 },
  ({ missing, fresh }) => {
    const test = it.skipIf(missing !== null)

    test('is out everywhere on its very next request, and unblocked it has what it had [4.1.blocklist]', async () => {
      const world = await makeWorld(config, (await fresh()).store())
      const { agent, company } = world
      const other = await world.newAgent()
      const theirs = await world.start(other)
      const { session_id } = await world.start()
      const { access_token, refresh_token = '' } = await world.signIn(agent, session_id)
      const bearer = await tokensOf(
        agent.token({ grant_type: 'refresh_token', refresh_token, session_id, resource: mcp }, { proof: null }),
      )
      const join = async () =>
        postForm(world, '/poppy/browser-session', { assertion: await agent.browserAssertion(session_id, page) })
      const cookie = (await join()).headers.get('set-cookie')?.split(';')[0] ?? ''
      const browser = () => company.browserPrincipal(new Request(page, { headers: { cookie } }))
      const code = await getCode(world)
      const form = await openForm(world)
      const begin = () =>
        agent.post(`${world.origin}/poppy/device-authorization`, { scope: 'poppy:read' }, { proof: null })
      const device = (await (await begin()).json()) as Record<string, string>
      const devicePage = () => world.send(new Request(device.verification_uri_complete ?? ''))
      const deviceForm = /name="request" value="([^"]+)"/.exec(await (await devicePage()).text())?.[1] ?? ''
      const decideDevice = () =>
        postForm(world, '/poppy/device', { request: deviceForm, decision: 'approve', scope: 'poppy:read' })
      const poll = () =>
        agent.token({
          grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
          device_code: device.device_code ?? '',
          session_id,
        })

      expect(await company.agents.block(client, { reason: 'Reads more than it is asked to' })).toBe(true)
      expect(await rightsOf(world, access_token)).toBe('401 invalid_token')
      expect(await outcome(await listTools(world, `Bearer ${bearer.access_token}`))).toBe('401 invalid_token')
      const credentials = { email: 'maya@example.com', password: 'a password' }
      const body = { scope: 'poppy:read', credentials }
      expect(await outcome(await agent.call('/poppy/sign-in', access_token, { body }))).toBe('401 invalid_token')
      const url = `${world.origin}/api/cart`
      const headers = {
        authorization: `DPoP ${access_token}`,
        dpop: await agent.proof('GET', url, access_token),
      }
      expect(await company.authenticate(new Request(url, { headers }))).toMatchObject({ status: 401 })
      expect(await browser()).toBe(null)
      expect((await join()).status).toBe(400)
      for (const refused of [
        await agent.startSession(),
        await agent.startSession({ session_id }),
        await agent.startSession({ session_id, resource: mcp }, { proof: null }),
        await agent.token({ grant_type: 'refresh_token', refresh_token }),
        await exchange(agent, code, session_id),
        await begin(),
        await poll(),
      ])
        expect(await outcome(refused)).toBe('401 invalid_client')
      for (const refused of [
        await openPage(world, authorizationQuery(agent)),
        await decideOn(world, form),
        await devicePage(),
        await decideDevice(),
      ])
        expect([refused.status, refused.headers.get('location')]).toEqual([400, null])
      expect(await rightsOf(world, theirs.access_token, other)).toBe('out')
      // Why is the company's own affair: neither the agent nor a log is told.
      expect(world.log.join('\n')).not.toContain('Reads more')

      expect(await company.agents.unblock(client)).toBe(true)
      expect(await rightsOf(world, access_token)).toBe('in')
      expect((await listTools(world, `Bearer ${bearer.access_token}`)).status).toBe(200)
      expect(await browser()).toMatchObject({ account: 'acc-maya' })
      expect((await decideDevice()).status).toBe(200)
      expect(await outcome(await agent.token({ grant_type: 'refresh_token', refresh_token }))).toBe('200')
      expect(redirectOf(await decideOn(world, form)).said).toHaveProperty('code')
      expect(await outcome(await exchange(agent, code, session_id))).toBe('200')
      expect(await outcome(await poll())).toBe('200')
    })

    test('is out at every other instance as well, with the next thing that it does [4.1.blocklist]', async () => {
      const store = await fresh()
      const { agent, worlds, turnTo } = await makeInstances([{ store: store.store() }, { store: store.store() }])
      const [here, there] = [turnTo(0), turnTo(1)]
      const { access_token, refresh_token = '' } = await here.signIn(agent, (await here.start(agent)).session_id)
      turnTo(1)
      expect(await rightsOf(there, access_token, agent)).toBe('in')
      await worlds[0]?.company.agents.block(agent.clientId)
      expect(await rightsOf(there, access_token, agent)).toBe('401 invalid_token')
      expect(await outcome(await agent.startSession())).toBe('401 invalid_client')
      expect(await there.company.agents.blocked()).toMatchObject([{ clientId: agent.clientId }])
      await there.company.agents.unblock(agent.clientId)
      turnTo(0)
      expect(await rightsOf(here, access_token, agent)).toBe('in')
      expect(await outcome(await agent.token({ grant_type: 'refresh_token', refresh_token }))).toBe('200')
    })

    test('may still sign out: that only takes access away [4.9.revoke]', async () => {
      const world = await makeWorld({}, (await fresh()).store())
      const { agent, company } = world
      const { access_token, refresh_token = '' } = await world.signIn(agent, (await world.start()).session_id)
      await company.agents.block(client)
      const another = await world.newAgent()
      expect(await outcome(await another.revoke(refresh_token))).toBe('400 invalid_grant')
      expect(await outcome(await agent.revoke(refresh_token))).toBe('200')
      await company.agents.unblock(client)
      expect(await rightsOf(world, access_token)).toBe('out')
      expect(await outcome(await agent.token({ grant_type: 'refresh_token', refresh_token }))).toBe('400 invalid_grant')
    })

    test('finds ended what was ended while it was blocked, and what it tried has kept nothing alive', async () => {
      const world = await makeWorld({ lifetimes: { sessionIdle: 1000 } }, (await fresh()).store())
      const { agent, company } = world
      const ended = await world.signIn(agent, (await world.start()).session_id)
      await company.agents.block(client)
      for (let minutes = 0; minutes < 20; minutes++) {
        world.clock.now += 60_000
        expect(await rightsOf(world, ended.access_token)).toBe('401 invalid_token')
      }
      // Whoever looks after an account sees the access that comes back with an unblocking, and can end it before.
      expect(await company.accounts.connectedAgents('acc-maya')).toMatchObject([{ clientId: client }])
      expect(await company.accounts.disconnect('acc-maya', client)).toBe(1)
      await company.agents.unblock(client)
      expect(await outcome(await agent.startSession({ session_id: ended.session_id }))).toBe('400 invalid_session')
      const { refresh_token = '' } = ended
      expect(await outcome(await agent.token({ grant_type: 'refresh_token', refresh_token }))).toBe('400 invalid_grant')
    })

    test('is listed with its name and a reason, the newest first; twice is once', async () => {
      const world = await makeWorld({}, (await fresh()).store())
      const { agents } = world.company
      await world.start()
      const first = world.clock.now
      expect(await agents.block(client)).toBe(true)
      world.clock.now += 1000
      expect(await agents.block('https://never-here.example/agent', { reason: '  A copy of another one ' })).toBe(true)
      expect(await agents.block(client, { reason: 'Asked by our lawyers' })).toBe(false)
      expect(await agents.block(client)).toBe(false)
      expect(await agents.blocked()).toEqual([
        {
          clientId: 'https://never-here.example/agent',
          host: 'never-here.example',
          name: 'never-here.example',
          reason: 'A copy of another one',
          blockedAt: first + 1000,
        },
        {
          clientId: client,
          host: 'agent.example',
          name: 'Example Agent',
          reason: 'Asked by our lawyers',
          blockedAt: first,
        },
      ])
      expect(await agents.unblock(client)).toBe(true)
      expect(await agents.unblock(client)).toBe(false)
      expect(await agents.blocked()).toHaveLength(1)
      expect(world.log.filter((line) => line.includes('blocked'))).toHaveLength(3)
    })

    test('has to be named as it names itself: anything else would block nobody', async () => {
      const world = await makeWorld({}, (await fresh()).store())
      const { agents } = world.company
      for (const odd of [
        'agent.example',
        'https://agent.example',
        'https://AGENT.example/agent.json',
        'http://agent.example/agent.json',
        'https://agent.example/a/../agent.json',
        'https://agent.example/agent.json\u0000',
        `https://agent.example/${'a'.repeat(5000)}`,
        '',
        ' https://agent.example/agent.json',
        null,
        undefined,
        7,
        [client],
      ]) {
        await expect(agents.block(odd as string)).rejects.toThrow(/no client_id.*https:\/\/agent\.example\/agent\.json/)
        await expect(agents.unblock(odd as string)).rejects.toThrow(TypeError)
      }
      for (const reason of ['', '   ', 'two\nlines', 'x'.repeat(501), '\u0000', '\ud800', 7, null, {}])
        await expect(agents.block(client, { reason: reason as string })).rejects.toThrow(/`reason` is one line/)
      expect(await agents.blocked()).toEqual([])
      expect((await world.start()).signed_in).toBe(false)
    })

    test('costs the others no question more: the block is read with the Session [4.1.blocklist]', async () => {
      const store = watch((await fresh()).store())
      const world = await makeWorld({}, store)
      const { access_token } = await world.signIn(world.agent, (await world.start()).session_id)
      await world.company.agents.block('https://somebody.example/agent.json')
      store.statements.length = 0
      expect(await rightsOf(world, access_token)).toBe('in')
      expect(store.statements).toHaveLength(1)
      await world.company.agents.block(client)
      store.statements.length = 0
      expect(await rightsOf(world, access_token)).toBe('401 invalid_token')
      expect(store.statements).toHaveLength(1)
    })

    test('is blocked once by two processes at once, and unblocked once', async () => {
      const { address, open } = await fresh()
      await open()
      const keys = Array.from({ length: 40 }, (_, number) => `https://agent-${number}.example/agent.json`)
      const task = { company: 'https://miramar.example', now: 1, keys }
      for (const work of ['block', 'unblock'] as const) {
        const [one, other] = (await race(address, 2, { ...task, work })) as [boolean[], boolean[]]
        expect(keys.filter((_, at) => one[at] === other[at])).toEqual([])
      }
    })
  },
)

import type { NewAgent } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { authorizationQuery, formOn, openPage } from './setup/consent.ts'
import { makeInstances } from './setup/instances.ts'
import { rightsOf } from './setup/rights.ts'
import { stores } from './setup/stores.ts'
import { watch } from './setup/watched-store.ts'
import type { WireAgent } from './setup/wire-agent.ts'
import { makeWorld, outcome, type World } from './setup/world.ts'

const minute = 60_000
const client = 'https://agent.example/agent.json'

/** Changes what an agent publishes. */
function publish(agent: WireAgent, members: Record<string, unknown>): void {
  agent.documents[agent.clientId] = { ...(agent.documents[agent.clientId] as object), ...members }
}

/** What a page says of an agent: its status, and whether it has a form to approve with. */
async function pageFor(world: World, agent = world.agent): Promise<string> {
  const page = await openPage(world, authorizationQuery(agent))
  const status = `${page.status}${page.headers.has('location') ? ' redirect' : ''}`
  return (await formOn(page)) === '' ? status : `${status} asks`
}

/** A company with a register, and a list of what it was asked. */
function register(answer: (agent: NewAgent) => boolean | Promise<boolean>) {
  const asked: NewAgent[] = []
  return {
    asked,
    register: (agent: NewAgent) => {
      asked.push(agent)
      return answer(agent)
    },
  }
}

describe('a company that wants agents to register', () => {
  it('turns one that is not registered away, at each endpoint and on the page [4.1.registration]', async () => {
    const registered = new Set<string>()
    const { asked, register: ask } = register(async ({ clientId }) => registered.has(clientId))
    const signIn = { direct: ['poppy:read', 'poppy:write', 'loyalty'], device: ['poppy:read'] }
    const world = await makeWorld({ agents: { register: ask }, signIn })
    const { agent } = world
    const device = 'https://miramar.example/poppy/device-authorization'
    for (const refused of [
      await agent.startSession(),
      await agent.post(device, { scope: 'poppy:read' }, { proof: null }),
      await agent.startSession({ resource: 'https://miramar.example/poppy/mcp' }, { proof: null }),
      await agent.token({ grant_type: 'refresh_token', refresh_token: 'pat_made-up' }),
      await agent.token({ grant_type: 'authorization_code', code: 'x', redirect_uri: 'x', code_verifier: 'x' }),
      await agent.revoke('pat_made-up'),
    ]) {
      const body = await refused.clone().json()
      expect(await outcome(refused)).toBe('401 invalid_client')
      // The same words as for any other agent that may not come in.
      expect(body).toEqual({ error: 'invalid_client', error_description: 'The Personal Agent was not accepted.' })
    }
    expect(await pageFor(world)).toBe('400')
    // Nor does it get an error sent to its address.
    expect((await openPage(world, authorizationQuery(agent, { scope: null }))).headers.get('location')).toBeNull()
    expect(asked).toHaveLength(1)

    // Registered, it comes in within a minute.
    registered.add(client)
    world.clock.now += minute
    expect(await pageFor(world)).toBe('200 asks')
    const tokens = await world.start()
    expect(await rightsOf(world, tokens.access_token)).toBe('out')
    expect(asked).toHaveLength(2)
  })

  it('is told who asks, cleaned as a person would see it, and is asked once', async () => {
    const { asked, register: ask } = register(() => true)
    const world = await makeWorld({ agents: { register: ask } })
    publish(world.agent, {
      client_name: 'Exa\u202emple\nAgent',
      logo_uri: 'https://cdn.example/logo.png',
      extensions: { operations: { version: '1' }, odd: true },
    })
    await world.start()
    await world.start()
    expect(await pageFor(world)).toBe('200 asks')
    world.clock.now += 40 * 24 * 60 * minute
    await world.start()
    expect(asked).toEqual([
      {
        clientId: client,
        host: 'agent.example',
        name: 'Example Agent',
        logoUrl: 'https://cdn.example/logo.png',
        extensions: { operations: '1' },
      },
    ])
    expect(Object.isFrozen(asked[0])).toBe(true)
  })

  it('is asked once also when a hundred requests of one agent come together', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const { asked, register: ask } = register(() => promise)
    const world = await makeWorld({ agents: { register: ask }, limits: false })
    const all = Array.from({ length: 100 }, () => world.agent.startSession())
    resolve(true)
    for (const answer of await Promise.all(all)) expect(answer.status).toBe(200)
    expect(asked).toHaveLength(1)
  })

  it('is not asked before everything cheaper was right: lists, documents, signature, redirect_uri', async () => {
    const { asked, register: ask } = register(() => true)
    const world = await makeWorld({ agents: { register: ask, block: ['https://blocked.example/agent.json'] } })
    const { agent } = world
    const blocked = await world.newAgent('https://blocked.example/agent.json')
    const stranger = await world.newAgent()
    for (const answer of [
      await blocked.startSession(),
      await agent.startSession({ client_assertion: await stranger.clientAssertion() }),
      await agent.startSession({ client_assertion: null }),
      await agent.startSession({ client_assertion: await agent.clientAssertion({ key: stranger.signing.privateKey }) }),
      await agent.startSession({
        client_assertion: await agent.clientAssertion({ claims: { aud: 'https://x.example' } }),
      }),
    ])
      expect(await outcome(answer)).toBe('401 invalid_client')
    expect(await pageFor(world, blocked)).toBe('400')
    const elsewhere = authorizationQuery(agent, { redirect_uri: 'https://agent.example/other' })
    expect((await openPage(world, elsewhere)).status).toBe(400)
    expect(asked).toEqual([])
  })

  it('takes a registration back by its block list, on the very next request', async () => {
    const blocked = new Set<string>()
    const world = await makeWorld({ agents: { register: () => true, block: (clientId) => blocked.has(clientId) } })
    const tokens = await world.start()
    blocked.add(client)
    expect(await rightsOf(world, tokens.access_token)).toBe('401 invalid_token')
    expect(await outcome(await world.agent.startSession())).toBe('401 invalid_client')
    expect(await pageFor(world)).toBe('400')
  })

  it.each([
    ['throws', () => Promise.reject(new Error('password of the register: hunter2'))],
    [
      'throws at once',
      () => {
        throw new Error('hunter2')
      },
    ],
    ['says neither yes nor no', () => 'yes' as never],
    ['says nothing', () => undefined as never],
  ])('lets nobody in when its own code %s, and remembers nothing of it', async (_, answer: () => Promise<boolean>) => {
    let works = false
    const { asked, register: ask } = register(() => (works ? true : answer()))
    const world = await makeWorld({ agents: { register: ask } })
    for (let tries = 0; tries < 3; tries++) {
      const refused = await world.agent.startSession()
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10'])
      expect(await refused.text()).not.toContain('hunter2')
    }
    expect(await pageFor(world)).toBe('400')
    expect(asked).toHaveLength(4)
    works = true
    expect((await world.start()).signed_in).toBe(false)
  })

  for (const { name, missing, fresh } of stores) {
    it.skipIf(missing)(`keeps a yes in the store, for each instance and after a restart, on ${name}`, async () => {
      const { store } = await fresh()
      const { asked, register: ask } = register(() => true)
      const config = { agents: { register: ask } }
      const { agent, turnTo } = await makeInstances([
        { store: store(), config },
        { store: store(), config },
      ])
      turnTo(0)
      expect((await agent.startSession()).status).toBe(200)
      turnTo(1)
      expect((await agent.startSession()).status).toBe(200)
      expect(asked).toHaveLength(1)
    })

    it.skipIf(missing)(`asks about an agent that was here before registration was required, on ${name}`, async () => {
      const { store } = await fresh()
      const { asked, register: ask } = register(() => false)
      const { agent, turnTo } = await makeInstances([
        { store: store() },
        { store: store(), config: { agents: { register: ask } } },
      ])
      turnTo(0)
      expect((await agent.startSession()).status).toBe(200)
      turnTo(1)
      expect(await outcome(await agent.startSession())).toBe('401 invalid_client')
      expect(asked).toHaveLength(1)
    })
  }
})

describe('the limit on new agents', () => {
  it('counts those of one domain together, whatever they are called, and hurts no agent that is known', async () => {
    const world = await makeWorld({ agents: { newPerHour: 10 } })
    // Documents and assertions of all of them are good.
    const made = []
    for (let index = 0; index < 5; index++) made.push(await world.newAgent(`https://a${index}.many.example/agent.json`))
    const outcomes = []
    for (const agent of made) outcomes.push(await outcome(await agent.startSession()))
    expect(outcomes).toEqual(['200', '200', '429 rate_limited', '429 rate_limited', '429 rate_limited'])
    expect((await made[0]?.startSession())?.status).toBe(200)
    // Others have their own part of the hour.
    expect((await world.start()).signed_in).toBe(false)
    world.clock.now += 20 * minute
    const refused = await made[2]?.startSession()
    expect(refused?.headers.get('retry-after')).toBe(String(40 * 60))
    expect(await refused?.json()).toEqual({
      error: 'rate_limited',
      error_description: 'Too many new Personal Agents came within the hour. Try again later.',
    })
    world.clock.now += 40 * minute
    expect((await made[2]?.startSession())?.status).toBe(200)
  })

  for (const { name, missing, fresh } of stores) {
    it.skipIf(missing)(`is one for all instances, and for each Company of its own, on ${name}`, async () => {
      const { store } = await fresh()
      const config = { agents: { newPerHour: 3 } }
      const first = await makeWorld(config, store())
      const second = await makeWorld(config, store())
      const lido = { organization: { name: 'Hotel Lido', domain: 'lido.example' }, origin: 'https://lido.example' }
      const other = await makeWorld({ ...config, ...lido }, store())
      for (const world of [first, second, first]) {
        const agent = await world.newAgent()
        expect((await agent.startSession()).status).toBe(200)
        // Another one of the same domain has no place left of its own.
        const neighbour = await world.newAgent(agent.clientId.replace('https://', 'https://more.'))
        expect((await neighbour.startSession()).status).toBe(429)
      }
      for (const world of [first, second]) expect((await (await world.newAgent()).startSession()).status).toBe(429)
      expect((await (await other.newAgent()).startSession()).status).toBe(200)
    })
  }

  it('is 100 where nothing is said, and none where the company says null or who may come', async () => {
    const world = await makeWorld()
    const free = await makeWorld({ agents: { newPerHour: null } })
    const listed = await makeWorld({ agents: { allow: () => true } })
    for (let index = 0; index < 21; index++) {
      const path = `https://a${index}.many.example/agent.json`
      expect((await (await world.newAgent(path)).startSession()).status).toBe(index < 20 ? 200 : 429)
      for (const other of [free, listed]) expect((await (await other.newAgent(path)).startSession()).status).toBe(200)
    }
  })

  it('is not used up by agents that could not authenticate, nor by pages that were opened', async () => {
    const world = await makeWorld({ agents: { newPerHour: 1 } })
    for (let index = 0; index < 5; index++) {
      const other = await world.newAgent()
      const bent = { client_assertion: await other.clientAssertion({ key: world.agent.signing.privateKey }) }
      expect(await outcome(await other.startSession(bent))).toBe('401 invalid_client')
      expect(await pageFor(world, other)).toBe('200 asks')
    }
    expect((await world.start()).signed_in).toBe(false)
  })
})

describe('the record of agents', () => {
  for (const { name, missing, fresh } of stores) {
    it.skipIf(missing)(`is written at first sight and once a day, and never by a call, on ${name}`, async () => {
      const store = watch((await fresh()).store())
      const world = await makeWorld({}, store)
      const touched = () => store.statements.splice(0).filter((sql) => sql.includes('poppy_agents')).length
      touched()
      const { access_token } = await world.start()
      expect(touched()).toBeGreaterThan(0)
      await world.start()
      await world.agent.call('/poppy/tools/echo', access_token, { body: { text: 'hello' } })
      await pageFor(world)
      expect(touched()).toBe(0)
      world.clock.now += 24 * 60 * minute
      publish(world.agent, { client_name: 'A new name' })
      await world.start()
      // Looked up, and noted.
      expect(touched()).toBe(2)
      await world.start()
      expect(touched()).toBe(0)
      const { session_id } = await world.start()
      await world.signIn(world.agent, session_id)
      expect(await world.company.accounts.connectedAgents('acc-maya')).toMatchObject([
        { clientId: client, host: 'agent.example', name: 'A new name' },
      ])
    })
  }
})

import { PoppyError } from '@poppyseed/protocol'
import { sql } from 'kysely'
import type { CompanyConfig } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { replaceToken } from '../packages/company/src/accounts/store.ts'
import { makeInstances } from './setup/instances.ts'
import { type FreshStore, stores } from './setup/stores.ts'
import { sha256 } from './setup/wire-agent.ts'
import { makeWorld, outcome, type Tokens, type World } from './setup/world.ts'

// What runs while a person ends an agent's access, or begins again afterwards: nothing slips by, and nobody is shut out.

const credentials = { email: 'maya@example.com', password: 'harbour-7' }
const fields = [
  { name: 'email', label: 'Email', secret: false },
  { name: 'password', label: 'Password', secret: true },
]
type Mediated = NonNullable<NonNullable<CompanyConfig['signIn']>['mediated']>

/** A check of credentials that a test holds up. */
function heldCheck(bend: Partial<Mediated> = {}) {
  const reached = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  let isHeld = false
  const mediated: Mediated = {
    scopes: ['poppy:read'],
    fields,
    async verify() {
      if (isHeld) {
        reached.resolve()
        await held.promise
      }
      return 'acc-maya'
    },
    ...bend,
  }
  return {
    config: { signIn: { direct: ['poppy:read', 'poppy:write', 'loyalty'], mediated } } as const,
    hold: () => {
      isHeld = true
      return reached.promise
    },
    letGo: () => {
      isHeld = false
      held.resolve()
    },
  }
}

const ask = (world: World, session: Tokens) =>
  world.agent.call('/poppy/sign-in', session.access_token, { body: { scope: 'poppy:read', credentials } })

const statusOf = async (answer: Response) => ((await answer.json()) as { status?: string }).status

const refresh = (world: World, token: string, more: Record<string, string> = {}) =>
  world.agent.token({ grant_type: 'refresh_token', refresh_token: token, ...more })

/** Waits until somebody waits for a lock that the test holds. */
async function untilBlocked(db: Awaited<ReturnType<FreshStore['open']>>, most = 2000): Promise<void> {
  for (let times = 0; times < most; times++) {
    const { rows } = await sql<{ n: number }>`select count(*)::int as n from pg_locks l
      join pg_stat_activity a on a.pid = l.pid where not l.granted and a.datname = current_database()
      and (l.relation is null or l.relation = 'poppy_grants'::regclass)`.execute(db.query)
    if ((rows[0]?.n ?? 0) > 0) return
  }
  throw new Error('nobody waits')
}

describe.each(stores)('credentials that are being checked on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  test.each([
    ['all access is ended', (world: World) => world.company.accounts.revokeAll('acc-maya')],
    ['the person is erased', (world: World) => world.company.accounts.erasePerson('acc-maya')],
  ])('buy nothing once %s, and new ones do [4.9.disconnect]', async (_when, end) => {
    const check = heldCheck()
    const world = await makeWorld(check.config, (await fresh()).store())
    const session = await world.start()
    const reached = check.hold()
    const asked = ask(world, session)
    await reached
    await end(world)
    check.letGo()
    expect(await statusOf(await asked)).toBe('failed')
    expect(await world.company.accounts.connectedAgents('acc-maya')).toEqual([])
    world.clock.now += 1
    expect(await statusOf(await ask(world, await world.start()))).toBe('complete')
  })

  test('don’t bring back a right that was taken away meanwhile, and another agent’s go on', async () => {
    const check = heldCheck()
    const world = await makeWorld(check.config, (await fresh()).store())
    const other = await world.newAgent()
    for (const agent of [world.agent, other])
      await world.signIn(agent, (await world.start(agent)).session_id, { scope: 'poppy:read poppy:write' })
    const [mine, theirs] = [await world.start(), await world.start(other)]
    const reached = check.hold()
    const asked = ask(world, mine)
    await reached
    const asking = other.call('/poppy/sign-in', theirs.access_token, { body: { scope: 'poppy:read', credentials } })
    world.clock.now += 1
    expect(await world.company.accounts.takeAway('acc-maya', world.agent.clientId, 'poppy:read')).toBe(true)
    check.letGo()
    expect([await statusOf(await asked), await statusOf(await asking)]).toEqual(['failed', 'complete'])
    const agents = await world.company.accounts.connectedAgents('acc-maya')
    const rights = agents.find(({ clientId }) => clientId === world.agent.clientId)?.rights.map(({ scope }) => scope)
    expect(rights).toEqual(['poppy:write'])
    world.clock.now += 1
    expect(await statusOf(await ask(world, await world.start()))).toBe('complete')
  })

  test.each<[string, (world: World, blocked: Set<string>) => unknown]>([
    ['by the configuration', (world, blocked) => blocked.add(world.agent.clientId)],
    ['in the store', (world) => world.company.agents.block(world.agent.clientId)],
  ])('buy nothing once the agent is blocked %s [4.1.blocklist]', async (_where, block) => {
    const check = heldCheck()
    const blocked = new Set<string>()
    const config = { ...check.config, agents: { block: (clientId: string) => blocked.has(clientId) } }
    const world = await makeWorld(config, (await fresh()).store())
    const session = await world.start()
    const reached = check.hold()
    const asked = ask(world, session)
    await reached
    await block(world, blocked)
    check.letGo()
    expect(await outcome(await asked)).toBe('401 invalid_token')
    expect(await world.company.accounts.connectedAgents('acc-maya')).toEqual([])
  })

  test('leave no code that waits, once all access is ended', async () => {
    const sent: string[] = []
    const check = heldCheck({
      sendCode: (code) => {
        sent.push(code)
        return 'Text to the phone number ending in 71'
      },
    })
    const world = await makeWorld(check.config, (await fresh()).store())
    const session = await world.start()
    const reached = check.hold()
    const asked = ask(world, session)
    await reached
    await world.company.accounts.erasePerson('acc-maya')
    check.letGo()
    expect(await statusOf(await asked)).toBe('failed')
    expect((await world.company.accounts.exportPerson('acc-maya')).mediatedSignIns).toEqual([])
  })

  test('need the code of a new agent when the agent was disconnected meanwhile [4.7.unusual-code]', async () => {
    const reached = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    const world = await makeWorld(
      {
        signIn: {
          direct: ['poppy:read', 'poppy:write', 'loyalty'],
          mediated: {
            scopes: ['poppy:read'],
            fields,
            verify: () => 'acc-maya',
            sendCode: () => 'Text',
            // The last thing that is asked before the Session is signed in.
            needsCode: async ({ isNewAgent }) => {
              if (!isNewAgent) {
                reached.resolve()
                await held.promise
              }
              return isNewAgent
            },
          },
        },
      },
      (await fresh()).store(),
    )
    await world.signIn(world.agent, (await world.start()).session_id)
    const asked = ask(world, await world.start())
    await reached.promise
    world.clock.now += 1
    await world.company.accounts.disconnect('acc-maya', world.agent.clientId)
    held.resolve()
    expect(await statusOf(await asked)).toBe('failed')
    expect(await world.company.accounts.connectedAgents('acc-maya')).toEqual([])
    world.clock.now += 1
    expect(await statusOf(await ask(world, await world.start()))).toBe('code_required')
  })
})

describe.each(stores)('after all access was ended, on $name', ({ missing, fresh }) => {
  it.skipIf(missing !== null)('a code of a new device request can be answered at once', async () => {
    const world = await makeWorld(
      { signIn: { direct: ['poppy:read', 'poppy:write', 'loyalty'], device: ['poppy:read'] } },
      (await fresh()).store(),
    )
    const session = await world.start()
    const begin = async () => {
      const url = `${world.origin}/poppy/device-authorization`
      return (await (await world.agent.post(url, { scope: 'poppy:read' }, { proof: null })).json()) as {
        readonly device_code: string
        readonly verification_uri_complete: string
      }
    }
    const formOf = async (url: string) =>
      /name="request" value="([^"]+)"/.exec(await (await world.send(new Request(url))).text())?.[1] ?? ''
    const approve = (request: string) =>
      world.send(
        new Request(`${world.origin}/poppy/device`, {
          method: 'POST',
          body: new URLSearchParams({ request, decision: 'approve', scope: 'poppy:read' }),
          headers: { origin: world.origin },
        }),
      )
    const codes = await begin()
    const open = await formOf(codes.verification_uri_complete)
    world.clock.now += 1000
    await world.company.accounts.revokeAll('acc-maya')
    expect((await approve(open)).status).toBe(400)
    world.clock.now += 1000
    expect((await approve(await formOf(codes.verification_uri_complete))).status).toBe(200)
    const tokens = await world.agent.token({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: codes.device_code,
      session_id: session.session_id,
    })
    expect(await outcome(tokens)).toBe('200')
  })
})

describe.each(stores)('text that no database keeps, on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  test('is a sign-in that nobody began, and an agent that nobody let in', async () => {
    const world = await makeWorld(heldCheck().config, (await fresh()).store())
    const session = await world.start()
    for (const id of ['%00', 'sgn_%00', '%ED%A0%80', 'a'.repeat(3000), '%F0%9F%98%80']) {
      const answer = await world.agent.call(`/poppy/sign-in/${id}`, session.access_token, { body: { code: '123456' } })
      expect([id, answer.status, await statusOf(answer)]).toEqual([id, 200, 'failed'])
    }
    await world.signIn(world.agent, session.session_id)
    const page = await (await world.send(new Request(`${world.origin}/poppy/agents`))).text()
    const request = /name="request" value="([^"]+)"/.exec(page)?.[1] ?? ''
    const submit = (more: readonly [string, string][]) =>
      world.send(
        new Request(`${world.origin}/poppy/agents`, {
          method: 'POST',
          body: new URLSearchParams([['request', request], ...more]),
          headers: { origin: world.origin },
        }),
      )
    for (const hostile of ['\0', `${world.agent.clientId}\0`, '\ud800', 'x'.repeat(20_000), '']) {
      for (const more of [
        [
          ['act', 'disconnect'],
          ['client_id', hostile],
        ],
        [
          ['act', 'take_away'],
          ['client_id', hostile],
          ['scope', 'poppy:read'],
        ],
        [
          ['act', 'take_away'],
          ['client_id', world.agent.clientId],
          ['scope', hostile],
        ],
      ] as const)
        expect((await submit(more as never)).status).toBeLessThan(500)
    }
    expect(await world.company.accounts.connectedAgents('acc-maya')).toMatchObject([
      { rights: [{ scope: 'poppy:read' }, { scope: 'poppy:write' }] },
    ])
    // An agent named twice is not all agents.
    const twice = await submit([
      ['act', 'disconnect'],
      ['client_id', 'https://one.example/agent.json'],
      ['client_id', 'https://two.example/agent.json'],
    ])
    expect(twice.status).toBe(400)
    expect(await world.company.accounts.connectedAgents('acc-maya')).toHaveLength(1)
  })
})

describe.each(stores)('attempts that are refused, on $name', ({ missing, fresh }) => {
  it.skipIf(missing !== null)('by one User’s limit take nothing from the agent’s other Users', async () => {
    const check = heldCheck({ verify: ({ password }) => (password === 'harbour-7' ? 'acc-maya' : null) })
    const world = await makeWorld({ ...check.config, limits: false }, (await fresh()).store())
    const session = await world.start()
    const guess = (email: string) =>
      world.agent.call('/poppy/sign-in', session.access_token, {
        body: { scope: 'poppy:read', credentials: { email, password: 'wrong' } },
      })
    for (let times = 0; times < 205; times++) await guess(`somebody-${times}@example.com`)
    expect((await guess('somebody@example.com')).status).toBe(429)
    world.agent.userId = 'usr_somebody-else'
    expect(await statusOf(await ask(world, await world.start()))).toBe('complete')
  })
})

describe.each(stores)('a rotated Account Token, on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  test('that is sixty behind within the grace still gives the newest', async () => {
    const world = await makeWorld({ rotation: { grace: 3600 }, limits: false }, (await fresh()).store())
    const session = await world.start()
    const { session_id, refresh_token: first = '' } = await world.signIn(world.agent, session.session_id)
    let newest = first
    for (let times = 0; times < 60; times++) {
      const answer = await refresh(world, newest, { session_id })
      newest = ((await answer.json()) as Tokens).refresh_token ?? ''
    }
    const behind = await refresh(world, first, { session_id })
    expect(behind.status).toBe(200)
    expect(((await behind.json()) as Tokens).refresh_token).toBe(newest)
  })
})

describe.each(stores)('a rotated Account Token whose secret is gone, on $name', ({ missing, fresh }) => {
  it.skipIf(missing !== null)('is refused, ends nothing, and is no error of ours', async () => {
    const store = await fresh()
    const world = await makeWorld({ rotation: true }, store.store())
    const { refresh_token: first = '' } = await world.signIn(world.agent, (await world.start()).session_id)
    const newest = ((await (await refresh(world, first)).json()) as Tokens).refresh_token ?? ''
    const next = await makeWorld(
      { rotation: true, secret: 'another-secret-of-more-than-thirty-two-characters-1b' },
      store.store(),
    )
    const atNext = async (token: string) => {
      Object.assign(next.agent.documents, world.agent.documents)
      const body = new URLSearchParams({
        client_id: world.agent.clientId,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await world.agent.clientAssertion(),
        grant_type: 'refresh_token',
        refresh_token: token,
      })
      const headers = { dpop: await world.agent.proof('POST', world.agent.tokenUrl) }
      return next.send(new Request(world.agent.tokenUrl, { method: 'POST', body, headers }))
    }
    expect(await outcome(await atNext(first))).toBe('400 invalid_grant')
    expect(await outcome(await atNext(newest))).toBe('200')
  })
})

describe.each(stores)('where rotation was turned off, on $name', ({ missing, fresh }) => {
  it.skipIf(missing !== null)('a token that was replaced just before still gives its successor [K20]', async () => {
    const { store } = await fresh()
    const { agent, turnTo, clock } = await makeInstances([
      { store: store(), config: { rotation: true } },
      { store: store() },
    ])
    const world = turnTo(0)
    const { refresh_token: first = '' } = await world.signIn(agent, (await world.start(agent)).session_id)
    const use = async (token: string) => agent.token({ grant_type: 'refresh_token', refresh_token: token })
    const second = ((await (await use(first)).json()) as Tokens).refresh_token ?? ''
    turnTo(1)
    expect(((await (await use(first)).json()) as Tokens).refresh_token).toBe(second)
    expect(((await (await use(second)).json()) as Tokens).refresh_token).toBeUndefined()
    clock.now += 120_000
    expect(await outcome(await use(first))).toBe('400 invalid_grant')
    expect(await outcome(await use(second))).toBe('400 invalid_grant')
  })
})

describe('a hook of the company’s', () => {
  it('that throws an error of the protocol’s with what it was given doesn’t answer with it [4.7.never-returns-credentials]', async () => {
    const check = heldCheck({
      verify: ({ password = '' }) => {
        throw new PoppyError('invalid_request', { description: `no such ${password}`, reason: password })
      },
    })
    const world = await makeWorld(check.config)
    const answer = await ask(world, await world.start())
    const text = await answer.text()
    expect([answer.status, text.includes('temporarily_unavailable')]).toEqual([503, true])
    expect(text + world.log.join()).not.toContain(credentials.password)
  })
})

const postgresOnly = stores.filter(({ name }) => name === 'postgres')
describe.each(postgresOnly)('two instances at one moment, on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  test('a sign-out that meets a rotation signs out [4.9.revoke]', async () => {
    const store = await fresh()
    const world = await makeWorld({ rotation: true }, store.store())
    const session = await world.start()
    const { refresh_token: first = '' } = await world.signIn(world.agent, session.session_id)
    const db = await store.open()
    const watcher = await store.open()
    const scope = { db, company: 'https://miramar.example' }
    let revoked: Promise<Response> | undefined
    await db.transaction(async () => {
      await sql`lock table poppy_grants in access exclusive mode`.execute(db.query)
      revoked = world.agent.revoke(first)
      await untilBlocked(watcher)
      const grant = await db.query.selectFrom('poppy_grants').select(['id', 'company']).executeTakeFirstOrThrow()
      const hashes = { tokenHash: sha256(first), successorHash: sha256('pat_next') }
      expect(
        await replaceToken(
          { ...scope, company: grant.company },
          { grantId: grant.id, ...hashes, now: world.clock.now },
        ),
      ).toBe(true)
    })
    expect((await revoked)?.status).toBe(200)
    expect(await world.company.accounts.connectedAgents('acc-maya')).toEqual([])
  })

  test('a right that is taken away and a refresh don’t wait for each other', async () => {
    const store = await fresh()
    const world = await makeWorld({}, store.store())
    const session = await world.start()
    const other = await world.start()
    await world.signIn(world.agent, session.session_id, { scope: 'loyalty' })
    const wide = await world.signIn(world.agent, other.session_id, { scope: 'loyalty poppy:read' })
    const db = await store.open()
    const watcher = await store.open()
    let taken: Promise<boolean> | undefined
    let refreshed: Promise<Response> | undefined
    await db.transaction(async () => {
      await db.query
        .selectFrom('poppy_sessions')
        .select('id')
        .where('id', '=', session.session_id)
        .forUpdate()
        .executeTakeFirstOrThrow()
      taken = world.company.accounts.takeAway('acc-maya', world.agent.clientId, 'loyalty')
      await untilBlocked(watcher)
      refreshed = refresh(world, wide.refresh_token ?? '', { session_id: session.session_id })
      for (let times = 0; times < 300; times++) await sql`select 1`.execute(watcher.query)
    })
    expect(await taken).toBe(true)
    expect((await refreshed)?.status).toBe(200)
  })
})

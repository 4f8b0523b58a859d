import type { NewConnection } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { decideOn, exchange, getCode, openForm } from './setup/consent.ts'
import { rightsOf } from './setup/rights.ts'
import { stores } from './setup/stores.ts'
import type { WireAgent } from './setup/wire-agent.ts'
import { makeWorld, outcome, verifierOf, type World } from './setup/world.ts'

// Section 4.9: the company is told of each new sign-in, so that it can tell the person.

const mcp = 'https://miramar.example/poppy/mcp'
const scopes = ['poppy:read', 'poppy:write', 'loyalty']
const code = { text: '' }
const signIn = {
  direct: scopes,
  device: scopes,
  mediated: {
    fields: [
      { name: 'email', label: 'Email', secret: false },
      { name: 'password', label: 'Password', secret: true },
    ],
    scopes: ['poppy:read'],
    verify: async ({ password }: Readonly<Record<string, string>>) => (password === 'right' ? 'acc-maya' : null),
    sendCode: async (made: string) => {
      code.text = made
      return 'Mail'
    },
    needsCode: () => code.text === 'wanted',
  },
}

/** Sees the Session signed in by Device Sign-In. */
async function byDevice(world: World, sessionId: string, agent: WireAgent = world.agent) {
  const begun = await agent.post(`${world.origin}/poppy/device-authorization`, { scope: 'poppy:read' }, { proof: null })
  const codes = (await begun.json()) as Record<string, string>
  const page = await world.send(new Request(codes.verification_uri_complete ?? ''))
  const request = /name="request" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
  const body = new URLSearchParams({ request, decision: 'approve', scope: 'poppy:read' })
  await world.send(
    new Request(`${world.origin}/poppy/device`, { method: 'POST', body, headers: { origin: world.origin } }),
  )
  return agent.token({
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: codes.device_code ?? '',
    session_id: sessionId,
  })
}

describe.each(stores)('each new sign-in, on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  async function start(config = {}) {
    const told: NewConnection[] = []
    const onConnection = (connection: NewConnection) => void told.push(connection)
    const world = await makeWorld({ signIn, rotation: true, onConnection, ...config }, (await fresh()).store())
    return { world, told }
  }

  test('is told once: who, to which account, with which rights, how and when; a use of it isn’t', async () => {
    const { world, told } = await start()
    const { agent } = world
    const { session_id } = await world.start()
    const first = await world.signIn(agent, session_id, { scope: 'poppy:read loyalty', approve: ['poppy:read'] })
    expect(told).toEqual([
      {
        account: 'acc-maya',
        clientId: agent.clientId,
        host: 'agent.example',
        name: 'Example Agent',
        signIn: 'direct',
        rights: [{ scope: 'poppy:read', text: 'See your bookings' }],
        connectedAt: world.clock.now,
        expiresAt: world.clock.now + 90 * 86_400_000,
        isNewAgent: true,
        replaces: false,
      },
    ])
    expect(Object.isFrozen(told[0])).toBe(true)
    // Refreshed, rotated, renewed, in another Session, as a Bearer token: all of it is the same sign-in.
    const { refresh_token = '' } = first
    const refresh = { grant_type: 'refresh_token', refresh_token }
    expect((await agent.token({ ...refresh, session_id })).status).toBe(200)
    expect((await agent.token(refresh)).status).toBe(200)
    expect((await agent.token({ ...refresh, resource: mcp }, { proof: null })).status).toBe(200)
    expect((await agent.startSession({ session_id })).status).toBe(200)
    expect(told).toHaveLength(1)
  })

  test('is told of by every way in, and says whether the agent was there before', async () => {
    const { world, told } = await start()
    const { agent } = world
    const { session_id, access_token } = await world.start()
    expect((await byDevice(world, session_id)).status).toBe(200)
    expect(told.at(-1)).toMatchObject({ signIn: 'device', isNewAgent: true, replaces: false })
    await world.signIn(agent, session_id)
    expect(told.at(-1)).toMatchObject({ signIn: 'direct', isNewAgent: false, replaces: true })
    const credentials = { email: 'maya@example.com', password: 'right' }
    const ask = (body: object, path = '') => agent.call(`/poppy/sign-in${path}`, access_token, { body })
    expect(await (await ask({ scope: 'poppy:read', credentials })).json()).toMatchObject({ status: 'complete' })
    expect(told.at(-1)).toMatchObject({ signIn: 'mediated', isNewAgent: false, replaces: true })
    code.text = 'wanted'
    const { sign_in_id } = (await (await ask({ scope: 'poppy:read', credentials })).json()) as { sign_in_id: string }
    expect(told).toHaveLength(3)
    expect(await (await ask({ code: code.text }, `/${sign_in_id}`)).json()).toMatchObject({ status: 'complete' })
    expect(told).toHaveLength(4)
    // 6: an MCP client of its own flow has another User each time, so it replaces nothing.
    const mcpCode = await getCodeFor(world, mcp)
    const body = { grant_type: 'authorization_code', code: mcpCode, redirect_uri: agent.redirectUri, resource: mcp }
    const swapped = await agent.token({ ...body, code_verifier: verifierOf(agent) }, { proof: null })
    expect(swapped.status).toBe(200)
    expect(told.at(-1)).toMatchObject({ signIn: 'direct', isNewAgent: false, replaces: false, account: 'acc-maya' })
    // Another agent, another account, and one that was disconnected, are new.
    const other = await world.newAgent()
    await world.signIn(other, (await world.start(other)).session_id)
    expect(told.at(-1)).toMatchObject({ clientId: other.clientId, isNewAgent: true })
    await world.company.accounts.revokeAll('acc-maya')
    world.clock.now += 1
    await world.signIn(agent, session_id)
    expect(told.at(-1)).toMatchObject({ isNewAgent: true, replaces: false })
    world.site.account = { id: 'acc-work', name: 'maya@work.example' }
    await world.signIn(agent, (await world.start()).session_id)
    expect(told.at(-1)).toMatchObject({ account: 'acc-work', isNewAgent: true })
  })

  test('that came to nothing is not told of', async () => {
    const { world, told } = await start()
    const { agent } = world
    const { session_id } = await world.start()
    const used = await getCode(world)
    await decideOn(world, await openForm(world), { decision: 'decline' })
    expect(await outcome(await exchange(agent, used, session_id, { code_verifier: 'y'.repeat(43) }))).toMatch(/400/)
    expect(await outcome(await exchange(agent, await getCode(world), 'ses_nobody'))).toBe('400 invalid_session')
    const credentials = { email: 'maya@example.com', password: 'wrong' }
    const { access_token } = await world.start()
    await agent.call('/poppy/sign-in', access_token, { body: { scope: 'poppy:read', credentials } })
    expect(told).toEqual([])
    const { status } = await exchange(agent, await getCode(world), session_id)
    expect([status, told.length]).toEqual([200, 1])
    // Of ten who bring one code, one is let in.
    const once = await getCode(world)
    await Promise.all(Array.from({ length: 10 }, () => exchange(agent, once, session_id)))
    expect(told).toHaveLength(2)
  })

  test('happens although the company’s function fails, and the log says that the person may not know', async () => {
    const { world } = await start({
      onConnection: ({ account }: NewConnection) => {
        throw new Error(`no mail for ${account}`)
      },
    })
    const { access_token, refresh_token = 'none' } = await world.signIn(world.agent, (await world.start()).session_id)
    expect(await rightsOf(world, access_token)).toBe('in')
    const noted = world.log.filter((line) => line.includes('onConnection failed'))
    expect(noted).toHaveLength(1)
    const { signIns } = await world.company.accounts.exportPerson('acc-maya')
    expect(noted[0]).toContain(signIns[0]?.id)
    for (const secret of [access_token, refresh_token, 'acc-maya']) expect(noted.join()).not.toContain(secret)
  })

  test('is told of before the Company has closed, also when the answer went first', async () => {
    const held = Promise.withResolvers<void>()
    const { world } = await start({ onConnection: () => held.promise })
    const signedIn = world.signIn(world.agent, (await world.start()).session_id)
    expect((await signedIn).signed_in).toBe(true)
    let isClosed = false
    const closing = world.company.close().then(() => {
      isClosed = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(isClosed).toBe(false)
    held.resolve()
    await closing
    expect(world.log.filter((line) => line.startsWith('error'))).toEqual([])
  })
})

async function getCodeFor(world: World, resource: string): Promise<string> {
  const answer = await decideOn(world, await openForm(world, world.agent, { resource }))
  return new URL(answer.headers.get('location') ?? 'https://none.example').searchParams.get('code') ?? ''
}

import * as oauth from 'oauth4webapi'
import { describe, expect, it } from 'vitest'
import { makeInstances } from './setup/instances.ts'
import { stores } from './setup/stores.ts'
import { makeWireAgent } from './setup/wire-agent.ts'
import { makeWorld, outcome, secret, type Tokens, type World } from './setup/world.ts'

// Section 4.8: Account Tokens that rotate, and sign nobody out by accident.

const refresh = (world: World, token: string, more: Record<string, string> = {}, agent = world.agent) =>
  agent.token({ grant_type: 'refresh_token', refresh_token: token, ...more })

const read = async (answer: Response) => {
  expect(answer.status).toBe(200)
  return (await answer.json()) as Tokens & { readonly refresh_token: string }
}

async function signedIn(world: World) {
  const session = await world.start()
  const tokens = await world.signIn(world.agent, session.session_id)
  return { session, first: tokens.refresh_token ?? '' }
}

describe.each(stores)('Account Tokens that rotate, on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  const start = async () => makeWorld({ rotation: true }, (await fresh()).store())

  test('are replaced each time, and none lives longer for it [4.8.not-extended]', async () => {
    const world = await start()
    const { first } = await signedIn(world)
    world.clock.now += 86_400_000
    const second = await read(await refresh(world, first))
    expect(second.refresh_token).not.toBe(first)
    expect(second.refresh_token).toMatch(/^pat_[\w-]{43}$/)
    expect(second.refresh_token_expires_in).toBe(89 * 86_400)
    const third = await read(await refresh(world, second.refresh_token))
    expect(new Set([first, second.refresh_token, third.refresh_token]).size).toBe(3)
    expect((await world.agent.call('/poppy/tools/my_bookings', third.access_token, { body: {} })).status).toBe(200)
  })

  test('give ten parallel requests one successor, and all of them work [K19]', async () => {
    const world = await start()
    const { first, session } = await signedIn(world)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        refresh(world, first, index % 2 === 0 ? { session_id: session.session_id } : {}),
      ),
    )
    const all = await Promise.all(answers.map(read))
    expect(new Set(all.map((one) => one.refresh_token)).size).toBe(1)
    for (const { access_token } of all)
      expect((await world.agent.call('/poppy/tools/my_bookings', access_token, { body: {} })).status).toBe(200)
    expect((await refresh(world, all[0]?.refresh_token ?? '')).status).toBe(200)
  })

  test('give ten parallel requests one successor at two instances as well [K19]', async () => {
    const { store } = await fresh()
    let sent = 0
    const agent = await makeWireAgent({
      clientId: 'https://twice.example/agent.json',
      now: () => Date.parse('2026-11-30T12:00:00Z'),
      origin: 'https://miramar.example',
      // By turns, one request here and one there.
      send: (request) => worlds[sent++ % 2]?.send(request) ?? expect.fail('no instance'),
    })
    const fetchDocument = async (url: string) => ({ document: agent.documents[url], headers: new Headers() })
    const config = { rotation: true, fetchDocument }
    const { worlds } = await makeInstances([
      { store: store(), config },
      { store: store(), config },
    ])
    const [world] = worlds as [World, World]
    const { session_id } = await world.start(agent)
    const { refresh_token: first = '' } = await world.signIn(agent, session_id)
    const all = await Promise.all(
      Array.from({ length: 10 }, async () => read(await refresh(world, first, { session_id }, agent))),
    )
    expect(new Set(all.map((one) => one.refresh_token)).size).toBe(1)
    for (const { access_token } of all)
      expect((await agent.call('/poppy/tools/my_bookings', access_token, { body: {} })).status).toBe(200)
    expect((await read(await refresh(world, all[0]?.refresh_token ?? '', {}, agent))).refresh_token).not.toBe(first)
  })

  test('give the same successor again after a lost answer, and the newest to whoever is further behind [K20]', async () => {
    const world = await start()
    const { first } = await signedIn(world)
    const lost = await read(await refresh(world, first))
    world.clock.now += 60_000
    expect((await read(await refresh(world, first))).refresh_token).toBe(lost.refresh_token)
    const further = await read(await refresh(world, lost.refresh_token))
    world.clock.now += 59_000
    expect((await read(await refresh(world, first))).refresh_token).toBe(further.refresh_token)
  })

  test('end the sign-in when one comes again after the grace [K20]', async () => {
    const world = await start()
    const { first } = await signedIn(world)
    const second = await read(await refresh(world, first))
    world.clock.now += 120_000
    expect(await outcome(await refresh(world, first))).toBe('400 invalid_grant')
    expect(await outcome(await refresh(world, second.refresh_token))).toBe('400 invalid_grant')
    expect(await outcome(await world.agent.call('/poppy/tools/my_bookings', second.access_token, { body: {} }))).toBe(
      '403 sign_in_required',
    )
  })

  test('give another agent nothing, and end nothing for it [K20, 4.8.account-token-client]', async () => {
    const world = await start()
    const { first } = await signedIn(world)
    const second = await read(await refresh(world, first))
    const other = await world.newAgent()
    expect(await outcome(await refresh(world, first, {}, other))).toBe('400 invalid_grant')
    world.clock.now += 120_000
    expect(await outcome(await refresh(world, first, {}, other))).toBe('400 invalid_grant')
    expect(await outcome(await refresh(world, second.refresh_token, {}, other))).toBe('400 invalid_grant')
    expect((await refresh(world, second.refresh_token)).status).toBe(200)
  })

  test('stay as they are when a request is refused', async () => {
    const world = await start()
    const { first } = await signedIn(world)
    expect(await outcome(await refresh(world, first, { scope: 'loyalty' }))).toBe('400 invalid_scope')
    expect(await outcome(await refresh(world, first, { session_id: 'ses_other' }))).toBe('400 invalid_session')
    world.clock.now += 3_600_000
    expect((await refresh(world, first)).status).toBe(200)
  })

  test('are revoked by whichever of them is sent [4.9.revoke]', async () => {
    const world = await start()
    const { first } = await signedIn(world)
    const second = await read(await refresh(world, first))
    const other = await world.newAgent()
    expect((await other.revoke(first)).status).toBe(400)
    expect((await world.agent.revoke(first)).status).toBe(200)
    expect(await outcome(await refresh(world, second.refresh_token))).toBe('400 invalid_grant')
  })

  test('go on over a change of the secret, and end with it when the old one is gone', async () => {
    const store = await fresh()
    const newer = 'another-secret-of-more-than-thirty-two-characters-1b'
    const world = await makeWorld({ rotation: true }, store.store())
    const { first } = await signedIn(world)
    const second = await read(await refresh(world, first))
    // The same agent, at the same Company with its next configuration.
    const next = await makeWorld({ rotation: true, secret: [newer, secret] }, store.store())
    next.clock.now = world.clock.now
    const atNext = async (token: string) => {
      const body = new URLSearchParams({
        client_id: world.agent.clientId,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await world.agent.clientAssertion(),
        grant_type: 'refresh_token',
        refresh_token: token,
      })
      const headers = { dpop: await world.agent.proof('POST', world.agent.tokenUrl) }
      Object.assign(next.agent.documents, world.agent.documents)
      return next.send(new Request(world.agent.tokenUrl, { method: 'POST', body, headers }))
    }
    expect((await read(await atNext(first))).refresh_token).toBe(second.refresh_token)
    expect((await read(await atNext(second.refresh_token))).refresh_token).toMatch(/^pat_/)
  })
})

describe('a client of somebody else’s', () => {
  it('refreshes with rotation by oauth4webapi', async () => {
    const world = await makeWorld({ rotation: true })
    const { first } = await signedIn(world)
    const server: oauth.AuthorizationServer = { issuer: world.origin, token_endpoint: world.agent.tokenUrl }
    const skew = Math.round((world.clock.now - Date.now()) / 1000)
    const client: oauth.Client = { client_id: world.agent.clientId, [oauth.clockSkew]: skew }
    const key = { key: world.agent.signing.privateKey, kid: world.agent.keyId }
    const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('ES256', { extractable: false }))
    let token = first
    for (let times = 0; times < 3; times++) {
      const answer = await oauth.refreshTokenGrantRequest(server, client, oauth.PrivateKeyJwt(key), token, {
        DPoP,
        [oauth.customFetch]: (url, init) => world.send(new Request(url, init as RequestInit)),
      })
      const tokens = await oauth.processRefreshTokenResponse(server, client, answer)
      expect(tokens.refresh_token).toBeDefined()
      expect(tokens.refresh_token).not.toBe(token)
      token = tokens.refresh_token ?? ''
    }
  })
})

import { describe, expect, it } from 'vitest'
import { makeInstances, sqliteFile } from './setup/instances.ts'
import { listTools, rightsOf, tokensOf } from './setup/rights.ts'
import { makeWorld, outcome, secret, verifierOf, type World } from './setup/world.ts'

const openapi = 'https://miramar.example/poppy/openapi.json'
const mcp = 'https://miramar.example/poppy/mcp'

const echo = { body: { text: 'hello' } }

describe('Bearer tokens', () => {
  it('come without a proof, for the MCP server alone, and work beside DPoP tokens [4.3.bearer-for-mcp, 4.3.both-kinds, 4.3.bearer-one-server, 6.accepts-tokens, K23]', async () => {
    const world = await makeWorld()
    const dpop = await world.start()
    const bearer = await tokensOf(
      world.agent.startSession({ session_id: dpop.session_id, resource: mcp }, { proof: null }),
    )
    expect(bearer).toMatchObject({ token_type: 'Bearer', session_id: dpop.session_id, signed_in: false })
    expect(await outcome(await listTools(world, `Bearer ${bearer.access_token}`))).toBe('200')
    expect(await rightsOf(world, dpop.access_token)).toBe('out')
    const signedIn = await world.signIn(world.agent, dpop.session_id)
    const forMcp = await tokensOf(
      world.agent.token(
        {
          grant_type: 'refresh_token',
          refresh_token: signedIn.refresh_token ?? '',
          session_id: dpop.session_id,
          resource: mcp,
        },
        { proof: null },
      ),
    )
    expect(forMcp).toMatchObject({ token_type: 'Bearer', signed_in: true, session_id: dpop.session_id })
    expect(await outcome(await listTools(world, `Bearer ${forMcp.access_token}`))).toBe('200')
    expect(await rightsOf(world, signedIn.access_token)).toBe('in')
  })

  it('come for nothing else: no proof and no MCP server is refused [4.3.bearer-resource, 4.2.invalid-target, K23]', async () => {
    const { agent } = await makeWorld()
    const ask = async (resource: string | null, proof: null | undefined) =>
      outcome(await agent.startSession({ resource }, proof === null ? { proof } : {}))
    expect(await ask(null, null)).toBe('400 invalid_dpop_proof')
    expect(await ask(openapi, null)).toBe('400 invalid_dpop_proof')
    for (const other of [
      'https://mcp.example.com/mcp',
      `${mcp}/`,
      `${mcp}?x=1`,
      'HTTPS://miramar.example/poppy/mcp',
      'mcp',
    ])
      expect(await ask(other, null)).toBe('400 invalid_target')
    expect(await ask(mcp, undefined)).toBe('400 invalid_target')
  })

  it('are taken nowhere else, and no DPoP token where they belong [4.3.bearer-only-at-mcp, 4.3.dpop-elsewhere, 6.mcp-own-url, 6.invalid-token, K40]', async () => {
    const world = await makeWorld()
    const { agent } = world
    const dpop = await world.start()
    const bearer = await tokensOf(agent.startSession({ resource: mcp }, { proof: null }))
    const wrong = {
      'a Bearer token as Bearer at a tool': agent.call('/poppy/tools/echo', bearer.access_token, {
        ...echo,
        headers: { authorization: `Bearer ${bearer.access_token}` },
      }),
      'a Bearer token with a proof at a tool': agent.call('/poppy/tools/echo', bearer.access_token, echo),
      'a DPoP token as Bearer at a tool': agent.call('/poppy/tools/echo', dpop.access_token, {
        ...echo,
        headers: { authorization: `Bearer ${dpop.access_token}` },
      }),
      'a DPoP token as Bearer at MCP': listTools(world, `Bearer ${dpop.access_token}`),
      'a DPoP token with a proof at MCP': listTools(world, `DPoP ${dpop.access_token}`, {
        dpop: await agent.proof('POST', mcp, dpop.access_token),
      }),
      'a Bearer token in the URL': world.send(
        new Request(`${mcp}?access_token=${bearer.access_token}`, { method: 'POST' }),
      ),
    }
    for (const [name, answer] of Object.entries(wrong))
      expect([name, await outcome(await answer)]).toEqual([name, '401 invalid_token'])
    const told = await listTools(world, 'Bearer nonsense')
    expect(told.headers.get('www-authenticate')).toContain(
      'resource_metadata="https://miramar.example/.well-known/oauth-protected-resource/poppy/mcp"',
    )
  })
})

describe('a narrower token', () => {
  it('has the scopes that were asked for and no others, and stays narrow [4.3.narrower-scope, 4.8.fewer-scopes, 4.4.independent, 4.4.enforce, 6.insufficient-scope, 6.challenge]', async () => {
    const world = await makeWorld()
    const { session_id } = await world.start()
    const { refresh_token = '' } = await world.signIn(world.agent, session_id)
    const ask = (scope: string) => world.agent.token({ grant_type: 'refresh_token', refresh_token, session_id, scope })
    const write = await tokensOf(ask('poppy:write'))
    expect(write).toMatchObject({ scope: 'poppy:write', signed_in: true })
    expect(await rightsOf(world, write.access_token)).toBe('narrow')
    const wide = await tokensOf(ask('poppy:write poppy:read'))
    expect(await rightsOf(world, wide.access_token)).toBe('in')
    expect(await rightsOf(world, write.access_token)).toBe('narrow')
    const refused = await world.agent.call('/poppy/tools/add_note', write.access_token)
    expect(refused.headers.get('www-authenticate')).toMatch(
      /^DPoP error="insufficient_scope".*scope="poppy:read poppy:write"/,
    )
    expect(await outcome(await ask('poppy:read loyalty'))).toBe('400 invalid_scope')
  })

  it('for one service works at that service and not at the site’s own API [4.3.one-service]', async () => {
    const world = await makeWorld()
    const { access_token } = await tokensOf(world.agent.startSession({ resource: openapi }))
    expect(await outcome(await world.agent.call('/poppy/tools/echo', access_token, echo))).toBe('200')
    const own = new Request('https://miramar.example/api/cart', {
      headers: {
        authorization: `DPoP ${access_token}`,
        dpop: await world.agent.proof('GET', 'https://miramar.example/api/cart', access_token),
      },
    })
    expect(await outcome((await world.company.authenticate(own)) as Response)).toBe('401 invalid_token')
  })
})

describe('a token is what it was when it was issued', () => {
  it('one from before the sign-in stays signed out, and so does one from before a sign-out after the next sign-in [4.4.token-as-issued, 4.9.at-once]', async () => {
    const world = await makeWorld()
    const before = await world.start()
    const first = await world.signIn(world.agent, before.session_id)
    expect(await rightsOf(world, before.access_token)).toBe('out')
    await world.agent.revoke(first.refresh_token ?? '')
    expect(await rightsOf(world, first.access_token)).toBe('out')
    const second = await world.signIn(world.agent, before.session_id)
    expect(await rightsOf(world, second.access_token)).toBe('in')
    expect(await rightsOf(world, first.access_token)).toBe('out')
    expect(await rightsOf(world, before.access_token)).toBe('out')
  })

  it('one under a sign-in that ran out stays signed out after the next sign-in too', async () => {
    const world = await makeWorld({ lifetimes: { accountToken: 600, sessionToken: 7200 } })
    const { session_id } = await world.start()
    const first = await world.signIn(world.agent, session_id)
    expect(first.expires_in).toBe(600)
    world.clock.now += 599_000
    expect(await rightsOf(world, first.access_token)).toBe('in')
    world.clock.now += 1000
    const second = await world.signIn(world.agent, session_id)
    expect(await rightsOf(world, second.access_token)).toBe('in')
    expect(await rightsOf(world, first.access_token)).toBe('401 invalid_token')
  })

  it('never has more than the sign-in that its Session has now', async () => {
    const world = await makeWorld()
    const { session_id } = await world.start()
    const wide = await world.signIn(world.agent, session_id)
    const narrow = await world.signIn(world.agent, session_id, { scope: 'loyalty' })
    expect(narrow.scope).toBe('loyalty')
    expect(await rightsOf(world, wide.access_token)).toBe('narrow')
  })
})

describe('whose token it is', () => {
  it('rotated secrets sign nobody out, and a secret that was taken out does', async () => {
    const file = sqliteFile()
    const newer = 'another-secret-of-more-than-thirty-two-characters-4Q'
    const { turnTo, agent } = await makeInstances([
      { store: file() },
      { store: file(), config: { secret: [newer, secret] } },
      { store: file(), config: { secret: newer } },
    ])
    const old = await turnTo(0).start(agent)
    const rotated = turnTo(1)
    expect(await rightsOf(rotated, old.access_token, agent)).toBe('out')
    const signedIn = await rotated.signIn(agent, old.session_id)
    const world = turnTo(2)
    expect(await rightsOf(world, old.access_token, agent)).toBe('401 invalid_token')
    expect(await rightsOf(world, signedIn.access_token, agent)).toBe('in')
    // Account Tokens don't hang on the secret at all.
    const { refresh_token = '' } = signedIn
    expect(await outcome(await agent.token({ grant_type: 'refresh_token', refresh_token }))).toBe('200')
  })

  it('another Company’s Session, Session Token, Account Token and code are worth nothing here, also with one secret and one database', async () => {
    const file = sqliteFile()
    const other = { organization: { name: 'Hotel Lido', domain: 'lido.example' }, origin: 'https://lido.example' }
    const { turnTo, worlds, agent, clock } = await makeInstances([{ store: file() }, { store: file(), config: other }])
    const home = turnTo(0)
    const started = await home.start(agent)
    const { access_token, refresh_token = '' } = await home.signIn(agent, started.session_id)
    const code = (await home.decide(agent, {})).searchParams.get('code')
    // The same agent, as it would turn to the other Company.
    const lido = worlds[1] as World
    const origin = 'https://lido.example'
    const there = {
      assertion: () => agent.sessionAssertion({ claims: { aud: `${origin}/poppy/token` } }),
      post: async (parameters: Record<string, string | null>) => {
        const client_assertion = await agent.clientAssertion({ claims: { aud: `${origin}/poppy/token` } })
        const url = `${origin}/poppy/token`
        turnTo(1)
        return outcome(await agent.post(url, { client_assertion, ...parameters }))
      },
    }
    const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    expect(await there.post({ grant_type, assertion: await there.assertion() })).toBe('200')
    expect(await there.post({ grant_type, assertion: await there.assertion(), session_id: started.session_id })).toBe(
      '400 invalid_session',
    )
    expect(await there.post({ grant_type: 'refresh_token', refresh_token })).toBe('400 invalid_grant')
    expect(
      await there.post({
        grant_type: 'authorization_code',
        code,
        redirect_uri: agent.redirectUri,
        code_verifier: verifierOf(agent),
        session_id: started.session_id,
      }),
    ).toBe('400 invalid_grant')
    const url = `${origin}/poppy/tools/echo`
    const headers = { authorization: `DPoP ${access_token}`, dpop: await agent.proof('POST', url, access_token) }
    expect(await outcome(await lido.send(new Request(url, { method: 'POST', headers })))).toBe('401 invalid_token')
    expect(clock.now).toBe(Date.parse('2026-11-30T12:00:00Z'))
    turnTo(0)
    expect(await rightsOf(home, access_token, agent)).toBe('in')
  })

  it('nothing changed, cut short, made up, or sealed for something else is a token; and it is encrypted [4.2.token-encrypted, 6.invalid-token]', async () => {
    const world = await makeWorld()
    const { access_token, session_id } = await world.start()
    const parts = access_token.split('.')
    const readable = parts.map((part) => Buffer.from(part, 'base64url').toString('latin1')).join(' ')
    expect(readable).not.toContain(session_id)
    expect(readable).not.toContain(world.agent.userId)
    const page = await world.send(new Request(`https://miramar.example/poppy/authorize?${await consentQuery(world)}`))
    const form = /name="request" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
    expect(form).not.toBe('')
    const changed = parts.with(3, `${parts[3]?.startsWith('A') ? 'B' : 'A'}${parts[3]?.slice(1)}`).join('.')
    const plain = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url')
    for (const token of [changed, access_token.slice(0, -1), form, `${plain}.e30.`, 'pat_x', 'x'.repeat(9000)])
      expect(await rightsOf(world, token)).toBe('401 invalid_token')
    expect(await rightsOf(world, access_token)).toBe('out')
  })
})

describe('a Company that is closing', () => {
  it('finishes what runs, and tells everybody else when to come again', async () => {
    const world = await makeWorld()
    const { access_token } = await world.start()
    const url = 'https://miramar.example/api/cart'
    const own = async () =>
      new Request(url, {
        headers: { authorization: `DPoP ${access_token}`, dpop: await world.agent.proof('GET', url, access_token) },
      })
    const [first, second] = [await own(), await own()]
    const running = world.company.authenticate(first)
    await world.company.close()
    expect(await running).toMatchObject({ clientId: world.agent.clientId, account: null })
    for (const refused of [await world.agent.startSession(), (await world.company.authenticate(second)) as Response]) {
      expect(refused.headers.get('retry-after')).toBe('1')
      expect(await outcome(refused)).toBe('503 temporarily_unavailable')
    }
    await expect(world.company.start()).rejects.toThrow('closed')
    expect(await world.company.health()).toMatchObject({ ok: false })
  })
})

async function consentQuery({ agent }: World): Promise<URLSearchParams> {
  return new URLSearchParams({
    response_type: 'code',
    client_id: agent.clientId,
    redirect_uri: agent.redirectUri,
    scope: 'poppy:read',
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
  })
}

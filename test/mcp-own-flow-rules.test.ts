import { describe, expect, it } from 'vitest'
import { authorizationQuery, decideOn, exchange, formOn, openForm, openPage, redirectOf } from './setup/consent.ts'
import { makeInstances } from './setup/instances.ts'
import { stores } from './setup/stores.ts'
import { watch } from './setup/watched-store.ts'
import { id, type WireAgent } from './setup/wire-agent.ts'
import { makeWorld, outcome, type Tokens, verifierOf, type World } from './setup/world.ts'

// MCP's own sign-in at the level of the wire (6): what it gives, what it refuses, and what it leaves behind.

const resource = 'https://miramar.example/poppy/mcp'
const hour = 3_600_000
const day = 24 * hour

/** Makes an agent one that can't authenticate. */
function withoutKeys(agent: WireAgent): WireAgent {
  const { jwks_uri: _, ...document } = agent.documents[agent.clientId] as Record<string, unknown>
  agent.documents[agent.clientId] = { ...document, token_endpoint_auth_method: 'none' }
  return agent
}

/** What takes the client's authentication out of a form. */
const unauthenticated = { client_assertion: null, client_assertion_type: null }

async function codeFor(world: World, agent: WireAgent, bend: Record<string, string | null> = {}): Promise<string> {
  const { said } = redirectOf(await decideOn(world, await openForm(world, agent, { resource, ...bend })))
  if (!said.code) throw new Error(`no code: ${said.error}`)
  return said.code
}

/** The exchange of MCP's own flow: no Session, no proof. */
const swap = (agent: WireAgent, code: string, bend: Record<string, string | null> = {}, proof: string | null = null) =>
  agent.token(
    {
      grant_type: 'authorization_code',
      code,
      redirect_uri: agent.redirectUri,
      code_verifier: verifierOf(agent),
      resource,
      ...bend,
    },
    { proof },
  )

const refresh = (agent: WireAgent, refresh_token = '', bend: Record<string, string | null> = {}) =>
  agent.token({ grant_type: 'refresh_token', refresh_token, resource, ...bend }, { proof: null })

async function tokensOf(answer: Promise<Response>): Promise<Tokens> {
  const response = await answer
  if (response.status !== 200) throw new Error(`no tokens: ${await outcome(response)}`)
  return (await response.json()) as Tokens
}

/** A call of a tool at the MCP server. */
const bodyOf = (name: string) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } })

const post = (token: string, body: string | ReadableStream) =>
  new Request(resource, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body,
    duplex: 'half',
  } as RequestInit)

/** Calls a scoped tool at the MCP server. */
async function call(world: World, token: string, name = 'my_bookings'): Promise<string> {
  const answer = await world.send(post(token, bodyOf(name)))
  return answer.status === 200 ? '200' : outcome(answer)
}

for (const { name, missing, fresh } of stores) {
  describe.skipIf(missing)(`MCP's own sign-in on ${name}`, () => {
    async function begin() {
      const store = watch((await fresh()).store())
      const world = await makeWorld({}, store)
      return { store, world, agent: world.agent, keyless: withoutKeys(await world.newAgent()) }
    }

    it('opens a signed-in Session for a User of the Company’s making, which lasts as long as its token [6.mcp-own-flow, 4.4.grant-record, 4.4.session-record]', async () => {
      const { store, world, agent } = await begin()
      const answer = await swap(agent, await codeFor(world, agent))
      expect(answer.headers.get('cache-control')).toBe('no-store')
      const tokens = (await answer.json()) as Tokens
      expect(tokens).toEqual({
        access_token: expect.any(String),
        token_type: 'Bearer',
        expires_in: 3600,
        scope: 'poppy:read poppy:write',
        session_id: expect.stringMatching(/^ses_/),
        signed_in: true,
        refresh_token: expect.stringMatching(/^pat_[\w-]{43}$/),
        refresh_token_expires_in: 90 * 86_400,
      })
      const user_id = expect.stringMatching(/^usr_[\w-]{16,}$/)
      const record = { client_id: agent.clientId, user_id, account: 'acc-maya' }
      expect(await store.dump()).toMatchObject({
        grants: [{ ...record, sign_in: 'mcp', expires_at: world.clock.now + 90 * day }],
        sessions: [{ ...record, id: tokens.session_id, expires_at: world.clock.now + hour }],
      })
      expect(JSON.stringify(await store.dump())).not.toContain(agent.userId)
      expect(await call(world, tokens.access_token)).toBe('200')
      expect(await outcome(await agent.call('/poppy/tools/my_bookings', tokens.access_token))).toBe('401 invalid_token')
    })

    it('gives no Account Token to a client that can’t authenticate, and its access ends with its token [6.mcp-own-flow, 4.8.account-token-client]', async () => {
      const { store, world, keyless } = await begin()
      const page = await (await openPage(world, authorizationQuery(keyless, { resource }))).text()
      expect(page).toContain('This lasts 1 hour')
      const tokens = await tokensOf(swap(keyless, await codeFor(world, keyless), unauthenticated))
      expect(tokens).toEqual({
        access_token: expect.any(String),
        token_type: 'Bearer',
        expires_in: 3600,
        scope: 'poppy:read poppy:write',
        session_id: expect.any(String),
        signed_in: true,
      })
      expect(await call(world, tokens.access_token)).toBe('200')
      expect(await store.dump()).toMatchObject({ grants: [{ sign_in: 'mcp', expires_at: world.clock.now + hour }] })
      const connected = () => world.company.accounts.connectedAgents('acc-maya')
      expect(await connected()).toMatchObject([{ clientId: keyless.clientId, expiresAt: world.clock.now + hour }])
      world.clock.now += hour
      expect(await call(world, tokens.access_token)).toBe('401 invalid_token')
      expect(await connected()).toEqual([])
    })

    it('lets a client that can’t authenticate do nothing else [4.1.private-key-jwt, 4.8.account-token-client, K14]', async () => {
      const { store, world, agent, keyless } = await begin()
      const code = await codeFor(world, keyless)
      const mine = await world.signIn(agent, (await world.start()).session_id)
      const own = await tokensOf(swap(keyless, await codeFor(world, keyless), unauthenticated))
      const before = await store.dump()
      const start = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer' }
      const assertion = await keyless.sessionAssertion()
      const refreshing = { grant_type: 'refresh_token', refresh_token: mine.refresh_token ?? '' }
      const tries: Promise<Response>[] = []
      for (const bend of [unauthenticated, {}]) {
        tries.push(keyless.token({ ...start, assertion, ...bend }))
        tries.push(keyless.token({ ...start, assertion, resource, ...bend }, { proof: null }))
        tries.push(refresh(keyless, mine.refresh_token, bend))
        tries.push(keyless.token({ ...refreshing, ...bend }))
        tries.push(keyless.revoke(mine.refresh_token ?? '', bend))
        tries.push(keyless.revoke(own.access_token, bend))
        tries.push(swap(keyless, code, { session_id: own.session_id, ...bend }))
        tries.push(swap(keyless, code, { resource: null, ...bend }))
        tries.push(swap(keyless, code, { resource: 'https://miramar.example/poppy/openapi.json', ...bend }))
        tries.push(swap(keyless, code, bend, await keyless.proof('POST', keyless.tokenUrl)))
      }
      // What it signs with a key is worth nothing: its document names none.
      tries.push(swap(keyless, code))
      tries.push(swap(keyless, code, { client_assertion: null }))
      tries.push(swap(keyless, code, { ...unauthenticated, client_secret: 'secret' }))
      tries.push(keyless.token({ code, ...unauthenticated }, { proof: null, headers: { authorization: 'Basic YTpi' } }))
      const outcomes = new Set(await Promise.all(tries.map(async (one) => outcome(await one))))
      expect([...outcomes].sort()).toEqual(['400 invalid_request', '401 invalid_client'])
      expect(await store.dump()).toEqual(before)
      expect(await outcome(await swap(keyless, code, unauthenticated))).toBe('200')
    })

    it('takes no client at its word that has a key [4.1.private-key-jwt, 6.mcp-own-flow]', async () => {
      const { store, world, agent } = await begin()
      const code = await codeFor(world, agent)
      const before = await store.dump()
      expect(await outcome(await swap(agent, code, unauthenticated))).toBe('401 invalid_client')
      expect(await store.dump()).toEqual(before)
      const client_assertion = await agent.clientAssertion()
      expect(await outcome(await swap(agent, 'made-up', { client_assertion }))).toBe('400 invalid_grant')
      expect(await outcome(await swap(agent, code, { client_assertion }))).toBe('401 invalid_client')
      expect(await outcome(await swap(agent, code))).toBe('200')
    })

    it('takes the client from its assertion where client_id is left out, and never from two places [4.1.private-key-jwt]', async () => {
      const { world, agent } = await begin()
      const other = await world.newAgent()
      const code = await codeFor(world, agent)
      const asOther = { client_id: other.clientId }
      expect(await outcome(await swap(agent, code, asOther))).toBe('401 invalid_client')
      for (const client_assertion of ['x', 'a.b.c', await other.clientAssertion()])
        expect((await swap(agent, code, { client_id: null, client_assertion })).status).toBeGreaterThanOrEqual(400)
      expect(await outcome(await swap(agent, code, { client_id: null }))).toBe('200')
    })

    it.each(['a key', 'no key'])(
      'holds a client with %s to the rules of codes [4.5.code-once, 4.5.code-bound, 4.5.pkce, K25, K26]',
      async (kind) => {
        const { store, world, agent, keyless } = await begin()
        const [client, other] = kind === 'a key' ? [agent, keyless] : [keyless, agent]
        const own = (one: WireAgent) => (one === keyless ? unauthenticated : {})
        const get = (code: string, bend: Record<string, string | null> = {}) =>
          swap(client, code, { ...own(client), ...bend })
        for (const bend of [
          { code_verifier: id().repeat(3) },
          { code_verifier: 'short' },
          { redirect_uri: `${client.redirectUri}/x` },
        ]) {
          const code = await codeFor(world, client)
          expect(await outcome(await get(code, bend))).toBe('400 invalid_grant')
          expect(await outcome(await get(code))).toBe('400 invalid_grant')
        }
        const code = await codeFor(world, client)
        for (const missing of ['code_verifier', 'redirect_uri', 'code'])
          expect(await outcome(await get(code, { [missing]: null }))).toBe('400 invalid_request')
        const before = await store.dump()
        const stolen = { redirect_uri: client.redirectUri, code_verifier: verifierOf(client), ...own(other) }
        expect(await outcome(await swap(other, code, stolen))).toBe('400 invalid_grant')
        expect(await store.dump()).toEqual(before)

        const tokens = await tokensOf(get(code))
        expect(await outcome(await swap(other, code, stolen))).toBe('400 invalid_grant')
        expect(await call(world, tokens.access_token)).toBe('200')
        expect(await outcome(await get(code))).toBe('400 invalid_grant')
        expect(await call(world, tokens.access_token)).toBe('401 invalid_token')
        const late = await codeFor(world, client)
        world.clock.now += 60_000
        expect(await outcome(await get(late))).toBe('400 invalid_grant')
      },
    )

    it('gives a code’s tokens once, at whatever instance, and takes them back when more come [4.5.code-once, K25]', async () => {
      const { store } = await fresh()
      const { worlds, agent, turnTo } = await makeInstances([{ store: store() }, { store: store() }])
      const code = await codeFor(turnTo(0), withoutKeys(agent))
      const [first, second] = worlds.map((_, number) => {
        turnTo(number)
        return [swap(agent, code, unauthenticated), swap(agent, code, unauthenticated)]
      })
      const answers = await Promise.all([...(first ?? []), ...(second ?? [])])
      const won = answers.filter(({ status }) => status === 200)
      const tokens = await Promise.all(won.map(async (answer) => (await answer.clone().json()) as Tokens))
      expect((await Promise.all(answers.map(outcome))).sort()).toEqual([
        '200',
        ...Array<string>(3).fill('400 invalid_grant'),
      ])
      expect(await call(turnTo(0), tokens[0]?.access_token ?? '')).toBe('401 invalid_token')
    })

    it('binds the code to the server that was named, at both endpoints [4.2.invalid-target, 4.3.bearer-one-server, K23, K40]', async () => {
      const { store, world, agent } = await begin()
      const { session_id } = await world.start()
      const bound = await codeFor(world, agent)
      const unbound = await codeFor(world, agent, { resource: null })
      const before = await store.dump()
      // With neither proof nor resource as everywhere (4.3).
      expect(await outcome(await swap(agent, bound, { resource: null }))).toBe('400 invalid_dpop_proof')
      expect(await outcome(await swap(agent, unbound, { resource: null }))).toBe('400 invalid_dpop_proof')
      expect(await outcome(await swap(agent, unbound))).toBe('400 invalid_target')
      expect(await outcome(await swap(agent, bound, { resource: `${resource}/` }))).toBe('400 invalid_target')
      expect(await outcome(await exchange(agent, bound, session_id))).toBe('400 invalid_target')
      const openapi = 'https://miramar.example/poppy/openapi.json'
      expect(await outcome(await exchange(agent, bound, session_id, { resource: openapi }))).toBe('400 invalid_target')
      expect(await outcome(await exchange(agent, unbound, '', {}))).toBe('400 invalid_request')
      expect(await store.dump()).toEqual(before)
      expect(await tokensOf(swap(agent, unbound, { session_id }))).toMatchObject({ token_type: 'Bearer', session_id })
      expect(await tokensOf(swap(agent, bound))).toMatchObject({ token_type: 'Bearer', signed_in: true })
    })

    it('is refreshed without a session_id: the same User, the next Session, and one that runs at a time [4.8.without-session, 4.8.not-extended, K23]', async () => {
      const { store, world, agent } = await begin()
      const first = await tokensOf(swap(agent, await codeFor(world, agent)))
      const begun = world.clock.now
      const sessions = async () =>
        ((await store.dump()) as { sessions: { id: string; user_id: string; expires_at: number }[] }).sessions
      let last = first
      for (let hours = 1; hours <= 30; hours++) {
        world.clock.now += hour
        expect(await call(world, last.access_token)).toBe('401 invalid_token')
        last = await tokensOf(refresh(agent, first.refresh_token))
        expect(last).toMatchObject({ token_type: 'Bearer', expires_in: 3600, signed_in: true })
        expect(last.refresh_token).toBeUndefined()
        expect(await call(world, last.access_token)).toBe('200')
        const running = (await sessions()).filter(({ expires_at }) => expires_at > world.clock.now)
        expect(running.map((session) => session.id)).toEqual([last.session_id])
      }
      expect(new Set((await sessions()).map(({ user_id }) => user_id)).size).toBe(1)
      const narrow = await tokensOf(refresh(agent, first.refresh_token, { scope: 'poppy:read' }))
      expect(narrow.scope).toBe('poppy:read')
      for (const other of ['https://miramar.example/poppy/other', `${resource}/`])
        expect(await outcome(await refresh(agent, first.refresh_token, { resource: other }))).toBe('400 invalid_target')
      expect(await outcome(await refresh(agent, first.refresh_token, { resource: null }))).toBe(
        '400 invalid_dpop_proof',
      )
      // An agent that proves a key knows Poppy: its Session is like any other.
      const proven = await tokensOf(
        agent.token({ grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '' }),
      )
      const row = (await sessions()).find((session) => session.id === proven.session_id)
      expect(row?.expires_at).toBe(world.clock.now + 30 * day)
      world.clock.now = begun + 90 * day
      expect(await outcome(await refresh(agent, first.refresh_token))).toBe('400 invalid_grant')
    })

    it('ends for a call whose body was on its way when the client revoked [4.9.at-once, 6.invalid-token]', async () => {
      const { world, agent } = await begin()
      const tokens = await tokensOf(swap(agent, await codeFor(world, agent)))
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
      const writer = writable.getWriter()
      const answer = world.company.fetch(post(tokens.access_token, readable))
      // Taken once somebody reads it, which is after the token was looked at.
      await writer.write(new TextEncoder().encode(bodyOf('my_bookings').slice(0, 1)))
      expect((await agent.revoke(tokens.refresh_token ?? '')).status).toBe(200)
      world.clock.now += 2000
      await Promise.all([writer.write(new TextEncoder().encode(bodyOf('my_bookings').slice(1))), writer.close()])
      expect(await outcome(await answer)).toBe('401 invalid_token')
    })

    it('ends at once when the client revokes, or the person disconnects it [4.9.revoke, 4.9.at-once, 4.9.disconnect]', async () => {
      const { world, agent, keyless } = await begin()
      const kept = await tokensOf(swap(agent, await codeFor(world, agent)))
      const ended = await tokensOf(swap(agent, await codeFor(world, agent)))
      const other = await tokensOf(swap(keyless, await codeFor(world, keyless), unauthenticated))
      expect((await agent.revoke(ended.refresh_token ?? '')).status).toBe(200)
      // Also where nothing needs an account: a client of this kind knows no signed-out Session.
      expect(await call(world, ended.access_token, 'echo')).toBe('401 invalid_token')
      expect(await outcome(await refresh(agent, ended.refresh_token))).toBe('400 invalid_grant')
      for (const { access_token } of [kept, other]) expect(await call(world, access_token)).toBe('200')
      expect(await world.company.accounts.disconnect('acc-maya', keyless.clientId)).toBe(1)
      expect(await call(world, other.access_token)).toBe('401 invalid_token')
      expect(await call(world, kept.access_token)).toBe('200')
    })
  })
}

describe('the authorization request of an MCP client', () => {
  it.each([
    ['another server', { resource: 'https://other.example/mcp' }],
    ['nearly the right one', { resource: `${resource}/` }],
    ['the API that takes DPoP', { resource: 'https://miramar.example/poppy/openapi.json' }],
  ])('for %s goes back as invalid_target [4.2.invalid-target]', async (_, bend) => {
    const world = await makeWorld()
    const answer = redirectOf(await openPage(world, authorizationQuery(world.agent, bend)))
    expect(answer.said).toMatchObject({ error: 'invalid_target', state: 'a-state', iss: world.origin })
  })

  it('for two servers, or without one from a client that can’t authenticate, goes back as invalid_target [4.2.invalid-target]', async () => {
    const world = await makeWorld()
    const two = authorizationQuery(world.agent, { resource })
    two.append('resource', resource)
    const keyless = withoutKeys(await world.newAgent())
    for (const query of [two, authorizationQuery(keyless), authorizationQuery(keyless, { resource: '' })])
      expect(redirectOf(await openPage(world, query)).said).toMatchObject({ error: 'invalid_target' })
    expect(await formOn(await openPage(world, authorizationQuery(world.agent, { resource: '' })))).not.toBe('')
  })

  it('of a client that can’t authenticate comes back to its own host alone [4.5.redirect-uri-exact, 4.1.redirect-uris-same-domain]', async () => {
    const world = await makeWorld()
    const keyless = withoutKeys(world.agent)
    const elsewhere = ['http://127.0.0.1:33418/', 'http://localhost/back', 'https://evil.example/back']
    const document = keyless.documents[keyless.clientId] as Record<string, unknown>
    keyless.documents[keyless.clientId] = { ...document, redirect_uris: [...elsewhere, keyless.redirectUri] }
    for (const redirect_uri of [...elsewhere, 'http://127.0.0.1:1/']) {
      const answer = await openPage(world, authorizationQuery(keyless, { resource, redirect_uri }))
      expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
    }
    expect(await codeFor(world, keyless)).not.toBe('')
  })

  it('keeps the server when a page is shown again because nothing was ticked', async () => {
    const world = await makeWorld()
    const again = await decideOn(world, await openForm(world, world.agent, { resource }), { scopes: [] })
    expect(again.status).toBe(400)
    const { said } = redirectOf(await decideOn(world, await formOn(again)))
    expect(await outcome(await swap(world.agent, said.code ?? ''))).toBe('200')
  })

  it('finds out what is offered: `none` and the server only where someone can sign in for tools [6.mcp-own-flow, 3.2.metadata]', async () => {
    const metadata = async (config: object) => {
      const world = await makeWorld(config)
      const url = `${world.origin}/.well-known/oauth-authorization-server`
      const document = await (await world.send(new Request(url))).json()
      return document as Record<string, unknown>
    }
    expect(await metadata({})).toMatchObject({
      token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'],
      revocation_endpoint_auth_methods_supported: ['private_key_jwt'],
      client_id_metadata_document_supported: true,
      protected_resources: [resource],
      scopes_supported: ['poppy:read', 'poppy:write', 'loyalty'],
    })
    for (const config of [{ tools: [] }, { signIn: {}, tools: [] }]) {
      const document = await metadata(config)
      expect(document.token_endpoint_auth_methods_supported).toEqual(['private_key_jwt'])
      expect(document.protected_resources).toBeUndefined()
    }
  })
})

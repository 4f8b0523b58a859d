import { describe, expect, it } from 'vitest'
import { authorizationQuery, decideOn, exchange, formOn, openForm, openPage, redirectOf } from './setup/consent.ts'
import { stores } from './setup/stores.ts'
import { watch } from './setup/watched-store.ts'
import type { WireAgent } from './setup/wire-agent.ts'
import { makeWorld, type Tokens, type World } from './setup/world.ts'

const issuer = 'https://miramar.example'
const callback = 'https://agent.example/oauth/callback'
const minute = 60_000

/** Changes what an agent publishes. */
function publish(agent: WireAgent, members: Record<string, unknown>): void {
  agent.documents[agent.clientId] = { ...(agent.documents[agent.clientId] as object), ...members }
}

const canRead = async (world: World, token: string) =>
  (await world.agent.call('/poppy/tools/my_bookings', token)).status === 200

describe('the authorization request', () => {
  it('comes back with a one-time code, the same state and iss when the person approves [4.5.redirect-carries, K28]', async () => {
    const world = await makeWorld()
    for (const state of ['a-state', 'a b&c=d#é"<', 'x'.repeat(2048)]) {
      const answer = await decideOn(world, await openForm(world, world.agent, { state }))
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([303, 'no-store'])
      expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
      expect(redirectOf(answer)).toEqual({
        to: callback,
        said: { code: expect.stringMatching(/^[\w-]{43}$/), state, iss: issuer },
      })
    }
    const stateless = redirectOf(await decideOn(world, await openForm(world, world.agent, { state: null })))
    expect(stateless.said).toEqual({ code: expect.any(String), iss: issuer })
  })

  it('comes back with access_denied, state and iss, and no code, when they decline [4.5.access-denied, K28]', async () => {
    const world = await makeWorld()
    const answer = await decideOn(world, await openForm(world), { decision: 'decline' })
    expect(redirectOf(answer)).toEqual({
      to: callback,
      said: { error: 'access_denied', state: 'a-state', iss: issuer },
    })
  })

  it.each([
    ['no scope', { scope: null }, 'invalid_scope'],
    ['an empty scope', { scope: '' }, 'invalid_scope'],
    ['an unknown scope', { scope: 'poppy:read everything' }, 'invalid_scope'],
    ['a scope that is described but not offered here', { scope: 'addresses' }, 'invalid_scope'],
    ['two spaces in scope', { scope: 'poppy:read  poppy:write' }, 'invalid_scope'],
    ['no code_challenge', { code_challenge: null, code_challenge_method: null }, 'invalid_request'],
    ['a plain code_challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['no method, which would mean plain', { code_challenge_method: null }, 'invalid_request'],
    ['a challenge that is no hash', { code_challenge: 'short' }, 'invalid_request'],
    ['no response_type', { response_type: null }, 'invalid_request'],
    ['another response_type', { response_type: 'token' }, 'unsupported_response_type'],
  ] as const)(
    'with %s goes back to the agent as an error, with state and iss [4.4.scope-required, 4.4.invalid-scope, 4.2.invalid-scope, 4.5.pkce, K26, K28]',
    async (_, bend, error) => {
      const scopes = {
        'poppy:read': 'See your bookings',
        'poppy:write': 'Change them',
        addresses: 'See your addresses',
      }
      const world = await makeWorld({ scopes, signIn: { direct: ['poppy:read', 'poppy:write'] }, tools: [] })
      const answer = await openPage(world, authorizationQuery(world.agent, bend))
      expect(redirectOf(answer)).toEqual({
        to: callback,
        said: { error, error_description: expect.any(String), state: 'a-state', iss: issuer },
      })
    },
  )

  it('with a state too long to carry goes back as invalid_request, without it', async () => {
    const world = await makeWorld()
    const answer = await openPage(world, authorizationQuery(world.agent, { state: 'x'.repeat(2049) }))
    const said = { error: 'invalid_request', error_description: expect.any(String), iss: issuer }
    expect(redirectOf(answer)).toEqual({ to: callback, said })
  })

  it('with a parameter twice goes back as invalid_request; what nobody knows is ignored', async () => {
    const world = await makeWorld()
    for (const name of ['scope', 'state', 'code_challenge', 'code_challenge_method', 'response_type']) {
      const query = authorizationQuery(world.agent)
      query.append(name, query.get(name) ?? '')
      expect(redirectOf(await openPage(world, query)).said).toMatchObject({ error: 'invalid_request', iss: issuer })
    }
    expect(await formOn(await openPage(world, `${authorizationQuery(world.agent)}&foo=1&foo=2`))).not.toBe('')
  })

  it.each([
    'https://agent.example@evil.test/oauth/callback',
    'https://agent.example/oauth/%2e%2e/x',
    'https://agent.example/oauth/./callback',
    'https://agent.example/oauth/callback?next=1',
    'https://agent.example/oauth/callback#x',
    'https://AGENT.example/oauth/callback',
    'https://agent.example/oauth/callback/',
    'https://agent.example:443/oauth/callback',
    'https://agent.example/oauth/Callback',
    'https://agent.example/oauth/callback%00',
    'http://agent.example/oauth/callback',
    ' https://agent.example/oauth/callback',
    'https://agent.example.evil.test/oauth/callback',
    'javascript:alert(1)',
    '//agent.example/oauth/callback',
    '',
  ])('never redirects to %j: a page says so instead [4.5.redirect-uri-exact, K31]', async (redirect_uri) => {
    const world = await makeWorld()
    const answer = await openPage(world, authorizationQuery(world.agent, { redirect_uri }))
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
    expect(await answer.text()).toContain('Nothing was changed')
  })

  it('of a client or to an address that can’t be known stays on a page', async () => {
    const world = await makeWorld()
    const query = authorizationQuery(world.agent)
    const twice = (name: string) => {
      const doubled = new URLSearchParams(query)
      doubled.append(name, query.get(name) ?? '')
      return doubled
    }
    for (const bent of [
      authorizationQuery(world.agent, { client_id: null }),
      authorizationQuery(world.agent, { client_id: 'https://nobody.example/agent.json' }),
      authorizationQuery(world.agent, { client_id: 'agent' }),
      authorizationQuery(world.agent, { redirect_uri: null }),
      twice('client_id'),
      twice('redirect_uri'),
      '',
    ]) {
      const answer = await openPage(world, bent)
      expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
    }
  })

  it('of somebody who is signed out of the site goes to its own sign-in and back', async () => {
    const world = await makeWorld()
    world.site.account = null
    const answer = await openPage(world, authorizationQuery(world.agent))
    const { to, said } = redirectOf(answer)
    expect([answer.status, to]).toEqual([303, 'https://miramar.example/login'])
    expect(said.next).toBe(`/poppy/authorize?${authorizationQuery(world.agent)}`)
    world.site.account = { id: 'acc-maya', name: 'maya@example.com' }
    const back = await world.send(new Request(new URL(said.next ?? '', issuer)))
    expect(redirectOf(await decideOn(world, await formOn(back))).said.code).toBeDefined()
    const blank = await makeWorld({ account: (() => undefined) as never })
    expect((await openPage(blank, authorizationQuery(blank.agent))).status).toBe(303)
  })
})

describe('an address to come back to', () => {
  it.each([
    ['https://agent.example/cb?tenant=7', 'https://agent.example/cb?tenant=7&'],
    ['https://agent.example/zurück/日本', 'https://agent.example/zur%C3%BCck/%E6%97%A5%E6%9C%AC?'],
    ['https://agent.example/%7Euser//cb', 'https://agent.example/%7Euser//cb?'],
  ])('is kept as %s was published, with the answer behind it', async (redirect_uri, begins) => {
    const world = await makeWorld()
    publish(world.agent, { redirect_uris: [redirect_uri] })
    const page = await openPage(world, authorizationQuery(world.agent, { redirect_uri, scope: 'unknown' }))
    expect(page.headers.get('location')).toMatch(/error=invalid_scope/)
    const answer = await decideOn(world, await openForm(world, world.agent, { redirect_uri }))
    const location = answer.headers.get('location') ?? ''
    expect([answer.status, location.startsWith(begins)]).toEqual([303, true])
    expect(location.slice(begins.length)).toMatch(/^code=[\w-]{43}&state=a-state&iss=https%3A%2F%2Fmiramar.example$/)
  })
})

describe('the page', () => {
  it('can’t be framed, runs nothing, and lets its form end at the agent and nowhere else [K34]', async () => {
    const world = await makeWorld()
    const page = await openPage(world, authorizationQuery(world.agent))
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy.split('; ').sort()).toEqual([
      "base-uri 'none'",
      "default-src 'none'",
      "form-action 'self' https://agent.example",
      "frame-ancestors 'none'",
      expect.stringMatching(/^style-src 'sha256-[A-Za-z0-9+/]+=*'$/),
    ])
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-type': 'text/html; charset=utf-8',
    })
    expect(page.headers.has('access-control-allow-origin')).toBe(false)
    expect(page.headers.has('set-cookie')).toBe(false)
  })

  it('shows name and host of the agent, the account, and each right in the company’s words [4.5.shows-agent, 4.5.shows-scopes]', async () => {
    const world = await makeWorld()
    const text = await (await openPage(world, authorizationQuery(world.agent))).text()
    for (const shown of [
      '<h1>Example Agent asks for access',
      // Not the address in a link: what a person reads.
      '<strong>agent.example</strong>',
      'maya@example.com',
      'See your bookings',
      'Change your bookings',
    ])
      expect(text).toContain(shown)
    expect(text).not.toContain('acc-maya')
    expect(text).not.toContain('See your points')
  })

  it('leads to another account and back, and says how long it lasts and where to end it', async () => {
    const query = { client_id: 'https://agent.example/agent.json' }
    const linksOn = async (world: World) => {
      const text = await (await openPage(world, authorizationQuery(world.agent, query))).text()
      const links = [...text.matchAll(/<a href="([^"]+)">([^<]+)</g)].map(([, href = '', words]) => [words, href])
      return { text, links: Object.fromEntries(links.map(([words, href]) => [words, href?.replaceAll('&amp;', '&')])) }
    }
    const plain = await makeWorld()
    const back = encodeURIComponent(`/poppy/authorize?${authorizationQuery(plain.agent, query)}`)
    const { text, links } = await linksOn(plain)
    expect(links).toEqual({
      'Use another account': `${issuer}/login?next=${back}`,
      'connected agents': `${issuer}/poppy/agents`,
    })
    expect(text).toContain('This lasts 90 days, unless you end it sooner')
    const own = await makeWorld({
      switchAccountPage: (returnTo) => `/accounts?back=${encodeURIComponent(returnTo)}`,
      connectedAgentsPage: '/account#agents',
      lifetimes: { accountToken: null },
    })
    const shown = await linksOn(own)
    expect(shown.links).toEqual({
      'Use another account': `${issuer}/accounts?back=${back}`,
      'connected agents': `${issuer}/account#agents`,
    })
    expect(shown.text).toContain('This lasts until you end it')
  })

  it.each([
    ['markup', '<script>alert(1)</script><b>Hotel Miramar</b>', /&lt;script&gt;/],
    ['an attribute’s end', '"><img src=x onerror=alert(1)>', /&quot;&gt;&lt;img/],
    ['a turn of direction', 'Agent\u202egnp.exe', /Agentgnp\.exe asks/],
    ['line breaks and nothing to see', 'Hotel\n\n\u200b\u2063Miramar', /Hotel Miramar asks/],
    ['five thousand characters', 'x'.repeat(5000), /x{59}… asks/],
    ['nothing readable at all', '\u200b\u200b', /agent\.example asks/],
    ['the name of somebody whom everybody trusts', 'Google', /Google asks/],
  ])(
    'shows an agent’s name with %s as plain text, its host beside it, and no picture of its own [K34]',
    async (_, client_name, expected) => {
      const world = await makeWorld()
      publish(world.agent, { client_name, logo_uri: 'javascript:alert(1)' })
      const text = await (await openPage(world, authorizationQuery(world.agent))).text()
      expect(text).toMatch(expected)
      expect(text).not.toMatch(/<script|<img|<b>Hotel|javascript:/)
      expect(text).toMatch(/<strong>agent\.example<\/strong>/)
    },
  )

  it('puts nothing of the address into itself unescaped', async () => {
    const world = await makeWorld()
    const state = '"><script>alert(1)</script>'
    const text = await (await openPage(world, authorizationQuery(world.agent, { state }))).text()
    expect(text).not.toContain('<script')
  })
})

describe('the form', () => {
  it('is used once, whatever the answer was', async () => {
    const world = await makeWorld()
    const form = await openForm(world)
    expect((await decideOn(world, form, { decision: 'decline' })).status).toBe(303)
    for (const decision of ['approve', 'decline', 'approve']) {
      const again = await decideOn(world, form, { decision })
      expect([again.status, again.headers.get('location')]).toEqual([400, null])
    }
    const both = await openForm(world)
    const statuses = (await Promise.all([decideOn(world, both), decideOn(world, both)])).map(({ status }) => status)
    expect(statuses.sort()).toEqual([303, 400])
  })

  it('is good for the person who saw it and for nobody else', async () => {
    const store = watch((await (stores[0] as (typeof stores)[0]).fresh()).store())
    const world = await makeWorld({}, store)
    const form = await openForm(world)
    const before = await store.dump()
    for (const account of [{ id: 'acc-other', name: 'guest2@example.com' }, null]) {
      world.site.account = account
      const refused = await decideOn(world, form)
      expect([refused.status, refused.headers.get('location')]).toEqual([403, null])
    }
    expect(await store.dump()).toEqual(before)
    expect(before).toMatchObject({ codes: [], grants: [] })
    world.site.account = { id: 'acc-maya', name: 'maya@example.com' }
    expect((await decideOn(world, form)).status).toBe(303)
  })

  it('comes from our own page: a cross-site post is refused, whatever is in it', async () => {
    const world = await makeWorld()
    const form = await openForm(world)
    for (const headers of [
      { origin: 'https://evil.test' },
      { origin: 'null' },
      { origin: 'http://miramar.example' },
      { origin: 'https://miramar.example.evil.test' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      const refused = await decideOn(world, form, { headers })
      expect([refused.status, refused.headers.get('location')]).toEqual([403, null])
    }
    expect((await decideOn(world, form)).status).toBe(303)
  })

  it('is refused when it is too old, changed, missing, doubled, made elsewhere, or not a form', async () => {
    const world = await makeWorld()
    const form = await openForm(world)
    const parts = form.split('.')
    const changed = parts.with(3, `${parts[3]?.startsWith('A') ? 'B' : 'A'}${parts[3]?.slice(1)}`).join('.')
    const { access_token } = await world.start()
    for (const sealed of ['', 'x', changed, form.slice(0, -2), access_token])
      expect((await decideOn(world, sealed)).status).toBe(400)
    for (const decision of ['', 'yes', 'constructor'])
      expect((await decideOn(world, form, { decision })).status).toBe(400)
    const doubled = new URLSearchParams({ request: form, decision: 'approve', scope: 'poppy:read' })
    const post = (body: string, type = 'application/x-www-form-urlencoded') =>
      world.send(
        new Request(`${issuer}/poppy/authorize`, {
          method: 'POST',
          body,
          headers: { origin: issuer, 'content-type': type },
        }),
      )
    expect((await post(`${doubled}&request=${form}`)).status).toBe(400)
    expect((await post(`${doubled}&decision=decline`)).status).toBe(400)
    expect((await post(String(doubled), 'text/plain')).status).toBe(400)
    expect((await post('x'.repeat(70_000))).status).toBe(413)
    world.clock.now += 30 * minute
    const old = await decideOn(world, form)
    expect([old.status, old.headers.get('location')]).toEqual([400, null])
  })

  it('of another Company with the same secret and the same account ids is refused', async () => {
    const world = await makeWorld()
    const lido = { organization: { name: 'Hotel Lido', domain: 'lido.example' }, origin: 'https://lido.example' }
    const other = await makeWorld(lido)
    const form = await openForm(other)
    expect((await decideOn(world, form)).status).toBe(400)
    expect((await decideOn(other, form)).status).toBe(303)
  })

  it('grants what was ticked, of what was asked, and nothing else; ticking nothing is no approval [4.4.grant-at-most, 4.4.response-scope, 4.5.shows-scopes, K35]', async () => {
    const world = await makeWorld()
    const { session_id } = await world.start()
    const none = await decideOn(world, await openForm(world), { scopes: [] })
    expect([none.status, none.headers.get('location')]).toEqual([400, null])
    const again = await formOn(none)
    // Ticked boxes that were never on the page, and one twice.
    const scopes = ['poppy:write', 'poppy:write', 'loyalty', 'poppy:read x', '__proto__']
    const { code = '' } = redirectOf(await decideOn(world, again, { scopes })).said
    const tokens = (await (await exchange(world.agent, code, session_id)).json()) as Tokens
    expect(tokens).toMatchObject({ scope: 'poppy:write', signed_in: true })
    expect(await canRead(world, tokens.access_token)).toBe(false)
  })

  it('asks again for a wider request and for another agent, of a person who approved before [K35]', async () => {
    const world = await makeWorld()
    await world.signIn(world.agent, (await world.start()).session_id, { scope: 'poppy:read' })
    const other = await world.newAgent()
    for (const [agent, scope] of [
      [world.agent, 'poppy:read loyalty'],
      [world.agent, 'poppy:read'],
      [other, 'poppy:read'],
    ] as const) {
      const page = await openPage(world, authorizationQuery(agent, { scope }))
      const text = await page.text()
      expect(page.status).toBe(200)
      expect([...text.matchAll(/<input type="checkbox" name="scope" value="([^"]+)"/g)].map(([, one]) => one)).toEqual(
        scope.split(' '),
      )
    }
  })
})

import { describe, expect, it } from 'vitest'
import { stores } from './setup/stores.ts'
import { makeKeys, type WireAgent } from './setup/wire-agent.ts'
import { makeWorld, type Tokens, type World } from './setup/world.ts'

// Section 5: the browser of a Personal Agent joins its Session, and the website sees the Session in it.

const page = 'https://miramar.example/bookings'

async function post(
  world: World,
  assertion: string | null,
  init: { url?: string; headers?: Record<string, string> } = {},
) {
  const body = new URLSearchParams(assertion === null ? {} : { assertion })
  return world.send(
    new Request(init.url ?? `${world.origin}/poppy/browser-session`, {
      method: 'POST',
      body,
      // A page that the agent made sends it: another origin, and no cookie of ours.
      headers: { origin: 'null', 'sec-fetch-site': 'cross-site', ...init.headers },
    }),
  )
}

async function join(world: World, session: Tokens, agent: WireAgent = world.agent, returnTo = page) {
  const answer = await post(world, await agent.browserAssertion(session.session_id, returnTo))
  expect(answer.status).toBe(303)
  const cookie = answer.headers.get('set-cookie')?.split(';')[0]
  if (!cookie) throw new Error('no cookie')
  return { answer, cookie }
}

const visit = (world: World, cookie: string) =>
  world.company.browserPrincipal(new Request(page, { headers: { cookie } }))

describe.each(stores)('a browser of a Personal Agent, on $name', ({ missing, fresh }) => {
  const open = async () => makeWorld({ browser: true }, (await fresh()).store())

  it.skipIf(missing)('joins its Session and is sent on [5.see-other, 5.cookie-flags]', async () => {
    const world = await open()
    const { answer } = await join(world, await world.start())
    expect(answer.headers.get('location')).toBe(page)
    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-poppy=[\w-]{43}; Path=\/; Max-Age=43200; Secure; HttpOnly; SameSite=Lax$/,
    )
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it.skipIf(missing)('sees on each page how the Session stands now [5.cookie-follows, 5.website-scopes]', async () => {
    const world = await open()
    const session = await world.start()
    const { cookie } = await join(world, session)
    expect(await visit(world, cookie)).toMatchObject({ clientId: world.agent.clientId, account: null, scopes: [] })

    const signedIn = await world.signIn(world.agent, session.session_id)
    expect(await visit(world, cookie)).toMatchObject({ account: 'acc-maya', scopes: ['poppy:read', 'poppy:write'] })

    await world.agent.revoke(signedIn.refresh_token ?? '')
    expect(await visit(world, cookie)).toMatchObject({ account: null, scopes: [] })
  })

  it.skipIf(missing)('is signed out by a disconnect, at the next page [5.cookie-follows]', async () => {
    const world = await open()
    const session = await world.start()
    await world.signIn(world.agent, session.session_id)
    const { cookie } = await join(world, session)
    expect(await visit(world, cookie)).toMatchObject({ account: 'acc-maya' })
    await world.company.accounts.disconnect('acc-maya', world.agent.clientId)
    expect(await visit(world, cookie)).toMatchObject({ account: null, scopes: [] })
  })

  it.skipIf(missing)(
    'stays joined for no longer than its Session and its cookie last [5.cookie-not-longer]',
    async () => {
      const world = await open()
      const short = await makeWorld(
        { browser: { lifetime: 600 }, lifetimes: { session: 300 } },
        (await fresh()).store(),
      )
      const { cookie } = await join(short, await short.start(short.agent))
      short.clock.now += 299_000
      expect(await visit(short, cookie)).not.toBeNull()
      short.clock.now += 1_000
      expect(await visit(short, cookie)).toBeNull()

      const { cookie: longer } = await join(world, await world.start())
      world.clock.now += 12 * 3_600_000 - 1_000
      expect(await visit(world, longer)).not.toBeNull()
      world.clock.now += 1_000
      expect(await visit(world, longer)).toBeNull()
    },
  )

  it.skipIf(missing)('counts once for an assertion, whichever of two at once comes first [5.jti-once]', async () => {
    const world = await open()
    const session = await world.start()
    const assertion = await world.agent.browserAssertion(session.session_id, page)
    const statuses = await Promise.all([post(world, assertion), post(world, assertion), post(world, assertion)])
    expect(statuses.map(({ status }) => status).sort()).toEqual([303, 400, 400])
    const late = await world.agent.browserAssertion(session.session_id, page, { claims: { jti: 'late' } })
    expect((await post(world, late)).status).toBe(303)
    world.clock.now += 61_000
    expect((await post(world, late)).status).toBe(400)
  })

  it.skipIf(missing)('gives back the cookie that it had when it joins anew [5.replaces-cookie]', async () => {
    const world = await open()
    const session = await world.start()
    const { cookie } = await join(world, session)
    const again = await post(world, await world.agent.browserAssertion(session.session_id, page), {
      headers: { cookie },
    })
    expect(again.status).toBe(303)
    const newer = again.headers.get('set-cookie')?.split(';')[0] ?? ''
    expect(newer).not.toBe(cookie)
    expect(await visit(world, cookie)).toBeNull()
    expect(await visit(world, newer)).not.toBeNull()
  })
})

describe('a browser assertion', () => {
  const cases: readonly [string, (world: World, session: Tokens) => Promise<string | null>][] = [
    ['is missing', async () => null],
    ['is empty', async () => ''],
    ['is no JWT', async () => 'nonsense'],
    ['has no typ', (w, s) => w.agent.browserAssertion(s.session_id, page, { header: { typ: undefined } })],
    ['is a Session assertion', (w) => w.agent.sessionAssertion()],
    ['is for the token endpoint', (w, s) => bent(w, s, { aud: w.agent.tokenUrl })],
    ['is for two', (w, s) => bent(w, s, { aud: [`${w.origin}/poppy/browser-session`] })],
    ['has expired', (w, s) => bent(w, s, { iat: seconds(w) - 120, exp: seconds(w) - 60 })],
    ['lives for 61 seconds', (w, s) => bent(w, s, { exp: seconds(w) + 61 })],
    ['has no iat', (w, s) => bent(w, s, { iat: undefined })],
    ['has no exp', (w, s) => bent(w, s, { exp: undefined })],
    ['has no jti', (w, s) => bent(w, s, { jti: undefined })],
    ['is of another User', (w, s) => bent(w, s, { sub: 'usr_other' })],
    ['names no Session', (w, s) => bent(w, s, { session_id: undefined })],
    ['names an unknown Session', (w, s) => bent(w, s, { session_id: 'ses_unknown' })],
    ['names a Session with a NUL', (w, s) => bent(w, s, { session_id: 'ses_\u0000' })],
    ['leads elsewhere', (w, s) => bent(w, s, { return_to: 'https://miramar.example.evil.test/' })],
    ['leads nowhere', (w, s) => bent(w, s, { return_to: undefined })],
    [
      'is signed by another key',
      async (w, s) => w.agent.browserAssertion(s.session_id, page, { key: (await makeKeys()).privateKey }),
    ],
    [
      'is another agent’s for this Session',
      async (w, s) => (await w.newAgent()).browserAssertion(s.session_id, page, { claims: { sub: w.agent.userId } }),
    ],
    [
      'names another agent than signed it',
      async (w, s) => (await w.newAgent()).browserAssertion(s.session_id, page, { claims: { iss: w.agent.clientId } }),
    ],
    ['names an iss that isn’t there', (w, s) => bent(w, s, { iss: 'https://nobody.example/agent.json' })],
    ['names an iss that is no client_id', (w, s) => bent(w, s, { iss: 'http://10.0.0.1/' })],
  ]

  it.each(cases)(
    'that %s is an error page without a cookie [5.error-page, 5.signature, 5.typ, 5.aud, 5.not-expired, 5.exp-60, 5.session-active, 5.jti-once, 5.return-to]',
    async (_, make) => {
      const world = await makeWorld({ browser: true })
      const session = await world.start()
      const answer = await post(world, await make(world, session))
      expect(answer.status).toBe(400)
      expect(answer.headers.get('content-type')).toContain('text/html')
      expect(answer.headers.get('set-cookie')).toBeNull()
      expect(answer.headers.get('location')).toBeNull()
    },
  )

  it('is refused in the URL, and with a second one beside it [5.body-only]', async () => {
    const world = await makeWorld({ browser: true })
    const session = await world.start()
    const make = () => world.agent.browserAssertion(session.session_id, page)
    const url = `${world.origin}/poppy/browser-session`
    expect((await post(world, null, { url: `${url}?assertion=${await make()}` })).status).toBe(400)
    expect((await post(world, await make(), { url: `${url}?x=1` })).status).toBe(400)
    expect((await world.send(new Request(`${url}?assertion=${await make()}`))).status).toBe(405)
    const doubled = new URLSearchParams([
      ['assertion', await make()],
      ['assertion', await make()],
    ])
    expect((await world.send(new Request(url, { method: 'POST', body: doubled }))).status).toBe(400)
  })

  it('is refused at the token endpoint [5.not-at-token-endpoint]', async () => {
    const world = await makeWorld({ browser: true })
    const session = await world.start()
    const assertion = await world.agent.browserAssertion(session.session_id, page, {
      claims: { aud: world.agent.tokenUrl },
    })
    const answer = await world.agent.startSession({ assertion })
    expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([400, 'invalid_grant'])
  })

  it('that was refused for its page may come again with another [5.jti-once]', async () => {
    const world = await makeWorld({ browser: true })
    const session = await world.start()
    const claims = { jti: 'same' }
    const wrong = await world.agent.browserAssertion(session.session_id, 'https://evil.test/', { claims })
    expect((await post(world, wrong)).status).toBe(400)
    const right = await world.agent.browserAssertion(session.session_id, page, { claims })
    expect((await post(world, right)).status).toBe(303)
  })
})

describe('the website', () => {
  it('takes a stranger’s or a broken cookie for nobody’s, and another Company’s too', async () => {
    const world = await makeWorld({ browser: true })
    const { cookie } = await join(world, await world.start())
    for (const other of [
      '',
      'site=1',
      '__Host-poppy=',
      `__Host-poppy=${'a'.repeat(43)}`,
      '__Host-poppy=; __Host-poppy=x',
      cookie.slice(0, -1),
    ])
      expect(await visit(world, other)).toBeNull()
    const elsewhere = await makeWorld({ browser: true })
    expect(await visit(elsewhere, cookie)).toBeNull()
  })

  it('sees the Session beside the person’s own cookie [5.cookie-wins]', async () => {
    const world = await makeWorld({ browser: true })
    const { cookie } = await join(world, await world.start())
    expect(await visit(world, `site=maya; ${cookie}; theme=dark`)).toMatchObject({ clientId: world.agent.clientId })
  })

  it('shuts the browser of a blocked agent out on the next page', async () => {
    let isBlocked = false
    const world = await makeWorld({ browser: true, agents: { block: () => isBlocked } })
    const { cookie } = await join(world, await world.start())
    expect(await visit(world, cookie)).not.toBeNull()
    isBlocked = true
    expect(await visit(world, cookie)).toBeNull()
  })

  it('says where browsers join only where they may [3.1.browser-session-endpoint]', async () => {
    const discover = async (world: World) =>
      (await (await world.send(new Request(`${world.origin}/.well-known/poppy.json`))).json()) as { web?: object }
    expect((await discover(await makeWorld({ browser: true }))).web).toEqual({
      browser_session_endpoint: 'https://miramar.example/poppy/browser-session',
    })
    const without = await makeWorld()
    expect((await discover(without)).web).toBeUndefined()
    expect((await post(without, 'x')).status).toBe(404)
    expect(await visit(without, `__Host-poppy=${'a'.repeat(43)}`)).toBeNull()
  })
})

const seconds = (world: World) => Math.floor(world.clock.now / 1000)

function bent(world: World, session: Tokens, claims: Record<string, unknown>): Promise<string> {
  return world.agent.browserAssertion(session.session_id, page, { claims })
}

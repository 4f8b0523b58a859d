import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { startFakeCompany } from '../../test/fake-company.ts'
import { errorOf, keySetOf, startVisit } from '../../test/visit.ts'

describe('Direct Sign-In', () => {
  it('sends state, an S256 challenge and scopes, then the code with verifier, Session, assertion and proof [4.5.pkce-agent, 4.5.state-agent, 4.5.session-id-agent, 4.4.scope-required-agent]', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    const [one, other] = [
      await here.beginSignIn({ scopes: ['poppy:read', 'addresses'] }),
      await here.beginSignIn({ scopes: ['poppy:read'] }),
    ]
    const query = new URL(one.url).searchParams
    expect(Object.fromEntries(query)).toMatchObject({
      response_type: 'code',
      client_id: 'http://localhost:4571/agent.json',
      redirect_uri: 'http://localhost:4571/oauth/callback',
      scope: 'poppy:read addresses',
      code_challenge_method: 'S256',
    })
    expect(one.url).toContain('scope=poppy%3Aread%20addresses')
    for (const name of ['state', 'code_challenge']) {
      expect(query.get(name)).toMatch(/^[\w-]{32,}$/)
      expect(query.get(name)).not.toBe(new URL(other.url).searchParams.get(name))
    }
    const changed = new URL(fake.approve(one.url))
    changed.searchParams.set('state', `${query.get('state')}x`)
    fake.take()
    expect((await errorOf(here.completeSignIn(changed.href))).code).toBe('sign_in_unknown')
    expect(fake.take()).toEqual([])
    // The fake checks verifier, assertion, proof and Session.
    const result = await here.completeSignIn(fake.approve(one.url))
    expect(result).toEqual({
      granted: ['poppy:read', 'addresses'],
      asked: ['poppy:read', 'addresses'],
      missing: [],
      replaced: 'none',
      switched: false,
    })
    expect(fake.requests.at(-1)?.form.get('session_id')).toBe((await here.state()).sessionId)
  })

  it('is finished by the callback that the agent serves, and tells whoever waits', async () => {
    const { agent, fake, session } = await startVisit()
    const here = await session()
    const pending = await here.beginSignIn({ scopes: ['poppy:read'] })
    const { done } = pending
    const page = await agent.fetch(new Request(fake.approve(pending.url)))
    expect([page.status, page.headers.get('referrer-policy'), page.headers.get('cache-control')]).toEqual([
      200,
      'no-referrer',
      'no-store',
    ])
    expect(await page.text()).toContain('You can close this window.')
    expect(await done).toMatchObject({ granted: ['poppy:read'] })
  })

  it('leaves the page to the User: the agent itself asks nothing of the authorization endpoint [4.4.user-in-person-agent]', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    await here.start()
    const opened: string[] = []
    const { granted } = await here.signIn({
      scopes: ['poppy:read'],
      open: async (url) => {
        opened.push(url)
        await here.completeSignIn(fake.approve(url))
      },
    })
    expect([granted, opened.length]).toEqual([['poppy:read'], 1])
    expect(fake.paths().filter((path) => path.includes('/authorize'))).toEqual([])
  })

  it('reports what was not granted', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    const pending = await here.beginSignIn({ scopes: ['poppy:read', 'poppy:write'] })
    expect(await here.completeSignIn(fake.approve(pending.url, { scopes: ['poppy:read'] }))).toMatchObject({
      granted: ['poppy:read'],
      missing: ['poppy:write'],
    })
  })

  it('is declined in a typed error, and the page says so [4.4.failed-keeps-tokens-agent]', async () => {
    const { agent, fake, session, signIn } = await startVisit()
    const here = await session()
    await signIn(here, ['poppy:read'])
    const before = await here.state()
    const pending = await here.beginSignIn({ scopes: ['addresses'] })
    const waiting = errorOf(pending.done)
    const page = await agent.fetch(new Request(fake.approve(pending.url, { decline: true })))
    expect([page.status, await page.text()]).toEqual([400, expect.stringContaining('You declined')])
    expect((await waiting).code).toBe('sign_in_declined')
    expect(await here.state()).toEqual(before)
    expect((await here.call('get_order', { id: '1' })).status).toBe(200)
  })

  it('takes no answer without iss, with another issuer, or with one slash too many, and sends no code [K28, 4.5.iss-exact-agent]', async () => {
    const { agent, fake, clock, session, signIn } = await startVisit()
    const other = await startFakeCompany({ now: () => clock.now, keySet: keySetOf(agent) })
    const here = await session()
    await signIn(here, ['poppy:read'])
    const before = await here.state()
    for (const iss of [null, other.origin, `${fake.origin}/`, fake.origin.toUpperCase()]) {
      for (const decline of [false, true]) {
        const pending = await here.beginSignIn({ scopes: ['addresses'] })
        fake.take()
        const error = await errorOf(here.completeSignIn(fake.approve(pending.url, { iss, decline })))
        expect([error.code, error.action]).toEqual(['sign_in_failed', 'give_up'])
        expect(fake.take()).toEqual([])
      }
    }
    expect(await here.state()).toEqual(before)
  })

  it('takes no answer with a parameter twice', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    for (const name of ['state', 'iss', 'code']) {
      const pending = await here.beginSignIn({ scopes: ['poppy:read'] })
      const callback = new URL(fake.approve(pending.url))
      callback.searchParams.append(name, 'another')
      fake.take()
      expect((await errorOf(here.completeSignIn(callback.href))).code).toMatch(/^sign_in_(unknown|failed)$/)
      expect(fake.take()).toEqual([])
    }
  })

  it('lets several be under way, at two Companies and twice at one, finished in reverse; a replay is refused [K36]', async () => {
    const { agent, user, fake, clock } = await startVisit()
    const other = await startFakeCompany({ now: () => clock.now, keySet: keySetOf(agent), domain: '127.0.0.1' })
    const [here, there] = [(await user.company(fake.origin)).session(), (await user.company(other.origin)).session()]
    const again = (await user.company(fake.origin)).session({ name: 'again', account: 'second' })
    const pending = [
      { session: here, company: fake, ...(await begin(here)) },
      { session: there, company: other, ...(await begin(there)) },
      { session: again, company: fake, ...(await begin(again)) },
    ]
    const callbacks: string[] = []
    for (const { company, url, session } of pending.toReversed()) {
      const callback = company.approve(url)
      callbacks.push(callback)
      await agent.completeSignIn(callback)
      expect((await session.state()).signedIn).toBe(true)
    }
    fake.take()
    for (const callback of callbacks)
      expect((await errorOf(agent.completeSignIn(callback))).code).toBe('sign_in_unknown')
    expect(fake.take()).toEqual([])
    for (const { session } of pending) expect((await session.call('get_order', { id: '1' })).status).toBe(200)
    async function begin(session: typeof here) {
      const { url } = await session.beginSignIn({ scopes: ['poppy:read'] })
      return { url }
    }
  })

  it('takes a callback for its own Session only, where the host hands it to one', async () => {
    const { fake, session } = await startVisit()
    const [one, other] = [await session('one'), await session('other')]
    const pending = await one.beginSignIn({ scopes: ['poppy:read'] })
    const callback = fake.approve(pending.url)
    expect((await errorOf(other.completeSignIn(callback))).code).toBe('sign_in_unknown')
    await one.completeSignIn(callback)
  })

  it('ends by itself when nobody comes back', async () => {
    const { fake, session, clock } = await startVisit()
    const here = await session()
    const pending = await here.beginSignIn({ scopes: ['poppy:read'] })
    const callback = fake.approve(pending.url)
    clock.now += 16 * 60 * 1000
    expect((await errorOf(here.completeSignIn(callback))).code).toBe('sign_in_unknown')
    expect((await errorOf(pending.done)).code).toBe('sign_in_expired')
  })

  it('asks for all that is needed and revokes what it replaces [4.4.all-scopes-agent, 4.4.revoke-replaced-agent, 6.insufficient-scope-agent]', async () => {
    const { fake, session, signIn } = await startVisit()
    const here = await session()
    await signIn(here, ['poppy:read'])
    const [old] = fake.grants.keys()
    const error = await errorOf(here.call('set_address'))
    expect([error.code, error.action, error.scopes]).toEqual([
      'insufficient_scope',
      'ask_owner',
      ['poppy:read', 'addresses'],
    ])
    const pending = await here.beginSignIn({ scopes: ['addresses'] })
    expect(new URL(pending.url).searchParams.get('scope')).toBe('poppy:read addresses')
    expect(await here.completeSignIn(fake.approve(pending.url))).toMatchObject({ replaced: 'revoked' })
    expect(fake.grants.get(old ?? '')?.revoked).toBe(true)
    for (let turn = 0; turn < 2; turn++) {
      expect((await here.call('get_order', { id: '1' })).status).toBe(200)
      expect((await here.call('set_address')).status).toBe(200)
    }
  })

  it('offers only what the Company lists [4.4.only-listed-agent]', async () => {
    const { session } = await startVisit()
    const here = await session()
    expect((await errorOf(here.beginSignIn({ scopes: ['payments'] }))).code).toBe('sign_in_unavailable')
    expect((await errorOf(here.beginSignIn({ scopes: [] }))).code).toBe('invalid_input')
    const other = await startVisit()
    other.fake.switches.poppy = (document) => ({ ...document, auth: { issuer: other.fake.origin } })
    expect((await errorOf((await other.session()).beginSignIn({ scopes: ['poppy:read'] }))).code).toBe(
      'sign_in_unavailable',
    )
  })

  it('is not begun where an Account Token covers the task', async () => {
    const { session, signIn } = await startVisit()
    const [one, other] = [await session('one'), await session('other')]
    await signIn(one, ['poppy:read', 'addresses'])
    const result = await other.signIn({
      scopes: ['poppy:read'],
      open: () => expect.unreachable('nobody needs to sign in'),
    })
    expect(result).toMatchObject({ granted: ['poppy:read', 'addresses'], missing: [] })
    expect((await other.state()).signedIn).toBe(true)
  })
})

describe('secrets', () => {
  it('show in nothing that is handed out: objects, errors, pages, addresses [4.8.never-shown-agent, 4.3.no-token-in-url-agent]', async () => {
    const { agent, user, fake, session, signIn } = await startVisit()
    const company = await user.company(fake.origin)
    const here = await session()
    const pending = await here.beginSignIn({ scopes: ['poppy:read'] })
    await signIn(here, ['poppy:read'])
    const echoed = await here.call('echo', { text: 'hello' })
    // A Company that gives its tokens back, in an answer and in an error.
    const access = fake.requests.at(-1)?.headers.authorization?.split(' ')[1] ?? 'none'
    const [account = 'none'] = fake.grants.keys()
    const repeat = (status: number) =>
      fake.switches.answers.push({
        status,
        headers: { 'content-type': 'application/json', 'x-seen': account },
        body: JSON.stringify({ error: 'bad', message: `for ${access} of ${account}` }),
      })
    repeat(200)
    const repeated = await here.call('echo')
    expect(repeated.body).toEqual({ error: 'bad', message: 'for [secret] of [secret]' })
    repeat(400)
    const failed = await errorOf(here.call('echo'))
    const told = [echoed, repeated, failed, await here.state(), await user.companies()]
    const seen = [agent, user, company, here, pending, ...told]
      .flatMap((value) => [inspect(value, { depth: 9, showHidden: true }), JSON.stringify(value) ?? ''])
      .concat(fake.requests.map(({ path, query }) => path + query))
      .join('\n')
    const secrets = fake.requests
      .flatMap(({ form, headers }) => [
        ...['assertion', 'client_assertion', 'refresh_token', 'code', 'code_verifier'].map((name) => form.get(name)),
        headers.authorization?.split(' ')[1],
        headers.dpop as string | undefined,
      ])
      .concat([...fake.grants.keys()])
      .filter((secret) => secret != null)
    expect(secrets.length).toBeGreaterThan(8)
    for (const secret of secrets) expect(seen.includes(secret)).toBe(false)
    expect(seen).toContain('[secret]')
  })
})

import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { startFakeCompany } from '../../test/fake-company.ts'
import { errorOf, keySetOf, startVisit } from '../../test/visit.ts'

describe('nonces', () => {
  it('support a Company that asks for them, with fresh assertions at the token endpoint [4.3.nonce-agent]', async () => {
    const { fake, session } = await startVisit()
    fake.switches.nonces = 'on'
    await (await session()).start()
    const [first, second] = fake.take().filter(({ path }) => path === '/token')
    expect([first?.status, second?.status]).toEqual([400, 200])
    // The first assertions are spent, whatever came of them.
    for (const name of ['assertion', 'client_assertion']) expect(second?.form.get(name)).not.toBe(first?.form.get(name))
  })

  it('are followed when they change between two calls, which the caller never notices [K10]', async () => {
    const { fake, session } = await startVisit()
    fake.switches.nonces = 'on'
    const here = await session()
    await here.call('echo', { text: 'one' })
    fake.rotateNonce()
    fake.take()
    expect((await here.call('echo', { text: 'two' })).body).toMatchObject({ said: { text: 'two' } })
    expect(fake.paths()).toEqual(['POST /api/echo 401', 'POST /api/echo 200'])
    const [first, second] = fake.take()
    expect(second?.headers.dpop).not.toBe(first?.headers.dpop)
  })

  it('are remembered from any answer, so that a change costs nothing after it [K11]', async () => {
    const { fake, session } = await startVisit()
    fake.switches.nonces = 'on'
    const here = await session()
    await here.call('echo')
    fake.rotateNonce()
    // An error that has nothing to do with nonces carries the new one.
    fake.switches.answers.push({ status: 422, headers: {}, body: '{"error":"tool_failed"}' })
    expect((await errorOf(here.call('echo'))).code).toBe('call_failed')
    fake.take()
    await here.call('echo')
    expect(fake.paths()).toEqual(['POST /api/echo 200'])
    // And so does a success.
    fake.switches.answers.push({ status: 200, headers: {}, body: '{}' })
    fake.rotateNonce()
    await here.call('echo')
    fake.take()
    await here.call('echo')
    expect(fake.paths()).toEqual(['POST /api/echo 200'])
  })

  it.each(['always', 'without'] as const)(
    'end in a clear error where the Company asks %s end [K12]',
    async (nonces) => {
      const { fake, session } = await startVisit()
      const here = await session()
      await here.start()
      await here.apiOperations()
      fake.switches.nonces = nonces
      fake.take()
      const error = await errorOf(here.call('echo'))
      expect([error.code, error.action]).toEqual(['proof_refused', 'give_up'])
      expect(fake.paths()).toEqual(Array(nonces === 'always' ? 2 : 1).fill('POST /api/echo 401'))

      const fresh = await session('another')
      fake.take()
      expect((await errorOf(fresh.start())).code).toBe('proof_refused')
      expect(fake.paths()).toEqual(Array(nonces === 'always' ? 2 : 1).fill('POST /token 400'))
    },
  )
})

describe('the token type', () => {
  it.each(['dpop', 'DPOP', 'DPoP'])('is %s in any letter case [K13]', async (tokenType) => {
    const { fake, session } = await startVisit()
    fake.switches.tokenType = tokenType
    await (await session()).call('echo')
    expect(fake.requests.at(-1)?.headers.authorization).toMatch(/^DPoP /)
  })

  it.each(['Bearer', null, 'N_A'])(
    '%s after a proof is an error, and the token is never sent [K13]',
    async (tokenType) => {
      const { fake, session } = await startVisit()
      fake.switches.tokenType = tokenType
      const error = await errorOf((await session()).call('echo'))
      expect([error.code, error.action]).toEqual(['bad_answer', 'give_up'])
      expect(fake.paths().filter((path) => path.includes('/api/'))).toEqual([])
    },
  )
})

describe('a Session', () => {
  it('starts with both assertions and a proof, and keeps its User ID [4.2.three-parts-agent, 4.2.user-id-stable, 4.2.aud-exact-agent, 4.2.exp-short-agent, 4.2.jti-random-agent, 4.1.private-key-jwt-agent, 4.3.no-ath-at-token-agent, 4.3.proof-claims-agent, 4.3.dpop-scheme-agent, 4.3.proof-per-request-agent]', async () => {
    // The fake checks each of these as a Company must, and takes no jti twice.
    const { fake, user } = await startVisit()
    const company = await user.company(fake.origin)
    const one = await company.startSession()
    const other = await company.startSession()
    await one.call('echo')
    await other.call('echo')
    expect(fake.sessions.size).toBe(2)
    expect(new Set([...fake.sessions.values()].map(({ userId }) => userId)).size).toBe(1)
    const assertion = fake.requests.find(({ path }) => path === '/token')?.form.get('assertion') ?? ''
    const claims = JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString()) as Record<
      string,
      unknown
    >
    expect(claims).toMatchObject({ aud: `${fake.origin}/token`, exp: Number(claims.iat) + 60 })
    expect(String(claims.jti)).toMatch(/^[\w-]{22,}$/)
  })

  it('is renewed before its token expires, and the newest token is used from then on [4.2.renew-agent, 4.3.newest-token-agent]', async () => {
    const { fake, session, clock } = await startVisit()
    const here = await session()
    await here.call('echo')
    const first = fake.take().at(-1)?.headers.authorization
    clock.now += (3600 - 20) * 1000
    await here.call('echo')
    expect(fake.paths().filter((path) => !path.startsWith('GET'))).toEqual(['POST /token 200', 'POST /api/echo 200'])
    const renewal = fake.requests.find(({ path }) => path === '/token')
    expect(renewal?.form.get('session_id')).toBe([...fake.sessions.keys()][0])
    const second = fake.take().at(-1)?.headers.authorization
    expect(second).not.toBe(first)
    await here.call('echo')
    expect(fake.requests.at(-1)?.headers.authorization).toBe(second)
    expect(fake.sessions.size).toBe(1)
  })

  it('is begun anew after invalid_session [4.2.session-ended-agent]', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    const { sessionId } = await here.start()
    for (const one of fake.sessions.values()) one.ended = true
    // The API says invalid_token, the token endpoint then invalid_session.
    await here.call('echo')
    expect((await here.state()).sessionId).not.toBe(sessionId)
    expect(fake.paths().slice(-4)).toEqual([
      'POST /api/echo 401',
      'POST /token 400',
      'POST /token 200',
      'POST /api/echo 200',
    ])
  })

  it('renews its token once after invalid_token, and then says so [6.invalid-token-agent]', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    await here.start()
    const refused = { status: 401, headers: { 'www-authenticate': 'DPoP error="invalid_token"' }, body: '{}' }
    fake.switches.answers.push(refused)
    fake.take()
    expect((await here.call('echo')).status).toBe(200)
    expect(fake.paths().slice(-3)).toEqual(['POST /api/echo 401', 'POST /token 200', 'POST /api/echo 200'])
    const [old, , renewed] = fake.requests.slice(-3).map(({ headers }) => headers.authorization)
    expect(renewed).not.toBe(old)
    fake.switches.answers.push(refused, refused, refused)
    expect((await errorOf(here.call('echo'))).code).toBe('token_refused')
    expect(fake.switches.answers).toHaveLength(1)
  })

  it('is ended without signing out by being forgotten', async () => {
    const { fake, session, signIn } = await startVisit()
    const here = await session()
    await signIn(here, ['poppy:read'])
    const { sessionId } = await here.state()
    await here.end()
    expect(await here.state()).toMatchObject({ sessionId: null, signedIn: false, account: { scopes: ['poppy:read'] } })
    // The Account Token starts the next one, signed in at once.
    expect(await here.start()).toMatchObject({ signedIn: true })
    expect((await here.state()).sessionId).not.toBe(sessionId)
    expect(fake.requests.at(-1)?.form.has('session_id')).toBe(false)
  })

  it('takes a token for what it is, whatever it looks like inside [4.2.token-opaque-agent]', async () => {
    const { fake, session } = await startVisit()
    const claims = { exp: 1, iss: 'https://evil.example', aud: 'nobody', session_id: 'ses_other', scope: 'poppy:write' }
    // Looks like a JWT that ended long ago, and like no text that a JSON reader would take.
    for (const shape of [
      `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.sig`,
      '{"broken":',
      '====',
    ]) {
      fake.switches.tokenShape = (token) => `${shape}${token}`
      const here = await session(`session ${shape.length}`)
      expect((await here.call('echo', { text: 'hello' })).body).toMatchObject({ said: { text: 'hello' } })
      expect(await here.state()).toMatchObject({ signedIn: false, scopes: [] })
    }
  })

  it('takes no token that could not stand in a header, and quotes it nowhere', async () => {
    for (const odd of ['\n', '\r\nX-More: 1', ' ', '\u00e9', '\u20ac', '\0']) {
      const { fake, session } = await startVisit()
      fake.switches.tokenShape = (token) => `canary-${token}${odd}`
      const error = await errorOf((await session()).call('echo'))
      expect([odd, error.code]).toEqual([odd, 'bad_answer'])
      expect(inspect(error, { depth: 9 })).not.toContain('canary')
      expect(fake.paths().filter((path) => path.includes('/api/'))).toEqual([])
    }
  })

  it('asks for one token when many calls need one at once', async () => {
    const { fake, session, clock } = await startVisit()
    const here = await session()
    await here.call('echo')
    clock.now += 2 * 3600 * 1000
    fake.take()
    await Promise.all(Array.from({ length: 8 }, () => here.call('echo')))
    expect(fake.paths().filter((path) => path === 'POST /token 200')).toHaveLength(1)
  })

  it('has a key for each User and Company that is none of the published ones [4.3.key-per-user-agent, 4.1.dpop-keys-apart]', async () => {
    const { agent, fake, clock } = await startVisit()
    const other = await startFakeCompany({ now: () => clock.now, keySet: keySetOf(agent), domain: '127.0.0.1' })
    for (const company of [fake, other]) {
      for (const person of ['maya@example.com', 'noor@example.com']) {
        await (await agent.forUser(person).company(company.origin)).session().start()
      }
    }
    expect(new Set([...fake.proofKeys, ...other.proofKeys]).size).toBe(4)
    const published = (await (await agent.fetch(new Request('http://localhost:4571/jwks.json'))).json()) as {
      keys: { kid: string; d?: string }[]
    }
    // Key ids of this agent are thumbprints.
    for (const { kid } of published.keys) expect(fake.proofKeys.has(kid)).toBe(false)
  })

  it('has a User ID of its own for each User at each Company, at random [4.2.user-id, 4.2.user-id-opaque, 4.2.user-id-not-personal]', async () => {
    const ids: string[] = []
    // The same Users at Companies of two agents that differ in nothing else: what is derived would be the same.
    for (let agent = 0; agent < 2; agent++) {
      const { agent, fake, clock } = await startVisit()
      const other = await startFakeCompany({ now: () => clock.now, keySet: keySetOf(agent), domain: '127.0.0.1' })
      for (const company of [fake, other]) {
        for (const person of ['maya@example.com', 'noor@example.com']) {
          await (await agent.forUser(person).company(company.origin)).session().start()
        }
        ids.push(...[...company.sessions.values()].map(({ userId }) => userId))
      }
    }
    expect(new Set(ids).size).toBe(8)
    for (const id of ids) expect(id).toMatch(/^usr_[\w-]{22}$/)
  })
})

describe('Account Tokens', () => {
  it('stay when a refresh gives none, and are replaced when it gives one [K21, 4.8.rotation-agent]', async () => {
    const { fake, session, signIn, clock } = await startVisit()
    const here = await session()
    await signIn(here, ['poppy:read'])
    const refreshes = () =>
      fake.take().flatMap(({ form }) => (form.get('grant_type') === 'refresh_token' ? [form.get('refresh_token')] : []))
    const [first] = fake.grants.keys()
    const later = async () => {
      clock.now += 2 * 3600 * 1000
      await here.call('get_order', { id: '1' })
      return refreshes()
    }
    expect(await later()).toEqual([first])
    fake.switches.rotates = true
    expect(await later()).toEqual([first])
    const [, second] = fake.grants.keys()
    fake.switches.rotates = false
    expect(await later()).toEqual([second])
    expect(await later()).toEqual([second])
  })

  it('are refreshed with what was approved, not with what was asked [K24, 4.4.check-scope-agent]', async () => {
    const { fake, session, signIn, clock } = await startVisit()
    const here = await session()
    await signIn(here, ['poppy:read', 'poppy:write'], { scopes: ['poppy:read'] })
    expect((await here.state()).account?.scopes).toEqual(['poppy:read'])
    clock.now += 2 * 3600 * 1000
    await here.call('get_order', { id: '1' })
    const refresh = fake.requests.find(({ form }) => form.get('grant_type') === 'refresh_token')
    expect(refresh?.form.has('scope')).toBe(false)
    expect((await here.state()).scopes).toEqual(['poppy:read'])
  })

  it('that have ended are dropped, and the Session goes on signed out [4.8.invalid-grant-agent, 4.9.disconnect-agent]', async () => {
    const { fake, session, signIn } = await startVisit()
    const here = await session()
    await signIn(here, ['poppy:read'])
    const { sessionId } = await here.state()
    for (const grant of fake.grants.values()) grant.revoked = true
    const error = await errorOf(here.call('get_order', { id: '1' }))
    expect([error.code, error.action, error.scopes]).toEqual(['sign_in_required', 'ask_owner', ['poppy:read']])
    expect(await here.state()).toMatchObject({ sessionId, signedIn: false, account: null })
    expect((await here.call('echo')).body).toMatchObject({ caller: { account: null } })
  })

  it('are used before anybody is asked to sign in again [4.4.look-before-sign-in-agent, 6.sign-in-required-agent]', async () => {
    const { fake, session, signIn } = await startVisit()
    const [one, other] = [await session('one'), await session('other')]
    await other.start()
    await signIn(one, ['poppy:read'])
    fake.take()
    expect((await other.call('get_order', { id: '1' })).body).toMatchObject({ caller: { account: 'account-1' } })
    expect(fake.paths().slice(1)).toEqual(['GET /api/orders/1 403', 'POST /token 200', 'GET /api/orders/1 200'])
  })

  it('are revoked at sign-out, by whichever aud the Company takes, and the Session goes on [4.9.revoke-agent, 4.9.continue-signed-out-agent]', async () => {
    for (const audience of ['token', 'revocation'] as const) {
      const { fake, session, signIn } = await startVisit()
      fake.switches.revocationAudience = audience
      const here = await session()
      await signIn(here, ['poppy:read'])
      const { sessionId } = await here.state()
      expect(await here.signOut()).toEqual({ revoked: true })
      expect([...fake.grants.values()].map(({ revoked }) => revoked)).toEqual([true])
      await here.call('echo')
      expect(await here.state()).toMatchObject({ sessionId, signedIn: false, account: null })
    }
  })

  it('are revoked with no assertion in hand that would do elsewhere, whatever endpoints a Company publishes', async () => {
    const { fake, session, signIn, clock } = await startVisit()
    await signIn(await session(), ['poppy:read'])
    fake.switches.revocationAudience = 'revocation'
    // Another Company's token endpoint, published as if it were this one's: the revocation endpoint stays its own.
    fake.switches.metadata = (document) => ({ ...document, token_endpoint: 'http://127.0.0.1:9/token' })
    // Documents are kept for a while.
    clock.now += 600_000
    await (await session()).signOut()
    const asked = fake.requests.filter(({ path }) => path === '/revoke')
    expect(asked.length).toBeGreaterThan(0)
    for (const { form } of asked) {
      const [, claims = ''] = (form.get('client_assertion') ?? '').split('.')
      const { aud } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { aud: string }
      expect(new URL(aud).origin).toBe(fake.origin)
    }
  })

  it('start a new Session when this one belongs to another account [4.4.account-mismatch-agent]', async () => {
    const { session, signIn } = await startVisit()
    const here = await session()
    await signIn(here, ['poppy:read'])
    const { sessionId } = await here.state()
    await signIn(here, ['poppy:read'], { account: 'account-2' })
    expect((await here.state()).sessionId).not.toBe(sessionId)
    expect((await here.call('get_order', { id: '1' })).body).toMatchObject({ caller: { account: 'account-2' } })
  })

  it('are kept apart for each account of a User [4.4.two-accounts-agent]', async () => {
    const { fake, user, signIn } = await startVisit()
    const company = await user.company(fake.origin)
    const [home, work] = [company.session({ account: 'home' }), company.session({ account: 'work' })]
    await signIn(home, ['poppy:read'], { account: 'account-home' })
    await signIn(work, ['poppy:read'], { account: 'account-work' })
    for (const [session, account] of [
      [home, 'account-home'],
      [work, 'account-work'],
    ] as const) {
      expect((await session.call('get_order', { id: '1' })).body).toMatchObject({ caller: { account } })
    }
  })
})

describe('a lifetime', () => {
  it.each([1e308, 1e15, 0.001])('of %d seconds is kept as far as a date goes', async (expiresIn) => {
    const { fake, session, signIn } = await startVisit()
    fake.switches.expiresIn = expiresIn
    const here = await session()
    await signIn(here, ['poppy:read'])
    const { sessionId } = await here.state()
    expect((await here.call('get_order', { id: '1' })).status).toBe(200)
    // Still the same Session, in this run and the next.
    expect([(await here.state()).sessionId, (await (await session()).state()).sessionId]).toEqual([
      sessionId,
      sessionId,
    ])
  })
})

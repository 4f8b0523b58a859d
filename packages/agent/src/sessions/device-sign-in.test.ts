import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { errorOf, startVisit } from '../../test/visit.ts'
import { memoryStore } from '../index.ts'

const pending = { status: 400, body: '{"error":"authorization_pending"}' }
const slowDown = (interval?: number) => ({ status: 400, body: JSON.stringify({ error: 'slow_down', interval }) })
const refused = (error: string) => ({ status: 400, body: JSON.stringify({ error }) })
const scopes = ['poppy:read']

type Fake = Awaited<ReturnType<typeof startVisit>>['fake']
const polls = (fake: Fake) => fake.requests.filter(({ form }) => form.has('device_code'))
/** Seconds between the polls, the first counted from the beginning. */
function gaps(fake: Fake): readonly number[] {
  const begun = fake.requests.find(({ path }) => path === '/device-authorization')?.at ?? 0
  return polls(fake).map(({ at }, index, all) => (at - (all[index - 1]?.at ?? begun)) / 1000)
}

describe('Device Sign-In', () => {
  it('asks for its scopes, gives link and code to show, waits the interval, and ends signed in [4.6.start-agent, 4.6.interval-agent, 4.4.scope-required-agent]', async () => {
    const { clock, fake, session } = await startVisit()
    const here = await session()
    const asked = await here.beginDeviceSignIn({ scopes: ['poppy:read', 'addresses'] })
    expect(asked).toMatchObject({
      userCode: 'WDJB-0000',
      verificationUri: `${fake.origin}/device`,
      verificationUriComplete: `${fake.origin}/device?user_code=WDJB-0000`,
      expiresAt: clock.now + 600_000,
    })
    const begun = fake.requests.find(({ path }) => path === '/device-authorization')
    // The fake checks the client assertion.
    expect([begun?.status, begun?.form.get('scope')]).toEqual([200, 'poppy:read addresses'])
    expect(polls(fake)).toEqual([])
    fake.switches.polls = [pending, pending]
    fake.decideDevice(asked.userCode, { scopes: ['poppy:read'] })
    expect(await asked.done).toEqual({
      granted: ['poppy:read'],
      asked: ['poppy:read', 'addresses'],
      missing: ['addresses'],
      replaced: 'none',
      switched: false,
    })
    expect(gaps(fake)).toEqual([5, 5, 5])
    expect(polls(fake).at(-1)?.form.get('session_id')).toBe((await here.state()).sessionId)
    expect(await here.state()).toMatchObject({ signedIn: true, account: { scopes: ['poppy:read'] } })
    expect((await here.call('get_order', { id: '1' })).status).toBe(200)
    expect((await errorOf(here.call('set_address', {}))).code).toBe('sign_in_declined')
  })

  it('goes on through a broken gateway, a lost connection, a time-out and a limit, five seconds slower after each slow_down [K30, 4.6.slow-down-agent, 4.6.interval-agent]', async () => {
    let held = 0
    const { fake, session } = await startVisit({
      timeouts: { token: 3 },
      fetch: async (url, init) => {
        const isPoll = String(init.body).includes('device_code=')
        // The second poll is never answered: only the time limit ends it.
        if (!isPoll || ++held !== 2) return fetch(url, init)
        return new Promise((_, reject) => {
          init.signal?.addEventListener('abort', () => reject(new Error('timed out')))
        })
      },
    })
    const asked = await (await session()).beginDeviceSignIn({ scopes })
    fake.switches.polls = [
      pending,
      { status: 502, body: '<html><body>Bad gateway</body></html>', headers: { 'content-type': 'text/html' } },
      slowDown(),
      'drop',
      slowDown(90),
      { status: 503, body: '{"error":"temporarily_unavailable"}' },
      { status: 429, body: '', headers: { 'retry-after': '120' } },
    ]
    fake.decideDevice(asked.userCode, {})
    expect(await asked.done).toMatchObject({ granted: scopes })
    // 5, then 5 and 10 around the poll that was lost, +5, doubled after the connection broke, then what the Company says.
    expect(gaps(fake)).toEqual([5, 15, 10, 15, 30, 90, 90, 120])
    const all = polls(fake)
    for (const seen of [all.map(({ form }) => form.get('client_assertion')), all.map(({ headers }) => headers.dpop)])
      expect(new Set(seen).size).toBe(all.length)
  })

  it('stops after a decline, an expired code and whatever else is final, and keeps what it had [4.6.stop-agent, K29, 4.4.failed-keeps-tokens-agent]', async () => {
    const { fake, session, signIn } = await startVisit()
    const here = await session()
    await signIn(here, ['addresses'])
    const before = await here.state()
    for (const [answer, code] of [
      [refused('access_denied'), 'sign_in_declined'],
      [refused('expired_token'), 'sign_in_expired'],
      [refused('invalid_grant'), 'sign_in_failed'],
      [refused('invalid_client'), 'client_refused'],
      [{ status: 200, body: '<html>Please log in to the Wi-Fi</html>' }, 'bad_answer'],
    ] as const) {
      const asked = await here.beginDeviceSignIn({ scopes })
      fake.take()
      fake.switches.polls = [pending, answer]
      const error = await errorOf(asked.done)
      expect(error.code).toBe(code)
      // The same end for whoever asks again, and no more polls.
      expect(await errorOf(asked.done)).toBe(error)
      expect(polls(fake)).toHaveLength(2)
    }
    expect(await here.state()).toEqual(before)
    const { code } = await errorOf(here.call('get_order', { id: '1' }))
    expect(code).toBe('sign_in_declined')
  })

  it('asks no more once the code has expired by its own clock [4.6.stop-agent]', async () => {
    const { clock, fake, session } = await startVisit()
    const start = clock.now
    fake.switches.device = (answer) => ({ ...answer, expires_in: 17 })
    const asked = await (await session()).beginDeviceSignIn({ scopes })
    expect((await errorOf(asked.done)).code).toBe('sign_in_expired')
    expect([gaps(fake), clock.now - start]).toEqual([[5, 5, 5], 17_000])
  })

  it('keeps the device code in memory alone, whatever the Company does with it [4.6.device-code-private-agent]', async () => {
    const store = memoryStore()
    const { fake, session } = await startVisit({ store })
    const here = await session()
    const told: string[] = []
    const codes = new Set<string>()
    const look = async (...things: unknown[]) => {
      told.push(...things.map((thing) => inspect(thing, { depth: 9, showHidden: true }) + JSON.stringify(thing)))
      for (const key of await store.keys('')) told.push(key, JSON.stringify(await store.get(key)))
    }
    fake.switches.device = (answer) => {
      codes.add(String(answer.device_code))
      return answer
    }
    const asked = await here.beginDeviceSignIn({ scopes })
    await look(asked, await here.state())
    const [code = ''] = codes
    fake.switches.polls = [{ status: 400, body: JSON.stringify({ error: `no ${code}`, error_description: code }) }]
    await look(await errorOf(asked.done))
    for (const member of ['user_code', 'verification_uri', 'verification_uri_complete']) {
      fake.switches.device = (answer) => {
        codes.add(String(answer.device_code))
        return { ...answer, [member]: `${fake.origin}/${answer.device_code}` }
      }
      await look(await here.beginDeviceSignIn({ scopes }).catch((error: unknown) => error))
    }
    fake.switches.device = (answer) => answer
    const right = await here.beginDeviceSignIn({ scopes })
    fake.decideDevice(right.userCode, {})
    await look(await right.done, await here.state())
    expect(codes.size).toBe(4)
    for (const one of codes) expect(told.filter((text) => text.includes(one))).toEqual([])
    expect(fake.requests.filter(({ query }) => query.includes('device-'))).toEqual([])
  })

  it('shows no link that is none, and no code that plays with a terminal', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    for (const change of [
      { verification_uri: 'javascript:alert(1)' },
      { verification_uri: 'http://miramar.example/device' },
      { verification_uri: 'https://maya@miramar.example/' },
      { verification_uri: undefined },
      { user_code: 'WDJB\u001b[2J' },
      { user_code: ' ' },
      { device_code: 'two words' },
      { expires_in: 0 },
      { expires_in: undefined },
    ]) {
      fake.switches.device = (answer) => ({ ...answer, ...change })
      expect((await errorOf(here.beginDeviceSignIn({ scopes }))).code).toBe('bad_answer')
    }
    fake.switches.device = (answer) => ({ ...answer, verification_uri_complete: 'javascript:alert(1)', interval: 0 })
    expect((await here.beginDeviceSignIn({ scopes })).verificationUriComplete).toBeUndefined()
  })

  it('is begun only where the Company lists it, and for what it lists [4.4.only-listed-agent]', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    expect((await errorOf(here.beginDeviceSignIn({ scopes: ['elsewhere'] }))).code).toBe('sign_in_unavailable')
    expect((await errorOf(here.beginDeviceSignIn({ scopes: [] }))).code).toBe('invalid_input')
    fake.switches.poppy = (document) => ({
      ...document,
      auth: { ...(document.auth as object), device: undefined },
    })
    const other = await startVisit()
    other.fake.switches.poppy = fake.switches.poppy
    const there = await other.session()
    expect((await errorOf(there.beginDeviceSignIn({ scopes }))).code).toBe('sign_in_unavailable')
    expect(other.fake.paths().join()).not.toContain('device-authorization')
  })

  it('ends with the host’s own reason when it is told to, and asks no more', async () => {
    const stop = new AbortController()
    const reason = new Error('The person closed the window.')
    let waits = 0
    const { clock, fake, session } = await startVisit({
      wait: async (milliseconds, signal) => {
        waits++
        if (waits === 3) stop.abort(reason)
        if (signal?.aborted) throw new Error('aborted')
        clock.now += milliseconds
      },
    })
    const asked = await (await session()).beginDeviceSignIn({ scopes, signal: stop.signal })
    fake.switches.polls = [pending, pending, pending]
    await expect(asked.done).rejects.toBe(reason)
    expect(polls(fake)).toHaveLength(2)
    await expect((await session()).beginDeviceSignIn({ scopes, signal: stop.signal })).rejects.toBe(reason)
  })

  it('replaces an Account Token and revokes the old one; another account gets a new Session [4.4.revoke-replaced-agent, 4.4.account-mismatch-agent]', async () => {
    const { fake, session, signIn } = await startVisit()
    const here = await session()
    await signIn(here, scopes)
    const first = await here.state()
    const asked = await here.beginDeviceSignIn({ scopes: ['addresses'] })
    fake.decideDevice(asked.userCode, {})
    expect(await asked.done).toMatchObject({ granted: ['poppy:read', 'addresses'], replaced: 'revoked' })
    expect([...fake.grants.values()].map(({ revoked }) => revoked)).toEqual([true, false])
    expect((await here.state()).sessionId).toBe(first.sessionId)

    const other = await here.beginDeviceSignIn({ scopes })
    fake.decideDevice(other.userCode, { account: 'account-2' })
    expect(await other.done).toMatchObject({ replaced: 'revoked' })
    expect((await here.state()).sessionId).not.toBe(first.sessionId)
    expect(gaps(fake).every((gap) => gap >= 5)).toBe(true)
  })

  it('is not begun where an Account Token that is held covers the task [4.4.look-before-sign-in-agent]', async () => {
    const { fake, session, signIn } = await startVisit()
    await signIn(await session(), scopes)
    const other = await session('other')
    const shown: string[] = []
    const show = (asked: { readonly userCode: string }) => {
      shown.push(asked.userCode)
      fake.decideDevice(asked.userCode, {})
    }
    expect(await other.signIn({ scopes, show })).toMatchObject({ granted: scopes })
    expect(shown).toEqual([])
    expect(await other.signIn({ scopes: ['addresses'], show })).toMatchObject({ granted: ['poppy:read', 'addresses'] })
    expect(shown).toHaveLength(1)
  })
})

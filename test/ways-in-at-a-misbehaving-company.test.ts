import { inspect } from 'node:util'
import { memoryStore, type PendingDeviceSignIn, type Session } from '@poppyseed/agent'
import { hostileText, oneTimeCode } from '@poppyseed/conformance'
import { describe, expect, it } from 'vitest'
import {
  agentErrorOf,
  endOf,
  type Faults,
  flipped,
  type HostileVisit,
  oneConnection,
  started,
  using,
  visitHostileCompany,
  waysInSwitches,
} from './setup/hostile-company.ts'

// The Personal Agent as it is published signs in by a device (4.6) and by credentials (4.7) at a Company that misbehaves: the
// outcome is right, it ends, and the Company has seen no rule broken.

const scopes = ['poppy:read']
const credentials = { email: 'maya@example.com', password: 'canary-password-s3cret' }
// biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is what is tested
const escapes = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/

const byDevice = async (session: Session): Promise<unknown> => (await session.beginDeviceSignIn({ scopes })).done
const polls = ({ sent }: HostileVisit) => sent().filter((line) => line.startsWith('POST /token'))

describe('Device Sign-In', () => {
  it('and Mediated Sign-In find a Company that does everything right content', async () => {
    const visit = await visitHostileCompany({ nonce: 'required' }, { fetch: oneConnection() })
    const here = await visit.session()
    await byDevice(here)
    await here.call('get_order', { id: '1' })
    const again = { scopes: ['addresses'], credentials }
    expect(await here.signInMediated(again)).toMatchObject({
      granted: ['poppy:read', 'addresses'],
      replaced: 'revoked',
    })
    await here.call('set_address', {})
    expect([visit.company.ran, visit.company.findings]).toEqual([['get_order', 'set_address'], []])
    expect(visit.company.state().signIns).toHaveLength(1)
  })

  it('goes on through a broken gateway, lost answers and pages instead of JSON [K30, 4.6.interval-agent]', async () => {
    const faults: readonly Faults[] = [
      { poll: 'pending' },
      { gateway: 'html_502' },
      { gateway: 'empty_503' },
      { poll: 'slow_down' },
      { limit: { retryAfter: '20' } },
      { poll: 'pending', words: 'escapes' },
    ]
    const visit = await started({})
    const asked = await (await visit.session()).beginDeviceSignIn({ scopes })
    for (const fault of faults) visit.company.next(1, using(fault), 'token')
    // They lie over one another, so that each request meets all that are left; the last ones are the mildest.
    expect(await asked.done).toMatchObject({ granted: scopes })
    expect(visit.company.findings).toEqual([])
  })

  it.each(['pending', 'slow_down'] as const)(
    'ends by itself where it hears %s for ever, and asks less and less often after slow_down [4.6.slow-down-agent, 4.6.interval-agent]',
    async (poll) => {
      const visit = await started({ poll }, 'token')
      const before = visit.clock.now
      expect(await endOf(byDevice(await visit.session()))).toBe('sign_in_expired')
      expect(visit.clock.now - before).toBe(600_000)
      expect(polls(visit).length).toBeLessThan(poll === 'pending' ? 121 : 20)
      expect(visit.company.findings).toEqual([])
    },
  )

  it('stops when it hears that it is declined, or too late [4.6.stop-agent, K29]', async () => {
    for (const [faults, code] of [
      [{ consent: 'decline' }, 'sign_in_declined'],
      [{ poll: 'expired' }, 'sign_in_expired'],
    ] as const) {
      const visit = await started(faults, 'token')
      expect(await endOf(byDevice(await visit.session()))).toBe(code)
      expect(polls(visit)).toHaveLength(1)
      expect([visit.company.state().signIns, visit.company.findings]).toEqual([[], []])
    }
  })

  it('goes at the interval that it is told, or at five seconds where that is none', async () => {
    for (const [deviceInterval, least] of [
      [null, 5],
      [-5, 5],
      [0, 5],
      [30, 30],
      [1e9, 600],
    ] as const) {
      const visit = await started({ deviceInterval }, 'device')
      visit.company.switches.poll = 'pending'
      visit.waits.length = 0
      expect(await endOf(byDevice(await visit.session()))).toBe('sign_in_expired')
      expect(visit.waits.slice(0, -1).every((wait) => wait >= least * 1000)).toBe(true)
    }
  })

  it('shows no page that is none, and says whose page it is [4.6.shows-user-code-agent, 4.6.device-code-private-agent]', async () => {
    for (const [devicePage, shown] of [
      ['own', { isOwnPage: true, verificationUriComplete: expect.stringContaining('/device?user_code=') }],
      ['other_host', { isOwnPage: false, verificationUri: 'https://bank.example/device' }],
      ['link_elsewhere', { isOwnPage: true, verificationUriComplete: undefined }],
      ['escapes', { isOwnPage: true, verificationUriComplete: undefined }],
      ['huge', { isOwnPage: true, verificationUriComplete: undefined }],
      ['device_code', { isOwnPage: true, verificationUriComplete: undefined }],
      ['plain_http', 'bad_answer'],
      ['script', 'bad_answer'],
    ] as const) {
      const visit = await started({ devicePage }, 'device')
      const asked = (await visit.session()).beginDeviceSignIn({ scopes })
      const end: unknown = await asked.catch((error: unknown) => error)
      expect([devicePage, end]).toMatchObject([devicePage, typeof shown === 'string' ? { code: shown } : shown])
      expect(inspect(end, { depth: 9, showHidden: true })).not.toMatch(/device-[\w-]{20}/)
      expect(`${(end as PendingDeviceSignIn).verificationUri} ${(end as PendingDeviceSignIn).userCode}`).not.toMatch(
        escapes,
      )
    }
  })

  it('takes no code with control characters in it, and no words', async () => {
    const visit = await started({ words: 'escapes' }, 'device')
    const error = await agentErrorOf(byDevice(await visit.session()))
    expect([error.code, error.message]).toEqual(['bad_answer', expect.not.stringMatching(escapes)])
  })

  it('with another account than the Session had takes a new Session [4.4.account-mismatch-agent]', async () => {
    const visit = await started({})
    const here = await visit.session()
    await byDevice(here)
    const { sessionId } = await here.state()
    visit.company.switches.account = 'account-2'
    expect(await byDevice(here)).toMatchObject({ switched: true, replaced: 'revoked' })
    expect((await here.state()).sessionId).not.toBe(sessionId)
    expect(visit.company.state().signIns).toMatchObject([{ account: 'account-2' }])
    expect(visit.company.findings).toEqual([])
  })
})

/** What one attempt told, and all that is left of it. */
async function attempt(faults: Faults, code: string = oneTimeCode) {
  const store = memoryStore()
  const visit = await visitHostileCompany({}, { fetch: oneConnection(), store, maxWaitSeconds: 30 })
  const here = await visit.session()
  await here.start()
  visit.sent()
  visit.company.next(1000, using(faults), 'sign-in')
  const told: unknown[] = []
  const end = await here
    .signInMediated({
      scopes,
      credentials,
      code: (request) => {
        told.push(request)
        return code
      },
    })
    .then(
      () => 'fine',
      (error: unknown) => {
        told.push(error)
        return (error as { code?: string }).code
      },
    )
  const kept = await Promise.all((await store.keys('')).map(async (key) => [key, await store.get(key)]))
  const left = inspect([told, kept, await here.state(), here, visit.company.requests], {
    depth: 9,
    maxArrayLength: null,
    maxStringLength: null,
    showHidden: true,
  })
  return { ...visit, here, end, told, left, posts: visit.sent().filter((line) => line.includes('/sign-in')) }
}

describe('Mediated Sign-In', () => {
  it('follows no redirect with credentials, nor with a code, wherever it leads [4.7.credentials-only-there-agent]', async () => {
    for (const redirect of ['trap', 'http', 'private', 'loop', 'chain'] as const) {
      const { company, end, left, posts } = await attempt({ redirect })
      expect([redirect, end]).toEqual([redirect, expect.stringMatching(/^(?:bad_answer|call_failed|sign_in_failed)$/)])
      expect(posts).toHaveLength(1)
      expect([company.trapped, company.findings]).toEqual([[], []])
      expect(left).not.toContain(credentials.password)
    }
    const visit = await visitHostileCompany({ mediated: 'code' }, { fetch: oneConnection() })
    const here = await visit.session()
    const code = () => {
      visit.company.next(1, { redirect: 'trap' }, 'sign-in')
      return oneTimeCode
    }
    await agentErrorOf(here.signInMediated({ scopes, credentials, code }))
    expect([visit.company.trapped, visit.company.findings]).toEqual([[], []])
  })

  it('ends where one code is demanded after another, and leaves what it had [4.7.only-code-agent]', async () => {
    const { company, end, here, posts } = await attempt({ mediated: 'codes_forever' })
    expect(end).toBe('sign_in_failed')
    expect(posts.length).toBeLessThan(12)
    expect((await here.state()).signedIn).toBe(false)
    expect(company.findings).toEqual([])
  })

  it('tells what a Company says in words of its own, with nothing in them that was typed [4.7.secret-agent, K56]', async () => {
    for (const [faults, code] of [
      [{ mediated: 'code' }, 'fine'],
      [{ mediated: 'echo' }, 'sign_in_failed'],
      [{ mediated: 'odd_id' }, 'bad_answer'],
      [{ mediated: 'failed' }, 'sign_in_failed'],
      [{ mediated: 'expired' }, 'sign_in_expired'],
      [{ mediated: 'unknown' }, 'bad_answer'],
      [{ mediated: 'codes_forever', words: 'escapes' }, 'sign_in_failed'],
      [{ refuse: 'rate_limited', words: 'escapes' }, expect.any(String)],
      [{ refuse: 'invalid_scope', words: 'escapes' }, 'sign_in_failed'],
      [{ refuse: 'server_error', words: 'escapes' }, 'company_error'],
      [{ gateway: 'html_502' }, 'company_error'],
      [{ delivery: 'lost' }, 'unreachable'],
      [{ delivery: 'cut' }, 'unreachable'],
      [{ delivery: 'huge' }, 'bad_answer'],
      [{ delivery: 'not_json' }, 'bad_answer'],
      [{ delivery: 'html' }, 'bad_answer'],
      [{ delivery: 'empty' }, 'bad_answer'],
      [{ tokenType: 'Bearer' }, 'bad_answer'],
      [{ tokenAnswer: 'no_session_id' }, 'bad_answer'],
    ] as const) {
      const { company, end, told, left } = await attempt(faults)
      expect([faults, end]).toEqual([faults, code])
      expect(left).not.toContain(credentials.password)
      expect(left).not.toContain(oneTimeCode)
      const words = told.map((one) => (one instanceof Error ? one.message : (one as { sentTo: string }).sentTo))
      expect(words.filter((text) => escapes.test(text) || text.includes(hostileText))).toEqual([])
      expect([faults, company.findings]).toEqual([faults, []])
    }
  })

  it('shows labels without what a terminal would act on, and sends each field under its own name [4.7.every-field-agent]', async () => {
    const visit = await visitHostileCompany(using({ words: 'escapes' }), { fetch: oneConnection() })
    const labels: string[] = []
    await (await visit.session()).signInMediated({
      scopes,
      ask: (fields) => {
        for (const { label } of fields) labels.push(label)
        return credentials
      },
    })
    expect(labels).toEqual([expect.stringMatching(/^Email /), expect.stringMatching(/^Password /)])
    expect(labels.filter((label) => escapes.test(label))).toEqual([])
    expect(visit.company.findings).toEqual([])
  })

  it('with another account than the Session had takes a new Session, and asks the person for nothing twice', async () => {
    const visit = await visitHostileCompany({}, { fetch: oneConnection() })
    const here = await visit.session()
    let asked = 0
    const ask = () => {
      asked++
      return credentials
    }
    await here.signInMediated({ scopes, ask })
    visit.company.switches.account = 'account-2'
    expect(await here.signInMediated({ scopes, ask })).toMatchObject({ switched: true, replaced: 'revoked' })
    expect([asked, visit.company.state().signIns.length, visit.company.findings]).toEqual([2, 1, []])
  })
})

describe('each way in', () => {
  const ways = {
    direct: ({ signIn }: HostileVisit, here: Session) => signIn(here, ['addresses']),
    device: async (_: HostileVisit, here: Session) => (await here.beginDeviceSignIn({ scopes: ['addresses'] })).done,
    mediated: (_: HostileVisit, here: Session) => here.signInMediated({ scopes: ['addresses'], credentials }),
  }
  it.each(
    (['direct', 'device', 'mediated'] as const).flatMap((way) =>
      (['off', 'strict', 'grace'] as const).map((rotation) => ({ way, rotation })),
    ),
  )(
    'replaces the Account Token and revokes the old one, now or later ($way, rotation $rotation) [4.4.revoke-replaced-agent, 4.8.rotation-agent]',
    async ({ way, rotation }) => {
      const visit = await visitHostileCompany({ rotation }, { fetch: oneConnection() })
      const { company, clock } = visit
      const here = await visit.session()
      await visit.signIn(here, scopes)
      clock.now += 3600_000
      await here.call('get_order', { id: '1' })
      expect(await ways[way](visit, here)).toMatchObject({ granted: ['poppy:read', 'addresses'], replaced: 'revoked' })
      expect(company.state().signIns).toHaveLength(1)

      company.next(1, { gateway: 'html_502' }, 'revoke')
      expect(await ways[way](visit, here)).toMatchObject({ replaced: 'not_revoked' })
      expect(company.state().signIns).toHaveLength(2)
      clock.now += 3600_000
      await here.call('set_address', {})
      expect(company.state().signIns).toHaveLength(1)
      clock.now += 3600_000
      await here.call('set_address', {})
      expect([company.ran, company.findings]).toEqual([['get_order', 'set_address', 'set_address'], []])
    },
  )
})

describe('the stories above', () => {
  it('have flipped every switch of these ways in', () => {
    expect(waysInSwitches.filter((name) => !flipped.has(name))).toEqual([])
  })
})

import { decodeJwt } from 'jose'
import { describe, expect, it } from 'vitest'
import { startFakeCompany } from '../../test/fake-company.ts'
import { errorOf, keySetOf, startVisit } from '../../test/visit.ts'

const hour = 3_600_000

const timeOf = (jwt: unknown) => (decodeJwt(String(jwt)).iat ?? 0) * 1000

describe('an agent whose clock is wrong', () => {
  it.each([
    ['an hour behind', hour],
    ['an hour ahead', -hour],
    ['seven seconds ahead', -7000],
    ['a day ahead', -24 * hour],
  ])('%s works at the second attempt, and at the first from then on', async (_, clockAhead) => {
    const { fake, session, signIn, clock } = await startVisit()
    fake.switches.clockAhead = clockAhead
    const here = await session()
    await here.start()
    expect(fake.paths().filter((path) => path.includes('/token'))).toEqual(['POST /token 401', 'POST /token 200'])
    const [refused, taken] = fake.take().filter(({ path }) => path === '/token')
    // Nothing that was sent is sent again, and everything says the Company's time.
    for (const name of ['assertion', 'client_assertion']) {
      expect(taken?.form.get(name)).not.toBe(refused?.form.get(name))
      expect(Math.abs(timeOf(taken?.form.get(name)) - clock.now - clockAhead)).toBeLessThan(2000)
    }
    await here.call('echo')
    await signIn(here, ['poppy:read'])
    await here.call('get_order', { id: '1' })
    expect(fake.paths().filter((path) => path.endsWith('401') || path.endsWith('400'))).toEqual([])
    expect((await here.signOut()).revoked).toBe(true)
  })

  it('learns it again when a clock is set right, and tells by its own when a token expires', async () => {
    const { fake, session, clock } = await startVisit()
    fake.switches.clockAhead = hour
    const here = await session()
    await here.call('echo')
    // The token lasts an hour on either clock: nothing is renewed before that.
    clock.now += 50 * 60_000
    fake.take()
    await here.call('echo')
    expect(fake.paths().filter((path) => path.startsWith('POST'))).toEqual(['POST /api/echo 200'])
    fake.switches.clockAhead = 0
    fake.take()
    await here.call('echo')
    expect(fake.paths()).toEqual(['POST /api/echo 401', 'POST /api/echo 200'])
  })

  it('learns nothing from an answer that takes what was signed, or that has no date or an old one', async () => {
    const { fake, session, clock } = await startVisit()
    const here = await session()
    fake.switches.date = new Date(clock.now + hour).toUTCString()
    await here.call('echo')
    await here.call('echo')
    for (const { form, headers, path } of fake.take()) {
      if (path === '/token') expect(timeOf(form.get('client_assertion'))).toBe(clock.now)
      if (path === '/api/echo') expect(timeOf(headers.dpop)).toBe(clock.now)
    }
    fake.switches.clockAhead = hour / 3
    for (const date of [null, 'tomorrow', '2027', new Date(clock.now).toUTCString()]) {
      fake.switches.date = date
      expect((await errorOf(here.call('echo'))).code).toBe('proof_refused')
      expect(fake.take()).toHaveLength(1)
    }
  })

  it('asks twice and no more, whatever the date says', async () => {
    const { fake, session, clock } = await startVisit()
    const here = await session()
    await here.start()
    await here.apiOperations()
    let lie = 0
    fake.switches.hold = async () => {
      lie += 10 * 60_000
      fake.switches.clockAhead = -lie
    }
    fake.take()
    expect((await errorOf(here.call('echo'))).code).toBe('proof_refused')
    expect((await errorOf((await session('another')).start())).code).toBe('client_refused')
    expect(fake.paths()).toEqual([...Array(2).fill('POST /api/echo 401'), ...Array(2).fill('POST /token 401')])
    expect(clock.now).toBe(Date.parse('2026-11-30T12:00:00Z'))
  })

  it('signs nothing for a time that is far away, however the Company lies, and says what is wrong', async () => {
    const { fake, session, clock } = await startVisit()
    for (const [clockAhead, words] of [
      [5 * hour, '5 hours ahead of'],
      [365 * 24 * hour, '365 days ahead of'],
      [-72 * hour, '3 days behind'],
    ] as const) {
      fake.switches.clockAhead = clockAhead
      fake.take()
      const error = await errorOf((await session()).start())
      expect([error.code, error.action]).toEqual(['clock_differs', 'give_up'])
      expect(error.message).toContain(words)
      const asked = fake.take().filter(({ path }) => path === '/token')
      expect(asked.map(({ form }) => timeOf(form.get('client_assertion')))).toEqual([clock.now])
    }
    // Little by little leads no further: the bound is measured from our own clock.
    for (let step = 1; step <= 4; step++) {
      fake.switches.clockAhead = step * hour
      await (await session(`step ${step}`)).start().catch(() => {})
    }
    for (const { form, path } of fake.take()) {
      if (path === '/token') expect(timeOf(form.get('client_assertion')) - clock.now).toBeLessThanOrEqual(2 * hour)
    }
  })

  it('tells no Company the time of another', async () => {
    const { agent, user, fake, clock } = await startVisit()
    const other = await startFakeCompany({ now: () => clock.now, keySet: keySetOf(agent), domain: '127.0.0.1' })
    fake.switches.clockAhead = hour
    for (const company of [fake, other]) await (await user.company(company.origin)).session().call('echo')
    for (const { form, path } of other.requests) {
      if (path === '/token') expect(timeOf(form.get('assertion'))).toBe(clock.now)
    }
    expect(other.paths().filter((path) => path.endsWith('401'))).toEqual([])
  })

  it('waits until a date of the Company’s own clock', async () => {
    const { fake, session, waits, clock } = await startVisit()
    const here = await session()
    await here.start()
    fake.switches.clockAhead = -hour
    fake.switches.limit = {
      path: '/api/',
      times: 1,
      retryAfter: new Date(clock.now - hour + 20_000).toUTCString(),
    }
    await here.call('echo')
    expect(waits).toEqual([20_000])
  })
})

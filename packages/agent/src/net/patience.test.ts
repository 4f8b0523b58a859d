import { describe, expect, it } from 'vitest'
import { errorOf, startVisit } from '../../test/visit.ts'
import { createPersonalAgent, generateKey, memoryStore } from '../index.ts'
import { readRetryAfter } from './retry-after.ts'

describe('rate limits', () => {
  it.each([
    ['2', 2],
    ['Mon, 30 Nov 2026 12:00:20 GMT', 20],
    ['Mon, 30 Nov 2026 11:00:00 GMT', 1],
    ['-1', 10],
    ['abc', 10],
    [null, 10],
  ])(
    'Retry-After %s is waited out, then sent with a fresh proof [K55, 4.3.retry-after-agent]',
    async (retryAfter, seconds) => {
      for (const path of ['/token', '/api/']) {
        const { fake, session, waits } = await startVisit()
        fake.switches.limit = { path, times: 1, retryAfter }
        await (await session()).call('echo')
        expect(waits).toEqual([seconds * 1000])
        const [first, second] = fake.requests.filter((request) => request.path.startsWith(path))
        expect([first?.status, second?.status]).toEqual([429, 200])
        expect(second?.headers.dpop).not.toBe(first?.headers.dpop)
        if (path === '/token') expect(second?.form.get('assertion')).not.toBe(first?.form.get('assertion'))
      }
    },
  )

  it('hold for documents too [K55, 4.3.retry-after-agent]', async () => {
    const { fake, user, waits } = await startVisit()
    fake.switches.limit = { path: '/.well-known/', times: 2, retryAfter: '3' }
    await user.company(fake.origin)
    expect(waits).toEqual([3000, 3000])
  })

  it('of ten days are reported, and the request is not sent before [K55, 4.3.retry-after-agent]', async () => {
    const { fake, session, waits, clock } = await startVisit()
    const here = await session()
    await here.start()
    fake.switches.limit = { path: '/api/', times: 1, retryAfter: '864000' }
    const error = await errorOf(here.call('echo'))
    expect([error.code, error.action, error.retryAfter]).toEqual(['rate_limited', 'retry', 864_000])
    clock.now += 1000_000
    fake.take()
    expect((await errorOf(here.call('echo'))).retryAfter).toBe(864_000 - 1000)
    expect([waits, fake.paths().filter((path) => path.includes('/api/'))]).toEqual([[], []])
    clock.now += 864_000_000
    expect((await here.call('echo')).status).toBe(200)
  })

  it('hold for the next run and for other processes that share the store [K55, 4.3.retry-after-agent]', async () => {
    const store = memoryStore()
    const { fake, session, clock, agent } = await startVisit({ store })
    const here = await session()
    await here.call('echo')
    for (const [path, code] of [
      ['/api/', 'rate_limited'],
      ['/token', 'rate_limited'],
    ] as const) {
      fake.switches.limit = { path, times: 1, retryAfter: '3600' }
      if (path === '/token') clock.now += 3 * 3600 * 1000
      expect((await errorOf(here.call('echo'))).code).toBe(code)
      const again = createPersonalAgent({
        clientId: agent.clientId,
        name: 'The next run',
        keys: [await generateKey()],
        store,
        now: () => clock.now,
        allowHttp: true,
      })
      const there = (await again.forUser('maya').company(fake.origin)).session()
      fake.take()
      clock.now += 60_000
      expect((await errorOf(there.call('echo'))).retryAfter).toBe(3540)
      expect(fake.paths().filter((one) => one.includes(path))).toEqual([])
    }
    clock.now += 3600 * 1000
    expect((await here.call('echo')).status).toBe(200)
    // What has passed is forgotten.
    fake.switches.limit = { path: '/api/', times: 1, retryAfter: '3600' }
    await errorOf(here.call('echo'))
    expect(await store.keys('limit/')).toHaveLength(1)
  })

  it('that go on are reported once a call has waited long enough', async () => {
    const { fake, session, waits } = await startVisit()
    const here = await session()
    await here.start()
    fake.switches.limit = { path: '/api/', times: 99, retryAfter: '25' }
    expect((await errorOf(here.call('echo'))).code).toBe('rate_limited')
    expect(waits).toEqual([25_000, 25_000])
  })

  it('are read without surprises', () => {
    const now = Date.parse('2026-11-30T12:00:00Z')
    expect(
      ['0', ' 7 ', '1e3', '2026', 'Monday, 30-Nov-26 12:00:09 GMT'].map((text) => readRetryAfter(text, now)),
    ).toEqual([1, 7, 10, 2026, 9])
  })
})

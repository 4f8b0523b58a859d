import { describe, expect, it } from 'vitest'
import { errorOf, startVisit, type Visit } from '../../test/visit.ts'
import { type AgentStore, createPersonalAgent, generateKey, memoryStore, type Session } from '../index.ts'

const scopes = ['poppy:read']
const minute = 60_000

/** A visit whose revocations fail as long as the test says so. */
async function start(rotates = false) {
  const line = { isDown: false }
  const visit = await startVisit({
    fetch: async (url, init) => {
      if (line.isDown && url.endsWith('/revoke')) throw new TypeError('fetch failed')
      return fetch(url, init)
    },
  })
  visit.fake.switches.rotates = rotates
  // So that a token is asked for whenever time has passed.
  visit.fake.switches.expiresIn = 60
  return { ...visit, line }
}

/** Grants that the Company still honours. */
const alive = ({ fake }: Pick<Visit, 'fake'>) => [...fake.grants.values()].filter(({ revoked }) => !revoked).length
const revocations = ({ fake }: Pick<Visit, 'fake'>) => fake.requests.filter(({ path }) => path === '/revoke')
const unrevoked = async ({ user }: Pick<Visit, 'user'>) => (await user.companies()).map((company) => company.unrevoked)

/** A person who signs in again, by either way. */
const ways = {
  direct: ({ signIn }: Visit, here: Session, asked: readonly string[]) => signIn(here, asked),
  device: async ({ fake }: Visit, here: Session, asked: readonly string[]) => {
    const pending = await here.beginDeviceSignIn({ scopes: asked })
    fake.decideDevice(pending.userCode, {})
    return pending.done
  },
}

describe.each([
  { way: 'direct', rotates: false },
  { way: 'direct', rotates: true },
  { way: 'device', rotates: false },
  { way: 'device', rotates: true },
] as const)('an Account Token that a new sign-in ($way, rotation $rotates) replaced', ({ way, rotates }) => {
  it('is revoked once the new one is kept, and only that one [4.4.revoke-replaced-agent]', async () => {
    const visit = await start(rotates)
    const here = await visit.session()
    await visit.signIn(here, scopes)
    visit.clock.now += 60 * minute
    await here.call('get_order', { id: '1' })
    await ways[way](visit, here, ['addresses'])
    expect(alive(visit)).toBe(1)
    visit.clock.now += 60 * minute
    await here.call('set_address', {})
    expect([alive(visit), revocations(visit).length, await unrevoked(visit)]).toEqual([1, 1, [0]])
  })

  it('is not lost where that fails: it is tried again, at growing intervals, until it works [4.4.revoke-replaced-agent]', async () => {
    const visit = await start(rotates)
    const { clock, line } = visit
    const here = await visit.session()
    await visit.signIn(here, scopes)
    line.isDown = true
    await ways[way](visit, here, ['addresses'])
    expect([alive(visit), await unrevoked(visit)]).toEqual([2, [1]])
    // Other work goes on, and doesn't try at every turn.
    await here.call('get_order', { id: '1' })
    clock.now += minute
    line.isDown = false
    await here.call('get_order', { id: '1' })
    expect([alive(visit), revocations(visit)]).toEqual([2, []])
    clock.now += 4 * minute
    await here.call('get_order', { id: '1' })
    expect([alive(visit), await unrevoked(visit)]).toEqual([1, [0]])
    await here.call('set_address', {})
    expect(revocations(visit)).toHaveLength(1)
  })
})

describe('Account Tokens that wait to be revoked', () => {
  it('are tried again whichever account there is used: theirs may never be again [4.4.revoke-replaced-agent]', async () => {
    const visit = await start()
    const company = await visit.user.company(visit.fake.origin)
    const [home, work] = [company.session({ account: 'home' }), company.session({ account: 'work' })]
    await visit.signIn(work, scopes, { account: 'account-work' })
    visit.line.isDown = true
    await visit.signIn(work, ['addresses'], { account: 'account-work' })
    expect([alive(visit), await unrevoked(visit)]).toEqual([2, [1]])
    visit.line.isDown = false
    visit.clock.now += 6 * minute
    await home.start()
    expect([alive(visit), await unrevoked(visit)]).toEqual([1, [0]])
    // What is held for the other account stays.
    expect((await work.call('set_address', {})).status).toBe(200)
    expect(revocations(visit)).toHaveLength(1)
  })

  it('are revoked at sign-out too, and show in no record that a person reads [4.9.revoke-agent]', async () => {
    const visit = await start()
    const here = await visit.session()
    await visit.signIn(here, scopes)
    visit.line.isDown = true
    await visit.signIn(here, scopes)
    await visit.signIn(here, scopes)
    expect(await unrevoked(visit)).toEqual([2])
    const known = JSON.stringify([await visit.user.companies(), await here.state()])
    for (const token of visit.fake.grants.keys()) expect(known).not.toContain(token)
    expect((await errorOf(here.signOut())).code).toBe('unreachable')
    visit.line.isDown = false
    expect(await here.signOut()).toEqual({ revoked: true })
    expect([alive(visit), await unrevoked(visit)]).toEqual([0, [0]])
  })

  it('are let be once they have expired, and do not hold up a call for longer than they are worth', async () => {
    const visit = await start()
    const here = await visit.session()
    await visit.signIn(here, scopes)
    visit.line.isDown = true
    await visit.signIn(here, scopes)
    visit.clock.now += 24 * 60 * minute
    expect(await unrevoked(visit)).toEqual([0])
    visit.line.isDown = false
    await errorOf(here.call('get_order', { id: '1' }))
    expect(revocations(visit)).toEqual([])
  })

  it('wait as long as the Company says, and not within a call', async () => {
    const visit = await start()
    const here = await visit.session()
    await visit.signIn(here, scopes)
    visit.fake.switches.limit = { path: '/revoke', times: 1, retryAfter: '1800' }
    await visit.signIn(here, scopes)
    visit.waits.length = 0
    for (const [passes, left] of [
      [6, 1],
      [10, 1],
      [20, 0],
    ] as const) {
      visit.clock.now += passes * minute
      await here.call('get_order', { id: '1' })
      expect(await unrevoked(visit)).toEqual([left])
    }
    expect(visit.waits).toEqual([])
  })

  it('include one that came with an answer which could not be used [4.4.failed-keeps-tokens-agent]', async () => {
    const visit = await start()
    const here = await visit.session()
    await visit.signIn(here, scopes)
    const { url } = await here.beginSignIn({ scopes })
    visit.fake.switches.tokenType = 'Bearer'
    expect((await errorOf(here.completeSignIn(visit.fake.approve(url)))).code).toBe('bad_answer')
    visit.fake.switches.tokenType = 'DPoP'
    expect(alive(visit)).toBe(2)
    visit.clock.now += 60 * minute
    await here.call('get_order', { id: '1' })
    expect(alive(visit)).toBe(1)
    expect(visit.fake.grants.values().next().value).toMatchObject({ revoked: false })
  })
})

/** A store whose process is killed before a write: that one and all that follow never happen. */
function dyingStore(store: AgentStore) {
  const life = { writesLeft: Number.POSITIVE_INFINITY }
  const dying: AgentStore = {
    ...store,
    update: async (key, change) => {
      if (life.writesLeft-- <= 0) throw new Error('killed')
      return store.update(key, change)
    },
    // Ends with its holder, as a lock of the file store does.
    lock: (_name, work) => work(),
  }
  return { life, dying }
}

describe('an agent that is killed in the middle of a sign-in', () => {
  it.each([false, true])(
    'leaves no access that nobody knows of, wherever it was (rotation %s) [4.4.revoke-replaced-agent]',
    async (rotates) => {
      let deaths = 0
      for (let writes = 0; ; writes++) {
        const store = memoryStore()
        const key = await generateKey()
        const { life, dying } = dyingStore(store)
        const options = { keys: [key], store: dying }
        const visit = await startVisit(options)
        const { fake, clock } = visit
        fake.switches.rotates = rotates
        const here = await visit.session()
        await visit.signIn(here, scopes)
        const pending = await here.beginSignIn({ scopes: ['addresses'] })
        const callback = fake.approve(pending.url)
        life.writesLeft = writes
        const end = await here.completeSignIn(callback).then(
          () => 'fine',
          () => 'killed',
        )
        if (end === 'fine') break
        deaths += 1
        // The person starts it again, goes on with what there is, and signs in once more.
        const next = createPersonalAgent({
          clientId: visit.agent.clientId,
          name: 'Test Agent',
          keys: [key],
          store: { ...store, lock: (_name, work) => work() },
          now: () => clock.now,
          allowHttp: true,
        })
        const again = (await next.forUser('maya').company(fake.origin)).session()
        clock.now += 60 * minute
        await again.call('get_order', { id: '1' })
        clock.now += 60 * minute
        await again.call('get_order', { id: '1' })
        const mayBeLost = await answerWasLost(visit, store)
        await again.completeSignIn(fake.approve((await again.beginSignIn({ scopes })).url))
        await again.call('get_order', { id: '1' })
        // What came in the very answer that was never written down is the one thing that no agent can know of.
        expect([writes, alive({ fake })]).toEqual([writes, 1 + (mayBeLost ? 1 : 0)])
        expect((await next.forUser('maya').companies())[0]?.unrevoked).toBe(0)
      }
      expect(deaths).toBeGreaterThan(3)
    },
  )
})

/** Whether the Company gave an Account Token that the store has never heard of. */
async function answerWasLost({ fake }: Visit, store: AgentStore): Promise<boolean> {
  const kept = JSON.stringify(await Promise.all((await store.keys('')).map((key) => store.get(key))))
  return [...fake.grants].some(([token, { revoked }]) => !revoked && !kept.includes(token))
}

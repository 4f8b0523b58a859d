import { createPersonalAgent, generateKey, memoryStore, type PersonalAgent } from '@poppyseed/agent'
import { describe, expect, it } from 'vitest'
import { decideOn, formOn } from './setup/consent.ts'
import { agentErrorOf, visitHostileCompany } from './setup/hostile-company.ts'
import { listen } from './setup/listen.ts'
import { openLosingWorld } from './setup/losing.ts'
import { stores } from './setup/stores.ts'

// Our Personal Agent at our Company, over HTTP, and the answers of the Company get lost.

interface Rows {
  readonly sessions: unknown[]
  readonly grants: { revoked_at: number | null }[]
}

describe.each(stores)('the Personal Agent whose answers get lost, at a Company on $name,', ({ missing, fresh }) => {
  async function open() {
    const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
    // Nothing in its fetcher's place: the Company reads the agent's documents over the network.
    const config = { now: () => clock.now, fetchDocument: undefined } as never
    const { world, store, losing } = await openLosingWorld((await fresh()).store(), config)
    let agent: PersonalAgent | undefined
    const keys = [await generateKey()]
    await listen((origin) => {
      const clientId = `${origin}/agent.json`
      const made = createPersonalAgent({
        clientId,
        name: 'Test',
        keys,
        store: memoryStore(),
        now: () => clock.now,
        allowHttp: true,
      })
      agent = made
      return made.fetch
    })
    const session = (await (agent as unknown as PersonalAgent).forUser('maya').company(world.origin)).session()
    /** The User approves; gives where the browser is sent. */
    async function approve(scopes: readonly string[]): Promise<string> {
      const { url } = await session.beginSignIn({ scopes })
      const answer = await decideOn(world, await formOn(await world.send(new Request(url))), { scopes })
      return answer.headers.get('location') ?? ''
    }
    const rows = async () => (await store.dump()) as Rows
    const alive = async () => (await rows()).grants.filter(({ revoked_at }) => revoked_at === null).length
    return { clock, losing, session, approve, rows, alive }
  }

  it.skipIf(missing)('starts a Session at the next call', async () => {
    const { losing, session, rows } = await open()
    expect((await losing('/poppy/token', () => session.call('echo', { text: 'a' }))).status).toBe(200)
    expect((await session.call('echo', { text: 'b' })).status).toBe(200)
    expect((await rows()).sessions).toHaveLength(2)
  })

  it.skipIf(missing)(
    'asks once more with its code, hears that it is spent, and leaves no access behind [K25]',
    async () => {
      const { losing, session, approve, alive } = await open()
      await session.start()
      const callback = await approve(['poppy:read'])
      const { error } = await losing('/poppy/token', () => session.completeSignIn(callback))
      expect(await agentErrorOf(Promise.reject(error))).toMatchObject({
        code: 'sign_in_failed',
        companyCode: 'invalid_grant',
      })
      expect(await alive()).toBe(0)
      expect((await session.completeSignIn(await approve(['poppy:read']))).granted).toEqual(['poppy:read'])
      expect([await alive(), (await session.call('my_bookings')).status]).toEqual([1, 200])
    },
  )

  it.skipIf(missing)('keeps its Account Token when a refresh or a sign-out is lost', async () => {
    const { clock, losing, session, approve, alive } = await open()
    await session.start()
    await session.completeSignIn(await approve(['poppy:read']))
    clock.now += 3600_000
    await losing('/poppy/token', () => session.call('my_bookings'))
    expect((await session.call('my_bookings')).status).toBe(200)
    await losing('/poppy/revoke', () => session.signOut())
    expect(await alive()).toBe(0)
    expect(await session.signOut()).toEqual({ revoked: true })
    expect((await session.state()).signedIn).toBe(false)
  })
})

describe('a code whose request was lost before it came', () => {
  it('is exchanged by the second', async () => {
    const { company, session, signIn } = await visitHostileCompany()
    const here = await session()
    await here.start()
    company.next(1, { delivery: 'lost', gateway: 'empty_503' }, 'token')
    expect((await signIn(here, ['poppy:read'])).granted).toEqual(['poppy:read'])
    expect(company.findings).toEqual([])
  })
})

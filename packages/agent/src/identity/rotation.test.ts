import { decodeProtectedHeader } from 'jose'
import { describe, expect, it } from 'vitest'
import { errorOf, keySetOf, startVisit } from '../../test/visit.ts'
import { type AgentStore, createPersonalAgent, generateKey, memoryStore, type PersonalAgent } from '../index.ts'

const minute = 60_000

async function identityOf(keys: readonly unknown[], store: AgentStore = memoryStore()) {
  const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
  const open = (given: readonly unknown[] = keys, from: AgentStore = store): PersonalAgent =>
    createPersonalAgent({
      clientId: 'http://localhost:4571/agent.json',
      name: 'Test Agent',
      keys: given,
      store: from,
      now: () => clock.now,
      allowHttp: true,
    })
  return { clock, open, store }
}

const published = async (agent: PersonalAgent) => (await keySetOf(agent)()).keys.map(({ kid }) => kid)
const states = async (agent: PersonalAgent) => (await agent.identity.keys()).map(({ kid, state }) => [kid, state])

describe('a new signing key', () => {
  it('is published, then signs, then the old one goes, in every process, and nothing stops meanwhile', async () => {
    const old = await generateKey()
    const store = memoryStore()
    const visit = await startVisit({ keys: [old], store })
    const { agent, fake, clock, session, signIn } = visit
    const here = await session()
    await signIn(here, ['poppy:read'])
    const other = createPersonalAgent({
      clientId: agent.clientId,
      name: 'The same, in another process',
      keys: [old],
      store,
      now: () => clock.now,
      allowHttp: true,
    })
    const began = clock.now
    await agent.identity.rotate()
    const next = (await published(other)).find((kid) => kid !== old.kid) ?? ''
    const signed: string[] = []
    // A Company that keeps the set for as long as it is told, and asks for nothing in between.
    let kept: { at: number; keys: { kid: string }[] } | undefined
    const company = async () => {
      if (!kept || clock.now >= kept.at + 300_000) kept = { at: clock.now, ...(await keySetOf(other)()) }
      return kept.keys.map(({ kid }) => kid)
    }
    for (; clock.now < began + 40 * minute; clock.now += minute) {
      await (await agent.forUser(`user ${clock.now}`).company(fake.origin)).session().start()
      const kid = decodeProtectedHeader(fake.requests.at(-1)?.form.get('client_assertion') ?? '').kid ?? ''
      expect(await company()).toContain(kid)
      signed.push(kid)
    }
    expect(signed).toEqual([...Array(15).fill(old.kid), ...Array(25).fill(next)])
    expect([await published(agent), await published(other)]).toEqual([[next], [next]])
    clock.now += 3 * 3600 * 1000
    expect((await here.call('get_order', { id: '1' })).status).toBe(200)
    expect((await here.state()).signedIn).toBe(true)
  })

  it('is one at a time, however often and wherever it is asked for', async () => {
    const old = await generateKey()
    const { clock, open, store } = await identityOf([old])
    const [one, two] = [open(), open()]
    await Promise.all([one.identity.rotate(), two.identity.rotate(), one.identity.rotate()])
    const [, next = ''] = await published(one)
    expect(await states(two)).toEqual([
      [old.kid, 'signing'],
      [next, 'next'],
    ])
    clock.now += 15 * minute
    expect(await states(open())).toEqual([
      [old.kid, 'retiring'],
      [next, 'signing'],
    ])
    clock.now += 15 * minute
    expect(await states(open())).toEqual([[next, 'signing']])
    // And again, from the one that signs now.
    await two.identity.rotate()
    clock.now += 31 * minute
    const [last = '', ...more] = await published(one)
    expect([more, last === old.kid, last === next]).toEqual([[], false, false])
    expect(JSON.stringify(await one.identity.keys())).not.toContain('"d"')
    expect(JSON.stringify([...(await store.keys('identity/'))])).not.toContain(last)
  })

  it('leaves a working identity where its process dies, before the record is written or after', async () => {
    const old = await generateKey()
    const memory = memoryStore()
    const { clock, open } = await identityOf([old], memory)
    for (const dying of [
      { ...memory, update: () => Promise.reject(new Error('died before')) },
      {
        ...memory,
        update: async (...args: Parameters<AgentStore['update']>) => {
          await memory.update(...args)
          throw new Error('died after')
        },
      },
    ]) {
      await expect(open([old], dying).identity.rotate()).rejects.toThrow('died')
      expect((await states(open()))[0]).toEqual([old.kid, 'signing'])
    }
    clock.now += 31 * minute
    const [left, ...more] = await states(open())
    expect([left?.[1], left?.[0] === old.kid, more]).toEqual(['signing', false, []])
  })

  it('stands alone at once where a key is compromised, whatever else was handed in or under way', async () => {
    const [one, two] = [await generateKey(), await generateKey()]
    const { open, clock } = await identityOf([one, two])
    expect(await states(open())).toEqual([
      [one.kid, 'signing'],
      [two.kid, 'kept'],
    ])
    await open().identity.rotate()
    clock.now += minute
    const [alone, ...others] = await open().identity.rotate({ compromised: true })
    expect([alone?.state, others]).toEqual(['signing', []])
    expect(await published(open())).toEqual([alone?.kid])
    expect(await published(open([one, two, await generateKey()]))).toHaveLength(2)
  })

  it('ends with another first key: who hands one in begins anew', async () => {
    const [one, two] = [await generateKey(), await generateKey()]
    const { open, clock } = await identityOf([one])
    await open().identity.rotate()
    clock.now += 31 * minute
    expect(await states(open([two, one]))).toEqual([
      [two.kid, 'signing'],
      [one.kid, 'kept'],
    ])
    expect((await errorOf((async () => open([]))())).code).toBe('misconfigured')
  })
})

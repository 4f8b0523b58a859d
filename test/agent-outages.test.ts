import type { ServerResponse } from 'node:http'
import type { Store } from 'poppyseed'
import { createDocumentFetcher } from 'poppyseed/node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openAgentHost } from './setup/agent-host.ts'
import { authorizationQuery, decideOn, exchange, openForm, openPage, redirectOf } from './setup/consent.ts'
import { rightsOf } from './setup/rights.ts'
import { stores } from './setup/stores.ts'
import { type KeyPair, makeKeys, type WireAgent } from './setup/wire-agent.ts'
import { makeWorld, outcome, type Tokens } from './setup/world.ts'

// What becomes of a Personal Agent's sign-ins while its keys change and while its host is away. The host is a real one.

const minute = 60_000
const origin = 'http://localhost:4400'

/** The Company of this file, on one machine with the agent's host. */
function company(clock: { now: number }, store?: Store) {
  // Longer than a busy machine needs for a document that comes, short enough to wait for one that doesn't.
  const fetchDocument = createDocumentFetcher({ allowLoopback: true, timeout: 3000 })
  onTestFinished(() => fetchDocument.close())
  return makeWorld(
    {
      origin,
      organization: { name: 'Hotel Miramar', domain: 'localhost' },
      development: true,
      limits: false,
      fetchDocument,
      now: () => clock.now,
    },
    store,
  )
}
async function open(store?: Store) {
  const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
  const world = await company(clock, store)
  const host = await openAgentHost({
    company: origin,
    now: () => clock.now,
    send: (request) => current.world.send(request),
  })
  const current = { world }
  const { agent } = host
  /** Asks for a Session, with everything signed by this key under this name. */
  const startAs = async (key?: KeyPair, kid?: string | null) => outcome(await start(agent, key, kid))
  const keysFetched = () => host.count('/jwks.json')
  return { clock, world, current, host, agent, startAs, keysFetched }
}

async function start(agent: WireAgent, key: KeyPair = agent.signing, kid: string | null = agent.keyId) {
  const bend = { key: key.privateKey, header: { kid: kid ?? undefined } }
  return agent.startSession({
    client_assertion: await agent.clientAssertion(bend),
    assertion: await agent.sessionAssertion(bend),
  })
}

const jwk = ({ publicJwk }: KeyPair, kid: string | null) => ({ ...publicJwk, ...(kid === null ? {} : { kid }) })

describe('an agent that takes a new key', () => {
  it.each([
    ['under a new name', (agent: WireAgent) => `${agent.keyId}2`],
    ['under no name', () => null],
    ['under the name of the old one', (agent: WireAgent) => agent.keyId],
  ])('%s comes in at once, and with the old one no longer [K18]', async (_, nameFor) => {
    const { host, agent, startAs, keysFetched } = await open()
    expect(await startAs()).toBe('200')
    const [key, kid] = [await makeKeys(), nameFor(agent)]
    host.publishKeys(jwk(key, kid))
    expect(await startAs(key, kid)).toBe('200')
    expect(keysFetched()).toBe(2)
    expect(await startAs()).toBe('401 invalid_client')
    expect(await startAs(key, kid)).toBe('200')
    expect(keysFetched()).toBe(2)
  })

  it('and lets the old one stand beside it comes in with both [K18]', async () => {
    const { host, agent, startAs, keysFetched } = await open()
    expect(await startAs()).toBe('200')
    const key = await makeKeys()
    host.publishKeys(jwk(agent.signing, agent.keyId), jwk(key, 'next'))
    for (const [one, kid] of [
      [key, 'next'],
      [agent.signing, agent.keyId],
      [key, null],
      [agent.signing, null],
    ] as const)
      expect(await startAs(one, kid)).toBe('200')
    expect(keysFetched()).toBe(2)
  })

  it('and withdraws the old one without a word is refused with it after its cache time, and not before [K18]', async () => {
    for (const [headers, minutes] of [
      [{}, 5],
      [{ 'cache-control': 'max-age=1800' }, 30],
      // Less than a minute would let anybody make us fetch at every request.
      [{ 'cache-control': 'no-store' }, 1],
    ] as const) {
      const { host, clock, startAs } = await open()
      Object.assign(host.headers, headers)
      expect(await startAs()).toBe('200')
      host.publishKeys(jwk(await makeKeys(), 'next'))
      clock.now += minutes * minute - 1
      expect(await startAs()).toBe('200')
      clock.now += 1
      expect(await startAs()).toBe('401 invalid_client')
    }
  })

  it('keeps what it had before: its Sessions, its Account Tokens, the calls of its Users', async () => {
    const { world, host, agent, startAs } = await open()
    const session = (await (await start(agent)).json()) as Tokens
    const { access_token, refresh_token = '' } = await world.signIn(agent, session.session_id)
    const key = await makeKeys()
    host.publishKeys(jwk(key, 'next'))
    expect(await rightsOf(world, access_token, agent)).toBe('in')
    expect(await startAs(key, 'next')).toBe('200')
    const bend = { key: key.privateKey, header: { kid: 'next' } }
    const client_assertion = await agent.clientAssertion(bend)
    expect(await outcome(await agent.token({ grant_type: 'refresh_token', refresh_token, client_assertion }))).toBe(
      '200',
    )
  })
})

describe('somebody who makes up key names', () => {
  it('costs one fetch in a cool-down, however many come and at once, and keeps nobody else out [K18]', async () => {
    const { clock, startAs, keysFetched } = await open()
    expect(await startAs()).toBe('200')
    const stranger = await makeKeys()
    const attack = async () => {
      const all = Array.from({ length: 100 }, (_, index) => startAs(stranger, `made-up-${index}`))
      expect(new Set(await Promise.all(all))).toEqual(new Set(['401 invalid_client']))
    }
    await attack()
    expect(await startAs()).toBe('200')
    expect(keysFetched()).toBe(2)
    clock.now += 29_999
    await attack()
    expect(keysFetched()).toBe(2)
    clock.now += 1
    await attack()
    expect(keysFetched()).toBe(3)
    expect(await startAs()).toBe('200')
  })
})

const failures: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'answers 500': (response) => void response.writeHead(500).end('{}'),
  'answers 404': (response) => void response.writeHead(404).end(),
  redirects: (response) => void response.writeHead(302, { location: '/other.json' }).end(),
  'never answers': () => {},
  'breaks off': (response) => void response.destroy(),
  'serves a page': (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sorry.</p>'),
  'serves half of it': (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{"keys":[{"kty":'),
  'serves no keys at all': (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{"keys":7}'),
}

describe('a key endpoint', () => {
  it.each(Object.entries(failures))(
    'that %s when it is asked early leaves the good keys good [K18]',
    async (_, fail) => {
      const { host, clock, startAs, keysFetched } = await open()
      expect(await startAs()).toBe('200')
      host.answers.set('/jwks.json', (_request, response) => fail(response))
      const key = await makeKeys()
      expect(await startAs(key, 'next')).toBe('401 invalid_client')
      expect(await startAs()).toBe('200')
      expect(keysFetched()).toBe(2)
      // It works again, and the new key is there.
      host.answers.clear()
      host.publishKeys(jwk(key, 'next'))
      clock.now += 30_000
      expect(await startAs(key, 'next')).toBe('200')
    },
  )
})

describe('an agent whose host is away', () => {
  it('and is known goes on for an hour beyond its documents’ time; its calls never ask for the host at all [K18]', async () => {
    const { world, host, agent, clock, startAs } = await open()
    const session = (await (await start(agent)).json()) as Tokens
    const { refresh_token = '' } = await world.signIn(agent, session.session_id)
    const refresh = async () => agent.token({ grant_type: 'refresh_token', refresh_token })
    await host.goAway()
    clock.now += 64 * minute
    for (let times = 0; times < 3; times++) expect(await startAs()).toBe('200')
    const { access_token } = (await (await refresh()).json()) as Tokens
    expect(await outcome(await exchange(agent, 'made-up', session.session_id))).toBe('400 invalid_grant')
    expect((await openPage(world, authorizationQuery(agent))).status).toBe(200)

    // Its time is over. What was given before goes on until it runs out.
    clock.now += 2 * minute
    expect(await startAs()).toBe('401 invalid_client')
    expect(await outcome(await refresh())).toBe('401 invalid_client')
    expect((await openPage(world, authorizationQuery(agent))).status).toBe(400)
    clock.now += 50 * minute
    host.asked.length = 0
    for (let times = 0; times < 3; times++) expect(await rightsOf(world, access_token, agent)).toBe('in')

    // It is back, and so is everything that its Users had.
    await host.comeBack()
    expect(await rightsOf(world, access_token, agent)).toBe('in')
    expect(host.asked).toEqual([])
    expect(await startAs()).toBe('200')
    expect(await outcome(await refresh())).toBe('200')
  })

  it('or hangs keeps known agents waiting once in a while, and no longer than a fetch may take [K18]', async () => {
    const { host, clock, startAs } = await open()
    expect(await startAs()).toBe('200')
    host.answers.set('/agent.json', () => {})
    host.answers.set('/jwks.json', () => {})
    clock.now += 10 * minute
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => startAs())))).toEqual(new Set(['200']))
    for (let times = 0; times < 5; times++) expect(await startAs()).toBe('200')
    expect([host.count('/agent.json'), host.count('/jwks.json')]).toEqual([2, 2])
  })

  for (const { name, missing, fresh } of stores) {
    it.skipIf(missing)(
      `when the Company starts anew is unknown until it is back; calls go on all the same, on ${name}`,
      async () => {
        const { store } = await fresh()
        const { world, current, host, agent, clock, startAs } = await open(store())
        const session = (await (await start(agent)).json()) as Tokens
        const { access_token, refresh_token = '' } = await world.signIn(agent, session.session_id)
        await host.goAway()
        await world.company.close()
        current.world = await company(clock, store())
        expect(await rightsOf(current.world, access_token, agent)).toBe('in')
        expect(await startAs()).toBe('401 invalid_client')
        const refresh = () => agent.token({ grant_type: 'refresh_token', refresh_token })
        expect(await outcome(await refresh())).toBe('401 invalid_client')
        await host.comeBack()
        clock.now += 10_000
        expect(await outcome(await refresh())).toBe('200')
        expect(await startAs()).toBe('200')
        expect(await rightsOf(current.world, access_token, agent)).toBe('in')
      },
    )
  }
})

describe('a hundred requests of an agent that nobody knows yet', () => {
  it('fetch each document once, and put the agent on record once', async () => {
    const { host, agent } = await open()
    const answers = await Promise.all(Array.from({ length: 100 }, () => start(agent)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(host.asked.toSorted()).toEqual(['/agent.json', '/jwks.json'])
  })

  it('ask a host that fails once, and get one and the same answer', async () => {
    const { host, agent } = await open()
    host.answers.set('/agent.json', (_request, response) => void response.writeHead(500).end())
    const answers = await Promise.all(Array.from({ length: 100 }, () => start(agent)))
    expect(new Set(await Promise.all(answers.map(outcome)))).toEqual(new Set(['401 invalid_client']))
    expect(host.asked).toEqual(['/agent.json'])
  })
})

describe('a document that changes between the page and the exchange', () => {
  it('moves no code: it goes where the person was told, and is good for that address alone [K17, 4.5.code-bound]', async () => {
    const { world, host, agent, clock } = await open()
    const session = (await (await start(agent)).json()) as Tokens
    const form = await openForm(world, agent)
    const [before, after] = [agent.redirectUri, `${host.origin}/elsewhere`]
    host.publish({ redirect_uris: [after] })
    clock.now += 6 * minute
    // The change is known: the old address is none of the agent's for a new request.
    expect((await openPage(world, authorizationQuery(agent))).status).toBe(400)
    const { to, said } = redirectOf(await decideOn(world, form))
    expect(to).toBe(before)
    const bent = await exchange(agent, said.code ?? '', session.session_id, { redirect_uri: after })
    expect(await outcome(bent)).toBe('400 invalid_grant')
    // Approved once more, with both the old and the new document in the middle of it.
    host.publish({ redirect_uris: [before] })
    clock.now += 6 * minute
    const again = redirectOf(await decideOn(world, await openForm(world, agent))).said
    host.publish({ redirect_uris: [after] })
    clock.now += 30_000
    expect(await outcome(await exchange(agent, again.code ?? '', session.session_id))).toBe('200')
  })

  it('may bring other keys: whoever the client_id says is the agent exchanges its code, and nobody with the old ones [K17]', async () => {
    const { world, host, agent, clock } = await open()
    // Short-lived, as of an agent that moves.
    host.headers['cache-control'] = 'max-age=60'
    const session = (await (await start(agent)).json()) as Tokens
    clock.now += minute - 10_000
    const code = redirectOf(await decideOn(world, await openForm(world, agent))).said.code ?? ''
    const key = await makeKeys()
    agent.documents[`${host.origin}/keys/2.json`] = { keys: [jwk(key, 'next')] }
    host.publish({ jwks_uri: `${host.origin}/keys/2.json` })
    clock.now += 20_000
    expect(await outcome(await exchange(agent, code, session.session_id))).toBe('401 invalid_client')
    const client_assertion = await agent.clientAssertion({ key: key.privateKey, header: { kid: 'next' } })
    expect(await outcome(await exchange(agent, code, session.session_id, { client_assertion }))).toBe('200')
  })

  it.each([
    ['jwks_uri', (elsewhere: string) => ({ jwks_uri: `${elsewhere}/jwks.json` })],
    ['redirect_uris', (elsewhere: string) => ({ redirect_uris: [`${elsewhere}/callback`] })],
  ])('is believed no longer once its %s lead to another host [K17]', async (_, members) => {
    const { world, host, agent, clock, startAs } = await open()
    const session = (await (await start(agent)).json()) as Tokens
    const elsewhere = await openAgentHost({ company: origin, now: () => clock.now })
    const code = redirectOf(await decideOn(world, await openForm(world, agent))).said.code ?? ''
    host.publish(members(elsewhere.origin))
    host.headers['cache-control'] = 'max-age=60'
    expect(await startAs()).toBe('200')
    clock.now += 5 * minute
    expect(await outcome(await exchange(agent, code, session.session_id))).toBe('401 invalid_client')
    expect(await startAs()).toBe('401 invalid_client')
    expect(elsewhere.asked).toEqual([])
  })
})

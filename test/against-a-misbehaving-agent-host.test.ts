import {
  type HostSwitches,
  hostileClientAssertions,
  hostileProofs,
  hostileSessionAssertions,
  oddSpellings,
  privateAddresses,
  privateUrls,
  wellBehavedHost,
} from '@poppyseed/conformance'
import { describe, expect, it } from 'vitest'
import { visitHostileHost } from './setup/hostile-host.ts'

// The Company with its own fetcher, at a host of Personal Agents that misbehaves in one way after another.

type Faults = Partial<HostSwitches>
const used = new Set<string>()
function using(faults: Faults): Faults {
  for (const name of Object.keys(faults)) used.add(name)
  return faults
}
const minutes = (count: number) => count * 60_000

describe('a host that does everything right', () => {
  it('is asked for each document once, plainly, and its agent gets a Session [4.1.private-key-jwt, 4.2.signature]', async () => {
    const { host, start } = await visitHostileHost()
    const agent = host.newAgent()
    expect([await start(agent), await start(agent)]).toEqual(['200', '200'])
    expect(host.fetches.map(({ method, document }) => `${method} ${document}`)).toEqual(['GET metadata', 'GET keys'])
    for (const { headers } of host.fetches) {
      expect(Object.keys(headers).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent'])
      expect(headers['accept-encoding']).toBe('identity')
    }
  })
})

describe('documents', () => {
  const refused: readonly (readonly [string, Faults])[] = [
    ['moved elsewhere', { redirect: 'elsewhere' }],
    ['moved inside', { redirect: 'inner' }],
    ['moved to the cloud’s own metadata', { redirect: 'metadata_service' }],
    ['moved to themselves', { redirect: 'loop' }],
    ['moved to plain HTTP', { redirect: 'http' }],
    ['of ten megabytes', { delivery: 'huge' }],
    ['without end', { delivery: 'endless' }],
    ['that never come', { delivery: 'silent' }],
    ['that come a byte at a time', { delivery: 'slow' }],
    ['of thirty-two megabytes, packed', { delivery: 'zip_bomb' }],
    ['cut in the middle', { delivery: 'cut' }],
    ['cut before the first byte', { delivery: 'lost' }],
    ['that are half of a JSON text', { delivery: 'not_json' }],
    ['that are a page', { delivery: 'html' }],
    ['that are nothing', { delivery: 'empty' }],
    ['of another type', { contentType: 'text/html' }],
    ['of no type', { contentType: null }],
    ['that fail', { status: 500 }],
    ['that are not there', { status: 404 }],
    ['that are created', { status: 201 }],
    ['in an array', { document: 'array' }],
    ['that are null', { document: 'null' }],
    ['that are a text', { document: 'text' }],
    ['with a member twice', { document: 'doubled_member' }],
    ['nested five thousand levels', { document: 'deep' }],
    ['with five thousand values', { document: 'many_members' }],
  ]
  it.each(refused)(
    '%s get their agent the same refusal, in bounded time, and lead nowhere [K16, 4.1.client-id-exact]',
    async (_name, faults) => {
      for (const document of ['metadata', 'keys'] as const) {
        const { host, start, world } = await visitHostileHost()
        const agent = host.newAgent()
        host.next(100, using(faults), document)
        const begun = performance.now()
        expect([document, await start(agent)]).toEqual([document, '401 invalid_client'])
        expect(performance.now() - begun).toBeLessThan(15_000)
        expect(host.reachedInside).toEqual([])
        expect(world.log.filter((line) => line.startsWith('error'))).toEqual([])
      }
    },
  )

  const wrong: readonly (readonly [string, Faults])[] = [
    ['another client_id', { clientId: 'other' }],
    ['a client_id with a slash more', { clientId: 'slash' }],
    ['a client_id in upper case', { clientId: 'upper_case' }],
    ['no client_id', { clientId: 'missing' }],
    ['a jwks_uri on another host', { jwksUri: 'other_host' }],
    ['a jwks_uri on another port', { jwksUri: 'other_port' }],
    ['a jwks_uri on a subdomain', { jwksUri: 'subdomain' }],
    ['a jwks_uri over plain HTTP', { jwksUri: 'http' }],
    ['a jwks_uri with a user part', { jwksUri: 'user_part' }],
    ['a jwks_uri inside', { jwksUri: 'private' }],
    ['no jwks_uri', { jwksUri: 'missing' }],
    ['redirect_uris on another host', { redirectUris: 'other_host' }],
    ['redirect_uris on another port', { redirectUris: 'other_port' }],
    ['redirect_uris over plain HTTP', { redirectUris: 'http' }],
    ['one foreign redirect_uri', { redirectUris: 'one_foreign' }],
    ['a thousand redirect_uris', { redirectUris: 'thousand' }],
    ['no authentication', { authMethod: 'none' }],
    ['a shared secret', { authMethod: 'client_secret_basic' }],
    ['private keys', { keys: 'private' }],
    ['a secret among the keys', { keys: 'symmetric' }],
    ['a thousand keys', { keys: 'thousand' }],
    ['an empty key set', { keys: 'none' }],
    ['no key set', { keys: 'missing' }],
    ['a weak key', { keys: 'weak_rsa' }],
    ['keys that are none', { keys: 'garbage' }],
  ]
  it.each(wrong)(
    'with %s get their agent the same refusal [4.1.client-id-exact, 4.1.jwks-same-domain, 4.1.redirect-uris-same-domain, 4.1.public-keys, 4.1.auth-method, K17]',
    async (_name, faults) => {
      const { host, start } = await visitHostileHost()
      Object.assign(host.switches, using(faults))
      const agent = host.newAgent()
      expect(await start(agent)).toBe('401 invalid_client')
      host.reset()
      // A failure is remembered for a moment only.
      expect(await start(host.newAgent())).toBe('200')
    },
  )

  const fine: readonly (readonly [string, Faults])[] = [
    ['members that nobody knows', { unknown: true }],
    ['no name', { clientName: null }],
    ['a name of ten thousand letters', { clientName: 'A'.repeat(10_001) }],
    ['no redirect_uris', { redirectUris: 'missing' }],
    ['no authentication method', { authMethod: null }],
    ['a logo on another host', { logoUri: 'other_host' }],
    ['a logo inside', { logoUri: 'private' }],
    ['a logo over plain HTTP', { logoUri: 'http' }],
    ['a logo that is a script', { logoUri: 'script' }],
    ['keys without a name', { keys: 'without_kid' }],
    ['a type with a suffix', { contentType: 'application/jwk-set+json; charset=utf-8' }],
  ]
  it.each(fine)('with %s get their agent a Session [K15, 3.3.ignore-unknown]', async (_name, faults) => {
    const { host, start } = await visitHostileHost()
    Object.assign(host.switches, using(faults))
    const agent = host.newAgent()
    if (faults.keys === 'without_kid') agent.rotateKey('none')
    expect(await start(agent)).toBe('200')
    expect(host.reachedInside).toEqual([])
  })
})

describe('names', () => {
  it('that mean a private address a moment later are not dialled then [K16]', async () => {
    const { host, start, world } = await visitHostileHost()
    const agent = host.newAgent()
    host.dns.answers = 'public_then_private'
    // The document comes from the public address, the key set's name leads inside.
    expect(await start(agent)).toBe('401 invalid_client')
    expect(host.fetches.map(({ document }) => document)).toEqual(['metadata'])
    host.dns.answers = 'right'
    world.clock.now += minutes(1)
    expect(await start(agent)).toBe('200')
  })

  it.each(['both_at_once', 'nothing', 'failure', 'silence'] as const)(
    'that are answered with %s get the same refusal [K16]',
    async (answers) => {
      const { host, start } = await visitHostileHost()
      host.dns.answers = answers
      expect(await start(host.newAgent())).toBe('401 invalid_client')
      expect(host.fetches).toEqual([])
    },
  )

  it('that mean any private address, in any spelling, are not dialled [K17]', async () => {
    const { host, start } = await visitHostileHost()
    for (const [answers, count] of [
      ['private', privateAddresses.length],
      ['odd_spellings', oddSpellings.length],
    ] as const) {
      host.dns.answers = answers
      for (let at = 0; at < count; at++) expect(await start(host.newAgent())).toBe('401 invalid_client')
    }
    expect(host.dns.asked.length).toBeGreaterThanOrEqual(privateAddresses.length + oddSpellings.length - 1)
    expect(host.fetches).toEqual([])
  })

  it('that are themselves a private address are refused before anybody is asked [K17]', async () => {
    const { host, start } = await visitHostileHost()
    for (const clientId of privateUrls) {
      const agent = host.newAgent()
      const bend = { claims: { iss: clientId, sub: clientId } }
      expect(
        await start(
          { ...agent, clientId },
          { client_id: clientId, client_assertion: agent.clientAssertion(toOf(), bend) },
        ),
      ).toBe('401 invalid_client')
    }
    expect([host.dns.asked, host.fetches]).toEqual([[], []])
  })
})

function toOf() {
  return { tokenEndpoint: 'https://miramar.example/poppy/token', issuer: 'https://miramar.example' }
}

describe('keys', () => {
  it.each(['new', 'none'] as const)(
    'that are replaced, under %s name, are found with one fetch more [K18]',
    async (name) => {
      const { host, start } = await visitHostileHost()
      const agent = host.newAgent()
      expect(await start(agent)).toBe('200')
      agent.rotateKey(name)
      expect(await start(agent)).toBe('200')
      expect(host.fetches.filter(({ document }) => document === 'keys')).toHaveLength(2)
    },
  )

  it('that are replaced under the same name are found once the old set has had its time [K18]', async () => {
    const { host, start, world } = await visitHostileHost()
    const agent = host.newAgent()
    expect(await start(agent)).toBe('200')
    agent.rotateKey('same')
    const soon = await start(agent)
    world.clock.now += minutes(6)
    expect(await start(agent)).toBe('200')
    expect(['200', '401 invalid_client']).toContain(soon)
  })

  it('are kept while their host is away, and while it fails [K18]', async () => {
    const { host, start, world } = await visitHostileHost()
    const agent = host.newAgent()
    expect(await start(agent)).toBe('200')
    host.next(100, using({ status: 500, cacheControl: null }))
    world.clock.now += minutes(10)
    expect(await start(agent)).toBe('200')
    await host.goDown()
    world.clock.now += minutes(10)
    expect(await start(agent)).toBe('200')
    await host.comeBack()
    host.reset()
    world.clock.now += minutes(10)
    agent.rotateKey('new')
    expect(await start(agent)).toBe('200')
  })

  it('with a hundred made-up names cost one fetch more [K18]', async () => {
    const { host, start, to } = await visitHostileHost()
    const agent = host.newAgent()
    expect(await start(agent)).toBe('200')
    for (let at = 0; at < 100; at++) {
      const client_assertion = agent.clientAssertion(to, { header: { kid: `made-up-${at}` } })
      expect(await start(agent, { client_assertion })).toBe('401 invalid_client')
    }
    expect(host.fetches.filter(({ document }) => document === 'keys')).toHaveLength(2)
  })
})

describe('a document that changes between consent and exchange', () => {
  it('leaves the code bound to what the person saw [K17, 4.5.code-bound]', async () => {
    const { host, start, token, openConsent, world, to } = await visitHostileHost()
    const agent = host.newAgent()
    const session = (await (
      await token(agent, {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: agent.sessionAssertion(to),
      })
    ).json()) as { session_id: string }
    const form = /name="request" value="([^"]+)"/.exec(await (await openConsent(agent)).text())?.[1] ?? ''
    const elsewhere = `${agent.base}stolen`
    Object.assign(host.switches, using({ callback: 'stolen' }))
    world.clock.now += minutes(10)
    expect(await start(agent)).toBe('200')
    // The new address is the agent's from now on, but this sign-in goes where the person was told.
    expect((await openConsent(agent, elsewhere)).status).toBe(200)
    const answer = await world.send(
      new Request(`${world.origin}/poppy/authorize`, {
        method: 'POST',
        body: new URLSearchParams({ request: form, decision: 'approve', scope: 'poppy:read' }),
        headers: { origin: world.origin },
      }),
    )
    const location = new URL(answer.headers.get('location') ?? '')
    expect(location.href.startsWith(`${agent.redirectUri}?`)).toBe(true)
    const exchange = (redirect_uri: string) =>
      token(agent, {
        grant_type: 'authorization_code',
        code: location.searchParams.get('code'),
        code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
        redirect_uri,
        session_id: session.session_id,
      })
    expect((await exchange(elsewhere)).status).toBe(400)
  })
})

describe('hostile assertions and proofs', () => {
  it('at the token endpoint get their refusal, every one of them, and change nothing [4.1.private-key-jwt, 4.2.signature, 4.2.aud-exact, 4.2.exp-short, 4.2.iss-client-id, 4.3.signature, 4.3.proof-type, 4.3.htm, 4.3.htu, 4.3.iat, K15]', async () => {
    const { host, start, to, world } = await visitHostileHost()
    const agent = host.newAgent()
    const now = () => world.clock.now
    const seen: string[] = []
    const expected: string[] = []
    for (const { name, refusal, make } of hostileClientAssertions(agent, to, now)) {
      seen.push(`client assertion, ${name}: ${await start(agent, { client_assertion: make() })}`)
      expected.push(`client assertion, ${name}: 401 ${refusal}`)
    }
    for (const { name, refusal, make } of hostileSessionAssertions(agent, to, now)) {
      seen.push(`Session assertion, ${name}: ${await start(agent, { assertion: make() })}`)
      expected.push(`Session assertion, ${name}: 400 ${refusal}`)
    }
    for (const { name, refusal, make } of hostileProofs(agent, { method: 'POST', url: to.tokenEndpoint }, now)) {
      seen.push(`proof, ${name}: ${await start(agent, {}, make())}`)
      expected.push(`proof, ${name}: 400 ${refusal}`)
    }
    expect(seen).toEqual(expected)
    expect(await start(agent)).toBe('200')
    expect(world.log.filter((line) => line.startsWith('error'))).toEqual([])
  })

  it('at an API get their refusal as well [4.3.ath, 4.3.bound-key, 4.3.signature, 4.3.proof-type, 6.invalid-dpop-proof]', async () => {
    const { host, token, to, world } = await visitHostileHost()
    const agent = host.newAgent()
    const given = await token(agent, {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: agent.sessionAssertion(to),
    })
    const { access_token } = (await given.json()) as { access_token: string }
    const url = `${world.origin}/poppy/tools/echo`
    const call = async (dpop: string) => {
      const headers = { authorization: `DPoP ${access_token}`, dpop, 'content-type': 'application/json' }
      const answer = await world.send(new Request(url, { method: 'POST', body: '{"text":"x"}', headers }))
      return `${answer.status} ${answer.headers.get('www-authenticate')?.match(/error="(\w+)"/)?.[1] ?? ''}`.trim()
    }
    const request = { method: 'POST', url, token: access_token }
    for (const { name, refusal, make } of hostileProofs(agent, request, () => world.clock.now))
      expect(`${name}: ${await call(make().trim() === '' ? 'x' : make())}`).toBe(`${name}: 401 ${refusal}`)
    expect(await call(agent.proof(request))).toBe('200')
  })
})

describe('the stories above', () => {
  it('have flipped every switch that there is, logos apart', () => {
    const all = Object.keys(wellBehavedHost).filter((name) => name !== 'logo')
    expect([...used].sort()).toEqual(all.sort())
  })
})

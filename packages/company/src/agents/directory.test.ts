import { checkClientAssertion, importPublicKey, PoppyError } from '@poppyseed/protocol'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { FetchRefused } from '../net/fetch-refused.ts'
import { type AgentDirectoryOptions, createAgentDirectory } from './directory.ts'

const agent = 'https://agent.example/agent.json'
const jwks = 'https://agent.example/jwks.json'
const tokenEndpoint = 'https://auth.example.com/oauth/token'
const minute = 60_000

interface SigningKey {
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

let [first, second]: SigningKey[] = []

async function makeKey(kid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid } }
}

beforeAll(async () => {
  first = await makeKey('first')
  second = await makeKey('second')
})

function key(made: SigningKey | undefined): SigningKey {
  return made ?? expect.fail('no key')
}

/** The internet, as far as the directory is concerned, with a clock to move and a count of what was fetched. */
function startWorld(options: Partial<AgentDirectoryOptions> = {}) {
  const world = {
    now: 1_790_900_000_000,
    documents: new Map<string, unknown>([
      [agent, { client_id: agent, client_name: 'Example Agent', jwks_uri: jwks }],
      [jwks, { keys: [key(first).jwk] }],
    ]),
    headers: new Map<string, Record<string, string>>(),
    down: new Set<string>(),
    fetched: [] as string[],
    logged: [] as string[],
  }
  const directory = createAgentDirectory({
    now: () => world.now,
    importKey: importPublicKey,
    log: { warn: (details) => world.logged.push(JSON.stringify(details)) },
    async fetchDocument(url) {
      world.fetched.push(url)
      if (world.down.has(url) || !world.documents.has(url)) throw new FetchRefused('bad_status')
      return { document: world.documents.get(url), headers: new Headers(world.headers.get(url) ?? {}) }
    },
    ...options,
  })
  const fetches = (url: string) => world.fetched.filter((one) => one === url).length

  /** Shows up with an assertion of this key; true when it is accepted. */
  async function signs(by: SigningKey | undefined, kid: string | null | undefined = by?.jwk.kid): Promise<boolean> {
    const now = world.now / 1000
    const claims = { iss: agent, sub: agent, aud: tokenEndpoint, jti: crypto.randomUUID(), iat: now, exp: now + 60 }
    const assertion = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', ...(typeof kid === 'string' ? { kid } : {}) })
      .sign(key(by).privateKey)
    const { findKeys } = await directory.find(agent)
    return checkClientAssertion(assertion, {
      clientId: agent,
      now,
      skew: 30,
      maxLifetime: 300,
      audiences: [tokenEndpoint],
      findKeys,
    }).then(
      () => true,
      (error: unknown) => {
        expect(error).toMatchObject({ code: 'invalid_client', description: 'The client assertion was not accepted.' })
        return false
      },
    )
  }
  return Object.assign(world, { directory, fetches, signs })
}

async function refusalOf(work: Promise<unknown>): Promise<PoppyError> {
  const error = await work.then(
    () => expect.fail('was accepted'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof PoppyError)) throw error
  return error
}

describe('finding a Personal Agent', () => {
  it('reads its document and its keys [4.1.private-key-jwt]', async () => {
    const world = startWorld()
    const { metadata } = await world.directory.find(agent)
    expect(metadata).toMatchObject({ clientId: agent, name: 'Example Agent', jwksUri: jwks, redirectUris: [] })
    expect(await world.signs(first)).toBe(true)
    expect(await world.signs(second)).toBe(false)
    expect(await world.signs(second, 'first')).toBe(false)
  })

  it('tells whoever asks the same, whatever was wrong [4.1.client-id-exact, 4.1.jwks-same-domain, 4.1.redirect-uris-same-domain, 4.1.auth-method, 4.1.blocklist, K16, K17]', async () => {
    const good = { client_id: agent, jwks_uri: jwks }
    const wrong: readonly unknown[] = [
      undefined,
      null,
      'text',
      { jwks_uri: jwks },
      { client_id: agent },
      { ...good, client_id: `${agent}?` },
      { ...good, client_id: 'https://other.example/agent.json' },
      { ...good, jwks_uri: 'https://other.example/jwks.json' },
      { ...good, jwks_uri: 'https://sub.agent.example/jwks.json' },
      { ...good, jwks_uri: 'https://agent.example:8443/jwks.json' },
      { ...good, jwks_uri: 'http://agent.example/jwks.json' },
      { ...good, jwks_uri: 'https://169.254.169.254/' },
      { ...good, redirect_uris: ['https://agent.example/ok', 'https://evil.example/callback'] },
      { ...good, redirect_uris: ['http://agent.example/callback'] },
      { ...good, redirect_uris: ['agent:callback'] },
      { ...good, token_endpoint_auth_method: 'none' },
      { ...good, token_endpoint_auth_method: 'client_secret_basic' },
    ]
    const refusals: PoppyError[] = []
    for (const document of wrong) {
      const world = startWorld()
      if (document === undefined) world.down.add(agent)
      else world.documents.set(agent, document)
      refusals.push(await refusalOf(world.directory.find(agent)))
      expect(world.fetches(jwks)).toBe(0)
    }
    refusals.push(await refusalOf(startWorld({ block: [agent] }).directory.find(agent)))
    refusals.push(await refusalOf(startWorld({ allow: [] }).directory.find(agent)))
    refusals.push(await refusalOf(startWorld().directory.find('agent')))
    for (const refusal of refusals) {
      expect(refusal.code).toBe('invalid_client')
      expect(refusal.body()).toEqual(refusals[0]?.body())
      expect(refusal.message).toBe(refusals[0]?.message)
    }
    // The log of this side knows.
    expect(new Set(refusals.map((refusal) => refusal.reason)).size).toBeGreaterThan(6)
  })

  it.each([
    'http://agent.example/agent.json',
    'https://agent.example/',
    'https://agent.example',
    'HTTPS://agent.example/agent.json',
    'https://AGENT.example/agent.json',
    'https://agent.example:443/agent.json',
    'https://agent.example/a/../agent.json',
    'https://user@agent.example/agent.json',
    'https://agent.example/agent.json#x',
    'https://2130706433/agent.json',
    'https://[::ffff:127.0.0.1]/agent.json',
    ' https://agent.example/agent.json',
    `https://agent.example/${'x'.repeat(2048)}`,
    'javascript:alert(1)',
    '',
  ])('does not fetch for %s, which is no client_id [4.1.client-id-https, K17]', async (clientId) => {
    const world = startWorld({ allowHttp: false })
    expect((await refusalOf(world.directory.find(clientId))).code).toBe('invalid_client')
    expect(world.fetched).toEqual([])
  })
})

describe('who may come in', () => {
  it('asks the lists each time, also for an agent that it knows, and block wins [4.1.blocklist]', async () => {
    const blocked = new Set<string>()
    const world = startWorld({ allow: [agent], block: async (clientId) => blocked.has(clientId) })
    await world.directory.find(agent)
    blocked.add(agent)
    expect((await refusalOf(world.directory.find(agent))).reason).toBe('blocked')
    blocked.clear()
    await world.directory.find(agent)
    expect(world.fetches(agent)).toBe(1)
  })

  it('fetches nothing for an agent that may not come in, and compares client_ids as strings [4.1.blocklist]', async () => {
    const world = startWorld({ allow: [`${agent}?v=2`, 'https://agent.example/Agent.json'] })
    expect((await refusalOf(world.directory.find(agent))).reason).toBe('not on the allow list')
    expect(world.fetched).toEqual([])
  })

  it('lets nobody in when the list cannot be read', async () => {
    const world = startWorld({
      block: async () => {
        throw new Error('the database is away')
      },
    })
    await expect(world.directory.find(agent)).rejects.toThrow('the database is away')
    expect(world.fetched).toEqual([])
  })
})

describe('keeping documents', () => {
  it('keeps one as long as its headers say, five minutes when they say nothing', async () => {
    const world = startWorld()
    await world.directory.find(agent)
    world.now += 5 * minute - 1
    await world.directory.find(agent)
    expect(world.fetches(agent)).toBe(1)
    world.headers.set(agent, { 'cache-control': 'max-age=7200' })
    world.now += 1
    await world.directory.find(agent)
    world.now += 120 * minute - 1
    await world.directory.find(agent)
    expect(world.fetches(agent)).toBe(2)
    world.now += 1
    await world.directory.find(agent)
    expect(world.fetches(agent)).toBe(3)
  })

  it('fetches once for all who ask at one moment', async () => {
    const world = startWorld()
    await Promise.all(Array.from({ length: 50 }, () => world.directory.find(agent)))
    await Promise.all(Array.from({ length: 50 }, () => world.signs(first)))
    expect(world.fetched).toEqual([agent, jwks])
  })

  it('remembers a failure for ten seconds', async () => {
    const world = startWorld()
    world.down.add(agent)
    await Promise.all(Array.from({ length: 20 }, () => refusalOf(world.directory.find(agent))))
    world.now += 9999
    await refusalOf(world.directory.find(agent))
    expect(world.fetches(agent)).toBe(1)
    expect(world.logged).toHaveLength(1)
    world.down.clear()
    world.now += 1
    await world.directory.find(agent)
    expect(world.fetches(agent)).toBe(2)
  })

  it('keeps a bounded number, and no made-up client_id pushes out a good one', async () => {
    const world = startWorld({ limits: { maxEntries: 2 } })
    const other = (name: string) => `https://${name}.example/agent.json`
    for (const name of ['a', 'b']) {
      world.documents.set(other(name), { client_id: other(name), jwks_uri: `https://${name}.example/jwks.json` })
    }
    await world.directory.find(agent)
    await world.directory.find(other('a'))
    for (let made = 0; made < 10; made++) await refusalOf(world.directory.find(other(`made-up-${made}`)))
    await world.directory.find(agent)
    expect(world.fetches(agent)).toBe(1)
    // a was used least recently and makes room for b.
    await world.directory.find(other('b'))
    await world.directory.find(agent)
    expect(world.fetches(agent)).toBe(1)
    await world.directory.find(other('a'))
    expect(world.fetches(other('a'))).toBe(2)
  })

  it('fetches a bounded number at one time, in all and from one host', async () => {
    let answer = () => {}
    const wait = new Promise<void>((resolve) => {
      answer = resolve
    })
    const world = startWorld({
      limits: { maxFetches: 3, maxFetchesPerHost: 2 },
      fetchDocument: async () => {
        await wait
        throw new FetchRefused('timeout')
      },
    })
    const ask = (host: string, path: string) => refusalOf(world.directory.find(`https://${host}.example/${path}`))
    const running = [ask('slow', '1'), ask('slow', '2')]
    expect(await ask('slow', '3')).toMatchObject({ code: 'temporarily_unavailable', retryAfter: 5 })
    running.push(ask('other', '1'))
    expect(await ask('third', '1')).toMatchObject({ code: 'temporarily_unavailable' })
    answer()
    expect((await Promise.all(running)).map((error) => error.code)).toEqual(Array(3).fill('invalid_client'))
    // The places are free again, and being turned away was no failure of theirs.
    expect((await ask('third', '1')).reason).toBe('client metadata: timeout')
  })

  it('leaves room for others when one domain has many slow hosts', async () => {
    let answer = () => {}
    const wait = new Promise<void>((resolve) => {
      answer = resolve
    })
    const world = startWorld({
      limits: { maxFetches: 8, maxFetchesPerHost: 2 },
      fetchDocument: async (url) => {
        if (url.includes('slow')) await wait
        throw new FetchRefused('timeout')
      },
    })
    const ask = (host: string) => refusalOf(world.directory.find(`https://${host}/agent.json`))
    const running = Array.from({ length: 20 }, (_, index) => ask(`a${index}.slow.example`))
    expect(await ask('quick.example')).toMatchObject({ code: 'invalid_client' })
    answer()
    const codes = (await Promise.all(running)).map(({ code }) => code)
    expect(codes.filter((code) => code === 'temporarily_unavailable')).toHaveLength(16)
    // The places are free again.
    expect(await ask('a0.slow.example')).toMatchObject({ code: 'invalid_client' })
  })

  it('takes whatever a fetcher throws for a document that was not had', async () => {
    const world = startWorld({
      fetchDocument: async () => {
        throw new Error('proxy password is hunter2')
      },
    })
    const error = await refusalOf(world.directory.find(agent))
    expect(error).toMatchObject({ code: 'invalid_client', reason: 'client metadata: unreachable' })
    expect(world.logged.join()).not.toContain('hunter2')
  })
})

describe('when a Personal Agent is away or changes its keys', () => {
  it('finds a rotated key with one refetch [K18]', async () => {
    const world = startWorld()
    expect(await world.signs(first)).toBe(true)
    world.documents.set(jwks, { keys: [key(first).jwk, key(second).jwk] })
    expect(await world.signs(second)).toBe(true)
    expect(await world.signs(first)).toBe(true)
    expect(world.fetches(jwks)).toBe(2)
  })

  it('finds a rotated key that has no name [K18]', async () => {
    const world = startWorld()
    const unnamed = ({ jwk: { kid: _kid, ...rest } }: SigningKey) => rest
    world.documents.set(jwks, { keys: [unnamed(key(first))] })
    expect(await world.signs(first, null)).toBe(true)
    world.documents.set(jwks, { keys: [unnamed(key(second))] })
    expect(await world.signs(second, null)).toBe(true)
    expect(await world.signs(first, null)).toBe(false)
    expect(world.fetches(jwks)).toBe(2)
  })

  it('finds another key under the name of the old one, and takes the old one no longer [K18]', async () => {
    const world = startWorld()
    expect(await world.signs(first)).toBe(true)
    world.documents.set(jwks, { keys: [{ ...key(second).jwk, kid: 'first' }] })
    expect(await world.signs(second, 'first')).toBe(true)
    expect(world.fetches(jwks)).toBe(2)
    expect(await world.signs(first)).toBe(false)
    // A wrong signature under a right name brings no more fetches than a made-up name does.
    for (let tries = 0; tries < 20; tries++) expect(await world.signs(first)).toBe(false)
    expect(world.fetches(jwks)).toBe(2)
    expect(await world.signs(second, 'first')).toBe(true)
  })

  it('asks a key endpoint that fails no more often because of made-up key names [K18]', async () => {
    const world = startWorld()
    expect(await world.signs(first)).toBe(true)
    world.down.add(jwks)
    world.now += 5 * minute
    for (let index = 0; index < 50; index++) expect(await world.signs(second, `made-up-${index}`)).toBe(false)
    expect(world.fetches(jwks)).toBe(2)
    expect(await world.signs(first)).toBe(true)
    // Nor where there never was a copy.
    const cold = startWorld()
    cold.down.add(jwks)
    for (let index = 0; index < 50; index++) expect(await cold.signs(first)).toBe(false)
    expect(cold.fetches(jwks)).toBe(1)
  })

  it('fetches once per cool-down for any number of made-up key names [K18]', async () => {
    const world = startWorld()
    expect(await world.signs(first)).toBe(true)
    const attack = () => Promise.all(Array.from({ length: 100 }, (_, index) => world.signs(second, `made-up-${index}`)))
    expect((await attack()).some((accepted) => accepted)).toBe(false)
    await attack()
    expect(world.fetches(jwks)).toBe(2)
    world.now += 29_999
    await attack()
    expect(world.fetches(jwks)).toBe(2)
    world.now += 1
    await attack()
    expect(world.fetches(jwks)).toBe(3)
    expect(await world.signs(first)).toBe(true)
  })

  it('does not ask again at once for a name that a brand-new copy lacks [K18]', async () => {
    const world = startWorld()
    expect(await world.signs(second)).toBe(false)
    expect(world.fetches(jwks)).toBe(1)
  })

  it.each([
    ['answers with an error', null],
    ['answers with nonsense', { keys: 'none' }],
    ['publishes a private key', { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'd' }] }],
  ])('keeps the good keys when a forced refetch %s [K18]', async (_what, answer) => {
    const world = startWorld()
    expect(await world.signs(first)).toBe(true)
    if (answer === null) world.down.add(jwks)
    else world.documents.set(jwks, answer)
    expect(await world.signs(second)).toBe(false)
    expect(world.fetches(jwks)).toBe(2)
    expect(await world.signs(first)).toBe(true)
  })

  it('takes a removed key no longer once its copy has had its time [K18]', async () => {
    const world = startWorld()
    expect(await world.signs(first)).toBe(true)
    world.documents.set(jwks, { keys: [key(second).jwk] })
    world.now += 5 * minute - 1
    expect(await world.signs(first)).toBe(true)
    world.now += 1
    expect(await world.signs(first)).toBe(false)
    expect(await world.signs(second)).toBe(true)
  })

  it('serves older copies for an hour while the host is away, and not longer [K18]', async () => {
    const world = startWorld()
    expect(await world.signs(first)).toBe(true)
    world.down.add(jwks).add(agent)
    world.now += 65 * minute - 1
    expect(await world.signs(first)).toBe(true)
    expect(await world.signs(first)).toBe(true)
    expect(world.fetches(jwks)).toBe(2)
    world.now += 1
    expect((await refusalOf(world.directory.find(agent))).code).toBe('invalid_client')
    world.down.delete(agent)
    world.now += 10_000
    expect(await world.signs(first)).toBe(false)
    // Back again, without a restart.
    world.down.clear()
    world.now += 10_000
    expect(await world.signs(first)).toBe(true)
  })

  it('gives no extra hour to a document that was there and was wrong [4.1.public-keys, 4.1.client-id-exact]', async () => {
    const world = startWorld()
    expect(await world.signs(first)).toBe(true)
    world.documents.set(jwks, { keys: [{ ...key(first).jwk, d: 'published by mistake' }] })
    world.now += 5 * minute
    expect(await world.signs(first)).toBe(false)
    world.documents.set(agent, { client_id: agent, jwks_uri: 'https://evil.example/jwks.json' })
    world.now += 5 * minute
    expect((await refusalOf(world.directory.find(agent))).code).toBe('invalid_client')
    expect(world.logged.join()).not.toContain('published by mistake')
  })

  it('takes new redirect_uris and a new jwks_uri only on its own host, at the next fetch [K17]', async () => {
    const world = startWorld()
    await world.directory.find(agent)
    const moved = 'https://agent.example/keys/2.json'
    world.documents.set(moved, { keys: [key(second).jwk] })
    world.documents.set(agent, { client_id: agent, jwks_uri: moved, redirect_uris: ['https://agent.example/new'] })
    world.now += 5 * minute
    expect((await world.directory.find(agent)).metadata.redirectUris).toEqual(['https://agent.example/new'])
    expect(await world.signs(second)).toBe(true)
    expect(await world.signs(first)).toBe(false)
  })
})

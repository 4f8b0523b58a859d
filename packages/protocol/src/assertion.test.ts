import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  checkClientAssertion,
  checkSessionAssertion,
  type KeyFinder,
  makeClientAssertion,
  makeSessionAssertion,
  type SigningKey,
} from './assertion.ts'
import { PoppyError } from './errors.ts'
import { importPublicKey, type SignatureAlgorithm, signatureAlgorithms } from './jwt.ts'

const NOW = 1_790_900_000
const CLIENT = 'https://agent.example/agent.json'
const USER = 'usr_Q7c1vK'
const TOKEN_ENDPOINT = 'https://auth.example.com/oauth/token'
const REVOCATION_ENDPOINT = 'https://auth.example.com/oauth/revoke'
const ISSUER = 'https://auth.example.com'

type Pair = Awaited<ReturnType<typeof generateKeyPair>>

const pairs = new Map<string, Pair>()
let findKeys: KeyFinder

function pair(algorithm: string): Pair {
  const found = pairs.get(algorithm)
  if (!found) throw new Error(`no key for ${algorithm}`)
  return found
}

beforeAll(async () => {
  for (const algorithm of signatureAlgorithms) {
    pairs.set(algorithm, await generateKeyPair(algorithm, { extractable: true }))
  }
  pairs.set('foreign', await generateKeyPair('ES256', { extractable: true }))
  const keySet = await Promise.all(signatureAlgorithms.map((algorithm) => exportJWK(pair(algorithm).publicKey)))
  findKeys = async (jwt) => {
    const keys = await Promise.all(keySet.map((jwk) => importPublicKey(jwk, jwt.algorithm)))
    return keys.filter((key) => key !== null)
  }
})

const settings = () => ({ clientId: CLIENT, now: NOW, skew: 5, maxLifetime: 300, findKeys })
const audiences = [REVOCATION_ENDPOINT, TOKEN_ENDPOINT, ISSUER]

interface Shape {
  readonly claims?: Record<string, unknown>
  readonly header?: Record<string, unknown>
  readonly algorithm?: string
  readonly key?: Pair['privateKey'] | Uint8Array
}

/** A good assertion but for what is said; `undefined` takes a claim away. */
function sign(sub: string, { claims = {}, header = {}, algorithm = 'ES256', key }: Shape): Promise<string> {
  return new SignJWT({
    iss: CLIENT,
    sub,
    aud: TOKEN_ENDPOINT,
    jti: 'V6vJGs2ixBAvGdaQgGaTzg',
    iat: NOW,
    exp: NOW + 60,
    ...claims,
  })
    .setProtectedHeader({ alg: algorithm, ...header })
    .sign(key ?? pair(algorithm).privateKey)
}

async function told(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'accepted'
  } catch (error) {
    if (!(error instanceof PoppyError)) throw error
    // What goes outward is the same whatever was wrong.
    expect(error.description).toMatch(/^The (client|Session) assertion was not accepted\.$/)
    return `${error.code}: ${error.reason}`
  }
}

async function client(shape: Shape = {}, now = NOW): Promise<string> {
  return told(checkClientAssertion(await sign(CLIENT, shape), { ...settings(), now, audiences }))
}

async function session(shape: Shape = {}, now = NOW): Promise<string> {
  return told(checkSessionAssertion(await sign(USER, shape), { ...settings(), now, tokenEndpoint: TOKEN_ENDPOINT }))
}

const both = [
  ['client', client, 'invalid_client'],
  ['Session', session, 'invalid_grant'],
] as const

describe('assertions that we make', () => {
  const key = (): SigningKey => ({ keyId: 'k1', algorithm: 'ES256', privateKey: pair('ES256').privateKey })
  const decode = (token: string) =>
    token.split('.', 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))

  it('pass our own check, live a minute and name their key [4.2.aud-exact-agent, 4.2.exp-short-agent]', async () => {
    const token = await makeSessionAssertion(key(), {
      clientId: CLIENT,
      userId: USER,
      tokenEndpoint: TOKEN_ENDPOINT,
      now: NOW + 0.7,
      id: 'one',
    })
    expect(decode(token)).toEqual([
      { alg: 'ES256', kid: 'k1', typ: 'JWT' },
      { iss: CLIENT, sub: USER, aud: TOKEN_ENDPOINT, jti: 'one', iat: NOW, exp: NOW + 60 },
    ])
    expect(await checkSessionAssertion(token, { ...settings(), tokenEndpoint: TOKEN_ENDPOINT })).toEqual({
      userId: USER,
      id: 'one',
      passesUntil: NOW + 65,
    })
  })

  it('say who the client is [4.1.private-key-jwt-agent]', async () => {
    const token = await makeClientAssertion(key(), { clientId: CLIENT, audience: TOKEN_ENDPOINT, now: NOW, id: 'two' })
    expect(decode(token)[1]).toEqual({
      iss: CLIENT,
      sub: CLIENT,
      aud: TOKEN_ENDPOINT,
      jti: 'two',
      iat: NOW,
      exp: NOW + 60,
    })
    expect(await checkClientAssertion(token, { ...settings(), audiences })).toEqual({
      id: 'two',
      passesUntil: NOW + 65,
    })
  })
})

describe.each(both)('a %s assertion', (_, check, code) => {
  it.each(signatureAlgorithms)('may be signed with %s [4.1.private-key-jwt, 4.2.signature, K15]', async (algorithm) => {
    expect(await check({ algorithm })).toBe('accepted')
  })

  it('is refused with a secret made of the public key, with no signature, or with another kind of key [4.2.signature, K15]', async () => {
    for (const algorithm of ['ES256', 'RS256']) {
      const { publicKey } = pair(algorithm)
      const texts = [await exportSPKI(publicKey), JSON.stringify(await exportJWK(publicKey))]
      for (const text of texts) {
        const key = new TextEncoder().encode(text)
        expect(await check({ algorithm: 'HS256', key })).toBe(`${code}: bad_algorithm`)
      }
    }
    expect(await check({ key: pair('foreign').privateKey })).toBe(`${code}: no key of the client made this signature`)
    // The header says one algorithm, another made the signature.
    const [, body, signature] = (await sign(CLIENT, { algorithm: 'PS256' })).split('.')
    for (const [alg, reason] of [
      ['none', 'bad_algorithm'],
      ['RS256', 'no key of the client made this signature'],
      ['ES256', 'no key of the client made this signature'],
    ] as const) {
      const head = Buffer.from(JSON.stringify({ alg })).toString('base64url')
      const work = checkClientAssertion(`${head}.${body}.${signature}`, { ...settings(), audiences })
      expect(await told(work)).toBe(`invalid_client: ${reason}`)
    }
    const head = Buffer.from('{"alg":"none"}').toString('base64url')
    expect(await told(checkClientAssertion(`${head}.${body}.`, { ...settings(), audiences }))).toBe(
      'invalid_client: not_compact',
    )
  })

  it('is refused when no key is known', async () => {
    const expected = { ...settings(), findKeys: async () => [], audiences, tokenEndpoint: TOKEN_ENDPOINT }
    expect(await told(checkClientAssertion(await sign(CLIENT, {}), expected))).toMatch('no key of the client')
    expect(await told(checkSessionAssertion(await sign(USER, {}), expected))).toMatch('no key of the client')
  })

  it('names the client in iss [4.2.iss-client-id]', async () => {
    for (const iss of [undefined, null, '', `${CLIENT}/`, 'https://evil.example/agent.json', [CLIENT]]) {
      expect(await check({ claims: { iss } })).toBe(`${code}: iss is not the client_id`)
    }
  })

  it('has an id of at most 256 characters', async () => {
    for (const jti of [undefined, null, '', 5, 'x'.repeat(257), ['a']]) {
      expect(await check({ claims: { jti } })).toBe(`${code}: jti missing`)
    }
    expect(await check({ claims: { jti: 'x'.repeat(256) } })).toBe('accepted')
  })

  it('lives a short time, the skew apart [4.2.exp-short]', async () => {
    for (const [claims, outcome] of [
      [{ iat: NOW - 60, exp: NOW - 4.999 }, 'accepted'],
      [{ iat: NOW - 60, exp: NOW - 5 }, 'expired'],
      [{ iat: NOW - 60, exp: NOW - 6 }, 'expired'],
      [{ iat: NOW, exp: NOW + 300 }, 'accepted'],
      [{ iat: NOW, exp: NOW + 301 }, 'lives too long'],
      [{ iat: NOW + 5, exp: NOW + 305 }, 'accepted'],
      [{ iat: NOW + 5, exp: NOW + 306 }, 'lives too long'],
      [{ iat: NOW + 5.001, exp: NOW + 60 }, 'iat in the future'],
      [{ iat: NOW, exp: NOW }, 'exp before iat'],
      [{ iat: NOW + 4, exp: NOW + 2 }, 'exp before iat'],
      [{ iat: NOW, exp: undefined }, 'exp missing'],
      [{ iat: NOW, exp: String(NOW + 60) }, 'exp missing'],
      [{ iat: NOW, exp: null }, 'exp missing'],
      [{ iat: NOW, exp: 1e15 }, 'exp missing'],
      [{ iat: NOW, exp: 99_999_999_999 }, 'lives too long'],
      [{ iat: NOW - 400, exp: NOW + 10 }, 'lives too long'],
      [{ nbf: NOW + 5 }, 'accepted'],
      [{ nbf: NOW + 6 }, 'nbf in the future'],
      [{ nbf: 'soon' }, 'nbf in the future'],
      [{ nbf: null }, 'nbf in the future'],
    ] as const) {
      const wanted = outcome === 'accepted' ? outcome : `${code}: ${outcome}`
      expect(await check({ claims: claims as Record<string, unknown> }), JSON.stringify(claims)).toBe(wanted)
    }
  })

  it('is refused when it is no JWT', async () => {
    const expected = { ...settings(), audiences, tokenEndpoint: TOKEN_ENDPOINT }
    for (const text of ['', 'a', 'a.b', 'a.b.c', 'é.b.c', 'x'.repeat(100_000), '....']) {
      expect(await told(checkClientAssertion(text, expected))).toMatch(/^invalid_client/)
      expect(await told(checkSessionAssertion(text, expected))).toMatch(/^invalid_grant/)
    }
  })
})

describe('what each assertion is remembered for', () => {
  it('lasts until it can pass no more, skew included [4.2.jti-once]', async () => {
    for (const exp of [NOW - 4, NOW - 4.5, NOW + 60, NOW + 60.25]) {
      const token = await sign(USER, { claims: { iat: NOW - 60, exp } })
      const expected = { ...settings(), tokenEndpoint: TOKEN_ENDPOINT }
      const { passesUntil } = await checkSessionAssertion(token, expected)
      expect(passesUntil).toBeGreaterThanOrEqual(exp + 5)
      expect(await told(checkSessionAssertion(token, { ...expected, now: passesUntil }))).toBe('invalid_grant: expired')
    }
  })
})

describe('a client assertion', () => {
  it('may be of typ JWT, of its own typ, or of none', async () => {
    for (const typ of [undefined, 'JWT', 'jwt', 'application/JWT', 'client-authentication+jwt']) {
      expect(await client({ header: { typ } })).toBe('accepted')
    }
    for (const typ of ['poppy-browser+jwt', 'dpop+jwt', '', 'at+jwt', 7, null]) {
      expect(await client({ header: { typ } })).toBe('invalid_client: wrong typ')
    }
  })

  it('names the client in sub', async () => {
    for (const sub of [undefined, USER, `${CLIENT}/`, [CLIENT], '']) {
      expect(await client({ claims: { sub } })).toBe('invalid_client: sub is not the client_id')
    }
  })

  it('names this Company in aud, and nobody else', async () => {
    for (const aud of [TOKEN_ENDPOINT, REVOCATION_ENDPOINT, ISSUER, [ISSUER], [TOKEN_ENDPOINT, ISSUER]]) {
      expect(await client({ claims: { aud } })).toBe('accepted')
    }
    for (const aud of [
      undefined,
      null,
      '',
      [],
      [[ISSUER]],
      {},
      7,
      `${ISSUER}/`,
      `${TOKEN_ENDPOINT}/`,
      'https://evil.example',
      ['https://evil.example', TOKEN_ENDPOINT],
      [TOKEN_ENDPOINT, null],
    ]) {
      expect(await client({ claims: { aud } }), JSON.stringify(aud)).toBe('invalid_client: aud names somebody else')
    }
  })

  it('may leave out iat, which a Session assertion may not', async () => {
    expect(await client({ claims: { iat: undefined } })).toBe('accepted')
    expect(await client({ claims: { iat: undefined, exp: NOW + 306 } })).toBe('invalid_client: lives too long')
    expect(await client({ claims: { iat: 'now' } })).toBe('invalid_client: iat is not a time')
    expect(await session({ claims: { iat: undefined } })).toBe('invalid_grant: iat missing')
    expect(await session({ claims: { iat: 'now' } })).toBe('invalid_grant: iat missing')
  })
})

describe('a Session assertion', () => {
  it('is of typ JWT or of none: neither a browser assertion nor a proof', async () => {
    for (const typ of [undefined, 'JWT', 'jwt', 'application/jwt']) {
      expect(await session({ header: { typ } })).toBe('accepted')
    }
    for (const typ of [
      'poppy-browser+jwt',
      'POPPY-BROWSER+JWT',
      'client-authentication+jwt',
      'dpop+jwt',
      '',
      7,
      null,
    ]) {
      expect(await session({ header: { typ } })).toBe('invalid_grant: wrong typ')
    }
  })

  it('names the token endpoint in aud, as one string [4.2.aud-exact]', async () => {
    for (const aud of [
      undefined,
      null,
      [TOKEN_ENDPOINT],
      ISSUER,
      REVOCATION_ENDPOINT,
      `${TOKEN_ENDPOINT}/`,
      'https://AUTH.example.com/oauth/token',
      'https://auth.example.com:443/oauth/token',
    ]) {
      expect(await session({ claims: { aud } })).toBe('invalid_grant: aud is not the token endpoint')
    }
  })

  it('names a User in sub', async () => {
    for (const sub of [undefined, null, '', 5, [USER], 'x'.repeat(256)]) {
      expect(await session({ claims: { sub } })).toBe('invalid_grant: sub missing')
    }
    expect(await session({ claims: { sub: 'x'.repeat(255) } })).toBe('accepted')
  })

  it('is no client assertion used a second time', async () => {
    expect(await session({ claims: { sub: CLIENT } })).toBe('invalid_grant: sub is the client, not a User')
  })
})

describe('the keys that are asked for', () => {
  it('are those of the algorithm and key id in the header, once more when none of them fits', async () => {
    const asked: [SignatureAlgorithm, string | undefined, boolean][] = []
    const expected = {
      ...settings(),
      audiences,
      findKeys: (async (jwt, again) => {
        asked.push([jwt.algorithm, jwt.keyId, again])
        return []
      }) satisfies KeyFinder,
    }
    await told(checkClientAssertion(await sign(CLIENT, { header: { kid: 'k1' } }), expected))
    await told(checkClientAssertion(await sign(CLIENT, { algorithm: 'RS256' }), expected))
    // What is wrong without a look at the signature costs no key.
    await told(checkClientAssertion(await sign(CLIENT, { claims: { exp: NOW - 60 } }), expected))
    expect(asked).toEqual([
      ['ES256', 'k1', false],
      ['ES256', 'k1', true],
      ['RS256', undefined, false],
      ['RS256', undefined, true],
    ])
  })
})

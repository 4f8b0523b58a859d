import { type CryptoKey, exportJWK, generateKeyPair, type JWK } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { PoppyError } from './errors.ts'
import { importPublicKey } from './jwt.ts'
import { checkProof, makeProof, type ProofExpectation } from './proof.ts'

const NOW = 1_790_900_000
const URL_ = 'https://api.example.com/orders/ord_7Hk2/exchanges'
const HASH = 'fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo'

interface Keys {
  readonly privateKey: CryptoKey
  readonly publicJwk: JWK
}

let keys: Keys
let others: Keys

async function makeKeys(): Promise<Keys> {
  const pair = await generateKeyPair('ES256', { extractable: true })
  return { privateKey: pair.privateKey, publicJwk: await exportJWK(pair.publicKey) }
}

beforeAll(async () => {
  keys = await makeKeys()
  others = await makeKeys()
})

const atApi: ProofExpectation = {
  method: 'POST',
  url: URL_,
  now: NOW,
  window: 60,
  skew: 5,
  tokenHash: HASH,
  importKey: importPublicKey,
}
const { tokenHash: _, ...atTokenEndpoint } = atApi

const claims = { jti: 'e1j3V_bKic8-LAEB', htm: 'POST', htu: URL_, iat: NOW, ath: HASH }

/** Signs whatever it is given, well formed or not. */
async function signText(header: string, payload: string, privateKey = keys.privateKey): Promise<string> {
  const text = `${Buffer.from(header).toString('base64url')}.${Buffer.from(payload).toString('base64url')}`
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, Buffer.from(text))
  return `${text}.${Buffer.from(signature).toString('base64url')}`
}

/** A good proof but for what is said; `undefined` takes a member away. */
function sign(payload: Record<string, unknown> = {}, header: Record<string, unknown> = {}): Promise<string> {
  const head = { typ: 'dpop+jwt', alg: 'ES256', jwk: keys.publicJwk, ...header }
  return signText(JSON.stringify(head), JSON.stringify({ ...claims, ...payload }))
}

async function reasonOf(proof: string | null | undefined, expected: ProofExpectation = atApi): Promise<string> {
  try {
    await checkProof(proof, expected)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof PoppyError)) throw error
    // What goes outward is the same whatever was wrong.
    if (error.code === 'invalid_dpop_proof') expect(error.description).toBe('The DPoP proof was not accepted.')
    return `${error.code}: ${error.reason}`
  }
}

describe('a proof', () => {
  it('passes when everything fits, and names its key [4.3.proof-claims-agent]', async () => {
    const proof = await makeProof(keys, {
      method: 'POST',
      url: `${URL_}?a=1#b`,
      now: NOW + 0.9,
      id: 'one',
      tokenHash: HASH,
      nonce: 'n1',
    })
    const checked = await checkProof(proof, atApi)
    expect(checked).toMatchObject({ id: 'one', issuedAt: NOW, nonce: 'n1' })
    expect(checked.thumbprint).toMatch(/^[\w-]{43}$/)
    expect(await reasonOf(proof, { ...atApi, boundTo: checked.thumbprint })).toBe('accepted')
    const [head = '', body = ''] = proof.split('.').map((part) => Buffer.from(part, 'base64url').toString())
    expect(Object.keys(JSON.parse(head).jwk).sort()).toEqual(['crv', 'kty', 'x', 'y'])
    expect(JSON.parse(body)).toEqual({ jti: 'one', htm: 'POST', htu: URL_, iat: NOW, ath: HASH, nonce: 'n1' })
  })

  it('never shows a private key, even when its maker was handed one', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    const proof = await makeProof(
      { privateKey, publicJwk: await exportJWK(privateKey) },
      { method: 'GET', url: URL_, now: NOW, id: 'x' },
    )
    expect(Buffer.from(proof.split('.')[0] ?? '', 'base64url').toString()).not.toContain('"d"')
  })

  it('is refused when it is missing, doubled, no JWT, or too long', async () => {
    const proof = await sign()
    expect(await reasonOf(null)).toBe('invalid_dpop_proof: no proof')
    expect(await reasonOf(undefined)).toBe('invalid_dpop_proof: no proof')
    expect(await reasonOf('')).toBe('invalid_dpop_proof: no proof')
    // Two header lines arrive joined by a comma.
    expect(await reasonOf(`${proof}, ${await sign({ jti: 'two' })}`)).toBe('invalid_dpop_proof: not_compact')
    expect(await reasonOf('abc')).toBe('invalid_dpop_proof: not_compact')
    expect(await reasonOf(`${proof}\n`)).toBe('invalid_dpop_proof: not_compact')
    expect(await reasonOf(await sign({ extra: 'x'.repeat(9000) }))).toBe('invalid_dpop_proof: too_long')
    expect(await reasonOf('a'.repeat(100_000))).toBe('invalid_dpop_proof: too_long')
  })

  it('is refused with a member that stands twice', async () => {
    const head = JSON.stringify({ typ: 'dpop+jwt', alg: 'ES256', jwk: keys.publicJwk })
    const body = JSON.stringify(claims)
    for (const [h, p] of [
      [head.replace('{', '{"typ":"JWT",'), body],
      [head.replace('"kty"', '"\\u006bty":"oct","kty"'), body],
      [head, body.replace('{', '{"jti":"other",')],
      [head, body.replace('{', '{"\\u0068tu":"https://evil.example",')],
    ]) {
      expect(await reasonOf(await signText(h ?? '', p ?? ''))).toBe('invalid_dpop_proof: bad_json')
    }
    expect(await reasonOf(await signText(head, body))).toBe('accepted')
  })
})

describe('the header of a proof [4.3.proof-type]', () => {
  it.each([undefined, 'JWT', 'jwt', 'dpop', 'poppy-browser+jwt', 7, null, ['dpop+jwt']])(
    'has no typ %j',
    async (typ) => {
      expect(await reasonOf(await sign({}, { typ }))).toBe('invalid_dpop_proof: wrong typ')
    },
  )

  it('may spell its typ as media types may be spelled', async () => {
    expect(await reasonOf(await sign({}, { typ: 'DPoP+JWT' }))).toBe('accepted')
    expect(await reasonOf(await sign({}, { typ: 'application/dpop+jwt' }))).toBe('accepted')
  })

  it.each(['none', 'None', 'HS256', 'HS512', 'RSA1_5', 'ES256K', '', undefined, null, 256, ['ES256']])(
    'has no alg %j',
    async (alg) => {
      expect(await reasonOf(await sign({}, { alg }))).toBe('invalid_dpop_proof: bad_algorithm')
    },
  )

  it.each(['ES384', 'RS256', 'PS256', 'EdDSA'])('has no alg %s beside a P-256 key', async (alg) => {
    expect(await reasonOf(await sign({}, { alg }))).toBe('invalid_dpop_proof: no usable public key in the header')
  })

  it('has a public key, and only that', async () => {
    const refused = 'invalid_dpop_proof: no usable public key in the header'
    const jwk = keys.publicJwk
    for (const bad of [
      undefined,
      null,
      [],
      'key',
      {},
      { ...jwk, d: 'AAAA' },
      { ...jwk, d: '' },
      { ...jwk, d: null },
      { ...jwk, k: 'AAAA' },
      { kty: 'oct', k: 'AAAA' },
      { ...jwk, kty: 'oct' },
      { ...jwk, crv: 'P-384' },
      { ...jwk, x: undefined },
      { ...jwk, y: 5 },
      { ...jwk, use: 'enc' },
      { ...jwk, alg: 'HS256' },
    ]) {
      expect(await reasonOf(await sign({}, { jwk: bad })), JSON.stringify(bad)).toBe(refused)
    }
    expect(await reasonOf(await sign({}, { jwk: { ...jwk, x: 'AAAA' } }))).toBe(refused)
    const offCurve = { ...jwk, x: 'A'.repeat(43) }
    expect(await reasonOf(await sign({}, { jwk: offCurve }))).toBe('invalid_dpop_proof: key unusable')
  })

  it('has no critical extension', async () => {
    expect(await reasonOf(await sign({}, { crit: ['b64'], b64: false }))).toBe('invalid_dpop_proof: critical_header')
    expect(await reasonOf(await sign({}, { crit: [] }))).toBe('invalid_dpop_proof: critical_header')
  })
})

describe('the signature of a proof', () => {
  it('is made by the key in its header [4.3.signature]', async () => {
    expect(await reasonOf(await sign({}, { jwk: others.publicJwk }))).toBe('invalid_dpop_proof: signature')
    const [head, , signature] = (await sign()).split('.')
    const body = Buffer.from(JSON.stringify({ ...claims, jti: 'changed' })).toString('base64url')
    expect(await reasonOf(`${head}.${body}.${signature}`)).toBe('invalid_dpop_proof: signature')
  })

  it('is made by the key that the token is bound to [4.3.bound-key]', async () => {
    const mine = await checkProof(await sign(), atApi)
    const foreign = await makeProof(others, { method: 'POST', url: URL_, now: NOW, id: 'x', tokenHash: HASH })
    expect(await reasonOf(foreign, { ...atApi, boundTo: mine.thumbprint })).toBe(
      'invalid_dpop_proof: not the key of the token',
    )
    expect(await reasonOf(foreign)).toBe('accepted')
  })
})

describe('the request that a proof is for', () => {
  it.each(['GET', 'post', 'Post', 'POST ', '', undefined, null, ['POST']])(
    'is no other method: %j [4.3.htm]',
    async (htm) => {
      expect(await reasonOf(await sign({ htm }))).toBe('invalid_dpop_proof: htm differs')
    },
  )

  it.each([
    `${URL_}?a=1`,
    `${URL_}#part`,
    'HTTPS://API.EXAMPLE.COM/orders/ord_7Hk2/exchanges',
    'https://api.example.com:443/orders/ord_7Hk2/exchanges',
    'https://api.example.com/orders/x/../ord_7Hk2/./exchanges',
    'https://api.example.com/orders/ord%5f7Hk2/%65xchanges',
    'https://api.example.com/orders/ord%5F7Hk2/exchanges',
  ])('may be spelled in another way: %s [4.3.htu]', async (htu) => {
    expect(await reasonOf(await sign({ htu }))).toBe('accepted')
  })

  it.each([
    'https://api.example.com/orders/ord_7Hk2',
    'https://api.example.com/orders/ord_7Hk2/exchanges/',
    'https://api.example.com/Orders/ord_7Hk2/exchanges',
    'https://api.example.com//orders/ord_7Hk2/exchanges',
    'https://api.example.com/orders%2Ford_7Hk2/exchanges',
    'http://api.example.com/orders/ord_7Hk2/exchanges',
    'https://api.example.com:8443/orders/ord_7Hk2/exchanges',
    'https://evil.example/orders/ord_7Hk2/exchanges',
    'https://api.example.com@evil.example/orders/ord_7Hk2/exchanges',
    'https://user@api.example.com/orders/ord_7Hk2/exchanges',
    'https://api.example.com.evil.example/orders/ord_7Hk2/exchanges',
    'https:\\\\api.example.com\\orders\\ord_7Hk2\\exchanges',
    ' https://api.example.com/orders/ord_7Hk2/exchanges',
    'https://api.example.com/orders/\tord_7Hk2/exchanges',
    '/orders/ord_7Hk2/exchanges',
    'not a url',
    '',
    undefined,
    null,
    5,
    [URL_],
    `${URL_}?${'x'.repeat(5000)}`,
  ])('is no other URL: %j [4.3.htu]', async (htu) => {
    expect(await reasonOf(await sign({ htu }))).toBe('invalid_dpop_proof: htu differs')
  })

  it('keeps what a percent sign hides apart: reserved characters stay as they were spelled [4.3.htu]', async () => {
    const url = 'https://api.example.com/a%2Fb'
    expect(await reasonOf(await sign({ htu: 'https://api.example.com/a%2fb' }), { ...atApi, url })).toBe('accepted')
    expect(await reasonOf(await sign({ htu: 'https://api.example.com/a/b' }), { ...atApi, url })).toMatch('htu differs')
    expect(await reasonOf(await sign({ htu: 'https://api.example.com/a%252Fb' }), { ...atApi, url })).toMatch(
      'htu differs',
    )
  })

  it('is never a URL that nobody can parse', async () => {
    expect(await reasonOf(await sign({ htu: 'also nothing' }), { ...atApi, url: 'nothing' })).toMatch('htu differs')
  })
})

describe('the time of a proof', () => {
  it('lies within the window, up to both edges [4.3.iat, K01]', async () => {
    for (const [iat, outcome] of [
      [NOW, 'accepted'],
      [NOW - 60, 'accepted'],
      [NOW - 60.001, 'invalid_dpop_proof: iat outside the window'],
      [NOW - 61, 'invalid_dpop_proof: iat outside the window'],
      [NOW + 5, 'accepted'],
      [NOW + 5.001, 'invalid_dpop_proof: iat outside the window'],
      [NOW + 6, 'invalid_dpop_proof: iat outside the window'],
      [NOW + 3600, 'invalid_dpop_proof: iat outside the window'],
      [99_999_999_999, 'invalid_dpop_proof: iat outside the window'],
      [0, 'invalid_dpop_proof: iat outside the window'],
    ] as const) {
      expect(await reasonOf(await sign({ iat })), String(iat)).toBe(outcome)
    }
  })

  it.each([undefined, null, '1790900000', -1, 1e12, 1.5e300, true, [NOW]])(
    'is a time: %j is none [4.3.iat]',
    async (iat) => {
      expect(await reasonOf(await sign({ iat }))).toBe('invalid_dpop_proof: jti or iat missing')
    },
  )

  it('is remembered for longer than the proof can pass, at both edges and between whole seconds [4.3.jti-once, K01]', async () => {
    for (const iat of [NOW - 60, NOW - 59.5, NOW - 30, NOW, NOW + 0.25, NOW + 5]) {
      const proof = await sign({ iat })
      const { passesUntil } = await checkProof(proof, atApi)
      expect(Number.isInteger(passesUntil)).toBe(true)
      expect(passesUntil).toBeGreaterThan(NOW)
      // It still passes a moment before, at most; at the time itself it is over, so a mark may go then.
      const last = iat + atApi.window
      expect(await reasonOf(proof, { ...atApi, now: last })).toBe('accepted')
      expect(passesUntil).toBeGreaterThan(last)
      for (const now of [passesUntil, passesUntil + 0.5, passesUntil + 60]) {
        expect(await reasonOf(proof, { ...atApi, now })).toMatch('iat outside the window')
      }
      // An instance whose clock is behind by the skew thinks it earlier than it is.
      expect(await reasonOf(proof, { ...atApi, now: passesUntil - atApi.skew })).toMatch('iat outside the window')
    }
  })

  it('may end earlier by an exp, never later', async () => {
    expect(await reasonOf(await sign({ exp: NOW + 10 }))).toBe('accepted')
    expect(await reasonOf(await sign({ exp: NOW }))).toBe('invalid_dpop_proof: expired')
    expect(await reasonOf(await sign({ exp: NOW - 1 }))).toBe('invalid_dpop_proof: expired')
    expect(await reasonOf(await sign({ exp: 'later' }))).toBe('invalid_dpop_proof: expired')
    expect(await reasonOf(await sign({ exp: null }))).toBe('invalid_dpop_proof: expired')
    expect(await reasonOf(await sign({ iat: NOW - 3600, exp: NOW + 3600 }))).toMatch('iat outside the window')
  })

  it('needs an id beside it, of at most 256 characters', async () => {
    for (const jti of [undefined, '', 7, null, ['a'], 'x'.repeat(257)]) {
      expect(await reasonOf(await sign({ jti }))).toBe('invalid_dpop_proof: jti or iat missing')
    }
    expect(await reasonOf(await sign({ jti: 'x'.repeat(256) }))).toBe('accepted')
  })
})

describe('the hash of the token in a proof', () => {
  it('is the one of the token beside it [4.3.ath]', async () => {
    const wrong = `${HASH.slice(0, -1)}k`
    for (const ath of [undefined, null, '', wrong, `${HASH}=`, HASH.toLowerCase(), [HASH]]) {
      expect(await reasonOf(await sign({ ath }))).toBe('invalid_dpop_proof: ath differs')
    }
  })

  it('is absent at the token endpoint [4.3.no-ath-at-token-agent]', async () => {
    const made = await makeProof(keys, { method: 'POST', url: URL_, now: NOW, id: 'x' })
    expect(await reasonOf(made, atTokenEndpoint)).toBe('accepted')
    for (const ath of [HASH, '', null]) {
      expect(await reasonOf(await sign({ ath }), atTokenEndpoint)).toBe('invalid_dpop_proof: ath differs')
    }
  })
})

describe('the nonce of a proof', () => {
  const demanding: ProofExpectation = { ...atApi, acceptsNonce: (nonce) => nonce === 'fresh' }

  it('is asked for when it is missing, stale or made up', async () => {
    for (const nonce of [undefined, 'stale', '', 7, null, ['fresh']]) {
      expect(await reasonOf(await sign({ nonce }), demanding)).toBe('use_dpop_nonce: nonce')
    }
    expect(await reasonOf(await sign({ nonce: 'fresh' }), demanding)).toBe('accepted')
  })

  it('is not asked of a proof that is wrong in another way', async () => {
    expect(await reasonOf(await sign({ htm: 'GET' }), demanding)).toBe('invalid_dpop_proof: htm differs')
  })

  it('may stand in a proof where nonces are off', async () => {
    expect(await reasonOf(await sign({ nonce: 'any' }))).toBe('accepted')
  })
})

import fc from 'fast-check'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { processorTime } from '../../../test/setup/processor-time.ts'
import {
  hasValidSignature,
  importPublicKey,
  isPublicKeyFor,
  readJwt,
  readText,
  readTime,
  signatureAlgorithms,
  type UnverifiedJwt,
} from './jwt.ts'

const encode = (text: string | Uint8Array) => Buffer.from(text).toString('base64url')
const compact = (header: string | Uint8Array, payload: string | Uint8Array = '{}') =>
  `${encode(header)}.${encode(payload)}.${encode('signature')}`
const good = '{"alg":"ES256"}'

function read(token: string): UnverifiedJwt {
  const jwt = readJwt(token)
  if (typeof jwt === 'string') throw new Error(jwt)
  return jwt
}

describe('a JWT that is read', () => {
  it('is taken apart and not believed', () => {
    const token = compact('{"alg":"ES256","typ":"application/DPoP+JWT","kid":"k1","x":1}', '{"sub":"a"}')
    expect(readJwt(token)).toEqual({
      token,
      algorithm: 'ES256',
      type: 'dpop+jwt',
      keyId: 'k1',
      header: { alg: 'ES256', typ: 'application/DPoP+JWT', kid: 'k1', x: 1 },
      payload: { sub: 'a' },
    })
    expect(read(compact(good))).toMatchObject({ type: undefined, keyId: undefined })
    expect(read(compact('{"alg":"ES256","typ":null,"kid":7}'))).toMatchObject({
      type: 'not a string',
      keyId: undefined,
    })
  })

  it('is three parts of base64url', () => {
    const token = compact(good)
    for (const wrong of [
      '',
      'a',
      'a.b',
      `${token}.`,
      `.${token}`,
      `${token}.a`,
      ` ${token}`,
      `${token}=`,
      token.replace('.', '..'),
      `${token}\n`,
    ]) {
      expect(readJwt(wrong), wrong).toBe('not_compact')
    }
    expect(readJwt('e30+.e30.a')).toBe('not_compact')
    expect(readJwt(`${token}${'a'.repeat(8192)}`)).toBe('too_long')
  })

  it('holds two JSON objects that mean one thing', () => {
    const latin1 = Uint8Array.from([...Buffer.from('{"alg":"ES256","a":"'), 0xe9, ...Buffer.from('"}')])
    for (const header of [
      'x',
      '[]',
      'null',
      '"ES256"',
      '{"alg":"ES256"',
      '{"alg":"ES256","alg":"ES256"}',
      '\ufeff{"alg":"ES256"}',
      latin1,
    ]) {
      expect(readJwt(compact(header))).toBe('bad_json')
    }
    for (const payload of [
      '',
      '[]',
      '7',
      '{"a":1,"a":2}',
      '{"a":1,"\\u0061":2}',
      '\ufeff{}',
      `{"a":${'['.repeat(9)}${']'.repeat(9)}}`,
    ]) {
      expect(readJwt(payload === '' ? `${encode(good)}.A.A` : compact(good, payload))).toBe('bad_json')
    }
  })

  it('names an asymmetric algorithm and nothing critical', () => {
    for (const alg of [
      '"none"',
      '"HS256"',
      '"es256"',
      '"ES256K"',
      '"RS1"',
      '""',
      'null',
      '["ES256"]',
      '{"toString":1}',
    ]) {
      expect(readJwt(compact(`{"alg":${alg}}`))).toBe('bad_algorithm')
    }
    expect(readJwt(compact('{}'))).toBe('bad_algorithm')
    expect(readJwt(compact('{"__proto__":{"alg":"ES256"}}'))).toBe('bad_algorithm')
    for (const crit of ['["b64"]', '[]', 'null', '0']) {
      expect(readJwt(compact(`{"alg":"ES256","crit":${crit}}`))).toBe('critical_header')
    }
  })

  it('makes no exception, whatever arrives, in a time that grows with its length', () => {
    const piece = fc.constantFrom('a', '.', 'e30', encode(good), '=', '-', '_', ' ', '\ud800', 'é')
    fc.assert(fc.property(fc.string(), (text) => void readJwt(text)))
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => void readJwt(pieces.join(''))),
      { numRuns: 500 },
    )
    fc.assert(fc.property(fc.string(), fc.string(), (header, payload) => void readJwt(compact(header, payload))))
    for (const text of ['a', '.', 'a.', '[', '{'].map((one) => one.repeat(100_000))) {
      const before = processorTime()
      expect(readJwt(text)).toBe('too_long')
      expect(processorTime() - before).toBeLessThan(1000)
    }
  })
})

describe('a signature', () => {
  it.each(signatureAlgorithms)('of %s is valid with its key, and with no other key or text', async (algorithm) => {
    const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
    const other = await generateKeyPair(algorithm, { extractable: true })
    const token = await new SignJWT({ sub: 'a' }).setProtectedHeader({ alg: algorithm }).sign(privateKey)
    const key = await importPublicKey(await exportJWK(publicKey), algorithm)
    const foreign = await importPublicKey(await exportJWK(other.publicKey), algorithm)
    if (!key || !foreign) throw new Error('no key')
    expect(key.thumbprint).toMatch(/^[\w-]{43}$/)
    expect(key.thumbprint).not.toBe(foreign.thumbprint)
    expect(await hasValidSignature(read(token), key)).toBe(true)
    expect(await hasValidSignature(read(token), foreign)).toBe(false)
    const [head, , signature] = token.split('.')
    expect(await hasValidSignature(read(`${head}.${encode('{"sub":"b"}')}.${signature}`), key)).toBe(false)
    expect(await hasValidSignature(read(`${head}.${encode('{"sub":"a"}')}.AA`), key)).toBe(false)
  })

  it('is never checked with a key of another kind', async () => {
    const rsa = await generateKeyPair('RS256', { extractable: true })
    const token = await new SignJWT({}).setProtectedHeader({ alg: 'RS256' }).sign(rsa.privateKey)
    const asPss = await importPublicKey(await exportJWK(rsa.publicKey), 'PS256')
    expect(asPss && (await hasValidSignature(read(token), asPss))).toBe(false)
  })
})

describe('a public key', () => {
  it('fits one algorithm, and is neither private nor secret nor weak [4.1.public-keys]', async () => {
    const ec = await exportJWK((await generateKeyPair('ES256', { extractable: true })).publicKey)
    const rsaPair = await generateKeyPair('RS256', { extractable: true })
    const rsa = await exportJWK(rsaPair.publicKey)
    const ed = await exportJWK((await generateKeyPair('EdDSA', { extractable: true })).publicKey)
    const fits = (jwk: JWK) => signatureAlgorithms.filter((algorithm) => isPublicKeyFor(jwk, algorithm))
    expect(fits(ec)).toEqual(['ES256'])
    expect(fits(rsa)).toEqual(['RS256', 'PS256'])
    expect(fits(ed)).toEqual(['EdDSA', 'Ed25519'])
    expect(fits({ ...rsa, alg: 'RS256', use: 'sig' })).toEqual(['RS256'])
    expect(fits({ ...ed, alg: 'Ed25519' })).toEqual(['EdDSA', 'Ed25519'])
    const bad: JWK[] = [
      await exportJWK(rsaPair.privateKey),
      { kty: 'oct', k: 'AAAA' },
      { ...ec, kty: 'oct' },
      { ...ec, use: 'enc' },
      { ...ec, alg: 'HS256' },
      { ...rsa, n: rsa.n?.slice(0, 171) ?? '' },
      { ...rsa, n: 'A'.repeat(5000) },
      { ...rsa, e: rsa.n ?? '' },
      { kty: 'EC', crv: 'P-256' },
      {},
    ]
    for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']) {
      bad.push({ ...ec, [member]: 'AAAA' }, { ...rsa, [member]: '' })
    }
    for (const jwk of bad) {
      expect(fits(jwk), JSON.stringify(Object.keys(jwk))).toEqual([])
      expect(await importPublicKey(jwk, 'ES256')).toBeNull()
      expect(await importPublicKey(jwk, 'RS256')).toBeNull()
    }
  })

  it('that cannot be used is none, whatever it holds', async () => {
    for (const jwk of [
      { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' },
      { kty: 'EC', crv: 'P-256', x: '!', y: '!' },
      { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) },
    ]) {
      expect(await importPublicKey(jwk, 'ES256')).toBeNull()
    }
    const value = fc.jsonValue({ maxDepth: 1 })
    const members = fc.constantFrom('kty', 'crv', 'x', 'y', 'n', 'e', 'use', 'alg', 'key_ops', 'ext')
    await fc.assert(
      fc.asyncProperty(fc.dictionary(members, fc.oneof(value, fc.constantFrom('EC', 'RSA', 'P-256'))), async (jwk) => {
        for (const algorithm of ['ES256', 'RS256', 'EdDSA'] as const) {
          expect(await importPublicKey(jwk as unknown as JWK, algorithm)).toBeNull()
        }
      }),
    )
  })
})

describe('a claim', () => {
  it('is a time when it is a number of our era', () => {
    const times = { a: 0, b: 1_790_900_000.5, c: -1, d: 1e11, e: Number.NaN, f: '1', g: null, h: true }
    expect(Object.keys(times).filter((name) => readTime(times, name) !== undefined)).toEqual(['a', 'b'])
    expect(readTime({}, 'constructor')).toBeUndefined()
  })

  it('is a text when it is a string, not empty and not long', () => {
    const texts = { a: 'x', b: '', c: 'x'.repeat(257), d: 7, e: null, f: ['x'] }
    expect(Object.keys(texts).filter((name) => readText(texts, name) !== undefined)).toEqual(['a'])
    expect(readText({ a: 'xyz' }, 'a', 2)).toBeUndefined()
    expect(readText({}, 'toString')).toBeUndefined()
  })
})

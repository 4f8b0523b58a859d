import { DocumentError } from '@poppyseed/protocol'
import { describe, expect, it } from 'vitest'
import { findCandidates, importOnce, readKeySet } from './key-set.ts'

const ec = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'ec' }
const rsa = { kty: 'RSA', n: 'n', e: 'AQAB', kid: 'rsa' }
const okp = { kty: 'OKP', crv: 'Ed25519', x: 'x', kid: 'okp' }

describe('the key set of a Personal Agent', () => {
  it('is read with unknown members and without keys of unknown types', () => {
    const set = { keys: [ec, { ...rsa, x5t: 'more' }, { kty: 'AKP', alg: 'ML-DSA-44', pub: 'p' }, okp], more: true }
    expect(readKeySet(set).map((key) => key.kid)).toEqual(['ec', 'rsa', 'okp'])
    expect(readKeySet({ keys: [] })).toEqual([])
  })

  it.each([
    ['a private EC key', { ...ec, d: 'secret' }],
    ['a private RSA key', { ...rsa, d: 'secret' }],
    ['an RSA prime', { ...rsa, p: 'secret' }],
    ['a symmetric key', { kty: 'oct', k: 'secret' }],
    ['a symmetric key with no key in it', { kty: 'oct' }],
    ['a private key of a type nobody knows', { kty: 'AKP', pub: 'p', priv: 'secret' }],
    ['a private member that is null', { ...okp, d: null }],
  ])('is refused whole with %s in it [4.1.public-keys]', (_kind, key) => {
    expect(() => readKeySet({ keys: [ec, key] })).toThrow(DocumentError)
    expect(() => readKeySet({ keys: [ec, key] })).not.toThrow(/secret/)
  })

  it('leaves out an RSA key that would make every check dear', () => {
    expect(readKeySet({ keys: [{ ...rsa, e: 'x'.repeat(340) }, { kty: 'RSA', n: 'n' }, ec] })).toEqual([ec])
  })

  it('imports a key once for each algorithm, and again when the set is fetched again', async () => {
    let imports = 0
    const importKey = importOnce(async () => {
      imports += 1
      return null
    })
    const [key] = readKeySet({ keys: [rsa] })
    if (!key) return expect.fail('no key')
    await Promise.all([importKey(key, 'RS256'), importKey(key, 'RS256'), importKey(key, 'PS256')])
    expect(imports).toBe(2)
    await importKey({ ...key }, 'RS256')
    expect(imports).toBe(3)
  })

  it.each([
    null,
    [],
    'keys',
    {},
    { keys: null },
    { keys: { 0: ec } },
    { keys: ['ec'] },
    { keys: [null] },
    { keys: [{ kid: 'no type' }] },
    { keys: Array.from({ length: 21 }, () => ec) },
  ])('is refused when it is none: %j', (document) => {
    expect(() => readKeySet(document)).toThrow(DocumentError)
  })

  it('offers the keys of the name, or all that fit', () => {
    const set = readKeySet({ keys: [ec, rsa, okp, { ...ec, kid: 'second' }, { ...rsa, kid: 'ec' }] })
    const names = (...asked: [string | undefined, 'ES256' | 'RS256' | 'EdDSA']) =>
      findCandidates(set, ...asked).map((key) => `${key.kty} ${key.kid}`)
    expect(names(undefined, 'ES256')).toEqual(['EC ec', 'EC second'])
    expect(names('ec', 'ES256')).toEqual(['EC ec'])
    expect(names('ec', 'RS256')).toEqual(['RSA ec'])
    expect(names('ec', 'EdDSA')).toEqual([])
    expect(names('unknown', 'ES256')).toEqual([])
  })
})

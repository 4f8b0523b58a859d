import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { hasValidSignature, readJwt, type UnverifiedJwt } from '@poppyseed/protocol'
import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { createKeyImporter } from './key-importer.ts'

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

function read(token: string): UnverifiedJwt {
  const jwt = readJwt(token)
  if (typeof jwt === 'string') throw new Error(jwt)
  return jwt
}

function tokenOf(privateKey: KeyObject, payload: object): { token: string; signature: Buffer } {
  const input = `${encode({ alg: 'ES256' })}.${encode(payload)}`
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return { token: `${input}.${signature.toString('base64url')}`, signature }
}

describe('ES256, verified on the spot', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicKey.export({ format: 'jwk' })
  const importKey = createKeyImporter()

  it('takes every good signature, also those whose numbers are short', async () => {
    const key = await importKey(jwk, 'ES256')
    if (!key) throw new Error('no key')
    const seen = new Set<string>()
    // A number with zeros in front comes once in 128 signatures, one with the first bit set every other time.
    for (let n = 0; n < 20_000 && seen.size < 4; n++) {
      const { token, signature } = tokenOf(privateKey, { n })
      for (const [name, first] of [
        ['r', signature[0]],
        ['s', signature[32]],
      ] as const) {
        if (first === 0) seen.add(`${name} short`)
        if ((first ?? 0) >= 0x80) seen.add(`${name} high`)
      }
      expect(await hasValidSignature(read(token), key)).toBe(true)
    }
    expect([...seen].sort()).toEqual(['r high', 'r short', 's high', 's short'])
  })

  it('refuses what jose refuses: other keys, other payloads, cut, stretched and empty numbers', async () => {
    const key = await importKey(jwk, 'ES256')
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const foreign = await importKey(other.publicKey.export({ format: 'jwk' }), 'ES256')
    if (!key || !foreign) throw new Error('no key')
    const { token, signature } = tokenOf(privateKey, { sub: 'a' })
    const [head = '', body = ''] = token.split('.')
    const withSignature = (bytes: Buffer) => read(`${head}.${body}.${bytes.toString('base64url')}`)
    expect(await hasValidSignature(read(token), key)).toBe(true)
    expect(await hasValidSignature(read(token), foreign)).toBe(false)
    expect(
      await hasValidSignature(read(`${head}.${encode({ sub: 'b' })}.${signature.toString('base64url')}`), key),
    ).toBe(false)
    for (const bytes of [
      signature.subarray(0, 63),
      Buffer.concat([signature, Buffer.alloc(1)]),
      Buffer.alloc(64),
      Buffer.alloc(64, 0xff),
      Buffer.concat([signature.subarray(32), signature.subarray(0, 32)]),
      Buffer.concat([Buffer.alloc(32), signature.subarray(32)]),
    ]) {
      expect(await hasValidSignature(withSignature(bytes), key)).toBe(false)
    }
  })

  it('takes a key in its one spelling, and refuses the rest without an error', async () => {
    const { x = '', y = '' } = jwk as { x?: string; y?: string }
    const spellings = [
      `${x}=`,
      `${x} `,
      `${x}\n`,
      `!${x}`,
      `AA${x}`,
      `A${x}`,
      // The last letter holds two bits too many: with them set it is the same key in another spelling.
      x.slice(0, -1) + String.fromCharCode(x.charCodeAt(42) + 1),
      x.slice(2),
      y,
      'A',
      'A'.repeat(43),
      '_'.repeat(43),
      'A'.repeat(2000),
    ]
    for (const spelling of spellings) expect(await importKey({ ...jwk, x: spelling }, 'ES256'), spelling).toBeNull()
    for (const extra of [{ use: 'enc' }, { key_ops: ['sign'] }, { key_ops: 'x' }, { alg: 'RS256' }, { d: x }]) {
      expect(await importKey({ ...jwk, ...extra } as typeof jwk, 'ES256')).toBeNull()
    }
    expect(await importKey({ ...jwk }, 'ES256')).not.toBeNull()
  })

  it('agrees with signatures that jose makes, and remembers keys by all that is in them', async () => {
    const token = await new SignJWT({ sub: 'a' }).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
    const [first, again, named] = await Promise.all([
      importKey(jwk, 'ES256'),
      importKey({ ...jwk }, 'ES256'),
      importKey({ ...jwk, use: 'enc' }, 'ES256'),
    ])
    expect(first).toBe(again)
    expect(named).toBeNull()
    expect(first && (await hasValidSignature(read(token), first))).toBe(true)
  })
})

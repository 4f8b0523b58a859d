import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { base64url, isId, makeId } from './ids.ts'

describe('an id', () => {
  it('is 1 to 256 letters, digits, "-" and "_"', () => {
    for (const id of ['a', '0', 'ses_2Lm0', 'msg-1', 'x'.repeat(256)]) expect(isId(id)).toBe(true)
    for (const id of ['', 'x'.repeat(257), 'a b', 'a\n', 'é', 'a.b', 'a/b', 'a=', '../x', '\u0000'])
      expect(isId(id)).toBe(false)
  })

  it('has a prefix and 128 random bits, and may travel', () => {
    const asked: number[] = []
    const id = makeId('ses', (length) => {
      asked.push(length)
      return new Uint8Array(length).fill(255)
    })
    expect(id).toBe('ses______________________w')
    expect(asked).toEqual([16])
    fc.assert(fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => isId(makeId('cnv', () => bytes))))
  })

  it('differs when its bytes differ', () => {
    const sixteen = fc.uint8Array({ minLength: 16, maxLength: 16 })
    fc.assert(
      fc.property(sixteen, sixteen, (one, other) => {
        const same = makeId('usr', () => one) === makeId('usr', () => other)
        expect(same).toBe(one.every((byte, at) => byte === other[at]))
      }),
    )
  })
})

describe('base64url', () => {
  it('is the URL-safe alphabet without padding', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(base64url(bytes)).toBe(Buffer.from(bytes).toString('base64url'))
      }),
    )
  })
})

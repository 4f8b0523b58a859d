import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { processorTime } from '../../../test/setup/processor-time.ts'
import { parseAuthorization } from './authorization.ts'

describe('an Authorization header', () => {
  it('may spell its scheme in any case, with several spaces [K09]', () => {
    for (const header of ['DPoP abc.d-e_f~g+h/i==', 'dpop abc.d-e_f~g+h/i==', 'DPOP   abc.d-e_f~g+h/i==']) {
      expect(parseAuthorization(header)).toEqual({ scheme: 'dpop', token: 'abc.d-e_f~g+h/i==' })
    }
    expect(parseAuthorization('bearer x')).toEqual({ scheme: 'bearer', token: 'x' })
  })

  it('is never taken for "no token" when it is malformed or doubled [K09]', () => {
    const headers = new Headers()
    headers.append('Authorization', 'DPoP abc')
    headers.append('Authorization', 'Bearer def')
    for (const header of [
      headers.get('authorization'),
      '',
      'DPoP',
      'DPoP ',
      ' DPoP abc',
      'DPoP abc ',
      'DPoP a b',
      'DPoP\tabc',
      'DPoP abc,',
      'DPoP abc, DPoP def',
      'DPoP "abc"',
      'DPoP a=b',
      'abc',
      'DPoP é',
      'DPoP abc\n',
    ]) {
      expect(parseAuthorization(header), JSON.stringify(header)).toBe('malformed')
    }
    expect(parseAuthorization(null)).toBeNull()
    expect(parseAuthorization(undefined)).toBeNull()
  })

  it('is read whatever it holds, in a time that grows with its length', () => {
    fc.assert(fc.property(fc.string(), (text) => parseAuthorization(text) !== null))
    for (const text of ['a'.repeat(1e5), `a${' '.repeat(1e5)}`, `a ${'b'.repeat(1e5)}!`, `a ${'='.repeat(1e5)}!`]) {
      const before = processorTime()
      expect(parseAuthorization(text)).toBe('malformed')
      expect(processorTime() - before).toBeLessThan(2000)
    }
  })
})

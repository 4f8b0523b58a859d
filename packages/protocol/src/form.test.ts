import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { processorTime } from '../../../test/setup/processor-time.ts'
import { PoppyError } from './errors.ts'
import { readParameters } from './form.ts'

describe('form parameters', () => {
  it('are read as a form writes them', () => {
    const form = readParameters('grant_type=urn%3Aietf%3Aparams&scope=poppy%3Aread+poppy%3Awrite&a%20b=%C3%A9')
    expect(form.get('grant_type')).toBe('urn:ietf:params')
    expect(form.get('scope')).toBe('poppy:read poppy:write')
    expect(form.get('a b')).toBe('é')
    expect(form.get('absent')).toBeUndefined()
  })

  it('are refused when one is sent twice, also in another spelling or empty [4.2.invalid-request]', () => {
    for (const text of ['a=1&a=2', 'a=1&a=1', 'a=1&%61=2', 'a&a', 'a=&b=2&a=1', '=1&=2', '__proto__=1&__proto__=2']) {
      expect(() => readParameters(text)).toThrowError(
        expect.objectContaining({ code: 'invalid_request', description: 'A parameter was sent twice.' }),
      )
    }
    expect(readParameters('a=1&A=2&a%00=3').get('a')).toBe('1')
  })

  it('count as left out without a value, but as sent', () => {
    const form = readParameters('scope=&code')
    expect([form.get('scope'), form.has('scope')]).toEqual([undefined, true])
    expect([form.get('code'), form.has('code')]).toEqual([undefined, true])
    expect(form.has('token')).toBe(false)
  })

  it('may name several resources', () => {
    const form = readParameters('resource=https%3A%2F%2Fa&resource=&resource=https%3A%2F%2Fb')
    expect(form.resources).toEqual(['https://a', 'https://b'])
    expect(form.has('resource')).toBe(true)
    expect(readParameters('').has('resource')).toBe(false)
  })

  it('are not found where nobody sent them', () => {
    const form = readParameters('a=1')
    for (const name of ['constructor', '__proto__', 'toString']) {
      expect(form.get(name)).toBeUndefined()
      expect(form.has(name)).toBe(false)
    }
    expect(readParameters('__proto__=x').get('__proto__')).toBe('x')
  })

  it('make no exception but invalid_request, whatever is sent', () => {
    const piece = fc.constantFrom('a', '=', '&', '%', '%6', '%61', '%ff', '+', ';', '\u0000', '\ud800', 'resource')
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece).map((pieces) => pieces.join('')),
        ),
        (text) => {
          try {
            readParameters(text)
          } catch (error) {
            expect(error).toBeInstanceOf(PoppyError)
            expect(error).toMatchObject({ code: 'invalid_request' })
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  it('are read in a time that grows with their length', () => {
    const before = processorTime()
    readParameters(Array.from({ length: 20_000 }, (_, at) => `p${at}=`).join('&'))
    readParameters('&'.repeat(100_000))
    readParameters('%'.repeat(100_000))
    expect(processorTime() - before).toBeLessThan(4000)
  })
})

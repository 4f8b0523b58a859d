import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { processorTime } from '../../../test/setup/processor-time.ts'
import { type Challenge, findChallenge, formatChallenge, parseChallenges } from './challenge.ts'

const plain = (challenges: readonly Challenge[]) =>
  challenges.map(({ scheme, parameters, token68 }) =>
    token68 === undefined ? [scheme, { ...parameters }] : [scheme, { ...parameters }, token68],
  )
const parse = (header: string) => plain(parseChallenges(header))

describe('a challenge that we write', () => {
  it('quotes each value and leaves out what is absent', () => {
    expect(formatChallenge('DPoP', {})).toBe('DPoP')
    expect(formatChallenge('DPoP', { error: undefined })).toBe('DPoP')
    expect(
      formatChallenge('DPoP', { error: 'insufficient_scope', scope: 'poppy:read poppy:write', algs: undefined }),
    ).toBe('DPoP error="insufficient_scope", scope="poppy:read poppy:write"')
  })

  it('can hold no line break and no quote that ends it', () => {
    expect(formatChallenge('DPoP', { a: 'x"y\\z' })).toBe('DPoP a="x\\"y\\\\z"')
    expect(formatChallenge('DPoP', { a: 'x\r\nSet-Cookie: a=b\u0000é' })).toBe('DPoP a="xSet-Cookie: a=b"')
  })
})

describe('a challenge that we read [6.challenge-agent, K41]', () => {
  it('keeps the parameters of each scheme apart', () => {
    expect(parse('DPoP algs="ES256", Bearer error="x", scope="a b"')).toEqual([
      ['DPoP', { algs: 'ES256' }],
      ['Bearer', { error: 'x', scope: 'a b' }],
    ])
    expect(parse('Bearer error="invalid_token", DPoP error="use_dpop_nonce", algs="ES256 RS256"')).toEqual([
      ['Bearer', { error: 'invalid_token' }],
      ['DPoP', { error: 'use_dpop_nonce', algs: 'ES256 RS256' }],
    ])
  })

  it('takes no name for another that ends or begins like it', () => {
    const [challenge] = parseChallenges('DPoP error_description="error=\\"a\\", scope=b", x_scope="c", xerror=d')
    expect(challenge?.parameters.error).toBeUndefined()
    expect(challenge?.parameters.scope).toBeUndefined()
    expect(challenge?.parameters.error_description).toBe('error="a", scope=b')
  })

  it('reads two header lines joined by a comma', () => {
    const headers = new Headers()
    headers.append('WWW-Authenticate', 'Bearer')
    headers.append('WWW-Authenticate', 'DPoP error="invalid_token"')
    expect(parse(headers.get('www-authenticate') ?? '')).toEqual([
      ['Bearer', {}],
      ['DPoP', { error: 'invalid_token' }],
    ])
  })

  it('reads quotes, commas and backslashes inside quotes', () => {
    expect(parse('DPoP a="x, Bearer error=\\"y\\"", b="\\\\", c=""')).toEqual([
      ['DPoP', { a: 'x, Bearer error="y"', b: '\\', c: '' }],
    ])
  })

  it('reads bare tokens, upper-case names, spaces around "=" and stray commas', () => {
    expect(parse(' ,, dpop ERROR=sign_in_required ,, Scope = "a" , , Bearer\terror = x')).toEqual([
      ['dpop', { error: 'sign_in_required', scope: 'a' }],
      ['Bearer', { error: 'x' }],
    ])
  })

  it('reads the token68 form, and schemes with nothing behind them', () => {
    expect(parse('Negotiate, Basic YWJj==, Foo a=b, Bar')).toEqual([
      ['Negotiate', {}],
      ['Basic', {}, 'YWJj=='],
      ['Foo', { a: 'b' }],
      ['Bar', {}],
    ])
  })

  it('keeps the first of a parameter sent twice', () => {
    expect(parse('DPoP error="a", error="b", ERROR="c"')).toEqual([['DPoP', { error: 'a' }]])
  })

  it('keeps what came before the place where it breaks', () => {
    expect(parse('DPoP error="a", scope="open')).toEqual([['DPoP', { error: 'a' }]])
    expect(parse('DPoP error="a" scope="b", Bearer error="c"')).toEqual([['DPoP', { error: 'a' }]])
    expect(parse('DPoP error="a"; Bearer')).toEqual([['DPoP', { error: 'a' }]])
    expect(parse('"DPoP" error=a')).toEqual([])
    expect(parse('DPoP error="a\\')).toEqual([['DPoP', {}]])
    expect(parse('')).toEqual([])
  })

  it('gives a parameter that is called like a member of every object', () => {
    const [challenge] = parseChallenges('DPoP __proto__="a", constructor="b"')
    expect(challenge?.parameters.constructor).toBe('b')
    expect(Object.keys(challenge?.parameters ?? {})).toEqual(['__proto__', 'constructor'])
    expect(parseChallenges('DPoP')[0]?.parameters.constructor).toBeUndefined()
  })
})

describe('the challenge of a scheme [K41]', () => {
  it('is the first one with an error, else the first, whatever the case', () => {
    const all = parseChallenges('dpop algs="ES256", Bearer error="b", DPoP error="d"')
    expect(findChallenge(all, 'DPoP')?.parameters.error).toBe('d')
    expect(findChallenge(all, 'bearer')?.parameters.error).toBe('b')
    expect(findChallenge(parseChallenges('DPoP algs="ES256", DPoP'), 'DPOP')?.parameters.algs).toBe('ES256')
    expect(findChallenge(all, 'Basic')).toBeUndefined()
  })
})

describe('whatever arrives', () => {
  const name = fc.stringMatching(/^[a-z_][a-z0-9_]{0,12}$/)
  const value = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) })

  it('is read as it was written', () => {
    const challenge = fc.record({
      scheme: fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,9}$/),
      parameters: fc.dictionary(name, value, { minKeys: 0, maxKeys: 5 }),
    })
    fc.assert(
      fc.property(fc.array(challenge, { maxLength: 4 }), (challenges) => {
        const header = challenges.map(({ scheme, parameters }) => formatChallenge(scheme, parameters)).join(', ')
        expect(parse(header)).toEqual(challenges.map(({ scheme, parameters }) => [scheme, { ...parameters }]))
      }),
    )
  })

  it('makes no exception', () => {
    const piece = fc.constantFrom('DPoP', 'error', '=', '"', '\\', ',', ' ', '\t', 'a', '==', '\n', 'é', '\u0000')
    fc.assert(fc.property(fc.string(), (text) => void parseChallenges(text)))
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => void parseChallenges(pieces.join(''))),
      { numRuns: 500 },
    )
  })

  it.each([
    'a',
    ' ',
    ',',
    'a ',
    'a,',
    'a =',
    'a=',
    'a b,',
    'a b=c,',
    'a b=c, d ',
    '"',
    '\\',
    'a="',
    'a "\\',
    'a=\t',
    '=',
    'a ,\t',
    'A b==== ,',
  ])('is read in a time that grows with its length: %j', (piece) => {
    for (const start of ['', 'DPoP ', 'DPoP a="', 'DPoP a', 'DPoP a=b,']) {
      const header = start + piece.repeat(Math.ceil(100_000 / piece.length))
      const before = processorTime()
      parseChallenges(header)
      // Some ten milliseconds; a quadratic reader needs minutes.
      expect(processorTime() - before).toBeLessThan(2000)
    }
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coversScopes, formatScope, intersectScopes, isScope, parseScope, protocolScopes } from './scopes.ts'

const scope = fc.string({ minLength: 1, maxLength: 20 }).filter(isScope)
const scopes = fc.uniqueArray(scope, { maxLength: 20 })

describe('a scope parameter', () => {
  it('is read in the order given, without repeats', () => {
    expect(parseScope('poppy:read poppy:write addresses')).toEqual(['poppy:read', 'poppy:write', 'addresses'])
    expect(parseScope('b a b')).toEqual(['b', 'a'])
    expect(parseScope('')).toEqual([])
  })

  it('is nothing when its syntax is wrong', () => {
    for (const text of [' ', ' a', 'a ', 'a  b', 'a\tb', 'a\nb', 'a"', 'a\\', 'é', 'a\u007f', 'a\u0000']) {
      expect(parseScope(text), JSON.stringify(text)).toBeNull()
    }
    expect(parseScope('x'.repeat(129))).toBeNull()
    expect(parseScope(Array.from({ length: 101 }, (_, at) => `s${at}`).join(' '))).toBeNull()
    expect(parseScope('a '.repeat(50_000))).toBeNull()
  })

  it('is read as it was written', () => {
    fc.assert(
      fc.property(scopes, (list) => {
        expect(parseScope(formatScope(list))).toEqual(list)
      }),
    )
  })

  it('makes no exception, and what it gives are scopes', () => {
    fc.assert(fc.property(fc.string(), (text) => (parseScope(text) ?? []).every(isScope)))
  })
})

describe('lists of scopes', () => {
  it('have in common what both have', () => {
    expect(intersectScopes(['c', 'a', 'b'], ['a', 'b', 'd'])).toEqual(['a', 'b'])
    fc.assert(
      fc.property(scopes, scopes, (left, right) => {
        const common = intersectScopes(left, right)
        expect(coversScopes(left, common) && coversScopes(right, common)).toBe(true)
        expect(coversScopes(left, right)).toBe(common.length === right.length)
      }),
    )
  })

  it('cover what they hold, and write does not cover read', () => {
    expect(coversScopes([], [])).toBe(true)
    expect(coversScopes(['poppy:write'], ['poppy:read'])).toBe(false)
    expect(coversScopes(['poppy:read', 'poppy:write'], ['poppy:read'])).toBe(true)
    expect(coversScopes(['poppy:read'], ['poppy:rea'])).toBe(false)
    expect(protocolScopes).toEqual(['poppy:read', 'poppy:write'])
  })
})

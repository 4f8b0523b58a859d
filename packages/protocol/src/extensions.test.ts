import { describe, expect, it } from 'vitest'
import { extensionDomain, extensionVersion } from './extensions.ts'

describe('the name of an extension', () => {
  it.each([
    ['example.com/gift-wrap', 'example.com'],
    ['shop.example.com/gift-wrap/v', 'shop.example.com'],
    ['localhost/points', 'localhost'],
    ['operations', null],
    ['example.com', null],
    ['example.com/', null],
    ['/gift-wrap', null],
    ['https://example.com/gift-wrap', null],
    ['Example.com/gift-wrap', null],
    ['example.com/gift wrap', null],
    ['example.com//x', null],
    ['example.com/../x', null],
    ['example.com:443/x', null],
    ['user@example.com/x', null],
    ['-example.com/x', null],
    ['example.com/x\n', null],
    [`example.com/${'x'.repeat(101)}`, null],
    [`example.com${'/x'.repeat(200)}`, null],
    ['__proto__', null],
    ['', null],
  ])('%j begins with %j', (extension, domain) => {
    expect(extensionDomain(extension)).toBe(domain)
  })
})

describe('the version of an extension', () => {
  it('is a major version, as text', () => {
    expect([1, '1', 12, '12', 999_999].map(extensionVersion)).toEqual(['1', '1', '12', '12', '999999'])
    for (const wrong of [
      0,
      -1,
      1.5,
      '1.0',
      '01',
      '',
      'v1',
      ' 1',
      Number.NaN,
      1e21,
      1_000_000,
      null,
      undefined,
      {},
      [1],
    ])
      expect(extensionVersion(wrong)).toBeNull()
  })
})

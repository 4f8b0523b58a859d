import { describe, expect, it } from 'vitest'
import { readReturnTo } from './return-to.ts'

const own = { origin: 'https://www.example.com:8443', domains: ['example.com', 'example.de'] }

describe('the page to open after a browser joined', () => {
  it.each([
    ['https://example.com/orders', 'https://example.com/orders'],
    ['https://example.com', 'https://example.com/'],
    ['https://shop.example.com/a?b=c#d', 'https://shop.example.com/a?b=c#d'],
    ['https://example.de/', 'https://example.de/'],
    ['https://www.example.com:8443/x', 'https://www.example.com:8443/x'],
    ['https://example.com:443/x', 'https://example.com/x'],
    ['HTTPS://EXAMPLE.COM/x', 'https://example.com/x'],
    ['https://example.com/ä', 'https://example.com/%C3%A4'],
  ])('may be %s [5.return-to]', (value, expected) => {
    expect(readReturnTo(value, own)).toBe(expected)
  })

  it.each([
    'https://example.com.evil.test/',
    'https://evilexample.com/',
    'https://example.com@evil.test/',
    'https://evil.test/@example.com',
    'https://user:pass@example.com/',
    'https://@example.com/',
    'https://:@example.com/',
    'http://example.com/',
    '//evil.test/',
    '/\\evil.test',
    '/orders',
    'orders',
    'https:\\\\evil.test',
    'https:\\\\example.com',
    'https://evil.test\\@example.com',
    'https://evil.test\\.example.com/',
    'https:example.com',
    'https:/example.com',
    'https:///example.com',
    'https://exam\tple.com/',
    'https://example.com/\n',
    ' https://example.com/',
    'https://example.com:8444/',
    'https://example.com:0/',
    'https://example.com./',
    'https://com/',
    'https://.example.com/',
    'javascript:alert(1)//example.com',
    'data:text/html,https://example.com/',
    'https://[::1]/',
    'https://127.0.0.1/',
    'https://xn--exmple-cua.com/',
    'https://exаmple.com/',
    `https://example.com/${'a'.repeat(10_000)}`,
    '',
    'https://',
    'https://example.com/\u0000',
    'https://example.com/\ud800',
  ])('may not be %j [5.return-to, K33]', (value) => {
    expect(readReturnTo(value, own)).toBeNull()
  })

  it('may be plain http where the origin itself is, in development, and nowhere else', () => {
    const local = { origin: 'http://localhost:3000', domains: ['localhost'] }
    expect(readReturnTo('http://localhost:3000/a', local)).toBe('http://localhost:3000/a')
    expect(readReturnTo('http://localhost:3001/a', local)).toBeNull()
    expect(readReturnTo('http://evil.localhost:3000/a', local)).toBeNull()
  })
})

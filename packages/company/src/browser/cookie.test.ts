import { describe, expect, it } from 'vitest'
import { readCookies, writeCookie } from './cookie.ts'

const value = 'a'.repeat(43)
const ask = (cookie?: string) =>
  readCookies(new Request('https://example.com/', { headers: cookie === undefined ? {} : { cookie } }), '__Host-poppy')

describe('the cookie of an agent’s browser', () => {
  it('is Secure, HttpOnly and Lax, for this host alone [5.cookie-flags]', () => {
    const settings = { name: '__Host-poppy', domain: undefined, sameSite: 'Lax', lifetime: 1 } as const
    expect(writeCookie(settings, value, 60)).toBe(
      `__Host-poppy=${value}; Path=/; Max-Age=60; Secure; HttpOnly; SameSite=Lax`,
    )
  })

  it('covers subdomains where the company says so', () => {
    const settings = { name: 'agent', domain: 'example.com', sameSite: 'None', lifetime: 1 } as const
    expect(writeCookie(settings, value, 60)).toContain('; Domain=example.com; Secure; HttpOnly; SameSite=None')
  })

  const other = 'b'.repeat(43)
  it.each([
    [undefined, []],
    ['', []],
    ['other=1', []],
    [`x__Host-poppy=${value}`, []],
    [`__host-poppy=${value}`, []],
    [`__Host-poppy=${value}`, [value]],
    [`a=b; __Host-poppy=${value}; c=d`, [value]],
    [`a=b;__Host-poppy=${value}`, [value]],
    [`__Host-poppy=${value}; __Host-poppy=${value}`, [value]],
    [`__Host-poppy=${value}; __Host-poppy=${other}`, [value, other]],
    [`__Host-poppy=; __Host-poppy=${value}; __Host-poppy="x"`, [value]],
    ['__Host-poppy=', []],
    [`__Host-poppy="${value}"`, []],
    [`__Host-poppy=${'a'.repeat(5000)}`, []],
    [Array.from('abcde', (letter) => `__Host-poppy=${letter.repeat(43)}`).join('; '), []],
  ])('reads %j', (header, expected) => {
    expect(ask(header)).toEqual(expected)
  })
})

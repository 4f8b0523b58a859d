import { describe, expect, it } from 'vitest'
import { isLoopbackHost, isServiceUrl } from './service-url.ts'

describe('a URL of a service', () => {
  it.each([
    'https://api.example.com',
    'https://api.example.com/',
    'https://api.example.com/poppy/conversations',
    'https://api.example.com:8443/a?b=c@d',
    'https://xn--bcher-kva.example/a@b',
    'HTTPS://API.example.com/a',
    'https://[2001:db8::1]/mcp',
    'https://[2001:db8::1]:8443',
  ])('may be %s', (url) => {
    expect(isServiceUrl(url)).toBe(true)
  })

  it.each([
    'http://api.example.com/',
    'http://localhost:3000/',
    'ftp://api.example.com/',
    'javascript:alert(1)',
    'data:application/json,{}',
    'https:api.example.com',
    'https:/api.example.com',
    'https:\\\\api.example.com',
    'https://api.example.com\\@evil.example/',
    '//api.example.com/',
    '/poppy',
    '',
    'https://',
    'https:///x',
    'https://?x',
    'https://user@api.example.com/',
    'https://user:secret@api.example.com/',
    'https://@api.example.com/',
    'https://:@api.example.com/',
    'https://api.example.com:/',
    'https://api.example.com/#',
    'https://api.example.com/#a',
    ' https://api.example.com/',
    'https://api.example.com/ ',
    'https://api.exa\tmple.com/',
    'https://api.example.com/\n',
    'https://api.example.com/a b',
    'https://api.example.com/\u0000',
    'https://api.example.com/\u001b[31m',
    'https://api.example.com:99999/',
    'https://exa%mple.com/',
    `https://api.example.com/${'x'.repeat(2048)}`,
  ])('is never %j', (url) => {
    expect(isServiceUrl(url)).toBe(false)
    expect(isServiceUrl(url, true)).toBe(url === 'http://localhost:3000/')
  })

  it('may be plain HTTP on this machine, where development says so', () => {
    for (const url of [
      'http://localhost/',
      'http://miramar.localhost:3000/a',
      'http://127.0.0.1:8080',
      'http://[::1]/',
    ]) {
      expect(isServiceUrl(url, true)).toBe(true)
      expect(isServiceUrl(url)).toBe(false)
    }
    for (const url of [
      'http://example.com/',
      'http://localhost.example.com/',
      'http://127.0.0.1.example.com/',
      'http://0.0.0.0/',
      'http://user@localhost/',
      'http://notlocalhost/',
    ]) {
      expect(isServiceUrl(url, true)).toBe(false)
    }
  })

  it('has a host of letters, digits, dots and hyphens: what parsers take beside them means something elsewhere', () => {
    for (const odd of [';', "'", '"', '*', ',', '$', '`', '(', '&', '!', '~', '+', '=', '{']) {
      expect(isServiceUrl(`https://a${odd}frame-ancestors.evil.example/agent.json`), odd).toBe(false)
    }
    for (const host of ['xn--80ak6aa92e.example', 'bücher.example', 'a_b.example', '[2606:4700::1111]', '8.8.8.8:8443'])
      expect(isServiceUrl(`https://${host}/agent.json`), host).toBe(true)
  })
})

describe('a host of this machine', () => {
  it('is told by its name', () => {
    expect(['localhost', 'a.localhost', '127.0.0.1', '[::1]'].every(isLoopbackHost)).toBe(true)
    expect(['example.com', 'localhost.', 'localhost.example.com', '127.0.0.2', '::1', ''].some(isLoopbackHost)).toBe(
      false,
    )
  })
})

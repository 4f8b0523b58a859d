import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHosts, type HostSettings, parseHost } from './hosts.ts'

const origin = 'https://miramar.example'
const domains = ['miramar.example', 'miramar.de']

function make(settings: Partial<HostSettings> = {}) {
  const told: unknown[] = []
  const hosts = createHosts({ origin, domains, log: { warn: (fields) => void told.push(fields) }, ...settings })
  const ask = (host: string, headers: Record<string, string> = {}) =>
    new Request('http://10.0.0.7:3000/poppy/token', { headers: { host, ...headers } })
  const passes = (request: Request, isWellKnown: boolean) => {
    try {
      hosts.check(request, isWellKnown)
      return true
    } catch (error) {
      expect(error).toMatchObject({ code: 'misdirected_request' })
      return false
    }
  }
  /** What is answered there: every path, the documents, nothing. */
  const answers = (host: string, headers?: Record<string, string>) =>
    passes(ask(host, headers), false) ? 'all' : passes(ask(host, headers), true) ? 'documents' : 'nothing'
  return { hosts, ask, answers, told }
}

describe('the hosts of a Company', () => {
  it.each([
    ['miramar.example', 'all'],
    ['miramar.example:443', 'all'],
    ['MIRAMAR.Example', 'all'],
    ['miramar.example.', 'all'],
    ['localhost:3000', 'all'],
    ['127.0.0.1:3000', 'all'],
    ['[::1]:3000', 'all'],
    ['www.miramar.example', 'documents'],
    ['miramar.de', 'documents'],
    ['WWW.miramar.de.:443', 'documents'],
    ['miramar.example:8443', 'nothing'],
    ['miramar.example:80', 'nothing'],
    ['miramar.example:0443', 'nothing'],
    ['miramar.example..', 'nothing'],
    ['shop.miramar.example', 'nothing'],
    ['www.www.miramar.de', 'nothing'],
    ['evil.test', 'nothing'],
    ['evilmiramar.example', 'nothing'],
    ['miramar.example.evil.test', 'nothing'],
    ['miramar.example, evil.test', 'nothing'],
    ['"miramar.example"', 'nothing'],
    ['evil.test@miramar.example', 'nothing'],
    ['miramar.example@evil.test', 'nothing'],
    ['miramar.example/x', 'nothing'],
    ['miramar.example?x', 'nothing'],
    ['miramar.example\\x', 'nothing'],
    ['miramar.example:443:443', 'nothing'],
    ['miramar.example:', 'nothing'],
    ['10.0.0.7:3000', 'nothing'],
    ['127.0.0.1.evil.test', 'nothing'],
    ['[::ffff:127.0.0.1]', 'nothing'],
    ['', 'nothing'],
    ['a'.repeat(10_000), 'nothing'],
  ])('%s: %s', (host, expected) => {
    expect(make().answers(host)).toBe(expected)
  })

  it('are those of the address where a request has no Host', () => {
    const { hosts } = make()
    expect(() => hosts.check(new Request('https://miramar.example/poppy/token'), false)).not.toThrow()
    expect(() => hosts.check(new Request('https://evil.test/poppy/token'), false)).toThrow()
  })

  it('have a port of their own only with the origin', () => {
    const { answers } = make({ origin: 'https://miramar.example:8443' })
    expect(['miramar.example:8443', 'miramar.example', 'miramar.de:8443', 'miramar.de:9000'].map((one) => answers(one)))
      // Many proxies pass on the name alone.
      .toEqual(['all', 'all', 'documents', 'nothing'])
  })

  it('are also what an inner proxy says, where that is written down', () => {
    const { answers, hosts, ask } = make({ inner: ['app:3000', 'miramar.de:3000'] })
    expect(['app:3000', 'APP:3000', 'app', 'app:3001'].map((one) => answers(one))).toEqual([
      'all',
      'all',
      'nothing',
      'nothing',
    ])
    expect(hosts.domainOf(ask('app:3000'))).toBe('miramar.example')
    expect(hosts.domainOf(ask('miramar.de:3000'))).toBe('miramar.de')
    expect(hosts.names).toEqual(['miramar.example', 'localhost', '127.0.0.1', '[::1]', 'app', 'miramar.de'])
  })

  it('choose the domain that is asked for, and the main one where the name is none of them', () => {
    const { hosts, ask } = make()
    const asked = ['miramar.de', 'www.miramar.de', 'miramar.example', 'localhost:3000', 'evil.test', '"']
    expect(asked.map((host) => hosts.domainOf(ask(host)))).toEqual([
      'miramar.de',
      'miramar.de',
      ...Array.from({ length: 4 }, () => 'miramar.example'),
    ])
    expect(hosts.vary).toBe('Host')
    expect(make({ domains: ['miramar.example'] }).hosts.vary).toBeUndefined()
    const elsewhere = make({ origin: 'https://agents.miramar.de' })
    expect(elsewhere.hosts.domainOf(elsewhere.ask('agents.miramar.de'))).toBe('miramar.de')
    expect(elsewhere.answers('miramar.de')).toBe('documents')
  })

  it('listen to no forwarded header', () => {
    const { hosts, ask, answers } = make()
    for (const forwarded of ['miramar.de', 'evil.test', '"', 'a, b']) {
      expect(answers('miramar.example', { 'x-forwarded-host': forwarded })).toBe('all')
      expect(hosts.domainOf(ask('miramar.example', { 'x-forwarded-host': forwarded }))).toBe('miramar.example')
      expect(answers('evil.test', { 'x-forwarded-host': 'miramar.example' })).toBe('nothing')
    }
  })

  it('listen to X-Forwarded-Host where it is switched on, and only as to which of them is meant', () => {
    const { hosts, ask, answers } = make({ forwardedHost: true, inner: ['app:3000'] })
    expect(hosts.vary).toBe('Host, X-Forwarded-Host')
    expect(hosts.domainOf(ask('app:3000', { 'x-forwarded-host': 'miramar.de' }))).toBe('miramar.de')
    expect(answers('app:3000', { 'x-forwarded-host': 'miramar.de' })).toBe('documents')
    expect(answers('app:3000', { 'x-forwarded-host': 'Miramar.example:443' })).toBe('all')
    expect(answers('app:3000')).toBe('all')
    for (const forwarded of ['evil.test', '"miramar.de"', 'miramar.de, miramar.de', ''])
      expect(answers('app:3000', { 'x-forwarded-host': forwarded })).toBe('nothing')
    // DNS rebinding: a page can send that header, but only with its own host.
    expect(answers('evil.test', { 'x-forwarded-host': 'miramar.example' })).toBe('nothing')
  })

  it('name the origin of an own API, and nothing of the library is answered there', () => {
    const { hosts, ask, answers } = make({ apiOrigins: ['https://api.miramar.example'] })
    expect(hosts.originOf(ask('api.miramar.example'))).toBe('https://api.miramar.example')
    expect(hosts.originOf(ask('miramar.example'))).toBe(origin)
    expect(hosts.originOf(ask('evil.test'))).toBe(origin)
    expect(answers('api.miramar.example')).toBe('nothing')
  })

  it('are missed once each in the log, and not without end, in letters that a log can have', () => {
    const { answers, told } = make()
    answers('evil\u00e9.test')
    answers('evil\u00e9.test')
    answers('other.test')
    expect(told).toEqual([
      { host: 'evil?.test', origin },
      { host: 'other.test', origin },
    ])
    for (let one = 0; one < 100; one++) answers(`${one}.test`)
    expect(told).toHaveLength(20)
  })
})

describe('whatever a stranger writes', () => {
  it('is refused or chooses among what is configured, and never an error of ours [K38]', () => {
    const { hosts } = make({ forwardedHost: true, inner: ['app:3000'], apiOrigins: ['https://api.miramar.example'] })
    const known = ['miramar.example', 'miramar.de', 'www.miramar.de', 'app:3000', 'localhost', 'api.miramar.example']
    const host = fc.oneof(
      fc.constantFrom(...known),
      fc.stringMatching(/^[\x20-\x7e]{0,40}$/),
      fc
        .tuple(
          fc.constantFrom(...known),
          fc.constantFrom('', '.', ':443', ', ', '"', '@', '%00', '\t', '#', ':'),
          fc.constantFrom(...known),
        )
        .map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(host, fc.option(host), fc.boolean(), (asked, forwarded, isWellKnown) => {
        const headers = { host: asked, ...(forwarded === null ? {} : { 'x-forwarded-host': forwarded }) }
        const request = new Request('http://10.0.0.7/poppy/token', { headers })
        expect(domains).toContain(hosts.domainOf(request))
        expect([origin, 'https://api.miramar.example']).toContain(hosts.originOf(request))
        try {
          hosts.check(request, isWellKnown)
        } catch (error) {
          expect(error).toMatchObject({ code: 'misdirected_request' })
          return
        }
        // Who got through named a host that is written down, in one spelling or another.
        const bare = asked.trim().toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '')
        // Names under .localhost lead to the caller's own machine, whoever made them up.
        const written = [...domains, 'www.miramar.de', 'app', 'localhost', 'api.miramar.example']
        expect(bare.endsWith('.localhost') || written.includes(bare)).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('a Host', () => {
  it('is a name and a port', () => {
    expect(parseHost('App_1.internal:8080')).toEqual({ name: 'app_1.internal', port: '8080' })
    expect(parseHost('[::1]:80')).toEqual({ name: '[::1]', port: '80' })
    for (const wrong of ['a b', 'a:b', '-a', 'a-', '[::1', ':80', 'a,b', "a'b"]) expect(parseHost(wrong)).toBeNull()
  })
})

import { describe, expect, it } from 'vitest'
import { startFakeCompany } from '../../test/fake-company.ts'
import { errorOf, keySetOf, startVisit } from '../../test/visit.ts'
import type { Fetch } from '../net/exchange.ts'

const count = (paths: readonly string[], path: string) => paths.filter((one) => one.includes(path)).length

describe('discovery', () => {
  it('finds a Company, its sign-in and its APIs, and ignores what it does not know [3.2.unknown-metadata, 3.3.ignore-unknown-agent]', async () => {
    const { user, fake } = await startVisit()
    const company = await user.company(fake.origin)
    expect(company).toMatchObject({
      name: 'Fake Company',
      domain: 'localhost',
      issuer: fake.origin,
      signIn: {
        direct: ['poppy:read', 'poppy:write', 'addresses'],
        device: ['poppy:read', 'poppy:write', 'addresses'],
      },
      customScopes: { addresses: 'Your addresses' },
      extensions: ['example.com/gift-wrap'],
    })
    expect(company.apis.map(({ type }) => type)).toEqual(['carrier-pigeon', 'openapi', 'mcp'])
  })

  it('takes the OAuth endpoints from the metadata, wherever they are [3.2.endpoints-agent]', async () => {
    const { fake, clock, session, signIn } = await startVisit()
    await signIn(await session(), ['poppy:read'])
    const elsewhere = await startVisit()
    elsewhere.fake.switches.metadata = (document) => ({
      ...document,
      token_endpoint: `${fake.origin}/nowhere/token`,
      authorization_endpoint: `${fake.origin}/some/where?tenant=7`,
    })
    fake.take()
    await errorOf((await elsewhere.session()).start())
    expect([fake.paths(), count(elsewhere.fake.paths(), '/token')]).toEqual([['POST /nowhere/token 404'], 0])
    fake.switches.metadata = (document) => ({
      ...document,
      authorization_endpoint: `${fake.origin}/some/where?tenant=7`,
      revocation_endpoint: `${fake.origin}/some/where/else`,
    })
    // Later than any of it was kept.
    clock.now += 2 * 3600 * 1000
    const again = await session()
    const { url } = await again.beginSignIn({ scopes: ['poppy:read'] })
    expect(url).toMatch(new RegExp(`^${fake.origin}/some/where\\?tenant=7&response_type=code&`))
    fake.take()
    await errorOf(again.signOut())
    expect(fake.paths().at(-1)).toBe('POST /some/where/else 404')
  })

  it('skips API types that it does not know [6.skip-unknown-agent]', async () => {
    const { fake, session } = await startVisit()
    await (await session()).apiOperations()
    expect(count(fake.paths(), '/pigeons')).toBe(0)
  })

  it.each([
    ['protocol_version', { protocol_version: undefined }, 'bad_document'],
    ['organization', { organization: { name: 'Fake Company' } }, 'bad_document'],
    ['anything to use', { apis: undefined }, 'bad_document'],
    ['auth', { auth: undefined }, 'bad_document'],
  ])('refuses a document without %s [3.1.required-fields-agent]', async (_, change, code) => {
    const { user, fake } = await startVisit()
    fake.switches.poppy = (document) => ({ ...document, ...change })
    expect((await errorOf(user.company(fake.origin))).code).toBe(code)
  })

  it.each(['0.4', '1.0'])('says clearly that it does not speak %s [3.1.protocol-version-agent]', async (version) => {
    const { user, fake } = await startVisit()
    fake.switches.poppy = (document) => ({ ...document, protocol_version: version })
    const error = await errorOf(user.company(fake.origin))
    expect([error.code, error.action]).toEqual(['unsupported_version', 'give_up'])
    expect(error.message).toContain(`version ${version}`)
    expect(fake.paths()).toEqual(['GET /.well-known/poppy.json 200'])
  })

  it('wants the document to speak for the domain that was asked [3.1.organization-domain-agent]', async () => {
    const { user, fake } = await startVisit()
    for (const [domain, code] of [
      ['evil.example', 'untrusted_company'],
      ['localhost.evil.example', 'untrusted_company'],
      ['localhost@evil.example', 'untrusted_company'],
      ['www.localhost', undefined],
      ['LOCALHOST', undefined],
    ] as const) {
      fake.switches.poppy = (document) => ({ ...document, organization: { name: 'Fake Company', domain } })
      fake.switches.metadata = (document) => ({ ...document, poppy_domains: [domain] })
      fake.switches.headers = { 'cache-control': 'no-store' }
      if (code === undefined) expect((await user.company(fake.origin)).domain).toBe(domain)
      else expect((await errorOf(user.company(fake.origin))).code).toBe(code)
    }
  })

  it.each([
    ['issuer', (origin: string) => ({ issuer: `${origin}/` })],
    ['poppy_domains', () => ({ poppy_domains: ['other.example'] })],
  ])(
    'wants issuer and domain to name each other: %s [3.2.issuer-exact, 3.2.poppy-domains-agent]',
    async (_, change) => {
      const { user, fake } = await startVisit()
      fake.switches.metadata = (document) => ({ ...document, ...change(fake.origin) })
      const error = await errorOf(user.company(fake.origin))
      expect([error.code, error.action]).toEqual(['untrusted_company', 'give_up'])
      expect(count(fake.paths(), '/token')).toBe(0)
    },
  )

  it('keeps documents as long as their headers say, and asks with the ETag then [3.cache-document, 3.2.cache-metadata]', async () => {
    const { user, fake, clock } = await startVisit()
    fake.switches.headers = { 'cache-control': 'public, max-age=600', etag: '"v1"' }
    await user.company(fake.origin)
    clock.now += 599_000
    await user.company(fake.origin)
    expect(fake.take()).toHaveLength(2)
    clock.now += 2000
    await user.company(fake.origin)
    expect(fake.take().map(({ headers }) => headers['if-none-match'])).toEqual(['"v1"', '"v1"'])
    fake.switches.headers = { 'cache-control': 'no-store' }
    clock.now += 601_000
    await user.company(fake.origin)
    await user.company(fake.origin)
    expect(fake.take()).toHaveLength(4)
  })

  it('goes on with what it has when a Company is down for a moment, unless the headers forbid it', async () => {
    let isDown = false
    const { user, fake, clock } = await startVisit({
      fetch: (url, init) => (isDown ? Promise.reject(new TypeError('down')) : fetch(url, init)),
    })
    for (const [header, worksFor] of [
      ['max-age=60', 3600],
      ['max-age=60, must-revalidate', 60],
    ] as const) {
      fake.switches.headers = { 'cache-control': header }
      isDown = false
      clock.now += 86_400_000
      await user.company(fake.origin)
      isDown = true
      clock.now += (worksFor - 1) * 1000
      expect((await user.company(fake.origin)).name).toBe('Fake Company')
      clock.now += 62_000
      expect((await errorOf(user.company(fake.origin))).code).toBe('unreachable')
    }
  })

  it('follows a redirect of poppy.json, which still speaks for the domain asked [3.follow-redirects, 3.speaks-for-asked-domain]', async () => {
    const { agent, user, fake, clock } = await startVisit()
    const host = await startFakeCompany({ now: () => clock.now, keySet: keySetOf(agent), domain: '127.0.0.1' })
    fake.switches.redirect = `${host.origin}/.well-known/poppy.json`
    // The host's own document speaks for the host.
    expect((await errorOf(user.company(fake.origin))).code).toBe('untrusted_company')
    host.switches.poppy = (document) => ({
      ...document,
      organization: { name: 'Fake Company', domain: 'localhost' },
      auth: { issuer: fake.origin },
    })
    clock.now += 120_000
    expect(await user.company(fake.origin)).toMatchObject({ domain: 'localhost', issuer: fake.origin })
  })

  it('refuses a redirect that leaves HTTPS, and one without end [3.redirect-https]', async () => {
    const { user, fake } = await startVisit()
    for (const target of [
      'http://example.com/poppy.json',
      'ftp://localhost/poppy.json',
      'https://user:x@example.com/',
    ]) {
      fake.switches.redirect = target
      expect((await errorOf(user.company(fake.origin))).code).toBe('untrusted_company')
    }
    fake.switches.redirect = '/.well-known/poppy.json'
    fake.take()
    expect((await errorOf(user.company(fake.origin))).message).toContain('more than 5 times')
    expect(fake.take()).toHaveLength(6)
  })

  it('refuses plain HTTP but for development on this machine', async () => {
    const asked: string[] = []
    const fetch: Fetch = async (url) => {
      asked.push(url)
      return new Response('', { status: 404 })
    }
    const { user } = await startVisit({ fetch, allowHttp: false, clientId: 'https://agent.example/agent.json' })
    for (const address of ['http://example.com', 'http://localhost:4000', 'ftp://example.com', 'not a domain', 'a/b']) {
      expect((await errorOf(user.company(address))).code).toBe('invalid_input')
    }
    expect(asked).toEqual([])
    expect((await errorOf(user.company('example.com'))).code).toBe('not_a_company')
    expect((await errorOf(user.company('https://example.com/some/page'))).code).toBe('not_a_company')
    expect(asked).toEqual(Array(2).fill('https://example.com/.well-known/poppy.json'))
  })

  it('stops reading a document at 256 KB', async () => {
    const { user, fake } = await startVisit()
    fake.switches.poppy = (document) => ({ ...document, padding: 'x'.repeat(300_000) })
    expect((await errorOf(user.company(fake.origin))).message).toContain('larger than 256 KB')
  })

  it('judges no document with more values than a Company has to say', async () => {
    const { user, fake } = await startVisit()
    const many = Array(20_000).fill(1)
    fake.switches.poppy = (document) => ({ ...document, organization: { name: many, domain: 'localhost' } })
    expect((await errorOf(user.company(fake.origin))).message).toContain('too many values')
    fake.switches.poppy = (document) => document
    fake.switches.metadata = (document) => ({ ...document, poppy_domains: many })
    expect((await errorOf(user.company(fake.origin))).message).toContain('too many values')
  })

  it('is one User with the same Sessions and Account Tokens at all domains of an issuer [3.2.one-issuer-agent]', async () => {
    const { agent, user, fake, clock, signIn } = await startVisit()
    const other = await startFakeCompany({ now: () => clock.now, keySet: keySetOf(agent), domain: '127.0.0.1' })
    other.switches.poppy = ({ auth, ...rest }) => ({ ...rest, auth: { ...(auth as object), issuer: fake.origin } })
    fake.switches.metadata = (document) => ({ ...document, poppy_domains: ['localhost', '127.0.0.1'] })
    const here = (await user.company(fake.origin)).session()
    await signIn(here, ['poppy:read'])
    const company = await user.company(other.origin)
    expect(company).toMatchObject({ domain: '127.0.0.1', issuer: fake.origin })
    expect(await company.session().start()).toEqual(await here.state())
    // Another Session, which the Account Token from the other domain starts signed in.
    expect(await (await company.startSession()).state()).toMatchObject({ signedIn: true, scopes: ['poppy:read'] })
    // And one that starts signed out, so by a User ID: the same one.
    expect(await (await company.startSession({ account: 'work' })).state()).toMatchObject({ signedIn: false })
    const [first, , third] = [...fake.sessions.values()]
    expect(third?.userId).toBe(first?.userId)
    expect([fake.sessions.size, fake.proofKeys.size, other.sessions.size]).toEqual([3, 1, 0])
  })

  it('notices when a domain changes its issuer', async () => {
    const { agent, fake, clock, session } = await startVisit()
    const here = await session()
    await here.start()
    const other = await startFakeCompany({ now: () => clock.now, keySet: keySetOf(agent) })
    other.switches.metadata = (document) => ({ ...document, poppy_domains: ['localhost'] })
    fake.switches.poppy = ({ auth, ...rest }) => ({ ...rest, auth: { ...(auth as object), issuer: other.origin } })
    clock.now += 2 * 3600 * 1000
    expect((await errorOf(here.call('echo'))).code).toBe('company_changed')
    expect(other.paths().filter((path) => path.includes('/token'))).toEqual([])
  })
})

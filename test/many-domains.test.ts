import type { CompanyConfig } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { namedFetch, type Rewrite, tlsProxy } from './setup/names.ts'
import { guests, openSite } from './setup/site.ts'
import { internetFetcher, openVisitor } from './setup/small-internet.ts'
import { makeWorld } from './setup/world.ts'

const timeout = 120_000
const origin = 'https://miramar.example'
const domains = ['miramar.example', 'miramar.de']
const organization = { name: 'Hotel Miramar', domains }
const names = [...domains, 'www.miramar.de', 'www.miramar.example', 'evil.test']

/** The hotel under each of its names and one that isn't its, all of them leading to one machine. */
async function open(config: Partial<CompanyConfig> = {}, rewrite?: Rewrite) {
  const whole = { organization, fetchDocument: internetFetcher(), ...config }
  const site = await openSite(whole, { origin })
  const ports: Record<string, number> = {}
  for (const name of names) ports[name] = await tlsProxy(name, site.port, rewrite)
  return { ...site, browse: namedFetch(ports), ...(await openVisitor(ports)) }
}

const poppyOf = async (browse: ReturnType<typeof namedFetch>, name: string, headers: Record<string, string> = {}) => {
  const answer = await browse(`https://${name}/.well-known/poppy.json`, { headers })
  const document = (answer.status === 200 ? await answer.json() : {}) as {
    organization?: { domain: string }
    auth?: { issuer: string }
  }
  return { answer, domain: document.organization?.domain, issuer: document.auth?.issuer }
}

describe('a Company with a domain for each country', () => {
  it('is one Company: the same User, Sessions and Account Token at each [3.2.one-issuer, 3.2.one-issuer-agent]', {
    timeout,
  }, async () => {
    const { agent, person, asked } = await open()
    const user = agent.forUser('maya')
    const [here, there, www] = await Promise.all(
      ['miramar.example', 'miramar.de', 'www.miramar.de'].map((name) => user.company(name)),
    )
    if (!here || !there || !www) throw new Error('not found')
    expect([here.domain, there.domain, www.domain]).toEqual(['miramar.example', 'miramar.de', 'miramar.de'])
    expect(new Set([here.issuer, there.issuer, www.issuer])).toEqual(new Set([origin]))

    const first = (await here.session().call('echo', { text: 'a' })).body as { userId: string }
    const { sessionId } = await here.session().state()
    const second = (await there.session().call('echo', { text: 'a' })).body as { userId: string }
    expect(second.userId).toBe(first.userId)
    expect((await there.session().state()).sessionId).toBe(sessionId)

    const pending = await there.session().beginSignIn({ scopes: ['poppy:read'] })
    const consent = await person.submit(await person.open(pending.url), guests.maya)
    await person.submit(consent, { scope: ['poppy:read'], decision: 'approve' })
    await pending.done
    expect((await here.session().call('my_bookings', {})).body).toEqual({ account: 'acc-maya' })
    // A Session of its own at the other domain starts from the same Account Token.
    const other = await www.startSession()
    expect((await other.call('my_bookings', {})).body).toEqual({ account: 'acc-maya' })
    expect(await www.session().signOut()).toEqual({ revoked: true })
    await expect(here.session().call('my_bookings', {})).rejects.toMatchObject({ code: 'sign_in_required' })

    // The other domain gives the document, and everything else is asked at the origin.
    const elsewhere = asked.filter((url) => url.includes('miramar.de'))
    expect(new Set(elsewhere.map((url) => new URL(url).pathname))).toEqual(new Set(['/.well-known/poppy.json']))
  })

  it('answers each domain with a document of its own, all with one issuer that lists them [3.1.organization-domain, 3.2.poppy-domains]', {
    timeout,
  }, async () => {
    const { browse } = await open()
    const found = await Promise.all(names.map((name) => poppyOf(browse, name)))
    expect(found.map(({ domain }) => domain)).toEqual([
      'miramar.example',
      'miramar.de',
      'miramar.de',
      'miramar.example',
      undefined,
    ])
    expect(found.map(({ issuer }) => issuer)).toEqual([origin, origin, origin, origin, undefined])
    expect(found.at(-1)?.answer.status).toBe(421)
    const metadata = await (await browse(`${origin}/.well-known/oauth-authorization-server`)).json()
    expect(metadata).toMatchObject({ issuer: origin, poppy_domains: domains })
  })

  it('keeps its documents apart in caches: an ETag for each, and none that many share [K38]', { timeout }, async () => {
    const { browse } = await open()
    const [one, other] = [await poppyOf(browse, 'miramar.example'), await poppyOf(browse, 'miramar.de')]
    const etags = [one, other].map(({ answer }) => answer.headers.get('etag') ?? '')
    expect(new Set(etags).size).toBe(2)
    for (const { answer } of [one, other]) {
      expect(answer.headers.get('vary')).toBe('Host')
      expect(answer.headers.get('cache-control')).toBe('private, max-age=300')
    }
    // The other domain's ETag is no reason to keep what one has.
    const kept = await poppyOf(browse, 'miramar.de', { 'if-none-match': etags[1] ?? '' })
    expect([kept.answer.status, kept.answer.headers.get('vary')]).toEqual([304, 'Host'])
    expect((await poppyOf(browse, 'miramar.de', { 'if-none-match': etags[0] ?? '' })).domain).toBe('miramar.de')
    const refused = (await poppyOf(browse, 'evil.test')).answer
    expect(refused.headers.get('cache-control')).toBe('no-store')
  })

  it('answers at the other domains with documents alone', { timeout }, async () => {
    const { browse } = await open()
    const at = async (url: string, method = 'POST') => (await browse(url, { method })).status
    const paths = ['/poppy/token', '/poppy/revoke', '/poppy/mcp', '/poppy/tools/echo', '/poppy/authorize']
    for (const path of paths) {
      for (const name of names.slice(1))
        expect([name, path, await at(`https://${name}${path}`)]).toEqual([name, path, 421])
      expect([path, await at(origin + path)]).not.toEqual([path, 421])
    }
    expect(await at('https://miramar.de/poppy/openapi.json', 'GET')).toBe(421)
    expect(await at('https://miramar.de/poppy/token', 'OPTIONS')).toBe(421)
    expect(await at('https://miramar.de/.well-known/oauth-authorization-server', 'GET')).toBe(200)
  })
})

describe('behind a proxy with a name of its own for the machine', () => {
  const inner =
    (forwarded: (host: string) => Record<string, string>): Rewrite =>
    ({ path, headers }) => ({ path, headers: { ...headers, ...forwarded(headers.host ?? ''), host: 'app:3000' } })

  it('X-Forwarded-Host says which domain is meant, where that is switched on [3.1.organization-domain, K38]', {
    timeout,
  }, async () => {
    const proxy = { hosts: ['app:3000'], forwardedHost: true }
    const { browse, agent } = await open(
      { proxy },
      inner((host) => ({ 'x-forwarded-host': host })),
    )
    const found = await Promise.all(names.map((name) => poppyOf(browse, name)))
    expect(found.map(({ domain }) => domain)).toEqual([
      'miramar.example',
      'miramar.de',
      'miramar.de',
      'miramar.example',
      undefined,
    ])
    expect(found.map(({ answer }) => answer.status)).toEqual([200, 200, 200, 200, 421])
    expect(found[0]?.answer.headers.get('vary')).toBe('Host, X-Forwarded-Host')
    const company = await agent.forUser('maya').company('miramar.de')
    expect((await company.session().call('echo', { text: 'a' })).status).toBe(200)
  })

  it('and changes nothing at all where it is not [K38]', { timeout }, async () => {
    const proxy = { hosts: ['app:3000'] }
    const lies = inner(() => ({
      'x-forwarded-host': 'miramar.de',
      'x-forwarded-proto': 'http',
      forwarded: 'host=evil.test',
    }))
    const { browse, agent } = await open({ proxy }, lies)
    for (const name of names) expect((await poppyOf(browse, name)).domain).toBe('miramar.example')
    // The agent that asked the other domain sees that the document isn't that domain's.
    await expect(agent.forUser('maya').company('miramar.de')).rejects.toMatchObject({ code: 'untrusted_company' })
  })

  it('which has to be known to be answered', { timeout }, async () => {
    const { browse } = await open(
      {},
      inner((host) => ({ 'x-forwarded-host': host })),
    )
    for (const name of names) expect((await poppyOf(browse, name)).answer.status).toBe(421)
  })
})

describe('a Company with one domain', () => {
  it('needs no telling apart, and caches that many share may keep its documents', async () => {
    const world = await makeWorld()
    const answer = await world.send(new Request(`${origin}/.well-known/poppy.json`))
    expect([answer.headers.get('vary'), answer.headers.get('cache-control')]).toEqual([null, 'public, max-age=300'])
  })
})

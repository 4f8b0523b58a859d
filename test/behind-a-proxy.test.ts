import type { Company, CompanyConfig } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { listen } from './setup/listen.ts'
import { namedFetch, type Rewrite, tlsProxy } from './setup/names.ts'
import { createSiteCompany, guests, makeSitePages, siteHandler } from './setup/site.ts'
import { internetFetcher, openVisitor } from './setup/small-internet.ts'

// As it stands on the internet: a proxy ends TLS, knows other sites too, and gives this one what is below its prefix, with
// the prefix or without it. The site never sees the address that the agent asked.

const timeout = 120_000
const host = 'https://miramar.example'
const basePath = '/svc2'
const spaResource = `${host}${basePath}/spa`

/** What the proxy passes on: our prefix and the documents of the host. */
const isOurs = (path: string) => path.startsWith(`${basePath}/`) || path.startsWith('/.well-known/')
const lies = { 'x-forwarded-host': 'evil.test', 'x-forwarded-proto': 'http', forwarded: 'host=evil.test' }

const keeps: Rewrite = ({ path, headers }) => (isOurs(path) ? { path, headers: { ...headers, ...lies } } : null)
const strips: Rewrite = (asked) => {
  const kept = keeps(asked)
  return kept && { ...kept, path: kept.path.startsWith(basePath) ? kept.path.slice(basePath.length) : kept.path }
}
const callsItself =
  (name: string, rewrite: Rewrite): Rewrite =>
  (asked) => {
    const passed = rewrite(asked)
    return passed && { ...passed, headers: { ...passed.headers, host: name } }
  }

interface Way {
  readonly name: string
  readonly config: Partial<CompanyConfig>
  readonly rewrite: Rewrite
}

const ways: readonly Way[] = [
  { name: 'keeps the prefix', config: {}, rewrite: keeps },
  { name: 'strips the prefix', config: { proxy: { stripsBasePath: true } }, rewrite: strips },
  {
    name: 'strips it and says localhost',
    config: { proxy: { stripsBasePath: true }, nonces: true, toolsResource: `${host}${basePath}/tools` },
    rewrite: callsItself('localhost:3000', strips),
  },
  {
    name: 'strips it and calls the machine by its own name; the issuer has a path of its own',
    config: { proxy: { stripsBasePath: true, hosts: ['app:3000'] }, issuer: `${host}/guests` },
    rewrite: callsItself('app:3000', strips),
  },
]

/** The spa's own API, which the site serves by itself, below the prefix. */
const spaDocument = {
  openapi: '3.1.0',
  info: { title: 'Spa', version: '1' },
  servers: [{ url: `${host}${basePath}/spa` }],
  paths: {
    '/hours': { get: { operationId: 'spa_hours', responses: { 200: { description: 'When it is open.' } } } },
  },
}

function spa(company: Company) {
  return async (request: Request): Promise<Response | null> => {
    const { pathname } = new URL(request.url)
    if (pathname.endsWith('/spa/openapi.json')) return Response.json(spaDocument)
    if (!pathname.endsWith('/spa/hours')) return null
    const caller = await company.authenticate(request, { resource: spaResource })
    return caller instanceof Response ? caller : Response.json({ open: '9 to 21', resource: caller.resource })
  }
}

async function open({ config, rewrite }: Way) {
  const log: string[] = []
  const pages = makeSitePages(basePath)
  const whole: Partial<CompanyConfig> = {
    basePath,
    fetchDocument: internetFetcher(),
    address: () => '203.0.113.7',
    apis: [
      { type: 'openapi', url: `${host}${basePath}/spa/openapi.json`, description: 'The spa', resource: spaResource },
    ],
    ...config,
  }
  let company: Company | undefined
  const { port } = await listen(
    (origin) => {
      company = createSiteCompany({ origin, pages, log }, whole)
      const [ours, own] = [siteHandler(company, pages), spa(company)]
      return async (request) => (await own(request)) ?? ours(request)
    },
    { origin: host },
  )
  await company?.start()
  // What it says of itself at the start is none of this test's.
  log.splice(0)
  const proxy = await tlsProxy('miramar.example', port, rewrite)
  const ports = { 'miramar.example': proxy }
  return { company: company as Company, log, browse: namedFetch(ports), ...(await openVisitor(ports)) }
}

describe.each(ways)('a proxy that $name', (way) => {
  const issuer = way.config.issuer ?? `${host}${basePath}`

  it('is no hindrance: discovery, sign-in on the page, tools by HTTP and MCP, an own API, sign-out [4.3.htu, K04, K05, K37]', {
    timeout,
  }, async () => {
    const { agent, person, asked, log } = await open(way)
    const company = await agent.forUser('maya').company('miramar.example')
    expect(company.issuer).toBe(issuer)
    const session = company.session()
    expect((await session.call('echo', { text: 'hello' })).body).toMatchObject({ text: 'hello', account: null })
    await expect(session.call('my_bookings', {})).rejects.toMatchObject({ code: 'sign_in_required' })

    const pending = await session.beginSignIn({ scopes: ['poppy:read', 'loyalty'] })
    const login = await person.open(pending.url)
    expect(new URL(login.url).pathname).toBe(`${basePath}/login`)
    const consent = await person.submit(login, guests.maya)
    expect(new URL(consent.url).pathname).toBe(`${basePath}/poppy/authorize`)
    const back = await person.submit(consent, { scope: ['poppy:read', 'loyalty'], decision: 'approve' })
    expect(new URL(back.url).hostname).toBe('agent.example')
    expect((await pending.done).granted).toEqual(['poppy:read', 'loyalty'])

    expect((await session.call('my_bookings', {})).body).toEqual({ account: 'acc-maya' })
    expect((await session.call('spa_hours', {})).body).toEqual({ open: '9 to 21', resource: spaResource })
    const mcp = await session.mcp()
    expect(mcp.url).toBe(`${host}${basePath}/poppy/mcp`)
    expect((await mcp.call('my_bookings')).structuredContent).toEqual({ account: 'acc-maya' })
    await mcp.close()
    expect(await session.signOut()).toEqual({ revoked: true })
    await expect(session.call('my_bookings', {})).rejects.toMatchObject({ code: 'sign_in_required' })

    // Everybody stayed below the prefix, but for the documents of the host.
    const own = asked.filter((url) => url.startsWith(host)).map((url) => new URL(url).pathname)
    expect(own.filter((path) => !path.startsWith(`${basePath}/`) && !path.startsWith('/.well-known/'))).toEqual([])
    expect(log.filter((line) => /^(warn|error)/.test(line))).toEqual([])
    expect(log.join('\n')).not.toContain('evil.test')
  })

  it('is in every published address, and nothing that it sends is [3.well-known, K05, K38]', { timeout }, async () => {
    const { browse } = await open(way)
    const documents = [
      '/.well-known/poppy.json',
      `/.well-known/oauth-authorization-server${new URL(issuer).pathname}`,
      `/.well-known/oauth-protected-resource${basePath}/poppy/mcp`,
      `${basePath}/poppy/openapi.json`,
    ]
    for (const path of documents) {
      const answer = await browse(host + path)
      const text = await answer.text()
      expect([path, answer.status]).toEqual([path, 200])
      const addresses = [...text.matchAll(/"(https?:\/\/[^"]*)"/g)].map((match) => match[1] ?? '')
      const isRight = (address: string) => address === issuer || address.startsWith(`${host}${basePath}`)
      expect(addresses.filter((address) => !isRight(address))).toEqual([])
      expect(text).not.toContain('evil')
    }
    const elsewhere = await browse(`${host}/.well-known/oauth-authorization-server`)
    expect(elsewhere.status).toBe(404)
    const challenge = (await browse(`${host}${basePath}/poppy/mcp`, { method: 'POST' })).headers.get('www-authenticate')
    expect(challenge).toContain(`resource_metadata="${host}/.well-known/oauth-protected-resource${basePath}/poppy/mcp"`)
  })
})

describe('a strange host, over real HTTP', () => {
  it.each([
    ['evil.test', 421],
    ['miramar.example.evil.test', 421],
    ['miramar.example:8443', 421],
    ['10.0.0.7:3000', 421],
    ['"miramar.example"', 400],
    ['miramar.example, evil.test', 400],
    ['miramar.example evil.test', 400],
    ['evil.test@miramar.example', 400],
    ['miramar.example', 200],
    ['MIRAMAR.EXAMPLE.:443', 200],
    ['127.0.0.1:1', 200],
  ])('%s gets %i, and nothing of ours [K38]', { timeout }, async (name, status) => {
    const { browse, log } = await open({
      name: '',
      config: {},
      rewrite: callsItself(name, ({ path, headers }) => ({ path, headers })),
    })
    const answer = await browse(`${host}/.well-known/poppy.json`)
    const text = await answer.text()
    // What the listener itself can't read as a host is refused by it.
    expect([name, answer.status === 400 || answer.status === 421 ? 'refused' : answer.status]).toEqual([
      name,
      status === 200 ? 200 : 'refused',
    ])
    if (status !== 200) expect(text).not.toContain(host)
    expect(text).not.toContain('evil')
    expect(answer.headers.get('location')).toBeNull()
    if (status === 421) {
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(log.filter((line) => line.startsWith('warn'))).toHaveLength(1)
    }
  })
})

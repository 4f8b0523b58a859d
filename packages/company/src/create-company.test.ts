import { describe, expect, it } from 'vitest'
import { createCompany as createWhole } from './company.ts'
import type { CompanyConfig } from './config.ts'
import { createCompany } from './create-company.ts'
import { createAddresses } from './discovery/addresses.ts'
import { operation } from './operations/operation.ts'
import { succeeded } from './operations/outcome.ts'
import type { Logger } from './store/database.ts'
import { sqlite } from './store/sqlite.ts'
import { tool } from './tools/tool.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const origin = 'https://miramar.example'

const least: CompanyConfig = {
  organization: { name: 'Hotel Miramar', domain: 'miramar.example' },
  origin,
  secret: 'a-secret-for-tests-with-more-than-32-characters',
  store: sqlite(':memory:'),
  log: silent,
}
const signsIn: Partial<CompanyConfig> = {
  account: () => null,
  signInPage: () => '/login',
  scopes: { 'poppy:read': 'See your bookings' },
}
const tools = [tool({ name: 'hello', description: 'Says hello.', run: () => 'hello' })]
const operations = [
  operation({
    name: 'book',
    description: 'Books.',
    propose: () => ({ summary: 'A room.' }),
    perform: () => succeeded(),
  }),
]
const mcp = (url: string) => ({ type: 'mcp', url, description: 'Orders' }) as const

const configs: Readonly<Record<string, Partial<CompanyConfig>>> = {
  'with nothing': {},
  'with tools': { tools },
  'with Direct Sign-In': { ...signsIn, signIn: { direct: ['poppy:read'] } },
  'with Device Sign-In': { ...signsIn, tools, signIn: { device: ['poppy:read'] } },
  'with Mediated Sign-In': {
    scopes: { 'poppy:read': 'See your bookings' },
    signIn: {
      mediated: {
        scopes: ['poppy:read'],
        fields: [{ name: 'email', label: 'Email', secret: false }],
        verify: () => null,
      },
    },
  },
  'with both, and without logos': {
    ...signsIn,
    signIn: { direct: ['poppy:read'], device: ['poppy:read'] },
    agents: { logos: false },
  },
  'with documents fetched its own way': {
    ...signsIn,
    signIn: { direct: ['poppy:read'] },
    fetchDocument: async () => ({ document: {}, headers: new Headers() }),
  },
  'with operations': { operations },
  'with operations on pages of its own': { ...signsIn, operations, signIn: { direct: ['poppy:read'] } },
  'with an inbox for conversations': { staff: () => null, conversations: {} },
  'with an inbox for operations, below a path': { staff: () => null, operations, basePath: '/svc2' },
  'with browsers': { browser: true },
  'with MCP servers of its own': { apis: [mcp(`${origin}/orders/mcp`), mcp('https://api.miramar.example/mcp')] },
  'below a path': { ...signsIn, tools, basePath: '/svc2', signIn: { direct: ['poppy:read'] }, browser: true },
  'below a path that its proxy takes away': { tools, basePath: '/svc2', proxy: { stripsBasePath: true } },
}

describe('what is known before a Company is loaded', () => {
  it.each(Object.entries(configs))('is which paths it owns, %s', async (_, config) => {
    const { basePath = '' } = config
    const addresses = createAddresses({ origin, basePath })
    const urls = Object.values(addresses).filter((one) => typeof one === 'string')
    const paths = urls.filter((url) => url !== '').map((url) => new URL(url, origin).pathname)
    const asked = [...paths, ...paths.map((path) => path.replace(basePath, '')), '/orders/mcp', '/mcp', '/login']
      .concat('/poppy/operations/opn_a/confirm', '/poppy/operations/opn_a/cancel', '/poppy/operations/opn_a/page')
      .concat(
        '/poppy/inbox/take-next',
        '/poppy/inbox/conversations/cnv_a/hand-back',
        '/poppy/inbox/operations/opn_a/settle',
      )
      .concat(
        '/poppy/inbox/assets/inbox.js',
        '/poppy/inbox/conversations/cnv_a',
        '/poppy/inbox/conversations/cnv_a/confirm',
      )
      .concat('/.well-known/oauth-protected-resource/orders/mcp', '/.well-known/oauth-protected-resource/mcp')
      .flatMap((path) => [path, `${path}/`, `${path}/x`, `${path}/x/y`, `${path}x`])
    const [company, whole] = [createCompany({ ...least, ...config }), createWhole({ ...least, ...config })]
    const owned = (by: { readonly owns: (request: Request) => boolean }) =>
      [...new Set(asked)].filter((path) => by.owns(new Request(origin + path)))
    expect(owned(company)).toEqual(owned(whole))
    expect(owned(company)).toContain('/.well-known/poppy.json')
    await Promise.all([company.close(), whole.close()])
  })

  it('is that an address which no URL can have is none of its paths', async () => {
    const company = createCompany(least)
    // As a listener hands it on that joins whatever stood in Host.
    const request = Object.create(Request.prototype, { url: { value: 'http://1.2.3.4.5/poppy/token' } }) as Request
    expect(company.owns(request)).toBe(false)
  })

  it('is each mistake in the configuration, and in tools', () => {
    expect(() => createCompany({ ...least, origin: 'http://miramar.example' })).toThrow(
      '`origin` must begin with https:',
    )
    expect(() => createCompany({ ...least, tools: [...tools, ...tools] })).toThrow('Two tools are named hello.')
  })

  it('is development, said at once and once', async () => {
    const lines: string[] = []
    const log = { ...silent, warn: (_fields: object, line: string) => void lines.push(line) }
    const here = { origin: 'http://localhost:4000', organization: { name: 'Here', domain: 'localhost' } }
    const company = createCompany({ ...least, ...here, development: true, log })
    expect(lines).toEqual([expect.stringContaining('DEVELOPMENT MODE')])
    await company.start()
    await company.close()
    expect(lines.filter((line) => line.includes('DEVELOPMENT'))).toHaveLength(1)
  })

  it('is enough to close it: then it takes nothing', async () => {
    const company = createCompany(least)
    const closed = company.close()
    const answer = await company.fetch(new Request(`${origin}/.well-known/poppy.json`))
    expect(answer.status).toBe(503)
    await closed
    await expect(company.start()).rejects.toThrow('closed')
  })
})

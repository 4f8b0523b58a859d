import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DocumentError } from '../../errors.ts'
import type { Discovery } from '../codec.ts'
import { readDiscovery, writeDiscovery } from './discovery.ts'

/** The document of section 3, with the extension of 3.3. */
const example = {
  protocol_version: '0.1',
  organization: { name: 'Example Company', domain: 'example.com' },
  auth: {
    issuer: 'https://auth.example.com',
    direct: { scopes: ['poppy:read', 'poppy:write', 'addresses'] },
    device: { scopes: ['poppy:read', 'poppy:write'] },
    mediated: {
      endpoint: 'https://auth.example.com/poppy/sign-in',
      fields: [
        { name: 'email', label: 'Email', secret: false },
        { name: 'password', label: 'Password', secret: true },
      ],
      scopes: ['poppy:read'],
    },
    custom_scopes: { addresses: 'Manage saved shipping addresses' },
  },
  agent: { protocols: [{ type: 'poppy', endpoint: 'https://api.example.com/poppy/conversations' }] },
  web: { browser_session_endpoint: 'https://example.com/poppy/browser-session' },
  apis: [
    { type: 'openapi', url: 'https://api.example.com/openapi.json', description: 'Orders, returns, and exchanges' },
    { type: 'mcp', url: 'https://mcp.example.com/mcp', description: 'Product search and sizing' },
  ],
  extensions: { operations: { version: '1', endpoint: 'https://api.example.com/poppy/operations' } },
}

const head = { protocol_version: '0.1', organization: example.organization }
const issuer = { auth: { issuer: 'https://auth.example.com' } }
const read = (document: unknown) => readDiscovery(document, false)

const fault = (document: unknown): string => {
  try {
    read(document)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    return `${error.kind} ${error.message}`
  }
}

/** The example with one member replaced, at a path such as `auth.direct.scopes`; undefined takes it away. */
function changed(path: string, value: unknown): unknown {
  const document: unknown = structuredClone(example)
  const names = path.split('.')
  let at = document as Record<string, unknown>
  for (const name of names.slice(0, -1)) at = at[name] as Record<string, unknown>
  at[names.at(-1) ?? ''] = value
  return JSON.parse(JSON.stringify(document))
}

describe('poppy.json', () => {
  it('is read as the specification shows it', () => {
    const discovery = read(example)
    expect(discovery).toEqual({
      protocolVersion: '0.1',
      organization: { name: 'Example Company', domain: 'example.com' },
      issuer: 'https://auth.example.com',
      signIn: {
        direct: ['poppy:read', 'poppy:write', 'addresses'],
        device: ['poppy:read', 'poppy:write'],
        mediated: example.auth.mediated,
      },
      customScopes: { addresses: 'Manage saved shipping addresses' },
      conversations: example.agent.protocols,
      apis: example.apis,
      browserSessionEndpoint: 'https://example.com/poppy/browser-session',
      extensions: example.extensions,
    })
    expect(writeDiscovery(discovery)).toEqual(example)
  })

  it('may hold members that we do not know, wherever they stand [3.3.ignore-unknown-agent]', () => {
    const unknown = { 'x-new': { deep: [{ a: null }] }, description: 7, feedback: { endpoint: 'nowhere' } }
    const visit = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(visit)
      if (typeof value !== 'object' || value === null) return value
      return { ...unknown, ...Object.fromEntries(Object.entries(value).map(([name, member]) => [name, visit(member)])) }
    }
    const { custom_scopes: _, ...auth } = example.auth
    const { extensions: __, ...plain } = { ...example, auth }
    expect(read(visit(plain))).toEqual(read(plain))
  })

  it.each([
    ['conversations alone', { ...head, ...issuer, agent: example.agent }],
    ['APIs alone', { ...head, ...issuer, apis: example.apis }],
    ['an empty list of APIs', { ...head, ...issuer, apis: [], agent: example.agent }],
    ['a website alone', { ...head, web: {} }],
    ['a website and an issuer', { ...head, ...issuer, web: {} }],
    ['browsers that may join', { ...head, ...issuer, web: example.web }],
  ])('may be small: %s', (_, document) => {
    const discovery = read(document)
    expect(discovery.signIn).toEqual({ direct: undefined, device: undefined, mediated: undefined })
    expect(read(JSON.parse(JSON.stringify(writeDiscovery(discovery))))).toEqual(discovery)
  })

  it('states its version when it is written, whatever else there is to say [3.1.protocol-version]', () => {
    for (const document of [example, { ...head, web: {} }, { ...head, ...issuer, apis: [] }]) {
      expect(writeDiscovery(read(document))).toMatchObject({
        protocol_version: '0.1',
        organization: example.organization,
      })
    }
  })

  it('writes a website alone as one', () => {
    expect(writeDiscovery(read({ ...head, web: {} }))).toEqual({ ...head, web: {} })
  })

  it.each([
    'protocol_version',
    'organization',
    'organization.name',
    'organization.domain',
    'auth',
    'auth.issuer',
    'auth.direct.scopes',
    'auth.device.scopes',
    'auth.mediated.endpoint',
    'auth.mediated.fields',
    'auth.mediated.scopes',
    'agent.protocols',
  ])('is refused without %s [3.1.required-fields-agent]', (path) => {
    for (const value of [undefined, null, 7, true, '']) {
      const message = fault(changed(path, value))
      expect(message, `${path}: ${JSON.stringify(value)}`).toMatch(/^invalid poppy\.json is not usable: /)
      expect(message).toMatch(path.split('.')[0] ?? '')
    }
  })

  it('is refused with nothing to work with, or with an API and no issuer [3.1.required-fields-agent]', () => {
    expect(fault(head)).toMatch('none of agent, apis and web')
    expect(fault({ ...head, ...issuer })).toMatch('none of agent, apis and web')
    for (const part of [{ agent: example.agent }, { apis: example.apis }, { web: example.web }]) {
      expect(fault({ ...head, ...part })).toMatch('auth is missing')
    }
  })

  it('has HTTPS URLs, without credentials, or is refused [3.1.required-fields-agent]', () => {
    for (const path of ['auth.issuer', 'auth.mediated.endpoint', 'web.browser_session_endpoint']) {
      for (const url of [
        'http://auth.example.com',
        'http://localhost:3000',
        'https://user:secret@auth.example.com',
        'https://@auth.example.com',
        'https://auth.example.com#a',
        'https://auth.example.com\n',
        'auth.example.com',
        'javascript:alert(1)',
      ]) {
        const message = fault(changed(path, url))
        expect(message).toMatch(`${path}: not an HTTPS URL`)
        expect(message).not.toMatch('secret')
      }
    }
    expect(fault(changed('auth.issuer', 'https://auth.example.com?a'))).toMatch('auth.issuer')
  })

  it('keeps the issuer as it was spelled', () => {
    for (const spelled of [
      'https://auth.example.com/',
      'https://AUTH.example.com',
      'https://auth.example.com:443/a/',
    ]) {
      expect(read(changed('auth.issuer', spelled)).issuer).toBe(spelled)
    }
  })

  it('keeps APIs of types that we do not know, and drops entries that are none', () => {
    const graphql = { type: 'graphql', url: 'https://api.example.com/graphql' }
    const entries = [
      null,
      7,
      'mcp',
      [],
      {},
      { type: 'mcp' },
      { url: 'https://mcp.example.com/mcp' },
      { type: 7, url: 'https://mcp.example.com/mcp' },
      { type: 'mcp', url: 'http://mcp.example.com/mcp' },
      { type: 'mcp', url: 'https://user:secret@mcp.example.com/mcp' },
      { type: 'mcp', url: 'https://mcp.example.com/mcp', resource: 7 },
      graphql,
      {
        type: 'openapi',
        url: 'https://api.example.com/a.json',
        description: null,
        resource: 'https://api.example.com',
      },
    ]
    expect(read(changed('apis', entries)).apis).toEqual([
      graphql,
      { type: 'openapi', url: 'https://api.example.com/a.json', resource: 'https://api.example.com' },
    ])
  })

  it('keeps the one conversation protocol that we speak', () => {
    const protocols = [
      { type: 'a2a', endpoint: 'https://a2a.example.com' },
      { type: 'poppy', endpoint: 'http://api.example.com/c' },
      { type: 'poppy' },
      null,
      { type: 'poppy', endpoint: 'https://api.example.com/c', resource: 'https://api.example.com' },
    ]
    expect(read(changed('agent.protocols', protocols)).conversations).toEqual([protocols[4]])
  })

  it('loses descriptions of scopes that are the protocol’s own or are no text', () => {
    const scopes = { addresses: 'Addresses', 'poppy:read': 'Nothing at all', odd: { text: 'x' }, none: null }
    const { customScopes } = read(changed('auth.custom_scopes', scopes))
    expect(customScopes).toEqual({ addresses: 'Addresses' })
    expect(customScopes.constructor).toBeUndefined()
    for (const wrong of [null, 7, [], 'addresses'])
      expect(read(changed('auth.custom_scopes', wrong)).customScopes).toEqual({})
  })

  it('loses extensions without a version, and keeps what each of the others says', () => {
    const extensions = {
      a: {},
      b: { version: 1 },
      c: null,
      d: [],
      'example.com/gift-wrap': { version: '2', colour: ['red'] },
    }
    const found = read(changed('extensions', extensions)).extensions
    expect(found).toEqual({ 'example.com/gift-wrap': { version: '2', colour: ['red'] } })
    expect(found.toString).toBeUndefined()
    for (const wrong of [null, 7, [], 'operations']) expect(read(changed('extensions', wrong)).extensions).toEqual({})
  })

  it('has scopes that OAuth could carry', () => {
    for (const wrong of ['a b', '', 'a"b', 'a\\b', 'é', 7, null, 'x'.repeat(129)]) {
      expect(fault(changed('auth.direct.scopes', ['poppy:read', wrong]))).toMatch('auth.direct.scopes')
    }
    expect(read(changed('auth.direct.scopes', [])).signIn.direct).toEqual([])
  })

  it('tells nothing of its text in an error', () => {
    expect(fault(changed('organization.name', ['\u001b[31mcanary']))).not.toMatch(/canary|\[31m/)
    expect(fault({ ...example, organization: { canary: 1 } })).not.toMatch('canary')
  })

  it('is refused in any other shape, with its own error alone', () => {
    for (const document of [null, undefined, [], [example], 'x', 7, true, {}])
      expect(fault(document)).toMatch(/^invalid/)
    for (const path of ['organization', 'auth', 'auth.direct', 'auth.mediated', 'agent', 'web']) {
      for (const value of [[], [[]], ['x'], 'x', 7]) expect(fault(changed(path, value)), path).toMatch(/^invalid/)
    }
    const paths = fc.constantFrom(
      ...['protocol_version', 'organization', 'organization.name', 'auth', 'auth.issuer', 'auth.direct'],
      ...[
        'auth.mediated',
        'auth.mediated.fields',
        'auth.custom_scopes',
        'agent',
        'agent.protocols',
        'web',
        'apis',
        'extensions',
      ],
    )
    fc.assert(
      fc.property(paths, fc.jsonValue({ maxDepth: 5 }), (path, value) => {
        expect(fault(changed(path, value))).toMatch(/^(accepted|invalid)/)
      }),
      { numRuns: 500 },
    )
  })

  it('may be on this machine in development', () => {
    const document = {
      ...head,
      auth: { issuer: 'http://localhost:3000' },
      apis: [{ type: 'mcp', url: 'http://localhost:3000/mcp' }],
    }
    expect(readDiscovery(document, true).apis).toHaveLength(1)
    expect(fault(document)).toMatch('auth.issuer')
  })
})

describe('what a Company says of itself', () => {
  const scope = fc.stringMatching(/^[a-z][a-z:_-]{0,11}$/)
  const scopes = fc.uniqueArray(scope, { maxLength: 4 })
  const url = fc.webUrl({ validSchemes: ['https'], withQueryParameters: true }).filter((one) => !one.includes('\\'))
  const absent = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
  const name = fc.stringMatching(/^[a-z]{1,12}$/)
  const api = fc.record({ type: fc.constantFrom('openapi', 'mcp', 'graphql'), url, description: fc.string() })
  const discoveries: fc.Arbitrary<Discovery> = fc.record({
    protocolVersion: fc.constant('0.1'),
    organization: fc.record({ name: name, domain: fc.domain() }),
    issuer: fc.webUrl({ validSchemes: ['https'] }),
    signIn: fc.record({
      direct: absent(scopes),
      device: absent(scopes),
      mediated: absent(
        fc.record({
          endpoint: url,
          fields: fc.array(fc.record({ name, label: name, secret: fc.boolean() }), { maxLength: 3 }),
          scopes,
        }),
      ),
    }),
    customScopes: fc.dictionary(
      scope.filter((one) => !one.startsWith('poppy:')),
      fc.string(),
    ),
    conversations: fc.array(fc.record({ type: fc.constant('poppy' as const), endpoint: url }), { maxLength: 2 }),
    apis: fc.array(api, { maxLength: 3 }),
    browserSessionEndpoint: absent(url),
    extensions: fc.dictionary(name, fc.record({ version: name, endpoint: url })),
  })

  it('is read as it was written', () => {
    fc.assert(
      fc.property(discoveries, (discovery) => {
        expect(read(JSON.parse(JSON.stringify(writeDiscovery(discovery))))).toEqual(discovery)
      }),
      { numRuns: 200 },
    )
  })
})

import { type CompanyConfig, ConfigurationError, createCompany, tool } from 'poppyseed'
import { sqlite } from 'poppyseed/sqlite'
import { describe, expect, it } from 'vitest'
import { makeWorld, outcome, secret, testTools } from './setup/world.ts'

const right: CompanyConfig = {
  organization: { name: 'Hotel Miramar', domain: 'miramar.example' },
  origin: 'https://miramar.example',
  secret,
  store: sqlite(':memory:'),
  account: () => null,
  signInPage: (returnTo) => `/login?next=${encodeURIComponent(returnTo)}`,
  scopes: { 'poppy:read': 'See your bookings', 'poppy:write': 'Change your bookings', loyalty: 'See your points' },
  signIn: { direct: ['poppy:read', 'poppy:write', 'loyalty'] },
  tools: testTools(),
}

/** An API of the company's own, bent. */
const api = (bend: Record<string, unknown>) => ({
  type: 'openapi',
  url: 'https://miramar.example/api/openapi.json',
  description: 'Orders',
  ...bend,
})

/** What a person in JavaScript may write, and what the refusal has to speak of. */
const number = { name: 'number', label: 'Account number', secret: false }
const pin = { name: 'pin', label: 'PIN', secret: true }
const mediated = (bend: object) => ({
  signIn: {
    direct: ['poppy:read', 'poppy:write', 'loyalty'],
    mediated: { scopes: ['poppy:read'], fields: [number, pin], verify: () => null, ...bend },
  },
})

const wrong: readonly (readonly [name: string, bend: Record<string, unknown>, says: RegExp])[] = [
  ['a setting that nobody knows', { orgin: 'https://miramar.example' }, /no setting `orgin`.*origin/],
  ['staff without anything for them', { staff: () => null }, /needs `conversations`, `agent` or `operations`/],
  ['staff that is no function', { conversations: {}, staff: { id: 'rita' } }, /`staff` is a function/],
  ['a sign-out page for no staff', { staffSignOutPage: '/staff/out' }, /`staffSignOutPage` is for the staff inbox/],
  ...['', 'staff/out', '//elsewhere.example', '/\\elsewhere.example', 'https://elsewhere.example/', 7, null].map(
    (staffSignOutPage) =>
      [
        `${staffSignOutPage} as a sign-out page`,
        { conversations: {}, staff: () => null, staffSignOutPage },
        /`staffSignOutPage` is a path of your site, such as '\/staff\/sign-out', or a function/,
      ] as const,
  ),
  ['a sign-in page for no staff', { staffSignInPage: () => '/staff' }, /`staffSignInPage` is for the staff inbox/],
  ['a customer for no staff', { customer: () => null }, /`customer` is for the staff inbox/],
  ['saved replies for no staff', { savedReplies: [] }, /`savedReplies` is for the staff inbox/],
  [
    'a sign-in page that is a path',
    { conversations: {}, staff: () => null, staffSignInPage: '/staff' },
    /`staffSignInPage` is a function/,
  ],
  ['a customer that is none', { conversations: {}, staff: () => null, customer: {} }, /`customer` is a function/],
  ['saved replies by name', { conversations: {}, staff: () => null, savedReplies: { a: 'b' } }, /is a list of at most/],
  ['a saved reply of one text', { conversations: {}, staff: () => null, savedReplies: ['Hi.'] }, /`savedReplies\[0\]`/],
  [
    'a saved reply without a text',
    { conversations: {}, staff: () => null, savedReplies: [{ title: 'Hours', text: ' ' }] },
    /`savedReplies\[0\]` is .*32000/,
  ],
  [
    'a saved reply with more',
    { conversations: {}, staff: () => null, savedReplies: [{ title: 'Hours', text: 'x', key: 'h' }] },
    /no `savedReplies\[0\]\.key`/,
  ],
  ['no organization', { organization: undefined }, /`organization\.name` is missing/],
  [
    'an organization without a name',
    { organization: { name: ' ', domain: 'miramar.example' } },
    /`organization\.name`/,
  ],
  ['a domain with a scheme', { organization: { name: 'A', domain: 'https://miramar.example' } }, /bare host name/],
  ['a domain with a port', { organization: { name: 'A', domain: 'miramar.example:443' } }, /bare host name/],
  ['a domain in capitals', { organization: { name: 'A', domain: 'Miramar.example' } }, /lower case/],
  ['no domain', { organization: { name: 'A' } }, /`organization\.domain` must be a bare host name/],
  [
    'one domain and several',
    { organization: { name: 'A', domain: 'miramar.example', domains: ['miramar.example'] } },
    /all names into `domains`/,
  ],
  [
    'domains as a text',
    { organization: { name: 'A', domains: 'miramar.example' } },
    /`organization\.domains` is a list/,
  ],
  ['no domains', { organization: { name: 'A', domains: [] } }, /is a list of host names/],
  [
    'a domain in capitals among several',
    { organization: { name: 'A', domains: ['miramar.example', 'Miramar.de'] } },
    /`organization\.domains\[1\]` must be a bare host name/,
  ],
  [
    'a domain twice, once with www.',
    { organization: { name: 'A', domains: ['miramar.example', 'www.miramar.example'] } },
    /names miramar\.example twice/,
  ],
  [
    'an origin on none of the domains',
    { organization: { name: 'A', domains: ['a.example', 'a.de'] } },
    /miramar\.example is not on a\.example or a\.de/,
  ],
  ['a prefix without a slash', { basePath: 'svc2' }, /`basePath`.*begins with a slash/],
  ['a prefix that ends with one', { basePath: '/svc2/' }, /ends with none/],
  ['a prefix of nothing', { basePath: '/' }, /At the root, leave it out/],
  ['a prefix with dots that lead elsewhere', { basePath: '/a/../b' }, /`basePath` is the path/],
  ['a prefix with an escape', { basePath: '/a%2fb' }, /letters, digits/],
  ['a prefix with a host', { basePath: '//evil.test' }, /`basePath` is the path/],
  ['a prefix where the host’s documents are', { basePath: '/.well-known/x' }, /under \/\.well-known/],
  ['an issuer elsewhere', { issuer: 'https://other.example' }, /`issuer` is a URL on `origin`/],
  ['an issuer that only begins like the origin', { issuer: 'https://miramar.example.evil.test/' }, /on `origin`/],
  ['an issuer with a query', { issuer: 'https://miramar.example/?a' }, /without \? and #/],
  ['an issuer with dots', { issuer: 'https://miramar.example/a/../b' }, /the form browsers write it/],
  ['an issuer with a space', { issuer: 'https://miramar.example/my guests' }, /the form browsers write it/],
  ['a proxy as a text', { proxy: 'nginx' }, /proxy: \{ hosts: \['app:3000'\]/],
  ['a misspelt setting of the proxy', { proxy: { forwardedHosts: true } }, /no `proxy\.forwardedHosts`/],
  ['a switch of the proxy as a text', { proxy: { forwardedHost: 'yes' } }, /`proxy\.forwardedHost` is true or false/],
  ['a proxy that takes nothing away', { proxy: { stripsBasePath: true } }, /Write it as `basePath`/],
  ['a host of the proxy with a scheme', { proxy: { hosts: ['http://app:3000'] } }, /no https:\/\/ and no path/],
  ['one host of the proxy for a list', { proxy: { hosts: 'app:3000' } }, /`proxy\.hosts` lists/],
  [
    'a misspelt description',
    { organization: { ...right.organization, descripton: 'x' } },
    /`organization\.descripton`/,
  ],
  ['an empty description', { organization: { ...right.organization, description: '' } }, /organization\.description/],
  ['no origin', { origin: undefined }, /`origin` must be.*'https:\/\/miramar\.example'/],
  ['an origin with a path', { origin: 'https://miramar.example/shop' }, /'https:\/\/miramar\.example'/],
  ['an origin with a slash', { origin: 'https://miramar.example/' }, /nothing more/],
  ['an origin in capitals', { origin: 'https://MIRAMAR.example' }, /the form browsers write it/],
  ['an origin with the default port', { origin: 'https://miramar.example:443' }, /the form browsers write it/],
  ['plain http', { origin: 'http://miramar.example' }, /must begin with https:/],
  [
    'http on this machine',
    { origin: 'http://localhost:4000', organization: { name: 'A', domain: 'localhost' } },
    /development: true/,
  ],
  ['an origin elsewhere', { origin: 'https://other.example' }, /other\.example is not on miramar\.example/],
  ['an origin that only looks like it', { origin: 'https://evilmiramar.example' }, /is not on miramar\.example/],
  ['development in public', { development: true }, /loopback hosts alone/],
  ['development as a text', { development: 'no' }, /`development` is true or false/],
  ['no secret', { secret: undefined }, /`secret` is missing.*openssl rand/],
  ['no secrets', { secret: [] }, /`secret` is missing/],
  ['a short secret', { secret: 'sea-view-42' }, /`secret` is too weak.*openssl rand/],
  ['a long but plain secret', { secret: 'a'.repeat(64) }, /too weak/],
  ['a weak second secret', { secret: [secret, 'old'] }, /too weak/],
  ['a secret twice', { secret: [secret, secret] }, /the same secret twice/],
  ['a file name as store', { store: 'poppy.db' }, /store: sqlite\('poppy\.db'\)/],
  ['no account', { account: undefined }, /needs `account`/],
  ['an account that is no function', { account: { id: 'a', name: 'b' } }, /`account` is a function/],
  ['no sign-in page', { signInPage: undefined }, /needs `signInPage`/],
  ['a sign-in page as a text', { signInPage: '/login' }, /`signInPage` is a function.*returnTo/],
  ['a page for other accounts as a text', { switchAccountPage: '/login' }, /`switchAccountPage` is a function/],
  ['a script as page of connected agents', { connectedAgentsPage: 'javascript:alert(1)' }, /path or an address/],
  ['another host as page of connected agents', { connectedAgentsPage: '//evil.test' }, /path or an address/],
  ['scopes as a list', { scopes: ['poppy:read'] }, /`scopes` says for each scope/],
  ['a scope of the protocol’s own', { scopes: { ...right.scopes, 'poppy:admin': 'All' } }, /begins with poppy:/],
  ['a scope with a space', { scopes: { ...right.scopes, 'my scope': 'All' } }, /is not a scope/],
  ['a scope without words', { scopes: { ...right.scopes, loyalty: '' } }, /say what 'loyalty' means/],
  ['sign-in as a text', { signIn: 'direct' }, /signIn: \{ direct/],
  [
    'mediated as a list',
    { signIn: { mediated: ['poppy:read'] } },
    /`signIn\.mediated` is \{ scopes, fields, verify \}/,
  ],
  ['mediated without scopes', mediated({ scopes: [] }), /`signIn\.mediated\.scopes` lists/],
  ['mediated with a scope nobody described', mediated({ scopes: ['x'] }), /mediated\.scopes` names 'x'/],
  ['mediated without fields', mediated({ fields: [] }), /`signIn\.mediated\.fields` lists/],
  ['a field without a label', mediated({ fields: [{ name: 'pin', secret: true }] }), /needs a `label`/],
  [
    'a field that is not said to be secret',
    mediated({ fields: [{ name: 'pin', label: 'PIN' }] }),
    /whether it is `secret`/,
  ],
  [
    'a field with an odd name',
    mediated({ fields: [{ name: '__proto__', label: 'x', secret: true }] }),
    /begins with a letter/,
  ],
  ['two fields of one name', mediated({ fields: [number, pin, pin] }), /two fields of one name/],
  ['credentials that are all secret', mediated({ fields: [pin] }), /needs a field that isn't secret/],
  ['mediated without a check', mediated({ verify: undefined }), /`signIn\.mediated\.verify` is/],
  ['codes that nobody sends', mediated({ needsCode: () => true }), /set `sendCode` as well/],
  ['a misspelt setting of mediated', mediated({ verfy: 1 }), /no `signIn\.mediated\.verfy`/],
  ['a scope by device that nobody described', { signIn: { device: ['x'] } }, /`signIn\.device` names 'x'/],
  ['a device sign-in without scopes', { signIn: { device: [] } }, /lists the scopes that Device Sign-In can grant/],
  ['a sign-in that nobody knows', { signIn: { magic: [] } }, /no `signIn\.magic`/],
  ['a sign-in with no scope', { signIn: { direct: [] } }, /lists the scopes/],
  [
    'a sign-in with an unknown scope',
    { signIn: { direct: ['addresses'] } },
    /names 'addresses'.*scopes: \{ 'addresses'/,
  ],
  ['a sign-in with a scope twice', { signIn: { direct: ['loyalty', 'loyalty'] } }, /names a scope twice/],
  ['tools that are no list', { tools: {} }, /`tools` is a list/],
  ['a tool that is none', { tools: [{ name: 'x', description: 'y', run: () => 1 }] }, /tools\[0\] is not a tool/],
  ['APIs that are no list', { apis: {} }, /`apis` is a list/],
  ['an API that is a text', { apis: ['https://miramar.example/mcp'] }, /`apis\[0\]` is \{ type: 'openapi'/],
  ['an API of another type', { apis: [api({ type: 'graphql' })] }, /`apis\[0\]\.type` is 'openapi' or 'mcp'/],
  ['a misspelt API', { apis: [api({ ressource: 'x' })] }, /no `apis\[0\]\.ressource`/],
  ['an API at a path', { apis: [api({ url: '/openapi.json' })] }, /`apis\[0\]\.url` is a whole address with https:/],
  ['an API without TLS', { apis: [api({ url: 'http://miramar.example/o.json' })] }, /whole address with https:/],
  ['an API in another spelling', { apis: [api({ url: 'https://Miramar.example/o.json' })] }, /form browsers write it/],
  ['an API without words', { apis: [api({ description: ' ' })] }, /`apis\[0\]\.description` says what/],
  ['an API twice', { apis: [api({}), api({})] }, /lists https:\/\/miramar\.example\/api\/openapi\.json twice/],
  [
    'the library’s own MCP server',
    { apis: [api({ type: 'mcp', url: 'https://miramar.example/poppy/mcp' })] },
    /by itself/,
  ],
  [
    'a resource that is a word',
    { apis: [api({ resource: 'orders' })] },
    /`apis\[0\]\.resource` is an absolute address/,
  ],
  ['a resource with a fragment', { apis: [api({ resource: 'https://miramar.example/#a' })] }, /without #/],
  ['a resource of an MCP server', { apis: [api({ type: 'mcp', resource: 'urn:x' })] }, /resource is its url/],
  ['an MCP server with a query', { apis: [api({ type: 'mcp', url: 'https://miramar.example/m?a' })] }, /has no query/],
  [
    'a resource that is an MCP server',
    { apis: [api({ resource: 'https://miramar.example/poppy/mcp' })] },
    /is the url of an MCP server/,
  ],
  [
    'a resource that is the tools’ own',
    { apis: [api({ resource: 'https://miramar.example/poppy/openapi.json' })] },
    /is the tools' own/,
  ],
  ['a resource for tools that is a word', { toolsResource: 'tools' }, /`toolsResource` is an absolute address/],
  ['a resource for no tools', { tools: [], toolsResource: 'https://miramar.example/tools' }, /there are none/],
  ['extensions as a list', { extensions: ['miramar.example/loyalty'] }, /extensions: \{ 'miramar\.example\/loyalty'/],
  ['an extension with a plain name', { extensions: { loyalty: { version: 1 } } }, /for the protocol's own extensions/],
  ['the protocol’s own extension', { extensions: { operations: { version: 1 } } }, /lists those by itself/],
  [
    'an extension with an address for a name',
    { extensions: { 'https://miramar.example/loyalty': { version: 1 } } },
    /is no name of an extension/,
  ],
  ['an extension without a version', { extensions: { 'miramar.example/a': {} } }, /needs its major version/],
  ['an extension with a minor version', { extensions: { 'miramar.example/a': { version: '1.2' } } }, /major version/],
  [
    'an extension with a function',
    { extensions: { 'miramar.example/a': { version: 1, run: () => 1 } } },
    /a field that is not JSON/,
  ],
  [
    'a tool with an extension that nobody lists',
    { tools: [tool({ name: 'x', description: 'y', extension: 'miramar.example/a', run: () => 1 })] },
    /Tool x needs the extension miramar\.example\/a.*extensions: \{ 'miramar\.example\/a'/,
  ],
  ['two tools of one name', { tools: [...testTools(), ...testTools()] }, /Two tools are named echo/],
  [
    'a tool with an unknown scope',
    { tools: [tool({ name: 'x', description: 'y', scope: 'addresses', run: () => 1 })] },
    /Tool x needs the scope addresses/,
  ],
  ['agents as a list', { agents: ['https://agent.example/agent.json'] }, /agents: \{ allow/],
  ['a misspelt list of agents', { agents: { blocked: [] } }, /no `agents\.blocked`.*allow, block/],
  ['a register that is a list', { agents: { register: [] } }, /`agents\.register` is a function/],
  [
    'an address for logos',
    { agents: { logos: 'https://proxy.example' } },
    /`agents\.logos` is true, false, or a function/,
  ],
  ['no new agent at all', { agents: { newPerHour: 0 } }, /`agents\.newPerHour` is a whole number.*null/],
  ['a host on a list of agents', { agents: { block: ['agent.example'] } }, /'https:\/\/agent\.example\/agent\.json'/],
  ['one agent for a list', { agents: { allow: 'https://agent.example/agent.json' } }, /is a list of client_id/],
  ['nonces as a text', { nonces: 'on' }, /`nonces` is true, false/],
  ['nonces as null', { nonces: null }, /`nonces` is true, false/],
  ['a misspelt lifetime of nonces', { nonces: { lifetme: 60 } }, /no `nonces\.lifetme`/],
  ['nonces that live a second', { nonces: { lifetime: 1 } }, /from 10 to 86400/],
  ['rotation as a text', { rotation: 'on' }, /`rotation` is true, false/],
  ['a misspelt grace', { rotation: { grce: 60 } }, /no `rotation\.grce`/],
  ['a grace of a second', { rotation: { grace: 1 } }, /from 10 to 3600/],
  ['a mailbox for new sign-ins', { onConnection: 'security@miramar.example' }, /`onConnection` is a function/],
  ['an agent that is no function', { agent: {} as never }, /`agent` is a generator that answers one turn/],
  ['conversations as a word', { conversations: true as never }, /Write conversations: \{ resource/],
  ['conversations with a setting unknown', { conversations: { people2: {} } as never }, /conversations/],
  ['no conversation open at all', { conversations: { open: 0 } }, /`conversations\.open` is a whole number from 1/],
  [
    'conversations with a resource that is none',
    { conversations: { resource: 'talk' } },
    /`conversations\.resource` is an/,
  ],
  [
    'conversations kept for no day',
    { retention: { conversations: 0 } },
    /`retention\.conversations` is a whole number/,
  ],
  ['a record kept for no day', { retention: { audit: 0 } }, /`retention\.audit` is a whole number of days/],
  ['events kept for half a day', { retention: { events: 0.5 } }, /`retention\.events` is a whole number of days/],
  ['nothing for new sign-ins', { onConnection: null }, /`onConnection` is a function that is told of each/],
  ['a policy at sign-out that is a text', { signOut: 'end' }, /Write signOut: \{ sessions: 'end' \}/],
  ['a policy at sign-out that is null', { signOut: null }, /Write signOut: \{ sessions: 'end' \}/],
  ['a misspelt policy', { signOut: { session: 'end' } }, /no `signOut\.session`.*sessions/],
  ['an unknown policy', { signOut: { sessions: 'delete' } }, /`signOut\.sessions` is 'continue'.*or 'end'/],
  ['a misspelt lifetime', { lifetimes: { token: 60 } }, /no `lifetimes\.token`/],
  ['a lifetime of nothing', { lifetimes: { session: 0 } }, /`lifetimes\.session` is a whole number of seconds/],
  ['a lifetime as a text', { lifetimes: { accountToken: '90d' } }, /`lifetimes\.accountToken`/],
  ['a Session Token of days', { lifetimes: { sessionToken: 86_401 } }, /hours, not days/],
  ['limits as a number', { limits: 100 }, /`limits` is false, or names some: limits: \{ requestsPerSession/],
  ['limits as null', { limits: null }, /`limits` is false, or names some/],
  ['limits as true', { limits: true }, /`limits` is false, or names some/],
  ['a misspelt limit', { limits: { requestPerSession: false } }, /no `limits\.requestPerSession`.*requestsPerSession/],
  [
    'a limit as a number',
    { limits: { sessionsPerClient: 100 } },
    /Write limits: \{ sessionsPerClient: \{ requests: 3000, seconds: 60 \} \}, or false/,
  ],
  ['a limit as null', { limits: { sessionsPerUser: null } }, /or false in its place to switch it off/],
  [
    'a limit with a misspelt member',
    { limits: { requestsPerUser: { request: 5, seconds: 1 } } },
    /no `limits\.requestsPerUser\.request`.*requests, seconds/,
  ],
  ['a limit of nothing', { limits: { requestsPerUser: { requests: 0, seconds: 60 } } }, /requests from 1 to 1000000/],
  ['a limit without its seconds', { limits: { requestsPerUser: { requests: 5 } } }, /seconds from 1 to 86400/],
  ['half a request', { limits: { consentPerAccount: { requests: 0.5, seconds: 60 } } }, /takes whole numbers/],
  ['a limit over days', { limits: { failuresPerAddress: { requests: 5, seconds: 86_401 } } }, /takes whole numbers/],
  ['a limit in words', { limits: { anonymousPerAddress: { requests: '5', seconds: 60 } } }, /takes whole numbers/],
  ['an address as a text', { address: '203.0.113.7' }, /`address` is a function.*\(request\) =>/],
  ['the name of a header as address', { address: { header: 'x-forwarded-for' } }, /`address` is a function/],
  ['a log without levels', { log: console.log }, /`log` needs debug, info, warn and error/],
  ['a clock that stands', { now: 1_790_900_000_000 }, /`now` is a function/],
]

describe('a wrong configuration', () => {
  it.each(wrong)(
    '%s is refused at once, in a sentence that says what to write [4.4.reserved-names]',
    (_, bend, says) => {
      const make = () => createCompany({ ...right, ...bend } as CompanyConfig)
      expect(make).toThrow(ConfigurationError)
      expect(make).toThrow(says)
      try {
        make()
      } catch (error) {
        expect((error as Error).message).toMatch(/[.]$/)
        expect((error as Error).message).not.toContain(secret)
      }
    },
  )

  it.each([undefined, null, 'hotel'])('%s instead of one is refused too', (config) => {
    expect(() => createCompany(config as never)).toThrow(/createCompany takes one object/)
  })

  it('is told from a right one', () => {
    expect(() => createCompany(right)).not.toThrow()
    const local = {
      origin: 'http://localhost:4000',
      organization: { name: 'A', domain: 'localhost' },
      development: true,
    }
    expect(() => createCompany({ ...right, ...local, log: silent })).not.toThrow()
    const reach = {
      organization: { name: 'A', domains: ['miramar.example', 'miramar.de'], description: 'A hotel.' },
      basePath: '/svc2/v1',
      issuer: 'https://miramar.example/guests/',
      proxy: { stripsBasePath: true, hosts: ['app:3000', '10.0.0.7', '[fd00::1]:80'], forwardedHost: true },
      apis: [api({}), api({ url: 'https://api.miramar.de/o.json', resource: 'urn:miramar:orders' })],
      toolsResource: 'https://miramar.example/tools',
      extensions: {
        'miramar.de/loyalty': { version: '2', tiers: ['gold', null, { of: 1 }] },
        'carriers.example/gift-wrap': { version: 1 },
      },
    } as const
    expect(() => createCompany({ ...right, ...reach } as CompanyConfig)).not.toThrow()
    const lists = { allow: ['https://agent.example/agent.json'], block: () => false }
    expect(() =>
      createCompany({
        ...right,
        agents: lists,
        nonces: { lifetime: 60 },
        secret: [secret, `${secret}!`],
        limits: { requestsPerSession: { requests: 1, seconds: 86_400 }, consentPerAddress: false },
        address: () => '203.0.113.7',
      }),
    ).not.toThrow()
  })

  it('of an account is found when a person comes, and tells them nothing', async () => {
    for (const account of [{ id: 7, name: 'x' }, { id: '', name: 'x' }, { id: 'x' }, 'maya', true]) {
      const world = await makeWorld({ account: () => account as never })
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: world.agent.clientId,
        redirect_uri: world.agent.redirectUri,
        scope: 'poppy:read',
        code_challenge: 'x'.repeat(43),
        code_challenge_method: 'S256',
      })
      const page = await world.send(new Request(`https://miramar.example/poppy/authorize?${query}`))
      expect(page.status).toBe(500)
      expect(await page.text()).toContain('Nothing was changed')
      expect(world.log.join()).toContain('`account` has to give { id, name }')
    }
  })
})

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

describe('what is not configured', () => {
  it('is not advertised and not answered: no tools, no sign-in [3.1.something-to-use]', async () => {
    const world = await makeWorld({ tools: [], signIn: {} })
    const read = async (path: string) => (await (await world.send(new Request(world.origin + path))).json()) as object
    expect(await read('/.well-known/poppy.json')).toEqual({
      protocol_version: '0.1',
      organization: { name: 'Hotel Miramar', domain: 'miramar.example' },
      auth: { issuer: world.origin },
      apis: [],
    })
    const metadata = await read('/.well-known/oauth-authorization-server')
    expect(metadata).toMatchObject({ grant_types_supported: ['urn:ietf:params:oauth:grant-type:jwt-bearer'] })
    for (const name of [
      'authorization_endpoint',
      'scopes_supported',
      'response_types_supported',
      'code_challenge_methods_supported',
    ])
      expect(metadata).not.toHaveProperty(name)
    const absent = ['/poppy/authorize', '/poppy/mcp', '/poppy/tools/echo', '/poppy/openapi.json']
    for (const path of [...absent, '/.well-known/oauth-protected-resource/poppy/mcp'])
      expect([path, (await world.send(new Request(world.origin + path, { method: 'POST' }))).status]).toEqual([
        path,
        404,
      ])
    const started = await world.start()
    expect(started.signed_in).toBe(false)
    for (const grant_type of ['refresh_token', 'authorization_code'])
      expect(await outcome(await world.agent.token({ grant_type, refresh_token: 'x', code: 'x' }))).toBe(
        '400 unsupported_grant_type',
      )
    const mcp = await world.agent.startSession({ resource: `${world.origin}/poppy/mcp` }, { proof: null })
    expect(await outcome(mcp)).toBe('400 invalid_target')
  })

  it('is left out one by one: tools without sign-in, and scopes that no sign-in offers', async () => {
    const signedOut = await makeWorld({ tools: testTools().slice(0, 1), signIn: {} })
    const read = async (world: typeof signedOut, path: string) =>
      (await (await world.send(new Request(world.origin + path))).json()) as Record<string, unknown>
    expect(await read(signedOut, '/.well-known/poppy.json')).toMatchObject({
      apis: [{ type: 'openapi' }, { type: 'mcp' }],
    })
    expect((await read(signedOut, '/.well-known/poppy.json')).auth).toEqual({ issuer: signedOut.origin })
    expect(await read(signedOut, '/.well-known/oauth-protected-resource/poppy/mcp')).not.toHaveProperty(
      'scopes_supported',
    )
    const narrow = await makeWorld({ signIn: { direct: ['poppy:read'] }, tools: testTools().slice(0, 2) })
    expect((await read(narrow, '/.well-known/poppy.json')).auth).toMatchObject({ direct: { scopes: ['poppy:read'] } })
    expect(await read(narrow, '/.well-known/oauth-authorization-server')).toMatchObject({
      scopes_supported: ['poppy:read'],
    })
  })

  it('is missed where a tool needs it: a scope that no sign-in can grant', async () => {
    await expect(makeWorld({ signIn: { direct: ['poppy:read'] } })).rejects.toThrow(
      "Tool add_note needs the scope poppy:write, which no type of sign-in can grant, so nobody could call it. Add it: signIn: { direct: ['poppy:write'] }.",
    )
    await expect(makeWorld({ signIn: {} })).rejects.toThrow(/Tool my_bookings needs the scope poppy:read/)
  })
})

import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import type { Company, CompanyConfig, Principal } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { listen } from './setup/listen.ts'
import { tlsProxy } from './setup/names.ts'
import { createSiteCompany, makeSitePages, siteHandler } from './setup/site.ts'
import { internetFetcher, openVisitor } from './setup/small-internet.ts'
import type { WireAgent } from './setup/wire-agent.ts'
import { makeWorld, outcome, type Tokens, type World } from './setup/world.ts'

// A hotel with four services beside the tools: two that want tokens of their own, one that takes them all, and an MCP
// server that its own people wrote.

const origin = 'https://miramar.example'
const spa = `${origin}/spa/`
const kitchen = 'urn:miramar:kitchen'
const kitchenHost = 'https://kitchen.miramar.example'
const concierge = `${origin}/concierge/mcp`
const toolsResource = `${origin}/tools`

const services: Partial<CompanyConfig> = {
  toolsResource,
  apis: [
    { type: 'openapi', url: `${origin}/spa/openapi.json`, description: 'The spa', resource: spa },
    { type: 'openapi', url: `${kitchenHost}/openapi.json`, description: 'The kitchen', resource: kitchen },
    { type: 'openapi', url: `${origin}/shop/openapi.json`, description: 'The shop' },
    { type: 'mcp', url: concierge, description: 'The concierge' },
  ],
}

async function tokenFor(agent: WireAgent, resource?: string, isBearer = false): Promise<string> {
  const answer = await agent.startSession(resource === undefined ? {} : { resource }, isBearer ? { proof: null } : {})
  expect([resource, answer.status]).toEqual([resource, 200])
  return ((await answer.json()) as Tokens).access_token
}

/** How each service answers a token: by proof where it takes them, as Bearer at the MCP servers. */
function callsOf(world: World, agent: WireAgent) {
  const own = async (url: string, token: string, need: object, proofUrl = url) => {
    const dpop = await agent.proof('GET', proofUrl, token)
    const headers = { authorization: `DPoP ${token}`, dpop, host: new URL(url).host }
    const caller = await world.company.authenticate(new Request(url, { headers }), need)
    return caller instanceof Response ? outcome(caller) : '200'
  }
  const bearer = (token: string) => ({
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
  })
  return {
    own,
    tools: async (token: string) => outcome(await agent.call('/poppy/tools/echo', token, { body: { text: 'a' } })),
    spa: (token: string) => own(`${origin}/spa/hours`, token, { resource: spa }),
    kitchen: (token: string) => own(`${kitchenHost}/menu`, token, { resource: kitchen }),
    shop: (token: string) => own(`${origin}/shop/items`, token, {}),
    mcp: async (token: string) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
      const headers = { ...bearer(token), 'content-type': 'application/json' }
      return outcome(await world.send(new Request(`${origin}/poppy/mcp`, { method: 'POST', headers, body })))
    },
    concierge: async (token: string) => {
      const request = new Request(concierge, { method: 'POST', headers: bearer(token) })
      const caller = await world.company.authenticate(request, { mcp: concierge })
      return caller instanceof Response ? outcome(caller) : '200'
    },
  }
}

describe('services with tokens of their own', () => {
  it('are published, each with its resource, and MCP servers by their url [3.1.apis-fields, 6.api-type]', async () => {
    const world = await makeWorld(services)
    const document = (await (await world.send(new Request(`${origin}/.well-known/poppy.json`))).json()) as {
      apis: unknown
    }
    expect(document.apis).toEqual([
      {
        type: 'openapi',
        url: `${origin}/poppy/openapi.json`,
        description: expect.any(String),
        resource: toolsResource,
      },
      { type: 'mcp', url: `${origin}/poppy/mcp`, description: expect.any(String) },
      ...(services.apis ?? []),
    ])
  })

  it('each take tokens that were issued for them and no others, pair by pair [4.3.resource, 4.3.bearer-only-at-mcp, 6.mcp-own-url, 6.accepts-tokens, K40]', async () => {
    const world = await makeWorld(services)
    const { agent } = world
    const calls = callsOf(world, agent)
    const tokens = {
      any: await tokenFor(agent),
      tools: await tokenFor(agent, toolsResource),
      spa: await tokenFor(agent, spa),
      kitchen: await tokenFor(agent, kitchen),
      mcp: await tokenFor(agent, `${origin}/poppy/mcp`, true),
      concierge: await tokenFor(agent, concierge, true),
    }
    const takes: Record<string, keyof typeof tokens> = {
      tools: 'tools',
      spa: 'spa',
      kitchen: 'kitchen',
      shop: 'any',
      mcp: 'mcp',
      concierge: 'concierge',
    }
    for (const [service, own] of Object.entries(takes)) {
      for (const [name, token] of Object.entries(tokens)) {
        const call = calls[service as 'spa']
        expect([service, name, await call(token)]).toEqual([service, name, name === own ? '200' : '401 invalid_token'])
      }
    }
  })

  it('are the only ones that tokens are given for [4.2.invalid-target, 4.3.resource]', async () => {
    const world = await makeWorld(services)
    const none = [
      `${origin}/poppy/openapi.json`,
      `${origin}/spa`,
      `${origin}/spa/openapi.json`,
      `${origin}/shop/openapi.json`,
      `${kitchenHost}/openapi.json`,
      `${spa}?`,
      spa.toUpperCase(),
      'urn:miramar:kitchen:oven',
      'https://evil.test/mcp',
    ]
    for (const resource of none)
      for (const proof of [undefined, null])
        expect([
          resource,
          await outcome(await world.agent.startSession({ resource }, proof === null ? { proof } : {})),
        ]).toEqual([resource, '400 invalid_target'])
    expect(await outcome(await world.agent.startSession({ resource: concierge }))).toBe('400 invalid_target')
    expect(await outcome(await world.agent.startSession({ resource: spa }, { proof: null }))).toBe(
      '400 invalid_dpop_proof',
    )
  })

  it('go by the scopes of the sign-in, at an own MCP server too, and say so as MCP clients read it [6.mcp-scopes, 6.sign-in-required, 6.insufficient-scope]', async () => {
    const world = await makeWorld(services)
    const { agent } = world
    const { session_id } = await world.start()
    const signedIn = await world.signIn(agent, session_id, { scope: 'poppy:read' })
    const refresh = async (resource: string, proof?: null) => {
      const answer = await agent.token(
        { grant_type: 'refresh_token', refresh_token: signedIn.refresh_token ?? '', session_id, resource },
        proof === null ? { proof } : {},
      )
      expect(answer.status).toBe(200)
      return ((await answer.json()) as Tokens).access_token
    }
    const ask = (token: string, scope: string) =>
      world.company.authenticate(
        new Request(concierge, { method: 'POST', headers: { authorization: `Bearer ${token}` } }),
        { mcp: concierge, scope },
      )
    const token = await refresh(concierge, null)
    expect(await ask(token, 'poppy:read')).toMatchObject({ account: 'acc-maya', resource: concierge })
    const lacking = (await ask(token, 'poppy:write')) as Response
    expect(await outcome(lacking)).toBe('403 insufficient_scope')
    const metadata = `${origin}/.well-known/oauth-protected-resource/concierge/mcp`
    expect(lacking.headers.get('www-authenticate')).toMatch(/^Bearer .*scope="poppy:write"/)
    expect(lacking.headers.get('www-authenticate')).toContain(`resource_metadata="${metadata}"`)
    const signedOut = (await ask(await tokenFor(agent, concierge, true), 'poppy:read')) as Response
    expect(await outcome(signedOut)).toBe('403 sign_in_required')
    expect(await callsOf(world, agent).spa(await refresh(spa))).toBe('200')
  })

  it('an own MCP server is found by its metadata, on our origin [6.mcp-metadata, 6.mcp-authorization-servers, K37]', async () => {
    const world = await makeWorld(services)
    const anonymous = await world.company.authenticate(new Request(concierge, { method: 'POST' }), { mcp: concierge })
    expect(await outcome(anonymous as Response)).toBe('401 invalid_token')
    const challenge = (anonymous as Response).headers.get('www-authenticate') ?? ''
    const metadata = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? ''
    const document = await world.send(new Request(metadata))
    expect(await document.json()).toMatchObject({ resource: concierge, authorization_servers: [origin] })
  })

  it('on another host are asked by that host’s addresses, and by them alone [4.3.htu]', async () => {
    const api = 'https://api.miramar.example'
    const world = await makeWorld({ apis: [{ type: 'openapi', url: `${api}/openapi.json`, description: 'Orders' }] })
    const { own } = callsOf(world, world.agent)
    const token = await tokenFor(world.agent)
    expect(await own(`${api}/orders`, token, {})).toBe('200')
    expect(await own(`${origin}/orders`, token, {})).toBe('200')
    expect(await own(`${api}/orders`, token, {}, `${origin}/orders`)).toBe('401 invalid_dpop_proof')
    expect(await own(`${origin}/orders`, token, {}, `${api}/orders`)).toBe('401 invalid_dpop_proof')
    // Behind a proxy that calls the machine by another name, the resource says which it is.
    const kitchens = await makeWorld(services)
    const calls = callsOf(kitchens, kitchens.agent)
    const forKitchen = await tokenFor(kitchens.agent, kitchen)
    expect(await calls.own('http://10.0.0.7:3000/menu', forKitchen, { resource: kitchen }, `${kitchenHost}/menu`)).toBe(
      '200',
    )
    expect(await calls.own('http://10.0.0.7:3000/menu', forKitchen, { resource: kitchen }, `${origin}/menu`)).toBe(
      '401 invalid_dpop_proof',
    )
  })

  it('that nobody listed are a mistake of the site’s, and it is told', async () => {
    const world = await makeWorld(services)
    const ask = (need: object) => world.company.authenticate(new Request(`${origin}/x`), need)
    await expect(ask({ resource: `${origin}/pool` })).rejects.toThrow(/no resource that `apis` lists/)
    await expect(ask({ mcp: `${origin}/poppy/mcp` })).rejects.toThrow(/no MCP server that `apis` lists/)
    await expect(ask({ mcp: concierge, resource: spa })).rejects.toThrow(/`resource` or `mcp`/)
  })
})

/** The concierge: an MCP server as its own people write it, behind one line that asks who is calling. */
async function askConcierge(company: Company, request: Request): Promise<Response> {
  const caller = await company.authenticate(request, { mcp: concierge })
  if (caller instanceof Response) return caller
  const handler = createMcpHandler(() => conciergeServer(caller))
  const authInfo = { token: '', clientId: caller.clientId, scopes: [...caller.scopes] }
  return handler.fetch(request, { authInfo })
}

function conciergeServer(caller: Principal): McpServer {
  const server = new McpServer({ name: 'concierge', version: '1' })
  server.registerTool('who_asks', { description: 'Says for whom it works.' }, () => ({
    content: [{ type: 'text', text: `${caller.userId} at ${caller.resource}` }],
  }))
  return server
}

describe('a Personal Agent', () => {
  it('finds each service and brings the token that is for it, to the company’s own MCP server too [4.3.resource-agent, 4.3.resource, 6.accepts-tokens, 6.mcp-tokens, K40]', {
    timeout: 60_000,
  }, async () => {
    const pages = makeSitePages()
    const given: (string | null)[] = []
    let company: Company | undefined
    const { port } = await listen(
      () => {
        const config = { ...services, fetchDocument: internetFetcher() }
        const made = createSiteCompany({ origin, pages, log: [] }, config)
        company = made
        const ours = siteHandler(made, pages)
        const document = (server: string, id: string) => ({
          openapi: '3.1.0',
          info: { title: id, version: '1' },
          servers: [{ url: server }],
          paths: { [`/${id}`]: { get: { operationId: id, responses: { 200: { description: 'Yes.' } } } } },
        })
        return async (request) => {
          const url = new URL(request.url)
          const api = { '/spa': { resource: spa }, '/shop': {}, '': { resource: kitchen } }
          if (url.pathname === '/concierge/mcp') return askConcierge(made, request)
          for (const [base, need] of Object.entries(api)) {
            const isKitchen = url.hostname === 'kitchen.miramar.example'
            if ((base === '') !== isKitchen) continue
            const id = base === '' ? 'menu' : `${base.slice(1)}_hours`
            if (url.pathname === `${base}/openapi.json`)
              return Response.json(document((isKitchen ? kitchenHost : origin) + base, id))
            if (url.pathname !== `${base}/${id}`) continue
            const caller = await made.authenticate(request, need)
            if (caller instanceof Response) return caller
            given.push(caller.resource)
            return Response.json({ from: id })
          }
          return ours(request)
        }
      },
      { origin },
    )
    await company?.start()
    const ports = {
      'miramar.example': await tlsProxy('miramar.example', port),
      'kitchen.miramar.example': await tlsProxy('kitchen.miramar.example', port),
    }
    const { agent } = await openVisitor(ports)
    const session = (await agent.forUser('maya').company('miramar.example')).session()
    const { userId } = (await session.call('echo', { text: 'a' })).body as { userId: string }
    for (const id of ['spa_hours', 'shop_hours', 'menu'])
      expect((await session.call(id, {})).body).toEqual({ from: id })
    expect(given).toEqual([spa, null, kitchen])
    const mcp = await session.mcp({ url: concierge })
    const said = await mcp.call('who_asks')
    expect(said.content).toEqual([{ type: 'text', text: `${userId} at ${concierge}` }])
    await mcp.close()
  })
})

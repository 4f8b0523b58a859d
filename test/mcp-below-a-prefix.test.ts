import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import type { Company } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { listen } from './setup/listen.ts'
import { makeMcpClient } from './setup/mcp-client.ts'
import { createSiteCompany, makeSitePages, siteHandler } from './setup/site.ts'

// The official MCP client again, given an address below a prefix and nothing else: it has to find metadata and issuer by
// path insertion, at the library's server and at one that the company wrote itself.

const basePath = '/svc2'

async function open() {
  const made = await makeMcpClient('private_key_jwt')
  const pages = makeSitePages(basePath)
  let company: Company | undefined
  const { origin } = await listen((origin) => {
    const concierge = `${origin}${basePath}/concierge`
    const mine = createSiteCompany(
      { origin, pages, log: [] },
      {
        basePath,
        fetchDocument: made.fetchDocument,
        now: () => Date.now(),
        apis: [{ type: 'mcp', url: concierge, description: 'The concierge' }],
      },
    )
    company = mine
    const ours = siteHandler(mine, pages)
    return async (request) => {
      if (new URL(request.url).pathname !== `${basePath}/concierge`) return ours(request)
      const caller = await mine.authenticate(request, { mcp: concierge, scope: 'poppy:read' })
      if (caller instanceof Response) return caller
      const handler = createMcpHandler(() => {
        const server = new McpServer({ name: 'concierge', version: '1' })
        server.registerTool('who_asks', { description: 'Says for whom it works.' }, () => ({
          content: [{ type: 'text', text: `${caller.account} at ${caller.resource}` }],
        }))
        return server
      })
      return handler.fetch(request, { authInfo: { token: '', clientId: caller.clientId, scopes: [...caller.scopes] } })
    }
  })
  await company?.start()
  return { origin, made }
}

describe('an MCP client that knows nothing of Poppy', () => {
  it('signs in at the library’s server below a prefix [6.mcp-own-flow, K05, K37]', { timeout: 60_000 }, async () => {
    const { origin, made } = await open()
    const mcp = await made.open(`${origin}${basePath}/poppy/mcp`, [['poppy:read']])
    await mcp.connect()
    expect(await mcp.call('my_bookings')).toMatchObject({ structuredContent: { account: 'acc-maya' } })
    const found = mcp.sent.filter(({ status }) => status === 200).map(({ path }) => path)
    expect(found).toContain(`/.well-known/oauth-protected-resource${basePath}/poppy/mcp`)
    expect(found).toContain(`/.well-known/oauth-authorization-server${basePath}`)
    expect(found).toContain(`${basePath}/poppy/token`)
  })

  it('signs in at the company’s own server, whose token works at no other [6.mcp-own-flow, 6.mcp-own-url, K40]', {
    timeout: 60_000,
  }, async () => {
    const { origin, made } = await open()
    const mcp = await made.open(`${origin}${basePath}/concierge`, [['poppy:read']])
    await mcp.connect()
    const said = await mcp.call('who_asks')
    expect(said.content).toEqual([{ type: 'text', text: `acc-maya at ${origin}${basePath}/concierge` }])
    const elsewhere = await fetch(`${origin}${basePath}/poppy/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${mcp.tokens()?.access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    expect([elsewhere.status, await elsewhere.json()]).toEqual([
      401,
      expect.objectContaining({ error: 'invalid_token' }),
    ])
  })
})

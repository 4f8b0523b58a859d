/** The bare MCP library: its handler and its low-level server on the product's listener, with the product's tool. */

import { createAdaptorServer } from '@hono/node-server'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { listen, sayReady } from './parties.ts'

const origin = 'https://company.example'
const inputSchema = { type: 'object' as const, properties: {} }

const handler = createMcpHandler(() => {
  const server = new Server({ name: 'bench', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({
    tools: [{ name: 'my_bookings', description: 'Bookings of the guest.', inputSchema }],
  }))
  server.setRequestHandler('tools/call', ({ params }) => {
    const value = { account: 'account', input: params.arguments ?? {} }
    const result = { content: [{ type: 'text' as const, text: JSON.stringify(value) }], structuredContent: value }
    return server.projectCallToolResult(result, undefined)
  })
  return server
})

const server = createAdaptorServer({ fetch: (request) => handler.fetch(request) })
const { port } = await listen(server as Parameters<typeof listen>[0])
sayReady({ port, origin, mcp: { path: '/poppy/mcp', tokens: ['nobody'] } })

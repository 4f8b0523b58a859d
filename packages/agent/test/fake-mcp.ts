import { PoppyError } from '@poppyseed/protocol'

/** The fake Company's MCP server: just enough JSON-RPC for the official client, in its 2025 revision. */

interface Message {
  readonly id?: number | string
  readonly method: string
  readonly params?: { readonly name?: string; readonly arguments?: unknown; readonly protocolVersion?: string }
}

const tools: Readonly<Record<string, readonly string[]>> = {
  greet: [],
  my_orders: ['poppy:read'],
  my_addresses: ['addresses'],
}

export async function fakeMcp(
  body: string,
  toolErrors: boolean,
  authenticate: (scopes: readonly string[]) => Promise<unknown>,
): Promise<{ status: number; value: unknown; headers: Record<string, string> }> {
  await authenticate([])
  if (body === '') return { status: 405, value: '', headers: {} }
  const message = JSON.parse(body) as Message
  if (message.id === undefined) return { status: 202, value: '', headers: {} }
  const answer = (result: unknown) => ({ status: 200, value: { jsonrpc: '2.0', id: message.id, result }, headers: {} })
  switch (message.method) {
    case 'initialize':
      return answer({
        protocolVersion: message.params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'fake', version: '1' },
      })
    case 'tools/list':
      return answer({ tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) })
    case 'tools/call': {
      const scopes = tools[message.params?.name ?? ''] ?? []
      try {
        await authenticate(scopes)
      } catch (error) {
        if (!toolErrors || !(error instanceof PoppyError)) throw error
        return answer({
          isError: true,
          content: [{ type: 'text', text: error.message }],
          structuredContent: error.body(),
        })
      }
      return answer({ content: [{ type: 'text', text: `Hello from ${message.params?.name}` }] })
    }
    default:
      return {
        status: 200,
        value: { jsonrpc: '2.0', id: message.id, error: { code: -32_601, message: 'Method not found' } },
        headers: {},
      }
  }
}

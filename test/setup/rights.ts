import { outcome, type Tokens, type World } from './world.ts'

/** What a token may do, seen from outside. */

/** The tokens of an answer. */
export const tokensOf = async (answer: Promise<Response>) => (await (await answer).json()) as Tokens

/** `out` is a signed-out caller, `in` one that may see the bookings, `narrow` one whose scopes leave them out. */
export async function rightsOf(world: World, token: string, agent = world.agent): Promise<string> {
  const answer = await outcome(await agent.call('/poppy/tools/my_bookings', token))
  return { '200': 'in', '403 sign_in_required': 'out', '403 insufficient_scope': 'narrow' }[answer] ?? answer
}

/** Lists the tools at the MCP server, with any `Authorization` header. */
export function listTools(world: World, authorization: string, headers: Record<string, string> = {}) {
  return world.send(
    new Request(`${world.origin}/poppy/mcp`, {
      method: 'POST',
      headers: {
        authorization,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
    }),
  )
}

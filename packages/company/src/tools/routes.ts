import { parseJsonObject } from '../http/body.ts'
import type { Principal } from '../sessions/principal.ts'
import type { ToolRegistry } from './registry.ts'

/** `POST /poppy/tools/{name}` (6): a tool as one HTTP request. */

/**
 * Calls a tool with a JSON object and answers 200 with its result as JSON, or 202 with a proposal.
 * @param body the request's body as text, already read and bounded; an empty one stands for `{}`
 * @throws PoppyError for the boundary: what the registry throws, `unsupported_media_type`, `invalid_request`
 */
export async function callToolOverHttp(
  registry: ToolRegistry,
  name: string,
  request: Request,
  principal: Principal,
  body: string,
): Promise<Response> {
  // Rights first: who may not call the tool learns nothing about its input.
  const { proposes } = await registry.authorize(name, principal)
  const input = parseJsonObject(request, body)
  const { json } = await registry.call(name, input, { principal, signal: request.signal, via: 'http' })
  // Operations 4: a proposal is accepted, and nothing is done yet
  return new Response(json, {
    status: proposes ? 202 : 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  })
}

import { isJsonObject, JsonError, PoppyError, parseStrictJson } from '@poppyseed/protocol'
import { mediaType } from '../http/body.ts'
import type { Principal } from '../sessions/principal.ts'
import type { ToolRegistry } from './registry.ts'

/** `POST /poppy/tools/{name}` (6): a tool as one HTTP request. */

/**
 * Calls a tool with a JSON object and answers 200 with its result as JSON.
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
  await registry.authorize(name, principal)
  const input = readInput(request, body)
  const { json } = await registry.call(name, input, { principal, signal: request.signal, via: 'http' })
  return new Response(json, { headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } })
}

function readInput(request: Request, body: string): Record<string, unknown> {
  if (body.trim() === '') return {}
  if (mediaType(request) !== 'application/json') {
    throw new PoppyError('unsupported_media_type', { description: 'The body must be application/json.' })
  }
  const input = parse(body)
  if (!isJsonObject(input)) throw new PoppyError('invalid_request', { description: 'The body must be a JSON object.' })
  return input
}

function parse(body: string): unknown {
  try {
    return parseStrictJson(body)
  } catch (error) {
    throw new PoppyError('invalid_request', {
      description: error instanceof JsonError ? error.message : 'The body is not JSON.',
      cause: error,
    })
  }
}

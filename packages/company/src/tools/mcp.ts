import type { CallToolResult, ListToolsResult, McpHttpHandler, Server } from '@modelcontextprotocol/server'
import { formatChallenge, formatScope, isJsonObject, JsonError, PoppyError, parseStrictJson } from '@poppyseed/protocol'
import { readBody } from '../http/body.ts'
import { wholeSeconds } from '../http/respond.ts'
import type { Proposed } from '../operations/operation-tool.ts'
import type { Principal } from '../sessions/principal.ts'
import type { Logger } from '../store/database.ts'
import { isWelcomePage } from './mcp-origin.ts'
import { describeTool } from './mcp-tool.ts'
import type { ToolRegistry } from './registry.ts'
import { forLog } from './run.ts'

/** The tools as an MCP server (6): Streamable HTTP without state, the 2025 revisions and 2026-07-28 at one address. */

/** What {@link createMcpEndpoint} needs. */
export interface McpEndpointOptions {
  readonly registry: ToolRegistry
  readonly serverInfo: { readonly name: string; readonly version: string; readonly title?: string }
  /** The server's address and resource, exactly as `poppy.json` gives it. */
  readonly url: string
  /** Where its RFC 9728 metadata is. */
  readonly resourceMetadataUrl: string
  readonly log: Logger
  /** Host names by which callers reach us, without port, IPv6 in brackets; left out, no page is turned away. */
  readonly hostNames?: readonly string[]
  /** Bytes; 1 MiB when left out. */
  readonly maxBodyBytes?: number
}

/** See {@link createMcpEndpoint}. */
export interface McpEndpoint {
  /**
   * Turns away what no token could help, before one is looked at: a page that reached us by a name of its own (DNS
   * rebinding), and whoever asks for the stream that MCP lets a server have and this one hasn't. Told that its token is over
   * instead, a client would sign in for that stream too, beside a call that does so already, and lose the verifier of one.
   */
  readonly turnAway: (request: Request) => Response | null
  /**
   * Answers one request of an authenticated caller.
   * @param still gives the Principal once the body has come: it may have come late, and the rights be others by then
   * @throws PoppyError for the boundary: `invalid_token` for another resource's token, `request_too_large`, and for a
   * single call that lacks it `sign_in_required` or `insufficient_scope`
   */
  readonly fetch: (request: Request, principal: Principal, still?: () => Promise<Principal>) => Promise<Response>
}

/** A batch is one request to every limit that counts requests. */
const maxBatch = 20
/** The registry allows an input 32 levels; the envelope around it has a few more. */
const maxDepth = 40

/**
 * Values of one message, a call's arguments apart, which the registry bounds. The SDK makes an issue of each that is
 * wrong and writes all of them into its answer: a megabyte of wrong icons would keep the whole process busy for half a
 * minute.
 */
const maxEnvelope = 500

type Sdk = typeof import('@modelcontextprotocol/server')

/** Serves a registry over MCP. The SDK is loaded with the first request. */
export function createMcpEndpoint(options: McpEndpointOptions): McpEndpoint {
  const { registry, log } = options
  const list = { tools: registry.tools.map(describeTool) } as ListToolsResult
  let loading: Promise<{ sdk: Sdk; handler: McpHttpHandler }> | undefined

  async function load() {
    const sdk = await import('@modelcontextprotocol/server')
    const handler = sdk.createMcpHandler(
      ({ era, authInfo, requestInfo }) =>
        // The transport of the modern revisions gives a call up by itself when its caller goes away.
        makeServer(sdk, authInfo?.extra?.principal as Principal, era === 'modern' ? null : (requestInfo ?? null)),
      {
        onerror: (error) => log.debug({ error: forLog(error) }, 'an MCP request was refused'),
        // The list of tools never changes while this runs: there is nothing to listen for, and no stream to hold open.
        maxSubscriptions: 0,
      },
    )
    return { sdk, handler }
  }

  function makeServer(sdk: Sdk, principal: Principal, request: Request | null): Server {
    const server = new sdk.Server(options.serverInfo, {
      capabilities: { tools: {} },
      cacheHints: { 'tools/list': { ttlMs: 60_000, cacheScope: 'private' } },
    })
    server.setRequestHandler('tools/list', () => list)
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }): Promise<CallToolResult> => {
      const tool = registry.find(params.name)
      if (!tool) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, 'Unknown tool')
      const { signal, release } = joinSignals(mcpReq.signal, request?.signal ?? null)
      try {
        const context = { principal, signal, via: 'mcp' } as const
        const { value, json } = await registry.call(tool.name, params.arguments ?? {}, context)
        // A text is told as it is: quotes and escapes would be for a parser, and models read it.
        const texts = tool.proposes
          ? [(value as Proposed).operation.summary, json]
          : [typeof value === 'string' ? value : json]
        const result = { content: texts.map((text) => ({ type: 'text' as const, text })), structuredContent: value }
        return server.projectCallToolResult(result, tool.output?.json) as CallToolResult
      } catch (thrown) {
        const error = withUnion(thrown, principal)
        if (error instanceof PoppyError) return toolError(error, options.resourceMetadataUrl)
        throw error
      } finally {
        release()
      }
    })
    return server
  }

  return {
    turnAway(request) {
      if (options.hostNames !== undefined && !isWelcomePage(request, options.hostNames))
        return jsonRpcError(-32000, 'This page has reached the server by a name that is not the server’s.', 403)
      // Whoever has no token at all is told where to get one, whatever they ask for.
      if (request.method === 'POST' || !request.headers.has('authorization')) return null
      return jsonRpcError(-32000, 'Method not allowed.', 405, { allow: 'POST' })
    },
    async fetch(request, caller, still) {
      // 6: only tokens that were issued for this server. Whoever called us should have seen to it.
      if (caller.resource !== options.url) {
        throw new PoppyError('invalid_token', { reason: 'token for another resource at the MCP server' })
      }
      loading ??= load()
      const { sdk, handler } = await loading
      if (request.method !== 'POST' || !sdk.isJsonContentType(request.headers.get('content-type'))) {
        return handler.fetch(request, { authInfo: authInfoOf(caller) })
      }
      const message = parseMessage(await readBody(request, options.maxBodyBytes ?? 1_048_576))
      if (message instanceof Response) return message
      const principal = still === undefined ? caller : await still()
      await authorizeCall(registry, message, principal)
      const exchange = { authInfo: authInfoOf(principal), parsedBody: message }
      // What names a revision in itself is asked about once, by the handler.
      if (!hasEnvelope(sdk, message) && (await sdk.isLegacyRequest(request, message)))
        return answerInOnePiece(sdk, makeServer(sdk, principal, request), request, exchange)
      return handler.fetch(request, exchange)
    },
  }
}

const authInfoOf = (principal: Principal) => ({
  token: '',
  clientId: principal.clientId,
  scopes: [...principal.scopes],
  extra: { principal },
})

/** Whether a message says by itself of which revision it is, as those since 2026-07-28 do. */
function hasEnvelope(sdk: Sdk, message: unknown): boolean {
  if (!isJsonObject(message) || !isJsonObject(message.params)) return false
  const { _meta: meta } = message.params
  return isJsonObject(meta) && Object.hasOwn(meta, sdk.PROTOCOL_VERSION_META_KEY)
}

/**
 * Answers a message of the 2025 revisions with JSON, where the SDK's own handler would open an event stream: nothing of ours
 * is sent before the result, and a stream costs as much as a fifth of the call. Each request in it is answered, also when
 * its caller goes away: the tool is given up then.
 */
async function answerInOnePiece(
  sdk: Sdk,
  server: Server,
  request: Request,
  exchange: { readonly authInfo: ReturnType<typeof authInfoOf>; readonly parsedBody: unknown },
): Promise<Response> {
  const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    return await transport.handleRequest(request, exchange)
  } finally {
    await server.close()
  }
}

/** A signal that aborts with the first of two. `AbortSignal.any` would cost as much as all the rest of a call. */
function joinSignals(
  signal: AbortSignal,
  other: AbortSignal | null,
): { readonly signal: AbortSignal; readonly release: () => void } {
  if (other === null) return { signal, release: () => {} }
  const signals = [signal, other]
  const joined = new AbortController()
  // Whoever runs the tool says why in its own words.
  const stop = () => joined.abort()
  for (const signal of signals) {
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
  }
  return {
    signal: joined.signal,
    release: () => {
      for (const signal of signals) signal.removeEventListener('abort', stop)
    },
  }
}

/** One call outside a batch learns before anything is sent that it lacks sign-in or scope, as an HTTP error. */
async function authorizeCall(registry: ToolRegistry, message: unknown, principal: Principal): Promise<void> {
  if (!isJsonObject(message) || message.method !== 'tools/call' || !isJsonObject(message.params)) return
  const { name } = message.params
  // An unknown tool is told by JSON-RPC.
  if (typeof name !== 'string' || !registry.find(name)) return
  try {
    await registry.authorize(name, principal)
  } catch (error) {
    // 3.3: a missing extension is told as the tool's error, always: the call finds it again, and tells it so.
    if (!(error instanceof PoppyError) || error.code !== 'extension_required') throw withUnion(error, principal)
  }
}

/**
 * K39: MCP clients ask for what a challenge names and lose what they had, so it names both: what the call needs, and what
 * the token has. Then nobody signs in for one tool and out of another by turns.
 */
function withUnion(error: unknown, principal: Principal): unknown {
  if (!(error instanceof PoppyError) || error.code !== 'insufficient_scope' || error.scope === undefined) return error
  const scope = formatScope([...new Set([...principal.scopes, ...error.scope.split(' ')])])
  return new PoppyError(error.code, { description: error.message, scope })
}

/** What went wrong as a tool's result: the same code and words as over HTTP, for the model and for the program. */
function toolError(error: PoppyError, resourceMetadataUrl: string): CallToolResult {
  const issues = Array.isArray(error.extra?.issues) ? (error.extra.issues as { path: string; message: string }[]) : []
  const lines = issues.map(({ path, message }) => `${path === '' ? '/' : path}: ${message}`)
  const needs = error.scope === undefined ? [] : [`Scopes needed: ${error.scope}`]
  // 4.3: the answer itself is a 200, so the time to wait stands in it.
  const wait = error.retryAfter === undefined ? [] : [`Wait ${wholeSeconds(error.retryAfter)} s before you try again.`]
  const result: CallToolResult = {
    isError: true,
    content: [{ type: 'text', text: [`${error.code}: ${error.message}`, ...needs, ...wait, ...lines].join('\n') }],
    structuredContent: error.body(),
  }
  if (error.code !== 'sign_in_required' && error.code !== 'insufficient_scope') return result
  // What the HTTP header would have said, where some MCP clients look for it.
  const challenge = formatChallenge('Bearer', {
    error: error.code,
    error_description: error.description,
    scope: error.scope,
    resource_metadata: resourceMetadataUrl,
  })
  return { ...result, _meta: { 'mcp/www_authenticate': [challenge] } }
}

function parseMessage(text: string): unknown {
  try {
    const message = parseStrictJson(text, maxDepth)
    const messages: readonly unknown[] = Array.isArray(message) ? message : [message]
    if (messages.length > maxBatch) return jsonRpcError(-32600, `A batch may have at most ${maxBatch} messages.`)
    if (!messages.every(hasSmallEnvelope)) return jsonRpcError(-32600, 'The message has too many values.')
    return Array.isArray(message) ? readBatch(message) : message
  } catch (error) {
    return jsonRpcError(-32700, error instanceof JsonError ? error.message : 'The text is not JSON.')
  }
}

function hasSmallEnvelope(message: unknown): boolean {
  const isCall = isJsonObject(message) && message.method === 'tools/call' && isJsonObject(message.params)
  const envelope = isCall ? { ...message, params: { ...(message.params as object), arguments: null } } : message
  let left = maxEnvelope
  const fits = (value: unknown): boolean => {
    left -= 1
    return left >= 0 && (typeof value !== 'object' || value === null || Object.values(value).every(fits))
  }
  return fits(envelope)
}

/**
 * A batch that surely ends: its answer waits for each request in it, and a request that is cancelled, or shares its id
 * with another, is never answered. Without state, a cancellation can mean nothing but a request of the same batch.
 */
function readBatch(batch: readonly unknown[]): unknown {
  const isCancellation = (one: unknown) =>
    isJsonObject(one) && one.method === 'notifications/cancelled' && !Object.hasOwn(one, 'id')
  const messages = batch.filter((one) => !isCancellation(one))
  if (messages.length === 0 && batch.length > 0) return new Response(null, { status: 202 })
  const ids = messages.flatMap((one) =>
    isJsonObject(one) && Object.hasOwn(one, 'method') && Object.hasOwn(one, 'id') ? [one.id] : [],
  )
  return new Set(ids).size === ids.length ? messages : jsonRpcError(-32600, 'Two requests of the batch have one id.')
}

function jsonRpcError(code: number, message: string, status = 400, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers })
}

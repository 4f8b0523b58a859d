import type {
  CallToolResult,
  JsonSchemaValidatorResult,
  jsonSchemaValidator,
  StreamableHTTPClientTransport,
  Tool,
} from '@modelcontextprotocol/client'
import { findChallenge, isJsonObject, parseChallenges, parseScope } from '@poppyseed/protocol'
import type { AgentContext } from '../context.ts'
import type { FoundCompany } from '../discovery/discover.ts'
import { AgentError } from '../errors.ts'
import { withBoundedBody } from '../net/exchange.ts'
import { cleanText } from '../net/text.ts'
import type { OperationParts } from '../operations/desk.ts'
import { noteOperation } from '../operations/operations.ts'
import type { SessionTokens, TokenWanted } from '../sessions/tokens.ts'
import { authorisedFetch, extensionMissing } from './authorised-fetch.ts'
import { apisOf } from './call.ts'
import { accountTries, isAccessError, stepUpError } from './step-up.ts'

/** MCP servers of a Company (6), by the official client, with Bearer tokens that this Session asks for and renews. */

/** A connection to one MCP server of a Company. */
export interface McpConnection {
  readonly url: string
  readonly tools: () => Promise<readonly Tool[]>
  /**
   * Calls a tool. What it proposes instead of doing it is kept, and `session.operations.of(result)` gives it.
   * @throws AgentError: what the Company says in HTTP or as a tool error is the same error here
   */
  readonly call: (
    name: string,
    input?: Readonly<Record<string, unknown>>,
    options?: { readonly signal?: AbortSignal },
  ) => Promise<CallToolResult>
  readonly close: () => Promise<void>
}

/** Finds the MCP server that is meant: by its URL, or the first. */
function serverUrl(found: FoundCompany, url: string | undefined): string {
  const servers = apisOf(found, 'mcp').map((api) => api.url)
  const chosen = url === undefined ? servers[0] : servers.find((one) => one === url)
  if (chosen !== undefined) return chosen
  throw new AgentError(
    'unknown_operation',
    url === undefined
      ? `${found.name} has no MCP server.`
      : `${found.name} does not list this MCP server, so no token is given to it.`,
  )
}

function bearerFor(url: string): TokenWanted {
  // 4.3: the resource is the server's url as poppy.json has it, character for character
  return { kind: 'bearer', resource: url }
}

/** Of one server: how many tools are listed, on how many pages, in how many seconds. */
const maxTools = 1000
const maxPages = 20
const listSeconds = 60

/** As many servers of one Company as are asked for their tools. */
export const maxServers = 20

/** Of one answer, or of one event in a stream. */
const maxAnswerBytes = 8 * 1024 * 1024

/**
 * Believes every result. The schema is the Company's, like the result that it would judge: a pattern in it can keep the
 * whole process busy for hours, and a Company that lies would publish a schema that fits.
 */
const unjudged: jsonSchemaValidator = {
  getValidator<T>() {
    return (input: unknown): JsonSchemaValidatorResult<T> => ({
      valid: true,
      data: input as T,
      errorMessage: undefined,
    })
  },
}

/**
 * A transport for the official MCP client, with tokens for this server and no other. A host that makes its own client
 * should hand it a `jsonSchemaValidator` too: the client's own one runs whatever patterns the Company publishes.
 */
export async function mcpTransport(
  context: AgentContext,
  found: FoundCompany,
  tokens: SessionTokens,
  url?: string,
): Promise<StreamableHTTPClientTransport> {
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const server = serverUrl(found, url)
  return new StreamableHTTPClientTransport(new URL(server), {
    fetch: async (address, init = {}) => {
      const target = new URL(address)
      if (target.href !== new URL(server).href) {
        throw new AgentError(
          'foreign_origin',
          `The MCP client asked for ${target.host}${cleanText(target.pathname, 80)}, which is not the server that the token is for.`,
        )
      }
      const response = await authorisedFetch(
        context,
        tokens,
        {
          method: init.method ?? 'GET',
          url: target.href,
          headers: new Headers(init.headers),
          body: typeof init.body === 'string' ? init.body : undefined,
          signal: init.signal ?? undefined,
          // The MCP client has limits of its own, and its streams stay open.
          seconds: undefined,
        },
        { company: found.name, origin: new URL(server).origin, wanted: bearerFor(server) },
      )
      return withBoundedBody(response, maxAnswerBytes)
    },
  })
}

/** Connects to an MCP server. */
export async function connectMcp(parts: OperationParts, found: FoundCompany, url?: string): Promise<McpConnection> {
  const { context, tokens } = parts
  const { Client } = await import('@modelcontextprotocol/client')
  const server = serverUrl(found, url)
  const transport = await mcpTransport(context, found, tokens, server)
  const client = new Client(
    { name: context.identity.name, version: '0.1.0' },
    { versionNegotiation: { mode: 'auto' }, jsonSchemaValidator: unjudged, listMaxPages: maxPages },
  )
  await inWords(found.name, () => client.connect(transport))
  return {
    url: server,
    tools: () =>
      inWords(found.name, async () => {
        // All pages, as many as are let: a server that goes on for ever is an error.
        const { tools } = await client.listTools({}, { signal: AbortSignal.timeout(listSeconds * 1000) })
        return tokens.redact(tools.slice(0, maxTools))
      }),
    call: async (name, input = {}, { signal } = {}) => {
      const tryAccount = accountTries(tokens, bearerFor(server))
      for (;;) {
        const held = await tokens.get(bearerFor(server))
        const work = async () =>
          tokens.redact(await client.callTool({ name, arguments: { ...input } }, signal ? { signal } : {}))
        const result = await inWords(found.name, work, signal)
        const refusal = readToolError(result)
        if (!refusal) {
          // Operations 4.2: what it proposes is known from now on, with the tool that it came of
          await noteOperation(parts, result, name, false)
          return result
        }
        const { error, scopes } = refusal
        if (!isAccessError(error)) throw toolError(found.name, refusal)
        const end = await tryAccount(error, held, scopes)
        if (end === 'helped') continue
        throw await stepUpError(tokens, found.name, error, scopes, end)
      }
    },
    close: () => client.close(),
  }
}

/** A tool error, read. */
export interface ToolRefusal {
  /** The Company's code, where it gives one. */
  readonly error: string | undefined
  readonly scopes: readonly string[]
  /** The extension that is needed, with `extension_required` (3.3). */
  readonly extension?: string | undefined
  readonly text: string
}

/**
 * Reads a tool's result: null when the tool worked. The code stands in the structured content or, from other servers,
 * as a challenge in `_meta` or as JSON in the text (6 leaves open where).
 */
export function readToolError(result: CallToolResult): ToolRefusal | null {
  if (result.isError !== true) return null
  const text = result.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const stated = [result.structuredContent, parse(text)].find(
    (one) => isJsonObject(one) && typeof one.error === 'string',
  )
  if (isJsonObject(stated) && typeof stated.error === 'string') {
    const extension = typeof stated.extension === 'string' ? stated.extension : undefined
    return { error: stated.error, scopes: scopesOf(stated.scope), extension, text }
  }
  const challenges = result._meta?.['mcp/www_authenticate']
  const first = Array.isArray(challenges) && typeof challenges[0] === 'string' ? challenges[0] : ''
  const parameters = findChallenge(parseChallenges(first), 'Bearer')?.parameters
  return { error: parameters?.error, scopes: scopesOf(parameters?.scope), text }
}

function toolError(company: string, { error, extension, text }: ToolRefusal): AgentError {
  const said = cleanText(text, 500)
  if (error === 'extension_required') {
    return new AgentError('extension_required', extensionMissing(company, extension), {
      companyCode: error,
    })
  }
  return new AgentError(
    'call_failed',
    said === '' ? `The tool of ${company} failed.` : `${company} answered: ${said}`,
    {
      companyCode: error,
    },
  )
}

function scopesOf(scope: unknown): readonly string[] {
  return (typeof scope === 'string' ? parseScope(scope.trim()) : null) ?? []
}

function parse(text: string): unknown {
  try {
    return text.startsWith('{') ? JSON.parse(text) : undefined
  } catch {
    // Text that isn't JSON is a message for a person.
    return undefined
  }
}

/** Errors of the MCP client in our own words; ours pass through. Theirs may quote a whole answer. */
async function inWords<T>(company: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // The caller's own abort is the caller's.
    signal?.throwIfAborted()
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
      if (cause instanceof AgentError) throw cause
    }
    if (error instanceof Error) {
      throw new AgentError(
        'call_failed',
        `The MCP server of ${company} could not be used: ${cleanText(error.message, 300)}`,
      )
    }
    throw error
  }
}

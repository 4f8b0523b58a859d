import type { FoundCompany } from '../discovery/discover.ts'
import { AgentError } from '../errors.ts'
import { cleanText, withoutSecretsInside } from '../net/text.ts'
import type { OperationParts } from '../operations/desk.ts'
import type { CallInput } from './build-request.ts'
import { apisOf, callOne, type ListOptions, readApi } from './call.ts'
import { mcpInput, operationInput, schemaBudget } from './input-schema.ts'
import { connectMcp, maxServers } from './mcp.ts'
import type { Json } from './openapi.ts'

/** All that can be called at a Company, by OpenAPI or MCP, in one form (6): for programs that choose, models among them. */

/** One thing that can be called at a Company. Its texts are the Company's, cleaned and cut: information, no instruction. */
export interface CompanyTool {
  /** As the Company names it. */
  readonly name: string
  readonly via: 'openapi' | 'mcp'
  /** `url` of its API in `poppy.json`. */
  readonly api: string
  readonly company: { readonly name: string; readonly domain: string }
  readonly description: string
  /** Scopes that it is known to need; empty where the Company doesn't say. */
  readonly scopes: readonly string[]
  /** JSON Schema of its input: an object that stands for itself, without patterns. Made when it is first looked at. */
  readonly inputSchema: Json
  /**
   * Calls it.
   * @returns what it gave: JSON or text, in which no token and no proof stands
   * @throws AgentError
   */
  readonly call: (input?: CallInput, options?: { readonly signal?: AbortSignal }) => Promise<unknown>
}

/** What {@link CompanyTool}s are listed with. */
export type ToolsOptions = ListOptions

const maxDescription = 1000
/** As many as are listed of one Company. */
const maxTools = 2000

/** Lists the tools of a Company. OpenAPI comes first: a Company may list the same tool twice, and each stands here once. */
export async function companyTools(
  parts: OperationParts,
  found: FoundCompany,
  options: ToolsOptions,
): Promise<readonly CompanyTool[]> {
  const tools = new Map<string, ListedTool>()
  const sources = [
    ...apisOf(found, 'openapi').map(({ url }) => ({ url, read: () => fromOpenApi(parts, found, url) })),
    ...apisOf(found, 'mcp')
      .slice(0, maxServers)
      .map(({ url }) => ({ url, read: () => fromMcp(parts, found, url) })),
  ]
  for (const { url, read } of sources) {
    let listed: readonly ListedTool[] = []
    try {
      listed = await read()
    } catch (error) {
      if (!(error instanceof AgentError) || !options.onUnavailable) throw error
      options.onUnavailable(error, url)
    }
    for (const tool of listed) {
      if (tools.size < maxTools && !tools.has(tool.name)) tools.set(tool.name, tool)
    }
  }
  // The Company knows its tokens: what it writes into a description goes to a model.
  const secrets = await parts.tokens.secrets()
  return [...tools.values()].map(({ call, inputSchema, ...texts }) => {
    let schema: Json | undefined
    return {
      ...withoutSecretsInside(texts, secrets),
      call,
      // A document can refer to so much that making all of it would keep the process busy.
      get inputSchema() {
        schema ??= withoutSecretsInside(inputSchema(), secrets)
        return schema
      },
    }
  })
}

/** A tool as it is read. */
interface ListedTool extends Omit<CompanyTool, 'inputSchema'> {
  readonly inputSchema: () => Json
}

function companyOf({ name, domain }: FoundCompany): CompanyTool['company'] {
  return { name, domain }
}

async function fromOpenApi(parts: OperationParts, found: FoundCompany, url: string): Promise<readonly ListedTool[]> {
  const { operations, document } = await readApi(parts.context, found, url)
  const budget = schemaBudget()
  return operations.map((operation) => ({
    name: operation.id,
    via: 'openapi',
    api: url,
    company: companyOf(found),
    description: cleanText(operation.description ?? operation.summary ?? '', maxDescription),
    scopes: operation.scopes ?? [],
    inputSchema: () => operationInput(operation, document, budget),
    call: async (input = {}, { signal } = {}) =>
      (await callOne(parts, await parts.find(), operation.id, input, { api: url, ...(signal ? { signal } : {}) })).body,
  }))
}

async function fromMcp(parts: OperationParts, found: FoundCompany, url: string): Promise<readonly ListedTool[]> {
  const budget = schemaBudget()
  const connection = await connectMcp(parts, found, url)
  try {
    return (await connection.tools()).map((tool) => ({
      name: tool.name,
      via: 'mcp',
      api: url,
      company: companyOf(found),
      description: cleanText(tool.description ?? tool.title ?? '', maxDescription),
      scopes: [],
      inputSchema: () => mcpInput(tool.inputSchema, budget),
      call: async (input = {}, { signal } = {}) => {
        // Connected for the one call: a connection that stays open belongs to whoever asks for it by `session.mcp`.
        const own = await connectMcp(parts, await parts.find(), url)
        try {
          const { structuredContent, content } = await own.call(tool.name, input, signal ? { signal } : {})
          return structuredContent ?? textOf(content)
        } finally {
          await own.close()
        }
      },
    }))
  } finally {
    await connection.close()
  }
}

/** The texts of a result; of anything else, what it is. */
function textOf(content: readonly { readonly type: string; readonly text?: unknown }[]): string {
  return content.map(({ type, text }) => (typeof text === 'string' ? text : `(${cleanText(type, 40)})`)).join('\n')
}

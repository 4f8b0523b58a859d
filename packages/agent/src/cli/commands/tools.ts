import { isJsonObject } from '@poppyseed/protocol'
import type { CallInput } from '../../apis/build-request.ts'
import type { CompanyApiOperation } from '../../apis/call.ts'
import type { McpConnection } from '../../apis/mcp.ts'
import type { Json } from '../../apis/openapi.ts'
import type { Company } from '../../company.ts'
import { AgentError } from '../../errors.ts'
import type { Session } from '../../session.ts'
import { type AccountOptions, accountFlag, sessionOf } from '../account.ts'
import { type CommandContext, withAgent } from '../command.ts'
import { block, clean, shellWord, table } from '../terminal.ts'
import { proposal } from './operations.ts'

/** `poppy tools` and `poppy call`: what a Company offers, by OpenAPI or MCP (6). */

/** One thing that can be called, wherever it stands. */
interface OfferedTool {
  readonly name: string
  readonly via: 'openapi' | 'mcp'
  readonly description: string
  readonly scopes: readonly string[]
  readonly input: readonly OfferedInput[]
}

interface OfferedInput {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly description: string
}

/** `poppy tools`: what can be called at a Company, or one of them (6). */
export async function tools(
  context: CommandContext,
  domain: string,
  name: string | undefined,
  options: AccountOptions,
): Promise<void> {
  const { output } = context
  await withAgent(context, async ({ user }) => {
    const company = await user.company(domain)
    const session = await sessionOf(company, options)
    const flag = accountFlag(options.account)
    const { offered, unread } = await offeredTools(company, session)
    if (name !== undefined) {
      const tool = offered.find((one) => one.name === name)
      if (!tool) throw unread[0]?.error ?? unknownTool(company, name)
      output.value(tool)
      showTool(context, domain, tool, flag)
      return
    }
    // Where nothing could be read there is nothing to show, and that is the error.
    if (offered.length === 0 && unread[0]) throw unread[0].error
    output.value(offered)
    for (const { api, error } of unread) output.value({ unavailable: api, ...error.toJSON() })
    if (offered.length === 0) {
      output.line(`${company.name} offers no tools.`)
      return
    }
    const rows = offered.map((tool) => [
      clean(tool.name, 60),
      clean(tool.description, 70),
      tool.scopes.length === 0 ? '' : `needs ${clean(tool.scopes.join(', '))}`,
    ])
    for (const row of table(rows)) output.line(row)
    output.line()
    for (const { api, error } of unread)
      output.line(`Not shown, because it could not be read: ${clean(api, 300)} (${clean(error.message, 300)})`)
    if (unread.length > 0) output.line()
    output.line(
      `Next: poppy tools ${shellWord(domain)} <tool>${flag} for what it takes, poppy call ${shellWord(domain)} <tool>${flag} to use it`,
    )
  })
}

function showTool({ output }: CommandContext, domain: string, tool: OfferedTool, flag: string): void {
  output.line(output.bold(clean(tool.name)))
  if (tool.description !== '') output.line(block(tool.description))
  if (tool.scopes.length > 0) output.line(`Needs sign-in with ${clean(tool.scopes.join(', '))}.`)
  if (tool.input.length > 0) output.line()
  const rows = tool.input.map((input) => [
    clean(input.name),
    `${clean(input.type)}${input.required ? '' : ', optional'}`,
    clean(input.description),
  ])
  for (const row of table(rows)) output.line(`  ${row}`)
  output.line()
  const required = tool.input.filter((input) => input.required).map((input) => ` --arg ${shellWord(input.name)}=…`)
  output.line(`Next: poppy call ${shellWord(domain)} ${shellWord(tool.name)}${required.join('')}${flag}`)
}

/** A Company may list any number; as many as the library looks at. */
function mcpServersOf({ apis }: Company) {
  return apis.filter((api) => api.type === 'mcp').slice(0, 20)
}

/** What could be listed, and what could not be read. */
interface Offer {
  readonly offered: readonly OfferedTool[]
  readonly unread: readonly { readonly api: string; readonly error: AgentError }[]
}

/** OpenAPI first: a Company may list the same tools twice, and each stands here once. */
async function offeredTools(company: Company, session: Session): Promise<Offer> {
  const offered = new Map<string, OfferedTool>()
  const unread: { readonly api: string; readonly error: AgentError }[] = []
  const onUnavailable = (error: AgentError, api: string) => void unread.push({ api, error })
  for (const operation of await session.apiOperations({ onUnavailable }))
    offered.set(operation.id, ofOperation(operation))
  for (const { url } of mcpServersOf(company)) {
    try {
      for (const tool of await mcpToolsAt(session, url)) if (!offered.has(tool.name)) offered.set(tool.name, tool)
    } catch (error) {
      if (!(error instanceof AgentError)) throw error
      onUnavailable(error, url)
    }
  }
  return { offered: [...offered.values()], unread }
}

async function mcpToolsAt(session: Session, url: string): Promise<readonly OfferedTool[]> {
  const mcp = await session.mcp({ url })
  try {
    return (await mcp.tools()).map((tool) => ({
      name: tool.name,
      via: 'mcp',
      description: tool.description ?? tool.title ?? '',
      scopes: [],
      input: inputsOf(tool.inputSchema),
    }))
  } finally {
    await mcp.close()
  }
}

function unknownTool(company: Company, name: string): AgentError {
  return new AgentError('unknown_operation', `${company.name} has no tool named ${clean(name, 80)}.`)
}

function ofOperation(operation: CompanyApiOperation): OfferedTool {
  return {
    name: operation.id,
    via: 'openapi',
    description: operation.description ?? operation.summary ?? '',
    scopes: operation.scopes ?? [],
    input: [
      ...operation.parameters.map(({ name, required, description, schema }) => ({
        name,
        required,
        description: description ?? '',
        type: typeOf(schema),
      })),
      ...(operation.body ? inputsOf(operation.body.schema) : []),
    ],
  }
}

function inputsOf(schema: Json): readonly OfferedInput[] {
  if (!isJsonObject(schema.properties)) return []
  const required = Array.isArray(schema.required) ? (schema.required as readonly unknown[]) : []
  return Object.entries(schema.properties).map(([name, property]) => ({
    name,
    required: required.includes(name),
    type: typeOf(property),
    description: isJsonObject(property) && typeof property.description === 'string' ? property.description : '',
  }))
}

function typeOf(schema: unknown): string {
  if (!isJsonObject(schema)) return 'any'
  if (Array.isArray(schema.enum)) return schema.enum.map(String).join(' | ')
  if (Array.isArray(schema.type)) return schema.type.map(String).join(' | ')
  return typeof schema.type === 'string' ? schema.type : 'any'
}

/** The options of `poppy call`. */
export interface CallOptions extends AccountOptions {
  readonly arg?: readonly string[]
}

/** `poppy call`: calls a tool of a Company, over HTTP or MCP (6). */
export async function call(
  context: CommandContext,
  domain: string,
  name: string,
  json: string | undefined,
  options: CallOptions,
): Promise<void> {
  const { output } = context
  const raw = readInput(json, options.arg)
  await withAgent(context, async ({ user }) => {
    const company = await user.company(domain)
    const session = await sessionOf(company, options)
    // An API that can't be read is in nobody's way who calls another.
    let unread: AgentError | undefined
    const onUnavailable = (error: AgentError) => {
      unread ??= error
    }
    const operation = (await session.apiOperations({ onUnavailable })).find((one) => one.id === name)
    if (operation) {
      const result = await session.call(name, typed(raw, ofOperation(operation).input))
      const proposed = result.operation
      output.value({ tool: name, via: 'openapi', status: result.status, result: result.body, operation: proposed })
      if (proposed) proposal(context, proposed)
      else output.line(block(result.body))
      return
    }
    for (const { url } of mcpServersOf(company)) {
      if (await callByMcp(context, session, url, { name, raw, onUnavailable })) return
    }
    throw unread ?? unknownTool(company, name)
  })
}

interface McpCall {
  readonly name: string
  readonly raw: RawInput
  readonly onUnavailable: (error: AgentError) => void
}

/** @returns false where the server hasn't the tool, or can't be asked for its tools */
async function callByMcp(
  context: CommandContext,
  session: Session,
  url: string,
  { name, raw, onUnavailable }: McpCall,
): Promise<boolean> {
  const { output } = context
  let mcp: McpConnection | undefined
  try {
    let tool: Awaited<ReturnType<McpConnection['tools']>>[number] | undefined
    try {
      mcp = await session.mcp({ url })
      tool = (await mcp.tools()).find((one) => one.name === name)
    } catch (error) {
      if (!(error instanceof AgentError)) throw error
      onUnavailable(error)
    }
    if (!mcp || !tool) return false
    const result = await mcp.call(name, typed(raw, inputsOf(tool.inputSchema)))
    const said = result.structuredContent ?? result.content.map((part) => (part.type === 'text' ? part.text : part))
    const proposed = await session.operations.of(result)
    output.value({ tool: name, via: 'mcp', result: said, operation: proposed })
    if (proposed) proposal(context, proposed)
    else output.line(Array.isArray(said) ? said.map(block).join('\n') : block(said))
    return true
  } finally {
    await mcp?.close()
  }
}

/** Input as it was typed: a JSON object, or names with texts. */
type RawInput = { readonly values: CallInput } | { readonly texts: readonly (readonly [string, string])[] }

function readInput(json: string | undefined, pairs: readonly string[] | undefined): RawInput {
  if (json !== undefined && pairs !== undefined) {
    throw new AgentError('invalid_input', 'Give the input as JSON or with --arg, not both.')
  }
  if (json !== undefined) {
    let values: unknown
    try {
      values = JSON.parse(json)
    } catch {
      // Said in the next line, together with JSON that is no object.
    }
    if (!isJsonObject(values)) {
      throw new AgentError('invalid_input', `The input must be a JSON object, such as '{"guests": 2}'.`)
    }
    return { values }
  }
  const texts = (pairs ?? []).map((pair) => {
    const at = pair.indexOf('=')
    if (at < 1) throw new AgentError('invalid_input', '--arg takes name=value.')
    return [pair.slice(0, at), pair.slice(at + 1)] as const
  })
  return { texts }
}

/** Gives each text the type that the tool asks for; JSON where it asks for no text. */
function typed(raw: RawInput, inputs: readonly OfferedInput[]): CallInput {
  if ('values' in raw) return raw.values
  return Object.fromEntries(
    raw.texts.map(([name, text]) => {
      const type = inputs.find((input) => input.name === name)?.type ?? 'any'
      if (type === 'string' || (type.includes('|') && !/^(number|integer|boolean)$/m.test(type))) return [name, text]
      try {
        return [name, JSON.parse(text) as unknown]
      } catch {
        // No JSON, so a text.
        return [name, text]
      }
    }),
  )
}

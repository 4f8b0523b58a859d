import { makeId, PoppyError } from '@poppyseed/protocol'
import { ConfigurationError } from '../configuration-error.ts'
import type { Operation } from '../operations/definition.ts'
import { isOperation } from '../operations/operation.ts'
import { type Propose, toolOf, type WithProposal } from '../operations/operation-tool.ts'
import type { Principal } from '../sessions/principal.ts'
import { requireScopes } from '../sessions/rights.ts'
import type { Logger } from '../store/database.ts'
import type { Part } from '../telemetry/open-telemetry.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { forLog, runWithin } from './run.ts'
import { isTool, type Tool, type ToolContext } from './tool.ts'

/** The tools of a Company (6), its operations among them: the one place where one is found, its rights checked, and run. */

/** What a call came to. */
export interface ToolResult {
  readonly value: unknown
  /** The value as it travels. */
  readonly json: string
}

/** What {@link createToolRegistry} needs. */
export interface ToolRegistryOptions {
  /** Operations, which stand among the tools and answer with a proposal; none when left out. */
  readonly operations?: readonly Operation[]
  /** Works out a proposal and keeps it; left out where the registry is made for what it refuses. */
  readonly propose?: Propose
  /** Every scope that the Company publishes; a tool may need no other. */
  readonly declaredScopes: readonly string[]
  /** Every scope that some sign-in can grant; left out, it isn't looked at. */
  readonly grantableScopes?: readonly string[] | undefined
  /** Extensions that the Company lists; none when left out. */
  readonly extensions?: readonly string[]
  /**
   * Whether an agent may ask for what needs an extension.
   * @throws PoppyError `extension_required`, `temporarily_unavailable`
   */
  readonly requireExtension?: (principal: Principal, extension: string) => Promise<void>
  readonly log: Logger
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** That many random bytes. */
  readonly random: (length: number) => Uint8Array
  /** Watches each run of a tool; left out, nobody does. */
  readonly watch?: Telemetry['part']
  /** Aborts when the Company closes and waits no longer for what runs. */
  readonly givenUp?: AbortSignal
}

/** See {@link createToolRegistry}. */
export interface ToolRegistry {
  readonly tools: readonly Tool[]
  readonly find: (name: string) => Tool | undefined
  /**
   * Whether the Principal may call the tool at all.
   * @throws PoppyError `tool_not_found`, `extension_required`, `sign_in_required`, `insufficient_scope` with all the scopes
   * needed
   */
  readonly authorize: (name: string, principal: Principal) => Promise<Tool>
  /**
   * Checks rights and input, runs the tool, checks the result.
   * @throws PoppyError only: those of `authorize`, `invalid_request` with `issues`, `tool_failed`, `tool_timeout`,
   * `server_error` with an id, `temporarily_unavailable` when the caller went away
   */
  readonly call: (name: string, input: unknown, context: ToolContext, more?: CallMore) => Promise<ToolResult>
}

/** What else a call does. */
export interface CallMore {
  /** Called once rights and input are found right, before anything runs; what it throws is the answer. */
  readonly before?: () => Promise<void>
  /** Written with what an operation proposes, in the same transaction. */
  readonly also?: WithProposal
  /** Runs in place of the tool, for as long as the tool may; what it gives isn't held to the tool's output schema. */
  readonly run?: Tool['run']
}

const maxDepth = 32
/** A schema library makes an issue of each value that is wrong: a megabyte of wrong numbers would cost it seconds. */
const maxValues = 20_000

/**
 * Puts tools together.
 * @throws ConfigurationError for a name used twice, a scope that isn't declared, or something that isn't a tool
 */
export function createToolRegistry(tools: readonly Tool[], options: ToolRegistryOptions): ToolRegistry {
  const { operations = [], propose = nobodyProposes } = options
  const byName = new Map<string, Tool>()
  for (const [index, tool] of tools.entries()) {
    if (isTool(tool)) continue
    throw new ConfigurationError(
      isOperation(tool)
        ? `tools[${index}] is an operation. Write operations: [${(tool as Operation).name}].`
        : `tools[${index}] is not a tool. Write tool({ name, description, run }).`,
    )
  }
  const all = [...tools, ...operations.map((operation) => toolOf(operation, propose))]
  for (const tool of all) {
    const kind = tool.proposes ? 'Operation' : 'Tool'
    const other = byName.get(tool.name)
    if (other !== undefined)
      throw new ConfigurationError(
        other.proposes === tool.proposes
          ? `Two ${kind.toLowerCase()}s are named ${tool.name}. Rename one of them.`
          : `A tool and an operation are named ${tool.name}. Rename one of them.`,
      )
    const unknown = tool.scopes.find((scope) => !options.declaredScopes.includes(scope))
    if (unknown !== undefined) {
      throw new ConfigurationError(
        `${kind} ${tool.name} needs the scope ${unknown}, which the company doesn't declare. Write scopes: { '${unknown}': 'What it lets an agent do' }, or change the ${kind.toLowerCase()}'s scope.`,
      )
    }
    // It would answer everybody with a refusal: a mistake that only its users would find.
    const beyond = tool.scopes.find((scope) => options.grantableScopes?.includes(scope) === false)
    if (beyond !== undefined) {
      throw new ConfigurationError(
        `${kind} ${tool.name} needs the scope ${beyond}, which no type of sign-in can grant, so nobody could call it. Add it: signIn: { direct: ['${beyond}'] }.`,
      )
    }
    const unlisted = tool.extensions.find((one) => options.extensions?.includes(one) !== true)
    if (unlisted !== undefined) {
      throw new ConfigurationError(
        `${kind} ${tool.name} needs the extension ${unlisted}, which the company doesn't list. Write extensions: { '${unlisted}': { version: 1 } }, or change the ${kind.toLowerCase()}'s extension.`,
      )
    }
    byName.set(tool.name, tool)
  }

  async function authorize(name: string, principal: Principal): Promise<Tool> {
    const tool = byName.get(name)
    if (!tool) throw new PoppyError('tool_not_found', { description: 'There is no tool of this name.' })
    // 3.3: first, so that nobody signs in for what their agent can't do
    for (const extension of tool.extensions) await options.requireExtension?.(principal, extension)
    // 4.4: the same rule here and at the site's own API
    requireScopes(principal, tool.scopes)
    return tool
  }

  async function call(
    name: string,
    input: unknown,
    context: ToolContext,
    { before, also, run: other }: CallMore = {},
  ): Promise<ToolResult> {
    const found = await authorize(name, context.principal)
    const tool = other === undefined ? found : { ...found, run: other, output: undefined }
    const parsed = await checkInput(tool, input)
    await before?.()
    const started = options.now()
    try {
      const run = async () =>
        toResult(tool, await runWithin(tool, parsed, context, { ...options, ...(also && { also }) }))
      return await (options.watch?.(partOf(tool, context), run) ?? run())
    } catch (error) {
      if (error instanceof PoppyError) throw error
      throw internalError(error, tool, options.now() - started)
    }
  }

  function internalError(error: unknown, tool: Tool, milliseconds: number): PoppyError {
    const id = makeId('err', options.random)
    options.log.error({ id, tool: tool.name, milliseconds, error: forLog(error) }, 'a tool failed')
    return new PoppyError('server_error', {
      description: 'The tool failed on our side. Quote the error id if you report it.',
      reason: `tool ${tool.name} failed, ${id}`,
      extra: { error_id: id },
    })
  }

  return { tools: Object.freeze(all), find: (name) => byName.get(name), authorize, call }
}

const nobodyProposes: Propose = () => Promise.reject(new TypeError('Nobody keeps proposals here.'))

function partOf(tool: Tool, { via }: ToolContext): Part {
  return { name: `tool ${tool.name}`, attributes: { 'poppy.tool.name': tool.name, 'poppy.tool.via': via } }
}

async function checkInput(tool: Tool, input: unknown): Promise<unknown> {
  checkShape(input)
  const result = await tool.input.validate(input)
  if ('value' in result) return result.value
  throw new PoppyError('invalid_request', {
    description: `The input of ${tool.name} is not valid.`,
    extra: { issues: result.issues },
  })
}

/** Bounded whoever calls; a member `__proto__` is an own member here and a prototype after the next copy. */
function checkShape(input: unknown): void {
  let values = 0
  const check = (value: unknown, depth: number): void => {
    values += 1
    if (values > maxValues) throw refusedShape('has too many values')
    if (typeof value !== 'object' || value === null) return
    if (depth === 0) throw refusedShape('is nested too deeply')
    if (Object.hasOwn(value, '__proto__')) throw refusedShape('has a member that is not allowed')
    for (const member of Object.values(value)) check(member, depth - 1)
  }
  check(input, maxDepth)
}

function refusedShape(how: string): PoppyError {
  return new PoppyError('invalid_request', { description: `The input ${how}.` })
}

async function toResult(tool: Tool, returned: unknown): Promise<ToolResult> {
  const { output } = tool
  if (!output) return serialise(returned)
  if (output.judges === 'value') return serialise(await judged(output.validate(returned)))
  const result = serialise(returned)
  await judged(output.validate(JSON.parse(result.json)))
  return result
}

async function judged(verdict: ReturnType<NonNullable<Tool['output']>['validate']>): Promise<unknown> {
  const result = await verdict
  if ('value' in result) return result.value
  const issues = result.issues.map(({ path, message }) => `${path || '/'}: ${message}`).join('; ')
  throw new TypeError(`The result doesn't fit the tool's output schema: ${issues}`)
}

/** A tool that returns nothing answers null. */
function serialise(value: unknown): ToolResult {
  if (value === undefined) return { value: null, json: 'null' }
  const json: string | undefined = JSON.stringify(value)
  if (json === undefined) throw new TypeError('The result is not JSON.')
  return { value, json }
}

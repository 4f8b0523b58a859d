import { extensionDomain, isScope } from '@poppyseed/protocol'
import { isPlain } from '../config-shapes.ts'
import { ConfigurationError } from '../configuration-error.ts'
import type { WithProposal } from '../operations/operation-tool.ts'
import type { Principal } from '../sessions/principal.ts'
import {
  type AcceptedBy,
  type CompiledSchema,
  compileSchema,
  type JsonSchema,
  type ParsedBy,
  type ToolSchema,
} from './schema.ts'

/** A tool (6): one function of the company's, served over HTTP and MCP with the same check, rights and errors. */

/** A Principal that is signed in: whoever calls a tool that needs a scope. */
export type SignedInPrincipal = Principal & { readonly account: string }

/** What scopes may be asked for: one, or a list of them. */
export type ScopeNeed = string | readonly string[]

/** Who may be calling where this scope is needed: someone signed in, or anyone where none is. */
export type PrincipalWith<Need extends ScopeNeed | undefined> = [Need] extends [string | readonly [string, ...string[]]]
  ? SignedInPrincipal
  : Principal

/** What a tool is told beside its input. */
export interface ToolContext<Caller extends Principal = Principal> {
  /** Who is calling, from the checked token. Nothing in the input can change it. */
  readonly principal: Caller
  /** Aborts when the time is up or the client has gone away: hand it on to whatever the tool waits for. */
  readonly signal: AbortSignal
  readonly via: 'http' | 'mcp' | 'conversation'
  /** The conversation in which it is called (7), by the Company Agent or by staff; left out for a call of its own. */
  readonly conversation?: ToolConversation
}

/** A call in a conversation. */
export interface ToolConversation {
  readonly id: string
  /**
   * The same when a turn is begun again after a crash, and for no other call: a key by which a downstream system can see that
   * it was asked before.
   */
  readonly callId: string
  /** Which member of staff calls it, by the company's id for them; left out for the Company Agent. */
  readonly staff?: string
}

/** Hints for the caller's model, as MCP defines them. They are promises of the company's, checked by nobody. */
export interface ToolAnnotations {
  /** The tool changes nothing. */
  readonly readOnlyHint?: boolean
  /** What the tool changes may be lost (meaningful when it isn't read-only). */
  readonly destructiveHint?: boolean
  /** Calling it again with the same input changes nothing more. */
  readonly idempotentHint?: boolean
  /** It reaches beyond the company's own systems. */
  readonly openWorldHint?: boolean
}

/** What {@link tool} is given. */
export interface ToolDefinition<
  Input extends ToolSchema | undefined,
  Output extends ToolSchema | undefined,
  Scope extends ScopeNeed | undefined = ScopeNeed | undefined,
> {
  /** 1 to 64 letters, digits, `_` and `-`. Agents keep it: don't rename lightly. */
  readonly name: string
  /** A short name for people. */
  readonly title?: string
  /** What it does and when to use it, for the caller's model. */
  readonly description: string
  /** An object schema. Left out, the tool takes nothing. */
  readonly input?: Input
  /** When given, every result is held to it; what it doesn't name goes nowhere. */
  readonly output?: Output
  /** The scope or scopes that a call needs, all of them. Left out, the tool needs a Session Token but no sign-in. */
  readonly scope?: Scope
  /**
   * An extension of `extensions` without which the tool can't be used (3.3): agents that don't list it, in the company's
   * version, are refused with `extension_required` before anything else is looked at.
   */
  readonly extension?: string
  readonly annotations?: ToolAnnotations
  /** Milliseconds until a call is given up; 30,000 when left out, at most 600,000. */
  readonly timeout?: number
  readonly run: (
    input: ParsedBy<Input>,
    context: ToolContext<PrincipalWith<Scope>>,
  ) => AcceptedBy<Output> | Promise<AcceptedBy<Output>>
}

/** A tool that {@link tool} has checked. */
export interface Tool {
  readonly name: string
  readonly title: string | undefined
  readonly description: string
  readonly input: CompiledSchema
  readonly output: CompiledSchema | undefined
  /** Every scope that a call needs; empty when none. */
  readonly scopes: readonly string[]
  /** Every extension that a call needs (3.3); empty when none. */
  readonly extensions: readonly string[]
  readonly annotations: ToolAnnotations | undefined
  /** Milliseconds. */
  readonly timeout: number
  /** `also`: what an operation keeps with its proposal; a tool gets none. */
  readonly run: (input: unknown, context: ToolContext, also?: WithProposal) => unknown
  /** Whether it answers with an operation, which changes nothing before it is confirmed. */
  readonly proposes: boolean
}

const members: ReadonlySet<string> = new Set<keyof ToolDefinition<undefined, undefined>>([
  'name',
  'title',
  'description',
  'input',
  'output',
  'scope',
  'extension',
  'annotations',
  'timeout',
  'run',
])

const made = new WeakSet<object>()

/** Whether a value may name a tool or an operation. */
export function isToolName(name: unknown): name is string {
  return typeof name === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(name)
}

/** Whether a value came from {@link tool}. */
export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && made.has(value)
}

/**
 * Defines a tool.
 *
 * ```ts
 * const myBookings = tool({
 *   name: 'my_bookings',
 *   description: 'Bookings of the signed-in guest, newest first.',
 *   input: z.object({ from: z.iso.date().optional() }),
 *   scope: 'poppy:read',
 *   run: (input, { principal }) => bookings.of(principal.account, input.from),
 * })
 * ```
 * @throws ConfigurationError at once when the definition is wrong, with a sentence that says what to write
 */
export function tool<
  Input extends ToolSchema | undefined = undefined,
  Output extends ToolSchema | undefined = undefined,
  const Scope extends ScopeNeed | undefined = undefined,
>(definition: ToolDefinition<Input, Output, Scope>): Tool {
  if (!isPlain(definition)) throw new ConfigurationError('A tool is written tool({ name, description, run }).')
  const { name, title, description, timeout = 30_000, annotations } = definition
  if (!isToolName(name)) {
    throw new ConfigurationError(
      `A tool's name is 1 to 64 letters, digits, "_" and "-", such as "my_bookings"; this one is ${JSON.stringify(name)}.`,
    )
  }
  const where = `Tool ${name}`
  // A misspelt `scope`, or one from a misspelt constant, would leave the tool open to everybody.
  for (const member of Object.keys(definition)) {
    if (members.has(member)) continue
    throw new ConfigurationError(`${where} has no setting \`${member}\`. A tool has: ${[...members].join(', ')}.`)
  }
  if (Object.hasOwn(definition, 'scope') && definition.scope === undefined) {
    throw new ConfigurationError(`${where}: scope is undefined. Leave it out for a tool that needs no sign-in.`)
  }
  if (typeof description !== 'string' || description.trim() === '') {
    throw new ConfigurationError(
      `${where} needs a description: say in a sentence or two what it does and when to use it.`,
    )
  }
  if (title !== undefined && (typeof title !== 'string' || title.trim() === '')) {
    throw new ConfigurationError(`${where}: title must be a short name for people, or be left out.`)
  }
  if (typeof definition.run !== 'function') {
    throw new ConfigurationError(`${where} needs a function: run: (input, context) => …`)
  }
  if (!Number.isInteger(timeout) || timeout < 1 || timeout > 600_000) {
    throw new ConfigurationError(
      `${where}: timeout is in milliseconds, a whole number from 1 to 600000, such as 30000.`,
    )
  }
  const extension = readExtension(definition.extension, where)
  const checked: Tool = Object.freeze({
    name,
    title,
    description,
    input: objectSchema(definition.input, where),
    output:
      definition.output === undefined ? undefined : compileSchema(definition.output, 'output', `${where}: output`),
    scopes: readScopes(definition.scope, where),
    extensions: extension === undefined ? [] : [extension],
    annotations: readAnnotations(annotations, where),
    timeout,
    // The schema has made sure of the type by the time that this is called.
    run: definition.run as Tool['run'],
    proposes: false,
  })
  made.add(checked)
  return checked
}

const takesNothing: CompiledSchema = {
  json: { type: 'object', properties: {} },
  judges: 'value',
  // Like any object schema that doesn't say otherwise: members that it doesn't know are left out.
  validate: async () => ({ value: {} }),
}

/** An object schema, made ready; nothing is taken where none is given. */
export function objectSchema(schema: ToolSchema | undefined, where: string): CompiledSchema {
  if (schema === undefined) return takesNothing
  const compiled = compileSchema(schema, 'input', `${where}: input`)
  const { json } = compiled
  if (json.type === 'object') return compiled
  // MCP wants the word at the root; a union of objects doesn't say it by itself.
  if (json.type === undefined && ['anyOf', 'oneOf', 'allOf', '$ref'].some((keyword) => keyword in json)) {
    return { ...compiled, json: { type: 'object', ...json } satisfies JsonSchema }
  }
  throw new ConfigurationError(`${where}: input must be an object, such as z.object({ from: z.iso.date() }).`)
}

/** @throws ConfigurationError for what is no scope */
export function readScopes(scope: ScopeNeed | undefined, where: string): readonly string[] {
  const scopes: readonly string[] =
    scope === undefined ? [] : typeof scope === 'object' && scope !== null ? [...scope] : [scope]
  for (const one of scopes) {
    if (typeof one === 'string' && isScope(one)) continue
    throw new ConfigurationError(
      `${where}: ${JSON.stringify(one)} is not a scope. Write one scope such as 'poppy:read', or a list of them.`,
    )
  }
  return Object.freeze([...new Set(scopes)])
}

/** @throws ConfigurationError for what is no name of an extension */
export function readExtension(extension: unknown, where: string): string | undefined {
  if (extension === undefined) return undefined
  if (typeof extension === 'string' && extensionDomain(extension) !== null) return extension
  throw new ConfigurationError(
    `${where}: ${JSON.stringify(extension)} is not an extension. Write the name that it has in \`extensions\`, such as 'miramar.example/loyalty'.`,
  )
}

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

/** @throws ConfigurationError for what MCP has no hint for */
export function readAnnotations(annotations: ToolAnnotations | undefined, where: string): ToolAnnotations | undefined {
  if (annotations === undefined) return undefined
  for (const [name, value] of Object.entries(annotations)) {
    if (hints.some((hint) => hint === name) && typeof value === 'boolean') continue
    throw new ConfigurationError(`${where}: annotations may hold ${hints.join(', ')}, each true or false; not ${name}.`)
  }
  return Object.freeze({ ...annotations })
}

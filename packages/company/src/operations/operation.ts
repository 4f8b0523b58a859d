import { isPlain } from '../config-shapes.ts'
import { ConfigurationError } from '../configuration-error.ts'
import type { ParsedBy, ToolSchema } from '../tools/schema.ts'
import {
  isToolName,
  objectSchema,
  type PrincipalWith,
  readAnnotations,
  readExtension,
  readScopes,
  type ScopeNeed,
  type ToolAnnotations,
  type ToolContext,
} from '../tools/tool.ts'
import type { Agreement } from './agreement.ts'
import type { ApprovalNeed, Operation, Proposal, WorkContext } from './definition.ts'
import type { CancelOutcome, Outcome } from './outcome.ts'

/** `operation()`: something with consequences, which is proposed, confirmed for exactly its terms, and done at most once. */

/** What {@link operation} is given. Its order matters to the types: `propose` stands before `perform`. */
export interface OperationDefinition<
  Input extends ToolSchema | undefined,
  Scope extends ScopeNeed | undefined = ScopeNeed | undefined,
  Terms = unknown,
  Data = unknown,
> {
  /** 1 to 64 letters, digits, `_` and `-`, unlike any tool's. Agents keep it: don't rename lightly. */
  readonly name: string
  /** A short name for people. */
  readonly title?: string
  /** What it does and when to use it, for the caller's model. */
  readonly description: string
  /** An object schema whose values are JSON. Left out, the operation takes nothing. */
  readonly input?: Input
  /** The scope or scopes that proposing and confirming need, all of them. Left out, it needs no sign-in. */
  readonly scope?: Scope
  /** An extension of `extensions` that an agent needs beside `operations` itself (3.3). */
  readonly extension?: string
  readonly annotations?: ToolAnnotations
  /**
   * Who may approve: `user` (when left out), the User each time; `standing_permission`, also a rule that the User gave
   * their agent; `page`, the User on the company's own page and nowhere else. A proposal may say otherwise for itself.
   */
  readonly approval?: ApprovalNeed
  /** Seconds for which a proposal may be confirmed; 900 when left out, at most 90 days. */
  readonly expiresIn?: number
  /** Milliseconds that `propose` may take; 30,000 when left out, at most 600,000. */
  readonly timeout?: number
  /** Milliseconds that `perform`, `reconcile` and `cancel` may each take; 60,000 when left out, at most 600,000. */
  readonly performTimeout?: number
  /**
   * Whether performing it again with the same key does nothing more, because the downstream system deduplicates by it: then
   * an outcome that isn't known is found by performing again.
   */
  readonly repeatable?: boolean
  /**
   * What "the same thing" is, such as the booking's number: while an operation for it is open, the same agent asking again
   * for the same account gets that one back, and `propose` isn't called. Undefined: each is a thing of its own.
   */
  readonly identity?: (input: ParsedBy<Input>, context: ToolContext<PrincipalWith<Scope>>) => string | undefined
  /** Works out the terms. It changes nothing, and reserves nothing that it would have to give back. */
  readonly propose: (
    input: ParsedBy<Input>,
    context: ToolContext<PrincipalWith<Scope>>,
  ) => Proposal<Terms, Data> | Promise<Proposal<Terms, Data>>
  /** Does what was agreed, once. Answers `succeeded(…)`, `failed(…)` or `unknown()`; what it throws is unknown. */
  readonly perform: (
    agreement: Agreement<ParsedBy<Input>, Terms, Data>,
    context: WorkContext,
  ) => Outcome | Promise<Outcome>
  /** Finds out what came of it, where that isn't known: asked now and then until it knows. Does nothing. */
  readonly reconcile?: (
    agreement: Agreement<ParsedBy<Input>, Terms, Data>,
    context: WorkContext,
  ) => Outcome | Promise<Outcome>
  /** Tries to stop what has begun. Answers `cancelled(…)`, `tooLate()` or `unknown()`. */
  readonly cancel?: (
    agreement: Agreement<ParsedBy<Input>, Terms, Data>,
    context: WorkContext,
  ) => CancelOutcome | Promise<CancelOutcome>
}

const members: ReadonlySet<string> = new Set<keyof OperationDefinition<undefined>>([
  'name',
  'title',
  'description',
  'input',
  'scope',
  'extension',
  'annotations',
  'approval',
  'expiresIn',
  'timeout',
  'performTimeout',
  'repeatable',
  'identity',
  'propose',
  'perform',
  'reconcile',
  'cancel',
])

/** Who may approve, as it is written. */
export const approvalNeeds = ['user', 'standing_permission', 'page'] as const

/** Seconds that a proposal may be open at most. */
const longestExpiry = 90 * 86_400

const made = new WeakSet<object>()

/** Whether a value came from {@link operation}. */
export function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && made.has(value)
}

/** Whether a number of seconds is one for which a proposal may be open. */
export function isExpiry(seconds: unknown): seconds is number {
  return Number.isInteger(seconds) && (seconds as number) >= 1 && (seconds as number) <= longestExpiry
}

/**
 * Defines an operation. An agent calls it like a tool and gets a proposal; `perform` runs once the proposal is confirmed.
 *
 * ```ts
 * const bookRoom = operation({
 *   name: 'book_room',
 *   description: 'Books a room for the signed-in guest.',
 *   input: z.object({ room: z.string(), from: z.iso.date(), nights: z.int().min(1).max(30) }),
 *   scope: 'poppy:write',
 *   async propose({ room, from, nights }) {
 *     const price = await rates.of(room, from, nights)
 *     return { summary: `${nights} nights in ${room} from ${from}, ${price} €.`, terms: { room, from, nights, price } }
 *   },
 *   async perform({ terms, account }, { key }) {
 *     const booking = await bookings.make({ ...terms, account, key })
 *     return booking === null ? failed('The room was taken meanwhile.') : succeeded({ booking: booking.id })
 *   },
 *   reconcile: async (_, { key }) => {
 *     const booking = await bookings.byKey(key)
 *     return booking === null ? unknown() : succeeded({ booking: booking.id })
 *   },
 * })
 * ```
 * @throws ConfigurationError at once when the definition is wrong, with a sentence that says what to write
 */
export function operation<
  Input extends ToolSchema | undefined = undefined,
  const Scope extends ScopeNeed | undefined = undefined,
  Terms extends Readonly<Record<string, unknown>> | null = null,
  Data = null,
>(definition: OperationDefinition<Input, Scope, Terms, Data>): Operation {
  if (!isPlain(definition))
    throw new ConfigurationError('An operation is written operation({ name, description, propose, perform }).')
  const { name, title, description, approval = 'user', expiresIn = 900, repeatable = false } = definition
  if (!isToolName(name))
    throw new ConfigurationError(
      `An operation's name is 1 to 64 letters, digits, "_" and "-", such as "book_room"; this one is ${JSON.stringify(name)}.`,
    )
  const where = `Operation ${name}`
  // A misspelt `scope` would leave it open to everybody, a misspelt `reconcile` leave its outcome unknown for good.
  for (const member of Object.keys(definition)) {
    if (!members.has(member))
      throw new ConfigurationError(
        `${where} has no setting \`${member}\`. An operation has: ${[...members].join(', ')}.`,
      )
  }
  if (Object.hasOwn(definition, 'scope') && definition.scope === undefined)
    throw new ConfigurationError(`${where}: scope is undefined. Leave it out for an operation that needs no sign-in.`)
  if (typeof description !== 'string' || description.trim() === '')
    throw new ConfigurationError(
      `${where} needs a description: say in a sentence or two what it does and when to use it.`,
    )
  if (title !== undefined && (typeof title !== 'string' || title.trim() === ''))
    throw new ConfigurationError(`${where}: title must be a short name for people, or be left out.`)
  if (!approvalNeeds.some((need) => need === approval))
    throw new ConfigurationError(`${where}: approval is 'user', 'standing_permission' or 'page'.`)
  if (!isExpiry(expiresIn))
    throw new ConfigurationError(
      `${where}: expiresIn is in seconds, a whole number from 1 to ${longestExpiry}, such as 900.`,
    )
  if (typeof repeatable !== 'boolean')
    throw new ConfigurationError(
      `${where}: repeatable is true or false: whether performing it again with the same key does nothing more.`,
    )
  for (const needed of ['propose', 'perform'] as const) {
    if (typeof definition[needed] !== 'function')
      throw new ConfigurationError(
        needed === 'propose'
          ? `${where} needs a function that works out the terms: propose: (input, context) => ({ summary, terms }).`
          : `${where} needs a function that does it: perform: (agreement, { key }) => succeeded({ … }).`,
      )
  }
  for (const other of ['identity', 'reconcile', 'cancel'] as const) {
    if (definition[other] !== undefined && typeof definition[other] !== 'function')
      throw new ConfigurationError(`${where}: ${other} is a function, or is left out.`)
  }
  const scopes = readScopes(definition.scope, where)
  if (approval === 'page' && scopes.length === 0)
    throw new ConfigurationError(
      `${where}: approval 'page' is for whoever has an account at the site, so it needs a scope, such as scope: 'poppy:write'.`,
    )
  const checked: Operation = Object.freeze({
    name,
    title,
    description,
    input: objectSchema(definition.input, where),
    scopes,
    extension: readExtension(definition.extension, where),
    annotations: readAnnotations(definition.annotations, where),
    approval,
    expiresIn: expiresIn * 1000,
    timeout: readTimeout('timeout', definition.timeout, 30_000, where),
    performTimeout: readTimeout('performTimeout', definition.performTimeout, 60_000, where),
    repeatable,
    // The schema has made sure of the input's type, and what was agreed is what `propose` gave.
    identity: definition.identity as Operation['identity'],
    propose: definition.propose as Operation['propose'],
    perform: definition.perform as Operation['perform'],
    reconcile: definition.reconcile as Operation['reconcile'],
    cancel: definition.cancel as Operation['cancel'],
  })
  made.add(checked)
  return checked
}

function readTimeout(setting: string, value: number | undefined, standard: number, where: string): number {
  const milliseconds = value ?? standard
  if (!Number.isInteger(milliseconds) || milliseconds < 1 || milliseconds > 600_000)
    throw new ConfigurationError(
      `${where}: ${setting} is in milliseconds, a whole number from 1 to 600000, such as ${standard}.`,
    )
  return milliseconds
}

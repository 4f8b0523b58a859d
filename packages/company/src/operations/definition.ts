import type { RevisionsTable } from '../store/tables.ts'
import type { CompiledSchema } from '../tools/schema.ts'
import type { ToolAnnotations, ToolContext } from '../tools/tool.ts'
import type { Agreement } from './agreement.ts'
import type { CancelOutcome, Outcome } from './outcome.ts'

/** An operation of the company's, once it is checked: how it is worked out, done, and asked about. */

/** Who may approve: the User, also a standing permission of theirs, or the User on the company's own page alone. */
export type ApprovalNeed = RevisionsTable['approval']

/** What `propose` works out, without changing anything. */
export interface Proposal<Terms = unknown, Data = unknown> {
  /** Plain words for the person: all of it, with every effect and cost. */
  readonly summary: string
  /** The same as data. When it is given, it covers every effect and cost. */
  readonly terms?: Terms
  /** Seconds for which it may be confirmed; the operation's own when left out. */
  readonly expiresIn?: number
  /** Who may approve this revision; the operation's own when left out. */
  readonly approval?: ApprovalNeed
  /** What the company keeps for `perform` and tells nobody. JSON. */
  readonly data?: Data
}

/** What `perform`, `reconcile` and `cancel` are told beside the agreement. */
export interface WorkContext {
  /**
   * The operation's id: hand it to the downstream system as its idempotency key. It is the same at each try, and for no
   * other operation.
   */
  readonly key: string
  /** Aborts when the time is up or the Company closes: what happens then is not known, and `reconcile` is asked. */
  readonly signal: AbortSignal
  /** Which try this is, from 1. */
  readonly attempt: number
}

/** An operation that `operation()` has checked. */
export interface Operation {
  readonly name: string
  readonly title: string | undefined
  readonly description: string
  readonly input: CompiledSchema
  /** Every scope that it needs; empty when none. */
  readonly scopes: readonly string[]
  readonly extension: string | undefined
  readonly annotations: ToolAnnotations | undefined
  readonly approval: ApprovalNeed
  /** Milliseconds for which a proposal may be confirmed. */
  readonly expiresIn: number
  /** Milliseconds that `propose` may take. */
  readonly timeout: number
  /** Milliseconds that `perform`, `reconcile` and `cancel` may each take. */
  readonly performTimeout: number
  /** Whether performing it again with the same key does nothing more: then an unknown outcome is found by doing so. */
  readonly repeatable: boolean
  /** What "the same thing" is: while one is open, asking again gives that one back. */
  readonly identity: ((input: unknown, context: ToolContext) => string | undefined) | undefined
  readonly propose: (input: unknown, context: ToolContext) => Proposal | Promise<Proposal>
  readonly perform: (agreement: Agreement, context: WorkContext) => Outcome | Promise<Outcome>
  readonly reconcile: ((agreement: Agreement, context: WorkContext) => Outcome | Promise<Outcome>) | undefined
  readonly cancel: ((agreement: Agreement, context: WorkContext) => CancelOutcome | Promise<CancelOutcome>) | undefined
}

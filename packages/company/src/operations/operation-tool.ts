import type { WireOperation } from '@poppyseed/protocol'
import type { Scope } from '../store/database.ts'
import type { Tool, ToolContext } from '../tools/tool.ts'
import type { Operation } from './definition.ts'
import { operationAnswerSchema } from './wire.ts'

/** An operation among the tools (Operations 4): called like one, and answered with what it would do. */

/** The name of the extension, and the version that this is. */
export const extensionName = 'operations'

/** What a call of an operation gives. */
export interface Proposed {
  readonly operation: WireOperation
}

/** What goes with a proposal. */
export interface WithProposal {
  /** Holds the rows that it changes. Before a new one's Session is held: an erasure takes them in this order. */
  readonly hold: (scope: Scope) => Promise<void>
  /**
   * Writes it, in the transaction that keeps the proposal: what it throws takes all of that back. False where something else
   * happened at that moment: all of it is taken back and written again.
   */
  readonly write: (scope: Scope, operation: WireOperation) => Promise<boolean>
  /** Called after each such transaction: whether it was committed. */
  readonly over: (isKept: boolean) => void
}

/** Works out a proposal and keeps it, or finds the one that is open for the same thing. */
export type Propose = (
  operation: Operation,
  input: unknown,
  context: ToolContext,
  also?: WithProposal,
) => Promise<Proposed>

/** An operation as the registry has it: a tool that answers with a proposal. */
export function toolOf(operation: Operation, propose: Propose): Tool {
  const { name, title, description, input, scopes, annotations, timeout } = operation
  return Object.freeze<Tool>({
    name,
    title,
    description,
    input,
    output: { json: operationAnswerSchema, judges: 'value', validate: async (value) => ({ value }) },
    scopes,
    extensions: Object.freeze([extensionName, ...(operation.extension === undefined ? [] : [operation.extension])]),
    annotations,
    timeout,
    run: (parsed, context, also) => propose(operation, parsed, context, also),
    proposes: true,
  })
}

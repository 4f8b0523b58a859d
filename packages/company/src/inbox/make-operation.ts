import type { TurnTool } from '../company-agent/turn.ts'
import type { TrailEntry } from '../operations/agreement.ts'
import { inPlainSight } from '../operations/terms.ts'
import type { OperationView } from '../operations/view.ts'
import type { Reader } from './parts.ts'
import { readable, readableOrNull } from './readable.ts'
import { enteredInput } from './tool-form.ts'
import type { OperationCard } from './view.ts'

/** An operation as staff see it: what was proposed, what came of it, never what the company keeps beside it. */

/** Makes a card. */
export function operationCard(
  operation: OperationView,
  { style }: Pick<Reader, 'style'>,
  more: {
    readonly trail?: readonly TrailEntry[]
    /** The operation as a tool, for whoever may revise it. */
    readonly tool?: Pick<TurnTool, 'input'> | undefined
  } = {},
): OperationCard {
  return {
    id: operation.id,
    name: operation.name,
    state: operation.state,
    revision: operation.revision,
    summary: inPlainSight(operation.summary),
    terms: operation.terms === null ? null : readable(operation.terms, style),
    expiresAt: operation.expiresAt,
    unknownSince: operation.unknownSince,
    result: readableOrNull(operation.result, style),
    conversationId: operation.conversationId,
    host: new URL(operation.clientId).host,
    createdAt: operation.createdAt,
    input:
      more.tool === undefined || operation.state !== 'proposed' ? null : enteredInput(more.tool.input, operation.input),
    trail: (more.trail ?? []).map(({ at, event, who }) => ({ at, what: event, by: who.staff ?? null })),
  }
}

import type { OperationState } from '@poppyseed/protocol'
import type { StoredOperation } from './agreement.ts'
import type { ApprovalNeed } from './definition.ts'

/** An operation as the company's own code sees it. Times are milliseconds since 1970. */
export interface OperationView {
  readonly id: string
  readonly name: string
  readonly clientId: string
  readonly userId: string
  /** Null for one that was proposed signed out. */
  readonly account: string | null
  /** The conversation in which it was proposed, which is told what becomes of it; null for any other. */
  readonly conversationId: string | null
  readonly state: OperationState
  /** The latest revision, which the next members are of. */
  readonly revision: number
  readonly summary: string
  readonly terms: Readonly<Record<string, unknown>> | null
  /** What was asked for. */
  readonly input: unknown
  /** What `propose` kept. */
  readonly data: unknown
  readonly approval: ApprovalNeed
  readonly expiresAt: number | null
  readonly confirmation: {
    readonly revision: number
    readonly approvedBy: 'user' | 'standing_permission' | 'page'
    readonly confirmedAt: number
  } | null
  /** When `perform` was called first. */
  readonly startedAt: number | null
  /** Since when nobody knows what came of it; null while that isn't so. */
  readonly unknownSince: number | null
  readonly cancelAskedAt: number | null
  readonly result: unknown
  readonly createdAt: number
  readonly updatedAt: number
  readonly finishedAt: number | null
}

/** Makes the view of a row. A proposal that is over its time is expired, whether that was written down yet or not. */
export function viewOf({ operation, revision }: StoredOperation, now: number): OperationView {
  return Object.freeze({
    id: operation.id,
    name: operation.name,
    clientId: operation.client_id,
    userId: operation.user_id,
    account: operation.account,
    conversationId: operation.conversation_id,
    state: stateOf(operation, now),
    revision: revision.revision,
    summary: revision.summary,
    terms: parse(revision.terms) as OperationView['terms'],
    input: parse(revision.input),
    data: parse(revision.data),
    approval: revision.approval,
    expiresAt: revision.expires_at,
    confirmation:
      operation.confirmed_revision === null || operation.approved_by === null || operation.confirmed_at === null
        ? null
        : {
            revision: operation.confirmed_revision,
            approvedBy: operation.approved_by,
            confirmedAt: operation.confirmed_at,
          },
    startedAt: operation.started_at,
    unknownSince: operation.unknown_since,
    cancelAskedAt: operation.cancel_asked_at,
    result: parse(operation.result),
    createdAt: operation.created_at,
    updatedAt: operation.updated_at,
    finishedAt: operation.finished_at,
  })
}

/** The state at a moment: what nobody confirmed in time is expired from then on. */
export function stateOf(
  operation: Pick<StoredOperation['operation'], 'state' | 'expires_at'>,
  now: number,
): OperationState {
  return operation.state === 'proposed' && operation.expires_at !== null && operation.expires_at <= now
    ? 'expired'
    : operation.state
}

function parse(json: string | null): unknown {
  return json === null ? null : JSON.parse(json)
}

import type { OperationsTable, RevisionsTable, TrailTable } from '../store/tables.ts'

/** An operation as the company's own code gets it: what was agreed, by whom. */

/** A row of the store, with the latest revision. */
export interface StoredOperation {
  readonly operation: Omit<OperationsTable, 'company' | 'to_erase'>
  readonly revision: Omit<RevisionsTable, 'company'>
}

/** What was confirmed, and for whom it is done. `perform` and `reconcile` get nothing else to go by. */
export interface Agreement<Input = unknown, Terms = unknown, Data = unknown> {
  /** The operation's id: a key by which a downstream system can see that it was asked before. */
  readonly id: string
  /** The `name` of the operation. */
  readonly name: string
  readonly revision: number
  readonly summary: string
  readonly terms: Terms
  /** What the agent asked for, as the input schema gave it. */
  readonly input: Input
  /** What `propose` kept for the company. */
  readonly data: Data
  /** The account that it is for; null for one that needs none. */
  readonly account: string | null
  readonly clientId: string
  readonly userId: string
  readonly approvedBy: 'user' | 'standing_permission' | 'page'
  /** Milliseconds since 1970. */
  readonly confirmedAt: number
}

/** By which way something was done to an operation. */
export type Channel = 'http' | 'mcp' | 'agent' | 'endpoint' | 'page' | 'staff' | 'company' | 'worker'

/** Who did something to an operation. */
export interface Actor {
  readonly clientId?: string
  readonly userId?: string
  readonly sessionId?: string
  /** The account at the site, on the company's own page. */
  readonly account?: string
  /** Whoever the company says it was: a member of staff, a job. */
  readonly staff?: string
  /** The name of that member of staff, where the company said it. */
  readonly name?: string
}

/** What happened to an operation. */
export type TrailEvent =
  | 'proposed'
  | 'asked_again'
  | 'revised'
  | 'confirmed'
  | 'started'
  | 'unknown'
  | 'succeeded'
  | 'failed'
  | 'cancel_asked'
  | 'cancel_answered'
  | 'cancelled'
  | 'expired'
  | 'settled'
  | 'late_outcome'

/** One entry of an operation's trail, as it is written. */
export interface Entry {
  readonly event: TrailEvent
  readonly channel: Channel
  readonly who: Actor
  readonly revision?: number | null
  readonly detail?: unknown
}

/** An entry as it is read. Times are milliseconds since 1970. */
export interface TrailEntry extends Required<Omit<Entry, 'event'>> {
  readonly event: string
  readonly at: number
}

/** Reads an entry of the store. */
export function entryOf(row: Omit<TrailTable, 'company'>): TrailEntry {
  return {
    event: row.event,
    at: row.at,
    revision: row.revision,
    channel: row.channel as Channel,
    who: JSON.parse(row.who) as Actor,
    detail: row.detail === null ? null : (JSON.parse(row.detail) as unknown),
  }
}

/** @throws TypeError for one that wasn't confirmed */
export function agreementOf({ operation, revision }: StoredOperation): Agreement {
  if (operation.approved_by === null || operation.confirmed_at === null)
    throw new TypeError('An operation that was not confirmed has no agreement.')
  return Object.freeze({
    id: operation.id,
    name: operation.name,
    revision: revision.revision,
    summary: revision.summary,
    terms: parse(revision.terms),
    input: parse(revision.input),
    data: parse(revision.data),
    account: operation.account,
    clientId: operation.client_id,
    userId: operation.user_id,
    approvedBy: operation.approved_by,
    confirmedAt: operation.confirmed_at,
  })
}

function parse(json: string | null): unknown {
  return json === null ? null : JSON.parse(json)
}

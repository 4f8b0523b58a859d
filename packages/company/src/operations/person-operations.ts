import type { Person } from '../accounts/person-store.ts'
import type { Scope } from '../store/database.ts'
import type { OperationsTable, RevisionsTable, TrailTable } from '../store/tables.ts'
import type { Actor } from './agreement.ts'
import { deleteWhole } from './retention.ts'

/** A person's operations: read for them, or deleted for them. */

/** The rows, each a column of the tables. */
export interface PersonOperations {
  readonly operations: readonly Omit<OperationsTable, 'company' | 'identity' | 'turn' | 'trail' | 'to_erase'>[]
  readonly revisions: readonly Omit<RevisionsTable, 'company' | 'digest'>[]
  readonly trail: readonly Omit<TrailTable, 'company' | 'number'>[]
}

/** How many operations one statement names at most. */
const bite = 500

/** Reads them, inside a transaction. */
export async function readOperationsOf(scope: Scope, person: Person): Promise<PersonOperations> {
  const { db, company } = scope
  const theirs = () => operationsOf(scope, person).select('id')
  const operations = await operationsOf(scope, person)
    .select(['id', 'name', 'client_id', 'user_id', 'account', 'session_id', 'state', 'revision', 'expires_at'])
    .select(['confirmed_revision', 'approved_by', 'confirmed_at', 'confirmed_scopes', 'started_at', 'unknown_since'])
    .select(['cancel_asked_at', 'result', 'created_at', 'updated_at', 'finished_at', 'conversation_id'])
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const revisions = await db.query
    .selectFrom('poppy_revisions')
    .select(['operation_id', 'revision', 'summary', 'terms', 'input', 'data', 'approval', 'expires_at', 'created_at'])
    .where('company', '=', company)
    .where('operation_id', 'in', theirs())
    .orderBy('operation_id')
    .orderBy('revision')
    .execute()
  const trail = await db.query
    .selectFrom('poppy_trail')
    .select(['operation_id', 'event', 'at', 'revision', 'channel', 'who', 'detail'])
    .where('company', '=', company)
    .where('operation_id', 'in', theirs())
    .orderBy('operation_id')
    .orderBy('number')
    .execute()
  return { operations, revisions, trail }
}

function operationsOf({ db, company }: Scope, person: Person) {
  return db.query
    .selectFrom('poppy_operations')
    .where('company', '=', company)
    .where((eb) =>
      eb.and(typeof person === 'string' ? { account: person } : { client_id: person.clientId, user_id: person.userId }),
    )
}

/**
 * Deletes all but those in progress, inside a transaction; those are marked, and clean-up deletes them once they have ended.
 * Gives how many were deleted.
 */
export async function deleteOperationsOf(scope: Scope, person: Person): Promise<number> {
  const { db, company } = scope
  let deleted = 0
  for (;;) {
    // Held: a proposal isn't confirmed between the two statements.
    const over = await operationsOf(scope, person)
      .select('id')
      .where('state', '!=', 'in_progress')
      .orderBy('id')
      .limit(bite)
      .$if(db.name === 'postgres', (query) => query.forUpdate())
      .execute()
    if (over.length === 0) break
    await deleteWhole(
      scope,
      over.map(({ id }) => id),
    )
    deleted += over.length
  }
  await db.query
    .updateTable('poppy_operations')
    .set({ to_erase: 1 })
    .where('company', '=', company)
    .where('to_erase', 'is', null)
    .where((eb) =>
      eb.and(typeof person === 'string' ? { account: person } : { client_id: person.clientId, user_id: person.userId }),
    )
    .execute()
  return deleted
}

/** An operation of a person's, for their export. Times are milliseconds since 1970. */
export interface PersonOperation {
  readonly operationId: string
  readonly name: string
  readonly clientId: string
  readonly userId: string
  readonly account: string | null
  readonly sessionId: string
  readonly state: string
  readonly revision: number
  readonly expiresAt: number | null
  readonly confirmedRevision: number | null
  readonly approvedBy: string | null
  readonly confirmedAt: number | null
  readonly confirmedScopes: string | null
  readonly startedAt: number | null
  readonly unknownSince: number | null
  readonly cancelAskedAt: number | null
  readonly result: unknown
  readonly createdAt: number
  readonly updatedAt: number
  readonly finishedAt: number | null
  /** All terms that were proposed. */
  readonly revisions: readonly {
    readonly revision: number
    readonly summary: string
    readonly terms: unknown
    readonly input: unknown
    readonly data: unknown
    readonly approval: string
    readonly expiresAt: number | null
    readonly createdAt: number
  }[]
  /** All that happened to it. Whoever did it on the company's side isn't named: that is their own personal data. */
  readonly trail: readonly {
    readonly event: string
    readonly at: number
    readonly revision: number | null
    readonly channel: string
    readonly who: Omit<Actor, 'staff'>
    readonly detail: unknown
  }[]
}

/** Puts the rows together. */
export function exportOperations({ operations, revisions, trail }: PersonOperations): readonly PersonOperation[] {
  const byId = <Row extends { readonly operation_id: string }>(rows: readonly Row[]) =>
    Map.groupBy(rows, ({ operation_id }) => operation_id)
  const revisionsOf = byId(revisions)
  const trailOf = byId(trail)
  return operations.map((row) => ({
    operationId: row.id,
    name: row.name,
    clientId: row.client_id,
    userId: row.user_id,
    account: row.account,
    sessionId: row.session_id,
    state: row.state,
    revision: row.revision,
    expiresAt: row.expires_at,
    confirmedRevision: row.confirmed_revision,
    approvedBy: row.approved_by,
    confirmedAt: row.confirmed_at,
    confirmedScopes: row.confirmed_scopes,
    startedAt: row.started_at,
    unknownSince: row.unknown_since,
    cancelAskedAt: row.cancel_asked_at,
    result: parse(row.result),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    finishedAt: row.finished_at,
    revisions: (revisionsOf.get(row.id) ?? []).map((one) => ({
      revision: one.revision,
      summary: one.summary,
      terms: parse(one.terms),
      input: parse(one.input),
      data: parse(one.data),
      approval: one.approval,
      expiresAt: one.expires_at,
      createdAt: one.created_at,
    })),
    trail: (trailOf.get(row.id) ?? []).map((one) => ({
      event: one.event,
      at: one.at,
      revision: one.revision,
      channel: one.channel,
      who: withoutStaff(one.who),
      detail: parse(one.detail),
    })),
  }))
}

function withoutStaff(json: string): Omit<Actor, 'staff'> {
  const { staff: _, ...who } = JSON.parse(json) as Actor
  return who
}

function parse(json: string | null): unknown {
  return json === null ? null : JSON.parse(json)
}

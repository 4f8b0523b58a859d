import type { Scope } from '../store/database.ts'
import { askedText, forMany } from '../store/for-many.ts'
import { gathered } from '../store/gather.ts'
import { pageSize } from '../store/page-size.ts'
import { statement } from '../store/statement.ts'
import type { GrantsTable, OperationsTable, RevisionsTable } from '../store/tables.ts'
import { type Entry, entryOf, type StoredOperation, type TrailEntry } from './agreement.ts'
import { beginTrail, type Change, type Changed, transition } from './transition.ts'

/** Operations: what the store does with them. Each change is compare-and-set, so of two that come at once one is made. */

type NewOperation = StoredOperation['operation']
type NewRevision = Omit<RevisionsTable, 'company'>

const columns = [
  'id',
  'name',
  'client_id',
  'user_id',
  'account',
  'session_id',
  'identity',
  'state',
  'revision',
  'expires_at',
  'confirmed_revision',
  'approved_by',
  'confirmed_at',
  'confirmed_scopes',
  'turn',
  'started_at',
  'unknown_since',
  'cancel_asked_at',
  'trail',
  'result',
  'created_at',
  'updated_at',
  'finished_at',
  'conversation_id',
] as const satisfies readonly (keyof NewOperation)[]

const revisionColumns = [
  'operation_id',
  'revision',
  'summary',
  'terms',
  'input',
  'data',
  'approval',
  'expires_at',
  'digest',
  'created_at',
] as const satisfies readonly (keyof RevisionsTable)[]

/** Keeps a proposal with its first revision. False when there is an open operation for the same thing already. */
export async function insertOperation(
  scope: Scope,
  proposal: {
    readonly operation: NewOperation
    readonly revision: NewRevision
    readonly entry: Entry
    readonly tells?: Change['tells']
  },
): Promise<boolean> {
  const { db, company } = scope
  const { operation, revision, entry, tells = false } = proposal
  return db.transaction(async () => {
    const added = await db.query
      .insertInto('poppy_operations')
      .values({ ...operation, company, trail: 1 })
      // Of two proposals for the same thing at once, the second waits for the first and finds it.
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .execute()
    if (added.length === 0) return false
    await db.query
      .insertInto('poppy_revisions')
      .values({ ...revision, company })
      .execute()
    await beginTrail(scope, { id: operation.id, now: operation.created_at, entry, tells })
    return true
  })
}

function read({ db, company }: Scope) {
  return db.query
    .selectFrom('poppy_operations as operation')
    .innerJoin('poppy_revisions as latest', (join) =>
      join
        .onRef('latest.company', '=', 'operation.company')
        .onRef('latest.operation_id', '=', 'operation.id')
        .onRef('latest.revision', '=', 'operation.revision'),
    )
    .select([
      ...columns.map((column) => `operation.${column} as o_${column}` as const),
      ...revisionColumns.map((column) => `latest.${column} as r_${column}` as const),
    ])
    .where('operation.company', '=', company)
}

type Row = Readonly<Record<string, unknown>>

// The columns are ours, so the rows have the shape that the tables say.
function part(row: Row, prefix: string, names: readonly string[]): unknown {
  return Object.fromEntries(names.map((name) => [name, row[`${prefix}${name}`]]))
}

function stored(row: Row): StoredOperation {
  return {
    operation: part(row, 'o_', columns) as StoredOperation['operation'],
    revision: part(row, 'r_', revisionColumns) as StoredOperation['revision'],
  }
}

/** Reads an operation with its latest revision, and whatever else is joined to it. */
const readText = (more: string, join: string) => `select ${[
  ...columns.map((column) => `operation.${column} as o_${column}`),
  ...revisionColumns.map((column) => `latest.${column} as r_${column}`),
].join(', ')}${more}
  from poppy_operations operation
  join poppy_revisions latest on latest.company = operation.company and latest.operation_id = operation.id
    and latest.revision = operation.revision ${join}
  where operation.company = :company and operation.id = :id`
const findText = readText('', '')
const find = statement<{ readonly id: string }, Row>({ sqlite: findText, postgres: findText })

/** What confirming looks at beside the operation: the sign-in that the rights come from, as it stands. */
export type GrantState = Pick<GrantsTable, 'id' | 'scopes' | 'expires_at' | 'revoked_at'>

const grantColumns = ['id', 'scopes', 'expires_at', 'revoked_at'] as const satisfies readonly (keyof GrantState)[]
const findBothText = readText(
  grantColumns.map((column) => `, sign_in.${column} as g_${column}`).join(''),
  'left join poppy_grants sign_in on sign_in.company = operation.company and sign_in.id = :grantId',
)
type BothIds = { readonly id: string; readonly grantId: string }
const findBoth = statement<BothIds, Row>({ sqlite: findBothText, postgres: findBothText })
const findManyBoth = forMany<Row>(
  (names) => `with asked as (${askedText(names)})
    ${findBothText.replace('from poppy_operations', 'from asked cross join poppy_operations')}`,
)

/** What {@link findWithGrant} finds. */
export interface WithGrant {
  readonly stored: StoredOperation
  readonly grant: GrantState | null
}

function both(row: Row): WithGrant {
  return { stored: stored(row), grant: row.g_id === null ? null : (part(row, 'g_', grantColumns) as GrantState) }
}

/** An operation with its latest revision, and a sign-in as it stands, which is null when it is gone. In one round trip. */
export const findWithGrant: (scope: Scope, ids: BothIds) => Promise<WithGrant | null> = gathered({
  async alone(scope, ids) {
    const [row] = await findBoth(scope, ids)
    return row === undefined ? null : both(row)
  },
  together: async (scope, items) =>
    new Map((await findManyBoth(scope, items)).map((row) => [String(row.o_id), both(row)])),
})

/** An operation with its latest revision, or null. */
export async function findOperation(scope: Scope, id: string): Promise<StoredOperation | null> {
  const [row] = await find(scope, { id })
  return row === undefined ? null : stored(row)
}

/** The open operation for a thing, or null. `identity`: SHA-256 of whose it is and what it is about. */
export async function findOpen(scope: Scope, identity: string): Promise<StoredOperation | null> {
  const row = await read(scope).where('operation.identity', '=', identity).executeTakeFirst()
  return row === undefined ? null : stored(row)
}

/** Has an operation told to a conversation from here on (Operations 4.3), unless it is told to one. */
export async function linkOperation(
  { db, company }: Scope,
  { id, conversationId }: { readonly id: string; readonly conversationId: string },
): Promise<void> {
  await db.query
    .updateTable('poppy_operations')
    .set({ conversation_id: conversationId })
    .where('company', '=', company)
    .where('id', '=', id)
    .where('conversation_id', 'is', null)
    .execute()
}

/** A revision as it was agreed or replaced, or null. */
export async function findRevision(
  { db, company }: Scope,
  { id, revision }: { readonly id: string; readonly revision: number },
): Promise<NewRevision | null> {
  const row = await db.query
    .selectFrom('poppy_revisions')
    .select([...revisionColumns])
    .where('company', '=', company)
    .where('operation_id', '=', id)
    .where('revision', '=', revision)
    .executeTakeFirst()
  return row ?? null
}

/** Which operations {@link listOperations} gives. */
export interface OperationFilter {
  readonly account?: string
  readonly clientId?: string
  readonly userId?: string
  readonly name?: string
  readonly state?: OperationsTable['state']
  /** Only those whose outcome isn't known. */
  readonly unsettled?: boolean
  /** Goes on after this one: `created_at`, or `unknown_since` of unsettled ones, and id of the last one of the page before. */
  readonly after?: { readonly at: number; readonly id: string }
  readonly limit: number
}

/** Operations, newest first; the unsettled ones with the oldest first. */
export async function listOperations(scope: Scope, filter: OperationFilter): Promise<readonly StoredOperation[]> {
  const { account, clientId, userId, name, state, unsettled = false, after, limit } = filter
  let query = read(scope).limit(pageSize(limit))
  if (account !== undefined) query = query.where('operation.account', '=', account)
  if (clientId !== undefined) query = query.where('operation.client_id', '=', clientId)
  if (userId !== undefined) query = query.where('operation.user_id', '=', userId)
  if (name !== undefined) query = query.where('operation.name', '=', name)
  if (state !== undefined) query = query.where('operation.state', '=', state)
  // Along an index, of which the next page reads on where the last one ended.
  if (unsettled) {
    query = query.where('operation.unknown_since', 'is not', null)
    if (after !== undefined)
      query = query.where((eb) =>
        eb(eb.refTuple('operation.unknown_since', 'operation.id'), '>', eb.tuple(after.at, after.id)),
      )
    query = query.orderBy('operation.unknown_since').orderBy('operation.id')
  } else {
    if (after !== undefined)
      query = query.where((eb) =>
        eb(eb.refTuple('operation.created_at', 'operation.id'), '<', eb.tuple(after.at, after.id)),
      )
    query = query.orderBy('operation.created_at', 'desc').orderBy('operation.id', 'desc')
  }
  return (await query.execute()).slice(0, limit).map(stored)
}

/** Proposals that are over their time and not yet noted as expired. */
export async function expiredOperations(
  { db, company }: Scope,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<readonly string[]> {
  const rows = await db.query
    .selectFrom('poppy_operations')
    .select('id')
    .where('company', '=', company)
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** The revision that an entry of a trail is about; null for none. */
export async function revisionOfEntry(
  { db, company }: Scope,
  { id, number }: { readonly id: string; readonly number: number },
): Promise<number | null> {
  const row = await db.query
    .selectFrom('poppy_trail')
    .select('revision')
    .where('company', '=', company)
    .where('operation_id', '=', id)
    .where('number', '=', number)
    .executeTakeFirst()
  return row?.revision == null ? null : Number(row.revision)
}

/** All that happened to an operation, in order. */
export async function trailOf({ db, company }: Scope, id: string): Promise<readonly TrailEntry[]> {
  const rows = await db.query
    .selectFrom('poppy_trail')
    .select(['operation_id', 'number', 'event', 'at', 'revision', 'channel', 'who', 'detail'])
    .where('company', '=', company)
    .where('operation_id', '=', id)
    .orderBy('number')
    .execute()
  return rows.map(entryOf)
}

const revise = transition<{ readonly from: number; readonly expiresAt: number | null }>(
  'revision = revision + 1, expires_at = cast(:expiresAt as bigint)',
  "state = 'proposed' and revision = cast(:from as bigint) and (expires_at is null or expires_at > :now)",
  'same',
)

/** Replaces the latest revision by other terms. Null when it is no longer the latest, or nobody may confirm it any more. */
export async function addRevision(
  scope: Scope,
  { revision, ...change }: Change & { readonly from: number; readonly revision: NewRevision },
): Promise<Changed | null> {
  const { db, company } = scope
  return db.transaction(async () => {
    const changed = await revise(scope, { ...change, expiresAt: revision.expires_at })
    if (changed === null) return null
    await db.query
      .insertInto('poppy_revisions')
      .values({ ...revision, revision: changed.revision, company })
      .execute()
    return changed
  })
}

/**
 * Confirms the latest revision, and has it performed. Null unless it is the latest, proposed, and not over, and the sign-in
 * that it is confirmed by, where there is one, still gives just these scopes at this moment.
 */
export const confirmOperation = transition<{
  readonly confirmed: number
  readonly approvedBy: NonNullable<OperationsTable['approved_by']>
  readonly scopes: string
  readonly grantId: string | null
  readonly grantScopes: string | null
}>(
  `state = 'in_progress', confirmed_revision = revision, approved_by = :approvedBy, confirmed_at = cast(:now as bigint),
    confirmed_scopes = :scopes, expires_at = null`,
  `state = 'proposed' and revision = cast(:confirmed as bigint) and (expires_at is null or expires_at > :now)
    and (cast(:grantId as text) is null or exists (
      select 1 from poppy_grants
      where poppy_grants.company = :company and poppy_grants.id = cast(:grantId as text)
        and poppy_grants.scopes = cast(:grantScopes as text) and poppy_grants.revoked_at is null
        and (poppy_grants.expires_at is null or poppy_grants.expires_at > :now)))`,
  'perform',
)

const over = 'finished_at = cast(:now as bigint), identity = null, expires_at = null, unknown_since = null'

/** Cancels what certainly did not begin: proposed, or confirmed and not started. Null otherwise. */
export const cancelOperation = transition<{ readonly result: string | null }>(
  `state = 'cancelled', result = cast(:result as text), turn = turn + 1, ${over}`,
  "(state = 'proposed' or (state = 'in_progress' and turn = 0))",
  'none',
)

/** Ends a proposal that nobody confirmed in time. Null when it isn't one. */
export const expireOperation = transition<object>(
  `state = 'expired', ${over}`,
  "state = 'proposed' and expires_at <= :now",
  'none',
)

/**
 * Notes that it is performed, before it is: from here on nobody starts it again, whatever becomes of this process. Its work
 * becomes to ask what came of it, due when `perform` has had its time.
 */
export const startOperation = transition<{ readonly turn: number }>(
  'turn = turn + 1, started_at = coalesce(started_at, cast(:now as bigint))',
  "state = 'in_progress' and turn = cast(:turn as bigint)",
  'reconcile',
)

/** Takes over from whoever had the turn: what that one still writes is too late. From here on the outcome is unknown. */
export const takeOver = transition<{ readonly turn: number }>(
  'turn = turn + 1, unknown_since = coalesce(unknown_since, cast(:now as bigint))',
  "state = 'in_progress' and turn = cast(:turn as bigint)",
  'reconcile',
)

/** Writes the outcome. Null when it is no longer this turn's to write. */
export const finishOperation = transition<{
  readonly turn: number
  readonly state: 'succeeded' | 'failed' | 'cancelled'
  readonly result: string | null
}>(
  `state = :state, result = cast(:result as text), turn = turn + 1, ${over}`,
  "state = 'in_progress' and turn = cast(:turn as bigint)",
  'none',
)

/** Writes the outcome of what nobody knew, on somebody's word. Null unless it is unknown. */
export const settleOperation = transition<{
  readonly state: 'succeeded' | 'failed'
  readonly result: string | null
}>(
  `state = :state, result = cast(:result as text), turn = turn + 1, ${over}`,
  "state = 'in_progress' and unknown_since is not null",
  'none',
)

/**
 * Cancels what is in progress, once it is certain that nothing is left of it. Null when it ended meanwhile, or, with a turn,
 * when another one has begun.
 */
export const finishCancelled = transition<{ readonly turn: number | null; readonly result: string | null }>(
  `state = 'cancelled', result = cast(:result as text), turn = turn + 1, ${over}`,
  "state = 'in_progress' and (cast(:turn as bigint) is null or turn = cast(:turn as bigint))",
  'none',
)

/** Notes that somebody wants it stopped. Null when it isn't in progress, or was asked before. */
export const noteCancelAsked = transition<object>(
  'cancel_asked_at = cast(:now as bigint)',
  "state = 'in_progress' and turn > 0 and cancel_asked_at is null",
  'same',
)

/** Adds an entry to the trail, and changes nothing else. */
export const addToTrail = transition<object>('', 'trail > 0', 'same')

import type { Scope } from '../store/database.ts'
import { pageSize } from '../store/page-size.ts'

/** Deliveries that were given up: what the store does with them. Their bodies, which have people's words in them, aren't read. */

/** A delivery that was given up. */
export interface GivenUpRow {
  readonly id: string
  readonly endpoint: string
  readonly event: string
  readonly attempts: number
  readonly last_try: string | null
  readonly conversation_id: string | null
  readonly operation_id: string | null
  readonly created_at: number
  readonly given_up_at: number
}

const columns = [
  'id',
  'endpoint',
  'event',
  'attempts',
  'last_try',
  'conversation_id',
  'operation_id',
  'created_at',
  'given_up_at',
] as const

/** Those that were given up, what was given up last first: from `since` on, and before `from`. */
export async function listGivenUp(
  { db, company }: Scope,
  {
    since,
    from,
    limit,
  }: {
    /** Milliseconds since 1970. */
    readonly since: number
    readonly from: { readonly at: number; readonly id: string } | null
    readonly limit: number
  },
): Promise<readonly GivenUpRow[]> {
  const rows = await db.query
    .selectFrom('poppy_deliveries')
    .select(columns)
    .where('company', '=', company)
    .where('given_up_at', 'is not', null)
    .where('given_up_at', '>=', since)
    .$if(from !== null, (query) =>
      query.where((eb) => eb(eb.refTuple('given_up_at', 'id'), '<', eb.tuple(from?.at ?? 0, from?.id ?? ''))),
    )
    .orderBy('given_up_at', 'desc')
    .orderBy('id', 'desc')
    .limit(pageSize(limit))
    .execute()
  return rows.slice(0, limit).map((row) => ({
    ...row,
    attempts: Number(row.attempts),
    created_at: Number(row.created_at),
    given_up_at: Number(row.given_up_at),
  }))
}

/** What is due again, as if it had never been tried: the same delivery, by the same id. */
const again = (now: number) => ({ due_at: now, attempts: 0, given_up_at: null })

/** Has one of these addresses' sent again. Null where there is none that was given up. */
export async function sendOneAgain(
  { db, company }: Scope,
  { id, known, now }: { readonly id: string; readonly known: readonly string[]; readonly now: number },
): Promise<Pick<GivenUpRow, 'conversation_id' | 'operation_id'> | null> {
  if (known.length === 0) return null
  const row = await db.query
    .updateTable('poppy_deliveries')
    .set(again(now))
    .where('company', '=', company)
    .where('id', '=', id)
    .where('given_up_at', 'is not', null)
    .where('endpoint', 'in', known)
    .returning(['conversation_id', 'operation_id'])
    .executeTakeFirst()
  return row ?? null
}

/** Has these addresses' sent again that were given up since then, the earliest first, and says how many. */
export async function sendManyAgain(
  { db, company }: Scope,
  {
    since,
    known,
    limit,
    now,
  }: { readonly since: number; readonly known: readonly string[]; readonly limit: number; readonly now: number },
): Promise<number> {
  if (known.length === 0) return 0
  const { numUpdatedRows } = await db.query
    .with('wanted', (query) =>
      query
        .selectFrom('poppy_deliveries')
        .select('id')
        .where('company', '=', company)
        .where('given_up_at', 'is not', null)
        .where('given_up_at', '>=', since)
        .where('endpoint', 'in', known)
        .orderBy('given_up_at')
        .limit(limit),
    )
    .updateTable('poppy_deliveries')
    .set(again(now))
    .where('company', '=', company)
    .where('given_up_at', 'is not', null)
    .where('id', 'in', (eb) => eb.selectFrom('wanted').select('id'))
    .executeTakeFirstOrThrow()
  return Number(numUpdatedRows)
}

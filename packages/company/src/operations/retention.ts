import type { Scope } from '../store/database.ts'

/** How long operations are kept once they are over, and how they go then: each with all that belongs to it. */

/** Milliseconds after its end for which an operation is kept. */
export interface Retention {
  /** One that was confirmed, whatever came of it. */
  readonly confirmed: number
  /** A proposal that nobody confirmed. */
  readonly unconfirmed: number
}

const day = 86_400_000

/** What is kept where the company doesn't say: what somebody may ask about for two years, the rest for a month. */
export const standardRetention: Retention = { confirmed: 730 * day, unconfirmed: 30 * day }

/** Milliseconds for which an operation of an erased person waits for the company's hooks to be told of its end. */
const hooksMargin = day

/** Rows that an operation has about, its own and those of its revisions, trail and work. */
const rowsOfOne = 8

/** Deletes operations that are over, with revisions, trail and work; at most about `limit` rows. */
export async function deleteOverOperations(
  scope: Scope,
  { now, limit, retention }: { readonly now: number; readonly limit: number; readonly retention: Retention },
): Promise<{ readonly numDeletedRows: bigint; readonly hasMore: boolean }> {
  const most = Math.ceil(limit / rowsOfOne)
  return scope.db.transaction(async () => {
    for (const which of reasons(scope, { now, retention })) {
      const over = await which
        .limit(most)
        .$if(scope.db.name === 'postgres', (query) => query.forUpdate().skipLocked())
        .execute()
      if (over.length === 0) continue
      const rows = await deleteWhole(
        scope,
        over.map(({ id }) => id),
      )
      // Of the next reason there may be some as well.
      return { numDeletedRows: BigInt(rows), hasMore: true }
    }
    return { numDeletedRows: 0n, hasMore: false }
  })
}

/** Each is found by an index, however many operations are kept. */
function reasons({ db, company }: Scope, { now, retention }: { readonly now: number; readonly retention: Retention }) {
  const all = () => db.query.selectFrom('poppy_operations').select('id').where('company', '=', company)
  const ended = (state: 'succeeded' | 'failed' | 'cancelled' | 'expired', keep: number) =>
    all()
      .where('state', '=', state)
      .where('finished_at', '<', now - keep)
  return [
    ended('expired', retention.unconfirmed),
    ended('cancelled', retention.unconfirmed).where('confirmed_revision', 'is', null),
    ended('succeeded', retention.confirmed),
    ended('failed', retention.confirmed),
    ended('cancelled', retention.confirmed),
    all()
      .where('to_erase', 'is not', null)
      .where('finished_at', 'is not', null)
      .where(({ or, not, exists, selectFrom, eb }) =>
        or([
          eb('finished_at', '<', now - hooksMargin),
          not(
            exists(
              selectFrom('poppy_outbox')
                .select('poppy_outbox.id')
                .where('poppy_outbox.company', '=', company)
                .whereRef('poppy_outbox.operation_id', '=', 'poppy_operations.id'),
            ),
          ),
        ]),
      ),
  ]
}

/** Deletes operations with all that belongs to them, inside a transaction that holds their rows; gives how many rows. */
export async function deleteWhole({ db, company }: Scope, ids: readonly string[]): Promise<number> {
  let rows = 0
  for (const table of ['poppy_trail', 'poppy_revisions', 'poppy_outbox', 'poppy_deliveries'] as const) {
    const { numDeletedRows } = await db.query
      .deleteFrom(table)
      .where('company', '=', company)
      .where('operation_id', 'in', ids)
      .executeTakeFirstOrThrow()
    rows += Number(numDeletedRows)
  }
  const { numDeletedRows } = await db.query
    .deleteFrom('poppy_operations')
    .where('company', '=', company)
    .where('id', 'in', ids)
    .executeTakeFirstOrThrow()
  return rows + Number(numDeletedRows)
}

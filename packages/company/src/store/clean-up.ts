import type { Scope } from './database.ts'

/**
 * Deletes what is over, in small bites: a long delete would hold up every writer on SQLite. Only rows that can't change
 * an answer any more go: a mark that is deleted too early lets a replay through.
 */

const minute = 60_000
const day = 24 * 60 * minute

/** Clocks of instances differ: a mark stays this much longer than the thing that it marks could pass. */
const clockMargin = 5 * minute
/** A code that is used again revokes what it gave (4.5): it is known for a day more, although it buys nothing. */
const codeMargin = day
/** Ended Sessions and grants stay a day: an answer that says "ended" helps more than one that knows nothing. */
const endedMargin = day

/**
 * Deletes at most `limit` rows of each kind that expired or ended before `now` (milliseconds since 1970). Answers how
 * many; call again while that is more than zero.
 */
export async function cleanUp(
  { db, company }: Scope,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<number> {
  const ended = now - endedMargin
  const counts = [
    await deleted(
      db.query
        .deleteFrom('poppy_proofs')
        .where('company', '=', company)
        .where('mark', 'in', (eb) =>
          eb
            .selectFrom('poppy_proofs')
            .select('mark')
            .where('company', '=', company)
            .where('expires_at', '<', now - clockMargin)
            .limit(limit),
        ),
    ),
    await deleted(
      db.query
        .deleteFrom('poppy_used_ids')
        .where('company', '=', company)
        .where((eb) =>
          eb(
            eb.refTuple('kind', 'owner', 'id_hash'),
            'in',
            eb
              .selectFrom('poppy_used_ids')
              .select(['kind', 'owner', 'id_hash'])
              .where('company', '=', company)
              .where('expires_at', '<', now - clockMargin)
              .limit(limit)
              .$asTuple('kind', 'owner', 'id_hash'),
          ),
        ),
    ),
    await deleted(
      db.query
        .deleteFrom('poppy_codes')
        .where('company', '=', company)
        .where('code_hash', 'in', (eb) =>
          eb
            .selectFrom('poppy_codes')
            .select('code_hash')
            .where('company', '=', company)
            .where('expires_at', '<', now - codeMargin)
            .limit(limit),
        ),
    ),
    await deleted(
      db.query
        .deleteFrom('poppy_sessions')
        .where('company', '=', company)
        .where('id', 'in', (eb) =>
          eb
            .selectFrom('poppy_sessions')
            .select('id')
            .where('company', '=', company)
            .where((row) => row.or([row('expires_at', '<', ended), row('ended_at', '<', ended)]))
            .limit(limit),
        ),
    ),
    await deleted(
      db.query
        .deleteFrom('poppy_grants')
        .where('company', '=', company)
        .where('id', 'in', (eb) =>
          eb
            .selectFrom('poppy_grants')
            .select('id')
            .where('company', '=', company)
            .where((row) => row.or([row('expires_at', '<', ended), row('revoked_at', '<', ended)]))
            .limit(limit),
        ),
    ),
  ]
  return counts.reduce((sum, count) => sum + count, 0)
}

async function deleted(query: {
  readonly executeTakeFirst: () => Promise<{ readonly numDeletedRows: bigint } | undefined>
}): Promise<number> {
  return Number((await query.executeTakeFirst())?.numDeletedRows ?? 0)
}

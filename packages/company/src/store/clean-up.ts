import { setImmediate as otherWork } from 'node:timers/promises'
import type { Scope } from './database.ts'

/**
 * Deletes what is over. Only rows that can't change an answer any more go: a mark that is deleted too early lets a
 * replay through.
 */

const minute = 60_000
const day = 24 * 60 * minute

/** Clocks of instances differ: a mark stays this much longer than the thing that it marks could pass. */
const clockMargin = 5 * minute
/** A code that is used again revokes what it gave (4.5): it is known for a day more, although it buys nothing. */
const codeMargin = day
/** Ended Sessions and grants stay a day: an answer that says "ended" helps more than one that knows nothing. */
const endedMargin = day
/** An agent that stayed away this long and that nobody lets in any more is forgotten: the next time, it is new. */
const agentMargin = 90 * day

/** Of each kind in one call, so that a Company that closes hasn't to wait long. The next call goes on. */
const mostBites = 400

interface Bite {
  /** Milliseconds since 1970. */
  readonly now: number
  /** How many rows one statement deletes at most: a long one would hold up every writer on SQLite. */
  readonly limit: number
}

/** Deletes expired marks, ids, codes, Sessions, grants and forgotten agents of a Company, and answers how many rows. */
export async function cleanUp(scope: Scope, bite: Bite): Promise<number> {
  let rows = 0
  const kinds = [
    deleteProofs,
    deleteUsedIds,
    deleteCodes,
    deleteSessions,
    deleteGrants,
    deleteBrowsers,
    deleteDeviceCodes,
    deleteAttempts,
    deleteAgents,
  ]
  for (const deleteSome of kinds) {
    for (let bites = 0; bites < mostBites; bites++) {
      const { numDeletedRows } = await deleteSome(scope, bite)
      rows += Number(numDeletedRows)
      if (Number(numDeletedRows) < bite.limit) break
      await otherWork()
    }
  }
  return rows
}

function deleteProofs({ db, company }: Scope, { now, limit }: Bite) {
  return db.query
    .deleteFrom('poppy_proofs')
    .where('company', '=', company)
    .where('mark', 'in', (eb) =>
      eb
        .selectFrom('poppy_proofs')
        .select('mark')
        .where('company', '=', company)
        .where('expires_at', '<', now - clockMargin)
        .limit(limit),
    )
    .executeTakeFirstOrThrow()
}

function deleteUsedIds({ db, company }: Scope, { now, limit }: Bite) {
  return db.query
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
    )
    .executeTakeFirstOrThrow()
}

function deleteCodes({ db, company }: Scope, { now, limit }: Bite) {
  return db.query
    .deleteFrom('poppy_codes')
    .where('company', '=', company)
    .where('code_hash', 'in', (eb) =>
      eb
        .selectFrom('poppy_codes')
        .select('code_hash')
        .where('company', '=', company)
        .where('expires_at', '<', now - codeMargin)
        .limit(limit),
    )
    .executeTakeFirstOrThrow()
}

function deleteSessions({ db, company }: Scope, { now, limit }: Bite) {
  const ended = now - endedMargin
  return db.query
    .deleteFrom('poppy_sessions')
    .where('company', '=', company)
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('poppy_sessions')
        .select('id')
        .where('company', '=', company)
        .where((row) => row.or([row('expires_at', '<', ended), row('ended_at', '<', ended)]))
        .limit(limit),
    )
    .executeTakeFirstOrThrow()
}

function deleteGrants({ db, company }: Scope, { now, limit }: Bite) {
  const ended = now - endedMargin
  return db.query
    .deleteFrom('poppy_grants')
    .where('company', '=', company)
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('poppy_grants')
        .select('id')
        .where('company', '=', company)
        .where((row) => row.or([row('expires_at', '<', ended), row('revoked_at', '<', ended)]))
        .limit(limit),
    )
    .executeTakeFirstOrThrow()
}

function deleteBrowsers({ db, company }: Scope, { now, limit }: Bite) {
  return db.query
    .deleteFrom('poppy_browsers')
    .where('company', '=', company)
    .where('cookie_hash', 'in', (eb) =>
      eb
        .selectFrom('poppy_browsers')
        .select('cookie_hash')
        .where('company', '=', company)
        .where('expires_at', '<', now - clockMargin)
        .limit(limit),
    )
    .executeTakeFirstOrThrow()
}

function deleteAgents({ db, company }: Scope, { now, limit }: Bite) {
  return db.query
    .deleteFrom('poppy_agents')
    .where('company', '=', company)
    .where('client_id', 'in', (eb) =>
      eb
        .selectFrom('poppy_agents')
        .select('client_id')
        .where('company', '=', company)
        .where('last_seen_at', '<', now - agentMargin)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('poppy_grants')
                .select('id')
                .where('company', '=', company)
                .whereRef('poppy_grants.client_id', '=', 'poppy_agents.client_id'),
            ),
          ),
        )
        .limit(limit),
    )
    .executeTakeFirstOrThrow()
}

function deleteDeviceCodes({ db, company }: Scope, { now, limit }: Bite) {
  return db.query
    .deleteFrom('poppy_device_codes')
    .where('company', '=', company)
    .where('code_hash', 'in', (eb) =>
      eb
        .selectFrom('poppy_device_codes')
        .select('code_hash')
        .where('company', '=', company)
        .where('expires_at', '<', now - codeMargin)
        .limit(limit),
    )
    .executeTakeFirstOrThrow()
}

function deleteAttempts({ db, company }: Scope, { now, limit }: Bite) {
  return db.query
    .deleteFrom('poppy_attempts')
    .where('company', '=', company)
    .where((eb) =>
      eb(
        eb.refTuple('kind', 'owner_hash'),
        'in',
        eb
          .selectFrom('poppy_attempts')
          .select(['kind', 'owner_hash'])
          .where('company', '=', company)
          .where('expires_at', '<', now - clockMargin)
          .limit(limit)
          .$asTuple('kind', 'owner_hash'),
      ),
    )
    .executeTakeFirstOrThrow()
}

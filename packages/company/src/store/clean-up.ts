import { setTimeout as wait } from 'node:timers/promises'
import {
  type ConversationRetention,
  deleteOldEvents,
  deleteOverConversations,
  standardConversationRetention,
} from '../conversations/retention.ts'
import { deleteOverOperations, type Retention, standardRetention } from '../operations/retention.ts'
import type { Logger, Scope } from './database.ts'

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
/** What the company's own systems didn't take is kept for whoever mends them. */
const givenUpMargin = 30 * day
/** When an agent was listening last is worth knowing for a while. */
const listenerMargin = day

/** How long what is over is kept. */
export interface KeptFor extends Retention, ConversationRetention {}

/** How a pass of clean-up goes. */
export interface CleanUpOptions {
  /** Milliseconds since 1970. */
  readonly now: number
  /** How many rows one statement deletes at most: a long one would hold up every writer on SQLite. */
  readonly limit: number
  /** How many statements at most for each kind of row: the next pass goes on. 400 when left out. */
  readonly mostBites?: number
  /** How long operations and conversations are kept; the standard for what is left out. */
  readonly retention?: Partial<KeptFor>
  readonly log: Logger
  /** Ends the pass after the statement that runs. */
  readonly signal?: AbortSignal
  /** What happens between two bites; left out, as long a rest as the last bite took, so that half of the time is others'. */
  readonly rest?: (milliseconds: number) => Promise<void>
}

/** What a pass came to. */
export interface CleanedUp {
  readonly rows: number
  /** Whether nothing was left to do. False also when something failed. */
  readonly isDone: boolean
}

interface Bite {
  readonly now: number
  readonly retention: KeptFor
  readonly limit: number
}

const kinds = {
  poppy_proofs: deleteProofs,
  poppy_used_ids: deleteUsedIds,
  poppy_codes: deleteCodes,
  poppy_sessions: deleteSessions,
  poppy_browsers: deleteBrowsers,
  poppy_device_codes: deleteDeviceCodes,
  poppy_attempts: deleteAttempts,
  poppy_mediated: deleteMediated,
  // In this order: they are found by their grants.
  poppy_retired_tokens: deleteRetiredTokens,
  poppy_grants: deleteGrants,
  poppy_agents: deleteAgents,
  poppy_operations: deleteOverOperations,
  poppy_conversations: deleteOverConversations,
  poppy_events: deleteOldEvents,
  poppy_audit: deleteOldAudit,
  poppy_deliveries: deleteGivenUp,
  poppy_listeners: deleteListeners,
} as const

/**
 * Deletes what is over of a Company, in small bites with rests between them. A kind that fails is logged, and the others
 * go on. Rows that somebody else holds are left for the next time, so instances never wait for each other.
 */
export async function cleanUp(scope: Scope, options: CleanUpOptions): Promise<CleanedUp> {
  const { now, limit, mostBites = 400, log, signal, rest = wait } = options
  const retention = { ...standardRetention, ...standardConversationRetention, ...options.retention }
  let rows = 0
  let isDone = true
  for (const [table, deleteSome] of Object.entries(kinds)) {
    try {
      for (let bites = 0; ; bites++) {
        if (signal?.aborted || bites === mostBites) {
          isDone = false
          break
        }
        const started = performance.now()
        const bite: { readonly numDeletedRows: bigint; readonly hasMore?: boolean } = await deleteSome(scope, {
          now,
          limit,
          retention,
        })
        rows += Number(bite.numDeletedRows)
        if (!(bite.hasMore ?? Number(bite.numDeletedRows) === limit)) break
        await rest(performance.now() - started)
      }
    } catch (error) {
      isDone = false
      log.error({ table, error: error instanceof Error ? error.message : typeof error }, 'clean-up failed')
    }
  }
  return { rows, isDone }
}

/** On PostgreSQL: rows that another transaction holds are passed over. On SQLite one writes at a time. */
const whatIsFree = <Query extends { forUpdate: () => { skipLocked: () => Query } }>(query: Query): Query =>
  query.forUpdate().skipLocked()

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
        .limit(limit)
        .$if(db.name === 'postgres', whatIsFree),
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
          .$if(db.name === 'postgres', whatIsFree)
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
        .limit(limit)
        .$if(db.name === 'postgres', whatIsFree),
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
        .limit(limit)
        .$if(db.name === 'postgres', whatIsFree),
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
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('poppy_retired_tokens')
                .select('token_hash')
                .where('company', '=', company)
                .whereRef('poppy_retired_tokens.grant_id', '=', 'poppy_grants.id'),
            ),
          ),
        )
        .limit(limit)
        .$if(db.name === 'postgres', whatIsFree),
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
        .limit(limit)
        .$if(db.name === 'postgres', whatIsFree),
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
        .limit(limit)
        .$if(db.name === 'postgres', whatIsFree),
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
        .limit(limit)
        .$if(db.name === 'postgres', whatIsFree),
    )
    .executeTakeFirstOrThrow()
}

function deleteMediated({ db, company }: Scope, { now, limit }: Bite) {
  return db.query
    .deleteFrom('poppy_mediated')
    .where('company', '=', company)
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('poppy_mediated')
        .select('id')
        .where('company', '=', company)
        .where('expires_at', '<', now - codeMargin)
        .limit(limit)
        .$if(db.name === 'postgres', whatIsFree),
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
          .$if(db.name === 'postgres', whatIsFree)
          .$asTuple('kind', 'owner_hash'),
      ),
    )
    .executeTakeFirstOrThrow()
}

// PostgreSQL may run a query anew for each row that it compares with it, and then delete more than a bite: so it is made once.

function deleteOldAudit({ db, company }: Scope, { now, limit, retention }: Bite) {
  return db.query
    .with(
      (name) => name('over').materialized(),
      (query) =>
        query
          .selectFrom('poppy_audit')
          .select('id')
          .where('company', '=', company)
          .where('at', '<', now - retention.audit)
          .limit(limit)
          .$if(db.name === 'postgres', whatIsFree),
    )
    .deleteFrom('poppy_audit')
    .where('company', '=', company)
    .where('id', 'in', (eb) => eb.selectFrom('over').select('id'))
    .executeTakeFirstOrThrow()
}

function deleteGivenUp({ db, company }: Scope, { now, limit }: Bite) {
  return db.query
    .with(
      (name) => name('over').materialized(),
      (query) =>
        query
          .selectFrom('poppy_deliveries')
          .select('id')
          .where('company', '=', company)
          .where('given_up_at', '<', now - givenUpMargin)
          .limit(limit)
          .$if(db.name === 'postgres', whatIsFree),
    )
    .deleteFrom('poppy_deliveries')
    .where('company', '=', company)
    .where('id', 'in', (eb) => eb.selectFrom('over').select('id'))
    .executeTakeFirstOrThrow()
}

function deleteListeners({ db, company }: Scope, { now, limit }: Bite) {
  return db.query
    .with(
      (name) => name('over').materialized(),
      (query) =>
        query
          .selectFrom('poppy_listeners')
          .select('conversation_id')
          .where('company', '=', company)
          .where('ends_at', '<', now - listenerMargin)
          .limit(limit)
          .$if(db.name === 'postgres', whatIsFree),
    )
    .deleteFrom('poppy_listeners')
    .where('company', '=', company)
    .where('conversation_id', 'in', (eb) => eb.selectFrom('over').select('conversation_id'))
    .executeTakeFirstOrThrow()
}

/**
 * Replaced tokens go with their grant: until then one that comes again is noticed (4.8). Found by the grants that go, of
 * which there are few: to look at every token each time would take longer the more there are.
 */
function deleteRetiredTokens({ db, company }: Scope, { now, limit }: Bite) {
  const ended = now - endedMargin
  return db.query
    .deleteFrom('poppy_retired_tokens')
    .where('company', '=', company)
    .where('token_hash', 'in', (eb) =>
      eb
        .selectFrom('poppy_retired_tokens')
        .select('token_hash')
        .where('company', '=', company)
        .where('grant_id', 'in', (of) =>
          of
            .selectFrom('poppy_grants')
            .select('id')
            .where('company', '=', company)
            .where((row) => row.or([row('expires_at', '<', ended), row('revoked_at', '<', ended)])),
        )
        .limit(limit)
        .$if(db.name === 'postgres', whatIsFree),
    )
    .executeTakeFirstOrThrow()
}

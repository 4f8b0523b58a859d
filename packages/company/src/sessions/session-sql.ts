/**
 * The statements that every request with a Session Token runs (4.3), written out: one round trip that claims the proof,
 * reads Session, grant and block list, and on PostgreSQL also notes the use.
 */

/** What the statements give: a Session's ten values, its grant's five and its agent's block in one array, as JSON text on SQLite. */
export interface SessionRow {
  readonly state: string | SessionValues | null
  /** Zero when the proof was used before. Only where a proof is claimed, and only on PostgreSQL: SQLite gives no row. */
  readonly claimed?: number
}

/** The values of a Session, of its grant and of its agent’s block, in the order of the statements. Times in milliseconds. */
export type SessionValues = readonly [
  id: string,
  clientId: string,
  userId: string,
  account: string | null,
  grantId: string | null,
  epoch: number,
  createdAt: number,
  lastUsedAt: number,
  expiresAt: number,
  endedAt: number | null,
  grant: string | null,
  grantScopes: string | null,
  grantExpiresAt: number | null,
  grantRevokedAt: number | null,
  grantLastUsedAt: number | null,
  blockedAt: number | null,
]

const values = `s.id, s.client_id, s.user_id, s.account, s.grant_id, s.epoch, s.created_at, s.last_used_at, s.expires_at,
    s.ended_at, g.id, g.scopes, g.expires_at, g.revoked_at, g.last_used_at, b.blocked_at`

const source = `from poppy_sessions s left join poppy_grants g on g.company = s.company and g.id = s.grant_id
    left join poppy_blocked_agents b on b.company = s.company and b.client_id = s.client_id
    where s.company = :company and s.id = :sessionId`

/** Claims a proof’s mark; no row is changed when it is there already. */
export const claimText = `insert into poppy_proofs (company, mark, expires_at)
    values (:company, :mark, :passesUntil) on conflict do nothing`

// A Session that has ended, also by not being used, must not come to life by being asked for.
const isStaleSession = `poppy_sessions.company = :company and poppy_sessions.id = :sessionId
    and poppy_sessions.ended_at is null and poppy_sessions.expires_at > :now
    and poppy_sessions.last_used_at <= :staleAt and poppy_sessions.last_used_at > :aliveAt`

const isStaleGrant = `poppy_grants.company = :company and poppy_grants.revoked_at is null
    and (poppy_grants.expires_at is null or poppy_grants.expires_at > :now) and poppy_grants.last_used_at <= :staleAt`

/** Notes the use of a Session that still runs and whose last note is old enough. */
export const touchSessionText = `update poppy_sessions set last_used_at = :now where ${isStaleSession}`

/** Notes the use of the grant that the Session has. */
export const touchGrantText = `update poppy_grants set last_used_at = :now where ${isStaleGrant}
    and poppy_grants.id = :grantId`

// What a blocked agent tries is no use of its access: unblocked, it finds what was there.
// Parts of one statement all see the rows as they were before it, so `found` has the last use before this one. A row that
// is locked is being changed: it is skipped, so that a use never waits for a sign-out, nor the two for each other.
const noteUse = `stale_grant as (select poppy_grants.id from poppy_grants, found where ${isStaleGrant}
    and poppy_grants.id = found.grant_id and found.ended_at is null and found.expires_at > :now
    and found.last_used_at > :aliveAt and found.blocked_at is null for no key update of poppy_grants skip locked),
  stale_session as (select poppy_sessions.id from poppy_sessions, found where ${isStaleSession}
    and found.blocked_at is null for no key update of poppy_sessions skip locked),
  touched_grant as (update poppy_grants set last_used_at = :now from stale_grant
    where poppy_grants.company = :company and poppy_grants.id = stale_grant.id),
  touched_session as (update poppy_sessions set last_used_at = :now from stale_session
    where poppy_sessions.company = :company and poppy_sessions.id = stale_session.id)`

const found = `select s.grant_id, s.ended_at, s.expires_at, s.last_used_at, b.blocked_at,
    json_build_array(${values}) as state ${source}`

/** Claims a proof and reads its Session, in one statement (4.3). */
export const admitTexts = {
  sqlite: `${claimText} returning (select json_array(${values}) ${source}) as state`,
  postgres: `with claimed as (${claimText} returning mark),
  found as (${found} and exists (select 1 from claimed)),
  ${noteUse}
  select (select count(*) from claimed) as claimed, (select state from found) as state`,
}

/** Reads without noting a use: at the token endpoint nothing changes before everything is checked. */
export const peekTexts = {
  sqlite: `select json_array(${values}) as state ${source}`,
  postgres: `select json_build_array(${values}) as state ${source}`,
}

/** Reads a Session and notes its use. */
export const readTexts = {
  sqlite: `select json_array(${values}) as state ${source}`,
  postgres: `with found as (${found}),
  ${noteUse}
  select state from found`,
}

import { isId } from '@poppyseed/protocol'
import { sha256 } from '../crypto/hash.ts'
import type { Scope } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { SessionsTable, UsedIdsTable } from '../store/tables.ts'
import {
  admitTexts,
  claimText,
  peekTexts,
  readTexts,
  type SessionRow,
  type SessionValues,
  touchGrantText,
  touchSessionText,
} from './session-sql.ts'

/** Sessions, and what was used once (4.2, 4.3, 4.4). */

/** A Session with the grant that it is signed in by, as the store has them now. */
export interface SessionState {
  readonly id: string
  readonly clientId: string
  readonly userId: string
  readonly account: string | null
  readonly grantId: string | null
  readonly epoch: number
  readonly createdAt: number
  /** As it was before this read noted the use. */
  readonly lastUsedAt: number
  readonly expiresAt: number
  readonly endedAt: number | null
  /** Null when signed out, and when the grant is long gone. It may be expired or revoked. */
  readonly grant: {
    readonly id: string
    readonly scopes: readonly string[]
    readonly expiresAt: number | null
    readonly revokedAt: number | null
    /** As it was before this read noted the use. */
    readonly lastUsedAt: number
  } | null
  /** When its Personal Agent was blocked by the company (4.1); null when it isn't. */
  readonly blockedAt: number | null
}

/** What {@link admitProof} found. */
export type Admission =
  | { readonly replayed: true }
  | { readonly replayed: false; readonly session: SessionState | null }

interface Reading {
  readonly sessionId: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** Milliseconds after its last use at which a Session ends: one that has ended isn't woken by being asked for. */
  readonly idle: number
}

/**
 * Last use is written at most this often (milliseconds): a write for every request would cost more than the request.
 * Where a Session ends soon without use, more often: else one that is used all the time would end as idle.
 */
const touchInterval = (idle: number) => Math.min(60_000, Math.floor(idle / 10))

type Touching = Reading & { readonly staleAt: number; readonly aliveAt: number }
type Claim = { readonly mark: string; readonly passesUntil: number }

const admit = statement<Touching & Claim, SessionRow>(admitTexts)
const read = statement<Touching, SessionRow>(readTexts)
const peek = statement<{ readonly sessionId: string }, SessionRow>(peekTexts)
const claimIdText = `insert into poppy_used_ids (company, kind, owner, id_hash, expires_at)
  values (:company, :kind, :owner, :idHash, :expiresAt) on conflict do nothing returning id_hash`
const claimId = statement<Omit<UsedId, 'id'> & { readonly idHash: string }, { readonly id_hash: string }>({
  sqlite: claimIdText,
  postgres: claimIdText,
})
const addSessionText = `insert into poppy_sessions (company, id, client_id, user_id, account, grant_id, epoch, created_at,
    last_used_at, expires_at, ended_at)
  values (:company, :id, :client_id, :user_id, :account, :grant_id, :epoch, :created_at, :last_used_at, :expires_at,
    :ended_at)`
const addSession = statement<Omit<SessionsTable, 'company'>, never>({
  sqlite: addSessionText,
  postgres: addSessionText,
})
const touchSession = statement<Touching, never>({ sqlite: touchSessionText, postgres: touchSessionText })
const touchGrant = statement<Touching & { readonly grantId: string }, never>({
  sqlite: touchGrantText,
  postgres: touchGrantText,
})
const claimAlone = `${claimText} returning mark`
const claim = statement<Claim, { readonly mark: string }>({ sqlite: claimAlone, postgres: claimAlone })

/**
 * Claims a DPoP Proof and reads its Session, in one statement (4.3): of two that come at once with the same proof, on
 * whatever instances, one is `replayed`. Notes the use of Session and grant when the last note is a minute old.
 */
export async function admitProof(
  scope: Scope,
  proof: Reading & {
    readonly thumbprint: string
    readonly proofId: string
    /** Milliseconds since 1970, clock skew included: when the proof could not pass any more. */
    readonly passesUntil: number
  },
): Promise<Admission> {
  const touching = touchingOf(proof)
  const [row] = await admit(scope, { ...touching, mark: markOf(proof), passesUntil: proof.passesUntil })
  if (row === undefined || row.claimed === 0) return { replayed: true }
  return { replayed: false, session: await stateOf(scope, row, touching) }
}

/** A Session with its current grant, or null. Notes the use as {@link admitProof} does. */
export async function readSession(scope: Scope, reading: Reading): Promise<SessionState | null> {
  const touching = touchingOf(reading)
  const [row] = await read(scope, touching)
  return row === undefined ? null : stateOf(scope, row, touching)
}

/**
 * A Session with its current grant, or null, and nothing noted: a refused token request leaves a Session as it was, also
 * one that isn't the caller's (4.2). `sessionId` may be anything that was sent.
 */
export async function peekSession(scope: Scope, sessionId: string): Promise<SessionState | null> {
  // What can't be an id of ours is not asked for: PostgreSQL takes no NUL in a text.
  if (!isId(sessionId)) return null
  const [row] = await peek(scope, { sessionId })
  return row === undefined ? null : sessionOf(row)
}

/** Claims a DPoP Proof where no Session is known yet, at the token endpoint (4.3). False when it was used before. */
export async function claimProof(
  scope: Scope,
  proof: { readonly thumbprint: string; readonly proofId: string; readonly passesUntil: number },
): Promise<boolean> {
  return (await claim(scope, { mark: markOf(proof), passesUntil: proof.passesUntil })).length > 0
}

/** An id that may be used once, until `expiresAt` (milliseconds since 1970). */
export interface UsedId {
  readonly kind: UsedIdsTable['kind']
  readonly owner: string
  readonly id: string
  readonly expiresAt: number
}

/**
 * Claims the ids of assertions and forms (4.1, 4.2). True only if all of them were new; those that were stay spent either
 * way, unless the transaction around it is rolled back.
 */
export async function claimIds(scope: Scope, entries: readonly UsedId[]): Promise<boolean> {
  let areNew = true
  const hashed = entries.map((entry) => ({ ...entry, idHash: sha256(entry.id) }))
  // In one order everywhere: two transactions with the same ids would wait for each other.
  hashed.sort((one, other) => (one.kind + one.idHash < other.kind + other.idHash ? -1 : 1))
  for (const { kind, owner, idHash, expiresAt } of hashed) {
    if ((await claimId(scope, { kind, owner, idHash, expiresAt })).length === 0) areNew = false
  }
  return areNew
}

/** Starts a Session (4.2). */
export async function insertSession(scope: Scope, row: Omit<SessionsTable, 'company'>): Promise<void> {
  await addSession(scope, row)
}

/**
 * Signs a Session in (4.4), if it still runs and has had no other account: a Session never takes another, not even after
 * sign-out. When the grant that it had has ended meanwhile, that was a sign-out, and it counts as one.
 * `from`: only if this is the grant that it still has (null: none); else it has `moved`.
 */
export async function signInSession(
  { db, company }: Scope,
  signIn: {
    readonly sessionId: string
    readonly account: string
    readonly grantId: string
    readonly now: number
    readonly from?: string | null
  },
): Promise<'signed_in' | 'account_mismatch' | 'moved' | 'gone'> {
  const { sessionId, account, grantId, now, from } = signIn
  let update = db.query
    .updateTable('poppy_sessions')
    .set((eb) => ({
      account,
      grant_id: grantId,
      last_used_at: now,
      epoch: eb
        .case()
        .when(
          eb.and([
            eb('grant_id', 'is not', null),
            eb('grant_id', '<>', grantId),
            eb.not(
              eb.exists(
                eb
                  .selectFrom('poppy_grants')
                  .select('poppy_grants.id')
                  .where('poppy_grants.company', '=', company)
                  .whereRef('poppy_grants.id', '=', 'poppy_sessions.grant_id')
                  .where('poppy_grants.revoked_at', 'is', null)
                  .where((grant) =>
                    grant.or([
                      grant('poppy_grants.expires_at', 'is', null),
                      grant('poppy_grants.expires_at', '>', now),
                    ]),
                  ),
              ),
            ),
          ]),
        )
        .then(eb('epoch', '+', 1))
        .else(eb.ref('epoch'))
        .end(),
    }))
    .where('company', '=', company)
    .where('id', '=', sessionId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', now)
    .where((eb) => eb.or([eb('account', 'is', null), eb('account', '=', account)]))
    .returning('id')
  if (from !== undefined) update = update.where('grant_id', from === null ? 'is' : '=', from)
  if ((await update.execute()).length > 0) return 'signed_in'
  const running = await db.query
    .selectFrom('poppy_sessions')
    .select('account')
    .where('company', '=', company)
    .where('id', '=', sessionId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  if (running === undefined) return 'gone'
  return running.account === null || running.account === account ? 'moved' : 'account_mismatch'
}

/** Ends a Session for good. False when it had ended already. */
export async function endSession(
  { db, company }: Scope,
  { sessionId, now }: { readonly sessionId: string; readonly now: number },
): Promise<boolean> {
  const ended = await db.query
    .updateTable('poppy_sessions')
    .set({ ended_at: now })
    .where('company', '=', company)
    .where('id', '=', sessionId)
    .where('ended_at', 'is', null)
    .returning('id')
    .execute()
  return ended.length > 0
}

function markOf({ thumbprint, proofId }: { readonly thumbprint: string; readonly proofId: string }): string {
  // A thumbprint is base64url (RFC 7638), so no other pair gives the same text.
  return sha256(`${thumbprint} ${proofId}`)
}

function touchingOf({ sessionId, now, idle }: Reading): Touching {
  return { sessionId, now, idle, staleAt: now - touchInterval(idle), aliveAt: now - idle }
}

async function stateOf(scope: Scope, row: SessionRow, touching: Touching): Promise<SessionState | null> {
  const session = sessionOf(row)
  // PostgreSQL has noted the use in the same statement. The statements check again what is only guessed here.
  if (session !== null && scope.db.name === 'sqlite' && isRunning(session, touching)) {
    if (session.lastUsedAt <= touching.staleAt) await touchSession(scope, touching)
    const { grant } = session
    if (grant !== null && grant.lastUsedAt <= touching.staleAt)
      await touchGrant(scope, { ...touching, grantId: grant.id })
  }
  return session
}

function isRunning({ endedAt, expiresAt, lastUsedAt, blockedAt }: SessionState, { now, aliveAt }: Touching): boolean {
  return blockedAt === null && endedAt === null && now < expiresAt && lastUsedAt > aliveAt
}

/** The Session of a row, or null. */
export function sessionOf({ state }: SessionRow): SessionState | null {
  if (state === null) return null
  const values = typeof state === 'string' ? (JSON.parse(state) as SessionValues) : state
  const [id, clientId, userId, account, grantId, epoch, createdAt, lastUsedAt, expiresAt, endedAt, ...ofGrant] = values
  const [grant, scopes, grantExpiresAt, revokedAt, grantUsedAt, blockedAt] = ofGrant
  return {
    id,
    clientId,
    userId,
    account,
    grantId,
    epoch,
    createdAt,
    lastUsedAt,
    expiresAt,
    endedAt,
    grant:
      grant === null
        ? null
        : {
            id: grant,
            scopes: scopes ? scopes.split(' ') : [],
            expiresAt: grantExpiresAt,
            revokedAt,
            lastUsedAt: grantUsedAt ?? 0,
          },
    blockedAt,
  }
}

/**
 * Whether a Session is there; until the transaction ends, nobody deletes it. For what is written on its behalf: an erasure
 * at the same moment finds it, or has it find nothing.
 */
export async function holdSession({ db, company }: Scope, sessionId: string): Promise<boolean> {
  const found = await db.query
    .selectFrom('poppy_sessions')
    .select('id')
    .where('company', '=', company)
    .where('id', '=', sessionId)
    .$if(db.name === 'postgres', (query) => query.forKeyShare())
    .executeTakeFirst()
  return found !== undefined
}

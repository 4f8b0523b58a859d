import type { Scope } from '../store/database.ts'
import type { GrantsTable, RetiredTokensTable } from '../store/tables.ts'

/** Grants: what a person approved, with the Account Token that stands for it (4.4, 4.8, 4.9). */

/** A grant as it is kept; the token only as its hash. */
export type GrantRow = GrantsTable

/** Records a sign-in that was approved (4.4). */
export async function insertGrant({ db, company }: Scope, row: Omit<GrantsTable, 'company'>): Promise<void> {
  await db.query
    .insertInto('poppy_grants')
    .values({ ...row, company })
    .execute()
}

/**
 * The grant of an Account Token (4.8), also one that is expired or revoked. `tokenHash`: SHA-256 in base64url. Held, it
 * stays as it is until the transaction ends: nobody revokes or erases it while something is given for it.
 */
export async function findGrantByToken(
  { db, company }: Scope,
  tokenHash: string,
  { isHeld = false }: { readonly isHeld?: boolean } = {},
): Promise<GrantRow | null> {
  let query = db.query
    .selectFrom('poppy_grants')
    .selectAll()
    .where('company', '=', company)
    .where('token_hash', '=', tokenHash)
  // On SQLite one transaction writes at a time.
  if (isHeld && db.name === 'postgres') query = query.forNoKeyUpdate()
  return (await query.executeTakeFirst()) ?? null
}

/** A grant by its id, also one that is expired or revoked. Held as {@link findGrantByToken} holds it. */
export async function findGrantById(
  { db, company }: Scope,
  grantId: string,
  { isHeld = false }: { readonly isHeld?: boolean } = {},
): Promise<GrantRow | null> {
  let query = db.query.selectFrom('poppy_grants').selectAll().where('company', '=', company).where('id', '=', grantId)
  if (isHeld && db.name === 'postgres') query = query.forNoKeyUpdate()
  return (await query.executeTakeFirst()) ?? null
}

/** An Account Token that was replaced (4.8), or null. */
export async function findRetired({ db, company }: Scope, tokenHash: string): Promise<RetiredTokensTable | null> {
  const row = await db.query
    .selectFrom('poppy_retired_tokens')
    .selectAll()
    .where('company', '=', company)
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst()
  return row ?? null
}

/**
 * Replaces the Account Token of a grant that is held (4.8). Its lifetime stays as it was. False when it isn't the current
 * one.
 */
export async function replaceToken(
  { db, company }: Scope,
  token: { readonly grantId: string; readonly tokenHash: string; readonly successorHash: string; readonly now: number },
): Promise<boolean> {
  const replaced = await db.query
    .updateTable('poppy_grants')
    .set({ token_hash: token.successorHash })
    .where('company', '=', company)
    .where('id', '=', token.grantId)
    .where('token_hash', '=', token.tokenHash)
    .returning('id')
    .execute()
  if (replaced.length === 0) return false
  await db.query
    .insertInto('poppy_retired_tokens')
    .values({
      company,
      token_hash: token.tokenHash,
      grant_id: token.grantId,
      successor_hash: token.successorHash,
      retired_at: token.now,
    })
    .execute()
  return true
}

/**
 * Notes that an Account Token was used, when the last note is a minute old. Before its Session's row is written, never
 * after: a sign-out takes the rows in that order, and two that take them in different orders wait for each other.
 */
export async function noteGrantUse(
  { db, company }: Scope,
  { grantId, now }: { readonly grantId: string; readonly now: number },
): Promise<void> {
  await db.query
    .updateTable('poppy_grants')
    .set({ last_used_at: now })
    .where('company', '=', company)
    .where('id', '=', grantId)
    .where('revoked_at', 'is', null)
    .where('last_used_at', '<=', now - 60_000)
    .execute()
}

/** 4.9: what becomes of the Sessions that a sign-out signs out. Left out, they continue. */
export interface SignOut {
  /** Milliseconds since 1970. */
  readonly now: number
  readonly endsSessions?: boolean
}

/**
 * Revokes a grant and signs out the Sessions that it had last signed in (4.9); those that moved to another grant stay.
 * False when it was revoked before, or isn't there.
 */
export async function revokeGrant(
  scope: Scope,
  { grantId, ...signOut }: SignOut & { readonly grantId: string },
): Promise<boolean> {
  const { now } = signOut
  const { db, company } = scope
  return db.transaction(async () => {
    const revoked = await db.query
      .updateTable('poppy_grants')
      .set({ revoked_at: now })
      .where('company', '=', company)
      .where('id', '=', grantId)
      .where('revoked_at', 'is', null)
      .returning('id')
      .execute()
    if (revoked.length === 0) return false
    await signOutSessions(scope, [grantId], signOut)
    return true
  })
}

/** An agent's access, as the person sees it (4.8). Times are milliseconds since 1970. */
export interface ActiveGrant {
  readonly id: string
  readonly clientId: string
  readonly userId: string
  readonly scopes: readonly string[]
  readonly signIn: GrantsTable['sign_in']
  readonly createdAt: number
  readonly lastUsedAt: number
  readonly expiresAt: number | null
}

/** The grants of an account that give access now, newest first. */
export async function grantsOf(
  { db, company }: Scope,
  { account, now }: { readonly account: string; readonly now: number },
): Promise<readonly ActiveGrant[]> {
  const rows = await db.query
    .selectFrom('poppy_grants')
    .select(['id', 'client_id', 'user_id', 'scopes', 'sign_in', 'created_at', 'last_used_at', 'expires_at'])
    .where('company', '=', company)
    .where('account', '=', account)
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    clientId: row.client_id,
    userId: row.user_id,
    scopes: scopesOf(row),
    signIn: row.sign_in,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  }))
}

/** Whether a sign-in of an agent to an account was ended after that moment (4.9). Milliseconds since 1970. */
export async function wasRevokedSince(
  { db, company }: Scope,
  { account, clientId, since }: { readonly account: string; readonly clientId: string; readonly since: number },
): Promise<boolean> {
  const revoked = await db.query
    .selectFrom('poppy_grants')
    .select('id')
    .where('company', '=', company)
    .where('account', '=', account)
    .where('client_id', '=', clientId)
    .where('revoked_at', '>', since)
    .limit(1)
    .executeTakeFirst()
  return revoked !== undefined
}

/**
 * Ends the access of all agents, or of one, to an account (4.9), and spends the codes that were given for it and not yet
 * used, or approved on a device: one that is exchanged later would bring the access back. Answers how many grants were revoked.
 */
export async function revokeGrantsOf(
  scope: Scope,
  { account, clientId, ...signOut }: SignOut & { readonly account: string; readonly clientId?: string },
): Promise<number> {
  const { db, company } = scope
  const { now } = signOut
  return db.transaction(async () => {
    await spendPending(scope, { account, clientId, now })
    let grants = db.query
      .updateTable('poppy_grants')
      .set({ revoked_at: now })
      .where('company', '=', company)
      .where('account', '=', account)
      .where('revoked_at', 'is', null)
      .returning('id')
    if (clientId !== undefined) grants = grants.where('client_id', '=', clientId)
    const revoked = await grants.execute()
    await signOutSessions(
      scope,
      revoked.map(({ id }) => id),
      signOut,
    )
    return revoked.length
  })
}

/**
 * Takes a scope away from all grants of an agent, and from what was approved for it and not yet fetched (4.4, 4.9). Tokens
 * have no more than their grant has, so it bites at once. A grant with no scope left is revoked. False when there was
 * nothing to take.
 */
export async function takeScopeAway(
  scope: Scope,
  take: SignOut & { readonly account: string; readonly clientId: string; readonly name: string },
): Promise<boolean> {
  const { db, company } = scope
  const { account, clientId, name, now } = take
  return db.transaction(async () => {
    // A code on its way would bring it back; the agent asks anew.
    await spendPending(scope, { account, clientId, now })
    const grants = await db.query
      .selectFrom('poppy_grants')
      .select(['id', 'scopes'])
      .where('company', '=', company)
      .where('account', '=', account)
      .where('client_id', '=', clientId)
      .where('revoked_at', 'is', null)
      .orderBy('id')
      .execute()
    const having = grants.filter((grant) => scopesOf(grant).includes(name))
    const revoked: string[] = []
    for (const grant of having) {
      const left = scopesOf(grant).filter((one) => one !== name)
      const changed = await db.query
        .updateTable('poppy_grants')
        .set(left.length === 0 ? { revoked_at: now } : { scopes: left.join(' ') })
        .where('company', '=', company)
        .where('id', '=', grant.id)
        .where('scopes', '=', grant.scopes)
        .where('revoked_at', 'is', null)
        .returning('id')
        .execute()
      // Another page took another right at the same moment: then this one reads anew.
      if (changed.length === 0) await takeScopeAway(scope, take)
      else if (left.length === 0) revoked.push(grant.id)
    }
    // All grants before any Session: who refreshes takes them in that order too, and else each waits for the other.
    await signOutSessions(scope, revoked, take)
    return having.length > 0
  })
}

/** Spends what was given for an account and not yet used: codes (4.5), approvals on a device (4.6), one-time codes (4.7). */
async function spendPending(
  { db, company }: Scope,
  {
    account,
    clientId,
    now,
  }: { readonly account: string; readonly clientId?: string | undefined; readonly now: number },
): Promise<void> {
  let codes = db.query
    .updateTable('poppy_codes')
    .set({ used_at: now })
    .where('company', '=', company)
    .where('account', '=', account)
    .where('used_at', 'is', null)
  if (clientId !== undefined) codes = codes.where('client_id', '=', clientId)
  await codes.execute()
  let devices = db.query
    .updateTable('poppy_device_codes')
    .set({ status: 'declined' })
    .where('company', '=', company)
    .where('account', '=', account)
    .where('status', '=', 'approved')
  if (clientId !== undefined) devices = devices.where('client_id', '=', clientId)
  await devices.execute()
  let mediated = db.query
    .updateTable('poppy_mediated')
    .set({ status: 'failed' })
    .where('company', '=', company)
    .where('account', '=', account)
    .where('status', '=', 'waiting')
  if (clientId !== undefined) mediated = mediated.where('client_id', '=', clientId)
  await mediated.execute()
}

/** A grant's scopes, which are kept in one text. */
export function scopesOf({ scopes }: Pick<GrantRow, 'scopes'>): readonly string[] {
  return scopes === '' ? [] : scopes.split(' ')
}

// Well below what either database takes in one statement.
const idsPerStatement = 500

async function signOutSessions(
  { db, company }: Scope,
  grantIds: readonly string[],
  { now, endsSessions = false }: SignOut,
): Promise<void> {
  for (let from = 0; from < grantIds.length; from += idsPerStatement) {
    // 4.9: the count makes tokens from before the sign-out stay signed out after the next sign-in
    await db.query
      .updateTable('poppy_sessions')
      .set((eb) => ({
        grant_id: null,
        epoch: eb('epoch', '+', 1),
        ...(endsSessions ? { ended_at: eb.fn.coalesce('ended_at', eb.val(now)) } : {}),
      }))
      .where('company', '=', company)
      .where('grant_id', 'in', grantIds.slice(from, from + idsPerStatement))
      .execute()
  }
}

import type { Scope } from '../../store/database.ts'
import type { DeviceCodesTable } from '../../store/tables.ts'
import { pollsAfterApproval } from './approval-window.ts'

/** Device codes (4.6): both codes kept as SHA-256 in base64url, decided once, spent once. */

/** A request to sign in by a device, as it is kept. Times in milliseconds since 1970. */
export type DeviceRow = DeviceCodesTable

/** Records a request. False when its user code is another's that still runs. */
export async function insertDevice({ db, company }: Scope, row: Omit<DeviceRow, 'company'>): Promise<boolean> {
  const inserted = await db.query
    .insertInto('poppy_device_codes')
    .values({ ...row, company })
    .onConflict((conflict) => conflict.doNothing())
    .returning('code_hash')
    .execute()
  return inserted.length > 0
}

/** The request that an agent polls for. */
export async function findDevice({ db, company }: Scope, codeHash: string): Promise<DeviceRow | null> {
  const row = await db.query
    .selectFrom('poppy_device_codes')
    .selectAll()
    .where('company', '=', company)
    .where('code_hash', '=', codeHash)
    .executeTakeFirst()
  return row ?? null
}

/** The request that a person's code stands for, decided or expired as it may be. */
export async function findDeviceByUserCode({ db, company }: Scope, userCodeHash: string): Promise<DeviceRow | null> {
  const row = await db.query
    .selectFrom('poppy_device_codes')
    .selectAll()
    .where('company', '=', company)
    .where('user_code_hash', '=', userCodeHash)
    .executeTakeFirst()
  return row ?? null
}

/**
 * Records the person's decision. Of any number at once, and of an expiry at the same moment, one counts. An approval
 * counts as long as `approvableUntil` says, a decline until the codes end.
 */
export async function decideDevice(
  { db, company }: Scope,
  decision: {
    readonly codeHash: string
    readonly account: string
    /** Space-separated; null for a decline. */
    readonly scopes: string | null
    readonly now: number
  },
): Promise<boolean> {
  let query = db.query
    .updateTable('poppy_device_codes')
    .set({
      status: decision.scopes === null ? 'declined' : 'approved',
      account: decision.account,
      approved_scopes: decision.scopes,
    })
    .where('company', '=', company)
    .where('code_hash', '=', decision.codeHash)
    .where('status', '=', 'pending')
    .where('expires_at', '>', decision.now)
    .returning('code_hash')
  if (decision.scopes !== null) {
    query = query.where((eb) =>
      eb(eb('expires_at', '-', eb('interval_seconds', '*', pollsAfterApproval * 1000)), '>', decision.now),
    )
  }
  return (await query.execute()).length > 0
}

/** Spends an approved request. Of any number of callers at once, at most one is told true (4.6). */
export async function spendDevice(
  { db, company }: Scope,
  { codeHash, now }: { readonly codeHash: string; readonly now: number },
): Promise<boolean> {
  const spent = await db.query
    .updateTable('poppy_device_codes')
    .set({ status: 'used' })
    .where('company', '=', company)
    .where('code_hash', '=', codeHash)
    .where('status', '=', 'approved')
    .where('expires_at', '>', now)
    .returning('code_hash')
    .execute()
  return spent.length > 0
}

/** Notes a poll, and how many seconds are to lie before the next. */
export async function notePoll(
  { db, company }: Scope,
  poll: { readonly codeHash: string; readonly now: number; readonly interval: number },
): Promise<void> {
  await db.query
    .updateTable('poppy_device_codes')
    .set({ polled_at: poll.now, interval_seconds: poll.interval })
    .where('company', '=', company)
    .where('code_hash', '=', poll.codeHash)
    .execute()
}

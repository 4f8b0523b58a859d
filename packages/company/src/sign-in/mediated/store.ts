import type { Scope } from '../../store/database.ts'
import type { MediatedTable } from '../../store/tables.ts'

/** Mediated sign-ins that wait for a one-time code (4.7). The code is kept under a key of ours: six digits hide nothing. */

/** A sign-in that waits, as it is kept. Times in milliseconds since 1970. */
export type MediatedRow = MediatedTable

/** Records a sign-in that waits for its code. */
export async function insertMediated({ db, company }: Scope, row: Omit<MediatedRow, 'company'>): Promise<void> {
  await db.query
    .insertInto('poppy_mediated')
    .values({ ...row, company })
    .execute()
}

/** A sign-in, waiting or over, if this Session began it. */
export async function findMediated(
  { db, company }: Scope,
  { id, sessionId }: { readonly id: string; readonly sessionId: string },
): Promise<MediatedRow | null> {
  const row = await db.query
    .selectFrom('poppy_mediated')
    .selectAll()
    .where('company', '=', company)
    .where('id', '=', id)
    .where('session_id', '=', sessionId)
    .executeTakeFirst()
  return row ?? null
}

/**
 * Takes one of the tries at a code, before the code is looked at: of many at once no more are looked at than are allowed.
 * @returns how many tries there were with this one, or null when none is left
 */
export async function takeTry(
  { db, company }: Scope,
  attempt: { readonly id: string; readonly sessionId: string; readonly most: number; readonly now: number },
): Promise<number | null> {
  const taken = await db.query
    .updateTable('poppy_mediated')
    .set((eb) => ({ tries: eb('tries', '+', 1) }))
    .where('company', '=', company)
    .where('id', '=', attempt.id)
    .where('session_id', '=', attempt.sessionId)
    .where('status', '=', 'waiting')
    .where('tries', '<', attempt.most)
    .where('expires_at', '>', attempt.now)
    .returning('tries')
    .executeTakeFirst()
  return taken === undefined ? null : Number(taken.tries)
}

/** Ends a sign-in that waits. Of any number of callers at once, at most one is told true. */
export async function endMediated(
  { db, company }: Scope,
  { id, status }: { readonly id: string; readonly status: 'done' | 'failed' },
): Promise<boolean> {
  const ended = await db.query
    .updateTable('poppy_mediated')
    .set({ status })
    .where('company', '=', company)
    .where('id', '=', id)
    .where('status', '=', 'waiting')
    .returning('id')
    .execute()
  return ended.length > 0
}

import type { Scope } from '../store/database.ts'
import type { CodesTable } from '../store/tables.ts'

/** Authorization codes (4.5): kept as SHA-256 in base64url, given out once, spent once. */

/** A code as it is kept, with what the person approved. */
export type CodeRow = CodesTable

/** Records a code that was given to an agent. */
export async function insertCode({ db, company }: Scope, row: Omit<CodesTable, 'company'>): Promise<void> {
  await db.query
    .insertInto('poppy_codes')
    .values({ ...row, company })
    .execute()
}

/** A code, also one that was used or has expired: a second use revokes what the first one gave. */
export async function findCode({ db, company }: Scope, codeHash: string): Promise<CodeRow | null> {
  const row = await db.query
    .selectFrom('poppy_codes')
    .selectAll()
    .where('company', '=', company)
    .where('code_hash', '=', codeHash)
    .executeTakeFirst()
  return row ?? null
}

/** Spends a code. Of any number of callers at once, on whatever instances, at most one is told true. */
export async function spendCode(
  { db, company }: Scope,
  { codeHash, now }: { readonly codeHash: string; readonly now: number },
): Promise<boolean> {
  const spent = await db.query
    .updateTable('poppy_codes')
    .set({ used_at: now })
    .where('company', '=', company)
    .where('code_hash', '=', codeHash)
    .where('used_at', 'is', null)
    .returning('code_hash')
    .execute()
  return spent.length > 0
}

/** Notes which grant a code's exchange gave, so that a second use can revoke it. */
export async function noteGrantOfCode(
  { db, company }: Scope,
  { codeHash, grantId }: { readonly codeHash: string; readonly grantId: string },
): Promise<void> {
  await db.query
    .updateTable('poppy_codes')
    .set({ grant_id: grantId })
    .where('company', '=', company)
    .where('code_hash', '=', codeHash)
    .execute()
}

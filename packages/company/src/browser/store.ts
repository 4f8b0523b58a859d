import type { Scope } from '../store/database.ts'

/** Browsers that joined a Session (5): the cookie as SHA-256 in base64url, and the Session that it follows. */

/** A browser that joined. Times in milliseconds since 1970. */
export interface BrowserRow {
  readonly cookieHash: string
  readonly sessionId: string
  readonly now: number
  readonly expiresAt: number
}

/** Records that a browser joined a Session. */
export async function insertBrowser({ db, company }: Scope, row: BrowserRow): Promise<void> {
  await db.query
    .insertInto('poppy_browsers')
    .values({
      company,
      cookie_hash: row.cookieHash,
      session_id: row.sessionId,
      created_at: row.now,
      expires_at: row.expiresAt,
    })
    .execute()
}

/** The Session that a cookie stands for, or null when it has run out or isn't known. */
export async function findBrowser(
  { db, company }: Scope,
  { cookieHash, now }: { readonly cookieHash: string; readonly now: number },
): Promise<string | null> {
  const row = await db.query
    .selectFrom('poppy_browsers')
    .select('session_id')
    .where('company', '=', company)
    .where('cookie_hash', '=', cookieHash)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row?.session_id ?? null
}

/** Forgets a browser: it joined anew, and the cookie that it had is good for nothing more (5). */
export async function deleteBrowser({ db, company }: Scope, cookieHash: string): Promise<void> {
  await db.query
    .deleteFrom('poppy_browsers')
    .where('company', '=', company)
    .where('cookie_hash', '=', cookieHash)
    .execute()
}

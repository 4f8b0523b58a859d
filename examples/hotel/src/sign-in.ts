import { createHash } from 'node:crypto'
import { checkPassword, nobodysPassword } from './passwords.ts'
import { Refusal } from './refusal.ts'
import type { Kind } from './sessions.ts'
import { type HotelDatabase, one, run } from './sql.ts'

/** How many passwords may be tried for one email address, and in what time (milliseconds). */
export const MAX_ATTEMPTS = 8
export const ATTEMPTS_WINDOW = 15 * 60_000

/**
 * The id of the guest, or of the member of staff, with this email address and password, or null. Which of the two was wrong is
 * not told, not by the time it takes either.
 * @throws Refusal `too_many` after too many tries for this address, whether or not it has an account.
 */
export async function signIn(
  database: HotelDatabase,
  kind: Kind,
  credentials: { readonly email: string; readonly password: string },
  now: number,
): Promise<string | null> {
  const email = credentials.email.trim().toLowerCase()
  const key = createHash('sha256').update(`${kind} ${email}`).digest('base64url')
  // Counted before the password is looked at: tries in parallel can't slip past the limit.
  countAttempt(database, key, now)
  const person = one<{ readonly id: string; readonly password: string }>(
    database,
    `select id, password from ${kind} where email = ?`,
    email,
  )
  const fits = await checkPassword(credentials.password, person?.password ?? nobodysPassword)
  if (!person || !fits) return null
  run(database, 'delete from sign_in_attempts where key = ?', key)
  return person.id
}

function countAttempt(database: HotelDatabase, key: string, now: number): void {
  run(database, 'delete from sign_in_attempts where since <= ?', now - ATTEMPTS_WINDOW)
  const row = one<{ readonly attempts: number; readonly since: number }>(
    database,
    `insert into sign_in_attempts (key, attempts, since) values (?, 1, ?)
     on conflict (key) do update set attempts = attempts + 1 returning attempts, since`,
    key,
    now,
  )
  if (row && row.attempts > MAX_ATTEMPTS) {
    const seconds = Math.ceil((row.since + ATTEMPTS_WINDOW - now) / 1000)
    const minutes = Math.ceil(seconds / 60)
    throw new Refusal(
      'too_many',
      `Too many tries for this email address. Wait ${minutes === 1 ? 'a minute' : `${minutes} minutes`} and try again.`,
      seconds,
    )
  }
}

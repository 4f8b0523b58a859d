import { createHash } from 'node:crypto'
import { isId, newId } from './sessions.ts'
import { type HotelDatabase, one, run } from './sql.ts'

/** Somebody who works at the front desk, signed in as that. */
export type StaffMember = { readonly id: string; readonly name: string; readonly email: string }

/** How long a member of staff stays signed in, in milliseconds: a long shift, and use does not extend it. */
export const STAFF_SESSION_LIFETIME = 12 * 3_600_000

const hashOf = (id: string): string => createHash('sha256').update(id).digest('base64url')

/** Signs a member of staff in and returns the cookie's value, a new one each time. */
export function startStaffSession(database: HotelDatabase, staffId: string, now: number): string {
  const id = newId()
  run(database, 'delete from staff_sessions where expires_at <= ?', now)
  run(
    database,
    'insert into staff_sessions (hash, staff_id, expires_at) values (?, ?, ?)',
    hashOf(id),
    staffId,
    now + STAFF_SESSION_LIFETIME,
  )
  return id
}

/** The member of staff that a cookie's value belongs to, or null. */
export function staffOfSession(database: HotelDatabase, id: string | undefined, now: number): StaffMember | null {
  if (!isId(id)) return null
  const staff = one<StaffMember>(
    database,
    `select m.id, m.name, m.email from staff_sessions s join staff m on m.id = s.staff_id
     where s.hash = ? and s.expires_at > ?`,
    hashOf(id),
    now,
  )
  return staff ? { id: staff.id, name: staff.name, email: staff.email } : null
}

/** Ends a member of staff's sign-in. The cookie's value means nothing from here on. */
export function endStaffSession(database: HotelDatabase, id: string | undefined): void {
  if (isId(id)) run(database, 'delete from staff_sessions where hash = ?', hashOf(id))
}

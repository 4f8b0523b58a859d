import { createHash, randomBytes } from 'node:crypto'
import { type HotelDatabase, one, run } from './sql.ts'

/** A guest who is signed in. */
export type Guest = { readonly id: string; readonly name: string; readonly email: string }

/** How long a sign-in lasts, in milliseconds: seven days, and use does not extend it. */
export const SESSION_LIFETIME = 7 * 86_400_000

const ID = /^[A-Za-z0-9_-]{43}$/

/** A new unguessable id of 256 bits. */
export function newId(): string {
  return randomBytes(32).toString('base64url')
}

/** True for text of the shape that `newId` makes. */
export function isId(text: string | undefined): text is string {
  return text !== undefined && ID.test(text)
}

const hashOf = (id: string): string => createHash('sha256').update(id).digest('base64url')

/** Signs a guest in and returns the cookie's value. Each sign-in has a new one, so nobody can plant it beforehand. */
export function startSession(database: HotelDatabase, guestId: string, now: number): string {
  const id = newId()
  run(database, 'delete from sessions where expires_at <= ?', now)
  run(
    database,
    'insert into sessions (hash, guest_id, expires_at) values (?, ?, ?)',
    hashOf(id),
    guestId,
    now + SESSION_LIFETIME,
  )
  return id
}

/** The guest that a cookie's value belongs to, or null. */
export function sessionGuest(database: HotelDatabase, id: string | undefined, now: number): Guest | null {
  if (!isId(id)) return null
  const guest = one<Guest>(
    database,
    `select g.id, g.name, g.email from sessions s join guests g on g.id = s.guest_id
     where s.hash = ? and s.expires_at > ?`,
    hashOf(id),
    now,
  )
  return guest ? { id: guest.id, name: guest.name, email: guest.email } : null
}

/** Ends a sign-in. The cookie's value means nothing from here on. */
export function endSession(database: HotelDatabase, id: string | undefined): void {
  if (isId(id)) run(database, 'delete from sessions where hash = ?', hashOf(id))
}

/** The guest with this id, or null. */
export function guestById(database: HotelDatabase, id: string): Guest | null {
  const guest = one<Guest>(database, 'select id, name, email from guests where id = ?', id)
  return guest ? { id: guest.id, name: guest.name, email: guest.email } : null
}

import { createHash, randomBytes } from 'node:crypto'
import { type HotelDatabase, one, run } from './sql.ts'

/** Who signs in. Each kind has its own tables, its own limits and its own cookie: nobody of one passes for the other. */
export type Kind = 'guests' | 'staff'

/** Somebody who is known here. */
export type Person = { readonly id: string; readonly name: string; readonly email: string }

/** A guest who is signed in. */
export type Guest = Person

/** Somebody who works at the front desk, signed in as that. */
export type StaffMember = Person

const tables = {
  guests: { sessions: 'sessions', person: 'guest_id' },
  staff: { sessions: 'staff_sessions', person: 'staff_id' },
} as const

/** How long a sign-in lasts, in milliseconds: a guest's seven days, that of staff a long shift. Use does not extend it. */
export const SESSION_LIFETIME = { guests: 7 * 86_400_000, staff: 12 * 3_600_000 } as const

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

/** Signs somebody in and returns the cookie's value. Each sign-in has a new one, so nobody can plant it beforehand. */
export function startSession(database: HotelDatabase, kind: Kind, personId: string, now: number): string {
  const { sessions, person } = tables[kind]
  const id = newId()
  run(database, `delete from ${sessions} where expires_at <= ?`, now)
  run(
    database,
    `insert into ${sessions} (hash, ${person}, expires_at) values (?, ?, ?)`,
    hashOf(id),
    personId,
    now + SESSION_LIFETIME[kind],
  )
  return id
}

/** Who of this kind a cookie's value belongs to, or null. */
export function personOfSession(
  database: HotelDatabase,
  kind: Kind,
  id: string | undefined,
  now: number,
): Person | null {
  if (!isId(id)) return null
  const { sessions, person } = tables[kind]
  const found = one<Person>(
    database,
    `select p.id, p.name, p.email from ${sessions} s join ${kind} p on p.id = s.${person}
     where s.hash = ? and s.expires_at > ?`,
    hashOf(id),
    now,
  )
  return found ? { id: found.id, name: found.name, email: found.email } : null
}

/** Ends a sign-in. The cookie's value means nothing from here on. */
export function endSession(database: HotelDatabase, kind: Kind, id: string | undefined): void {
  if (isId(id)) run(database, `delete from ${tables[kind].sessions} where hash = ?`, hashOf(id))
}

/** The guest with this id, or null. */
export function guestById(database: HotelDatabase, id: string): Guest | null {
  const guest = one<Guest>(database, 'select id, name, email from guests where id = ?', id)
  return guest ? { id: guest.id, name: guest.name, email: guest.email } : null
}

import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PASSWORD_COST, type PasswordCost } from './passwords.ts'
import { seed, seedStaff } from './seed.ts'
import { type HotelDatabase, one, transaction } from './sql.ts'

const SCHEMA_VERSION = 4

/*
 * rooms             what can be booked; each row is one room, prices in euro cents a night
 * guests            people with an account; `password` is made by passwords.ts
 * bookings          a guest's stay; `departure` is the day they leave, so the night before is the last; one that was
 *                   cancelled stays, with the time of it (since version 2); what an agent's operation did has its id, once
 *                   (since version 3)
 * deposits          what is asked of the payment service, by operation: one at a time for each booking (since version 3)
 * mails             mails about operations, each by the key of what it tells (since version 3)
 * booking_notes     what a guest wants us to know, oldest first
 * sessions          who is signed in; the cookie's SHA-256 only, so a stolen database signs nobody in
 * staff             who works at the desk, with passwords of their own: no guest is among them (since version 4)
 * staff_sessions    who of them is signed in, kept like sessions
 * sign_in_attempts  passwords tried lately, by the SHA-256 of the email address and of which sign-in it was
 */
const SCHEMA = `
  create table rooms (
    slug text primary key, position integer not null, name text not null, view text not null, beds text not null,
    sleeps integer not null, size integer not null, price integer not null, summary text not null,
    description text not null
  ) strict;
  create table guests (
    id text primary key, email text not null unique, name text not null, password text not null,
    points integer not null default 0
  ) strict;
  create table bookings (
    id text primary key, guest_id text not null references guests, room_slug text not null references rooms,
    arrival text not null, departure text not null, guests integer not null, price integer not null,
    check (arrival < departure)
  ) strict;
  create index bookings_by_guest on bookings (guest_id, arrival);
  create index bookings_by_room on bookings (room_slug, arrival);
  create table booking_notes (
    id integer primary key, booking_id text not null references bookings, text text not null,
    written_at integer not null
  ) strict;
  create index notes_by_booking on booking_notes (booking_id);
  create table sessions (
    hash text primary key, guest_id text not null references guests, expires_at integer not null
  ) strict, without rowid;
  create table sign_in_attempts (key text primary key, attempts integer not null, since integer not null) strict;
`

/** What agents' operations need. A column that is added can't be unique by itself: its index is. */
const OPERATIONS = `
  alter table bookings add column operation text;
  alter table bookings add column booked_by text;
  alter table bookings add column cancel_operation text;
  alter table bookings add column cancelled_by text;
  create unique index bookings_by_operation on bookings (operation);
  create unique index bookings_by_cancel_operation on bookings (cancel_operation);
  create table deposits (
    operation text primary key, booking_id text not null references bookings, amount integer not null,
    state text not null check (state in ('asked', 'paid', 'declined', 'returned')), charge text
  ) strict;
  create unique index one_deposit_for_a_booking on deposits (booking_id) where state in ('asked', 'paid');
  create table mails (key text primary key, mail text not null, sent_at integer not null) strict;
`

/** People who work here have tables of their own, so that no sign-in can be taken for the other kind. */
const STAFF = `
  create table staff (
    id text primary key, email text not null unique, name text not null, password text not null
  ) strict;
  create table staff_sessions (
    hash text primary key, staff_id text not null references staff, expires_at integer not null
  ) strict, without rowid;
`

/**
 * Opens `directory/hotel.db`, and at the first start makes its tables and fills them. Later starts keep what is there.
 * `now` (milliseconds) is the day that the seeded bookings lie around; `cost` is for the seeded passwords.
 */
export function openDatabase(directory: string, now: number, cost: PasswordCost = PASSWORD_COST): HotelDatabase {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, 'hotel.db')
  // SQLite gives its own files the mode of this one: guests' data is for the hotel alone.
  closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path, { timeout: 5000 })
  try {
    database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on')
    transaction(database, () => {
      const version = one<{ user_version: number }>(database, 'pragma user_version')?.user_version ?? 0
      if (version > SCHEMA_VERSION) throw new Error(`hotel.db was made by a newer version of the hotel (${version}).`)
      if (version === SCHEMA_VERSION) return
      if (version === 0) database.exec(SCHEMA)
      if (version < 2) database.exec('alter table bookings add column cancelled_at integer')
      if (version < 3) database.exec(OPERATIONS)
      if (version < 4) database.exec(STAFF)
      if (version === 0) seed(database, now, cost)
      if (version < 4) seedStaff(database, cost)
      database.exec(`pragma user_version = ${SCHEMA_VERSION}`)
    })
  } catch (error) {
    database.close()
    throw error
  }
  return database
}

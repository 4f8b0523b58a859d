import { randomInt } from 'node:crypto'
import { addDays, type Day, dayAt, isDay, nightsBetween } from './days.ts'
import { Refusal } from './refusal.ts'
import { all, type HotelDatabase, one, run, transaction } from './sql.ts'

/** The longest stay that can be searched for, in nights. */
export const MAX_NIGHTS = 30
/** The longest note, in characters, and how many a booking takes. */
export const MAX_NOTE = 500
const MAX_NOTES = 20

/** A room, as people and agents see it. Prices in whole euros a night, size in square metres. */
export type Room = {
  readonly slug: string
  readonly name: string
  readonly view: string
  readonly beds: string
  readonly sleeps: number
  readonly size: number
  readonly pricePerNight: number
  readonly currency: 'EUR'
  readonly summary: string
  readonly description: string
}

/** A room that is free for all nights asked for. `total` in euros. */
export type FreeRoom = Room & { readonly nights: number; readonly total: number }

/** A guest's booking. `departure` is the day of leaving; `total` in euros; notes oldest first. */
export type Booking = {
  readonly id: string
  readonly room: string
  readonly roomName: string
  readonly arrival: Day
  readonly departure: Day
  readonly nights: number
  readonly guests: number
  readonly total: number
  readonly currency: 'EUR'
  readonly notes: readonly string[]
}

/** What a search asks: first day, day of leaving, people, and the most that a night may cost in euros. */
export type RoomSearch = {
  readonly from: Day
  readonly to: Day
  readonly guests?: number | undefined
  readonly maxPrice?: number | undefined
}

type RoomRow = Omit<Room, 'pricePerNight' | 'currency'> & { readonly price: number }
const ROOM = 'slug, name, view, beds, sleeps, size, price, summary, description'

function roomOf({ price, ...row }: RoomRow): Room {
  return { ...row, pricePerNight: price / 100, currency: 'EUR' }
}

/** All rooms, in the house's own order. */
export function allRooms(database: HotelDatabase): readonly Room[] {
  return all<RoomRow>(database, `select ${ROOM} from rooms order by position`).map(roomOf)
}

/**
 * The rooms that are free from the first day to the day of leaving.
 * @throws Refusal `invalid` for days that do not exist, are the wrong way round, or lie too far apart.
 */
export function searchRooms(database: HotelDatabase, search: RoomSearch): readonly FreeRoom[] {
  const nights = checkStay(search.from, search.to)
  const rows = all<RoomRow>(
    database,
    `select ${ROOM} from rooms
     where sleeps >= ? and price <= ?
       and not exists (select 1 from bookings where room_slug = slug and arrival < ? and departure > ?)
     order by position`,
    search.guests ?? 1,
    search.maxPrice === undefined ? Number.MAX_SAFE_INTEGER : Math.round(search.maxPrice * 100),
    search.to,
    search.from,
  )
  return rows.map((row) => ({ ...roomOf(row), nights, total: (row.price * nights) / 100 }))
}

/**
 * One room by its slug.
 * @throws Refusal `not_found`
 */
export function roomDetails(database: HotelDatabase, slug: string): Room {
  const row = one<RoomRow>(database, `select ${ROOM} from rooms where slug = ?`, slug)
  if (!row) throw new Refusal('not_found', 'There is no room of that name.')
  return roomOf(row)
}

type BookingRow = {
  readonly id: string
  readonly room: string
  readonly roomName: string
  readonly arrival: Day
  readonly departure: Day
  readonly guests: number
  readonly price: number
}

/**
 * A guest's own bookings, newest first. With `from`, those that have not ended before that day.
 * @throws Refusal `invalid` when `from` is not a day.
 */
export function bookingsOf(database: HotelDatabase, guestId: string, from?: Day): readonly Booking[] {
  if (from !== undefined && !isDay(from)) throw new Refusal('invalid', 'Give the day as YYYY-MM-DD.')
  return bookingRows(database, guestId, 'departure >= ?', from ?? '0000-00-00')
}

// The guest is part of every query: nobody reads a booking by its number alone.
function bookingRows(database: HotelDatabase, guestId: string, condition: string, value: string): readonly Booking[] {
  const rows = all<BookingRow>(
    database,
    `select b.id, r.slug as room, r.name as roomName, arrival, departure, guests, b.price
     from bookings b join rooms r on r.slug = b.room_slug
     where b.guest_id = ? and ${condition} order by arrival desc, b.id desc`,
    guestId,
    value,
  )
  const notes = all<{ readonly bookingId: string; readonly text: string }>(
    database,
    `select n.booking_id as bookingId, n.text from booking_notes n join bookings b on b.id = n.booking_id
     where b.guest_id = ? order by n.id`,
    guestId,
  )
  return rows.map(({ price, ...row }) => ({
    ...row,
    nights: nightsBetween(row.arrival, row.departure),
    total: price / 100,
    currency: 'EUR',
    notes: notes.filter((note) => note.bookingId === row.id).map((note) => note.text),
  }))
}

/**
 * Adds a note to a guest's own booking and returns the booking.
 * @throws Refusal `not_found` for a booking that does not exist or is somebody else's, `invalid` for an empty or
 *   overlong note, or for one too many.
 */
export function addBookingNote(
  database: HotelDatabase,
  guestId: string,
  bookingId: string,
  note: string,
  now: number,
): Booking {
  const text = note.trim()
  if (text === '') throw new Refusal('invalid', 'Write something in the note.')
  if (text.length > MAX_NOTE) throw new Refusal('invalid', `Keep the note under ${MAX_NOTE} characters.`)
  return transaction(database, () => {
    const [booking] = bookingRows(database, guestId, 'b.id = ?', bookingId)
    if (!booking) throw new Refusal('not_found', 'You have no booking with that number.')
    if (booking.notes.length >= MAX_NOTES) throw new Refusal('invalid', 'This booking has all the notes it can take.')
    run(database, 'insert into booking_notes (booking_id, text, written_at) values (?, ?, ?)', bookingId, text, now)
    return { ...booking, notes: [...booking.notes, text] }
  })
}

/** What a guest wants to book: the room's slug, first day, day of leaving, people. */
export type BookingWish = { readonly slug: string; readonly from: Day; readonly to: Day; readonly guests: number }

/**
 * Books a room for a guest and returns the booking. The price is the one in the database at this moment.
 * @throws Refusal `not_found` for an unknown room, `invalid` for days or people that can't be, `taken` when somebody
 *   was faster. Then nothing was changed.
 */
export function bookRoom(database: HotelDatabase, guestId: string, wish: BookingWish, now: number): Booking {
  const nights = checkStay(wish.from, wish.to)
  if (wish.from < dayAt(now)) throw new Refusal('invalid', 'That day has passed. Nothing was booked.')
  return transaction(database, () => {
    const room = roomDetails(database, wish.slug)
    if (!Number.isInteger(wish.guests) || wish.guests < 1 || wish.guests > room.sleeps) {
      throw new Refusal('invalid', `${room.name} sleeps 1 to ${room.sleeps}. Nothing was booked.`)
    }
    // Looked at again inside the transaction: two people can hold the same page open.
    if (!searchRooms(database, wish).some((free) => free.slug === room.slug)) {
      throw new Refusal('taken', `${room.name} has just been taken for those days. Nothing was booked.`)
    }
    const id = newReference(database)
    run(
      database,
      'insert into bookings (id, guest_id, room_slug, arrival, departure, guests, price) values (?, ?, ?, ?, ?, ?, ?)',
      id,
      guestId,
      room.slug,
      wish.from,
      wish.to,
      wish.guests,
      Math.round(room.pricePerNight * 100) * nights,
    )
    const [booking] = bookingRows(database, guestId, 'b.id = ?', id)
    if (!booking) throw new Error('A booking that was just written is not there.')
    return booking
  })
}

// Short enough to read out on the telephone. It opens nothing by itself.
function newReference(database: HotelDatabase): string {
  for (;;) {
    const id = `MIR-${randomInt(10_000, 100_000)}`
    if (!one(database, 'select 1 from bookings where id = ?', id)) return id
  }
}

/**
 * A guest's loyalty points.
 * @throws Refusal `not_found` when there is no such guest.
 */
export function loyaltyPoints(database: HotelDatabase, guestId: string): number {
  const row = one<{ readonly points: number }>(database, 'select points from guests where id = ?', guestId)
  if (!row) throw new Refusal('not_found', 'There is no such guest.')
  return row.points
}

function checkStay(from: Day, to: Day): number {
  if (!isDay(from) || !isDay(to)) throw new Refusal('invalid', 'Give both days as YYYY-MM-DD.')
  if (to <= from) throw new Refusal('invalid', 'The day you leave must come after the day you arrive.')
  if (to > addDays(from, MAX_NIGHTS)) throw new Refusal('invalid', `Stays are up to ${MAX_NIGHTS} nights.`)
  return nightsBetween(from, to)
}

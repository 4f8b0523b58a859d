import { randomInt } from 'node:crypto'
import { type Day, dayAt, isDay, nightsBetween } from './days.ts'
import { Refusal } from './refusal.ts'
import { all, type HotelDatabase, one, run, transaction } from './sql.ts'
import { checkStay, roomDetails, searchRooms } from './tools-data.ts'

/*
 * The hotel's rules for bookings. Pages and tools come here, so that neither can do what the other may not.
 */

/** The longest note, in characters, and how many a booking takes. */
export const MAX_NOTE = 500
const MAX_NOTES = 20

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
  readonly status: 'booked' | 'cancelled'
  /** The host of the agent that booked it for the guest; null for one that the guest booked here. */
  readonly bookedBy: string | null
  /** The host of the agent that cancelled it. */
  readonly cancelledBy: string | null
  /** The deposit that was paid, in euros; 0 for none. */
  readonly deposit: number
  readonly notes: readonly string[]
}

type BookingRow = {
  readonly id: string
  readonly room: string
  readonly roomName: string
  readonly arrival: Day
  readonly departure: Day
  readonly guests: number
  readonly price: number
  readonly cancelledAt: number | null
  readonly bookedBy: string | null
  readonly cancelledBy: string | null
  /** Cents. */
  readonly paid: number
}

/** What an agent's operation does for a guest: its id, which is for nothing else, and the agent's host. */
export type AgentOrder = { readonly operation: string; readonly agent: string }

/**
 * A guest's own bookings, newest first. With `from`, those that have not ended before that day.
 * @throws Refusal `invalid` when `from` is not a day.
 */
export function bookingsOf(database: HotelDatabase, guestId: string, from?: Day): readonly Booking[] {
  if (from !== undefined && !isDay(from)) throw new Refusal('invalid', 'Give the day as YYYY-MM-DD.')
  return bookingRows(database, guestId, 'departure >= ?', from ?? '0000-00-00')
}

/**
 * A guest's own booking.
 * @throws Refusal `not_found` for one that does not exist or is somebody else's
 */
export function bookingOf(database: HotelDatabase, guestId: string, bookingId: string): Booking {
  const [booking] = bookingRows(database, guestId, 'b.id = ?', bookingId)
  if (!booking) throw new Refusal('not_found', 'You have no booking with that number.')
  return booking
}

/** The booking that an operation made, or with `cancelled` the one that it cancelled; null when it did nothing. */
export function bookingByOperation(
  database: HotelDatabase,
  guestId: string,
  operation: string,
  what: 'booked' | 'cancelled',
): Booking | null {
  const column = what === 'booked' ? 'b.operation' : 'b.cancel_operation'
  return bookingRows(database, guestId, `${column} = ?`, operation)[0] ?? null
}

// The guest is part of every query: nobody reads a booking by its number alone.
function bookingRows(database: HotelDatabase, guestId: string, condition: string, value: string): readonly Booking[] {
  const rows = all<BookingRow>(
    database,
    `select b.id, r.slug as room, r.name as roomName, arrival, departure, guests, b.price,
       cancelled_at as cancelledAt, booked_by as bookedBy, cancelled_by as cancelledBy,
       coalesce((select sum(amount) from deposits where booking_id = b.id and state = 'paid'), 0) as paid
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
  return rows.map(({ price, cancelledAt, paid, ...row }) => ({
    ...row,
    nights: nightsBetween(row.arrival, row.departure),
    total: price / 100,
    currency: 'EUR',
    deposit: paid / 100,
    status: cancelledAt === null ? 'booked' : 'cancelled',
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
    const booking = bookingOf(database, guestId, bookingId)
    if (booking.status === 'cancelled') throw new Refusal('invalid', 'This booking is cancelled, so it takes no notes.')
    if (booking.notes.length >= MAX_NOTES) throw new Refusal('invalid', 'This booking has all the notes it can take.')
    run(database, 'insert into booking_notes (booking_id, text, written_at) values (?, ?, ?)', bookingId, text, now)
    return { ...booking, notes: [...booking.notes, text] }
  })
}

/** What a guest wants to book: the room's slug, first day, day of leaving, people. */
export type BookingWish = { readonly slug: string; readonly from: Day; readonly to: Day; readonly guests: number }

/**
 * Books a room for a guest and returns the booking. The price is the one in the database at this moment, or for an
 * agent's operation the one that was agreed; an operation that has booked already gets its booking.
 * @param order what an agent's operation agreed, `price` in cents
 * @throws Refusal `not_found` for an unknown room, `invalid` for days or people that can't be, `taken` when somebody
 *   was faster. Then nothing was changed.
 */
export function bookRoom(
  database: HotelDatabase,
  guestId: string,
  wish: BookingWish,
  now: number,
  order?: AgentOrder & { readonly price: number },
): Booking {
  const nights = checkStay(wish.from, wish.to)
  return transaction(database, () => {
    // In the same transaction as the booking, by the same key: whoever asks again, and however late, books nothing twice.
    const booked = order && bookingByOperation(database, guestId, order.operation, 'booked')
    if (booked) return booked
    if (wish.from < dayAt(now)) throw new Refusal('invalid', 'That day has passed. Nothing was booked.')
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
      `insert into bookings (id, guest_id, room_slug, arrival, departure, guests, price, operation, booked_by)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      guestId,
      room.slug,
      wish.from,
      wish.to,
      wish.guests,
      order?.price ?? Math.round(room.pricePerNight * 100) * nights,
      order?.operation ?? null,
      order?.agent ?? null,
    )
    return bookingOf(database, guestId, id)
  })
}

/** Whether a booking can still be cancelled: until the day before the guest arrives, for no more than a deposit that was paid. */
export function canBeCancelled(booking: Pick<Booking, 'arrival' | 'status'>, now: number): boolean {
  return booking.status === 'booked' && booking.arrival > dayAt(now)
}

/**
 * Cancels a guest's own booking and returns it; the room is free for others at once. A booking that is cancelled already
 * stays so: whoever sends the form twice is told the same.
 * @param order what an agent's operation agreed, `fee` in euros
 * @returns the booking, and whether it was this call that cancelled it
 * @throws Refusal `not_found` for a booking that does not exist or is somebody else's, `invalid` from the day of arrival
 *   on. Then nothing was changed.
 */
export function cancelBooking(
  database: HotelDatabase,
  guestId: string,
  bookingId: string,
  now: number,
  order?: AgentOrder & { readonly fee: number },
): { readonly booking: Booking; readonly isNew: boolean } {
  return transaction(database, () => {
    const booking = bookingOf(database, guestId, bookingId)
    if (booking.status === 'cancelled') {
      if (order && !bookingByOperation(database, guestId, order.operation, 'cancelled'))
        throw new Refusal('invalid', 'The booking had been cancelled already.')
      return { booking, isNew: false }
    }
    if (!canBeCancelled(booking, now)) {
      throw new Refusal('invalid', 'The day of arrival has come, so call us instead. Nothing was cancelled.')
    }
    if (one(database, "select 1 from deposits where booking_id = ? and state = 'asked'", bookingId))
      throw new Refusal('invalid', 'A deposit for this booking is being paid right now. Nothing was cancelled.')
    if (order && order.fee !== booking.deposit)
      throw new Refusal('invalid', 'A deposit was paid meanwhile, so it would cost more. Nothing was cancelled.')
    run(
      database,
      'update bookings set cancelled_at = ?, cancel_operation = ?, cancelled_by = ? where id = ?',
      now,
      order?.operation ?? null,
      order?.agent ?? null,
      bookingId,
    )
    return { booking: bookingOf(database, guestId, bookingId), isNew: true }
  })
}

// Short enough to read out on the telephone. It opens nothing by itself.
function newReference(database: HotelDatabase): string {
  for (;;) {
    const id = `MIR-${randomInt(10_000, 100_000)}`
    if (!one(database, 'select 1 from bookings where id = ?', id)) return id
  }
}

import { type Booking, bookingOf } from './bookings.ts'
import { Refusal } from './refusal.ts'
import { type HotelDatabase, one, run, transaction } from './sql.ts'

/*
 * What the hotel knows of deposits. A row is written before the payment service is asked, and its state is compared and
 * set: of paying and of stopping it, one is first, and the other sees that.
 */

/** What became of a deposit: `asked` may be paid or not, nobody knows yet. */
export type DepositState = 'asked' | 'paid' | 'declined' | 'returned'

/** A deposit of one operation. */
export type Deposit = { readonly state: DepositState; readonly charge: string | null }

/** The deposit for a booking, in whole euros: three tenths of its price. */
export function depositFor(booking: Booking): number {
  return Math.max(1, Math.round(booking.total * 0.3))
}

/**
 * The booking, if a deposit can be paid for it.
 * @throws Refusal `not_found`, `invalid`
 */
export function bookingForDeposit(database: HotelDatabase, guestId: string, bookingId: string): Booking {
  const booking = bookingOf(database, guestId, bookingId)
  if (booking.status === 'cancelled')
    throw new Refusal('invalid', 'That booking is cancelled, so it takes no deposit. No money was taken.')
  const other = one<{ readonly state: DepositState }>(
    database,
    "select state from deposits where booking_id = ? and state in ('asked', 'paid')",
    bookingId,
  )
  if (other?.state === 'paid') throw new Refusal('invalid', 'The deposit has been paid already.')
  if (other) throw new Refusal('invalid', 'The deposit is being paid already.')
  return booking
}

/**
 * Begins an operation's deposit, and gives the one that it began before.
 * @param order `amount` in cents
 * @throws Refusal where it can't be paid any more; then nothing was begun, now or before
 */
export function beginDeposit(
  database: HotelDatabase,
  guestId: string,
  order: { readonly operation: string; readonly booking: string; readonly amount: number },
): Deposit {
  return transaction(database, () => {
    const begun = depositOf(database, order.operation)
    if (begun) return begun
    const booking = bookingForDeposit(database, guestId, order.booking)
    run(
      database,
      "insert into deposits (operation, booking_id, amount, state) values (?, ?, ?, 'asked')",
      order.operation,
      booking.id,
      order.amount,
    )
    return { state: 'asked', charge: null }
  })
}

/** An operation's deposit, or null when none was begun. */
export function depositOf(database: HotelDatabase, operation: string): Deposit | null {
  return one<Deposit>(database, 'select state, charge from deposits where operation = ?', operation) ?? null
}

/** Writes what became of a deposit, unless that is known. Gives what holds now. */
export function endDeposit(
  database: HotelDatabase,
  operation: string,
  state: Exclude<DepositState, 'asked'>,
  charge: string | null,
): Deposit | null {
  run(
    database,
    "update deposits set state = ?, charge = ? where operation = ? and state = 'asked'",
    state,
    charge,
    operation,
  )
  return depositOf(database, operation)
}

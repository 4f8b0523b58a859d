import { cancelled, failed, operation, succeeded, ToolError, tooLate, unknown } from 'poppyseed'
import { z } from 'zod'
import { type Booking, bookingByOperation, bookingOf, bookRoom, canBeCancelled, cancelBooking } from './bookings.ts'
import { dayAt } from './days.ts'
import { beginDeposit, bookingForDeposit, depositFor, depositOf, endDeposit } from './deposits.ts'
import { counted, formatFor } from './format.ts'
import type { Charge, PaymentService } from './payment-service.ts'
import { Refusal } from './refusal.ts'
import type { HotelDatabase } from './sql.ts'
import { roomDetails, searchRooms } from './tools-data.ts'

/*
 * What an agent can have done at the hotel once its guest agreed. Each is `repeatable`, for the key of an operation is in
 * the hotel's own tables and at the payment service unique: whoever does one again finds what was done the first time.
 */

/** What the operations need. */
export type HotelOperations = {
  readonly database: HotelDatabase
  /** Without it no deposits are taken. */
  readonly payments?: PaymentService | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const format = formatFor(null)
const money = (euros: number) => ({ amount: euros.toFixed(2), currency: 'EUR' })
const hostOf = (clientId: string) => new URL(clientId).host
const bookingInput = z.object({ booking: z.string().min(1).max(64).describe('Its number, as my_bookings gives it') })

/** Makes the hotel's operations. */
export function hotelOperations({ database, payments, now }: HotelOperations) {
  const own = [bookRoomOperation(database, now), cancelBookingOperation(database, now)]
  return payments ? [...own, payDepositOperation(database, payments)] : own
}

function bookRoomOperation(database: HotelDatabase, now: () => number) {
  return operation({
    name: 'book_room',
    title: 'Book a room',
    description:
      'Books a room for the signed-in guest, by the slug that search_rooms gives. Proposes the price and holds nothing; the room is booked once the guest has confirmed.',
    input: z.object({
      room: z.string().min(1).max(64).describe('The room’s slug'),
      from: z.iso.date().describe('First day, as YYYY-MM-DD'),
      to: z.iso.date().describe('Day of leaving, as YYYY-MM-DD'),
      guests: z.int().min(1).max(10),
    }),
    scope: 'poppy:write',
    repeatable: true,
    // No room can be booked twice for the same days: asking again is asking for the same.
    identity: ({ room, from, to, guests }) => `${room} ${from} ${to} ${guests}`,
    propose: ({ room: slug, from, to, guests }) =>
      inWords(() => {
        const room = roomDetails(database, slug)
        if (from < dayAt(now())) throw new Refusal('invalid', 'That day has passed.')
        if (guests > room.sleeps) throw new Refusal('invalid', `${room.name} sleeps 1 to ${room.sleeps}.`)
        const free = searchRooms(database, { from, to, guests }).find((one) => one.slug === slug)
        if (!free) throw new Refusal('taken', `${room.name} is not free for those days.`)
        const { nights, total } = free
        return {
          summary: `Book ${room.name} for ${counted(guests, 'guest')}, ${counted(nights, 'night')}: arrival on ${format.day(from)}, departure on ${format.day(to)}. ${format.money(total)} in all, paid at the hotel. You can cancel until the day before you arrive, and pay nothing then, unless you paid a deposit: that is kept.`,
          terms: {
            room: room.name,
            arrival: from,
            departure: to,
            nights,
            guests,
            total: money(total),
            payment: 'At the hotel',
            cancellation: 'Free until the day before arrival; a deposit that was paid is kept',
          },
          data: { price: Math.round(total * 100) },
        }
      }),
    perform: ({ account, clientId, input, data }, { key }) =>
      inResult(() => {
        const wish = { slug: input.room, from: input.from, to: input.to, guests: input.guests }
        const order = { operation: key, agent: hostOf(clientId), price: data.price }
        return succeeded(bookedResult(bookRoom(database, guestOf(account), wish, now(), order)))
      }),
    reconcile: ({ account }, { key }) => {
      const booking = bookingByOperation(database, guestOf(account), key, 'booked')
      // A process that stood still may book it yet. Doing it again with the same key decides.
      return booking ? succeeded(bookedResult(booking)) : unknown()
    },
  })
}

function bookedResult({ id, roomName, arrival, departure, total }: Booking) {
  return { booking: id, room: roomName, arrival, departure, total: money(total) }
}

function cancelBookingOperation(database: HotelDatabase, now: () => number) {
  return operation({
    name: 'cancel_booking',
    title: 'Cancel a booking',
    description:
      'Cancels one of the guest’s bookings once the guest has confirmed, until the day before arrival. Costs nothing, but a deposit that was paid is kept.',
    input: bookingInput,
    scope: 'poppy:write',
    repeatable: true,
    identity: ({ booking }) => booking,
    propose: ({ booking: id }, { principal }) =>
      inWords(() => {
        const booking = bookingOf(database, guestOf(principal.account), id)
        if (booking.status === 'cancelled') throw new Refusal('invalid', 'This booking is cancelled already.')
        if (!canBeCancelled(booking, now()))
          throw new Refusal('invalid', 'The day of arrival has come, so call us instead.')
        const { roomName, arrival, departure, deposit } = booking
        const cost = deposit > 0 ? `The deposit of ${format.money(deposit)} is not given back.` : 'You pay nothing.'
        return {
          summary: `Cancel ${id}: ${roomName}, ${format.stay(arrival, departure)}. The room is free for others at once. ${cost}`,
          terms: {
            booking: id,
            room: roomName,
            arrival,
            departure,
            effect: 'The room is free for others at once',
            fee: money(deposit),
          },
          data: { fee: deposit },
        }
      }),
    perform: ({ account, clientId, input, data }, { key }) =>
      inResult(() => {
        const order = { operation: key, agent: hostOf(clientId), fee: data.fee }
        const { booking } = cancelBooking(database, guestOf(account), input.booking, now(), order)
        return succeeded({ booking: booking.id, fee: money(data.fee) })
      }),
    reconcile: ({ account, data }, { key }) => {
      const booking = bookingByOperation(database, guestOf(account), key, 'cancelled')
      return booking ? succeeded({ booking: booking.id, fee: money(data.fee) }) : unknown()
    },
  })
}

function payDepositOperation(database: HotelDatabase, payments: PaymentService) {
  type Paid = { readonly input: { readonly booking: string }; readonly data: { readonly amount: number } }
  const paid = ({ input, data }: Paid, charge: string | null) =>
    succeeded({ booking: input.booking, paid: money(data.amount / 100), charge })

  /** The money is there: it is the hotel's, unless somebody stopped it a moment before. */
  function keep(agreement: Paid, key: string, charge: Charge, signal: AbortSignal) {
    const deposit = endDeposit(database, key, 'paid', charge.id)
    return deposit?.state === 'paid' ? paid(agreement, deposit.charge) : giveBack(key, signal)
  }

  async function giveBack(key: string, signal: AbortSignal) {
    const charge = depositOf(database, key)?.charge
    if (!charge || (await payments.refund(charge, signal)) === 'lost') return unknown()
    return failed('It was stopped as you wished, and the money was given back.')
  }

  return operation({
    name: 'pay_deposit',
    title: 'Pay a deposit',
    description:
      'Pays the deposit for one of the guest’s bookings, three tenths of its price, by the card that the hotel has, once the guest has confirmed.',
    input: bookingInput,
    scope: 'poppy:write',
    // The payment service takes money once for an Idempotency-Key, and the key is the operation's id. And before it is asked
    // again, it is asked what it took.
    repeatable: true,
    performTimeout: 30_000,
    identity: ({ booking }) => booking,
    propose: ({ booking: id }, { principal }) =>
      inWords(() => {
        const booking = bookingForDeposit(database, guestOf(principal.account), id)
        const euros = depositFor(booking)
        const { roomName, arrival, departure, total } = booking
        return {
          summary: `Pay a deposit of ${format.money(euros)} for ${id}, ${roomName}, ${format.stay(arrival, departure)}, by the card that we have of you. It counts towards the ${format.money(total)} of the stay, and is not given back if you cancel the booking.`,
          terms: {
            booking: id,
            room: roomName,
            arrival,
            departure,
            deposit: money(euros),
            payment: 'By the card that the hotel has',
            counts: 'Towards the price of the stay',
            stay: money(total),
            refund: 'None if the booking is cancelled',
          },
          data: { amount: euros * 100 },
        }
      }),
    async perform(agreement, { key, signal, attempt }) {
      const { account, input, data } = agreement
      const begun = inResult(() =>
        beginDeposit(database, guestOf(account), { operation: key, booking: input.booking, amount: data.amount }),
      )
      if ('outcome' in begun) return begun
      if (begun.state === 'paid') return paid(agreement, begun.charge)
      if (begun.state === 'returned') return giveBack(key, signal)
      if (begun.state === 'declined') return declined
      const answer = await payments.charge({ amount: data.amount, key }, signal)
      if (answer === 'lost') return unknown()
      if (answer !== 'declined') return keep(agreement, key, answer, signal)
      // What an earlier request did isn't known by this one's being declined.
      if (attempt > 1) return unknown()
      endDeposit(database, key, 'declined', null)
      return declined
    },
    async reconcile(agreement, { key, signal }) {
      const deposit = depositOf(database, key)
      if (deposit?.state === 'paid') return paid(agreement, deposit.charge)
      if (deposit?.state === 'declined') return declined
      if (deposit?.state === 'returned') return giveBack(key, signal)
      const charge = await payments.find(key, signal)
      return charge === null || charge === 'lost' ? unknown() : keep(agreement, key, charge, signal)
    },
    async cancel(_, { key, signal }) {
      const charge = await payments.find(key, signal)
      if (charge === 'lost') return unknown()
      // A request may be on its way, and nothing calls it back.
      if (charge === null) return tooLate()
      const deposit = endDeposit(database, key, 'returned', charge.id)
      if (deposit?.state !== 'returned') return tooLate()
      const refunded = await payments.refund(charge.id, signal)
      return refunded === 'lost' ? unknown() : cancelled('The money was given back.')
    },
  })
}

const declined = failed('The card was declined. No money was taken.')

/** The hotel's own refusals are sentences for the guest, so the agent may have them too. */
function inWords<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal) throw new ToolError(error.message)
    throw error
  }
}

/** A refusal is from inside the transaction: then certainly nothing was changed. All else that is thrown is not known. */
function inResult<T>(work: () => T) {
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal)
      return failed(error.code === 'taken' ? 'The room was taken meanwhile.' : error.message)
    throw error
  }
}

/** Each of these operations needs a scope, so there is an account by the time that one runs. */
function guestOf(account: string | null): string {
  if (account === null) throw new TypeError('an operation without a scope asked for the guest')
  return account
}

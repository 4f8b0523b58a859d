import type { SignedInPrincipal } from 'poppyseed'
import { bookingsOf } from './bookings.ts'
import { counted, formatFor } from './format.ts'
import { hotelScopes } from './scopes.ts'
import { guestById } from './sessions.ts'
import type { HotelDatabase } from './sql.ts'
import { loyaltyPoints } from './tools-data.ts'

const format = formatFor(null)

/**
 * What whoever works at the desk sees of a guest whose account they opened in a conversation: the name, and beside it what
 * this guest let this agent see. Null for a guest that is gone.
 */
export function customerCard(database: HotelDatabase, principal: Pick<SignedInPrincipal, 'account' | 'scopes'>) {
  const guest = guestById(database, principal.account)
  if (!guest) return null
  const may = hotelScopes(principal.scopes)
  const bookings = may.includes('poppy:read') ? bookingsOf(database, guest.id) : null
  const hidden = [...(bookings ? [] : ['bookings and notes']), ...(may.includes('loyalty') ? [] : ['points'])]
  return {
    title: guest.name,
    facts: {
      ...(may.includes('loyalty') ? { Points: format.number(loyaltyPoints(database, guest.id)) } : {}),
      ...(bookings ? { Bookings: bookings.filter(({ status }) => status === 'booked').length } : {}),
      ...(hidden.length > 0 ? { 'Not shown': `${hidden.join(', ')}: the guest did not allow it` } : {}),
    },
    tables: bookings ? [bookingsTable(bookings), notesTable(bookings)].filter(({ rows }) => rows.length > 0) : [],
  }
}

type Bookings = ReturnType<typeof bookingsOf>

/** Few columns: it stands beside a conversation. */
function bookingsTable(bookings: Bookings) {
  return {
    title: 'Bookings',
    columns: ['Booking', 'Stay', 'Price'],
    rows: bookings.map(({ id, roomName, arrival, departure, guests, total, deposit, status }) => [
      `${id} ${roomName}`,
      `${format.stay(arrival, departure)}, ${counted(guests, 'guest')}`,
      status === 'cancelled' ? 'Cancelled' : priceOf(total, deposit),
    ]),
  }
}

const priceOf = (total: number, deposit: number) =>
  deposit > 0 ? `${format.money(total)}, ${format.money(deposit)} of it paid` : format.money(total)

function notesTable(bookings: Bookings) {
  return {
    title: 'Notes',
    columns: ['Booking', 'Note'],
    rows: bookings.flatMap(({ id, notes }) => notes.map((note) => [id, note])),
  }
}

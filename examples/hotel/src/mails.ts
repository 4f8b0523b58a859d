import type { Booking } from './bookings.ts'
import type { Mail } from './outbox.ts'
import { hotelScopes, inWords } from './scopes.ts'
import type { Guest } from './sessions.ts'

/** What the hotel writes to its guests. Nothing in a mail is a link: who reads it goes to the hotel's site by themselves. */

/** The one-time code for an agent that is new to the account (4.7). */
export function codeMail(
  guest: Guest,
  code: string,
  agent: { readonly host: string; readonly scopes: readonly string[] },
): Mail {
  return {
    to: guest.email,
    subject: 'Your code for Hotel Miramar',
    paragraphs: [
      `${guest.name}, an agent at ${agent.host} has your email address and password, and asks to be let in. It would be able to: ${inWords(hotelScopes(agent.scopes))}.`,
      'If it acts for you, give it this code within ten minutes. If you don’t know of it, give the code to nobody and change your password.',
    ],
    code,
  }
}

/** That a booking was cancelled, and by whom. */
export function cancellationMail(guest: Guest, booking: Booking, by: string): Mail {
  return {
    to: guest.email,
    subject: `${booking.id} is cancelled`,
    paragraphs: [
      `${guest.name}, your stay in ${booking.roomName} from ${booking.arrival} to ${booking.departure} was cancelled by ${by}. You pay nothing.`,
      'If that is not what you wanted, write to us: the room may still be free.',
    ],
  }
}

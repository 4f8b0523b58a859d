import type { OperationEvent } from 'poppyseed'
import type { Booking } from './bookings.ts'
import { formatFor } from './format.ts'
import type { Mail } from './outbox.ts'
import { hotelScopes, inWords } from './scopes.ts'
import type { Guest } from './sessions.ts'

/** What the hotel writes to its guests. Nothing in a mail is a link: who reads it goes to the hotel's site by themselves. */

// A mail has no browser that would say how its reader writes dates.
const format = formatFor(null)

/** An agent that was let in. */
export type NewAgent = {
  /** What it calls itself. */
  readonly name: string
  /** The host that its identity lives at. */
  readonly host: string
  readonly signIn: 'direct' | 'device' | 'mediated'
  readonly scopes: readonly string[]
  /** In milliseconds; null for never. */
  readonly expiresAt: number | null
  /** Whether the same person at it had been let in before; at one agent there may be many. */
  readonly replaces: boolean
}

const ways = {
  direct: 'on our own page',
  device: 'on our own page, with a code that it showed',
  mediated: 'with your email address and password',
}

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

/** That an agent was let in, so that a guest who didn't do it themselves learns of it at once (4.9). */
export function connectionMail(guest: Guest, agent: NewAgent): Mail {
  const until = agent.expiresAt === null ? '' : `, until ${format.date(agent.expiresAt)}`
  return {
    to: guest.email,
    subject: agent.replaces ? 'An agent was let in again' : 'An agent acts for you',
    paragraphs: [
      `${guest.name}, ${agent.name} from ${agent.host} was let in to your account ${ways[agent.signIn]}. It may ${inWords(hotelScopes(agent.scopes))}${until}.`,
      'If you know of it, there is nothing to do. If you don’t, disconnect it on our site, in your account under connected agents: it is out at once. Then change your password.',
    ],
  }
}

/** That a booking was cancelled, and by whom. */
export function cancellationMail(guest: Guest, booking: Booking, by: string): Mail {
  return {
    to: guest.email,
    subject: `${booking.id} is cancelled`,
    paragraphs: [
      `${guest.name}, your stay in ${booking.roomName}, ${format.stay(booking.arrival, booking.departure)}, was cancelled by ${by}. ${booking.deposit > 0 ? `Your deposit of ${format.money(booking.deposit)} is kept; you pay nothing more.` : 'You pay nothing.'}`,
      'If that is not what you wanted, write to us: the room may still be free.',
    ],
  }
}

const titles: Readonly<Record<string, string>> = {
  book_room: 'A room',
  cancel_booking: 'Cancelling a booking',
  pay_deposit: 'A deposit',
}

const ends: Readonly<Record<string, readonly [subject: string, sentence: string]>> = {
  succeeded: ['done', 'This is done'],
  failed: ['not done', 'This was not done, and nothing of it happened'],
  cancelled: ['not done', 'This was called off, and nothing of it happened'],
  expired: ['not done', 'Nobody approved this in time, so nothing was done'],
}

/** What came of something that an agent asked for: whichever way it ended, the guest learns it from the hotel too. */
export function operationMail(guest: Guest, { operation }: OperationEvent): Mail {
  const { name, state, result, clientId, confirmation } = operation
  const [subject = state, sentence = state] = ends[state] ?? []
  const { booking, reason } = (result ?? {}) as { readonly booking?: unknown; readonly reason?: unknown }
  const number = typeof booking === 'string' ? `, ${booking}` : ''
  const why = typeof reason === 'string' ? ` (${reason.replace(/\.$/, '')})` : ''
  const word = confirmation === null ? '' : ' It told us that you approved exactly these words.'
  return {
    to: guest.email,
    subject: `${titles[name] ?? name}: ${subject}${number}`,
    paragraphs: [
      `${guest.name}, your agent at ${new URL(clientId).host} asked for this: “${operation.summary}”${word}`,
      `${sentence}${why}.`,
      'If you don’t know of it, write to us, and disconnect the agent in your account on our site.',
    ],
  }
}

import {
  type Account,
  type Company,
  type CompanyAgent,
  type CompanyConfig,
  createCompany,
  type Logger,
  ToolError,
  tool,
} from 'poppyseed'
import { sqlite } from 'poppyseed/sqlite'
import { z } from 'zod'
import { addBookingNote, bookingsOf, MAX_NOTE } from './bookings.ts'
import { customerCard } from './customer.ts'
import { dayAt } from './days.ts'
import { codeMail, connectionMail, operationMail } from './mails.ts'
import { hotelOperations } from './operations.ts'
import type { Outbox } from './outbox.ts'
import type { ConnectedAgents } from './pages/account.tsx'
import type { PaymentService } from './payment-service.ts'
import { Refusal } from './refusal.ts'
import { scopes } from './scopes.ts'
import { guestById } from './sessions.ts'
import { signIn } from './sign-in.ts'
import type { HotelDatabase } from './sql.ts'
import { loyaltyPoints, roomDetails, searchRooms } from './tools-data.ts'
import type { FindAgent } from './visitor.ts'

type MediatedSignIn = NonNullable<NonNullable<CompanyConfig['signIn']>['mediated']>

/** The cookie of an agent's browser. It has a name of its own beside the guest's. */
const agentCookie = '__Host-miramar_agent'

const hours = '09:00-13:00, 16:00-20:00'
const deskHours = {
  timeZone: 'Europe/Madrid',
  ...{ mon: hours, tue: hours, wed: hours, thu: hours, fri: hours, sat: hours, sun: '10:00-13:00' },
} as const

const savedReplies = [
  {
    title: 'Late arrival',
    text: 'You can come as late as you like, at no cost. After 23:00 please ring the bell beside the blue door.',
  },
  {
    title: 'Without steps',
    text: 'Limonero has no step at the door, and its shower has a seat and a rail. The way from the street is level.',
  },
  { title: 'I look into it', text: 'Thank you for asking. I look into it and answer here within half an hour.' },
]

/** The hotel as a Company of the Personal Agent Protocol: what it had to write is in this file, and in operations.ts. */
export type HotelCompanyOptions = {
  readonly database: HotelDatabase
  readonly origin: string
  readonly secret: string
  /** The file in which the library keeps Sessions and sign-ins. */
  readonly file: string
  readonly account: (request: Request) => Promise<Account | null>
  /** Who of the staff is signed in, by the hotel's own login. */
  readonly staff: (request: Request) => Promise<{ readonly id: string; readonly name: string } | null>
  /** Where mails to guests go. */
  readonly outbox: Outbox
  /** Whether guests can read them: without a way for one-time codes, agents bring no credentials. */
  readonly isOutboxShown: boolean
  /** Where deposits are paid; without it agents can't pay one. */
  readonly payments?: PaymentService | undefined
  /** Who answers at the front desk when agents write. */
  readonly agent: CompanyAgent
  /** From which IP address a request comes. */
  readonly address: (request: Request) => string
  readonly log: Logger
  readonly now: () => number
  /** How the documents of agents are fetched; left out, the library's guarded way. */
  readonly fetchDocument?: CompanyConfig['fetchDocument']
}

/** Makes the hotel's Company. */
export function createHotelCompany(options: HotelCompanyOptions): Company {
  const { origin, database, outbox, now } = options
  const { hostname, protocol } = new URL(origin)
  return createCompany({
    organization: {
      name: 'Hotel Miramar',
      domain: hostname,
      description: 'Rooms, bookings and points at Hotel Miramar',
    },
    origin,
    secret: options.secret,
    store: sqlite(options.file),
    account: options.account,
    signInPage: (returnTo) => `/login?next=${encodeURIComponent(returnTo)}`,
    scopes,
    signIn: {
      direct: ['poppy:read', 'poppy:write', 'loyalty'],
      device: ['poppy:read', 'poppy:write', 'loyalty'],
      ...(options.isOutboxShown ? { mediated: mediatedSignIn(database, outbox, now) } : {}),
    },
    onConnection: ({ account, rights, ...agent }) => {
      const guest = guestById(database, account)
      if (guest) outbox.send(connectionMail(guest, { ...agent, scopes: rights.map(({ scope }) => scope) }))
    },
    browser: { cookie: agentCookie },
    tools: hotelTools(database, now),
    operations: hotelOperations({ database, payments: options.payments, now }),
    agent: options.agent,
    // When somebody of the house takes a conversation over; at other times guests are told these hours.
    conversations: { people: { openingHours: deskHours } },
    // The inbox, /poppy/inbox: for whoever the hotel's own staff login knows, and with what the guest let the agent see.
    staff: options.staff,
    staffSignInPage: (returnTo) => `/staff/login?next=${encodeURIComponent(returnTo)}`,
    staffSignOutPage: '/staff/desk',
    customer: (principal) => customerCard(database, principal),
    savedReplies,
    onOperation: {
      // Told at least once, after a crash too: the key makes one mail of it.
      finished: (event) => {
        const guest = event.operation.account === null ? null : guestById(database, event.operation.account)
        if (guest) outbox.sendOnce(event.key, operationMail(guest, event))
      },
    },
    development: protocol === 'http:',
    address: options.address,
    log: options.log,
    now,
    ...(options.fetchDocument ? { fetchDocument: options.fetchDocument } : {}),
  })
}

/**
 * Mediated Sign-In (4.7): an agent that holds a guest's email address and password, checked by the sign-in of the site and
 * within the same limits. It can only look, and while it is new to the account it needs a code from the guest's mail too.
 */
function mediatedSignIn(database: HotelDatabase, outbox: Outbox, now: () => number): MediatedSignIn {
  return {
    scopes: ['poppy:read', 'loyalty'],
    fields: [
      { name: 'email', label: 'Email address', secret: false },
      { name: 'password', label: 'Password', secret: true },
    ],
    async verify({ email = '', password = '' }) {
      try {
        return await signIn(
          database,
          'guests',
          { email: email.slice(0, 254), password: password.slice(0, 1024) },
          now(),
        )
      } catch (error) {
        // Too many tries: to an agent that is no other answer than a wrong password.
        if (error instanceof Refusal) return null
        throw error
      }
    },
    sendCode(code, { account, clientId, scopes: wanted }) {
      const guest = guestById(database, account)
      if (!guest) throw new TypeError('a sign-in is for a guest that is not there')
      outbox.send(codeMail(guest, code, { host: new URL(clientId).host, scopes: wanted }))
      const [name = '', domain = ''] = guest.email.split('@')
      return `Email to ${name.slice(0, 1)}…@${domain}`
    },
  }
}

/** Tells the site whose browser a request comes from (5). */
export function agentFinder(company: () => Company): FindAgent {
  return async (request) => {
    const principal = await company().browserPrincipal(request)
    if (principal !== null) {
      const { sessionId, account, scopes: given, clientId } = principal
      return { sessionId, account, scopes: given, host: new URL(clientId).host }
    }
    const names = (request.headers.get('cookie') ?? '').split(';').map((pair) => pair.split('=', 1)[0]?.trim())
    return names.includes(agentCookie) ? 'ended' : null
  }
}

function hotelTools(database: HotelDatabase, now: () => number) {
  return [
    tool({
      name: 'search_rooms',
      title: 'Search rooms',
      description: 'Rooms that are free for all nights from the first day to the day of leaving, with prices in euros.',
      input: z.object({
        from: z.iso.date().describe('First day, as YYYY-MM-DD'),
        to: z.iso.date().describe('Day of leaving, as YYYY-MM-DD'),
        guests: z.int().min(1).max(10).optional(),
        maxPrice: z.number().min(0).max(100_000).optional().describe('The most that a night may cost, in euros'),
      }),
      annotations: { readOnlyHint: true },
      run: (input) => inWords(() => ({ rooms: searchRooms(database, input) })),
    }),
    tool({
      name: 'room_details',
      title: 'Room details',
      description: 'Everything about one room, by the slug that search_rooms gives.',
      input: z.object({ slug: z.string().min(1).max(64) }),
      annotations: { readOnlyHint: true },
      run: ({ slug }) => inWords(() => roomDetails(database, slug)),
    }),
    tool({
      name: 'my_bookings',
      title: 'My bookings',
      description: 'Bookings of the signed-in guest, newest first. With a day, those that have not ended before it.',
      input: z.object({ from: z.iso.date().optional() }),
      scope: 'poppy:read',
      annotations: { readOnlyHint: true },
      run: ({ from }, { principal }) => inWords(() => ({ bookings: bookingsOf(database, guestOf(principal), from) })),
    }),
    tool({
      name: 'add_booking_note',
      title: 'Add a note to a booking',
      description:
        'Adds a note that the staff of the hotel reads, such as an arrival time, to one of the guest’s bookings.',
      input: z.object({ booking: z.string().min(1).max(64), note: z.string().trim().min(1).max(MAX_NOTE) }),
      scope: 'poppy:write',
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
      run: ({ booking, note }, { principal }) =>
        inWords(() => {
          const { id, notes } = addBookingNote(database, guestOf(principal), booking, note, now())
          return { booking: id, notes: notes.length }
        }),
    }),
    tool({
      name: 'loyalty_points',
      title: 'Loyalty points',
      description: 'How many points the signed-in guest has; 1,000 are a night in the room Limonero.',
      scope: 'loyalty',
      annotations: { readOnlyHint: true },
      run: (_input, { principal }) =>
        inWords(() => ({ points: loyaltyPoints(database, guestOf(principal)), asOf: dayAt(now()) })),
    }),
  ]
}

/** The hotel's own refusals are sentences for the guest, so the agent may have them too. */
function inWords<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal) throw new ToolError(error.message)
    throw error
  }
}

/** Each of these tools needs a scope, so there is an account by the time that one runs. */
function guestOf(principal: { readonly account: string | null }): string {
  if (principal.account === null) throw new TypeError('a tool without a scope asked for the guest')
  return principal.account
}

/** What the account page shows of the agents that a guest let in. */
export function connectedAgentsOf(company: () => Company): ConnectedAgents {
  return {
    async list(guestId) {
      const agents = await company().accounts.connectedAgents(guestId)
      return agents.map((agent) => ({
        id: agent.clientId,
        name: agent.name,
        host: agent.host,
        rights: agent.rights.map(({ text }) => text),
        since: agent.connectedAt,
        lastUsed: agent.lastUsedAt,
        until: agent.expiresAt,
      }))
    },
    async disconnect(guestId, id) {
      await company().accounts.disconnect(guestId, id)
    },
  }
}

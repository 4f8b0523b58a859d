import { readFileSync } from 'node:fs'
import { Hono } from 'hono'
import { getCookie } from 'hono/cookie'
import { parse } from 'hono/utils/cookie'
import { PoppyError } from 'poppyseed'
import { dayAt } from './days.ts'
import { formTokens, refuseCrossSite } from './forms.ts'
import { guestRoutes } from './guest-routes.tsx'
import { createOutbox, type Outbox } from './outbox.ts'
import type { ConnectedAgents } from './pages/account.tsx'
import { HomePage } from './pages/home.tsx'
import { MessagePage } from './pages/message.tsx'
import { NotForAgentsPage } from './pages/not-for-agents.tsx'
import { OutboxPage } from './pages/outbox.tsx'
import { RoomPage } from './pages/room.tsx'
import { limitBody, protectPages } from './protection.ts'
import { Refusal, type RefusalCode } from './refusal.ts'
import { readSearch } from './room-search.ts'
import { type Guest, personOfSession, type StaffMember } from './sessions.ts'
import { signInRoutes } from './sign-in-routes.tsx'
import { createDesk, type SiteEnv } from './site-context.ts'
import type { HotelDatabase } from './sql.ts'
import { staffRoutes } from './staff-routes.tsx'
import { allRooms, roomDetails } from './tools-data.ts'
import { type FindAgent, findVisitor, NotForThisAgent, NotSignedIn } from './visitor.ts'

/** What the site is made of. */
export type SiteOptions = {
  readonly database: HotelDatabase
  /** At least 32 random bytes. */
  readonly secret: Uint8Array
  /** The clock, in milliseconds. */
  readonly now: () => number
  /** True when people reach the site over https: cookies then carry `Secure` and the `__Host-` prefix. */
  readonly secure: boolean
  /** The agents a guest has let in. Without it, the account page has no such section. */
  readonly connectedAgents?: ConnectedAgents
  /** Tells an agent's browser from a person's. Without it, everybody is a person. */
  readonly findAgent?: FindAgent
  /** Where mails go. */
  readonly outbox?: Outbox
  /** Whether the outbox has a page: where the hotel is tried out, on this machine alone. */
  readonly showOutbox?: boolean
  /** Told once a member of staff has signed out. */
  readonly onStaffSignOut?: (staff: StaffMember) => Promise<void>
  /** Takes a line about something that went wrong. It never holds what a guest sent. */
  readonly log?: (line: string) => void
}

/** The hotel's site behind Web requests. */
export type Site = {
  readonly fetch: (request: Request) => Promise<Response>
  /** The guest who is at this request's browser in person, or null: an agent's browser is nobody's, whoever it acts for. */
  readonly guest: (request: Request) => Promise<Guest | null>
  /** Who of the staff is at this request's browser in person, or null. */
  readonly staff: (request: Request) => Promise<StaffMember | null>
}

const publicFile = (name: string): string => readFileSync(new URL(`../public/${name}`, import.meta.url), 'utf8')

const STATUS: Record<RefusalCode, 400 | 403 | 404 | 409 | 429> = {
  invalid: 400,
  forbidden: 403,
  not_found: 404,
  taken: 409,
  too_many: 429,
}

/** Makes the site: rooms for everybody; bookings and account for those who are signed in. */
export function createSite(options: SiteOptions): Site {
  const { database, now, secure, connectedAgents } = options
  const { findAgent = async () => null, outbox = createOutbox(database, now) } = options
  const prefix = secure ? '__Host-' : ''
  const cookies = { session: `${prefix}miramar_session`, visit: `${prefix}miramar_visit` }
  const staffCookies = { session: `${prefix}miramar_staff`, visit: `${prefix}miramar_staff_visit` }
  // A name that somebody else made lead here must not get to read mails: only this machine's own names do.
  const showsOutbox = (url: string) =>
    options.showOutbox === true && ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname)
  const desk = createDesk({ tokens: formTokens(options.secret), showsOutbox })
  const { page, visitOf } = desk
  const visitors = () => ({ database, findAgent, now: now() })
  const visitorOf = async (request: Request) => {
    const cookieOf = (name: string) => parse(request.headers.get('cookie') ?? '', name)[name]
    return { cookieOf, visitor: await findVisitor(request, cookieOf(cookies.session), visitors()) }
  }

  const app = new Hono<SiteEnv>()

  app.use(protectPages(secure))
  app.post('*', limitBody, async (context, next) => {
    refuseCrossSite(context.req.raw)
    await next()
  })

  for (const [path, type] of [
    ['hotel.css', 'text/css; charset=utf-8'],
    ['pages.css', 'text/css; charset=utf-8'],
    ['favicon.svg', 'image/svg+xml'],
  ] as const) {
    const body = publicFile(path)
    app.get(`/${path}`, (context) => context.body(body, 200, { 'content-type': type, 'cache-control': 'no-cache' }))
  }

  app.use(async (context, next) => {
    context.set('visitor', await findVisitor(context.req.raw, getCookie(context, cookies.session), visitors()))
    await next()
  })

  app.get('/', (context) => {
    const search = readSearch(database, new URL(context.req.url).searchParams, dayAt(now()))
    return page(context, <HomePage visit={visitOf(context)} rooms={allRooms(database)} search={search} />)
  })

  app.get('/rooms/:slug', (context) => {
    const room = roomDetails(database, context.req.param('slug'))
    const search = readSearch(database, new URL(context.req.url).searchParams, dayAt(now()))
    return page(context, <RoomPage visit={visitOf(context)} room={room} search={search} />)
  })

  app.route('/', signInRoutes({ desk, database, now, secure, cookies }))
  const { onStaffSignOut: onSignOut = async () => {} } = options
  app.route('/', staffRoutes({ desk, database, now, secure, cookies: staffCookies, onSignOut }))
  app.route('/', guestRoutes({ desk, database, now, outbox, connectedAgents }))

  app.get('/outbox', (context) => {
    if (!showsOutbox(context.req.url)) return context.notFound()
    const { visitor } = context.var
    if (visitor.kind !== 'person') throw new NotForThisAgent(visitor, 'in person')
    return page(context, <OutboxPage visit={visitOf(context)} mails={outbox.list()} />)
  })

  app.notFound((context) => {
    const text = 'There is no page at this address. Perhaps the link is old, or a letter went missing on the way.'
    return page(context, <MessagePage visit={visitOf(context)} title="Nothing here but the sea" text={text} />, 404)
  })

  app.onError((error, context) => {
    const visit = visitOf(context)
    if (error instanceof NotSignedIn) return context.redirect(`/login?next=${encodeURIComponent(error.next)}`, 303)
    if (error instanceof NotForThisAgent) return page(context, <NotForAgentsPage visit={visit} refusal={error} />, 403)
    if (error instanceof Refusal) {
      const title = error.code === 'not_found' ? 'Nothing here but the sea' : 'That did not work'
      return page(context, <MessagePage visit={visit} title={title} text={error.message} />, STATUS[error.code])
    }
    if (error instanceof PoppyError && error.code === 'temporarily_unavailable') {
      // The hotel is closing for a moment, to be opened again.
      context.header('retry-after', '1')
      const text = 'We are back in a moment. Nothing was changed; try again.'
      return page(context, <MessagePage visit={visit} title="One moment" text={text} />, 503)
    }
    options.log?.(`${context.req.method} ${context.req.routePath} failed: ${error.name}: ${error.message}`)
    const text = 'Something broke on our side. Your bookings are safe. Try again in a moment.'
    return page(context, <MessagePage visit={visit} title="We are sorry" text={text} />, 500)
  })

  return {
    fetch: async (request) => app.fetch(request),
    guest: async (request) => {
      const { visitor } = await visitorOf(request)
      return visitor.kind === 'person' ? visitor.guest : null
    },
    staff: async (request) => {
      const { visitor, cookieOf } = await visitorOf(request)
      return visitor.kind === 'person'
        ? personOfSession(database, 'staff', cookieOf(staffCookies.session), now())
        : null
    },
  }
}

import { readFileSync } from 'node:fs'
import { type Context, Hono } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import type { Child } from 'hono/jsx'
import { parse } from 'hono/utils/cookie'
import { dayAt } from './days.ts'
import { formatFor } from './format.ts'
import { formTokens, readForm, refuseCrossSite } from './forms.ts'
import { localPath } from './next-path.ts'
import { AccountPage, type ConnectedAgents } from './pages/account.tsx'
import { BookingsPage } from './pages/bookings.tsx'
import { HomePage } from './pages/home.tsx'
import type { Visit } from './pages/layout.tsx'
import { LoginPage } from './pages/login.tsx'
import { MessagePage } from './pages/message.tsx'
import { RoomPage } from './pages/room.tsx'
import { limitBody, protectPages } from './protection.ts'
import { Refusal, type RefusalCode } from './refusal.ts'
import { readSearch } from './room-search.ts'
import { endSession, type Guest, isId, newId, SESSION_LIFETIME, sessionGuest, startSession } from './sessions.ts'
import { signIn } from './sign-in.ts'
import type { HotelDatabase } from './sql.ts'
import { addBookingNote, allRooms, bookingsOf, bookRoom, loyaltyPoints, roomDetails } from './tools-data.ts'

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
  /** Takes a line about something that went wrong. It never holds what a guest sent. */
  readonly log?: (line: string) => void
}

/** The hotel's site behind Web requests. */
export type Site = {
  readonly fetch: (request: Request) => Promise<Response>
  /** Who is signed in to the site with this request's cookie, or null. */
  readonly guest: (request: Request) => Promise<Guest | null>
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
  const tokens = formTokens(options.secret)
  const prefix = secure ? '__Host-' : ''
  // `session` says who is signed in; `visit` only ties the sign-in form to the browser that loaded it.
  const sessionCookie = `${prefix}miramar_session`
  const visitCookie = `${prefix}miramar_visit`
  const cookie = { httpOnly: true, sameSite: 'Lax', secure, path: '/' } as const

  const guestOf = (context: Context): Guest | null => sessionGuest(database, getCookie(context, sessionCookie), now())

  function visitOf(context: Context): Visit {
    const session = getCookie(context, sessionCookie)
    const guest = sessionGuest(database, session, now())
    return {
      guest,
      formToken: guest && session ? tokens.make(session) : '',
      format: formatFor(context.req.header('accept-language') ?? null),
      path: context.req.path,
    }
  }

  async function page(context: Context, element: Child, status: 200 | 400 | 403 | 404 | 409 | 429 | 500 = 200) {
    return context.html(`<!doctype html>${await element}`, status)
  }

  /** Sends a person to sign in, and back to where they wanted to go. */
  const askToSignIn = (context: Context): Response =>
    context.redirect(`/login?next=${encodeURIComponent(context.req.path)}`, 303)

  /** The fields of a form that a signed-in guest sent from one of our pages, or null when nobody is signed in. */
  async function guestForm(context: Context) {
    const guest = guestOf(context)
    if (!guest) return null
    const fields = await readForm(context.req.raw)
    tokens.check(getCookie(context, sessionCookie), fields.get('form_token'))
    return { guest, fields }
  }

  const app = new Hono()

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

  app.get('/', (context) => {
    const search = readSearch(database, new URL(context.req.url).searchParams, dayAt(now()))
    return page(context, <HomePage visit={visitOf(context)} rooms={allRooms(database)} search={search} />)
  })

  app.get('/rooms/:slug', (context) => {
    const room = roomDetails(database, context.req.param('slug'))
    const search = readSearch(database, new URL(context.req.url).searchParams, dayAt(now()))
    return page(context, <RoomPage visit={visitOf(context)} room={room} search={search} />)
  })

  app.post('/rooms/:slug/book', async (context) => {
    const slug = context.req.param('slug')
    const form = await guestForm(context)
    if (!form) return context.redirect(`/login?next=${encodeURIComponent(`/rooms/${slug}`)}`, 303)
    const { guest, fields } = form
    const wish = {
      slug,
      from: fields.get('from') ?? '',
      to: fields.get('to') ?? '',
      guests: Number(fields.get('guests')),
    }
    const booking = bookRoom(database, guest.id, wish, now())
    return context.redirect(`/bookings#${booking.id}`, 303)
  })

  app.get('/login', (context) => {
    const known = getCookie(context, visitCookie)
    const visitId = isId(known) ? known : newId()
    if (visitId !== known) setCookie(context, visitCookie, visitId, cookie)
    const nexts = context.req.queries('next') ?? []
    // Two `next` are nobody's honest link.
    const next = localPath(nexts.length === 1 ? nexts[0] : null, '/bookings')
    return page(context, <LoginPage visit={visitOf(context)} token={tokens.make(visitId)} next={next} />)
  })

  app.post('/login', async (context) => {
    const fields = await readForm(context.req.raw)
    const visitId = getCookie(context, visitCookie)
    tokens.check(visitId, fields.get('form_token'))
    const email = (fields.get('email') ?? '').slice(0, 254)
    const password = (fields.get('password') ?? '').slice(0, 1024)
    const next = localPath(fields.get('next'), '/bookings')
    const again = (error: string, status: 400 | 429) => {
      const token = tokens.make(visitId ?? '')
      const element = <LoginPage visit={visitOf(context)} token={token} next={next} email={email} error={error} />
      return page(context, element, status)
    }
    try {
      const guestId = await signIn(database, { email, password }, now())
      if (guestId === null) return again('That email address and password do not go together. Try again.', 400)
      endSession(database, getCookie(context, sessionCookie))
      const session = startSession(database, guestId, now())
      setCookie(context, sessionCookie, session, { ...cookie, maxAge: SESSION_LIFETIME / 1000 })
      deleteCookie(context, visitCookie, cookie)
      return context.redirect(next, 303)
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'too_many') throw error
      context.header('retry-after', String(error.retryAfter))
      return again(error.message, 429)
    }
  })

  app.post('/logout', async (context) => {
    if (await guestForm(context)) endSession(database, getCookie(context, sessionCookie))
    deleteCookie(context, sessionCookie, cookie)
    return context.redirect('/', 303)
  })

  app.get('/bookings', (context) => {
    const visit = visitOf(context)
    if (!visit.guest) return askToSignIn(context)
    const bookings = bookingsOf(database, visit.guest.id)
    return page(context, <BookingsPage visit={visit} bookings={bookings} today={dayAt(now())} />)
  })

  app.post('/bookings/:id/notes', async (context) => {
    const form = await guestForm(context)
    if (!form) return context.redirect('/login?next=/bookings', 303)
    const booking = addBookingNote(
      database,
      form.guest.id,
      context.req.param('id'),
      form.fields.get('note') ?? '',
      now(),
    )
    return context.redirect(`/bookings#${booking.id}`, 303)
  })

  app.get('/account', async (context) => {
    const visit = visitOf(context)
    if (!visit.guest) return askToSignIn(context)
    const points = loyaltyPoints(database, visit.guest.id)
    const agents = await connectedAgents?.list(visit.guest.id)
    return page(context, <AccountPage visit={visit} guest={visit.guest} points={points} agents={agents} />)
  })

  app.post('/account/agents/:id/disconnect', async (context) => {
    const form = await guestForm(context)
    if (!form) return context.redirect('/login?next=/account', 303)
    if (!connectedAgents) throw new Refusal('not_found', 'There is nothing here.')
    await connectedAgents.disconnect(form.guest.id, context.req.param('id'))
    return context.redirect('/account#agents', 303)
  })

  app.notFound((context) => {
    const text = 'There is no page at this address. Perhaps the link is old, or a letter went missing on the way.'
    return page(context, <MessagePage visit={visitOf(context)} title="Nothing here but the sea" text={text} />, 404)
  })

  app.onError((error, context) => {
    if (error instanceof Refusal) {
      const title = error.code === 'not_found' ? 'Nothing here but the sea' : 'That did not work'
      const element = <MessagePage visit={visitOf(context)} title={title} text={error.message} />
      return page(context, element, STATUS[error.code])
    }
    options.log?.(`${context.req.method} ${context.req.routePath} failed: ${error.name}: ${error.message}`)
    const text = 'Something broke on our side. Your bookings are safe. Try again in a moment.'
    return page(context, <MessagePage visit={visitOf(context)} title="We are sorry" text={text} />, 500)
  })

  return {
    fetch: async (request) => app.fetch(request),
    guest: async (request) => {
      const cookies = request.headers.get('cookie') ?? ''
      return sessionGuest(database, parse(cookies, sessionCookie)[sessionCookie], now())
    },
  }
}

import { Hono } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { readForm } from './forms.ts'
import { localPath } from './next-path.ts'
import { LoginPage } from './pages/login.tsx'
import { Refusal } from './refusal.ts'
import { endSession, isId, newId, SESSION_LIFETIME, startSession } from './sessions.ts'
import { signIn } from './sign-in.ts'
import type { Desk, SiteContext, SiteEnv } from './site-context.ts'
import type { HotelDatabase } from './sql.ts'
import { NotForThisAgent } from './visitor.ts'

/** What signing in and out needs. */
export type SignInRoutes = {
  readonly desk: Desk
  readonly database: HotelDatabase
  readonly now: () => number
  readonly secure: boolean
  /** Names of the site's own cookies: `session` says who is signed in, `visit` ties the form to the browser that loaded it. */
  readonly cookies: { readonly session: string; readonly visit: string }
}

/** Signing in with email address and password, and out again: for people. */
export function signInRoutes({ desk, database, now, secure, cookies }: SignInRoutes): Hono<SiteEnv> {
  const { tokens } = desk
  const cookie = { httpOnly: true, sameSite: 'Lax', secure, path: '/' } as const
  const app = new Hono<SiteEnv>()

  // An agent has its own ways in. A password typed into its browser would be one that it has seen.
  const refuseAgents = ({ var: { visitor } }: SiteContext): void => {
    if (visitor.kind !== 'person') throw new NotForThisAgent(visitor, 'in person')
  }

  app.get('/login', (context) => {
    refuseAgents(context)
    const known = getCookie(context, cookies.visit)
    const visitId = isId(known) ? known : newId()
    if (visitId !== known) setCookie(context, cookies.visit, visitId, cookie)
    const nexts = context.req.queries('next') ?? []
    // Two `next` are nobody's honest link.
    const next = localPath(nexts.length === 1 ? nexts[0] : null, '/bookings')
    return desk.page(context, <LoginPage visit={desk.visitOf(context)} token={tokens.make(visitId)} next={next} />)
  })

  app.post('/login', async (context) => {
    refuseAgents(context)
    const fields = await readForm(context.req.raw)
    const visitId = getCookie(context, cookies.visit)
    tokens.check(visitId, fields.get('form_token'))
    const email = (fields.get('email') ?? '').slice(0, 254)
    const password = (fields.get('password') ?? '').slice(0, 1024)
    const next = localPath(fields.get('next'), '/bookings')
    const again = (error: string, status: 400 | 429) => {
      const token = tokens.make(visitId ?? '')
      const visit = desk.visitOf(context)
      return desk.page(
        context,
        <LoginPage visit={visit} token={token} next={next} email={email} error={error} />,
        status,
      )
    }
    try {
      const guestId = await signIn(database, { email, password }, now())
      if (guestId === null) return again('That email address and password do not go together. Try again.', 400)
      endSession(database, getCookie(context, cookies.session))
      const session = startSession(database, guestId, now())
      setCookie(context, cookies.session, session, { ...cookie, maxAge: SESSION_LIFETIME / 1000 })
      deleteCookie(context, cookies.visit, cookie)
      return context.redirect(next, 303)
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'too_many') throw error
      context.header('retry-after', String(error.retryAfter))
      return again(error.message, 429)
    }
  })

  app.post('/logout', async (context) => {
    refuseAgents(context)
    if (context.var.visitor.guest !== null) {
      await desk.guestForm(context, 'in person', '/')
      endSession(database, getCookie(context, cookies.session))
    }
    deleteCookie(context, cookies.session, cookie)
    return context.redirect('/', 303)
  })

  return app
}

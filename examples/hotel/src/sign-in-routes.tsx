import { Hono } from 'hono'
import { deleteCookie, getCookie } from 'hono/cookie'
import { addDoor, cookieFor, type DoorParts, refuseAgents } from './door.tsx'
import { LoginPage } from './pages/login.tsx'
import { endSession } from './sessions.ts'
import type { SiteEnv } from './site-context.ts'

/** Signing in with email address and password, and out again: for people. */
export function signInRoutes(parts: DoorParts): Hono<SiteEnv> {
  const { desk, database, secure, cookies } = parts
  const app = new Hono<SiteEnv>()

  addDoor(app, parts, {
    kind: 'guests',
    path: '/login',
    leadsTo: '/bookings',
    draw: (context, login) => <LoginPage visit={desk.visitOf(context)} {...login} />,
  })

  app.post('/logout', async (context) => {
    refuseAgents(context)
    if (context.var.visitor.guest !== null) {
      await desk.guestForm(context, 'in person', '/')
      endSession(database, 'guests', getCookie(context, cookies.session))
    }
    deleteCookie(context, cookies.session, cookieFor(secure))
    return context.redirect('/', 303)
  })

  return app
}

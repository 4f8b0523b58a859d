import { Hono } from 'hono'
import { deleteCookie, getCookie } from 'hono/cookie'
import { addDoor, cookieFor, type DoorParts, formOwner, refuseAgents } from './door.tsx'
import { readForm } from './forms.ts'
import { StaffLoginPage, StaffPage } from './pages/staff.tsx'
import { endSession, personOfSession, type StaffMember } from './sessions.ts'
import type { SiteContext, SiteEnv } from './site-context.ts'

/** What the staff's pages need. */
export type StaffRoutes = DoorParts & {
  /** Told once a member of staff has signed out. */
  readonly onSignOut: (staff: StaffMember) => Promise<void>
}

/** Signing in and out for those who work here. Nothing of it is the guests': not the users, not the cookies, not the forms. */
export function staffRoutes(parts: StaffRoutes): Hono<SiteEnv> {
  const { desk, database, now, secure, cookies, onSignOut } = parts
  const { tokens } = desk
  const app = new Hono<SiteEnv>()

  const sessionOf = (context: SiteContext) => getCookie(context, cookies.session)
  const staffOf = (context: SiteContext) => personOfSession(database, 'staff', sessionOf(context), now())

  app.use('/staff/*', async (context, next) => {
    refuseAgents(context)
    await next()
  })

  app.get('/staff', (context) => context.redirect('/staff/desk', 303))

  app.get('/staff/desk', async (context) => {
    const staff = staffOf(context)
    if (!staff) return context.redirect(`/staff/login?next=${encodeURIComponent('/staff/desk')}`, 303)
    const token = tokens.make(formOwner('staff', sessionOf(context)) ?? '')
    return desk.page(context, <StaffPage visit={desk.visitOf(context)} staff={staff} token={token} />)
  })

  addDoor(app, parts, {
    kind: 'staff',
    path: '/staff/login',
    leadsTo: '/poppy/inbox',
    draw: (context, login) => <StaffLoginPage visit={desk.visitOf(context)} staff={staffOf(context)} {...login} />,
  })

  app.post('/staff/logout', async (context) => {
    const session = sessionOf(context)
    const staff = staffOf(context)
    if (staff) {
      const fields = await readForm(context.req.raw)
      tokens.check(formOwner('staff', session), fields.get('form_token'))
      endSession(database, 'staff', session)
      await onSignOut(staff)
    }
    deleteCookie(context, cookies.session, cookieFor(secure))
    return context.redirect('/staff/login', 303)
  })

  return app
}

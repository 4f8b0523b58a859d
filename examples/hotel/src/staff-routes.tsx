import { Hono } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { readForm } from './forms.ts'
import { localPath } from './next-path.ts'
import { StaffLoginPage, StaffPage } from './pages/staff.tsx'
import { Refusal } from './refusal.ts'
import { isId, newId } from './sessions.ts'
import { signIn } from './sign-in.ts'
import type { Desk, SiteContext, SiteEnv } from './site-context.ts'
import type { HotelDatabase } from './sql.ts'
import {
  endStaffSession,
  STAFF_SESSION_LIFETIME,
  type StaffMember,
  staffOfSession,
  startStaffSession,
} from './staff.ts'
import { NotForThisAgent } from './visitor.ts'

/** What the staff's pages need. */
export type StaffRoutes = {
  readonly desk: Desk
  readonly database: HotelDatabase
  readonly now: () => number
  readonly secure: boolean
  /** `session` says who of the staff is signed in; `visit` ties the form to the browser that loaded it. */
  readonly cookies: { readonly session: string; readonly visit: string }
  /** Told once a member of staff has signed out. */
  readonly onSignOut: (staff: StaffMember) => Promise<void>
}

const inbox = '/poppy/inbox'

/** Signing in and out for those who work here. Nothing of it is the guests': not the users, not the cookies, not the forms. */
export function staffRoutes({ desk, database, now, secure, cookies, onSignOut }: StaffRoutes): Hono<SiteEnv> {
  const { tokens } = desk
  const cookie = { httpOnly: true, sameSite: 'Lax', secure, path: '/' } as const
  const app = new Hono<SiteEnv>()

  // A token of the guests' form opens nothing here, nor the other way round.
  const ownerOf = (id: string | undefined) => (isId(id) ? `staff ${id}` : undefined)
  const staffOf = (context: SiteContext) => staffOfSession(database, getCookie(context, cookies.session), now())
  const draw = (context: SiteContext, visitId: string, next: string) => {
    const visit = desk.visitOf(context)
    return { visit, token: tokens.make(`staff ${visitId}`), next, staff: staffOf(context) }
  }

  app.use('/staff/*', async ({ var: { visitor } }, next) => {
    // Whatever an agent's browser holds, it is nobody of the staff.
    if (visitor.kind !== 'person') throw new NotForThisAgent(visitor, 'in person')
    await next()
  })

  app.get('/staff', (context) => context.redirect('/staff/desk', 303))

  app.get('/staff/desk', async (context) => {
    const staff = staffOf(context)
    if (!staff) return context.redirect(`/staff/login?next=${encodeURIComponent('/staff/desk')}`, 303)
    const token = tokens.make(ownerOf(getCookie(context, cookies.session)) ?? '')
    return desk.page(context, <StaffPage visit={desk.visitOf(context)} staff={staff} token={token} />)
  })

  app.get('/staff/login', (context) => {
    const known = getCookie(context, cookies.visit)
    const visitId = isId(known) ? known : newId()
    if (visitId !== known) setCookie(context, cookies.visit, visitId, cookie)
    const nexts = context.req.queries('next') ?? []
    const next = localPath(nexts.length === 1 ? nexts[0] : null, inbox)
    return desk.page(context, <StaffLoginPage {...draw(context, visitId, next)} />)
  })

  app.post('/staff/login', async (context) => {
    const fields = await readForm(context.req.raw)
    const visitId = getCookie(context, cookies.visit) ?? ''
    tokens.check(ownerOf(visitId), fields.get('form_token'))
    const email = (fields.get('email') ?? '').slice(0, 254)
    const password = (fields.get('password') ?? '').slice(0, 1024)
    const next = localPath(fields.get('next'), inbox)
    const again = (error: string, status: 400 | 429) =>
      desk.page(context, <StaffLoginPage {...draw(context, visitId, next)} email={email} error={error} />, status)
    try {
      const staffId = await signIn(database, { email, password }, now(), 'staff')
      if (staffId === null) return again('That email address and password do not go together. Try again.', 400)
      endStaffSession(database, getCookie(context, cookies.session))
      const session = startStaffSession(database, staffId, now())
      setCookie(context, cookies.session, session, { ...cookie, maxAge: STAFF_SESSION_LIFETIME / 1000 })
      deleteCookie(context, cookies.visit, cookie)
      return context.redirect(next, 303)
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'too_many') throw error
      context.header('retry-after', String(error.retryAfter))
      return again(error.message, 429)
    }
  })

  app.post('/staff/logout', async (context) => {
    const session = getCookie(context, cookies.session)
    const staff = staffOf(context)
    if (staff) {
      const fields = await readForm(context.req.raw)
      tokens.check(ownerOf(session), fields.get('form_token'))
      endStaffSession(database, session)
      await onSignOut(staff)
    }
    deleteCookie(context, cookies.session, cookie)
    return context.redirect('/staff/login', 303)
  })

  return app
}

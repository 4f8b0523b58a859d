import type { Hono } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import type { Child } from 'hono/jsx'
import { readForm } from './forms.ts'
import { localPath } from './next-path.ts'
import { Refusal } from './refusal.ts'
import { endSession, isId, type Kind, newId, SESSION_LIFETIME, startSession } from './sessions.ts'
import { signIn } from './sign-in.ts'
import type { Desk, SiteContext, SiteEnv } from './site-context.ts'
import type { HotelDatabase } from './sql.ts'
import { NotForThisAgent } from './visitor.ts'

/** What the pages behind a door need, and the door itself. */
export type DoorParts = {
  readonly desk: Desk
  readonly database: HotelDatabase
  readonly now: () => number
  readonly secure: boolean
  /** Names of this door's own cookies: `session` says who is signed in, `visit` ties the form to the browser that loaded it. */
  readonly cookies: { readonly session: string; readonly visit: string }
}

/** What the page of a door shows. */
export type Login = {
  readonly token: string
  readonly next: string
  readonly email?: string
  readonly error?: string
}

/** A page on which people sign in with email address and password. The guests have one, and those who work here another. */
export type Door = {
  readonly kind: Kind
  readonly path: '/login' | '/staff/login'
  /** Where it leads whoever came from nowhere in particular. */
  readonly leadsTo: string
  readonly draw: (context: SiteContext, login: Login) => Child
}

/** Whose a form is, by the cookie that it goes with. A token of one door's form opens nothing at the other. */
export function formOwner(kind: Kind, id: string | undefined): string | undefined {
  if (!isId(id)) return undefined
  return kind === 'staff' ? `staff ${id}` : id
}

/** The site's own cookies, as they are set and taken away. */
export function cookieFor(secure: boolean) {
  return { httpOnly: true, sameSite: 'Lax', secure, path: '/' } as const
}

/**
 * Keeps agents out, whatever their browser holds: they have ways in of their own, and a password typed into an agent's browser
 * would be one that it has seen.
 * @throws NotForThisAgent
 */
export function refuseAgents({ var: { visitor } }: SiteContext): void {
  if (visitor.kind !== 'person') throw new NotForThisAgent(visitor, 'in person')
}

/** Puts a door into the site: its page, and what becomes of its form. */
export function addDoor(app: Hono<SiteEnv>, { desk, database, now, secure, cookies }: DoorParts, door: Door): void {
  const { kind, path, leadsTo, draw } = door
  const { tokens } = desk
  const cookie = cookieFor(secure)
  const tokenFor = (visitId: string) => tokens.make(formOwner(kind, visitId) ?? '')

  app.get(path, (context) => {
    refuseAgents(context)
    const known = getCookie(context, cookies.visit)
    const visitId = isId(known) ? known : newId()
    if (visitId !== known) setCookie(context, cookies.visit, visitId, cookie)
    const nexts = context.req.queries('next') ?? []
    // Two `next` are nobody's honest link.
    const next = localPath(nexts.length === 1 ? nexts[0] : null, leadsTo)
    return desk.page(context, draw(context, { token: tokenFor(visitId), next }))
  })

  app.post(path, async (context) => {
    refuseAgents(context)
    const fields = await readForm(context.req.raw)
    const visitId = getCookie(context, cookies.visit) ?? ''
    tokens.check(formOwner(kind, visitId), fields.get('form_token'))
    const email = (fields.get('email') ?? '').slice(0, 254)
    const password = (fields.get('password') ?? '').slice(0, 1024)
    const next = localPath(fields.get('next'), leadsTo)
    const again = (error: string, status: 400 | 429) =>
      desk.page(context, draw(context, { token: tokenFor(visitId), next, email, error }), status)
    try {
      const personId = await signIn(database, kind, { email, password }, now())
      if (personId === null) return again('That email address and password do not go together. Try again.', 400)
      endSession(database, kind, getCookie(context, cookies.session))
      const session = startSession(database, kind, personId, now())
      setCookie(context, cookies.session, session, { ...cookie, maxAge: SESSION_LIFETIME[kind] / 1000 })
      deleteCookie(context, cookies.visit, cookie)
      return context.redirect(next, 303)
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'too_many') throw error
      context.header('retry-after', String(error.retryAfter))
      return again(error.message, 429)
    }
  })
}

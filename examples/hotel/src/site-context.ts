import type { Context } from 'hono'
import type { Child } from 'hono/jsx'
import { formatFor } from './format.ts'
import { type FormTokens, readForm } from './forms.ts'
import type { Visit } from './pages/layout.tsx'
import type { Guest } from './sessions.ts'
import { guestFor, type Need, type Visitor } from './visitor.ts'

/** What every route finds: who is looking. */
export type SiteEnv = { readonly Variables: { readonly visitor: Visitor } }

/** A request on its way through the site. */
export type SiteContext = Context<SiteEnv>

/** What a page may answer with. */
export type PageStatus = 200 | 400 | 403 | 404 | 409 | 429 | 500 | 503

/** Nobody in particular: also where who it is could not be found out. */
const stranger: Visitor = { kind: 'person', guest: null, formOwner: undefined }

/** Draws pages and reads forms, for routes. */
export type Desk = {
  readonly tokens: FormTokens
  readonly visitOf: (context: SiteContext) => Visit
  readonly page: (context: SiteContext, element: Child, status?: PageStatus) => Promise<Response>
  /**
   * The guest who sent a form, and its fields.
   * @throws NotSignedIn, NotForThisAgent; Refusal `forbidden` for a form that isn't from this visitor's own page
   */
  readonly guestForm: (
    context: SiteContext,
    need: Need,
    next: string,
  ) => Promise<{ readonly guest: Guest; readonly fields: ReadonlyMap<string, string> }>
}

/** Makes the desk. */
export function createDesk(options: {
  readonly tokens: FormTokens
  readonly showsOutbox: (url: string) => boolean
}): Desk {
  const { tokens } = options
  // Not there where an error came before anybody looked: then the page is for nobody.
  const visitorOf = (context: SiteContext): Visitor => (context.get('visitor') as Visitor | undefined) ?? stranger
  return {
    tokens,
    visitOf(context) {
      const visitor = visitorOf(context)
      return {
        visitor,
        guest: visitor.guest,
        formToken: visitor.formOwner === undefined ? '' : tokens.make(visitor.formOwner),
        format: formatFor(context.req.header('accept-language') ?? null),
        path: context.req.path,
        hasOutbox: visitor.kind === 'person' && options.showsOutbox(context.req.url),
      }
    },
    async page(context, element, status = 200) {
      return context.html(`<!doctype html>${await element}`, status)
    },
    async guestForm(context, need, next) {
      const visitor = visitorOf(context)
      const guest = guestFor(visitor, need, next)
      const fields = await readForm(context.req.raw)
      tokens.check(visitor.formOwner, fields.get('form_token'))
      return { guest, fields }
    },
  }
}

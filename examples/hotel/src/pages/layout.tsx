import type { Child, PropsWithChildren } from 'hono/jsx'
import type { Format } from '../format.ts'
import { inWords } from '../scopes.ts'
import type { Guest } from '../sessions.ts'
import { may, type Visitor } from '../visitor.ts'
import { Poppy } from './illustrations.tsx'

/** What every page knows of who is looking at it. */
export type Visit = {
  readonly visitor: Visitor
  /** The guest whose account the pages are about: who is signed in, or whom the agent acts for. */
  readonly guest: Guest | null
  /** The hidden token for this visitor's forms; empty where there can be none. */
  readonly formToken: string
  readonly format: Format
  readonly path: string
  /** Whether the example's outbox can be looked at from here. */
  readonly hasOutbox: boolean
}

type LayoutProps = PropsWithChildren<{ readonly visit: Visit; readonly title: string; readonly hero?: Child }>

/** The frame of every page: skip link, header, footer. */
export function Layout({ visit, title, hero, children }: LayoutProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{title}</title>
        <link rel="stylesheet" href="/hotel.css" />
        <link rel="stylesheet" href="/pages.css" />
        <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to the content
        </a>
        <header class="top">
          <a class="mark" href="/">
            <Poppy />
            Hotel Miramar
          </a>
          <nav aria-label="Main">
            <NavLink visit={visit} href="/#rooms" label="Rooms" />
            {may(visit.visitor, 'poppy:read') && <NavLink visit={visit} href="/bookings" label="Bookings" />}
            {may(visit.visitor, 'in person') && <NavLink visit={visit} href="/account" label="Account" />}
            {visit.visitor.kind === 'person' && !visit.guest && <NavLink visit={visit} href="/login" label="Sign in" />}
          </nav>
        </header>
        <AgentNote visitor={visit.visitor} />
        {hero}
        <main id="content">{children}</main>
        <footer class="foot">
          <p>
            Hotel Miramar, Carrer del Moll 7, Cala Gavina
            <br />
            <a href="mailto:rooms@miramar.example">rooms@miramar.example</a>
          </p>
          <p class="quiet">
            The hotel is made up, the site is real: it is the example of Poppyseed, so that a personal agent has
            somewhere to go.
            {visit.hasOutbox && (
              <>
                {' '}
                The mails that it would send lie in its <a href="/outbox">outbox</a>.
              </>
            )}
          </p>
        </footer>
      </body>
    </html>
  )
}

/** Says on each page that an agent is looking, and for whom: whoever looks over its shoulder knows what they see. */
function AgentNote({ visitor }: { readonly visitor: Visitor }) {
  if (visitor.kind === 'person') return null
  return (
    <aside class="agent-note" aria-label="Who is looking">
      {visitor.kind === 'ended' ? (
        <p>Seen by an agent whose access here has ended.</p>
      ) : (
        <p>
          Seen by an agent at <strong>{visitor.host}</strong>
          {visitor.guest ? (
            <>
              {' '}
              for <strong>{visitor.guest.name}</strong>. {visitor.may.length > 0 && `It may ${inWords(visitor.may)}.`}
            </>
          ) : (
            ' that is not signed in.'
          )}
        </p>
      )}
    </aside>
  )
}

function NavLink({ visit, href, label }: { readonly visit: Visit; readonly href: string; readonly label: string }) {
  return (
    <a href={href} aria-current={visit.path === href ? 'page' : undefined}>
      {label}
    </a>
  )
}

/** The hidden field that shows a form came from our page. */
export function FormToken({ token }: { readonly token: string }) {
  return <input type="hidden" name="form_token" value={token} />
}

import type { Child, PropsWithChildren } from 'hono/jsx'
import type { Format } from '../format.ts'
import type { Guest } from '../sessions.ts'
import { Poppy } from './illustrations.tsx'

/** What every page knows of the person looking at it. */
export type Visit = {
  readonly guest: Guest | null
  /** The hidden token for forms of a signed-in guest; empty otherwise. */
  readonly formToken: string
  readonly format: Format
  readonly path: string
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
            {visit.guest ? (
              <>
                <NavLink visit={visit} href="/bookings" label="Bookings" />
                <NavLink visit={visit} href="/account" label="Account" />
              </>
            ) : (
              <NavLink visit={visit} href="/login" label="Sign in" />
            )}
          </nav>
        </header>
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
          </p>
        </footer>
      </body>
    </html>
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

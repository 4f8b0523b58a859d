import { raw } from 'hono/html'
import type { Child } from 'hono/jsx'
import { sha256Standard } from '../crypto/hash.ts'
import type { Wording } from '../words/wording.ts'
import { isRightToLeft } from './direction.ts'
import { stylesheet } from './theme.ts'

/** The frame of every page that a person sees: no script, nothing from anywhere else, never in a frame. */

const styleHash = sha256Standard(stylesheet)

/** What every page has. */
export interface PageOptions {
  readonly title: string
  readonly status?: number
  /** Origins to which a form on this page may end up, beside its own (a redirect after POST counts, CSP form-action). */
  readonly formTargets?: readonly string[]
  /** Whether pictures of our own origin are on it. */
  readonly hasPictures?: boolean
}

/** Renders a page, in the language of its words, with the headers that keep it what it is. */
export function page({ language }: Pick<Wording, 'language'>, options: PageOptions, content: Child): Response {
  const document = (
    <html lang={language} dir={isRightToLeft(language) ? 'rtl' : undefined}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>{options.title}</title>
        <style>{raw(stylesheet)}</style>
      </head>
      <body>
        <main>{content}</main>
      </body>
    </html>
  )
  const formAction = ["'self'", ...(options.formTargets ?? [])].join(' ')
  return new Response(`<!doctype html>${document}`, {
    status: options.status ?? 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-language': language,
      vary: 'Accept-Language',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}';${options.hasPictures ? " img-src 'self';" : ''} form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      // same-origin rather than no-referrer: the latter makes browsers send `Origin: null` with our own forms
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
    },
  })
}

/** A page that says what happened, whether anything was changed, and what to do next. */
export function messagePage(
  wording: Pick<Wording, 'language'>,
  message: { readonly title: string; readonly text: string; readonly status: number },
): Response {
  return page(
    wording,
    { title: message.title, status: message.status },
    <>
      <h1>{message.title}</h1>
      <p class="note">{message.text}</p>
    </>,
  )
}

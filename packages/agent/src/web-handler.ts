import { AgentError } from './errors.ts'
import type { Identity } from './identity/identity.ts'
import { keySetMaxAge } from './identity/key-ring.ts'
import { escapeHtml, renderPage } from './pages/page.ts'
import type { SignInResult } from './sessions/sign-in-end.ts'

/** What a Personal Agent serves (4.1): its metadata document, its key set, and the callback of Direct Sign-In (4.5). */

/** Answers a request, on any server that speaks Web `Request` and `Response`. */
export type WebHandler = (request: Request) => Promise<Response>

/**
 * Makes the handler. Requests are told apart by path alone, so it works behind a proxy.
 * @param complete finishes the sign-in of a callback URL
 */
export function createWebHandler(
  identity: Identity,
  complete: (callbackUrl: string) => Promise<SignInResult>,
): WebHandler {
  const paths = {
    document: new URL(identity.clientId).pathname,
    keySet: new URL(identity.jwksUri).pathname,
    callback: new URL(identity.redirectUri).pathname,
  }
  return async (request) => {
    const { pathname, search } = new URL(request.url)
    const known = Object.values(paths).includes(pathname)
    if (known && request.method !== 'GET' && request.method !== 'HEAD') {
      return new Response('Only GET is allowed here.\n', { status: 405, headers: { allow: 'GET, HEAD' } })
    }
    switch (pathname) {
      case paths.document:
        return json(identity.metadata)
      case paths.keySet:
        return json(await identity.keySet())
      case paths.callback:
        return callback(() => complete(callbackUrl(identity.redirectUri, search)), request.method)
      default:
        return new Response('There is nothing here.\n', { status: 404, headers: { 'content-type': 'text/plain' } })
    }
  }
}

/** The address as the Company sent the browser to it, whatever a proxy made of the host. */
function callbackUrl(redirectUri: string, search: string): string {
  const url = new URL(redirectUri)
  url.search = search
  return url.href
}

function json(value: unknown): Response {
  return new Response(JSON.stringify(value), {
    headers: {
      'content-type': 'application/json',
      'cache-control': `public, max-age=${keySetMaxAge}`,
      'access-control-allow-origin': '*',
      'x-content-type-options': 'nosniff',
    },
  })
}

async function callback(complete: () => Promise<SignInResult>, method: string): Promise<Response> {
  // A link preview that asks for the head must not spend the code.
  if (method === 'HEAD') return page(200, 'Sign-in', [])
  try {
    const { missing } = await complete()
    return page(200, 'You are signed in', [
      missing.length > 0 ? 'Your agent got a part of the access that it asked for.' : '',
      'You can close this window.',
    ])
  } catch (error) {
    // The boundary towards the browser: what went wrong in words, and nothing of an error that we don't know.
    const known = error instanceof AgentError ? error : undefined
    const declined = known?.code === 'sign_in_declined'
    return page(known ? 400 : 500, declined ? 'You declined' : 'The sign-in did not work', [
      known?.message ?? 'Something went wrong on the side of your agent.',
      declined
        ? 'You can close this window.'
        : 'Nothing was changed. You can close this window and try again from your agent.',
    ])
  }
}

function page(status: number, title: string, lines: readonly string[]): Response {
  const paragraphs = lines.filter(Boolean).map((line) => `<p>${escapeHtml(line)}</p>`)
  const content = [`<h1>${escapeHtml(title)}</h1>`, ...paragraphs].join('\n')
  const { html, headers } = renderPage({ title, content, formAction: "'none'" })
  return new Response(html, { status, headers })
}

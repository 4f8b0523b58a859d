import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { base64url } from '@poppyseed/protocol'
import { escapeHtml, renderPage } from '../pages/page.ts'

/**
 * A page on this machine that is given out once, to whoever knows its address, and is gone after that or after its time.
 * It holds a form that posts to the Company (5): top-level, in the body, from the browser that opened it.
 */

/** What the form sends. */
export interface OneShotForm {
  /** Where it goes: the Company's endpoint. */
  readonly action: string
  readonly assertion: string
}

/** What the page is made of. */
export interface OneShotOptions {
  /** The Company's name, cleaned. */
  readonly company: string
  /** Made when the page is asked for, so the assertion is as young as can be. */
  readonly form: () => Promise<OneShotForm>
  /** Unix time in milliseconds. */
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
  /** How long the page waits for its browser, in milliseconds. */
  readonly lifetime: number
}

/** A page that waits for its one browser. */
export interface OneShotPage {
  readonly url: string
  /** Unix time in milliseconds. */
  readonly expiresAt: number
  /** True once the page was given out; false where it went without. */
  readonly opened: Promise<boolean>
  readonly close: () => void
}

/** Opens the page on loopback, on a port of the system's choice. */
export async function openOneShotPage(options: OneShotOptions): Promise<OneShotPage> {
  const { now, random, lifetime } = options
  const path = `/${base64url(random(32))}`
  const expiresAt = now() + lifetime
  let isSpent = false
  let settle: (opened: boolean) => void = () => {}
  const opened = new Promise<boolean>((resolve) => {
    settle = resolve
  })
  let port = 0
  const server = createServer((request, response) => {
    const isTheirs = !isSpent && now() < expiresAt && isForThePage(request, path, port)
    if (!isTheirs) return nothingHere(response)
    // Before anything is awaited: of two that ask at once, one gets it.
    isSpent = true
    void give(options, response).then((isGiven) => end(isGiven))
  })
  const end = (isGiven: boolean) => {
    isSpent = true
    clearTimeout(timer)
    server.close()
    server.closeIdleConnections()
    settle(isGiven)
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const timer = setTimeout(() => end(false), lifetime)
  port = (server.address() as AddressInfo).port
  return { url: `http://127.0.0.1:${port}${path}`, expiresAt, opened, close: () => end(false) }
}

/** Whether a browser navigates to the page. A name that was made to lead here, a frame and a script get nothing. */
function isForThePage({ method, url, headers }: IncomingMessage, path: string, port: number): boolean {
  const dest = headers['sec-fetch-dest']
  return (
    method === 'GET' &&
    url === path &&
    headers.host === `127.0.0.1:${port}` &&
    (dest === undefined || dest === 'document')
  )
}

async function give(options: OneShotOptions, response: ServerResponse): Promise<boolean> {
  try {
    const form = await options.form()
    const { html, headers } = pageOf(options.company, form, base64url(options.random(16)))
    response.writeHead(200, { ...headers, connection: 'close' }).end(html)
    return true
  } catch {
    // The boundary towards the browser: it learns nothing of an error.
    const { html, headers } = renderPage({
      title: 'This did not work',
      content: '<h1>This did not work</h1>\n<p>Your agent could not make this page. Nothing was changed.</p>',
      formAction: "'none'",
    })
    response.writeHead(500, { ...headers, connection: 'close' }).end(html)
    return false
  }
}

function nothingHere(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain', connection: 'close' }).end('There is nothing here.\n')
}

/**
 * The form sends itself where the browser says that a program drives it. Where it doesn't say so, this may be the User's
 * own, so somebody has to press the button: their browser would go on in the agent's Session (5). Closing is what most
 * who see this should do, so the button is no bright one.
 */
function pageOf(company: string, { action, assertion }: OneShotForm, nonce: string): ReturnType<typeof renderPage> {
  return renderPage({
    title: 'For your agent’s browser',
    content: `<p class="company">${escapeHtml(company)}</p>
<h1>For a browser that your agent controls</h1>
<p>This browser is about to join your agent’s visit at ${escapeHtml(company)}. This page works once, within half a minute.</p>
<p class="alert"><strong>If this is your own browser, close this window.</strong> What you do on the site afterwards would count as done by your agent. So far nothing has happened.</p>
<form method="post" action="${escapeHtml(action)}" autocomplete="off">
<input type="hidden" name="assertion" value="${escapeHtml(assertion)}">
<button>Join: this is the agent’s browser</button>
</form>`,
    script: { text: 'if (navigator.webdriver) document.forms[0].submit()', nonce },
    // No form-action: the browser would hold what the Company redirects to afterwards against it.
  })
}

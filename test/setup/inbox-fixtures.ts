import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fixtures } from '../../packages/company/inbox/fixtures.ts'
import { loadInboxApp } from '../../packages/company/src/inbox/app.ts'
import type { InboxView, InboxWordTexts } from '../../packages/company/src/inbox/view.ts'
import { inboxDe } from '../../packages/company/src/words/inbox-de.ts'
import { inboxEn } from '../../packages/company/src/words/inbox-en.ts'
import { inboxWordsOf } from '../../packages/company/src/words/inbox-words.ts'

/** The inbox as it is shipped, on made-up views, under the rules that its pages have. */

const words: Readonly<Record<'en' | 'de' | 'rtl', InboxWordTexts>> = {
  en: inboxWordsOf(inboxEn),
  de: inboxWordsOf(inboxDe),
  // English words, written from the right: where things stand is what is looked at.
  rtl: inboxWordsOf(inboxEn),
}

/** Made-up views in each language. */
export const inboxFixtures: Readonly<Record<'en' | 'de' | 'rtl', Readonly<Record<string, InboxView>>>> = {
  en: fixtures({ language: 'en', locale: 'en-GB', words: words.en }),
  de: fixtures({ language: 'de', locale: 'de-DE', words: words.de }),
  rtl: fixtures({ language: 'ar', locale: 'ar', isRightToLeft: true, words: words.rtl }),
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/** What a page of the inbox is, around what the application draws. */
export function inboxPage(
  view: InboxView,
  texts: InboxWordTexts,
  app: Awaited<ReturnType<typeof loadInboxApp>>,
): string {
  const [state, words] = [view, texts].map((value) => JSON.stringify(value).replaceAll('<', '\\u003c'))
  return `<!doctype html><html lang="${view.language}"${view.isRightToLeft ? ' dir="rtl"' : ''}><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Inbox</title><link rel="stylesheet" href="/poppy/inbox/assets/${app.styles.name}"><script type="module" src="/poppy/inbox/assets/${app.script.name}"></script></head><body><div id="inbox">${app.render(view, texts)}</div><script type="application/json" id="inbox-view">${state}</script><script type="application/json" id="inbox-words">${words}</script></body></html>`
}

/** Serves each view at `/{language}/{name}`, with the stylesheet and the script of the application. */
export async function serveInboxFixtures(): Promise<{ readonly origin: string; readonly close: () => Promise<void> }> {
  const app = await loadInboxApp()
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const asset = [app.script, app.styles].find(({ name }) => pathname === `/poppy/inbox/assets/${name}`)
    if (asset !== undefined) return void response.writeHead(200, { 'content-type': asset.type }).end(asset.text)
    // Nothing ever changes here, and there is no picture for the tab.
    if (pathname === '/poppy/inbox/live')
      return void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    if (pathname === '/favicon.ico') return void response.writeHead(204).end()
    const [, language = '', name = ''] = pathname.split('/')
    const view = (inboxFixtures as Readonly<Record<string, Readonly<Record<string, InboxView>>>>)[language]?.[name]
    const texts = (words as Readonly<Record<string, InboxWordTexts>>)[language]
    if (view === undefined || texts === undefined) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy })
    response.end(inboxPage(view, texts, app))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

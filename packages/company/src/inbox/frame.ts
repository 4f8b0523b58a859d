import type { InboxApp } from './app.ts'
import type { InboxView, InboxWordTexts } from './view.ts'

/** The page around the inbox, and the headers that keep it what it is: nothing but our own script, never in a frame. */

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/** What goes with all that the inbox answers. */
export const inboxHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': policy,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // same-origin rather than no-referrer: the latter makes browsers send `Origin: null` with our own forms
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'Accept, Accept-Language',
}

/** The page of a view, as `app` draws it, with the words that its script says all further views in. */
export function inboxPage(view: InboxView, words: InboxWordTexts, status: number, app: InboxApp): Response {
  const { path, language } = view
  const document = [
    '<!doctype html>',
    `<html lang="${escaped(language)}"${view.isRightToLeft ? ' dir="rtl"' : ''}>`,
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="robots" content="noindex">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${escaped(app.title(view, words))}</title>`,
    // Else browsers ask the site for one.
    '<link rel="icon" href="data:,">',
    `<link rel="stylesheet" href="${escaped(`${path}/assets/${app.styles.name}`)}">`,
    `<script type="module" src="${escaped(`${path}/assets/${app.script.name}`)}"></script>`,
    '</head>',
    '<body>',
    `<div id="inbox">${app.render(view, words)}</div>`,
    `<script type="application/json" id="inbox-view">${asScriptText(view)}</script>`,
    `<script type="application/json" id="inbox-words">${asScriptText(words)}</script>`,
    '</body>',
    '</html>',
  ]
  return new Response(document.join('\n'), {
    status,
    headers: { ...inboxHeaders, 'content-type': 'text/html; charset=utf-8', 'content-language': language },
  })
}

/** The same for a script: the view alone. */
export function inboxJson(view: InboxView, status: number): Response {
  return new Response(JSON.stringify(view), {
    status,
    headers: { ...inboxHeaders, 'content-type': 'application/json', 'content-language': view.language },
  })
}

/** JSON that no text in it can end the element of, or make a comment of. */
function asScriptText(value: InboxView | InboxWordTexts): string {
  return JSON.stringify(value)
    .replaceAll('<', '\\u003c')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
}

import { createHash } from 'node:crypto'

/** The frame of the few pages that a Personal Agent shows: no script of its own, nothing from anywhere, never in a frame. */

/** One look, the same as on the Company's pages of this project: system fonts, light and dark, from 320 px up. */
const stylesheet = `
:root{color-scheme:light dark;
--accent:#b3261e;--ground:#fff;--page:#faf8f6;--ink:#1d1b19;--quiet:#5d5751;--line:#e2dcd5;--focus:#1a5fb4;
--font:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
--s1:4px;--s2:8px;--s3:12px;--s4:16px;--s6:24px;--s8:32px;--t1:13px;--t2:15px;--t4:22px;--radius:12px}
@media (prefers-color-scheme:dark){:root{--accent:#ff8a7a;--ground:#1f1c1a;--page:#161412;--ink:#f1ece7;--quiet:#b5aca3;--line:#3a3531;--focus:#8ab4f8}}
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:var(--t2)/1.5 var(--font);min-height:100vh;min-height:100svh;display:grid;place-items:start center;padding:var(--s4)}
main{width:100%;max-width:440px;background:var(--ground);border:1px solid var(--line);border-radius:var(--radius);padding:var(--s6)}
@media (min-width:600px){body{place-items:center}main{padding:var(--s8)}}
h1{font-size:var(--t4);line-height:1.25;letter-spacing:-.01em;margin:0;font-weight:650;overflow-wrap:anywhere}
p{margin:var(--s3) 0 0;overflow-wrap:anywhere}
.company{color:var(--quiet);font-size:var(--t1);margin:0 0 var(--s3)}
.quiet{color:var(--quiet);font-size:var(--t1)}
.alert{border-left:3px solid var(--accent);padding:var(--s2) var(--s3);margin-top:var(--s4);background:color-mix(in srgb,var(--accent) 8%,transparent)}
.alert strong{display:block}
form{display:flex;margin-top:var(--s6)}
button{flex:1;font:600 var(--t2)/1.2 var(--font);min-height:46px;padding:0 var(--s4);border-radius:10px;border:1px solid color-mix(in srgb,var(--quiet) 75%,transparent);background:transparent;color:var(--ink);cursor:pointer}
button:hover{border-color:var(--quiet)}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px}
`

const styleHash = createHash('sha256').update(stylesheet).digest('base64')

/** What a page has. */
export interface PageParts {
  readonly title: string
  /** HTML inside `main`: whatever is not ours in it has been through {@link escapeHtml}. */
  readonly content: string
  /** One script, with the nonce that lets it run. */
  readonly script?: { readonly text: string; readonly nonce: string }
  /** Where forms may end up; left out where a redirect may follow to where nobody knows: browsers hold it against this. */
  readonly formAction?: "'none'"
}

/** A page with the headers that keep it what it is. Pure. */
export function renderPage({ title, content, script, formAction }: PageParts): {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
} {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    ...(script ? [`script-src 'nonce-${script.nonce}'`] : []),
    ...(formAction === undefined ? [] : [`form-action ${formAction}`]),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]
  return {
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${stylesheet}</style>
</head>
<body>
<main>
${content}
</main>
${script ? `<script nonce="${script.nonce}">${script.text}</script>\n` : ''}</body>
</html>
`,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      // The address may hold a code or be the page's one key: it goes to nobody.
      'referrer-policy': 'no-referrer',
      'content-security-policy': policy.join('; '),
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
    },
  }
}

/** Text for HTML, in content and in attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

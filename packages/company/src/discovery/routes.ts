import { sha256 } from '../crypto/hash.ts'

/** Section 3: documents that anybody may read, and keep for a while. */

/** Seconds for which a document may be kept. */
const maxAge = 300

/** Serves one JSON document with an ETag; made once, since it follows from the configuration alone. */
export function serveDocument(document: unknown): (request: Request) => Response {
  const text = JSON.stringify(document, null, 2)
  const etag = `"${sha256(text).slice(0, 22)}"`
  const headers = {
    etag,
    'cache-control': `public, max-age=${maxAge}`,
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'etag',
    'x-content-type-options': 'nosniff',
  }
  return (request) => {
    const known = (request.headers.get('if-none-match') ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''))
    if (known.includes(etag) || known.includes('*')) return new Response(null, { status: 304, headers })
    return new Response(request.method === 'HEAD' ? null : text, {
      headers: { ...headers, 'content-type': 'application/json' },
    })
  }
}

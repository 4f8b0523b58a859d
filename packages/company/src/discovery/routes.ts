import { sha256 } from '../crypto/hash.ts'

/** Section 3: documents that anybody may read, and keep for a while. */

/** Seconds for which a document may be kept. */
const maxAge = 300

/**
 * Serves one JSON document with an ETag; made once, since it follows from the configuration alone.
 * @param vary request headers by which another document may be answered at this path
 */
export function serveDocument(document: unknown, vary?: string): (request: Request) => Response {
  const text = JSON.stringify(document, null, 2)
  const etag = `"${sha256(text).slice(0, 22)}"`
  const headers = {
    etag,
    // Caches that many share differ in what they tell apart, and one that mixed up two domains' documents would make one
    // of them unusable for everybody: where there are several, only the agent's own cache keeps them.
    'cache-control': `${vary === undefined ? 'public' : 'private'}, max-age=${maxAge}`,
    ...(vary === undefined ? {} : { vary }),
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

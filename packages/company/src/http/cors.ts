/**
 * Cross-origin access for agents that run in a browser: endpoints that take tokens, never cookies, so any origin may
 * ask and credentials are never allowed.
 */

const readable = 'WWW-Authenticate, DPoP-Nonce, Retry-After, Mcp-Session-Id'

/** Answers a preflight request. */
export function preflight(allow: string): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': allow,
      'access-control-allow-headers':
        'authorization, dpop, content-type, accept, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id',
      'access-control-max-age': '7200',
    },
  })
}

/** Lets any origin read an answer, errors and nonces included. Sets the headers in place. */
export function allowAnyOrigin(response: Response): Response {
  response.headers.set('access-control-allow-origin', '*')
  response.headers.set('access-control-expose-headers', readable)
  return response
}

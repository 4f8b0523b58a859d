import type { Reply } from '../delivery.ts'
import { reply } from '../delivery.ts'
import { type KeyPair, makeKeyPair, privateJwk, weakRsaJwk } from './keys.ts'
import type { AgentDocument, HostSwitches } from './switches.ts'

/** Documents of made-up Personal Agents (4.1), right or wrong as the switches say. */

/** Where an agent's things are. */
export interface AgentPlaces {
  readonly origin: string
  readonly clientId: string
  readonly jwksUri: string
  readonly logoUri: string
  /** Everything of the agent's begins with it. */
  readonly base: string
}

/** The answer for one document. */
export function answerDocument(
  kind: AgentDocument,
  switches: Readonly<HostSwitches>,
  places: AgentPlaces,
  keys: readonly KeyPair[],
): Reply {
  const { contentType, cacheControl, status } = switches
  const headers = cacheControl === null ? {} : { 'cache-control': cacheControl }
  if (kind === 'logo')
    return { ...logo(switches.logo), status, headers: { ...logo(switches.logo).headers, ...headers } }
  const document = kind === 'metadata' ? metadata(switches, places) : keySet(switches.keys, keys)
  const whole = reply(status, document)
  const bodies: Readonly<Record<HostSwitches['document'], string>> = {
    right: String(whole.body),
    array: `[${whole.body}]`,
    null: 'null',
    text: '"agent"',
    doubled_member: String(whole.body).replace('{', '{"client_id":"https://evil.example/agent.json","keys":[],'),
    deep: `{"x":${'['.repeat(5000)}${']'.repeat(5000)}}`,
    many_members: JSON.stringify({ ...document, x: Array.from({ length: 5000 }, () => 1) }),
  }
  return {
    status,
    headers: { ...headers, ...(contentType === null ? {} : { 'content-type': contentType }) },
    body: bodies[switches.document],
  }
}

function metadata(switches: Readonly<HostSwitches>, places: AgentPlaces): object {
  const { clientId, jwksUri, logoUri, origin, base } = places
  const { hostname, protocol, pathname } = new URL(jwksUri)
  const clientIds = {
    right: clientId,
    other: `${origin}/somebody-else.json`,
    slash: `${clientId}/`,
    upper_case: clientId.replace(
      /^(https?:\/\/)([^/]+)/,
      (_, scheme: string, host: string) => scheme + host.toUpperCase(),
    ),
    missing: undefined,
  }
  const jwksUris = {
    right: jwksUri,
    other_host: `${protocol}//evil.example${pathname}`,
    other_port: `${protocol}//${hostname}:1${pathname}`,
    subdomain: `${protocol}//keys.${hostname}${pathname}`,
    http: `http://${hostname}:1${pathname}`,
    user_part: jwksUri.replace('://', '://evil.example@'),
    private: `https://169.254.169.254${pathname}`,
    missing: undefined,
  }
  const callback = `${base}${switches.callback}`
  const redirectUris = {
    right: [callback],
    other_host: [`${protocol}//evil.example/callback`],
    other_port: [`${protocol}//${hostname}:1/callback`],
    http: [`http://evil.example/callback`],
    one_foreign: [callback, 'https://evil.example/callback'],
    thousand: Array.from({ length: 1000 }, (_, at) => `${callback}/${at}`),
    missing: undefined,
  }
  const logoUris = {
    missing: undefined,
    right: logoUri,
    other_host: 'https://evil.example/logo.png',
    private: 'https://169.254.169.254/logo.png',
    http: 'http://evil.example/logo.png',
    script: 'javascript:alert(1)',
  }
  return {
    client_id: clientIds[switches.clientId],
    client_name: switches.clientName ?? undefined,
    logo_uri: logoUris[switches.logoUri],
    jwks_uri: jwksUris[switches.jwksUri],
    redirect_uris: redirectUris[switches.redirectUris],
    token_endpoint_auth_method: switches.authMethod ?? undefined,
    ...(switches.unknown
      ? {
          grant_types: ['authorization_code', 'refresh_token'],
          extensions: { 'agent.example/mind-reading': { version: '9', depth: [[]] }, broken: 7 },
          constructor: 'x',
          contacts: null,
        }
      : {}),
  }
}

function keySet(how: HostSwitches['keys'], keys: readonly KeyPair[]): object {
  const published = keys.map(({ kid, publicJwk }) => ({ ...publicJwk, kid, alg: 'ES256', use: 'sig' }))
  switch (how) {
    case 'right':
      return { keys: published }
    case 'private':
      return { keys: keys.map((pair) => ({ ...privateJwk(pair), kid: pair.kid })) }
    case 'symmetric':
      return { keys: [...published, { kty: 'oct', k: 'c2VjcmV0LW9mLXRoaXJ0eS10d28tYnl0ZXMtbG9uZy0h', kid: 'secret' }] }
    case 'thousand':
      return { keys: [...published, ...Array.from({ length: 999 }, (_, at) => ({ ...makeOnce(), kid: `key-${at}` }))] }
    case 'none':
      return { keys: [] }
    case 'missing':
      return {}
    case 'weak_rsa':
      return { keys: [{ ...weakRsaJwk(), kid: keys[0]?.kid }] }
    case 'garbage':
      return { keys: ['not a key', 7, { kty: 'XX' }] }
    case 'without_kid':
      return { keys: keys.map(({ publicJwk }) => publicJwk) }
  }
}

let once: Readonly<Record<string, unknown>> | undefined
function makeOnce(): Readonly<Record<string, unknown>> {
  once ??= makeKeyPair().publicJwk
  return once
}

/** One black pixel. */
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==',
  'base64',
)

function logo(how: HostSwitches['logo']): Reply {
  const of = (type: string, body: string | Uint8Array): Reply => ({
    status: 200,
    headers: { 'content-type': type },
    body,
  })
  switch (how) {
    case 'png':
      return of('image/png', pixel)
    case 'svg_with_script':
      return of('image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    case 'page':
      return of('text/html', '<!doctype html><script>alert(1)</script>')
    case 'png_of_a_megabyte':
      return of('image/png', Buffer.concat([pixel, Buffer.alloc(1_048_576)]))
    case 'text_as_png':
      return of('image/png', '<svg onload=alert(1)>')
  }
}

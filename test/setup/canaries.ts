import type { Handler } from './listen.ts'

/** Watches a wire for secrets, and looks for them where none may be. */

export type SecretKind =
  | 'access token'
  | 'Account Token'
  | 'authorization code'
  | 'device code'
  | 'user code'
  | 'code verifier'
  | 'client assertion'
  | 'Session assertion'
  | 'browser assertion'
  | 'proof'
  | 'cookie'
  | 'browser cookie'
  | 'form'
  | 'password'

/** One exchange as it went over the wire. */
export interface Exchange {
  readonly url: string
  readonly status: number
  readonly location: string | null
  readonly headers: string
  readonly body: string
}

export interface Wire {
  /** Each secret that crossed, by what it is. */
  readonly secrets: ReadonlyMap<string, SecretKind>
  readonly exchanges: readonly Exchange[]
  /** Puts the watch before a handler. */
  readonly watch: (handler: Handler) => Handler
  /** Adds a secret that never crosses, such as the Company's own. */
  readonly add: (kind: SecretKind, value: string) => void
}

const ofForm: Readonly<Record<string, SecretKind>> = {
  client_assertion: 'client assertion',
  assertion: 'Session assertion',
  code: 'authorization code',
  device_code: 'device code',
  user_code: 'user code',
  code_verifier: 'code verifier',
  refresh_token: 'Account Token',
  token: 'Account Token',
  request: 'form',
  password: 'password',
}

/** What a secret of a form is called where its name doesn't say it. */
const ofPath: Readonly<Record<string, SecretKind>> = { '/poppy/browser-session': 'browser assertion' }

/** The cookie by which an agent's browser is known (5), among others of the site's own. */
const cookieKind = (name: string): SecretKind => (name === '__Host-poppy' ? 'browser cookie' : 'cookie')

/** What is shorter is no secret: a user code has nine letters. */
const shortest = 9

export function watchWire(): Wire {
  const secrets = new Map<string, SecretKind>()
  const exchanges: Exchange[] = []
  const add = (kind: SecretKind, value: string | null | undefined) => {
    if (value && value.length >= shortest && !secrets.has(value)) secrets.set(value, kind)
  }

  function readRequest({ url, headers }: Request, body: string): void {
    for (const word of (headers.get('authorization') ?? '').split(/[\s,]+/)) add('access token', word)
    add('proof', headers.get('dpop'))
    for (const pair of (headers.get('cookie') ?? '').split('; ')) {
      const [name = '', value] = pair.split('=', 2)
      add(cookieKind(name.trim()), value)
    }
    // Also a wrong one: people mistype theirs.
    for (const [, value] of body.matchAll(/"password":"([^"]+)"/g)) add('password', value)
    if (!headers.get('content-type')?.startsWith('application/x-www-form-urlencoded')) return
    for (const [name, value] of new URLSearchParams(body)) {
      const kind = Object.hasOwn(ofForm, name) ? ofForm[name] : undefined
      if (kind) add((name === 'assertion' ? ofPath[new URL(url).pathname] : undefined) ?? kind, value)
    }
  }

  function readResponse(headers: Headers, body: string): void {
    for (const line of headers.getSetCookie()) {
      const [, name = '', value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      add(cookieKind(name), value)
    }
    const location = headers.get('location')
    if (location !== null && URL.canParse(location)) {
      add('authorization code', new URL(location).searchParams.get('code'))
    }
    for (const [, value] of body.matchAll(/name="request" value="([^"]+)"/g)) add('form', value)
    for (const [, value] of body.matchAll(/"access_token":"([^"]+)"/g)) add('access token', value)
    for (const [, value] of body.matchAll(/"device_code":"([^"]+)"/g)) add('device code', value)
    for (const [, value] of body.matchAll(/"user_code":"([^"]+)"/g)) add('user code', value)
    for (const [, value] of body.matchAll(/"refresh_token":"([^"]+)"/g)) add('Account Token', value)
  }

  return {
    secrets,
    exchanges,
    add,
    watch: (handler) => async (request) => {
      const sent = await request.clone().text()
      readRequest(request, sent)
      const response = await handler(request)
      const body = await response.clone().text()
      readResponse(response.headers, body)
      const location = response.headers.get('location')
      const headers = [...response.headers]
        .filter(([name]) => name !== 'set-cookie' && name !== 'location')
        .map((pair) => pair.join(': '))
      exchanges.push({ url: request.url, status: response.status, location, headers: headers.join('\n'), body })
      return response
    },
  }
}

/**
 * What of the secrets is in `text`, each as kind and the piece that was found: a secret also counts as found when it
 * was cut short, or when only a part of a token between two dots is there.
 */
export function findLeaks(text: string, secrets: ReadonlyMap<string, SecretKind>): string[] {
  return [...secrets].flatMap(([secret, kind]) => {
    const piece = piecesOf(secret).find((one) => text.includes(one))
    return piece === undefined ? [] : [`${kind}: …${piece.slice(0, 6)}…`]
  })
}

function piecesOf(secret: string): readonly string[] {
  const parts = secret.split('.')
  // The first part of a JWS or JWE is a header that anybody may know.
  const telling = parts.length > 1 ? parts.slice(1) : parts
  return telling
    .filter((part) => part.length >= shortest)
    .flatMap((part) => (part.length <= 24 ? [part] : [part.slice(0, 24), part.slice(-20)]))
}

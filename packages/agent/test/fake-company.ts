import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  checkClientAssertion,
  checkProof,
  checkSessionAssertion,
  formatChallenge,
  importPublicKey,
  PoppyError,
  type PublicKey,
} from '@poppyseed/protocol'
import type { JWK } from 'jose'
import { onTestFinished } from 'vitest'
import { fakeMcp } from './fake-mcp.ts'

/**
 * A Company that does as a test says, behind a real HTTP server on loopback. It checks proofs and assertions as a
 * Company must, so what the Personal Agent sends is held to the specification; its switches make it difficult.
 */

export interface Switches {
  /** `on` wants its newest nonce; `always` is never content; `without` asks for one and gives none. */
  nonces: 'off' | 'on' | 'always' | 'without'
  /** What the token endpoint says after a proof; null leaves it out. */
  tokenType: string | null
  /** What a Session Token looks like. */
  tokenShape: (token: string) => string
  /** Gives a new Account Token at each refresh, and takes only the newest. */
  rotates: boolean
  expiresIn: number
  /** Answers 429 so many times at the paths that begin so. */
  limit: { path: string; times: number; retryAfter: string | null } | null
  /** Which `aud` the revocation endpoint takes. */
  revocationAudience: 'token' | 'revocation'
  /** `resource` of the OpenAPI entry: its service takes only tokens that were issued for it. */
  resource: string | null
  /** Changes documents before they are served. */
  poppy: (document: Record<string, unknown>) => unknown
  metadata: (document: Record<string, unknown>) => unknown
  openapi: (document: Record<string, unknown>) => unknown
  headers: Record<string, string>
  /** Where poppy.json redirects to. */
  redirect: string | null
  /** Tells a lack of rights inside MCP instead of by HTTP. */
  toolErrors: boolean
  /** Awaited before a request is looked at: a test holds it up here. */
  hold: ((request: Recorded) => Promise<void>) | null
  /** How far the Company's clock is ahead of the test's, in milliseconds, in its checks and in its `Date`. */
  clockAhead: number
  /** What `Date` says instead; null leaves it out. */
  date: string | null | undefined
  /** What polls for a device code get in turn; then the truth. `drop` breaks the connection off. */
  polls: (PollAnswer | 'drop')[]
  /** Changes what the device authorization endpoint answers. */
  device: (answer: Record<string, unknown>) => unknown
  /** Whatever the API should answer at `/api/echo`, once. */
  answers: { status: number; headers: Record<string, string>; body: string }[]
}

export interface PollAnswer {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Recorded {
  /** When it came, by the test's clock. */
  readonly at: number
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly form: URLSearchParams
  status: number
}

export interface FakeCompany {
  readonly origin: string
  readonly requests: Recorded[]
  readonly switches: Switches
  readonly sessions: Map<string, { userId: string; account: string | null; grant: string | null; ended: boolean }>
  readonly grants: Map<string, { account: string; scopes: string[]; revoked: boolean }>
  /** Nonces count up, so a test can tell them apart. */
  readonly rotateNonce: () => void
  /** What the User does in the browser. @returns where the browser is sent */
  readonly approve: (
    url: string,
    options?: { scopes?: string[]; account?: string; decline?: boolean; iss?: string | null },
  ) => string
  /** What the User does with a user code on another device. */
  readonly decideDevice: (
    userCode: string,
    decision: { scopes?: string[]; account?: string; decline?: boolean },
  ) => void
  /** The newest user code. */
  readonly lastUserCode: () => string
  /** Thumbprints of the keys of all proofs. */
  readonly proofKeys: Set<string>
  /** Clears what was recorded, and gives it. */
  readonly take: () => Recorded[]
  readonly paths: () => string[]
}

interface Token {
  readonly sessionId: string
  readonly resource: string | null
  readonly thumbprint: string | null
  readonly scopes: readonly string[]
  readonly signedIn: boolean
  readonly grant: string | null
  readonly expiresAt: number
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url')
const random = (prefix: string) => `${prefix}${randomBytes(16).toString('base64url')}`

export async function startFakeCompany(options: {
  readonly now: () => number
  /** Reads the agent's key set, as the Company's fetch of it would. */
  readonly keySet: (clientId: string) => Promise<{ keys: readonly JWK[] }>
  readonly domain?: string
}): Promise<FakeCompany> {
  const now = () => options.now() + switches.clockAhead
  const domain = options.domain ?? 'localhost'
  const switches: Switches = {
    nonces: 'off',
    tokenType: 'DPoP',
    tokenShape: (token) => token,
    rotates: false,
    expiresIn: 3600,
    limit: null,
    revocationAudience: 'token',
    resource: null,
    poppy: (document) => document,
    metadata: (document) => document,
    openapi: (document) => document,
    headers: {},
    redirect: null,
    toolErrors: false,
    hold: null,
    clockAhead: 0,
    date: undefined,
    polls: [],
    device: (answer) => answer,
    answers: [],
  }
  const requests: Recorded[] = []
  const sessions: FakeCompany['sessions'] = new Map()
  const grants: FakeCompany['grants'] = new Map()
  const tokens = new Map<string, Token>()
  const codes = new Map<
    string,
    { scopes: string[]; account: string; challenge: string; redirectUri: string; used: boolean }
  >()
  interface Device {
    readonly userCode: string
    readonly scopes: string[]
    readonly expiresAt: number
    decision: 'pending' | 'declined' | { scopes: string[]; account: string }
    used: boolean
  }
  const devices = new Map<string, Device>()
  const seen = new Set<string>()
  const proofKeys = new Set<string>()
  let nonce = 1
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  const origin = `http://${domain}:${(server.address() as AddressInfo).port}`
  const tokenEndpoint = `${origin}/token`
  /** The second one is listed where a test lists it. */
  const mcpServers = [`${origin}/mcp`, `${origin}/mcp/second`]
  const scopesOffered = ['poppy:read', 'poppy:write', 'addresses']

  const once = (id: string) => {
    if (seen.has(id)) throw new PoppyError('invalid_grant', { description: 'Used before.' })
    seen.add(id)
  }
  const findKeys = (clientId: string) => async (jwt: { keyId: string | undefined }) => {
    const { keys } = await options.keySet(clientId)
    const found = await Promise.all(
      keys.filter((key) => key.kid === jwt.keyId).map((key) => importPublicKey(key, 'ES256')),
    )
    return found.filter((key): key is PublicKey => key !== null)
  }

  async function client(form: URLSearchParams, audiences: readonly string[]): Promise<string> {
    const clientId = form.get('client_id') ?? ''
    const checked = await checkClientAssertion(form.get('client_assertion') ?? '', {
      clientId,
      audiences,
      now: now() / 1000,
      skew: 0,
      maxLifetime: 60,
      findKeys: findKeys(clientId),
    })
    once(`client ${checked.id}`)
    return clientId
  }

  async function proof(request: Recorded, token?: string): Promise<string> {
    const checked = await checkProof(request.headers.dpop as string | undefined, {
      method: request.method,
      url: origin + request.path,
      now: now() / 1000,
      window: 60,
      skew: 5,
      importKey: importPublicKey,
      ...(token === undefined ? {} : { tokenHash: sha256(token), boundTo: tokens.get(token)?.thumbprint ?? '' }),
      ...(switches.nonces === 'off'
        ? {}
        : { acceptsNonce: (given: string | undefined) => switches.nonces === 'on' && given === `nonce-${nonce}` }),
    })
    once(`proof ${checked.thumbprint} ${checked.id}`)
    proofKeys.add(checked.thumbprint)
    return checked.thumbprint
  }

  async function token(request: Recorded): Promise<Record<string, unknown>> {
    const { form } = request
    const clientId = await client(form, [tokenEndpoint])
    const grantType = form.get('grant_type')
    const resource = form.get('resource')
    let userId: string | undefined
    if (grantType === 'urn:ietf:params:oauth:grant-type:jwt-bearer') {
      const checked = await checkSessionAssertion(form.get('assertion') ?? '', {
        clientId,
        tokenEndpoint,
        now: now() / 1000,
        skew: 0,
        maxLifetime: 60,
        findKeys: findKeys(clientId),
      })
      once(`session ${checked.id}`)
      userId = checked.userId
    }
    const thumbprint = request.headers.dpop === undefined ? null : await proof(request)
    if (thumbprint === null && !mcpServers.includes(resource ?? '')) throw new PoppyError('invalid_dpop_proof')

    const sessionId = form.get('session_id')
    let session = sessionId === null ? undefined : sessions.get(sessionId)
    if (sessionId !== null && (!session || session.ended || (userId !== undefined && session.userId !== userId))) {
      throw new PoppyError('invalid_session')
    }
    let grantToken: string | null = null
    let given: string | undefined
    if (grantType === 'refresh_token') {
      grantToken = form.get('refresh_token')
      const grant = grants.get(grantToken ?? '')
      if (!grant || grant.revoked || grantToken === null) throw new PoppyError('invalid_grant')
      if (session?.account != null && session.account !== grant.account) throw new PoppyError('account_mismatch')
      if (switches.rotates) {
        grant.revoked = true
        given = random('pat_')
        grants.set(given, { ...grant, revoked: false })
        grantToken = given
      }
    } else if (grantType === 'authorization_code') {
      const code = codes.get(form.get('code') ?? '')
      if (!session) throw new PoppyError('invalid_request')
      if (!code || code.used || code.redirectUri !== form.get('redirect_uri')) throw new PoppyError('invalid_grant')
      if (code.challenge !== sha256(form.get('code_verifier') ?? '')) throw new PoppyError('invalid_grant')
      if (session.account !== null && session.account !== code.account) throw new PoppyError('account_mismatch')
      code.used = true
      given = random('pat_')
      grants.set(given, { account: code.account, scopes: code.scopes, revoked: false })
      grantToken = given
    } else if (grantType === 'urn:ietf:params:oauth:grant-type:device_code') {
      const device = devices.get(form.get('device_code') ?? '')
      if (!session) throw new PoppyError('invalid_request')
      if (!device || device.used) throw new PoppyError('invalid_grant')
      if (now() >= device.expiresAt) throw new PoppyError('expired_token')
      if (device.decision === 'declined') throw new PoppyError('access_denied')
      if (device.decision === 'pending') throw new PoppyError('authorization_pending')
      const { account, scopes } = device.decision
      if (session.account !== null && session.account !== account) throw new PoppyError('account_mismatch')
      device.used = true
      given = random('pat_')
      grants.set(given, { account, scopes, revoked: false })
      grantToken = given
    } else if (userId === undefined) {
      throw new PoppyError('unsupported_grant_type')
    }
    const id = sessionId ?? random('ses_')
    session ??= { userId: userId ?? 'by Account Token', account: null, grant: null, ended: false }
    sessions.set(id, session)
    const grant = grantToken === null ? undefined : grants.get(grantToken)
    if (grant) Object.assign(session, { account: grant.account, grant: grantToken })
    const access = switches.tokenShape(random('access-'))
    tokens.set(access, {
      sessionId: id,
      resource,
      thumbprint,
      scopes: grant?.scopes ?? [],
      signedIn: grant !== undefined,
      grant: grantToken,
      expiresAt: now() + switches.expiresIn * 1000,
    })
    const type = thumbprint === null ? 'Bearer' : switches.tokenType
    return {
      access_token: access,
      ...(type === null ? {} : { token_type: type }),
      expires_in: switches.expiresIn,
      scope: grant?.scopes.join(' ') ?? '',
      session_id: id,
      signed_in: grant !== undefined,
      ...(given === undefined ? {} : { refresh_token: given, refresh_token_expires_in: 86_400 }),
      unknown_member: { ignored: true },
    }
  }

  /** Who calls, with what rights now. */
  async function authenticate(request: Recorded, scheme: 'DPoP' | 'Bearer', scopes: readonly string[]) {
    const [given, access = ''] = (request.headers.authorization ?? '').split(' ')
    const held = tokens.get(access)
    const session = held && sessions.get(held.sessionId)
    const isRight =
      given === scheme &&
      held &&
      session &&
      !session.ended &&
      now() < held.expiresAt &&
      (held.thumbprint === null) === (scheme === 'Bearer')
    const wanted = scheme === 'Bearer' ? origin + request.path : switches.resource
    if (!isRight || held.resource !== wanted) throw new PoppyError('invalid_token')
    if (scheme === 'DPoP') await proof(request, access)
    const signedIn = held.signedIn && grants.get(held.grant ?? '')?.revoked === false
    const scope = scopes.join(' ')
    if (scopes.length > 0 && !signedIn) throw new PoppyError('sign_in_required', { scope })
    if (!scopes.every((one) => held.scopes.includes(one))) throw new PoppyError('insufficient_scope', { scope })
    return { userId: session.userId, account: signedIn ? session.account : null, scopes: held.scopes }
  }

  const documents: Record<string, () => unknown> = {
    '/.well-known/poppy.json': () =>
      switches.poppy({
        protocol_version: '0.1',
        organization: { name: 'Fake Company', domain },
        auth: {
          issuer: origin,
          direct: { scopes: scopesOffered },
          device: { scopes: scopesOffered },
          custom_scopes: { addresses: 'Your addresses' },
        },
        apis: [
          { type: 'carrier-pigeon', url: `${origin}/pigeons` },
          {
            type: 'openapi',
            url: `${origin}/openapi.json`,
            description: 'Orders',
            ...(switches.resource === null ? {} : { resource: switches.resource }),
          },
          { type: 'mcp', url: `${origin}/mcp`, description: 'Orders, for MCP' },
        ],
        extensions: { 'example.com/gift-wrap': { version: '1' } },
        unknown_field: true,
      }),
    '/.well-known/oauth-authorization-server': () =>
      switches.metadata({
        issuer: origin,
        token_endpoint: tokenEndpoint,
        revocation_endpoint: `${origin}/revoke`,
        authorization_endpoint: `${origin}/authorize`,
        device_authorization_endpoint: `${origin}/device-authorization`,
        poppy_domains: [domain],
        unknown_field: 1,
      }),
    '/openapi.json': () => switches.openapi(openapi()),
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', origin)
    let body = ''
    for await (const part of incoming) body += String(part)
    const request: Recorded = {
      at: options.now(),
      method: incoming.method ?? 'GET',
      path: url.pathname,
      query: url.search,
      headers: incoming.headers,
      body,
      form: new URLSearchParams(body),
      status: 0,
    }
    requests.push(request)
    await switches.hold?.(request)
    const reply = (status: number, value: unknown, headers: Record<string, string> = {}) => {
      request.status = status
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      if (switches.nonces === 'on' || switches.nonces === 'always') headers['dpop-nonce'] = `nonce-${nonce}`
      response.sendDate = false
      const date = switches.date === undefined ? new Date(now()).toUTCString() : switches.date
      if (date !== null) response.setHeader('date', date)
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
    }
    const { limit } = switches
    if (limit && limit.times > 0 && request.path.startsWith(limit.path)) {
      limit.times--
      reply(429, { error: 'rate_limited' }, limit.retryAfter === null ? {} : { 'retry-after': limit.retryAfter })
      return
    }
    try {
      const document = documents[request.path]
      if (request.path === '/.well-known/poppy.json' && switches.redirect !== null) {
        reply(302, '', { location: switches.redirect })
      } else if (document) {
        reply(200, document(), { ...switches.headers })
      } else if (request.path === '/device-authorization') {
        await client(request.form, [tokenEndpoint])
        const deviceCode = random('device-')
        const userCode = `WDJB-${String(devices.size).padStart(4, '0')}`
        const scopes = (request.form.get('scope') ?? '').split(' ')
        devices.set(deviceCode, { userCode, scopes, expiresAt: now() + 600_000, decision: 'pending', used: false })
        const page = `${origin}/device`
        const uris = { verification_uri: page, verification_uri_complete: `${page}?user_code=${userCode}` }
        const answer = { device_code: deviceCode, user_code: userCode, ...uris, expires_in: 600, interval: 5 }
        reply(200, switches.device(answer))
      } else if (request.form.has('device_code') && switches.polls.length > 0) {
        const [answer] = switches.polls.splice(0, 1)
        if (answer === 'drop' || answer === undefined) response.destroy()
        else reply(answer.status, answer.body, { ...answer.headers })
      } else if (request.path === '/token') {
        reply(200, await token(request))
      } else if (request.path === '/revoke') {
        await client(request.form, [switches.revocationAudience === 'token' ? tokenEndpoint : `${origin}/revoke`])
        const grant = grants.get(request.form.get('token') ?? '')
        if (grant) grant.revoked = true
        reply(200, '')
      } else if (mcpServers.includes(origin + request.path)) {
        const { status, value, headers } = await fakeMcp(request.body, switches.toolErrors, (scopes) =>
          authenticate(request, 'Bearer', scopes),
        )
        reply(status, value, headers)
      } else if (request.path.startsWith('/api/')) {
        const [answer] = switches.answers.splice(0, 1)
        if (answer) reply(answer.status, answer.body, { ...answer.headers })
        else reply(200, await api(request))
      } else {
        reply(404, { error: 'not_found' })
      }
    } catch (error) {
      const known = error instanceof PoppyError ? error : new PoppyError('server_error', { description: String(error) })
      const atToken = ['/token', '/revoke', '/device-authorization'].includes(request.path)
      const status =
        known.code === 'invalid_client'
          ? 401
          : atToken
            ? 400
            : ((
                {
                  invalid_token: 401,
                  invalid_dpop_proof: 401,
                  use_dpop_nonce: 401,
                  sign_in_required: 403,
                  insufficient_scope: 403,
                  server_error: 500,
                } as Record<string, number>
              )[known.code] ?? 400)
      const scheme = request.path.startsWith('/mcp') ? 'Bearer' : 'DPoP'
      if (known.code === 'use_dpop_nonce' && switches.nonces === 'always') nonce++
      reply(status, known.body(), {
        'www-authenticate': formatChallenge(scheme, { error: known.code, scope: known.scope }),
      })
    }
  }

  async function api(request: Recorded): Promise<unknown> {
    if (request.path === '/api/echo') {
      const caller = await authenticate(request, 'DPoP', [])
      return {
        said: read(request.body),
        caller,
        authorization: request.headers.authorization,
        proof: request.headers.dpop,
        method: request.method,
        type: request.headers['content-type'],
        query: request.query,
      }
    }
    if (request.path.startsWith('/api/orders/')) {
      const caller = await authenticate(request, 'DPoP', ['poppy:read'])
      return { path: request.path, query: request.query, header: request.headers['x-note'] ?? null, caller }
    }
    if (request.path === '/api/address') return { caller: await authenticate(request, 'DPoP', ['addresses']) }
    throw new PoppyError('not_found')
  }

  const approve: FakeCompany['approve'] = (url, chosen = {}) => {
    const asked = new URL(url).searchParams
    const back = new URL(asked.get('redirect_uri') ?? '')
    back.searchParams.set('state', asked.get('state') ?? '')
    if (chosen.iss !== null) back.searchParams.set('iss', chosen.iss ?? origin)
    if (chosen.decline) {
      back.searchParams.set('error', 'access_denied')
      return back.href
    }
    const code = random('code-')
    codes.set(code, {
      scopes: chosen.scopes ?? (asked.get('scope') ?? '').split(' '),
      account: chosen.account ?? 'account-1',
      challenge: asked.get('code_challenge') ?? '',
      redirectUri: asked.get('redirect_uri') ?? '',
      used: false,
    })
    back.searchParams.set('code', code)
    return back.href
  }

  return {
    origin,
    requests,
    switches,
    sessions,
    grants,
    proofKeys,
    approve,
    decideDevice: (userCode, { scopes, account = 'account-1', decline }) => {
      const device = [...devices.values()].find((one) => one.userCode === userCode)
      if (!device) throw new Error('no such code')
      device.decision = decline ? 'declined' : { scopes: scopes ?? device.scopes, account }
    },
    lastUserCode: () => [...devices.values()].at(-1)?.userCode ?? '',
    rotateNonce: () => void nonce++,
    take: () => requests.splice(0),
    paths: () => requests.map(({ method, path, status }) => `${method} ${path} ${status}`),
  }
}

function read(text: string): unknown {
  try {
    return JSON.parse(text || 'null')
  } catch {
    // Not JSON, so as it came.
    return text
  }
}

/** The document of the fake's API: one operation of each kind that matters. */
function openapi(): Record<string, unknown> {
  const security = (scopes: string[]) => [{ poppy: scopes }]
  const id = { $ref: '#/components/parameters/id' }
  const body = {
    content: { 'application/json': { schema: { type: 'object', properties: { text: { type: 'string' } } } } },
  }
  return {
    openapi: '3.1.0',
    servers: [{ url: '/api' }],
    components: { parameters: { id: { name: 'id', in: 'path', required: true, schema: { type: 'string' } } } },
    paths: {
      '/echo': { post: { operationId: 'echo', requestBody: body } },
      '/orders/{id}': {
        parameters: [id],
        get: {
          operationId: 'get_order',
          security: security(['poppy:read']),
          parameters: [
            { name: 'tags', in: 'query', schema: { type: 'array' } },
            { name: 'X-Note', in: 'header', schema: { type: 'string' } },
            { name: 'Authorization', in: 'header', schema: { type: 'string' } },
          ],
        },
      },
      '/address': { put: { operationId: 'set_address', security: security(['addresses']), requestBody: body } },
      '/elsewhere': { post: { operationId: 'elsewhere', servers: [{ url: 'https://evil.example/' }] } },
      '/nowhere': { get: { summary: 'No operationId' } },
    },
  }
}

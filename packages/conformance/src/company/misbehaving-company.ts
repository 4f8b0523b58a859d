import type { IncomingMessage, ServerResponse } from 'node:http'
import { PoppyError } from '@poppyseed/protocol'
import { deliver, type Reply, reply } from '../delivery.ts'
import { type Listener, type ListenerTls, openListener } from '../listener.ts'
import type { Finding } from '../rules.ts'
import { createSwitchboard, type Switchboard } from '../switchboard.ts'
import { createAgents, type Fetch } from './agents.ts'
import { answerAuthorization } from './authorization.ts'
import { createConduct, createFindings } from './conduct.ts'
import { type ConversationDesk, createConversationDesk } from './conversations.ts'
import { answerDeviceRequest } from './device.ts'
import { mcpMetadata, oauthMetadata, openapi, type Places, poppyJson } from './documents.ts'
import { type Exchange, type RecordedRequest, readBody } from './exchange.ts'
import { createLedger, revoke } from './ledger.ts'
import { answerMediated } from './mediated.ts'
import { createOperationDesk, type OperationDesk, type OperationEntry } from './operations.ts'
import { createProofs } from './proofs.ts'
import { refusal, remember } from './refusals.ts'
import { isRedirected, redirect, routeOf } from './routes.ts'
import { answerMcp, answerTool, type ServiceParts } from './services.ts'
import { type RouteName, type Switches, wellBehaved } from './switches.ts'
import { answerRevocation, answerTokenRequest, type TokenParts } from './token-endpoint.ts'
import { createTrust } from './trust.ts'

/** A Company of draft 0.1 that a Personal Agent can be tried against: right by default, wrong where a switch says so. */

/** How a misbehaving Company is set up. */
export interface MisbehavingCompanyOptions {
  /** Host name in its addresses; `localhost` when left out. It listens on 127.0.0.1 all the same. */
  readonly name?: string
  /** Key and certificate of the name: HTTPS. Plain HTTP when left out, for clients that allow it on this machine. */
  readonly tls?: ListenerTls
  /** Milliseconds since 1970; the system's clock when left out. */
  readonly now?: () => number
  /** Fetches documents of Personal Agents; Node's own `fetch` when left out. Nothing guards it. */
  readonly fetch?: Fetch
  /** What it does wrong from the start. */
  readonly switches?: Partial<Switches>
}

/** A Company that runs, with all that a test needs to drive it. */
export interface MisbehavingCompany {
  /** Its issuer, and where everything of it is. */
  readonly origin: string
  /** `organization.domain`. */
  readonly domain: string
  /** What it does wrong. Change it at any time; it holds for the requests that arrive from then on. */
  readonly switches: Switches
  /** Faults for the next `count` requests, at one route or at any. */
  readonly next: Switchboard<Switches, RouteName>['next']
  /** Does everything right from now on. */
  readonly reset: () => void
  /** The rules that clients broke, in their order. */
  readonly findings: readonly Finding[]
  /** Every request, without secrets. */
  readonly requests: readonly RecordedRequest[]
  /** Requests that reached where redirects lead that nobody may follow with a secret. */
  readonly trapped: readonly { readonly method: string; readonly path: string; readonly carriedSecrets: boolean }[]
  /** Names of the tools that ran, in their order. */
  readonly ran: readonly string[]
  /** How many Sessions there are, and which sign-ins are alive. */
  readonly state: () => {
    readonly sessions: number
    readonly signIns: readonly { readonly account: string; readonly scopes: readonly string[] }[]
  }
  /** 4.9: the User disconnects every Personal Agent in their account settings. */
  readonly disconnect: () => void
  /** 4.2: every Session has ended. */
  readonly endSessions: () => void
  /** The operations that were proposed, and what became of them. */
  readonly operations: readonly Pick<
    OperationEntry,
    'id' | 'revision' | 'state' | 'confirmed' | 'confirms' | 'performed'
  >[]
  /** The Company changes the terms of an operation: a new revision. */
  readonly revise: OperationDesk['revise']
  /** The User confirms an operation on the Company's own page. */
  readonly confirmOnPage: OperationDesk['confirmOnPage']
  /** Its conversations, and what it says in them. */
  readonly conversations: Omit<ConversationDesk, 'answer' | 'ended'>
  readonly close: () => Promise<void>
}

/**
 * Opens a misbehaving Company on the loopback address.
 *
 * @example
 * const company = await createMisbehavingCompany({})
 * company.next(1, { limit: { retryAfter: '2' } }, 'token')
 * // … a Personal Agent visits company.origin …
 * console.log(company.findings)
 * await company.close()
 */
export async function createMisbehavingCompany(options: MisbehavingCompanyOptions = {}): Promise<MisbehavingCompany> {
  const { name = 'localhost', now = Date.now, fetch = globalThis.fetch, tls } = options
  const board = createSwitchboard<Switches, RouteName>(wellBehaved, options.switches)
  const findings = createFindings()
  const conduct = createConduct(findings)
  const ledger = createLedger()
  const trust = createTrust(findings, ledger)
  const requests: RecordedRequest[] = []
  const trapped: { method: string; path: string; carriedSecrets: boolean }[] = []
  const ran: string[] = []
  const errors = new WeakMap<Exchange, string>()
  let count = 0

  const trap = await openListener((request, response) => void spring(request, response), { name: 'localhost' })
  const listener: Listener = await openListener((request, response) => void handle(request, response), { name, tls })
  const { origin } = listener
  const places: Places = {
    origin,
    domain: name,
    tokenEndpoint: `${origin}/token`,
    revocationEndpoint: `${origin}/revoke`,
    authorizationEndpoint: `${origin}/authorize`,
    deviceEndpoint: `${origin}/device-authorization`,
    mediatedEndpoint: `${origin}/sign-in`,
    openapi: `${origin}/openapi.json`,
    mcp: `${origin}/mcp`,
    operations: `${origin}/operations`,
    conversations: `${origin}/conversations`,
  }
  const proofs = createProofs(origin, ledger, findings, conduct)
  const services: ServiceParts = {
    ...{ ledger, findings, proofs, ran },
    ...{ mcpUrl: places.mcp, openapiResource: places.openapi, operationsUrl: places.operations },
    conversationsUrl: places.conversations,
    desk: () => desk,
  }
  const desk = createOperationDesk(origin, services)
  const conversations = createConversationDesk({ services, now, live: () => board.switches })
  const endpoint: TokenParts = {
    agents: createAgents(fetch, ledger, findings, tls === undefined),
    ledger,
    findings,
    proofs,
    issuer: origin,
    tokenEndpoint: places.tokenEndpoint,
    revocationEndpoint: places.revocationEndpoint,
    mcpUrl: places.mcp,
    openapiResource: places.openapi,
  }

  async function spring(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request)
    const { method = 'GET', url: path = '/', headers } = request
    const carriedSecrets =
      headers.authorization !== undefined || headers.dpop !== undefined || /assertion=|"credentials"|"code"/.test(body)
    if (body.includes('"credentials"'))
      findings.list.push({
        requirement: '4.7.credentials-only-there-agent',
        seen: 'a redirect was followed with credentials',
        at: `${method} ${path}`,
      })
    trapped.push({ method, path, carriedSecrets })
    if (tls && path.startsWith('/.well-known/'))
      findings.list.push({ requirement: '3.redirect-https', seen: 'a redirect to plain HTTP was followed', at: path })
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const arrivedAt = performance.now()
    const url = new URL(request.url ?? '/', origin)
    const method = request.method ?? 'GET'
    const route = routeOf(url.pathname)
    const switches = board.take(route)
    const body = await readBody(request).catch(() => '')
    const isForm = /^application\/x-www-form-urlencoded/.test(request.headers['content-type'] ?? '')
    const exchange: Exchange = {
      number: ++count,
      method,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body,
      form: new URLSearchParams(isForm ? body : ''),
      route,
      switches,
      now: now() + switches.clockOffset * 1000,
      socket: request.socket,
      arrivedAt,
      deliveredAt: null,
      status: 0,
    }
    const running = ledger.grants.get(exchange.form.get('refresh_token') ?? '')
    if (running && exchange.route === 'token') {
      running.running += 1
      if (running.running > 1) findings.report('K22', 'an Account Token was used twice at the same time', exchange)
    }
    const answer = withStanding(await answerTo(exchange), exchange)
    exchange.status = answer.status
    const parameters = [...new Set([...exchange.query.keys(), ...exchange.form.keys()])].sort()
    requests.push({
      number: exchange.number,
      method,
      path: exchange.path,
      route,
      status: answer.status,
      at: exchange.now,
      parameters,
    })
    response.sendDate = false
    const isWhole = await deliver(response, answer, switches.delivery)
    if (isWhole) exchange.deliveredAt = performance.now()
    conversations.ended(exchange, isWhole)
    if (running) running.running -= 1
  }

  async function answerTo(exchange: Exchange): Promise<Reply> {
    const { switches, route } = exchange
    conduct.arrives(exchange)
    if (!documents.has(route)) trust.used(exchange)
    if (switches.gateway === 'html_502')
      return { status: 502, headers: { 'content-type': 'text/html' }, body: '<!doctype html><h1>Bad Gateway</h1>' }
    if (switches.gateway === 'empty_503') return { status: 503, headers: {}, body: '' }
    if (switches.limit !== null) {
      const { retryAfter } = switches.limit
      conduct.limited(exchange, retryAfter)
      return reply(429, { error: 'rate_limited' }, retryAfter === null ? {} : { 'retry-after': retryAfter })
    }
    if (isRedirected(exchange)) return redirect(exchange, origin, trap.origin)
    try {
      return await answerRight(exchange)
    } catch (error) {
      const { reply, code } = refusal(exchange, error, origin)
      remember(ledger, exchange, code)
      errors.set(exchange, code)
      return reply
    }
  }

  async function answerRight(exchange: Exchange): Promise<Reply> {
    const { switches } = exchange
    const document = (value: unknown) =>
      reply(200, value, switches.cacheControl === null ? {} : { 'cache-control': switches.cacheControl })
    switch (exchange.route) {
      case 'poppy.json':
        trust.served(exchange)
        return document(poppyJson(exchange, places))
      case 'oauth-metadata':
        trust.served(exchange)
        return document(oauthMetadata(exchange, places))
      case 'mcp-metadata':
        return document(mcpMetadata(exchange, places))
      case 'openapi':
        return document(openapi())
      case 'token':
        return answerTokenRequest(exchange, endpoint)
      case 'revoke':
        return answerRevocation(exchange, endpoint)
      case 'authorize':
        return answerAuthorization(exchange, endpoint)
      case 'device':
        return answerDeviceRequest(exchange, endpoint)
      case 'sign-in':
        return answerMediated(exchange, endpoint, services)
      case 'tool':
        return answerTool(exchange, services)
      case 'mcp':
        return answerMcp(exchange, services)
      case 'operations':
        return desk.answer(exchange)
      case 'conversations':
      case 'events':
        return conversations.answer(exchange)
      case 'nowhere':
        throw new PoppyError('not_found')
    }
  }

  /** What stands on every answer: the nonce, and the time. */
  function withStanding(answer: Reply, exchange: Exchange): Reply {
    const nonce = proofs.nonceFor(exchange, errors.get(exchange))
    const date = dateOf(exchange)
    return {
      ...answer,
      headers: {
        ...answer.headers,
        ...(nonce === undefined ? {} : { 'dpop-nonce': nonce }),
        ...(date === null ? {} : { date }),
      },
    }
  }

  return {
    origin,
    domain: name,
    switches: board.switches,
    next: board.next,
    reset: board.reset,
    findings: findings.list,
    requests,
    trapped,
    ran,
    state: () => ({
      sessions: ledger.sessions.size,
      signIns: [...ledger.grants.values()]
        .filter(({ state }) => state === 'live')
        .map(({ account, scopes }) => ({ account, scopes })),
    }),
    disconnect: () => {
      for (const token of ledger.grants.keys()) revoke(ledger, token)
    },
    endSessions: () => {
      for (const session of ledger.sessions.values()) session.ended = true
    },
    operations: desk.entries,
    revise: desk.revise,
    confirmOnPage: desk.confirmOnPage,
    conversations,
    close: async () => {
      await Promise.all([listener.close(), trap.close()])
    },
  }
}

/** Routes that are read before anything is believed. */
const documents: ReadonlySet<RouteName> = new Set([
  'poppy.json',
  'oauth-metadata',
  'mcp-metadata',
  'openapi',
  'nowhere',
])

function dateOf({ now, switches }: Exchange): string | null {
  switch (switches.date) {
    case 'clock':
      return new Date(now).toUTCString()
    case 'missing':
      return null
    case 'garbage':
      return 'yesterday, or so'
    case 'epoch':
      return new Date(0).toUTCString()
    case 'far_future':
      return new Date(Date.UTC(2199, 0, 1)).toUTCString()
  }
}

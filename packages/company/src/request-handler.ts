import { PoppyError, resourceMetadataUrl } from '@poppyseed/protocol'
import type { Accounts } from './accounts/connections.ts'
import { handleRevocation } from './accounts/routes.ts'
import type { Admission } from './agents/admission.ts'
import type { AgentDirectory } from './agents/directory.ts'
import type { Logos } from './agents/logo.ts'
import { type BrowserEndpoint, browserRoute } from './browser/routes.ts'
import type { Conversations } from './conversations/create-conversations.ts'
import { conversationHandlers } from './conversations/routes.ts'
import type { KeyedHash } from './crypto/keyed-hash.ts'
import type { Nonces } from './crypto/nonce.ts'
import type { Sealer } from './crypto/seal.ts'
import { discoveryOf, mcpMetadataOf, oauthMetadataOf, type Published } from './discovery/documents.ts'
import { writeOpenApi } from './discovery/openapi.ts'
import { serveDocument } from './discovery/routes.ts'
import { readBody } from './http/body.ts'
import { allowAnyOrigin, preflight } from './http/cors.ts'
import { type ErrorStyle, errorResponse, json } from './http/respond.ts'
import { allowOf, createRouter, type Handler, handlerOf, type Route, type Router } from './http/router.ts'
import { untilSent } from './http/until-sent.ts'
import type { InboxParts } from './inbox/parts.ts'
import { inboxRoutes } from './inbox/routes.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { RequestLimits } from './limits/request-limits.ts'
import type { Operations } from './operations/create-operations.ts'
import { operationHandlers } from './operations/routes.ts'
import { operationPageRoute, signInRoutes } from './page-routes.ts'
import type { Authenticator, TokenHolder } from './sessions/authenticate.ts'
import { principalStill } from './sessions/late-body.ts'
import { grantsOf, handleTokenRequest } from './sessions/routes.ts'
import type { TokenSettings } from './sessions/token-request.ts'
import { type MediatedEndpoint, signInMediated, submitCode } from './sign-in/mediated/routes.ts'
import type { People } from './sign-in/person.ts'
import type { SignInSettings } from './sign-in/routes.ts'
import type { Logger, Scope } from './store/database.ts'
import type { Observed, Telemetry } from './telemetry/telemetry.ts'
import type { McpEndpoint } from './tools/mcp.ts'
import type { ToolRegistry } from './tools/registry.ts'
import { callToolOverHttp } from './tools/routes.ts'
import type { Wordings } from './words/wording.ts'

/** Which path is answered by what, and how errors are told there. */

/** What the handler is put together from; `company.ts` makes the parts. */
export interface HandlerParts {
  readonly published: Published
  readonly registry: ToolRegistry
  readonly authenticator: Authenticator
  readonly directory: AgentDirectory
  readonly nonces: Nonces | null
  readonly tokenSettings: TokenSettings
  readonly requestLimits: RequestLimits
  readonly scope: () => Promise<Scope>
  readonly log: Logger
  readonly random: (length: number) => Uint8Array
  readonly now: () => number
  readonly mcp: McpEndpoint | null
  readonly signIn: (People & Pick<SignInSettings, 'connectedAgentsPage'>) | null
  readonly logos: Logos | null
  readonly forms: Sealer
  /** For the one-time codes of Mediated Sign-In (4.7); null where it isn't offered. */
  readonly oneTimeCodes: KeyedHash | null
  readonly accounts: Accounts
  readonly wordings: Wordings
  readonly admission: Admission
  /** Null where no browser may join (5). */
  readonly browser: BrowserEndpoint | null
  readonly accountTokenLifetime: number | null
  /** Null where there are no operations. */
  readonly operations: Operations | null
  readonly operationsResource: string | undefined
  /** Null where there are none (7.1). */
  readonly conversations: Conversations | null
  /** Null where there is no staff inbox. */
  readonly inbox: InboxParts | null
  /** Null where the company doesn't say who is signed in to its site. */
  readonly people: People | null
  readonly lifecycle: Pick<Lifecycle, 'run' | 'track' | 'ending'>
  readonly telemetry: Telemetry
}

/** Answers requests for the Company’s own paths. */
export interface RequestHandler {
  readonly fetch: (request: Request) => Promise<Response>
  readonly owns: (request: Request) => boolean
  /** The answer to an error at an API. */
  readonly failed: (error: unknown, style?: ErrorStyle) => Response
}

/** Bytes that a tool's input may have. */
const toolBodyLimit = 1_048_576

/** Puts every route in its place (3 to 6) and gives each the way in which errors are told there. */
export function createRequestHandler(parts: HandlerParts): RequestHandler {
  const { nonces, log, random } = parts
  const nonce = () => nonces?.current()
  const failed = (error: unknown, style?: ErrorStyle) =>
    errorResponse(error, style ?? { scheme: 'DPoP', nonce: nonce() }, log, random)
  const router = createRouter({
    ...documentRoutes(parts, (error) => failed(error)),
    ...oauthRoutes(parts, nonce),
    ...toolRoutes(parts, (error) => failed(error), nonce),
    ...operationRoutes(parts, (error) => failed(error), nonce),
    ...conversationRoutes(parts, (error) => failed(error), nonce),
    ...inboxRoutes(parts.inbox, {
      ...parts,
      route: parts.published.addresses.routeOf(parts.published.addresses.inbox),
    }),
    ...signInRoutes(parts, (error) => failed(error)),
    ...mediatedRoutes(parts, (error) => failed(error), nonce),
    ...(parts.browser === null
      ? {}
      : { [parts.published.addresses.routeOf(parts.browser.endpoint)]: browserRoute(parts.browser, parts) }),
  })
  const pathOf = (request: Request) => URL.parse(request.url)?.pathname ?? ''

  return {
    failed,
    owns: (request) => router.find(pathOf(request)) !== null,
    fetch(request) {
      const found = router.find(pathOf(request))
      return parts.telemetry.request(request, found?.template ?? null, async (observed) => {
        const answer = untilSent(await answerOf(request, found, observed))
        if (answer.sent !== null) void parts.lifecycle.track(answer.sent)
        return answer
      })
    },
  }

  async function answerOf(request: Request, found: ReturnType<Router['find']>, observed: Observed): Promise<Response> {
    if (!found) return json({ error: 'not_found', error_description: 'Nothing is here.' }, 404)
    const { route, rest } = found
    let response: Response
    try {
      parts.published.hosts.check(request, route.atEachHost === true)
      if (route.crossOrigin && request.method === 'OPTIONS') return preflight(allowOf(route))
      response = await parts.lifecycle.run(async () => handlerOf(route, request.method)(request, rest))
    } catch (error) {
      observed.failed(error)
      response = await route.fail(error, request)
    }
    return route.crossOrigin ? allowAnyOrigin(response) : response
  }
}

function documentRoutes({ published, registry }: HandlerParts, fail: Route['fail']): Record<string, Route> {
  const { addresses, domains, hosts } = published
  const document = (value: unknown): Route => ({ methods: { GET: serveDocument(value) }, crossOrigin: true, fail })
  const wellKnown = (value: unknown): Route => ({ ...document(value), atEachHost: true })
  // 3.1: each domain answers for itself
  const byDomain = new Map(
    domains.map((domain) => [domain, serveDocument(discoveryOf(published, domain), hosts.vary)] as const),
  )
  // 6: an own MCP server on another host publishes its metadata there, by itself
  const ownMcpMetadata = Object.fromEntries(
    published.apis.mcpServers
      .filter((url) => new URL(url).origin === addresses.origin)
      .map((url) => [addresses.routeOf(resourceMetadataUrl(url)), wellKnown(mcpMetadataOf(published, url))] as const),
  )
  return {
    [addresses.poppyPath]: {
      methods: {
        GET: (request) => (byDomain.get(hosts.domainOf(request)) as ReturnType<typeof serveDocument>)(request),
      },
      crossOrigin: true,
      atEachHost: true,
      fail,
    },
    [addresses.routeOf(addresses.oauthMetadata)]: wellKnown(oauthMetadataOf(published)),
    ...ownMcpMetadata,
    ...(published.hasTools
      ? {
          [addresses.routeOf(addresses.mcpMetadata)]: wellKnown(mcpMetadataOf(published, addresses.mcp)),
          [addresses.routeOf(addresses.openapi)]: document(
            writeOpenApi({
              info: { title: published.name, version: '1', description: published.description },
              server: addresses.urlOf(''),
              tools: registry.tools,
              scopeTexts: published.scopes,
            }),
          ),
        }
      : {}),
  }
}

/** The newest nonce rides on every answer, so that a client never has to be refused to learn it (RFC 9449, 8.2). */
function withNonce(handler: Handler, nonce: () => string | undefined): Handler {
  return async (request, rest) => {
    const response = await handler(request, rest)
    const current = nonce()
    if (current !== undefined) response.headers.set('dpop-nonce', current)
    return response
  }
}

function oauthRoutes(parts: HandlerParts, nonce: () => string | undefined): Record<string, Route> {
  const { published, directory, scope, log, random, now, tokenSettings } = parts
  const fail = (error: unknown) =>
    errorResponse(error, { scheme: 'DPoP', atTokenEndpoint: true, nonce: nonce() }, log, random)
  const { token: tokenUrl, revoke: revokeUrl, deviceAuthorization: deviceUrl, issuer, routeOf } = published.addresses
  const token = {
    directory,
    grants: grantsOf(published.signIn),
    settings: tokenSettings,
    scope,
    audiences: [tokenUrl, issuer],
  }
  const { requestLimits } = parts
  const { endsSessions, rightsChanged } = tokenSettings
  const audiences = [revokeUrl, tokenUrl, issuer]
  const revocation = { directory, scope, now, requestLimits, endsSessions, rightsChanged, audiences }
  return {
    [routeOf(tokenUrl)]: {
      methods: { POST: withNonce((request) => handleTokenRequest(request, token), nonce) },
      crossOrigin: true,
      fail,
    },
    [routeOf(revokeUrl)]: {
      methods: { POST: (request) => handleRevocation(request, revocation) },
      crossOrigin: true,
      fail,
    },
    // Where Device Sign-In is offered, its own route takes this place.
    [routeOf(deviceUrl)]: { methods: { POST: refuseDevice }, crossOrigin: true, fail },
  }
}

/** 4.6: what a device request is told where there is no Device Sign-In. */
function refuseDevice(): never {
  throw new PoppyError('unauthorized_client', { description: 'Device Sign-In is not offered here.' })
}

function toolRoutes(parts: HandlerParts, fail: Route['fail'], nonce: () => string | undefined): Record<string, Route> {
  const { published, registry, authenticator, mcp, log, random, scope, now, tokenSettings } = parts
  if (!published.hasTools || mcp === null) return {}
  const { openapi: resource, mcp: mcpUrl, mcpMetadata: resourceMetadata, tools, routeOf } = published.addresses
  const { toolsResource } = published.apis
  // 4.3: with a published resource, only tokens for it; without one, those for our document's URL beside all others
  const needed = { resources: [toolsResource ?? resource], isNarrow: toolsResource !== undefined }
  const stillSince = (since: number, holder: TokenHolder) => () =>
    principalStill(holder, { scope, now, since, limits: tokenSettings.limits })
  const call: Handler = async (request, name) => {
    const still = stillSince(now(), await authenticator.withEpoch(request, needed))
    const body = await readBody(request, toolBodyLimit)
    return callToolOverHttp(registry, name, request, await still(), body)
  }
  const callMcp: Handler = async (request) => {
    const turnedAway = mcp.turnAway(request)
    if (turnedAway !== null) return turnedAway
    const holder = await authenticator.withBearer(request, mcpUrl)
    return mcp.fetch(request, holder.principal, stillSince(now(), holder))
  }
  return {
    [`${routeOf(tools)}/*`]: { methods: { POST: withNonce(call, nonce) }, crossOrigin: true, fail },
    [routeOf(mcpUrl)]: {
      methods: { POST: callMcp, GET: callMcp, DELETE: callMcp },
      crossOrigin: true,
      fail: (error) => errorResponse(error, { scheme: 'Bearer', resourceMetadata }, log, random),
    },
  }
}

function operationRoutes(
  parts: HandlerParts,
  fail: Route['fail'],
  nonce: () => string | undefined,
): Record<string, Route> {
  const { published, authenticator, operations, operationsResource: resource, lifecycle, tokenSettings } = parts
  if (operations === null) return {}
  const { read, confirm, cancel } = operationHandlers({
    parts: operations.parts,
    authenticator,
    // 4.3: with a published resource only tokens for it; without one, those that work everywhere
    need: resource === undefined ? {} : { resources: [resource], isNarrow: true },
    limits: tokenSettings.limits,
    ending: lifecycle.ending,
  })
  const path = published.addresses.routeOf(published.addresses.operations)
  const at = (method: string, handler: Handler): Route => ({
    methods: { [method]: withNonce(handler, nonce) },
    crossOrigin: true,
    fail,
  })
  return {
    [`${path}/*`]: at('GET', read),
    [`${path}/*/confirm`]: at('POST', confirm),
    [`${path}/*/cancel`]: at('POST', cancel),
    ...operationPageRoute(parts, operations),
  }
}

function conversationRoutes(
  { published, authenticator, conversations, lifecycle }: HandlerParts,
  fail: Route['fail'],
  nonce: () => string | undefined,
): Record<string, Route> {
  if (conversations === null) return {}
  const { resource } = conversations.parts.settings
  const { start, send, read, handoff, close } = conversationHandlers({
    ...conversations,
    authenticator,
    // 4.3: as with operations
    need: resource === undefined ? {} : { resources: [resource], isNarrow: true },
    ending: lifecycle.ending,
  })
  const path = published.addresses.routeOf(published.addresses.conversations)
  const at = (method: string, handler: Handler): Route => ({
    methods: { [method]: withNonce(handler, nonce) },
    crossOrigin: true,
    fail,
  })
  return {
    [path]: at('POST', start),
    [`${path}/*/messages`]: at('POST', send),
    [`${path}/*/events`]: at('GET', read),
    [`${path}/*/handoff`]: at('POST', handoff),
    [`${path}/*/close`]: at('POST', close),
  }
}

function mediatedRoutes(
  parts: HandlerParts,
  fail: Route['fail'],
  nonce: () => string | undefined,
): Record<string, Route> {
  const { addresses, signIn } = parts.published
  if (signIn.mediated === undefined || parts.oneTimeCodes === null) return {}
  const endpoint: MediatedEndpoint = {
    mediated: signIn.mediated,
    token: parts.tokenSettings,
    codes: parts.oneTimeCodes,
    authenticator: parts.authenticator,
    scope: parts.scope,
    admission: parts.admission,
    log: parts.log,
  }
  const path = addresses.routeOf(addresses.mediated)
  const first: Handler = (request) => signInMediated(request, endpoint)
  const second: Handler = (request, id) => submitCode(request, id, endpoint)
  return {
    [path]: { methods: { POST: withNonce(first, nonce) }, crossOrigin: true, fail },
    [`${path}/*`]: { methods: { POST: withNonce(second, nonce) }, crossOrigin: true, fail },
  }
}

import { isLoopbackHost } from '@poppyseed/protocol'
import { createConnectionHook } from './accounts/connection-hook.ts'
import { type Accounts, createAccounts } from './accounts/connections.ts'
import { createAdmission, readList } from './agents/admission.ts'
import { type Agents, createAgents } from './agents/blocking.ts'
import { createAgentDirectory } from './agents/directory.ts'
import { createLogos, fetchByCompany, fetchGuarded, logoPeriod } from './agents/logo.ts'
import { createNewcomers } from './agents/newcomers.ts'
import { createRegistration } from './agents/registration.ts'
import { newPerHourOf } from './agents/settings.ts'
import { findAgent, isAgentBlocked } from './agents/store.ts'
import { type BrowserReader, readBrowserPrincipal } from './browser/browser-principal.ts'
import { readCookies } from './browser/cookie.ts'
import { createChanges } from './changes/changes.ts'
import { anything, blockedAgents } from './changes/wide-ears.ts'
import { type CheckedConfig, type CompanyConfig, checkConfig } from './config.ts'
import { standardTiming } from './conversations/care.ts'
import { createConversations } from './conversations/create-conversations.ts'
import { type CompanyConversations, withoutConversations } from './conversations/staff.ts'
import { dueTurnCount } from './conversations/turn-store.ts'
import { createAddressMarks } from './crypto/address-mark.ts'
import { createKeyImporter } from './crypto/key-importer.ts'
import { createKeyedHash } from './crypto/keyed-hash.ts'
import { deriveKeyring } from './crypto/keyring.ts'
import { createNonces } from './crypto/nonce.ts'
import { systemRandom } from './crypto/random.ts'
import { createSealer } from './crypto/seal.ts'
import { createSuccessors } from './crypto/successor.ts'
import { type Addresses, createAddresses, publicPath } from './discovery/addresses.ts'
import { mcpServersOf, type Published, resourcesOf } from './discovery/documents.ts'
import { createExtensionCheck } from './discovery/extensions.ts'
import { createHosts } from './discovery/hosts.ts'
import { createFaults } from './faults/faults.ts'
import { type CloseOptions, createLifecycle, type DurableWork, type Worked } from './lifecycle.ts'
import { createRequestLimits } from './limits/request-limits.ts'
import { consoleLog } from './log.ts'
import { createDocumentFetcher } from './net/fetch-document.ts'
import { createGuardedFetch } from './net/guarded-fetch.ts'
import type { CompanyOperations } from './operations/company-operations.ts'
import { createOperations } from './operations/create-operations.ts'
import { type Backlog, backlog } from './outbox/store.ts'
import { createRequestHandler } from './request-handler.ts'
import { createAuthenticator } from './sessions/authenticate.ts'
import { type ApiNeed, createApiAuthenticator } from './sessions/own-api.ts'
import type { Principal } from './sessions/principal.ts'
import { createSessionTokens } from './sessions/session-token.ts'
import type { TokenSettings } from './sessions/token-request.ts'
import { grantableScopes } from './sign-in/sign-in-settings.ts'
import type { Store } from './store/database.ts'
import { createTelemetry } from './telemetry/telemetry.ts'
import { watchFetches } from './telemetry/watch-fetches.ts'
import { createMcpEndpoint } from './tools/mcp.ts'
import { createToolRegistry } from './tools/registry.ts'
import type { PrincipalWith, ScopeNeed } from './tools/tool.ts'
import { type CompanyWebhooks, createCompanyWebhooks } from './webhooks/company-webhooks.ts'
import { createDeliveries } from './webhooks/delivery.ts'
import { createOutgoing } from './webhooks/outgoing.ts'
import { type DeliveryBacklog, deliveryBacklog } from './webhooks/store.ts'
import { createWordings } from './words/wording.ts'

/** The only place that wires the parts: configuration in, a Company out. */

/** What {@link createCompany} gives. */
export interface Company {
  /** Answers the library's own paths, 421 for a host that isn't known; anything else is 404. Ask {@link Company.owns} first where a site has more. */
  readonly fetch: (request: Request) => Promise<Response>
  /** Whether {@link Company.fetch} answers this request. */
  readonly owns: (request: Request) => boolean
  /**
   * Who is calling the site's own API (4.3): the Principal, or the answer to send instead. With `scope`, the Session has
   * to be signed in with all of these scopes. With `resource`, one of `apis`, only tokens for that service are taken; with
   * `mcp`, the url of one of `apis`, the Bearer tokens of that MCP server. The answer is as of this moment: where a body
   * changes something, read it first, with a bound, and ask then. Whoever is signed out or blocked while it was on its way
   * has no right any more.
   *
   * ```ts
   * const caller = await company.authenticate(request, { scope: 'poppy:read' })
   * if (caller instanceof Response) return caller
   * return Response.json(await bookings.of(caller.account))
   * ```
   * @throws ConfigurationError for a `resource`, `mcp` or `extension` that the configuration doesn't list
   */
  readonly authenticate: <const Scope extends ScopeNeed | undefined = undefined>(
    request: Request,
    need?: ApiNeed<Scope>,
  ) => Promise<PrincipalWith<Scope> | Response>
  /**
   * Whose browser a request of the website comes from (5): the Principal of a Personal Agent as its Session stands at this
   * moment, or null for everybody else. Ask it before the site's own cookie: with the agent's cookie the request is the
   * Session's, whatever other cookies there are.
   *
   * ```ts
   * const agent = await company.browserPrincipal(request)
   * if (agent && !agent.scopes.includes('poppy:read')) return forbidden()
   * const account = agent ? agent.account : await site.account(request)
   * ```
   * @throws PoppyError `temporarily_unavailable` for a request with the agent's cookie while the Company is closing
   */
  readonly browserPrincipal: (request: Request) => Promise<Principal | null>
  /**
   * Whether the Personal Agent of a Principal lists an extension of `extensions`, in the company's version (3.3).
   * @throws PoppyError `temporarily_unavailable` where its document can't be had
   */
  readonly supports: (principal: Principal, extension: string) => Promise<boolean>
  readonly accounts: Accounts
  /** Keeps Personal Agents out (4.1), and lets them in again. */
  readonly agents: Agents
  /** Operations, as the company's own code and staff see them. */
  readonly operations: CompanyOperations
  /** Conversations, as the company's own people see them, and what they do in them (7.9). */
  readonly conversations: CompanyConversations
  /** Deliveries of webhooks that were given up: seen, and sent again. */
  readonly webhooks: CompanyWebhooks
  /** Opens and migrates the store. The first request does it too; calling it first shows a wrong store at once. */
  readonly start: () => Promise<void>
  /**
   * Stops taking requests, finishes those that run, and closes the store. What comes meanwhile gets 503 with Retry-After.
   * Requests that still run at the deadline are given up, and told so.
   */
  readonly close: (options?: CloseOptions) => Promise<void>
  /**
   * For hosts where nothing lives between requests: does a bounded piece of what otherwise happens in the background,
   * which is to delete what is over. Call it from a scheduled job, until `isDone`.
   */
  readonly work: () => Promise<Worked>
  /**
   * Names the store and its schema version, and says how much durable work is due and not done: since when, in milliseconds
   * since 1970, the longest of it. Null where the store doesn't answer.
   */
  readonly health: () => Promise<{
    readonly ok: boolean
    readonly store: string
    readonly schema: number | null
    readonly outbox: Backlog | null
    /** The same of turns of the Company Agent. */
    readonly turns: Backlog | null
    /** How webhooks stand: those still to be taken, since when the longest of them is due, and those that were given up. */
    readonly deliveries: DeliveryBacklog | null
  }>
}

/** Seconds: how old a DPoP proof may be, and how far ahead of our clock (4.3). */
const proofWindow = 60
const proofSkew = 5

/**
 * Makes a Company of its configuration.
 * @throws ConfigurationError with a sentence that says what to write
 */
export function createCompany(config: CompanyConfig): Company {
  const checked = checkConfig(config)
  const { origin } = config
  const log = config.log ?? consoleLog
  const now = config.now ?? Date.now
  const random = config.random ?? systemRandom
  const telemetry = createTelemetry({ log, origin })
  const givenUp = new AbortController()
  const registry = createToolRegistry(config.tools ?? [], {
    operations: checked.operations.list,
    propose: (...asked) => operations.propose(...asked),
    extensions: Object.keys(checked.extensions),
    requireExtension: (principal, extension) => extensionCheck.require(principal, extension),
    declaredScopes: Object.keys(checked.scopes),
    grantableScopes: grantableScopes(checked.signIn),
    log,
    now,
    random,
    watch: telemetry.part,
    givenUp: givenUp.signal,
  })
  const development = config.development === true && isLoopbackHost(new URL(origin).hostname)
  const addresses = createAddresses({ origin, ...checked.reach })
  const hosts = createHosts({
    origin,
    domains: checked.domains,
    inner: checked.reach.innerHosts,
    forwardedHost: checked.reach.forwardedHost,
    apiOrigins: checked.apis.origins,
    log,
  })
  const published: Published = {
    addresses,
    name: config.organization.name,
    domains: checked.domains,
    hosts,
    description: config.organization.description ?? `What ${config.organization.name} offers to personal agents`,
    scopes: checked.scopes,
    signIn: checked.signIn,
    hasTools: registry.tools.length > 0,
    conversations: checked.conversations,
    apis: checked.apis,
    extensions: checked.extensions,
    letsBrowsersJoin: checked.browser !== null,
  }
  const fetcher = config.fetchDocument === undefined ? createDocumentFetcher({ allowLoopback: development }) : null
  const importKey = createKeyImporter()
  const agents = config.agents ?? {}
  const admission = createAdmission(agents)
  const isListed = readList(agents.block ?? [])
  const newcomers = createNewcomers({
    scope: () => lifecycle.scope(),
    now,
    registration: agents.register ? createRegistration({ register: agents.register, now, log }) : null,
    newPerHour: newPerHourOf(agents),
  })
  const directory = createAgentDirectory({
    fetchDocument: watchFetches(config.fetchDocument ?? (fetcher as NonNullable<typeof fetcher>), telemetry.part),
    now,
    allow: agents.allow,
    block: async (clientId) => (await isListed(clientId)) || isAgentBlocked(await lifecycle.scope(), clientId),
    allowHttp: development,
    importKey,
    log,
    newcomers,
  })
  const extensionCheck = createExtensionCheck(directory, checked.extensions)
  const guardedFetch = fetcher && agents.logos !== false ? createGuardedFetch({ allowLoopback: development }) : null
  const fetchPicture =
    typeof agents.logos === 'function' ? fetchByCompany(agents.logos) : guardedFetch && fetchGuarded(guardedFetch)
  const logos =
    fetchPicture &&
    createLogos({
      fetchPicture,
      path: publicPath(addresses.logo),
      marks: createAddressMarks(deriveKeyring(checked.secrets, 'logo'), logoPeriod, now),
      directory,
      now,
      log,
    })
  const durable: DurableWork[] = []
  const lifecycle = createLifecycle({
    store: async () => config.store ?? (await defaultStore()),
    company: addresses.issuer,
    retention: { ...checked.operations.retention, ...checked.conversationRetention },
    now,
    log,
    durable,
    onDeadline: () => givenUp.abort(),
    onClose() {
      unobserved?.()
      changes.close()
      fetcher?.close()
      guardedFetch?.close()
    },
  })
  const changes = createChanges({ scope: lifecycle.scope, log })
  const rightsChanged = () => {
    // Nobody but an inbox shows what Sessions may do.
    if (checked.inbox !== null && checked.conversations !== null) changes.changed(anything)
  }
  const deliveries = createDeliveries({
    scope: lifecycle.scope,
    endpoints: checked.webhooks,
    now,
    random,
    log,
    fetch: (url, init) => fetch(url, init),
    givenUp: givenUp.signal,
    track: lifecycle.track,
    at: (point, id) => checked.faults?.atPoint?.(point, id),
    watch: telemetry.work,
  })
  if (checked.conversations !== null || checked.operations.list.length > 0) durable.push(...deliveries.durable)
  const outgoing = createOutgoing({ endpoints: checked.webhooks, random, poke: deliveries.poke })
  const webhooks = createCompanyWebhooks({
    scope: lifecycle.scope,
    endpoints: checked.webhooks,
    now,
    random,
    poke: deliveries.poke,
  })
  const askedHash = createKeyedHash(deriveKeyring(checked.secrets, 'asked'))
  const operations = createOperations({
    askedHash,
    operations: checked.operations.list,
    changes,
    outgoing,
    scope: lifecycle.scope,
    now,
    random,
    hasPage: checked.operations.hasPage,
    pageOf: addresses.operationPage,
    hooks: checked.operations.hooks,
    news: checked.conversations === null ? null : async (...told) => conversations?.news(...told),
    faults: checked.faults,
    log,
    watch: telemetry.part,
    givenUp: givenUp.signal,
    track: lifecycle.track,
  })
  if (checked.operations.list.length > 0) durable.push(operations.durable)
  const tokens = createSessionTokens(createSealer(deriveKeyring(checked.secrets, 'session-token')))
  const nonces =
    checked.nonceLifetime === null
      ? null
      : createNonces(deriveKeyring(checked.secrets, 'nonce'), checked.nonceLifetime, now)
  const limits = { idle: checked.lifetimes.sessionIdle }
  const requestLimits = createRequestLimits({
    settings: checked.limits,
    address: config.address,
    isLocal: development,
    now,
    random,
    log,
  })
  const wordings = createWordings(checked.languages)
  const conversations =
    checked.conversations === null
      ? null
      : createConversations({
          scope: lifecycle.scope,
          now,
          random,
          log,
          settings: checked.conversations,
          sessionLimits: limits,
          agent: config.agent ?? null,
          changes,
          outgoing,
          watch: telemetry.work,
          askedHash,
          faults: checked.faults,
          wordings,
          standardLocale: checked.languages.standard,
          organization: config.organization.name,
          ending: lifecycle.ending,
          givenUp: givenUp.signal,
          registry,
          supports: extensionCheck.has,
          grantableScopes: grantableScopes(checked.signIn),
          track: lifecycle.track,
          writeOperation: operations.parts.write,
          revising: operations.revising,
        })
  if (conversations !== null) durable.push(conversations.turns, conversations.care)
  const unobserved = conversations === null ? null : telemetry.work.observe(conversations.gauges)
  const tokenSettings: TokenSettings = {
    tokens,
    importKey,
    nonces,
    now,
    random,
    proofWindow,
    proofSkew,
    company: addresses.issuer,
    tokenEndpoint: addresses.token,
    mcpResources: mcpServersOf(published),
    resources: resourcesOf(published),
    limits,
    requestLimits,
    sessionLifetime: checked.lifetimes.session,
    tokenLifetime: checked.lifetimes.sessionToken,
    ...checked.signOut,
    rightsChanged,
    connections:
      config.onConnection === undefined
        ? null
        : createConnectionHook({
            onConnection: config.onConnection,
            nameOf: async (clientId) => (await findAgent(await lifecycle.scope(), clientId))?.name,
            sentenceOf: wordings.scopes(undefined),
            track: lifecycle.track,
            log,
          }),
    accountTokenLifetime: checked.lifetimes.accountToken,
    rotation: {
      ...checked.rotation,
      successors: createSuccessors(deriveKeyring(checked.secrets, 'account-token')),
    },
  }
  const authenticator = createAuthenticator({
    scope: lifecycle.scope,
    tokens,
    importKey,
    nonces,
    now,
    proofWindow,
    proofSkew,
    askedFor: addresses.askedFor,
    company: addresses.issuer,
    limits,
    requestLimits,
    admission,
  })
  const accounts = createAccounts({
    scope: lifecycle.scope,
    now,
    wordings,
    ...checked.signOut,
    told: changes.changed,
    rightsChanged,
  })
  const handler = createRequestHandler({
    accounts,
    wordings,
    published,
    registry,
    authenticator,
    directory,
    nonces,
    tokenSettings,
    requestLimits,
    scope: lifecycle.scope,
    log,
    random,
    now,
    mcp: published.hasTools
      ? createMcpEndpoint({
          registry,
          serverInfo: { name: checked.domains[0] as string, title: config.organization.name, version: '1' },
          url: addresses.mcp,
          resourceMetadataUrl: addresses.mcpMetadata,
          hostNames: hosts.names,
          log,
        })
      : null,
    operations: checked.operations.list.length === 0 ? null : operations,
    operationsResource: checked.operations.resource,
    conversations,
    inbox:
      checked.inbox === null
        ? null
        : {
            settings: checked.inbox,
            conversations: conversations?.ofCompany ?? null,
            operations: checked.operations.list.length === 0 ? null : operations.ofCompany,
            webhooks: checked.webhooks.length === 0 ? null : webhooks,
            forms: createSealer(deriveKeyring(checked.secrets, 'form')),
            issuer: addresses.issuer,
            origin,
            organization: config.organization.name,
            path: publicPath(addresses.inbox),
            scope: lifecycle.scope,
            now,
            random,
            log,
            wordings,
            requestLimits,
            directory,
            sessionLimits: limits,
            grantableScopes: grantableScopes(checked.signIn),
            hasAgent: config.agent !== undefined,
            live: {
              changes,
              track: lifecycle.track,
              ending: lifecycle.ending,
              people: conversations?.parts.people ?? null,
              absence: (conversations?.parts.settings.timing ?? standardTiming).absence,
            },
          },
    people: peopleOf(config),
    signIn: signInOf(config, checked, addresses),
    logos,
    browser:
      checked.browser === null
        ? null
        : {
            endpoint: addresses.browserSession,
            cookie: checked.browser,
            requestLimits,
            pages: { origin, domains: checked.domains },
            directory,
            scope: lifecycle.scope,
            limits,
            now,
            random,
          },
    oneTimeCodes:
      checked.signIn.mediated === undefined ? null : createKeyedHash(deriveKeyring(checked.secrets, 'one-time-code')),
    forms: createSealer(deriveKeyring(checked.secrets, 'form')),
    accountTokenLifetime: checked.lifetimes.accountToken,
    admission,
    lifecycle,
    telemetry,
  })

  const browsers: BrowserReader | null =
    checked.browser === null ? null : { cookie: checked.browser, scope: lifecycle.scope, limits, admission, now }

  const answer = (request: Request) => handler.fetch(request).catch((error: unknown) => handler.failed(error))
  const faults = createFaults(checked.faults, log)

  return Object.freeze<Company>({
    fetch: faults === null ? answer : async (request) => faults(request, await answer(request)),
    owns: handler.owns,
    authenticate: createApiAuthenticator({
      authenticator,
      apis: checked.apis,
      extensions: checked.extensions,
      requireExtension: extensionCheck.require,
      originOf: hosts.originOf,
      run: lifecycle.run,
      failed: handler.failed,
    }),
    supports: async (principal, extension) => extensionCheck.has(principal, extension),
    browserPrincipal: async (request) =>
      // Who brings no cookie of ours is nobody's browser, whether the store answers or not: a site's own visitors go on.
      browsers === null || readCookies(request, browsers.cookie.name).length === 0
        ? null
        : lifecycle.run(() => readBrowserPrincipal(request, browsers)),
    accounts,
    agents: createAgents({
      ...{ scope: lifecycle.scope, now, log, allowHttp: development },
      rightsChanged() {
        rightsChanged()
        if (checked.conversations !== null) changes.changed(blockedAgents)
      },
    }),
    operations: Object.freeze(operations.ofCompany),
    conversations: Object.freeze(conversations?.ofCompany ?? withoutConversations()),
    webhooks: Object.freeze(webhooks),
    start: lifecycle.start,
    close: async (options) => lifecycle.close(options),
    work: lifecycle.work,
    async health() {
      const store = config.store?.title ?? config.store?.name ?? 'sqlite'
      try {
        const scope = await lifecycle.scope()
        const { schema } = await scope.db.health()
        const moment = { now: now() }
        const [outbox, turns, told] = await Promise.all([
          backlog(scope, moment),
          dueTurnCount(scope, moment),
          deliveryBacklog(scope, moment),
        ])
        return { ok: true, store, schema, outbox, turns, deliveries: told }
      } catch (error) {
        log.error({ error: error instanceof Error ? error.message : typeof error }, 'the store is not reachable')
        return { ok: false, store, schema: null, outbox: null, turns: null, deliveries: null }
      }
    },
  })
}

function signInOf(config: CompanyConfig, { signIn: { direct, device } }: CheckedConfig, { agents }: Addresses) {
  const people = peopleOf(config)
  if ((!direct && !device) || people === null) return null
  return { ...people, connectedAgentsPage: config.connectedAgentsPage ?? publicPath(agents) }
}

/** Who is signed in to the site, and where they do so; null where the company doesn't say. */
function peopleOf({ account, signInPage, switchAccountPage }: CompanyConfig) {
  if (!account || !signInPage) return null
  return { account, signInPage, switchAccountPage: switchAccountPage ?? signInPage }
}

/** Loaded only where no store is configured, so that a Company on PostgreSQL never opens SQLite. */
async function defaultStore(): Promise<Store> {
  const { sqlite } = await import('./store/sqlite.ts')
  return sqlite('poppy.db')
}

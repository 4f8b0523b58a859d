import { isLoopbackHost, isScope, protocolScopes } from '@poppyseed/protocol'
import { checkOnConnection, type OnConnection } from './accounts/connection-hook.ts'
import type { Rotation } from './accounts/rotation.ts'
import { checkSignOut, type SignOutSettings } from './accounts/sign-out-settings.ts'
import { type AgentSettings, checkAgents } from './agents/settings.ts'
import { type BrowserSettings, checkBrowser } from './browser/browser-settings.ts'
import type { CookieSettings } from './browser/cookie.ts'
import { checkShapes, isPlain, refuseUnknown } from './config-shapes.ts'
import { wrong } from './configuration-error.ts'
import { type ConversationRetention, checkConversationRetention } from './conversations/retention.ts'
import { type CheckedConversations, type ConversationsConfig, checkConversations } from './conversations/settings.ts'
import { createAddresses } from './discovery/addresses.ts'
import { type ApisConfig, type CheckedApis, checkApis } from './discovery/apis.ts'
import { checkOrganization, domainAbove, type OrganizationConfig } from './discovery/domains.ts'
import { type CheckedExtensions, checkExtensions, type ExtensionsConfig } from './discovery/extensions.ts'
import { type CheckedReach, checkReach, type ReachConfig } from './discovery/reach-settings.ts'
import { checkFaults, type FaultSettings } from './faults/faults.ts'
import { type CheckedInbox, checkInbox, type InboxConfig } from './inbox/settings.ts'
import { type CheckedLimits, checkLimits, type LimitSettings } from './limits/settings.ts'
import type { FetchDocument } from './net/fetch-document.ts'
import { type CheckedOperations, checkOperations, type OperationsConfig } from './operations/settings.ts'
import type { Account } from './sign-in/person.ts'
import { checkSignIn, type OfferedSignIn, type SignInTypes } from './sign-in/sign-in-settings.ts'
import type { Logger, Store } from './store/database.ts'
import type { Tool } from './tools/tool.ts'
import { checkWebhooks, type WebhookEndpoint, type WebhooksConfig } from './webhooks/settings.ts'
import { plainScopes } from './words/scope-text.ts'
import {
  type CheckedLanguages,
  checkLanguages,
  checkScopeText,
  type LanguageConfig,
  type ScopeText,
} from './words/settings.ts'

/** What a company sets. Checked once, when `createCompany` runs; each mistake is a sentence that says what to write. */
export interface CompanyConfig
  extends ReachConfig,
    ApisConfig,
    ExtensionsConfig,
    OperationsConfig,
    ConversationsConfig,
    WebhooksConfig,
    InboxConfig,
    LanguageConfig {
  readonly organization: OrganizationConfig
  /** `https://host`: all URLs, `htu`, `aud` and redirects begin with it; never taken from a request. */
  readonly origin: string
  /**
   * At least 32 characters from a random source, or a list with the newest first. It seals Session Tokens and derives
   * nonces; an older one stays in the list until the tokens that it sealed have run out.
   */
  readonly secret: string | readonly string[] | undefined
  /** `sqlite('file')` or `postgres(url)`; left out, `sqlite('poppy.db')` in the working folder. */
  readonly store?: Store
  /** Who is signed in to the site on this request, or null. Needed for Direct Sign-In. */
  readonly account?: (request: Request) => Account | null | Promise<Account | null>
  /** Where the site's own sign-in is, given the path to come back to (a path on `origin`). Needed for Direct Sign-In. */
  readonly signInPage?: (returnTo: string) => string
  /** Where a person changes to another account; left out, `signInPage`. */
  readonly switchAccountPage?: (returnTo: string) => string
  /**
   * The site's own page where a person sees and ends connections (4.9), linked from the consent page; left out, the
   * library's, `/poppy/agents`.
   */
  readonly connectedAgentsPage?: string
  /** Is told of each new sign-in of an agent, to send the person a mail (4.9). What it throws breaks no sign-in. */
  readonly onConnection?: OnConnection
  /** What a sign-out does beside signing out (4.9). */
  readonly signOut?: SignOutSettings
  /**
   * Scope to what it means for the person, as a sentence fragment after "It could then" (4.4): `'See your bookings'`, or
   * `{ en: 'See your bookings', de: 'Ihre Buchungen sehen' }`. In a language that isn't there, the text is that of
   * `language`, else the English one, else the first.
   */
  readonly scopes?: Readonly<Record<string, ScopeText>>
  /** Which scopes each type of sign-in can grant (4.4). */
  readonly signIn?: SignInTypes
  readonly tools?: readonly Tool[]
  /** Lets the browser of a Personal Agent join its Session (5): off when left out. */
  readonly browser?: true | BrowserSettings
  /** Which Personal Agents may come (4.1), and whether their logos are shown (4.5). */
  readonly agents?: AgentSettings
  /** DPoP nonces (4.3): off when left out. `lifetime` in seconds, 300 when left out. */
  readonly nonces?: boolean | { readonly lifetime?: number }
  /**
   * Whether an Account Token is replaced each time that it is used (4.8): off when left out. For `grace` seconds, 120 when
   * left out, the replaced one still gives its successor, so parallel requests and lost answers sign nobody out; after
   * that it ends the sign-in, because somebody has a copy.
   */
  readonly rotation?: boolean | { readonly grace?: number }
  /** Lifetimes, in seconds. */
  readonly lifetimes?: {
    /** A Session Token: 3600 when left out (4.2: hours, not days). */
    readonly sessionToken?: number
    /** A Session: 30 days when left out. */
    readonly session?: number
    /** A Session without use: 7 days when left out. */
    readonly sessionIdle?: number
    /** An Account Token: 90 days when left out; null for no end (4.8). */
    readonly accountToken?: number | null
  }
  /** How much others may ask (4.1, 4.3): on when left out; `false` switches all of it off. */
  readonly limits?: LimitSettings | false
  /**
   * The IP address that a request comes from, for limits by address. Left out, the one that the Node adapter saw; where
   * neither tells it, those limits are off. Behind a proxy, take what your own proxy wrote and nothing that came from afar.
   */
  readonly address?: (request: Request) => string
  /** `true` allows `http://` on loopback hosts, here and for agents. Says so loudly; refused for any other host. */
  readonly development?: boolean
  /** Faults on purpose, for tests: only together with `development: true`. */
  readonly faults?: FaultSettings
  /** Where warnings and failures go; pino's call shape. Left out: warnings and errors go to the console. */
  readonly log?: Logger
  /** How documents of strangers are fetched; left out, the guarded fetcher (HTTPS, public addresses, no redirects). */
  readonly fetchDocument?: FetchDocument
  /** Milliseconds since 1970; left out, the system's clock. */
  readonly now?: () => number
  /** Random bytes; left out, the system's. */
  readonly random?: (length: number) => Uint8Array
}

const knownSettings = new Set<string>([
  'organization',
  'origin',
  'basePath',
  'issuer',
  'proxy',
  'secret',
  'store',
  'account',
  'signInPage',
  'switchAccountPage',
  'connectedAgentsPage',
  'onConnection',
  'signOut',
  'language',
  'words',
  'scopes',
  'signIn',
  'tools',
  'toolsResource',
  'operations',
  'operationsResource',
  'onOperation',
  'agent',
  'conversations',
  'retention',
  'webhooks',
  'staff',
  'staffSignInPage',
  'staffSignOutPage',
  'customer',
  'savedReplies',
  'apis',
  'extensions',
  'browser',
  'agents',
  'nonces',
  'lifetimes',
  'rotation',
  'limits',
  'address',
  'development',
  'faults',
  'log',
  'fetchDocument',
  'now',
  'random',
])

/** The configuration once it is known to be right. */
export interface CheckedConfig {
  /** The Company's domains, the main one first. */
  readonly domains: readonly string[]
  readonly reach: CheckedReach
  readonly apis: CheckedApis
  readonly extensions: CheckedExtensions
  readonly operations: CheckedOperations
  /** Null where there are no conversations (7.1). */
  readonly conversations: CheckedConversations | null
  readonly conversationRetention: ConversationRetention
  readonly webhooks: readonly WebhookEndpoint[]
  /** Null where there is no staff inbox. */
  readonly inbox: CheckedInbox | null
  readonly secrets: readonly string[]
  readonly signIn: OfferedSignIn
  /** Null where no browser may join (5). */
  readonly browser: CookieSettings | null
  /** What each scope means, in one language: for documents. */
  readonly scopes: Readonly<Record<string, string>>
  readonly languages: CheckedLanguages
  /** Seconds, or null where nonces are off. */
  readonly nonceLifetime: number | null
  /** Whether Account Tokens rotate, and the grace of those that were replaced, in milliseconds. */
  readonly rotation: Pick<Rotation, 'replaces' | 'grace'>
  readonly signOut: { readonly endsSessions: boolean }
  /** Milliseconds. */
  readonly lifetimes: {
    readonly sessionToken: number
    readonly session: number
    readonly sessionIdle: number
    readonly accountToken: number | null
  }
  readonly limits: CheckedLimits
  readonly faults: FaultSettings | null
}

/** @throws ConfigurationError with a sentence that says what to write */
export function checkConfig(config: CompanyConfig): CheckedConfig {
  if (typeof config !== 'object' || config === null)
    throw wrong('createCompany takes one object: createCompany({ organization, origin, secret, … }).')
  for (const name of Object.keys(config)) {
    if (!knownSettings.has(name))
      throw wrong(`There is no setting \`${name}\`. The settings are: ${[...knownSettings].join(', ')}.`)
  }
  checkShapes(config)
  const domains = checkOrganization(config.organization)
  checkOrigin(config, domains)
  checkAgents(config)
  checkOnConnection(config.onConnection)
  const languages = checkLanguages(config, checkScopes(config.scopes ?? {}))
  const scopes = plainScopes(languages)
  const reach = checkReach(config)
  const addresses = createAddresses({ origin: config.origin, ...reach })
  const operations = checkOperations(config, { addresses, domains })
  const conversations = checkConversations(config)
  return {
    domains,
    reach,
    extensions: { ...checkExtensions(config, domains), ...operations.extensions },
    operations,
    conversations,
    inbox: checkInbox(config, { conversations: conversations !== null, operations: operations.list.length > 0 }),
    conversationRetention: checkConversationRetention(config.retention),
    webhooks: checkWebhooks(config.webhooks, {
      isDevelopment: config.development === true,
      hasEvents: conversations !== null || operations.list.length > 0,
    }),
    apis: checkApis(config, addresses),
    secrets: checkSecrets(config.secret),
    scopes,
    languages,
    signIn: checkSignIn(config, scopes),
    browser: checkBrowser(config.browser, { domains, host: new URL(config.origin).hostname }),
    nonceLifetime: checkNonces(config.nonces),
    rotation: checkRotation(config.rotation),
    signOut: checkSignOut(config.signOut),
    lifetimes: checkLifetimes(config.lifetimes ?? {}),
    limits: checkLimits(config),
    faults: checkFaults(config.faults, config.development === true),
  }
}

function checkOrigin({ origin, development }: CompanyConfig, domains: readonly string[]): void {
  let url: URL
  try {
    url = new URL(origin)
  } catch {
    throw wrong("`origin` must be the site's public origin, such as 'https://miramar.example'.")
  }
  if (url.origin !== origin)
    throw wrong(
      `\`origin\` must be an origin and nothing more, in the form browsers write it: '${url.origin === 'null' ? 'https://miramar.example' : url.origin}'.`,
    )
  const isLoopback = isLoopbackHost(url.hostname)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback && development)) {
    throw wrong(
      isLoopback
        ? '`origin` is http: on this machine. For development write `development: true`; anything public needs https:.'
        : '`origin` must begin with https:. Plain http: is for development on loopback hosts alone.',
    )
  }
  if (development && !isLoopback)
    throw wrong('`development: true` is for loopback hosts alone (localhost, 127.0.0.1, [::1]). Take it out.')
  if (domainAbove(url.hostname, domains) === undefined) {
    throw wrong(
      `\`origin\` must be on a domain of \`organization\` or a subdomain of it: ${url.hostname} is not on ${domains.join(' or ')}.`,
    )
  }
}

function checkSecrets(secret: CompanyConfig['secret']): readonly string[] {
  const secrets = typeof secret === 'string' ? [secret] : secret
  if (!Array.isArray(secrets) || secrets.length === 0) {
    throw wrong(
      '`secret` is missing. Make one with `openssl rand -base64 32`, keep it out of the code, and pass it in, such as secret: process.env.POPPY_SECRET.',
    )
  }
  for (const one of secrets) {
    if (typeof one !== 'string' || one.length < 32 || new Set(one).size < 10) {
      throw wrong(
        '`secret` is too weak: at least 32 characters from a random source. Make one with `openssl rand -base64 32`.',
      )
    }
  }
  if (new Set(secrets).size !== secrets.length)
    throw wrong('`secret` holds the same secret twice: newest first, each once.')
  return secrets
}

function checkScopes(scopes: Readonly<Record<string, ScopeText>>): Readonly<Record<string, ScopeText>> {
  for (const [scope, text] of Object.entries(scopes)) {
    if (!isScope(scope))
      throw wrong(`\`scopes\`: '${scope}' is not a scope: printable ASCII without spaces, quotes and backslashes.`)
    if (scope.startsWith('poppy:') && !protocolScopes.some((own) => own === scope)) {
      throw wrong(
        `\`scopes\`: '${scope}' begins with poppy:, which is for the protocol's own poppy:read and poppy:write. Choose another name.`,
      )
    }
    checkScopeText(scope, text)
  }
  return Object.freeze({ ...scopes })
}

function checkNonces(nonces: CompanyConfig['nonces']): number | null {
  if (nonces === undefined || nonces === false) return null
  if (nonces !== true) {
    if (!isPlain(nonces)) throw wrong('`nonces` is true, false or { lifetime: 300 }, in seconds.')
    refuseUnknown('nonces', nonces, ['lifetime'])
  }
  const lifetime = nonces === true ? 300 : (nonces.lifetime ?? 300)
  if (!Number.isInteger(lifetime) || lifetime < 10 || lifetime > 86_400)
    throw wrong('`nonces.lifetime` is a whole number of seconds from 10 to 86400.')
  return lifetime
}

const standardGrace = 120

function checkRotation(rotation: CompanyConfig['rotation'] = false): CheckedConfig['rotation'] {
  if (typeof rotation !== 'boolean') {
    if (!isPlain(rotation)) throw wrong('`rotation` is true, false or { grace: 120 }, in seconds.')
    refuseUnknown('rotation', rotation, ['grace'])
  }
  const grace = typeof rotation === 'boolean' ? standardGrace : (rotation.grace ?? standardGrace)
  if (!Number.isInteger(grace) || grace < 10 || grace > 3600)
    throw wrong('`rotation.grace` is a whole number of seconds from 10 to 3600.')
  return { replaces: rotation !== false, grace: grace * 1000 }
}

function checkLifetimes(lifetimes: NonNullable<CompanyConfig['lifetimes']>): CheckedConfig['lifetimes'] {
  if (!isPlain(lifetimes)) throw wrong('Write lifetimes: { sessionToken: 3600 }, each in seconds.')
  refuseUnknown('lifetimes', lifetimes, ['sessionToken', 'session', 'sessionIdle', 'accountToken'])
  const seconds = (name: keyof typeof lifetimes, standard: number): number => {
    const value = lifetimes[name] ?? standard
    if (!Number.isInteger(value) || value < 1 || value > 10 * 366 * 86_400)
      throw wrong(`\`lifetimes.${name}\` is a whole number of seconds, such as ${standard}.`)
    return value * 1000
  }
  const day = 86_400
  if ((lifetimes.sessionToken ?? 0) > day)
    throw wrong('`lifetimes.sessionToken` is at most 86400: a Session Token lasts hours, not days (4.2).')
  return {
    sessionToken: seconds('sessionToken', 3600),
    session: seconds('session', 30 * day),
    sessionIdle: seconds('sessionIdle', 7 * day),
    accountToken: lifetimes.accountToken === null ? null : seconds('accountToken', 90 * day),
  }
}

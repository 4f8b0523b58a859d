import { type ApiEntry, base64url, type OAuthMetadata } from '@poppyseed/protocol'
import type { AgentContext } from './context.ts'
import { discover, type FoundCompany } from './discovery/discover.ts'
import { AgentError } from './errors.ts'
import { createSession, type Session } from './session.ts'
import { type KnownAccount, knownAccounts } from './sessions/known.ts'
import { noteCompany, type SessionPlace, type UserAtCompany, userAtCompany } from './sessions/records.ts'
import { completeSignIn } from './sessions/sign-in.ts'
import type { SignInResult } from './sessions/sign-in-end.ts'
import { createSessionTokens, type SessionTokens, type TokenSource } from './sessions/tokens.ts'

/** A Company as one User meets it (3). */
export interface Company {
  /** `organization.domain`. */
  readonly domain: string
  readonly name: string
  /** The Company's identity (3.2). Several domains may have the same. Undefined where there is only a website. */
  readonly issuer: string | undefined
  readonly protocolVersion: string
  /** Scopes by sign-in type (4.4); undefined where the type isn't offered. */
  readonly signIn: {
    readonly direct: readonly string[] | undefined
    readonly device: readonly string[] | undefined
    readonly mediated: readonly string[] | undefined
  }
  /** What each scope of the Company's own means. */
  readonly customScopes: Readonly<Record<string, string>>
  /** All that it lists, types that this library doesn't know included. */
  readonly apis: readonly ApiEntry[]
  readonly extensions: readonly string[]
  /** The User's accounts there that an Account Token is held for (4.4). Asks nobody. */
  readonly accounts: () => Promise<readonly KnownAccount[]>
  /** The User's Session of a name, kept from run to run. Nothing is sent until it is used. */
  readonly session: (options?: SessionOptions) => Session
  /** A Session of its own for one task, beside the others; started at once. */
  readonly startSession: (options?: { readonly account?: string }) => Promise<Session>
}

/** Which Session. */
export interface SessionOptions {
  /** `default` when left out. */
  readonly name?: string
  /**
   * One of several accounts that the User has at the Company (4.4), by a name of your own that no Company sees; `default`
   * when left out. Each has its Account Token and its Sessions; signing in or out of one leaves the others as they are.
   */
  readonly account?: string
}

/** Finds a Company for a User. */
export async function openCompany(context: AgentContext, userKey: string, domainOrUrl: string): Promise<Company> {
  const found = await discover(context, domainOrUrl)
  const { issuer } = found.discovery
  if (issuer !== undefined) await noteCompany(context, userKey, { issuer, domain: found.domain, name: found.name })
  const session = ({ name = 'default', account = 'default' }: SessionOptions = {}): Session => {
    if (issuer === undefined)
      throw new AgentError('not_a_company', `${found.name} has a website to browse and nothing to call.`)
    return sessionAt(context, { userKey, issuer, account, session: name }, domainOrUrl)
  }
  return {
    domain: found.domain,
    name: found.name,
    issuer,
    protocolVersion: found.discovery.protocolVersion,
    signIn: {
      direct: found.discovery.signIn.direct,
      device: found.discovery.signIn.device,
      mediated: found.discovery.signIn.mediated?.scopes,
    },
    customScopes: found.discovery.customScopes,
    apis: found.discovery.apis,
    extensions: Object.keys(found.discovery.extensions),
    accounts: async () => (issuer === undefined ? [] : knownAccounts(context, userKey, issuer)),
    session,
    startSession: async ({ account = 'default' } = {}) => {
      const started = session({ account, name: `task-${base64url(context.random(16))}` })
      await started.start()
      return started
    },
  }
}

function sessionAt(context: AgentContext, place: SessionPlace, domainOrUrl: string): Session {
  const { tokens, find } = tokensAt(context, place, domainOrUrl)
  return createSession(context, tokens, domainOrUrl, find, (callbackUrl) =>
    completeSignInAt(context, callbackUrl, place),
  )
}

/** How long a Session goes on with what it has just found, in milliseconds: for documents that nobody may keep. */
const inHand = 60 * 1000

/** A Session's tokens. Documents are asked for again now and then: the reader keeps them as their headers allow. */
function tokensAt(
  context: AgentContext,
  place: SessionPlace,
  domainOrUrl: string,
): { readonly tokens: SessionTokens; readonly find: () => Promise<FoundCompany & { server: OAuthMetadata }> } {
  const find = recently(context, async () => {
    const found = await discover(context, domainOrUrl)
    // 3.2: tokens belong to the issuer that they are from, whatever the document says today
    if (!found.server || found.discovery.issuer !== place.issuer) {
      throw new AgentError('company_changed', `${found.name} now names another issuer, so the Session can't go on.`)
    }
    return { ...found, server: found.server }
  })
  let known: UserAtCompany | undefined
  const user = async () => {
    if (known) return known
    const { domain, name } = await find()
    known = await userAtCompany(context, place.userKey, { issuer: place.issuer, domain, name })
    return known
  }
  return { tokens: createSessionTokens(context, place, find, user), find }
}

/** Does the work, and gives its result again for a short while; what failed is done again. */
function recently<T>({ now }: AgentContext, work: () => Promise<T>): () => Promise<T> {
  let last: { readonly at: number; readonly result: Promise<T> } | undefined
  return async () => {
    if (!last || now() >= last.at + inHand) last = { at: now(), result: work() }
    const mine = last
    try {
      return await mine.result
    } catch (error) {
      if (last === mine) last = undefined
      throw error
    }
  }
}

/**
 * Finishes the sign-in that a callback names, wherever in this agent it was begun.
 * @param only where the callback must belong to one Session
 */
export function completeSignInAt(
  context: AgentContext,
  callbackUrl: string,
  only?: SessionPlace,
): Promise<SignInResult> {
  return completeSignIn(context, callbackUrl, only, async (place, address) => {
    const { tokens, find } = tokensAt(context, place, address)
    const source: TokenSource = await find()
    return { tokens, source }
  })
}

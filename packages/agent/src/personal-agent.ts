import { setTimeout as sleep } from 'node:timers/promises'
import { type Company, completeSignInAt, openCompany } from './company.ts'
import { type AgentContext, createEndings, createNonces } from './context.ts'
import { type KnownUnsent, knownUnsent } from './conversations/outbox.ts'
import { createReaders } from './conversations/readers.ts'
import { type KnownConversation, knownConversations } from './conversations/records.ts'
import { AgentError } from './errors.ts'
import type { SupportedExtension } from './identity/extensions.ts'
import { createIdentity, type Identity } from './identity/identity.ts'
import { createKeyRing, type IdentityKeys } from './identity/key-ring.ts'
import { createClocks } from './net/clocks.ts'
import { createDocumentReader } from './net/document.ts'
import type { Fetch } from './net/exchange.ts'
import { createKeptLimits } from './net/limits.ts'
import { createPatience } from './net/patience.ts'
import { createPublicFetch } from './net/public-fetch.ts'
import { type KnownOperation, knownOperations } from './operations/records.ts'
import { checkOptions } from './options.ts'
import { type KnownCompany, knownCompanies } from './sessions/known.ts'
import type { SignInResult } from './sessions/sign-in-end.ts'
import { lockIn } from './store/lease.ts'
import { createQueues } from './store/queues.ts'
import type { AgentStore } from './store/store.ts'
import { createWebHandler } from './web-handler.ts'

/** What a Personal Agent is made of. */
export interface PersonalAgentOptions {
  /** The HTTPS URL of its metadata document (4.1), which {@link PersonalAgent.fetch} serves. */
  readonly clientId: string
  /** Its name, as Companies show it to the User. */
  readonly name: string
  readonly logoUri?: string
  /** Where Direct Sign-In comes back to; `oauth/callback` beside the document when left out. Same host as `clientId`. */
  readonly redirectUri?: string
  /**
   * Private ES256 keys with `kid`, as JSON, from `generateKey()`. Secrets. The first signs and all are published, until
   * {@link PersonalAgent.identity} rotates: then the store says which, for as long as the first one here is the same.
   */
  readonly keys: readonly unknown[]
  /**
   * Extensions that the agent supports, each with its major version (3.3), as its document lists them:
   * `{ 'miramar.example/loyalty': { version: 1 } }`.
   */
  readonly extensions?: Readonly<Record<string, SupportedExtension>>
  /** Where Users, Sessions and Account Tokens are kept: `fileStore(path)`, `memoryStore()` or your own. */
  readonly store: AgentStore
  /** For every request to a Company. When left out: public addresses alone, and this machine's with `allowHttp`. */
  readonly fetch?: Fetch
  /** Unix time in milliseconds. */
  readonly now?: () => number
  /** So many random bytes, from a cryptographic source. */
  readonly random?: (length: number) => Uint8Array
  /** Waits so many milliseconds, where a Company asks to wait (4.3). */
  readonly wait?: (milliseconds: number, signal?: AbortSignal) => Promise<void>
  /** The longest that one call waits when a Company limits it, in seconds; 60 when left out. Longer is reported. */
  readonly maxWaitSeconds?: number
  /** How long a Company may take, in seconds. */
  readonly timeouts?: AgentTimeouts
  /** Development only: takes `http:` on loopback hosts, as client and as Company. */
  readonly allowHttp?: boolean
}

/** How long a Company may take for one answer, from the request to the last byte, in seconds. */
export interface AgentTimeouts {
  /** `poppy.json`, metadata and OpenAPI documents; 10 when left out. */
  readonly document?: number
  /** The token and revocation endpoints; 20 when left out. */
  readonly token?: number
  /** A call of an operation; 60 when left out. */
  readonly call?: number
  /** How long a stream of a conversation may be silent before it counts as dead; 60 when left out. */
  readonly stream?: number
}

/** A Personal Agent (4.1): one identity, many Users. */
export interface PersonalAgent {
  readonly clientId: string
  readonly redirectUri: string
  /** Its signing keys: which there are, and putting a new one in place of the old. */
  readonly identity: IdentityKeys
  /** Serves the metadata document, the key set and the callback of sign-ins. Mount it where `clientId` points. */
  readonly fetch: (request: Request) => Promise<Response>
  /**
   * The agent at work for one of its Users.
   * @param userKey your own key for the User. No Company ever sees it, or anything derived from it (4.2).
   */
  readonly forUser: (userKey: string) => AgentUser
  /** Finishes the sign-in that a callback URL names, for hosts that route it themselves (4.5). */
  readonly completeSignIn: (callbackUrl: string) => Promise<SignInResult>
}

/** One User of a Personal Agent. */
export interface AgentUser {
  /**
   * Finds a Company and checks all that section 3 says must be checked.
   * @param domainOrUrl a domain such as `example.com`, or a URL on it
   * @throws AgentError
   */
  readonly company: (domainOrUrl: string) => Promise<Company>
  /** The Companies where this User has been, and the access given there. No secrets. */
  readonly companies: () => Promise<readonly KnownCompany[]>
  /** The conversations of this User, at every Company, as last heard; asks nobody. */
  readonly conversations: () => Promise<readonly KnownConversation[]>
  /** The operations that were proposed to this User, at every Company, as last heard; asks nobody. */
  readonly operations: () => Promise<readonly KnownOperation[]>
  /** Messages of this User of which it isn't known what became of them, at every Company; asks nobody. */
  readonly unsent: () => Promise<readonly KnownUnsent[]>
}

/**
 * Makes a Personal Agent.
 *
 * @example
 * const agent = createPersonalAgent({ clientId: 'https://agent.example/agent.json', name: 'Example Agent', keys, store })
 * const company = await agent.forUser('maya').company('miramar.example')
 * const { body } = await company.session().call('search_rooms', { guests: 2 })
 *
 * @throws AgentError `misconfigured`
 */
export function createPersonalAgent(options: PersonalAgentOptions): PersonalAgent {
  checkOptions(options)
  const {
    store,
    allowHttp = false,
    fetch = createPublicFetch(allowHttp),
    now = Date.now,
    random = (length) => crypto.getRandomValues(new Uint8Array(length)),
    wait = async (milliseconds, signal) => {
      await sleep(milliseconds, undefined, signal ? { signal } : {})
    },
    maxWaitSeconds = 60,
    timeouts = {},
  } = options
  const ring = createKeyRing({ clientId: options.clientId, keys: options.keys, store, now })
  const document = createIdentity({
    clientId: options.clientId,
    name: options.name,
    logoUri: options.logoUri,
    redirectUri: options.redirectUri,
    extensions: options.extensions,
    allowHttp,
  })
  const identity: Identity = { ...document, keySet: ring.keySet, signingKey: ring.signingKey }
  const seconds = {
    document: timeouts.document ?? 10,
    token: timeouts.token ?? 20,
    call: timeouts.call ?? 60,
    stream: timeouts.stream ?? 60,
  }
  const queues = createQueues()
  // By time that passes, whatever `now` says: a lease measures how long nothing was heard.
  const lock = lockIn(store, { now: () => performance.now(), random, wait: (milliseconds) => sleep(milliseconds) })
  const patience = createPatience({ now, wait, maxWaitSeconds, kept: createKeptLimits(store, now) })
  const context: AgentContext = {
    identity,
    store,
    fetch,
    now,
    random,
    allowHttp,
    readDocument: createDocumentReader({
      fetch,
      now,
      patience,
      seconds: seconds.document,
      wholeSeconds: 2 * seconds.document + maxWaitSeconds,
    }),
    seconds,
    patience,
    wait,
    clocks: createClocks(now),
    nonces: createNonces(),
    endings: createEndings(),
    readers: createReaders(),
    // In this process first, so that one of it at a time waits for the others.
    alone: (key, work) => queues(key, () => lock(key, work)),
  }
  const complete = (callbackUrl: string) => completeSignInAt(context, callbackUrl)
  return {
    clientId: identity.clientId,
    redirectUri: identity.redirectUri,
    identity: { keys: ring.keys, rotate: ring.rotate },
    fetch: createWebHandler(identity, complete),
    completeSignIn: complete,
    forUser: (userKey) => {
      if (userKey === '') throw new AgentError('misconfigured', 'forUser needs a key of your own for the User.')
      return {
        company: (domainOrUrl) => openCompany(context, userKey, domainOrUrl),
        companies: () => knownCompanies(context, userKey),
        conversations: () => knownConversations(context, userKey),
        operations: () => knownOperations(context, userKey),
        unsent: () => knownUnsent(context, userKey),
      }
    },
  }
}

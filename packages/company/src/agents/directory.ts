import {
  type ClientMetadata,
  isClientId,
  type KeyFinder,
  type KeyImporter,
  PoppyError,
  type PublicKey,
  readClientMetadata,
  type UnverifiedJwt,
} from '@poppyseed/protocol'
import type { FetchDocument } from '../net/fetch-document.ts'
import { type AgentList, readList } from './admission.ts'
import { type AgentLog, type CacheLimits, createDocumentCache, faultOf } from './document-cache.ts'
import { createFetchGate } from './fetch-gate.ts'
import { findCandidates, importOnce, type KeySet, readKeySet } from './key-set.ts'
import type { Newcomers } from './newcomers.ts'

/** 4.1: who is calling. Finds a Personal Agent by its `client_id`: its document, its keys, and whether it may come in. */

/** A Personal Agent that this Company knows. */
export interface KnownAgent {
  readonly metadata: ClientMetadata
  /** Finds the agent's keys that may have signed a JWT, for `checkClientAssertion` and `checkSessionAssertion`. */
  readonly findKeys: KeyFinder
}

/** Finds Personal Agents. */
export interface AgentDirectory {
  /**
   * @throws PoppyError `invalid_client`, the same for every cause; `temporarily_unavailable` when too many unknown
   * agents arrive at once
   */
  readonly find: (clientId: string, options?: FindOptions) => Promise<KnownAgent>
  /**
   * Whether a `client_id` may come in at all: not blocked, and on the allow list where there is one. Fetches nothing.
   * @throws PoppyError `invalid_client`
   */
  readonly admit: (clientId: string, options?: FindOptions) => Promise<void>
  /**
   * Lets an agent in that was found and then authenticated: registered where that is required, and not one new agent too
   * many. Each endpoint at which agents authenticate asks it.
   * @throws PoppyError `invalid_client`, `rate_limited`, `temporarily_unavailable`
   */
  readonly meet: (agent: KnownAgent) => Promise<void>
  /**
   * Whether an agent that was found, and can't authenticate here, is registered where that is required: for the page that
   * a person sees.
   * @throws PoppyError `invalid_client`, `rate_limited`, `temporarily_unavailable`
   */
  readonly checkRegistered: (agent: KnownAgent) => Promise<void>
}

/** How an agent is looked for. */
export interface FindOptions {
  /** Also one that is blocked: at sign-out (4.9), and where the same request has been let in already. */
  readonly evenBlocked?: boolean
}

/** What a directory needs. */
export interface AgentDirectoryOptions {
  readonly fetchDocument: FetchDocument
  /** Unix time in milliseconds. */
  readonly now: () => number
  /** Only these may come in. Everybody when left out. */
  readonly allow?: AgentList | undefined
  /** These may not, whatever `allow` says. */
  readonly block?: AgentList | undefined
  /** Development only: `http:` on a loopback host. */
  readonly allowHttp?: boolean | undefined
  readonly importKey: KeyImporter
  readonly log: AgentLog
  readonly limits?: Partial<AgentLimits> | undefined
  /** Who looks at agents that may be new. Nobody when left out. */
  readonly newcomers?: Newcomers | undefined
}

/** Bounds of a directory. Times in milliseconds. */
export interface AgentLimits extends CacheLimits {
  /** Fetches at one time. */
  readonly maxFetches: number
  /** The same, for one host. */
  readonly maxFetchesPerHost: number
}

const defaultLimits: AgentLimits = {
  minFresh: 60_000,
  maxFresh: 86_400_000,
  defaultFresh: 300_000,
  staleFor: 3_600_000,
  failureFor: 10_000,
  coolDown: 30_000,
  maxEntries: 1000,
  maxFetches: 64,
  maxFetchesPerHost: 8,
}

/** Makes a directory. Lists are asked at every `find`, so a block bites on the next request. */
export function createAgentDirectory(options: AgentDirectoryOptions): AgentDirectory {
  const { fetchDocument, now, allowHttp = false, log } = options
  const importKey = importOnce(options.importKey)
  const isAllowed = options.allow === undefined ? () => true : readList(options.allow)
  const isBlocked = options.block === undefined ? () => false : readList(options.block)
  const limits: AgentLimits = { ...defaultLimits, ...options.limits }
  const gate = createFetchGate(limits.maxFetches, limits.maxFetchesPerHost)
  const cached = { fetchDocument, now, limits, gate, log }
  const documents = createDocumentCache<ClientMetadata>({
    ...cached,
    read: (document, url) => Object.freeze(readClientMetadata(document, url, allowHttp)),
  })
  const keySets = createDocumentCache<KeySet>({ ...cached, read: readKeySet })

  /** Usable keys of a set that may have signed. */
  async function keysFor(jwt: UnverifiedJwt, set: KeySet): Promise<readonly PublicKey[]> {
    const keys: PublicKey[] = []
    for (const jwk of findCandidates(set, jwt.keyId, jwt.algorithm)) {
      const key = await importKey(jwk, jwt.algorithm)
      if (key) keys.push(key)
    }
    return keys
  }

  /** What was judged by a copy that came just then: fetching once more can bring nothing newer. */
  const judgedByNewest = new WeakSet<UnverifiedJwt>()

  async function findKeys(jwksUri: string, jwt: UnverifiedJwt, again: boolean): Promise<readonly PublicKey[]> {
    try {
      if (!again) {
        const found = await keySets.get(jwksUri)
        if (found.isNew) judgedByNewest.add(jwt)
        return await keysFor(jwt, found.value)
      }
      if (judgedByNewest.has(jwt)) return []
      const newer = await keySets.renew(jwksUri)
      return newer === null ? [] : await keysFor(jwt, newer)
    } catch (error) {
      if (error instanceof PoppyError) throw error
      faultOf(error)
      judgedByNewest.add(jwt)
      // No keys: the assertion is refused as one with a wrong signature is, and only the log knows the difference.
      return []
    }
  }

  async function admit(clientId: string, { evenBlocked = false }: FindOptions = {}): Promise<void> {
    if (!isClientId(clientId, allowHttp)) throw refused('not a client_id')
    // 4.1: asked before anything is fetched for it. Block wins.
    if (!evenBlocked && (await isBlocked(clientId))) throw refused('blocked')
    if (!(await isAllowed(clientId))) throw refused('not on the allow list')
  }

  return {
    admit,
    async find(clientId, how) {
      await admit(clientId, how)
      const metadata = await documents.get(clientId).then(
        (found) => found.value,
        (error: unknown) => {
          throw error instanceof PoppyError ? error : refused(`client metadata: ${faultOf(error)}`)
        },
      )
      const { jwksUri } = metadata
      // Who has no keys has signed nothing.
      return { metadata, findKeys: async (jwt, again) => (jwksUri === undefined ? [] : findKeys(jwksUri, jwt, again)) }
    },
    meet: async ({ metadata }) => options.newcomers?.meet(metadata),
    checkRegistered: async ({ metadata }) => options.newcomers?.checkRegistered(metadata),
  }
}

function refused(reason: string): PoppyError {
  return new PoppyError('invalid_client', { description: 'The Personal Agent was not accepted.', reason })
}

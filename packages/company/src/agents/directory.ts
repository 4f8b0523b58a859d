import {
  type ClientMetadata,
  hasValidSignature,
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
  readonly find: (clientId: string) => Promise<KnownAgent>
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

  /** Usable keys of a set that may have signed; without a `kid`, only those that did. */
  async function keysFor(jwt: UnverifiedJwt, set: KeySet): Promise<readonly PublicKey[]> {
    const keys: PublicKey[] = []
    for (const jwk of findCandidates(set, jwt.keyId, jwt.algorithm)) {
      const key = await importKey(jwk, jwt.algorithm)
      if (!key) continue
      // With no name to miss, only the signature tells whether the agent has a new key.
      if (jwt.keyId === undefined && !(await hasValidSignature(jwt, key))) continue
      keys.push(key)
    }
    return keys
  }

  async function findKeys(jwksUri: string, jwt: UnverifiedJwt): Promise<readonly PublicKey[]> {
    let set: KeySet
    try {
      const found = await keySets.get(jwksUri)
      const keys = await keysFor(jwt, found.value)
      if (keys.length > 0 || found.isNew) return keys
      const newer = await keySets.renew(jwksUri)
      if (newer === null) return []
      set = newer
    } catch (error) {
      if (error instanceof PoppyError) throw error
      faultOf(error)
      // No keys: the assertion is refused as one with a wrong signature is, and only the log knows the difference.
      return []
    }
    return keysFor(jwt, set)
  }

  return {
    async find(clientId) {
      if (!isClientId(clientId, allowHttp)) throw refused('not a client_id')
      // 4.1: asked before anything is fetched for it. Block wins.
      if (await isBlocked(clientId)) throw refused('blocked')
      if (!(await isAllowed(clientId))) throw refused('not on the allow list')
      const metadata = await documents.get(clientId).then(
        (found) => found.value,
        (error: unknown) => {
          throw error instanceof PoppyError ? error : refused(`client metadata: ${faultOf(error)}`)
        },
      )
      return { metadata, findKeys: (jwt) => findKeys(metadata.jwksUri, jwt) }
    },
  }
}

function refused(reason: string): PoppyError {
  return new PoppyError('invalid_client', { description: 'The Personal Agent was not accepted.', reason })
}

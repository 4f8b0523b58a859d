import {
  type ClientMetadata,
  importPublicKey,
  isJsonObject,
  type KeyFinder,
  PoppyError,
  type PublicKey,
  readClientMetadata,
  type UnverifiedJwt,
} from '@poppyseed/protocol'
import { calculateJwkThumbprint, type JWK } from 'jose'
import type { Findings } from './conduct.ts'
import type { Exchange } from './exchange.ts'
import type { Ledger } from './ledger.ts'

/** Who is calling (4.1): documents of Personal Agents, fetched plainly. For tests among friends: nothing guards it. */

/** Fetches a document. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>

/** A Personal Agent as this Company knows it. */
export interface KnownAgent {
  readonly metadata: ClientMetadata
  readonly findKeys: KeyFinder
}

/** Finds Personal Agents, and judges their documents. */
export interface Agents {
  /** @throws PoppyError `invalid_client` */
  readonly find: (clientId: string, exchange: Exchange) => Promise<KnownAgent>
}

/** Members that no published key has. */
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

/** Makes a directory that keeps each document, and asks for a key set again for a key that it doesn't know. */
export function createAgents(fetch: Fetch, ledger: Ledger, { report }: Findings, allowHttp: boolean): Agents {
  const documents = new Map<string, ClientMetadata>()
  const keySets = new Map<string, readonly JWK[]>()

  async function read(url: string): Promise<unknown> {
    const answer = await fetch(url, { redirect: 'manual', headers: { accept: 'application/json' } })
    if (answer.status !== 200) throw refused(`${answer.status} at ${url}`)
    return answer.json()
  }

  async function metadataOf(clientId: string, exchange: Exchange): Promise<ClientMetadata> {
    const kept = documents.get(clientId)
    if (kept) return kept
    if (!isHttps(clientId, allowHttp)) {
      report('4.1.client-id-https-agent', 'client_id is no HTTPS URL', exchange)
      throw refused('client_id')
    }
    const document = await read(clientId)
    if (isJsonObject(document)) {
      if (document.client_id !== clientId)
        report('4.1.client-id-exact-agent', 'the document names another client_id', exchange)
      const { host } = new URL(clientId)
      const isElsewhere = (uri: unknown) => typeof uri === 'string' && URL.parse(uri)?.host !== host
      if (isElsewhere(document.jwks_uri)) report('4.1.jwks-same-domain-agent', 'jwks_uri is elsewhere', exchange)
      if (Array.isArray(document.redirect_uris) && document.redirect_uris.some(isElsewhere))
        report('4.1.redirect-uris-same-domain-agent', 'a redirect_uri is elsewhere', exchange)
    }
    const metadata = readClientMetadata(document, clientId, allowHttp)
    documents.set(clientId, metadata)
    return metadata
  }

  async function fetchKeys(jwksUri: string, exchange: Exchange): Promise<readonly JWK[]> {
    const document = await read(jwksUri)
    const keys = isJsonObject(document) && Array.isArray(document.keys) ? (document.keys as JWK[]) : []
    if (keys.some((key) => key.kty === 'oct' || secretMembers.some((member) => Object.hasOwn(key, member))))
      report('4.1.public-keys-agent', 'a published key is not public', exchange)
    for (const key of keys) ledger.publishedKeys.add(await calculateJwkThumbprint(key))
    keySets.set(jwksUri, keys)
    return keys
  }

  async function findKeys(jwksUri: string, jwt: UnverifiedJwt, exchange: Exchange): Promise<readonly PublicKey[]> {
    const fits = (key: JWK) => jwt.keyId === undefined || key.kid === jwt.keyId
    const kept = keySets.get(jwksUri)
    const keys = kept?.some(fits) ? kept : await fetchKeys(jwksUri, exchange)
    const imported = await Promise.all(keys.filter(fits).map((key) => importPublicKey(key, jwt.algorithm)))
    return imported.filter((key): key is PublicKey => key !== null)
  }

  return {
    async find(clientId, exchange) {
      try {
        const metadata = await metadataOf(clientId, exchange)
        const { jwksUri } = metadata
        return { metadata, findKeys: async (jwt) => (jwksUri === undefined ? [] : findKeys(jwksUri, jwt, exchange)) }
      } catch (error) {
        throw error instanceof PoppyError ? error : refused(error instanceof Error ? error.message : 'unreadable')
      }
    },
  }
}

function isHttps(url: string, allowHttp: boolean): boolean {
  const parsed = URL.parse(url)
  return parsed?.protocol === 'https:' || (allowHttp && parsed?.protocol === 'http:')
}

function refused(reason: string): PoppyError {
  return new PoppyError('invalid_client', { description: 'The Personal Agent was not accepted.', reason })
}

import { z } from 'zod'
import { DocumentError } from './errors.ts'
import { isServiceUrl, parseServiceUrl } from './service-url.ts'
import { isJsonObject } from './strict-json.ts'

/** The client metadata document of a Personal Agent (4.1), and of an MCP client that can't authenticate (6). */

const text = z.string().min(1).max(2048)

const clientMetadataSchema = z.object({
  client_id: text,
  // For show only: a malformed one counts as left out
  client_name: z.string().max(10_000).optional().catch(undefined),
  logo_uri: text.optional().catch(undefined),
  jwks_uri: text.optional(),
  redirect_uris: z.array(text).max(100).default([]),
  token_endpoint_auth_method: z.string().optional(),
  extensions: z.record(z.string(), z.unknown()).optional().catch(undefined),
})

/** A client metadata document, as it travels (unknown members ignored). */
export type ClientMetadataDocument = z.infer<typeof clientMetadataSchema>

/** What a Company may rely on of a client's document. */
export interface ClientMetadata {
  readonly clientId: string
  /** As the agent wrote it: to be cleaned before anybody sees it. */
  readonly name: string | undefined
  /** An HTTPS URL; anything else was dropped. On whose host is for the Company to judge. */
  readonly logoUri: string | undefined
  /** Where its keys are; undefined for a client that can't authenticate. */
  readonly jwksUri: string | undefined
  /** `none`: an MCP client that knows nothing of this protocol and has no key (6). It is no Personal Agent. */
  readonly authentication: 'private_key_jwt' | 'none'
  readonly redirectUris: readonly string[]
  /** Extension name to major version (3.3). */
  readonly extensions: Readonly<Record<string, string>>
}

/**
 * Reads a client metadata document. Of a client that can't authenticate only the addresses on its own host are kept:
 * where it also listens on a person's machine, nobody is ever sent there.
 * @param url the URL it was fetched from, as it was asked for
 * @param allowHttp development only: `http:` on a loopback host
 * @throws DocumentError
 */
export function readClientMetadata(document: unknown, url: string, allowHttp = false): ClientMetadata {
  const parsed = clientMetadataSchema.safeParse(document)
  if (!parsed.success)
    throw invalid(`client metadata: ${parsed.error.issues[0]?.path.join('.') || 'not an object'} is missing or wrong`)
  const data = parsed.data
  // 4.1: compared as strings
  if (data.client_id !== url) throw invalid('client metadata: client_id is not the URL of the document')
  const addresses = readAddresses(data, url, allowHttp)
  // No prototype: a name such as "constructor" finds nothing that the document didn't say.
  const extensions: Record<string, string> = Object.create(null)
  for (const [name, entry] of Object.entries(data.extensions ?? {})) {
    if (isJsonObject(entry) && typeof entry.version === 'string') extensions[name] = entry.version
  }
  return {
    clientId: data.client_id,
    name: data.client_name,
    logoUri: data.logo_uri !== undefined && isServiceUrl(data.logo_uri, allowHttp) ? data.logo_uri : undefined,
    ...addresses,
    extensions,
  }
}

/** How the client shows who it is, and what hangs on it: where its keys are and where people come back to (4.1). */
function readAddresses(
  document: ClientMetadataDocument,
  url: string,
  allowHttp: boolean,
): Pick<ClientMetadata, 'authentication' | 'jwksUri' | 'redirectUris'> {
  const { token_endpoint_auth_method: method, jwks_uri: jwksUri, redirect_uris: redirectUris } = document
  if (method === 'none') {
    // 4.1's rule that every entry is on the host binds Personal Agents; what it protects is kept for everybody.
    const own = redirectUris.filter((uri) => isSameHost(uri, url, allowHttp))
    if (own.length === 0) throw invalid('client metadata: none of the redirect_uris is HTTPS on the host of client_id')
    return { authentication: 'none', jwksUri: undefined, redirectUris: own }
  }
  if (method !== undefined && method !== 'private_key_jwt')
    throw invalid('client metadata: token_endpoint_auth_method must be private_key_jwt')
  if (jwksUri === undefined) throw invalid('client metadata: jwks_uri is missing or wrong')
  for (const uri of [jwksUri, ...redirectUris]) {
    if (!isSameHost(uri, url, allowHttp))
      throw invalid('client metadata: jwks_uri and redirect_uris must be HTTPS on the host of client_id')
  }
  return { authentication: 'private_key_jwt', jwksUri, redirectUris }
}

/**
 * Whether a string may be a `client_id`: an HTTPS URL with a path, no credentials, no fragment, at most 2,048 characters,
 * spelled as URL parsers spell it.
 */
export function isClientId(value: string, allowHttp = false): boolean {
  const url = parseServiceUrl(value, allowHttp)
  // A spelling that parsers would change ("HTTPS://", "0x7f.1", "/a/../b") is two identities in one.
  return url !== null && url.href === value && url.pathname !== '/'
}

/** 4.1: "the same domain" is the same host and port. */
function isSameHost(value: string, clientId: string, allowHttp: boolean): boolean {
  const url = parseServiceUrl(value, allowHttp)
  return url !== null && url.host === parseServiceUrl(clientId, allowHttp)?.host
}

function invalid(message: string): DocumentError {
  return new DocumentError('invalid', message)
}

import { currentCodec, grantTypes, isClientId, readClientMetadata } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import { readExtensions, type SupportedExtension } from './extensions.ts'
import type { KeyRing } from './key-ring.ts'

/** Who the Personal Agent is (4.1): its `client_id` and the document behind it. Its keys are in `key-ring.ts`. */

/** What an identity is made from (4.1). */
export interface IdentityOptions {
  /** An HTTPS URL that returns the metadata document; `http:` on loopback with `allowHttp`. */
  readonly clientId: string
  /** The name that Companies show to the User. */
  readonly name: string
  readonly logoUri?: string | undefined
  /** Where Direct Sign-In comes back to; `oauth/callback` beside the document when left out. */
  readonly redirectUri?: string | undefined
  readonly extensions?: Readonly<Record<string, SupportedExtension>> | undefined
  readonly allowHttp: boolean
}

/** The identity of a Personal Agent (4.1): its addresses, its documents, and the keys that sign. */
export type Identity = IdentityDocument & Pick<KeyRing, 'keySet' | 'signingKey'>

/** The identity without its keys. */
export interface IdentityDocument {
  readonly clientId: string
  readonly redirectUri: string
  readonly jwksUri: string
  readonly name: string
  /** The client metadata document, as it is served. */
  readonly metadata: Readonly<Record<string, unknown>>
}

/** @throws AgentError `misconfigured`, with a sentence that says what to write */
export function createIdentity(options: IdentityOptions): IdentityDocument {
  const { clientId, name, allowHttp } = options
  if (!isClientId(clientId, allowHttp)) {
    throw new AgentError(
      'misconfigured',
      `clientId must be an HTTPS URL with a path, such as https://agent.example/agent.json (http://localhost only with allowHttp).`,
    )
  }
  const redirectUri = options.redirectUri ?? new URL('oauth/callback', clientId).href
  const jwksUri = new URL('jwks.json', clientId).href
  // 3.3: what this library speaks by itself, and what its host adds
  const extensions = {
    operations: { version: currentCodec.operationsVersion },
    ...readExtensions(options.extensions ?? {}),
  }
  const metadata = {
    client_id: clientId,
    client_name: name,
    ...(options.logoUri === undefined ? {} : { logo_uri: options.logoUri }),
    jwks_uri: jwksUri,
    redirect_uris: [redirectUri],
    grant_types: [grantTypes.jwtBearer, grantTypes.authorizationCode, grantTypes.refreshToken],
    response_types: ['code'],
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'ES256',
    extensions,
  }
  try {
    // A Company will check the same (4.1): better that we are told here.
    readClientMetadata(metadata, clientId, allowHttp)
  } catch (error) {
    throw new AgentError(
      'misconfigured',
      error instanceof Error ? error.message : 'The metadata document is not usable.',
    )
  }
  return { clientId, redirectUri, jwksUri, name, metadata }
}

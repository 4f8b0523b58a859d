import { isClientId, readClientMetadata, type SigningKey } from '@poppyseed/protocol'
import type { JWK } from 'jose'
import { AgentError } from '../errors.ts'
import { readExtensions, type SupportedExtension } from './extensions.ts'
import { type PrivateKeyJson, publicKeyJson, readPrivateKey, signingKey } from './keys.ts'

/** Who the Personal Agent is (4.1): its `client_id`, the document behind it, and its keys. */

/** What an identity is made from (4.1). */
export interface IdentityOptions {
  /** An HTTPS URL that returns the metadata document; `http:` on loopback with `allowHttp`. */
  readonly clientId: string
  /** The name that Companies show to the User. */
  readonly name: string
  readonly logoUri?: string | undefined
  /** Where Direct Sign-In comes back to; `oauth/callback` beside the document when left out. */
  readonly redirectUri?: string | undefined
  /** Private ES256 keys with `kid`. The first one signs, all are published: so keys can be replaced without a gap. */
  readonly keys: readonly unknown[]
  readonly extensions?: Readonly<Record<string, SupportedExtension>> | undefined
  readonly allowHttp: boolean
}

/** The identity of a Personal Agent (4.1): its addresses, its documents, and the key that signs. */
export interface Identity {
  readonly clientId: string
  readonly redirectUri: string
  readonly jwksUri: string
  readonly name: string
  /** The client metadata document, as it is served. */
  readonly metadata: Readonly<Record<string, unknown>>
  /** The key set: public keys only. */
  readonly keySet: { readonly keys: readonly JWK[] }
  readonly signingKey: () => Promise<SigningKey>
}

/** @throws AgentError `misconfigured`, with a sentence that says what to write */
export function createIdentity(options: IdentityOptions): Identity {
  const { clientId, name, allowHttp } = options
  if (!isClientId(clientId, allowHttp)) {
    throw new AgentError(
      'misconfigured',
      `clientId must be an HTTPS URL with a path, such as https://agent.example/agent.json (http://localhost only with allowHttp).`,
    )
  }
  const [first, ...others] = options.keys.map(readPrivateKey)
  if (!first) throw new AgentError('misconfigured', 'keys must hold at least one key; generateKey() makes one.')
  const redirectUri = options.redirectUri ?? new URL('oauth/callback', clientId).href
  const jwksUri = new URL('jwks.json', clientId).href
  const extensions = options.extensions === undefined ? undefined : readExtensions(options.extensions)
  const metadata = {
    client_id: clientId,
    client_name: name,
    ...(options.logoUri === undefined ? {} : { logo_uri: options.logoUri }),
    jwks_uri: jwksUri,
    redirect_uris: [redirectUri],
    grant_types: ['urn:ietf:params:oauth:grant-type:jwt-bearer', 'authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'ES256',
    ...(extensions === undefined ? {} : { extensions }),
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
  const keys: readonly PrivateKeyJson[] = [first, ...others]
  let ready: Promise<SigningKey> | undefined
  return {
    clientId,
    redirectUri,
    jwksUri,
    name,
    metadata,
    keySet: { keys: keys.map(publicKeyJson) },
    signingKey: () => {
      ready ??= signingKey(first)
      return ready
    },
  }
}

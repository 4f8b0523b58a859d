import { z } from 'zod'
import { DocumentError } from './errors.ts'
import { isServiceUrl } from './service-url.ts'

/** OAuth Authorization Server Metadata (RFC 8414) with `poppy_domains` (3.2). */

const url = z.string().min(1).max(2048)
// 3.2: fields that we don't need are ignored, so one that is malformed counts as left out
const optionalUrl = url.optional().catch(undefined)
const list = z.array(z.string()).optional().catch(undefined)
const flag = z.boolean().optional().catch(undefined)

/** The metadata as it travels. Unknown members are dropped, and so are malformed ones that the protocol doesn't need. */
export const oauthMetadataSchema = z.object({
  issuer: url,
  token_endpoint: url,
  revocation_endpoint: url,
  authorization_endpoint: optionalUrl,
  device_authorization_endpoint: optionalUrl,
  poppy_domains: z.array(z.string()),
  grant_types_supported: list,
  response_types_supported: list,
  response_modes_supported: list,
  scopes_supported: list,
  code_challenge_methods_supported: list,
  token_endpoint_auth_methods_supported: list,
  token_endpoint_auth_signing_alg_values_supported: list,
  revocation_endpoint_auth_methods_supported: list,
  revocation_endpoint_auth_signing_alg_values_supported: list,
  dpop_signing_alg_values_supported: list,
  authorization_response_iss_parameter_supported: flag,
  client_id_metadata_document_supported: flag,
  // RFC 9728, 4: what an MCP client may ask a token for
  protected_resources: list,
})

/** The metadata document, as it travels. */
export type OAuthMetadata = z.infer<typeof oauthMetadataSchema>

/** Where RFC 8414 puts the metadata of an issuer: the well-known path goes between host and path. */
export function oauthMetadataUrl(issuer: string): string {
  const parsed = new URL(issuer)
  const path = parsed.pathname === '/' ? '' : parsed.pathname.replace(/\/$/, '')
  return `${parsed.origin}/.well-known/oauth-authorization-server${path}`
}

/**
 * Reads the metadata and checks that issuer and domain vouch for each other (3.2).
 * @throws DocumentError `invalid`, or `untrusted` where the two documents don't name each other
 */
export function readOAuthMetadata(
  document: unknown,
  expected: {
    readonly issuer: string
    readonly domain: string
    readonly direct: boolean
    readonly device: boolean
    readonly allowHttp?: boolean
  },
): OAuthMetadata {
  const parsed = oauthMetadataSchema.safeParse(document)
  if (!parsed.success) {
    throw new DocumentError(
      'invalid',
      `The OAuth metadata of ${expected.issuer} is not usable: ${parsed.error.issues[0]?.path.join('.') || 'the document'} is missing or wrong.`,
    )
  }
  const metadata = parsed.data
  // 3.2: exactly, character for character
  if (metadata.issuer !== expected.issuer) {
    throw new DocumentError(
      'untrusted',
      `The OAuth metadata names another issuer than poppy.json (${expected.issuer}).`,
    )
  }
  if (!metadata.poppy_domains.some((domain) => domain.toLowerCase() === expected.domain.toLowerCase())) {
    throw new DocumentError(
      'untrusted',
      `The issuer ${expected.issuer} does not list ${expected.domain} in poppy_domains.`,
    )
  }
  if (expected.direct && metadata.authorization_endpoint === undefined) {
    throw new DocumentError(
      'invalid',
      'poppy.json offers Direct Sign-In, but the OAuth metadata has no authorization_endpoint.',
    )
  }
  if (expected.device && metadata.device_authorization_endpoint === undefined) {
    throw new DocumentError(
      'invalid',
      'poppy.json offers Device Sign-In, but the OAuth metadata has no device_authorization_endpoint.',
    )
  }
  // 3.2: these two are taken from the metadata only where poppy.json offers their sign-in
  const needed = {
    token_endpoint: true,
    revocation_endpoint: true,
    authorization_endpoint: expected.direct,
    device_authorization_endpoint: expected.device,
  }
  for (const [name, isNeeded] of Object.entries(needed) as [keyof typeof needed, boolean][]) {
    const value = metadata[name]
    if (value === undefined || isServiceUrl(value, expected.allowHttp)) continue
    if (isNeeded) throw new DocumentError('invalid', `The OAuth metadata's ${name} is not an HTTPS URL.`)
    delete metadata[name as 'authorization_endpoint' | 'device_authorization_endpoint']
  }
  return metadata
}

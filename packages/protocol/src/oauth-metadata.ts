import { z } from 'zod'
import { DocumentError } from './errors.ts'

/** OAuth Authorization Server Metadata (RFC 8414) with `poppy_domains` (3.2). */

const url = z.string().min(1).max(2048)
const list = z.array(z.string()).optional()

export const oauthMetadataSchema = z.object({
  issuer: url,
  token_endpoint: url,
  revocation_endpoint: url,
  authorization_endpoint: url.optional(),
  device_authorization_endpoint: url.optional(),
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
  authorization_response_iss_parameter_supported: z.boolean().optional(),
  client_id_metadata_document_supported: z.boolean().optional(),
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
  for (const name of [
    'token_endpoint',
    'revocation_endpoint',
    'authorization_endpoint',
    'device_authorization_endpoint',
  ] as const) {
    const value = metadata[name]
    if (value !== undefined && !isServiceUrl(value, expected.allowHttp)) {
      throw new DocumentError('invalid', `The OAuth metadata's ${name} is not an HTTPS URL.`)
    }
  }
  return metadata
}

/** Whether a published URL may be used: HTTPS, no credentials, no fragment; `http:` on loopback where development says so. */
export function isServiceUrl(value: string, allowHttp = false): boolean {
  try {
    const parsed = new URL(value)
    if (parsed.username !== '' || parsed.password !== '' || parsed.hash !== '') return false
    if (parsed.protocol === 'https:') return true
    return (
      allowHttp &&
      parsed.protocol === 'http:' &&
      /^(localhost|.+\.localhost|127\.0\.0\.1|\[::1\])$/.test(parsed.hostname)
    )
  } catch {
    return false
  }
}

import type { Delivery } from '../delivery.ts'

/** What a misbehaving agent host can do wrong. With the values of {@link wellBehavedHost} it does everything right. */

/** What is fetched of a Personal Agent. */
export type AgentDocument = 'metadata' | 'keys' | 'logo'

/** The faults of a host, each a switch. */
export interface HostSwitches {
  /** What becomes of the answer (K16). */
  delivery: Delivery
  /** HTTP status; 500 is an outage (K18). */
  status: number
  /**
   * Redirects (K16), none of which may be followed: `elsewhere` to the same document on this host; `inner` to a listener
   * that must not be reached; `metadata_service` to 169.254.169.254; `loop` to itself; `http` to plain HTTP.
   */
  redirect: 'none' | 'elsewhere' | 'inner' | 'metadata_service' | 'loop' | 'http'
  /** Content type; null leaves it out. A logo has its own. */
  contentType: string | null
  /** `Cache-Control`; null leaves it out. */
  cacheControl: string | null
  /** The whole document, or something else in its place. */
  document: 'right' | 'array' | 'null' | 'text' | 'doubled_member' | 'deep' | 'many_members'

  // The metadata document (4.1)

  /** `client_id` (4.1.client-id-exact). */
  clientId: 'right' | 'other' | 'slash' | 'upper_case' | 'missing'
  /** `jwks_uri` (4.1.jwks-same-domain, K17). */
  jwksUri: 'right' | 'other_host' | 'other_port' | 'subdomain' | 'http' | 'user_part' | 'private' | 'missing'
  /** `redirect_uris` (4.1.redirect-uris-same-domain, K17). */
  redirectUris: 'right' | 'other_host' | 'other_port' | 'http' | 'one_foreign' | 'thousand' | 'missing'
  /** Where the callback is, on this host: a document that changes between two fetches (K17). */
  callback: string
  /** `token_endpoint_auth_method` (4.1.auth-method); null leaves it out. */
  authMethod: string | null
  /** `client_name`, as a page would have to show it (K34); null leaves it out. */
  clientName: string | null
  /** `logo_uri` (K34). */
  logoUri: 'missing' | 'right' | 'other_host' | 'private' | 'http' | 'script'
  /** Members and extensions that nobody knows (3.3.ignore-unknown, K15). */
  unknown: boolean

  // The key set (4.1)

  /** The keys (4.1.public-keys, K18). */
  keys: 'right' | 'private' | 'symmetric' | 'thousand' | 'none' | 'missing' | 'weak_rsa' | 'garbage' | 'without_kid'

  // The logo (K34)

  /** The picture. */
  logo: 'png' | 'svg_with_script' | 'page' | 'png_of_a_megabyte' | 'text_as_png'
}

/** A host that does everything right. */
export const wellBehavedHost: Readonly<HostSwitches> = {
  delivery: 'whole',
  status: 200,
  redirect: 'none',
  contentType: 'application/json',
  cacheControl: 'max-age=300',
  document: 'right',
  clientId: 'right',
  jwksUri: 'right',
  redirectUris: 'right',
  callback: 'callback',
  authMethod: 'private_key_jwt',
  clientName: 'Made-up Agent',
  logoUri: 'missing',
  unknown: false,
  keys: 'right',
  logo: 'png',
}

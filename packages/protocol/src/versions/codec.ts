import { DocumentError } from '../errors.ts'
import { isJsonObject } from '../strict-json.ts'
import { codec as v01 } from './v0-1/codec.ts'

/**
 * The version seam. A codec says how discovery is written and read, how a Session starts, and which version of the
 * Operations extension goes with it; neither side's core knows more of a version than this.
 */
export interface VersionCodec {
  /** What `protocol_version` says. */
  readonly version: string
  /** Version of the Operations extension that belongs to it (3.3). */
  readonly operationsVersion: string
  readonly readDiscovery: (document: unknown, allowHttp: boolean) => Discovery
  readonly writeDiscovery: (discovery: Discovery) => unknown
  /** The parameters that start a Session or renew a signed-out one (4.2), client authentication apart. */
  readonly sessionParameters: (request: {
    readonly assertion: string
    readonly sessionId?: string
    readonly resource?: string
  }) => Readonly<Record<string, string>>
}

/** What a Company says of itself, in no version's words. */
export interface Discovery {
  readonly protocolVersion: string
  readonly organization: { readonly name: string; readonly domain: string }
  /** The Company's identity (3.2); absent where there is nothing but a website to browse. */
  readonly issuer: string | undefined
  readonly signIn: {
    readonly direct: readonly string[] | undefined
    readonly device: readonly string[] | undefined
    readonly mediated:
      | {
          readonly endpoint: string
          readonly fields: readonly { readonly name: string; readonly label: string; readonly secret: boolean }[]
          readonly scopes: readonly string[]
        }
      | undefined
  }
  /** Scope name to what it means, for the User (4.4). */
  readonly customScopes: Readonly<Record<string, string>>
  readonly conversations: readonly {
    readonly type: 'poppy'
    readonly endpoint: string
    readonly resource?: string | undefined
  }[]
  readonly apis: readonly ApiEntry[]
  readonly browserSessionEndpoint: string | undefined
  readonly extensions: Readonly<Record<string, { readonly version: string; readonly [member: string]: unknown }>>
}

/** One API of a Company (6). `type` is `openapi`, `mcp`, or something that we don't know and skip. */
export interface ApiEntry {
  readonly type: string
  readonly url: string
  readonly description?: string | undefined
  readonly resource?: string | undefined
}

/** The version that this implementation writes. */
export const currentCodec: VersionCodec = v01

/**
 * Finds the codec that reads a document. Draft 0.2 and the first edition of 0.3 are 0.1 with extras; 0.3's second
 * edition, 0.4 and 1.0 authenticate requests in another way and are refused in plain words.
 * @throws DocumentError
 */
export function codecFor(document: unknown): VersionCodec {
  if (!isJsonObject(document)) throw new DocumentError('invalid', 'poppy.json is not a JSON object.')
  const version = document.protocol_version
  if (typeof version !== 'string' || !/^\d{1,4}\.\d{1,4}$/.test(version)) {
    throw new DocumentError('invalid', 'poppy.json has no usable protocol_version, such as "0.1".')
  }
  if (version === '0.1' || version === '0.2' || version === '0.3') return v01
  throw new DocumentError(
    'unsupported_version',
    `This Company speaks version ${version} of the Personal Agent Protocol. This implementation speaks 0.1 and reads 0.2 and the first edition of 0.3; ${version} starts Sessions in another way, so nothing was sent.`,
  )
}

/**
 * `protocol_version: "0.3"` names two editions; the second has no JWT bearer grant, which the OAuth metadata shows.
 * @throws DocumentError
 */
export function checkEdition(protocolVersion: string, grantTypesSupported: readonly string[] | undefined): void {
  if (
    protocolVersion === '0.3' &&
    grantTypesSupported &&
    !grantTypesSupported.includes('urn:ietf:params:oauth:grant-type:jwt-bearer')
  ) {
    throw new DocumentError(
      'unsupported_version',
      'This Company speaks the second edition of draft 0.3, which starts Sessions in another way. This implementation speaks 0.1, so nothing was sent.',
    )
  }
}

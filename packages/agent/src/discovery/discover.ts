import {
  checkEdition,
  codecFor,
  type Discovery,
  DocumentError,
  isLoopbackHost,
  type OAuthMetadata,
  oauthMetadataUrl,
  readOAuthMetadata,
  type VersionCodec,
} from '@poppyseed/protocol'
import type { AgentContext } from '../context.ts'
import { AgentError } from '../errors.ts'
import { cleanText } from '../net/text.ts'

/** Section 3: finding out all that is needed to work with a Company, with every check that makes it worth believing. */

/** A Company as it says it is, checked. */
export interface FoundCompany {
  /** `organization.domain`. */
  readonly domain: string
  readonly name: string
  readonly discovery: Discovery
  readonly codec: VersionCodec
  /** The OAuth server; undefined where the Company has nothing but a website. */
  readonly server: OAuthMetadata | undefined
}

const maxBytes = 256 * 1024
const maxValues = 10_000

/**
 * Finds a Company by its domain or by any URL on it.
 * @throws AgentError
 */
export async function discover(context: AgentContext, domainOrUrl: string): Promise<FoundCompany> {
  const { allowHttp, readDocument } = context
  const origin = originOf(domainOrUrl, allowHttp)
  const document = await readDocument(`${origin.origin}/.well-known/poppy.json`, {
    maxBytes,
    maxValues,
    allowHttp,
    what: `poppy.json at ${origin.host}`,
  })
  try {
    const codec = codecFor(document)
    const discovery = codec.readDiscovery(document, allowHttp)
    const { name, domain } = discovery.organization
    // 3.1: the document speaks for the domain that was asked, wherever it was redirected to
    if (!isSameDomain(domain, origin)) {
      throw new DocumentError(
        'untrusted',
        `poppy.json at ${origin.host} speaks for another domain, so it was not used.`,
      )
    }
    const found = { domain, name: cleanText(name, 200), discovery, codec }
    if (discovery.issuer === undefined) return { ...found, server: undefined }
    const metadata = await readDocument(oauthMetadataUrl(discovery.issuer), {
      maxBytes,
      maxValues,
      allowHttp,
      what: `OAuth metadata of ${new URL(discovery.issuer).host}`,
    })
    // 3.2: the issuer and the domain name each other, or any domain could claim another Company's issuer
    const server = readOAuthMetadata(metadata, {
      issuer: discovery.issuer,
      domain,
      direct: discovery.signIn.direct !== undefined,
      device: discovery.signIn.device !== undefined,
      allowHttp,
    })
    checkEdition(discovery.protocolVersion, server.grant_types_supported)
    return { ...found, server }
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    const codes = {
      invalid: 'bad_document',
      unsupported_version: 'unsupported_version',
      untrusted: 'untrusted_company',
    } as const
    throw new AgentError(codes[error.kind], cleanText(error.message, 600))
  }
}

/** The origin that a domain or URL stands for: HTTPS, and plain HTTP on this machine alone where development says so. */
function originOf(domainOrUrl: string, allowHttp: boolean): URL {
  const text = domainOrUrl.trim()
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
  const url = URL.parse(hasScheme ? text : `https://${text}`)
  if (url?.username !== '' || url.password !== '' || (!hasScheme && /[/?#@\\\s]/.test(text))) {
    throw new AgentError('invalid_input', `"${cleanText(text, 80)}" is not a domain, such as example.com.`)
  }
  const isLocal = isLoopbackHost(url.hostname)
  if (isLocal && allowHttp && !hasScheme) return new URL(`http://${url.host}`)
  if (url.protocol === 'http:' && isLocal && !allowHttp) {
    throw new AgentError(
      'invalid_input',
      'http:// on this machine is for development, and this agent is not made for that. A library sets allowHttp; poppy needs an identity from: poppy init --local --home <another folder>',
    )
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal)) {
    throw new AgentError('invalid_input', `Companies are reached over HTTPS only: https://${url.host}`)
  }
  return new URL(url.origin)
}

/** 3.1: equal to the host that was asked, a leading `www.` aside. A port counts only where the document names one. */
function isSameDomain(domain: string, origin: URL): boolean {
  // A name is compared as it will be shown: what a parser would drop or turn into another is none.
  if (!/^(?:[\p{L}\p{M}\p{N}.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/iu.test(domain)) return false
  const stated = URL.parse(`https://${domain}`)
  if (!stated) return false
  const bare = (host: string) => host.replace(/^www\./, '')
  return bare(stated.hostname) === bare(origin.hostname) && (stated.port === '' || stated.port === origin.port)
}

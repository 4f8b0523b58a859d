import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import { parseHost } from './hosts.ts'

/** How the Company is reached from outside (3.2, K04, K05): all of it said in the configuration, none of it guessed. */

/** The settings for whatever stands between the internet and the site. */
export interface ReachConfig {
  /**
   * The public path prefix, such as `'/svc2'`: every published address but the well-known documents has it. All paths that
   * you write or get, such as what `signInPage` gets and gives, are the public ones, prefix and all.
   */
  readonly basePath?: string
  /** The issuer (3.2), where it is to be another than `origin` and `basePath`: a URL on the origin, kept as it is written. */
  readonly issuer?: string
  /** What a proxy in front does. Left out: it passes path and `Host` on as they are, or says `localhost`. */
  readonly proxy?: {
    /** It takes `basePath` away before it passes a request on. */
    readonly stripsBasePath?: boolean
    /** What it calls this machine, as it stands in `Host`, such as `['app:3000']`. */
    readonly hosts?: readonly string[]
    /**
     * It sets `X-Forwarded-Host` to the host that was asked, whatever the client sent: that then chooses among
     * `organization.domains`.
     */
    readonly forwardedHost?: boolean
  }
}

/** {@link ReachConfig}, once it is known to be right. */
export interface CheckedReach {
  /** Empty where there is none. */
  readonly basePath: string
  readonly issuer: string
  readonly stripsBasePath: boolean
  readonly innerHosts: readonly string[]
  readonly forwardedHost: boolean
}

/** @throws ConfigurationError with a sentence that says what to write */
export function checkReach(config: ReachConfig & { readonly origin: string }): CheckedReach {
  const basePath = checkBasePath(config.basePath)
  const proxy: unknown = config.proxy ?? {}
  if (!isPlain(proxy))
    throw wrong(
      "Write proxy: { hosts: ['app:3000'] }, with what stands in front of your site. Without one, leave it out.",
    )
  refuseUnknown('proxy', proxy, ['stripsBasePath', 'hosts', 'forwardedHost'])
  const { stripsBasePath = false, forwardedHost = false, hosts = [] } = proxy
  for (const [name, value] of Object.entries({ stripsBasePath, forwardedHost })) {
    if (typeof value !== 'boolean') throw wrong(`\`proxy.${name}\` is true or false.`)
  }
  if (stripsBasePath && basePath === '')
    throw wrong("`proxy.stripsBasePath` needs to know what is taken away. Write it as `basePath`, such as '/svc2'.")
  const isList = Array.isArray(hosts) && hosts.every((host) => typeof host === 'string' && parseHost(host) !== null)
  if (!isList)
    throw wrong(
      "`proxy.hosts` lists what the proxy calls this machine, as it stands in Host, such as ['app:3000']: no https:// and no path.",
    )
  return {
    basePath,
    issuer: checkIssuer(config.issuer, config.origin, basePath),
    stripsBasePath: stripsBasePath === true,
    innerHosts: Object.freeze([...(hosts as readonly string[])]),
    forwardedHost: forwardedHost === true,
  }
}

function checkBasePath(basePath: unknown): string {
  if (basePath === undefined) return ''
  // Nothing that a parser, a proxy or a router could read in two ways: the prefix is compared as it is written.
  if (typeof basePath !== 'string' || !/^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/.test(basePath))
    throw wrong(
      "`basePath` is the path before all of your site's, such as '/svc2': it begins with a slash and ends with none, and has letters, digits and . _ ~ - between. At the root, leave it out.",
    )
  if (/^\/\.well-known(?:\/|$)/.test(basePath))
    throw wrong('`basePath` must not be under /.well-known, where documents of the whole host are.')
  return basePath
}

function checkIssuer(issuer: unknown, origin: string, basePath: string): string {
  if (issuer === undefined) return origin + basePath
  const isOurs =
    typeof issuer === 'string' &&
    (issuer === origin || issuer.startsWith(`${origin}/`)) &&
    // RFC 8414, 2: no query, no fragment
    !/[?#\s\\]/.test(issuer)
  const url = isOurs ? new URL(issuer) : null
  // Compared as a string everywhere (3.2): a spelling that parsers change would be two issuers.
  if (url === null || (url.href !== issuer && url.href !== `${issuer}/`))
    throw wrong(
      `\`issuer\` is a URL on \`origin\`, without ? and #, in the form browsers write it, such as '${origin}/guests'. Agents know the Company by it, so it must never change; left out, it is '${origin + basePath}'.`,
    )
  return issuer as string
}

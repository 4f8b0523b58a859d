import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'

/** Section 3.1, 3.2: who the Company is, and the domains that speak for it. However many, they are one Company. */

/** Who the Company is (3.1). */
export type OrganizationConfig = {
  readonly name: string
  /** What can be done here, for agents to read. */
  readonly description?: string
} & (
  | {
      /** A bare host name, the one at which `poppy.json` is asked for. */
      readonly domain: string
      readonly domains?: undefined
    }
  | {
      /** Several such names, the main one first: each answers a `poppy.json` of its own, all with the one issuer (3.2). */
      readonly domains: readonly string[]
      readonly domain?: undefined
    }
)

/**
 * Checks `organization`.
 * @returns its domains, the main one first
 * @throws ConfigurationError
 */
export function checkOrganization(organization: OrganizationConfig): readonly string[] {
  if (isPlain(organization)) refuseUnknown('organization', organization, ['name', 'domain', 'domains', 'description'])
  if (typeof organization?.name !== 'string' || organization.name.trim() === '') {
    throw wrong(
      "`organization.name` is missing: the name that people know, such as organization: { name: 'Hotel Miramar', … }.",
    )
  }
  const { domain, domains, description } = organization
  if (description !== undefined && (typeof description !== 'string' || description.trim() === ''))
    throw wrong('`organization.description` is a sentence that agents read, such as what can be done here.')
  if (domains === undefined) return [checkDomain('organization.domain', domain)]
  if (domain !== undefined)
    throw wrong('`organization` has `domain` and `domains`. Write all names into `domains`, the main one first.')
  if (!Array.isArray(domains) || domains.length === 0)
    throw wrong("`organization.domains` is a list of host names, such as ['miramar.example', 'miramar.de'].")
  const seen = new Set<string>()
  for (const [index, one] of domains.entries()) {
    const bare = withoutWww(checkDomain(`organization.domains[${index}]`, one))
    // 3.1: a leading `www.` is the same domain
    if (seen.has(bare))
      throw wrong(`\`organization.domains\` names ${bare} twice: with and without www. is one domain.`)
    seen.add(bare)
  }
  return Object.freeze([...(domains as readonly string[])])
}

function checkDomain(setting: string, domain: unknown): string {
  if (
    typeof domain !== 'string' ||
    domain !== domain.toLowerCase() ||
    !/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(domain) ||
    domain.length > 253
  ) {
    throw wrong(
      `\`${setting}\` must be a bare host name in lower case, without https:// and without a port, such as 'miramar.example'.`,
    )
  }
  return domain
}

/** A host name without its leading `www.`, which doesn't count (3.1). */
export function withoutWww(name: string): string {
  return name.replace(/^www\.(?=.)/, '')
}

/** The domain that a host name is on or under, or undefined; the longest where several fit. */
export function domainAbove(name: string, domains: readonly string[]): string | undefined {
  return domains
    .filter((domain) => name === domain || name.endsWith(`.${withoutWww(domain)}`) || name === withoutWww(domain))
    .reduce<string | undefined>((best, one) => (best === undefined || one.length > best.length ? one : best), undefined)
}

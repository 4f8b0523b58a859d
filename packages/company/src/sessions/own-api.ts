import { resourceMetadataUrl } from '@poppyseed/protocol'
import { ConfigurationError } from '../configuration-error.ts'
import type { CheckedApis } from '../discovery/apis.ts'
import type { ErrorStyle } from '../http/respond.ts'
import type { PrincipalWith, ScopeNeed } from '../tools/tool.ts'
import type { Authenticator, Need } from './authenticate.ts'
import { requireScopes } from './rights.ts'

/** The site's own APIs ask who is calling (4.3, 6): the same check as at the library's own, for the service that is named. */

/** What a request to the site's own API has to bring. */
export interface ApiNeed<Scope extends ScopeNeed | undefined = ScopeNeed | undefined> {
  /** Account scopes, all of which are needed (4.4). */
  readonly scope?: Scope
  /** The `resource` of this API in `apis`: only tokens that were issued for it are taken (4.3). */
  readonly resource?: string
  /** The `url` of this MCP server in `apis`: Bearer tokens for it are taken, and nothing else (6). */
  readonly mcp?: string
}

/** What {@link createApiAuthenticator} needs. */
export interface ApiAuthenticatorParts {
  readonly authenticator: Authenticator
  readonly apis: CheckedApis
  /** On which of the configured origins a request asks for an API. */
  readonly originOf: (request: Request) => string
  readonly run: <T>(work: () => Promise<T>) => Promise<T>
  readonly failed: (error: unknown, style?: ErrorStyle) => Response
}

/** See {@link createApiAuthenticator}. */
export type ApiAuthenticator = <const Scope extends ScopeNeed | undefined = undefined>(
  request: Request,
  need?: ApiNeed<Scope>,
) => Promise<PrincipalWith<Scope> | Response>

/**
 * Makes `company.authenticate`. Its answer is the Principal, or the Response to send instead.
 * @throws ConfigurationError for a `resource` or `mcp` that `apis` doesn't list
 */
export function createApiAuthenticator(parts: ApiAuthenticatorParts): ApiAuthenticator {
  const { authenticator, apis } = parts
  return async <const Scope extends ScopeNeed | undefined = undefined>(request: Request, need: ApiNeed<Scope> = {}) => {
    const { mcp, resource } = need
    checkNamed(need, apis)
    const needed: ScopeNeed = need.scope ?? []
    const scopes = typeof needed === 'string' ? [needed] : needed
    try {
      const principal = await parts.run(async () => {
        if (mcp === undefined) return authenticator.withProof(request, proofNeed(request, resource, scopes))
        const caller = await authenticator.withBearer(request, mcp)
        requireScopes(caller, scopes)
        return caller
      })
      // 4.4: where a scope is needed, whoever is signed out was refused.
      return principal as PrincipalWith<Scope>
    } catch (error) {
      return mcp === undefined
        ? parts.failed(error)
        : parts.failed(error, { scheme: 'Bearer', resourceMetadata: resourceMetadataUrl(mcp) })
    }
  }

  function proofNeed(request: Request, resource: string | undefined, scopes: readonly string[]): Need {
    const origin = (resource === undefined ? undefined : apis.originOf(resource)) ?? parts.originOf(request)
    return resource === undefined ? { scopes, origin } : { scopes, origin, resources: [resource], isNarrow: true }
  }
}

/** A name that nobody can have a token for would refuse everybody: whoever wrote it should hear of it. */
function checkNamed({ mcp, resource }: ApiNeed, apis: CheckedApis): void {
  if (mcp !== undefined && resource !== undefined)
    throw new ConfigurationError('authenticate takes `resource` or `mcp`: an MCP server’s resource is its url.')
  if (mcp !== undefined && !apis.mcpServers.includes(mcp))
    throw new ConfigurationError(
      `authenticate: ${mcp} is no MCP server that \`apis\` lists. Write apis: [{ type: 'mcp', url: '${mcp}', … }].`,
    )
  if (resource !== undefined && !apis.resources.includes(resource))
    throw new ConfigurationError(
      `authenticate: ${resource} is no resource that \`apis\` lists. Write apis: [{ type: 'openapi', …, resource: '${resource}' }].`,
    )
}

import { resourceMetadataUrl } from '@poppyseed/protocol'
import { ConfigurationError } from '../configuration-error.ts'
import type { CheckedApis } from '../discovery/apis.ts'
import type { CheckedExtensions, ExtensionCheck } from '../discovery/extensions.ts'
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
  /** An extension of `extensions` that the Personal Agent has to list (3.3); others get `extension_required`. */
  readonly extension?: string
}

/** What {@link createApiAuthenticator} needs. */
export interface ApiAuthenticatorParts {
  readonly authenticator: Authenticator
  readonly apis: CheckedApis
  readonly extensions: CheckedExtensions
  readonly requireExtension: ExtensionCheck['require']
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
    const { mcp, resource, extension } = need
    checkNamed(need, parts)
    const needed: ScopeNeed = need.scope ?? []
    const scopes = typeof needed === 'string' ? [needed] : needed
    try {
      const principal = await parts.run(async () => {
        const caller =
          mcp === undefined
            ? await authenticator.withProof(request, proofNeed(request, resource))
            : (await authenticator.withBearer(request, mcp)).principal
        // 3.3: first, so that nobody signs in for what their agent can't do
        if (extension !== undefined) await parts.requireExtension(caller, extension)
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

  function proofNeed(request: Request, resource: string | undefined): Need {
    const origin = (resource === undefined ? undefined : apis.originOf(resource)) ?? parts.originOf(request)
    return resource === undefined ? { origin } : { origin, resources: [resource], isNarrow: true }
  }
}

/** A name that nobody can have a token for would refuse everybody: whoever wrote it should hear of it. */
function checkNamed({ mcp, resource, extension }: ApiNeed, { apis, extensions }: ApiAuthenticatorParts): void {
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
  if (extension === undefined) return
  // A program that speaks MCP reads a missing extension in the tool's result and nowhere else.
  if (mcp !== undefined)
    throw new ConfigurationError(
      'authenticate: over MCP a missing extension is the tool’s error. Leave `extension` out, ask company.supports(principal, …), and answer { error: "extension_required", extension } as the result.',
    )
  if (!Object.hasOwn(extensions, extension))
    throw new ConfigurationError(
      `authenticate: ${extension} is none of \`extensions\`. Write extensions: { '${extension}': { version: 1 } }.`,
    )
}

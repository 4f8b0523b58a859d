import { isServiceUrl } from '@poppyseed/protocol'
import type { FoundCompany } from '../discovery/discover.ts'
import { AgentError } from '../errors.ts'

/** Where a Company takes confirmations: `extensions.operations` of its document (Operations 2). */

/** The operations endpoint of a Company. */
export interface OperationsService {
  /** Without a slash at the end. */
  readonly endpoint: string
  /** Where it wants tokens of its own (4.3). */
  readonly resource: string | undefined
}

/** The endpoint, or undefined where the Company has none that this side speaks with. */
export function operationsService(found: FoundCompany, allowHttp: boolean): OperationsService | undefined {
  const stated = found.discovery.extensions.operations
  // 3.3: the version is the major version, and another one is as if the extension weren't there
  if (!stated || stated.version !== found.codec.operationsVersion) return undefined
  const { endpoint, resource } = stated
  if (typeof endpoint !== 'string' || endpoint.includes('?') || !isServiceUrl(endpoint, allowHttp)) return undefined
  if (resource !== undefined && (typeof resource !== 'string' || resource === '' || resource.length > 2048)) {
    return undefined
  }
  return { endpoint: endpoint.replace(/\/+$/, ''), resource }
}

/**
 * Keeps confirmations to where the owner is asked: an API document may list the endpoint, and then a model would have a tool
 * that confirms.
 * @throws AgentError `approval_required` for a request that would change something at the operations endpoint
 */
export function refuseConfirmation(found: FoundCompany, allowHttp: boolean, method: string, address: string): void {
  const service = operationsService(found, allowHttp)
  if (!service || method === 'GET' || method === 'HEAD') return
  const [own, asked] = [new URL(service.endpoint), new URL(address)]
  const isThere =
    asked.origin === own.origin && decoded(asked.pathname).startsWith(`${decoded(own.pathname).replace(/\/$/, '')}/`)
  if (!isThere) return
  throw new AgentError(
    'approval_required',
    `Operations of ${found.name} are confirmed and cancelled by session.operations, which asks the owner.`,
  )
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
      .toLowerCase()
      .replace(/\/{2,}/g, '/')
  } catch {
    // What can't be read in one way is compared as it stands.
    return path.toLowerCase()
  }
}

/** @throws AgentError `operations_unavailable` */
export function requireOperations(found: FoundCompany, allowHttp: boolean): OperationsService {
  const service = operationsService(found, allowHttp)
  if (service) return service
  throw new AgentError(
    'operations_unavailable',
    `${found.name} doesn't offer operations, version ${found.codec.operationsVersion}, so there is nothing to confirm there.`,
  )
}

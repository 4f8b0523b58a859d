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

/** @throws AgentError `operations_unavailable` */
export function requireOperations(found: FoundCompany, allowHttp: boolean): OperationsService {
  const service = operationsService(found, allowHttp)
  if (service) return service
  throw new AgentError(
    'operations_unavailable',
    `${found.name} doesn't offer operations, version ${found.codec.operationsVersion}, so there is nothing to confirm there.`,
  )
}

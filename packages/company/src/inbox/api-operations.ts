import { apiActs } from './api-acts.ts'
import type { ApiOperation } from './api-operation.ts'
import { type ApiEndpoint, apiEndpoints } from './api-paths.ts'
import { apiReads } from './api-reads.ts'
import type { InboxParts } from './parts.ts'

/** All that the JSON API of the inbox has, by method and path. */
export const apiOperations: Readonly<Record<ApiEndpoint, ApiOperation>> = { ...apiReads, ...apiActs }

/** What it has at a Company: nothing of conversations where there are none, nor of operations or webhooks. */
export function apiOperationsOf(
  parts: Pick<InboxParts, 'conversations' | 'operations' | 'webhooks'>,
): readonly (readonly [ApiEndpoint, ApiOperation])[] {
  return apiEndpoints
    .map((endpoint) => [endpoint, apiOperations[endpoint]] as const)
    .filter(([, { needs }]) => needs === undefined || parts[needs] !== null)
}

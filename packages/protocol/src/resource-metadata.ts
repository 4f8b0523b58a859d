import { z } from 'zod'

/** OAuth Protected Resource Metadata (RFC 9728), which an MCP server publishes (6). */
export const resourceMetadataSchema = z.object({
  resource: z.string().min(1),
  authorization_servers: z.array(z.string()).default([]),
  scopes_supported: z.array(z.string()).optional().catch(undefined),
  bearer_methods_supported: z.array(z.string()).optional().catch(undefined),
  resource_name: z.string().optional().catch(undefined),
})

/** A protected resource metadata document, as it travels. */
export type ResourceMetadata = z.infer<typeof resourceMetadataSchema>

/**
 * Where RFC 9728 (3.1) puts the document of a resource: the well-known path goes between host and path or query.
 * @param resource an absolute URL
 */
export function resourceMetadataUrl(resource: string): string {
  const url = new URL(resource)
  return `${url.origin}/.well-known/oauth-protected-resource${url.pathname === '/' ? '' : url.pathname}${url.search}`
}

import { describe, expect, it } from 'vitest'
import { resourceMetadataSchema, resourceMetadataUrl } from './resource-metadata.ts'

describe('protected resource metadata', () => {
  it.each([
    ['https://mcp.example.com', 'https://mcp.example.com/.well-known/oauth-protected-resource'],
    ['https://mcp.example.com/', 'https://mcp.example.com/.well-known/oauth-protected-resource'],
    ['https://mcp.example.com/mcp', 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'],
    ['https://mcp.example.com/mcp/', 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp/'],
    ['https://mcp.example.com:8443/a?b=c', 'https://mcp.example.com:8443/.well-known/oauth-protected-resource/a?b=c'],
    ['https://mcp.example.com/?b=c', 'https://mcp.example.com/.well-known/oauth-protected-resource?b=c'],
  ])('of %s is at %s', (resource, url) => {
    expect(resourceMetadataUrl(resource)).toBe(url)
  })

  it('is read without what we do not know, and without what is malformed and not needed', () => {
    const document = { resource: 'https://mcp.example.com/mcp', authorization_servers: ['https://auth.example.com'] }
    const read = resourceMetadataSchema.parse({ ...document, jwks_uri: 7, scopes_supported: null, resource_name: [] })
    expect(JSON.parse(JSON.stringify(read))).toEqual(document)
    expect(resourceMetadataSchema.parse({ resource: document.resource }).authorization_servers).toEqual([])
    for (const wrong of [
      {},
      [],
      null,
      { resource: '' },
      { ...document, authorization_servers: 'https://auth.example.com' },
    ]) {
      expect(resourceMetadataSchema.safeParse(wrong).success).toBe(false)
    }
  })
})

import { describe, expect, it } from 'vitest'
import { createAddresses } from './addresses.ts'

const origin = 'https://miramar.example'
const inner = (path: string) => new Request(`http://127.0.0.1:3000${path}`)

describe('the addresses of a Company', () => {
  it('stand at the root of the origin when nothing else is said', () => {
    const addresses = createAddresses({ origin })
    expect(addresses).toMatchObject({
      issuer: origin,
      token: `${origin}/poppy/token`,
      oauthMetadata: `${origin}/.well-known/oauth-authorization-server`,
      mcpMetadata: `${origin}/.well-known/oauth-protected-resource/poppy/mcp`,
    })
    expect(addresses.routeOf(addresses.token)).toBe('/poppy/token')
    expect(addresses.askedFor(inner('/orders?page=2'))).toBe(`${origin}/orders`)
  })

  it('have the prefix in each, the well-known documents behind the root of the host', () => {
    const addresses = createAddresses({ origin, basePath: '/svc2' })
    expect(addresses).toMatchObject({
      issuer: `${origin}/svc2`,
      token: `${origin}/svc2/poppy/token`,
      openapi: `${origin}/svc2/poppy/openapi.json`,
      mcp: `${origin}/svc2/poppy/mcp`,
      poppyPath: '/.well-known/poppy.json',
      oauthMetadata: `${origin}/.well-known/oauth-authorization-server/svc2`,
      mcpMetadata: `${origin}/.well-known/oauth-protected-resource/svc2/poppy/mcp`,
    })
    expect(addresses.urlOf('/poppy/device')).toBe(`${origin}/svc2/poppy/device`)
    expect(addresses.routeOf(addresses.token)).toBe('/svc2/poppy/token')
    expect(addresses.askedFor(inner('/svc2/orders'))).toBe(`${origin}/svc2/orders`)
  })

  it('are the same behind a proxy that takes the prefix away; only the routes are shorter', () => {
    const addresses = createAddresses({ origin, basePath: '/svc2', stripsBasePath: true })
    expect(addresses.token).toBe(`${origin}/svc2/poppy/token`)
    expect(addresses.routeOf(addresses.token)).toBe('/poppy/token')
    expect(addresses.routeOf(addresses.mcpMetadata)).toBe('/.well-known/oauth-protected-resource/svc2/poppy/mcp')
    expect(addresses.askedFor(inner('/orders'))).toBe(`${origin}/svc2/orders`)
  })

  it('keep an issuer with a path as it was written', () => {
    const addresses = createAddresses({ origin, issuer: `${origin}/guests` })
    expect(addresses.issuer).toBe(`${origin}/guests`)
    expect(addresses.oauthMetadata).toBe(`${origin}/.well-known/oauth-authorization-server/guests`)
    expect(addresses.token).toBe(`${origin}/poppy/token`)
  })
})

import { describe, expect, it } from 'vitest'
import { isWelcomePage } from './mcp-origin.ts'

const names = ['miramar.example', 'localhost', '127.0.0.1', '[::1]']

describe('a page calls the MCP server', () => {
  const from = (origin: string | null, site?: string) =>
    isWelcomePage(
      new Request('https://miramar.example/poppy/mcp', {
        method: 'POST',
        headers: { ...(origin === null ? {} : { origin }), ...(site === undefined ? {} : { 'sec-fetch-site': site }) },
      }),
      names,
    )

  it('from our own site, or from another one, as MCP clients in browsers do', () => {
    expect(from(null)).toBe(true)
    expect(from('https://miramar.example', 'same-origin')).toBe(true)
    expect(from('http://app.localhost:6274', 'same-origin')).toBe(true)
    for (const site of [undefined, 'cross-site', 'same-site']) expect(from('https://client.example', site)).toBe(true)
    for (const origin of ['null', 'http://localhost:6274']) expect(from(origin)).toBe(true)
  })

  it('by a name of its own that leads to us, which a proxy hides: its browser says that both are one site', () => {
    expect(from('https://evil.example', 'same-origin')).toBe(false)
    expect(from('https://evil.example:8443', 'same-origin')).toBe(false)
    expect(from('https://miramar.example.evil.example', 'same-origin')).toBe(false)
  })

  it('from what is no origin at all', () => {
    for (const origin of [
      'evil.example',
      'https://',
      'https://a b',
      'https://client.example/path',
      'https://miramar.example@evil.example',
      'https://[::1',
      'x, y',
    ])
      expect(from(origin)).toBe(false)
  })
})

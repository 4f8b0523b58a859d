import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const here = import.meta.dirname
const sources = globSync('**/*.ts', { cwd: here })
  .filter((path) => !path.endsWith('.test.ts'))
  .map((path) => ({ path, text: readFileSync(`${here}/${path}`, 'utf8') }))

/** The text without comments: what runs. */
const code = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')

describe('the sources of this package', () => {
  it('are found', () => {
    expect(sources.length).toBeGreaterThan(15)
  })

  it.each(sources)('$path imports nothing but jose, zod and its neighbours', ({ text }) => {
    const imports = [...code(text).matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)['"]([^'"]+)['"]/g)]
    for (const [, name] of imports) expect(name).toMatch(/^(jose(\/[a-z0-9/]+)?|zod|\.\.?\/[a-z0-9/.-]+\.ts)$/)
    expect(code(text)).not.toMatch(/\b(process|Buffer|globalThis)\b/)
  })

  it.each(sources)('$path reads no clock, rolls no dice, asks no network and waits for nothing', ({ text }) => {
    const found = code(text).match(
      /\bDate\b|\bperformance\b|\bTemporal\b|Math\.random|\bcrypto\b|getRandomValues|randomUUID|generateKeyPair|generateSecret|\bfetch\b|setTimeout|setInterval|setImmediate|queueMicrotask|console\.|jwtVerify|createRemoteJWKSet|\.set(IssuedAt|ExpirationTime|NotBefore)\(/,
    )
    expect(found?.[0]).toBeUndefined()
  })

  it.each(sources)('$path keeps no state', ({ text }) => {
    expect(code(text)).not.toMatch(/^(export )?(let|var) /m)
  })

  it.each(sources)('$path explains each of its exports', ({ text }) => {
    const lines = text.split('\n')
    const bare = lines.filter(
      (line, at) =>
        /^export (async |abstract )?(const|function|class|interface|type) \w/.test(line) &&
        !lines[at - 1]?.trimEnd().endsWith('*/'),
    )
    expect(bare).toEqual([])
  })
})

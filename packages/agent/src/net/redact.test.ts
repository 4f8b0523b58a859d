import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { redaction } from './redact.ts'

async function through(secrets: readonly string[], parts: readonly string[]): Promise<string> {
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(new TextEncoder().encode(part))
      controller.close()
    },
  })
  return new Response(source.pipeThrough(redaction(secrets))).text()
}

describe('secrets in a stream', () => {
  const text = 'a token-of-this-session, and tok, and ünïcode token-of-this-session'
  const clean = 'a [secret], and tok, and ünïcode [secret]'

  it.each([1, 2, 3, 7, 1000])('are taken out in parts of %i characters', async (size) => {
    const parts = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    expect(await through(['token-of-this-session', 'another'], parts)).toBe(clean)
  })

  it('keep nothing back that can’t be the start of one: an event goes on as it comes', async () => {
    const { readable, writable } = redaction(['token'])
    const writer = writable.getWriter()
    const reader = readable.getReader()
    void writer.write(new TextEncoder().encode('data: {"a":1}\n\n'))
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('data: {"a":1}\n\n')
    void writer.write(new TextEncoder().encode('to'))
    void writer.close()
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('to')
  })

  it('are what was sent and nothing else: no secret leaves a text as it is', async () => {
    expect(await through([], [text])).toBe(text)
    expect(await through([''], [text])).toBe(text)
    expect(await through(['tokentoken'], ['tokento', 'tokentoken'])).toBe('tokento[secret]')
  })
})

describe('whatever the parts and the secrets', () => {
  it('no secret comes through, and nothing else is lost', async () => {
    // Few letters, so that beginnings of secrets are everywhere.
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 2, maxLength: 6 })
    const run = fc.asyncProperty(
      fc.uniqueArray(word, { minLength: 1, maxLength: 3 }),
      fc.array(word),
      async (secrets, parts) => {
        const [first = ''] = secrets
        const seen = await through(secrets, parts)
        for (const secret of secrets) expect(seen.replaceAll('[secret]', '|')).not.toContain(secret)
        if (secrets.length === 1) expect(seen).toBe(parts.join('').replaceAll(first, '[secret]'))
      },
    )
    await fc.assert(run, { numRuns: 500 })
  })
})

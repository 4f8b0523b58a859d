import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8')

describe('the README tells the truth', () => {
  const readme = read('README.md')

  it('shows the five-minute Company as it is in the examples', () => {
    const shown = /```ts\n(import \{ randomBytes[\s\S]*?)```/.exec(readme)?.[1]
    expect(shown).toBe(read('examples/five-minutes/server.ts'))
  })

  it('names scripts and files that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    for (const [, name = ''] of readme.matchAll(/npm run ([a-z:-]+)/g)) expect(Object.keys(scripts)).toContain(name)
    for (const [, path = ''] of readme.matchAll(/\]\(([A-Za-z][\w./-]*\.(?:md|ts))\)/g))
      expect(() => read(path), path).not.toThrow()
  })

  it('is short enough to be read', () => {
    expect(readme.split('\n').length).toBeLessThan(200)
  })
})

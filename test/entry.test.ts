import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

/** What a program loads when it imports an entry, as the paths of its modules. */
function loadedBy(entry: string): readonly string[] {
  const program = `
    import { registerHooks } from 'node:module'
    const seen = []
    registerHooks({ load(url, context, next) { seen.push(url); return next(url, context) } })
    await import(${JSON.stringify(entry)})
    console.log(JSON.stringify(seen))`
  const root = fileURLToPath(new URL('..', import.meta.url))
  const output = execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], {
    cwd: root,
    encoding: 'utf8',
  })
  return JSON.parse(output) as string[]
}

describe('what is optional stays out of the main entry', () => {
  it('loads no database and no listener with poppyseed itself', () => {
    const loaded = loadedBy('poppyseed')
    expect(loaded.length).toBeGreaterThan(20)
    expect(loaded.filter((url) => /node:sqlite|\/node_modules\/pg\/|@hono\/node-server|\/ai\//.test(url))).toEqual([])
  })

  it('loads the PostgreSQL driver only where a store on it is opened', () => {
    for (const entry of ['poppyseed/postgres', 'poppyseed/sqlite', 'poppyseed/node']) {
      expect(loadedBy(entry).filter((url) => url.includes('/node_modules/pg/'))).toEqual([])
    }
  })
})

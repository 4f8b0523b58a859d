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

/** Parts that weigh more than all of the rest, or that not everybody has. */
const late = {
  'a database': /node:sqlite|\/node_modules\/(?:pg|kysely)\//,
  'a client for documents': /\/node_modules\/undici\//,
  'MCP, and what checks raw JSON Schema': /\/node_modules\/@modelcontextprotocol\//,
  'what draws pages': /\/node_modules\/hono\//,
  'the inbox': /\/packages\/company\/dist\/inbox(?:-app)?\/(?!settings|paths|api-paths)/,
  telemetry: /\/node_modules\/@opentelemetry\//,
  'what answers requests': /\/packages\/company\/dist\/(?:company|request-handler)\.js$/,
  'a command line': /\/node_modules\/commander\/|\/packages\/company\/dist\/cli\//,
  'a listener or a framework': /\/node_modules\/(?:@hono\/node-server|express|next|ai)\//,
}

describe('what an import loads', () => {
  const entries = ['poppyseed', 'poppyseed/sqlite', 'poppyseed/postgres', 'poppyseed/node']

  it.each(entries)('%s waits with all that is heavy or optional until it is needed', (entry) => {
    const loaded = loadedBy(entry)
    const parts = Object.entries(late).filter(([, path]) => loaded.some((url) => path.test(url)))
    expect(parts.map(([name]) => name)).toEqual([])
  })

  it.each(['@poppyseed/agent', './packages/agent/dist/cli/poppy.js'])(
    '%s waits with what draws a QR code until one is drawn',
    (entry) => {
      const loaded = loadedBy(entry)
      expect(loaded.length).toBeGreaterThan(20)
      expect(loaded.filter((url) => url.includes('/node_modules/uqr/'))).toEqual([])
    },
  )

  it('poppyseed/ai loads the package that it is for, and of the rest no more than an import may', () => {
    const loaded = loadedBy('poppyseed/ai')
    const parts = Object.entries(late).filter(([, path]) => loaded.some((url) => path.test(url)))
    expect(parts.map(([name]) => name)).toEqual(['a listener or a framework'])
    expect(loaded.some((url) => url.includes('/node_modules/ai/'))).toBe(true)
  })

  it('is seen here as it is', () => {
    expect(loadedBy('poppyseed').length).toBeGreaterThan(20)
    expect(loadedBy('kysely').some((url) => late['a database'].test(url))).toBe(true)
  })
})

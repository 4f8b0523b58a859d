import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

// What CONTRIBUTING.md promises of the whole house, as far as a test can see it.

const root = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const isTest = (path: string) => /\.test\.tsx?$/.test(path)

/** Every package and example, with what it is published as and what it may use. */
const rooms = globSync(['packages/*/package.json', 'examples/*/package.json'], { cwd: root }).map((path) => {
  const {
    name,
    dependencies = {},
    peerDependencies = {},
    imports = {},
  } = JSON.parse(read(path)) as {
    name: string
    dependencies?: Record<string, string>
    peerDependencies?: Record<string, string>
    imports?: Record<string, unknown>
  }
  const folder = dirname(path)
  const sources = globSync('{src,bin}/**/*.{ts,tsx,js}', { cwd: join(root, folder) })
    .filter((source) => !isTest(source))
    .map((source) => join(folder, source))
  const own = Object.keys(imports).map((pattern) => pattern.replace('*', ''))
  return { name, folder, sources, own, uses: [...Object.keys(dependencies), ...Object.keys(peerDependencies)] }
})

/** What a file imports, whether by a statement or by a call. */
function importsOf(path: string): readonly string[] {
  const code = read(path)
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')
  return [...code.matchAll(/(?:^|\s)(?:from|import)\s*\(?\s*['"]([^'"\n]+)['"]/g)].map(([, name = '']) => name)
}

/** The package that an import is from: `poppyseed/sqlite` is of `poppyseed`. */
const packageOf = (name: string) => name.split('/', name.startsWith('@') ? 2 : 1).join('/')

const ours = new Set(rooms.map(({ name }) => name))
const mayUse: Readonly<Record<string, readonly string[]>> = {
  '@poppyseed/protocol': [],
  poppyseed: ['@poppyseed/protocol'],
  '@poppyseed/agent': ['@poppyseed/protocol'],
  '@poppyseed/conformance': ['@poppyseed/protocol'],
}

/** Found whole, so that a search that finds nothing can't pass for a clean house. */
const large = new Set(['packages/protocol', 'packages/company', 'packages/agent', 'examples/hotel'])

describe('the arrows between packages', () => {
  it('are known for every package there is', () => {
    const packages = rooms.filter(({ folder }) => folder.startsWith('packages/'))
    expect(packages.map(({ name }) => name).sort()).toEqual(Object.keys(mayUse).sort())
    for (const { folder, sources } of rooms) if (large.has(folder)) expect(sources.length).toBeGreaterThan(5)
  })

  it.each(rooms)('run one way from $name: no side imports the other, and nothing is reached past a border', (room) => {
    for (const path of room.sources) {
      for (const name of importsOf(path)) {
        if (name.startsWith('.')) {
          const target = relative(join(root, room.folder), resolve(root, dirname(path), name))
          expect({ path, name, leaves: target.startsWith('..') }).toEqual({ path, name, leaves: false })
        } else if (name.startsWith('#')) {
          expect({ path, name, own: room.own.some((prefix) => name.startsWith(prefix)) }).toMatchObject({ own: true })
        } else if (!name.startsWith('node:')) {
          // What is used is said: a package that happens to be there is not enough.
          expect({ path, name, said: room.uses.includes(packageOf(name)) }).toEqual({ path, name, said: true })
        }
      }
    }
    const used = room.uses.filter((name) => ours.has(name))
    if (room.folder.startsWith('packages/')) expect(used).toEqual(mayUse[room.name])
  })

  it("let the inbox's application use Preact, its own files, and of the Company what is shown and how it is written", () => {
    const sources = globSync('packages/company/inbox/**/*.{ts,tsx}', { cwd: root }).filter((path) => !isTest(path))
    expect(sources).toContain('packages/company/inbox/app.tsx')
    for (const path of sources)
      for (const name of importsOf(path)) {
        const target = relative(join(root, 'packages/company'), resolve(root, dirname(path), name))
        const isFine = name.startsWith('.')
          ? /^src\/(?:inbox\/view|words\/(?:(?:inbox-)?words|formats))\.ts$/.test(target) || target.startsWith('inbox/')
          : /^preact(?:-render-to-string)?(?:\/|$)/.test(name)
        expect({ path, name, isFine }).toEqual({ path, name, isFine: true })
      }
  })

  it('between the chapters of the Company leave HTTP and keys in their folders', () => {
    const company = rooms.find(({ name }) => name === 'poppyseed')?.sources ?? []
    const from = (folder: string) => company.filter((path) => path.includes(`/src/${folder}/`))
    for (const folder of ['http', 'net', 'crypto'])
      for (const path of from(folder))
        for (const name of importsOf(path))
          expect({
            path,
            name,
            isChapter: /\.\.\/(discovery|agents|sessions|sign-in|accounts|tools)\//.test(name),
          }).toEqual({ path, name, isChapter: false })
    for (const path of company) {
      if (path.includes('/src/crypto/')) continue
      const code = read(path)
      expect({ path, keys: /\b(?:createHmac|createCipheriv|hkdfSync|importJWK|subtle\.)/.test(code) }).toEqual({
        path,
        keys: false,
      })
    }
  })
})

describe('what is published', () => {
  const entries = [
    'protocol/src/index.ts',
    'company/src/index.ts',
    'company/src/node.ts',
    'company/src/testing.ts',
    'agent/src/index.ts',
    'agent/src/ai/ai-tools.ts',
  ]

  /** Where each exported name is declared, followed through the files that hand it on. */
  function* exportsOf(path: string): Generator<{ readonly name: string; readonly path: string }> {
    const code = read(path)
    for (const [, list, from] of code.matchAll(/^export (?:type )?(\*|\{[\s\S]*?\})(?: from '([^']+)')?/gm)) {
      if (from === undefined || !from.startsWith('.')) continue
      const target = join(dirname(path), from)
      if (list === '*') yield* namesIn(target)
      else for (const [name] of (list ?? '').replaceAll(/\btype /g, '').matchAll(/\w+/g)) yield { name, path: target }
    }
  }
  function* namesIn(path: string): Generator<{ readonly name: string; readonly path: string }> {
    for (const [, name = ''] of read(path).matchAll(
      /^export (?:async )?(?:const|function|class|interface|type) (\w+)/gm,
    ))
      yield { name, path }
    yield* exportsOf(path)
  }
  const published = [
    ...entries.flatMap((entry) => [...exportsOf(join('packages', entry))]),
    ...['sqlite', 'postgres'].flatMap((store) => [...namesIn(`packages/company/src/store/${store}.ts`)]),
  ]

  it('is found', () => {
    for (const name of ['createCompany', 'tool', 'sqlite', 'createPersonalAgent', 'checkProof', 'Accounts'])
      expect(published.map((one) => one.name)).toContain(name)
  })

  it('says of each name what it is', () => {
    const bare = published.filter(({ name, path }) => {
      const lines = read(path).split('\n')
      const at = lines.findIndex((line) => new RegExp(`^export (?:async )?\\w+ ${name}\\b`).test(line))
      return at < 0 || !lines[at - 1]?.trimEnd().endsWith('*/')
    })
    expect(bare).toEqual([])
  })

  it('has named exports only', () => {
    // Next finds pages by their default export.
    const isPage = (path: string) => /^examples\/next\/src\/app\/(?:.+\/)?(?:page|layout)\.tsx$/.test(path)
    for (const { sources } of rooms)
      for (const path of sources.filter((one) => !isPage(one)))
        expect({ path, default: /^export default/m.test(read(path)) }).toEqual({ path, default: false })
  })
})

describe('small rooms', () => {
  const files = globSync(['{packages,examples,test,spec,bench}/**/*.{ts,tsx,js,css}'], {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**', '**/.next/**'],
  })

  it('have no more than 600 lines each', () => {
    expect(files.length).toBeGreaterThan(300)
    expect(files.filter((path) => read(path).split('\n').length > 601)).toEqual([])
  })

  it('have nothing left over from a merge, nor do the pages about them', () => {
    // A formatter turns the marks into quotes and lists, so they are looked for anywhere in a line.
    const pages = globSync(['*.md', '{docs,packages,examples}/**/*.md'], {
      cwd: root,
      exclude: ['**/node_modules/**'],
    })
    expect(pages).toContain('CHANGELOG.md')
    expect([...files, ...pages].filter((path) => /<{7} \w|(?:> ?){7}[\da-f]{7}/.test(read(path)))).toEqual([])
  })

  it('are no drawers', () => {
    expect(files.filter((path) => /(?:^|\/)(?:utils?|helpers?|common|shared|misc)(?:[./]|$)/.test(path))).toEqual([])
  })
})

/**
 * Builds the inbox's application (`inbox/`) into `dist/inbox-app`: `render.js` draws on the server, and `assets.js` has what
 * a browser loads, as text. Both stand by themselves: who installs the library installs neither Preact nor Vite for it.
 *
 * It does nothing when that is there and made of these very sources, and each file takes its place whole: two that build at
 * once, such as two test runs, do no harm to each other.
 */

import { createHash, randomBytes } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Rolldown } from 'vite'

const sources = join(import.meta.dirname, 'inbox')
const target = join(import.meta.dirname, 'dist/inbox-app')

/** Builds what isn't built of the sources as they are now. */
export async function buildInbox(): Promise<void> {
  const mark = `// Made of inbox/ as it was at ${sourceHash()}.`
  if (isMadeOf(mark)) return
  const vite = await import('vite')
  const bundle = async (entry: string, forServer: boolean) => {
    const built = await vite.build({
      root: sources,
      configFile: false,
      logLevel: 'warn',
      publicDir: false,
      // Whatever NODE_ENV says, such as a test run's: else what is shipped would have the paths of this machine in it.
      mode: 'production',
      oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
      resolve: { conditions: forServer ? ['module', 'node'] : ['module', 'browser'] },
      ssr: { noExternal: true },
      build: {
        write: false,
        ssr: forServer,
        target: forServer ? 'node22' : 'es2022',
        minify: !forServer,
        modulePreload: false,
        cssCodeSplit: false,
        assetsInlineLimit: 0,
        rolldownOptions: { input: join(sources, entry), output: { codeSplitting: false } },
      },
    })
    const [{ output }] = [built].flat() as [Rolldown.RolldownOutput]
    return output
  }
  const [server, browser] = [await bundle('server.tsx', true), await bundle('browser.tsx', false)]
  const script = onlyOne(browser, (part) => (part.type === 'chunk' ? part.code : null))
  const styles = onlyOne(browser, (part) => (part.type === 'asset' ? String(part.source) : null))
  const assets = {
    script,
    scriptName: `inbox-${hashOf(script)}.js`,
    styles,
    stylesName: `inbox-${hashOf(styles)}.css`,
  }
  put('render.js', `${mark}\n${onlyOne(server, (part) => (part.type === 'chunk' ? part.code : null))}`)
  const lines = Object.entries(assets).map(([name, text]) => `export const ${name} = ${JSON.stringify(text)}`)
  put('assets.js', [mark, ...lines, ''].join('\n'))
}

type Part = Rolldown.RolldownOutput['output'][number]

/** One script and one stylesheet: else the pages would have to know more names. */
function onlyOne(parts: readonly Part[], read: (part: Part) => string | null): string {
  const found = parts.map(read).filter((text) => text !== null)
  if (found.length === 1 && found[0] !== undefined) return found[0]
  throw new Error(`The inbox is to be one script and one stylesheet: ${parts.map((part) => part.fileName).join(', ')}`)
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12)

/** Of all that the result depends on: the time of a file says little after a checkout. */
function sourceHash(): string {
  const all = createHash('sha256').update(readFileSync(import.meta.filename))
  for (const name of ['preact', 'preact-render-to-string', 'vite']) {
    const manifest = join(import.meta.dirname, '../../node_modules', name, 'package.json')
    all.update(`${name} ${(JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version}\n`)
  }
  for (const path of globSync('**/*.{ts,tsx,css,svg}', { cwd: sources }).sort()) {
    if (/\.test\.tsx?$/.test(path)) continue
    all.update(`${path}\n`).update(readFileSync(join(sources, path)))
  }
  return all.digest('hex').slice(0, 32)
}

function isMadeOf(mark: string): boolean {
  return ['render.js', 'assets.js'].every((name) => {
    try {
      return readFileSync(join(target, name), 'utf8').startsWith(`${mark}\n`)
    } catch {
      return false
    }
  })
}

/** A file is the old one or the new one, never a piece of either. */
function put(name: string, text: string): void {
  mkdirSync(target, { recursive: true })
  const written = join(target, `.${name}.${randomBytes(6).toString('hex')}`)
  try {
    writeFileSync(written, text)
    renameSync(written, join(target, name))
  } catch (error) {
    rmSync(written, { force: true })
    throw error
  }
}

if (import.meta.main) await buildInbox()

import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Node strips types, but knows no JSX. Pages of a Company that runs from its sources in a process of its own go through Vite's
 * compiler, once in a run, and not in each process: to load Vite takes longer than all else that such a process does.
 */

const root = join(import.meta.dirname, '../..')
const nameOf = (path: string) => `${relative(root, path).replaceAll(/[^\w-]/g, '_')}.js`

/** Compiles the pages into `folder`, where the run's processes find them. */
export async function compilePages(folder: string): Promise<void> {
  const { transformWithOxc } = await import('vite')
  mkdirSync(folder, { recursive: true })
  process.env.POPPYSEED_PAGES = folder
  const jsx = { runtime: 'automatic', importSource: 'hono/jsx' } as const
  for (const name of globSync('packages/company/src/**/*.tsx', { cwd: root })) {
    const path = join(root, name)
    const { code } = await transformWithOxc(await readFile(path, 'utf8'), path, { jsx })
    writeFileSync(join(folder, nameOf(path)), code)
  }
}

/** Has this process, which the run started, find them there. */
export function knowPages(): void {
  registerHooks({
    load(url, context, next) {
      if (!url.endsWith('.tsx')) return next(url, context)
      const source = readFileSync(join(process.env.POPPYSEED_PAGES ?? '', nameOf(fileURLToPath(url))), 'utf8')
      return { format: 'module', source, shortCircuit: true }
    },
  })
}

import { readFile } from 'node:fs/promises'
import type { LoadHook } from 'node:module'
import { fileURLToPath } from 'node:url'

/** Node strips types, but knows no JSX: pages of a Company that runs from its sources go through Vite's own compiler. */
export const load: LoadHook = async (url, context, next) => {
  if (!url.endsWith('.tsx')) return next(url, context)
  // Loaded with the first page: a process that shows none never waits for it.
  const { transformWithOxc } = await import('vite')
  const path = fileURLToPath(url)
  const jsx = { runtime: 'automatic', importSource: 'hono/jsx' } as const
  const { code } = await transformWithOxc(await readFile(path, 'utf8'), path, { jsx })
  return { format: 'module', source: code, shortCircuit: true }
}

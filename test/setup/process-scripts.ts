import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * What the tests start as processes of their own. Each is made one script of all its sources, once in a run: to load hundreds of
 * files takes a process three times as long as all else that it does at its start, and a run starts hundreds of processes.
 */

const root = join(import.meta.dirname, '../..')

const sources = {
  'agent-process': 'packages/agent/test/agent-process.ts',
  'answering-process': 'test/setup/answering-process.ts',
  'company-process': 'test/setup/company-process.ts',
  'conversation-process': 'test/setup/conversation-process.ts',
  'deposits-process': 'test/setup/deposits-process.ts',
  'operation-process': 'test/setup/operation-process.ts',
  'store-process': 'test/setup/store-process.ts',
} as const

/** Of this run. Workers inherit it. */
const variable = 'POPPYSEED_PROCESSES'

/** Makes the scripts in `folder`, of the sources as they are now and what they are with, where the run's tests find them. */
export async function makeProcessScripts(folder: string): Promise<void> {
  const { build } = await import('vite')
  // As the tests themselves: the workspace's packages from their sources.
  const conditions = ['@poppyseed/source', 'module', 'node']
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    oxc: { jsx: { runtime: 'automatic', importSource: 'hono/jsx', development: false } },
    resolve: { conditions },
    ssr: { noExternal: true, resolve: { conditions } },
    plugins: [
      { name: 'where-it-was', enforce: 'pre', transform: { filter: { code: 'import.meta' }, handler: keepPlace } },
    ],
    build: {
      ssr: true,
      target: 'node24',
      outDir: folder,
      minify: false,
      rolldownOptions: {
        input: Object.fromEntries(Object.entries(sources).map(([name, path]) => [name, join(root, path)])),
        output: { entryFileNames: '[name].mjs', keepNames: true },
        // PostgreSQL's driver looks for it and does without.
        external: ['pg-native'],
      },
    },
  })
  process.env[variable] = folder
}

/** What a source finds beside itself is there still, and not beside the script. */
function keepPlace(code: string, id: string): string {
  return code
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
    .replaceAll('import.meta.dirname', JSON.stringify(join(id, '..')))
    .replaceAll('import.meta.filename', JSON.stringify(id))
}

/** Where the script of a process is. */
export function processScript(name: keyof typeof sources): string {
  const folder = process.env[variable]
  if (folder === undefined) throw new Error(`${basename(sources[name])} is made when a run of the tests begins`)
  return join(folder, `${name}.mjs`)
}

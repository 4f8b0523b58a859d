import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { type Child, startChild } from './child.ts'
import { freePort } from './free-port.ts'

/** The examples of a mounted Company, each started as its README says, as a process of its own. */

const root = resolve(import.meta.dirname, '../..')

/** A site that runs. */
export interface MountedSite {
  readonly origin: string
  readonly child: Child
}

function freshDirectory(parent: string): string {
  mkdirSync(parent, { recursive: true })
  const directory = mkdtempSync(join(parent, 'poppyseed-mount-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

async function open(child: (env: Record<string, string>) => Child, sign: string): Promise<MountedSite> {
  const port = String(await freePort())
  const started = child({ PORT: port, DATABASE: join(freshDirectory(tmpdir()), 'poppy.db') })
  await started.says(sign)
  return { origin: `http://localhost:${port}`, child: started }
}

/** Starts an example whose `npm start` needs nothing before it. */
export function openExample(name: 'express' | 'hono'): Promise<MountedSite> {
  return open((env) => startChild('npm', ['start', '-w', `poppyseed-example-${name}`], env), 'is open at')
}

/**
 * Builds the Next example and starts it. Next writes into the folder that it builds, so this is a copy; below the
 * repository, where its packages are found, and not in `node_modules`, which Next doesn't build.
 */
export async function openNextExample(): Promise<MountedSite> {
  const copy = freshDirectory(join(root, '.data'))
  const example = join(root, 'examples/next')
  for (const part of ['src', 'package.json', 'tsconfig.json']) {
    cpSync(join(example, part), join(copy, part), { recursive: true })
  }
  cpSync(join(example, 'next.config.ts'), join(copy, 'example.config.ts'))
  // `npm run types` checks its types. Small files and a cache for the next build would be for nobody.
  const config = `import example from './example.config.ts'

export default {
  ...example,
  typescript: { ignoreBuildErrors: true },
  experimental: { turbopackMinify: false, turbopackFileSystemCacheForBuild: false },
}
`
  writeFileSync(join(copy, 'next.config.ts'), config)
  const run = (script: string, env: Record<string, string> = {}) =>
    startChild('npm', ['run', script, '--prefix', copy], { ...env, NEXT_TELEMETRY_DISABLED: '1' })
  const build = run('build')
  const code = await build.ended
  expect({ code, ...(code === 0 ? {} : build.output) }).toEqual({ code: 0 })
  return open((env) => run('start', env), 'Ready in')
}

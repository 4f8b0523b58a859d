import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url))
const cache = join(modules, '.cache')

/**
 * Inflates the Chromium that came with `npm ci` into node_modules/.cache, once per version.
 *
 * @returns the path of the browser, or why there is none on this platform
 */
export async function inflateChromium(): Promise<{ readonly path: string } | { readonly missing: string }> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return { missing: `no Chromium comes with npm ci on ${process.platform} ${process.arch}` }
  }
  const { default: chromium } = await import('@sparticuz/chromium')
  const manifest: unknown = JSON.parse(await readFile(join(modules, '@sparticuz/chromium/package.json'), 'utf8'))
  const version = typeof manifest === 'object' && manifest && 'version' in manifest ? manifest.version : 'unknown'
  const folder = join(cache, `chromium-${version}`)
  const path = join(folder, 'chromium')
  if (existsSync(path)) return { path }

  // The package inflates into tmpdir() and takes whatever stands there, half written or of another version. So it
  // gets a folder of its own, which takes its name only when it is whole.
  const part = `${folder}.${process.pid}.part`
  await mkdir(part, { recursive: true })
  const before = process.env.TMPDIR
  process.env.TMPDIR = part
  try {
    await chromium.executablePath()
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
  await rename(part, folder).catch(async (cause: unknown) => {
    // Another run was faster: its folder is as good as ours.
    await rm(part, { recursive: true, force: true })
    if (!existsSync(path)) throw cause
  })
  await dropOthers(`chromium-${version}`)
  return { path }
}

/** Drops browsers of other versions: 200 MB each. Part folders may belong to a run that goes on, and stay. */
async function dropOthers(keep: string): Promise<void> {
  for (const name of await readdir(cache)) {
    if (/^chromium-[\d.]+$/.test(name) && name !== keep) await rm(join(cache, name), { recursive: true, force: true })
  }
}

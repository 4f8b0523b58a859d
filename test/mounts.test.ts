import { it } from 'vitest'
import { build } from './setup/build.ts'
import { tourMountedSite } from './setup/mount-tour.ts'
import { openExample } from './setup/mounted-site.ts'

// Each example is the smallest site that a framework makes, with the Company in it.

it.each([
  ['Express', 'express'],
  ['a bare Hono app', 'hono'],
] as const)(
  'a Company in %s is found, called signed out and signed in, over HTTP and MCP, beside the site',
  {
    timeout: 180_000,
  },
  async (_, name) => {
    await build()
    await tourMountedSite(await openExample(name))
  },
)

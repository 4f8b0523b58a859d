import { it } from 'vitest'
import { build } from './setup/build.ts'
import { tourMountedSite } from './setup/mount-tour.ts'
import { openNextExample } from './setup/mounted-site.ts'

it('a Company in Next, built and started, is found, called signed out and signed in, over HTTP and MCP, beside the site', {
  // A build of Next is many seconds of work for both cores, on a machine that may be busy with other tests.
  timeout: 300_000,
}, async () => {
  await build()
  await tourMountedSite(await openNextExample())
})

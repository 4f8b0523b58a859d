import { expect, it } from 'vitest'
import { startChild } from './setup/child.ts'
import { tourMountedSite } from './setup/mount-tour.ts'
import { openNextExample } from './setup/mounted-site.ts'

it('a Company in Next, built and started, is found, called signed out and signed in, over HTTP and MCP, beside the site', {
  // A build of Next is many seconds of work for both cores, on a machine that may be busy with other tests.
  timeout: 300_000,
}, async () => {
  expect(await startChild('npm', ['run', 'build']).ended).toBe(0)
  await tourMountedSite(await openNextExample())
})

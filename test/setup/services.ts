/**
 * Runs once per `vitest run`, before any test: builds the inbox's application where that is missing or old, starts one real
 * PostgreSQL and makes one real Chromium ready, and hands their addresses to the tests. Where the platform has neither, tests find `null` and the reason, and skip.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { buildInbox } from '../../packages/company/build-inbox.ts'
import { inflateChromium } from './chromium.ts'
import { folderInMemory } from './memory.ts'
import { startPostgres } from './postgres-server.ts'
import { makeProcessScripts } from './process-scripts.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Connection URL of the run's PostgreSQL, superuser; null where the platform has none. */
    readonly postgresUrl: string | null
    /** Why there is no PostgreSQL; null where there is one. */
    readonly postgresMissing: string | null
    /** Path of the Chromium to start; null where the platform has none. */
    readonly chromiumPath: string | null
    /** Why there is no Chromium; null where there is one. */
    readonly chromiumMissing: string | null
  }
}

/** Vitest's global setup; what it returns is the tear-down. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Hundreds of processes read the same sources: what Node made of them is kept for the next one.
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'poppyseed-compile-cache')
  // Sources and all, the inbox is tested as it is shipped.
  await buildInbox()
  // One after the other: inflating moves TMPDIR for a moment, and PostgreSQL reads it too.
  const chromium = await inflateChromium()
  project.provide('chromiumPath', 'path' in chromium ? chromium.path : null)
  project.provide('chromiumMissing', 'missing' in chromium ? chromium.missing : null)

  // Workers and their processes inherit it, as the database server does.
  const folder = folderInMemory()
  if (folder) process.env.TMPDIR = folder.path
  const scripts = mkdtempSync(join(tmpdir(), 'poppyseed-processes-'))
  await makeProcessScripts(scripts)
  const postgres = await startPostgres()
  project.provide('postgresUrl', 'url' in postgres ? postgres.socketUrl : null)
  project.provide('postgresMissing', 'missing' in postgres ? postgres.missing : null)

  return async () => {
    if ('url' in postgres) await postgres.stop()
    rmSync(scripts, { recursive: true, force: true })
    folder?.remove()
  }
}

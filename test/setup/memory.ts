import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where Linux keeps files in memory. A container may have a few megabytes of it, or none. */
const memory = '/dev/shm'
/** What a run may need at most, the an example site's whole build among it. */
const needed = 2 ** 31
const name = /^poppyseed-run-(\d+)$/

/**
 * A folder in memory for all that the run's tests write, so that no test waits for a disk: databases of tests commit
 * durably, thousands of times. No test is about a machine that loses its power.
 *
 * @returns the folder and how it ends, or null where the machine has no such place, or not enough of it
 */
export function folderInMemory(): { readonly path: string; readonly remove: () => void } | null {
  const path = join(memory, `poppyseed-run-${process.pid}`)
  const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 3 })
  try {
    dropAbandoned()
    const { bavail, bsize } = statfsSync(memory)
    if (bavail * bsize < needed) return null
    // Others than we go through it, and see nothing that they don't know the name of: PostgreSQL isn't run by root.
    mkdirSync(path, { mode: 0o711 })
  } catch {
    return null
  }
  if (runsPrograms(path)) return { path, remove }
  remove()
  return null
}

/** A run that was killed left its folder, which would stay until the machine stops. */
function dropAbandoned(): void {
  for (const entry of readdirSync(memory)) {
    const pid = Number(name.exec(entry)?.[1])
    if (pid && !isAlive(pid)) rmSync(join(memory, entry), { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

/** Containers often forbid it there, and some tests install packages with commands. */
function runsPrograms(path: string): boolean {
  const program = join(path, 'trial')
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 })
  const { status } = spawnSync(program)
  rmSync(program)
  return status === 0
}

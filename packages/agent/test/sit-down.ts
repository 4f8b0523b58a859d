import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Surroundings } from '../src/cli/command.ts'
import { runPoppy } from '../src/cli/poppy.ts'
import { type FakeCompany, startFakeCompany } from './fake-company.ts'

/** A person at a terminal: a home folder of their own and, where asked, a Company on this machine. */
export async function sitDown(around: Partial<Surroundings> = {}) {
  const home = await mkdtemp(join(tmpdir(), 'poppy-home-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  const port = await freePort()
  let out = ''
  let err = ''
  let heard: () => void = () => {}
  const poppy = async (...args: readonly string[]) => {
    out = ''
    err = ''
    const code = await runPoppy(args, {
      stdout: (text) => {
        out += text
        heard()
      },
      stderr: (text) => {
        err += text
      },
      isTerminal: false,
      env: { POPPY_HOME: join(home, 'state') },
      now: Date.now,
      ...around,
    })
    return { code, out, err }
  }
  /** Waits until the output has something in it. */
  const until = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const found = pattern.exec(out)
      if (found) return found[1] ?? found[0]
      await new Promise<void>((resolve) => {
        heard = resolve
      })
    }
  }
  return { poppy, until, home: join(home, 'state'), port, init: () => poppy('init', '--local', String(port)) }
}

/** A home folder that isn't there yet. */
export async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'poppy-home-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'state')
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

/** A Company that fetches the agent's keys over HTTP, as a real one does: so the identity must be served. */
export function openCompany(): Promise<FakeCompany> {
  return startFakeCompany({
    now: Date.now,
    keySet: async (clientId) => {
      const answer = await fetch(new URL('jwks.json', clientId))
      return (await answer.json()) as { keys: { kid: string }[] }
    },
  })
}

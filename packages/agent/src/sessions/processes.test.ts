import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startVisit, type Visit } from '../../test/visit.ts'
import { fileStore, generateKey } from '../index.ts'

const script = fileURLToPath(new URL('../../test/agent-process.ts', import.meta.url))

interface Running {
  readonly child: ChildProcess
  /** The next line that it writes. */
  readonly line: () => Promise<string>
  readonly go: () => void
}

function start(task: Record<string, unknown>): Running {
  const child = spawn(process.execPath, ['-C', '@poppyseed/source', script, JSON.stringify(task)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  let heard: () => void = () => {}
  child.stdout.on('data', (part) => {
    text += String(part)
    heard()
  })
  return {
    child,
    go: () => void child.stdin.write('go\n'),
    line: async () => {
      for (;;) {
        const end = text.indexOf('\n')
        if (end >= 0) {
          const line = text.slice(0, end)
          text = text.slice(end + 1)
          return line
        }
        await new Promise<void>((resolve) => {
          heard = resolve
        })
      }
    },
  }
}

/** A User who is signed in, by a store in a file, two hours ago. */
async function signedInLongAgo(): Promise<Visit & { readonly task: Record<string, unknown>; readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'poppy-processes-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'home', 'state.json')
  const keys = [await generateKey()]
  const visit = await startVisit({ store: fileStore(path), keys })
  visit.fake.switches.rotates = true
  await visit.signIn(await visit.session(), ['poppy:read'])
  visit.clock.now += 2 * 3600 * 1000
  visit.fake.take()
  const task = { path, keys, origin: visit.fake.origin, now: visit.clock.now, calls: 20, operation: 'get_order' }
  return { ...visit, task, folder: join(folder, 'home') }
}

describe('two processes with one store', () => {
  it('refresh an expired Session Token once between them, and all their calls succeed with it [K22]', async () => {
    const { fake, task, session, clock, folder } = await signedInLongAgo()
    const both = [start(task), start(task)]
    for (const one of both) expect(await one.line()).toBe('ready')
    for (const one of both) one.go()
    for (const one of both) expect(JSON.parse(await one.line())).toEqual(Array(20).fill(200))
    expect(fake.paths().filter((path) => path.startsWith('POST /token'))).toEqual(['POST /token 200'])
    const used = new Set(
      fake.requests.filter(({ path }) => path.startsWith('/api/')).map((one) => one.headers.authorization),
    )
    expect(used.size).toBe(1)
    expect(await readdir(folder)).toEqual(['state.json'])

    // The Account Token that came with it is the one that works next.
    clock.now += 2 * 3600 * 1000
    expect((await (await session()).call('get_order', { id: '1' })).status).toBe(200)
  })

  it('wait for no process that died while it asked', async () => {
    const { fake, task } = await signedInLongAgo()
    // Or what the dead one had asked for would end the Account Token that the other one has.
    fake.switches.rotates = false
    const [dying, other] = [start({ ...task, calls: 1 }), start({ ...task, calls: 1 })]
    for (const one of [dying, other]) expect(await one.line()).toBe('ready')
    const asked = new Promise<void>((resolve) => {
      fake.switches.hold = async ({ path }) => {
        if (path !== '/token') return
        fake.switches.hold = null
        resolve()
        await new Promise((dead) => dying.child.once('exit', dead))
      }
    })
    dying.go()
    await asked
    other.go()
    dying.child.kill('SIGKILL')
    expect(await other.line()).toBe('[200]')
  })
})

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { processScript } from '../../../../test/setup/process-scripts.ts'
import { startFakeCompany } from '../../test/fake-company.ts'
import { startVisit, type Visit } from '../../test/visit.ts'
import { createPersonalAgent, fileStore, generateKey, memoryStore } from '../index.ts'

const command = fileURLToPath(new URL('../cli/main.ts', import.meta.url))

interface Running {
  readonly child: ChildProcess
  /** The next line that it writes. */
  readonly line: () => Promise<string>
  readonly go: () => void
}

function start(task: Record<string, unknown>): Running {
  const child = spawn(process.execPath, [processScript('agent-process'), JSON.stringify(task)], {
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

  it('need no lock of the store: two agents on a store of one’s own refresh once as well [K22]', async () => {
    const { lock, ...store } = memoryStore()
    const keys = [await generateKey()]
    const visit = await startVisit({ store, keys })
    const { fake, clock, agent } = visit
    fake.switches.rotates = true
    const here = await visit.session()
    await visit.signIn(here, ['poppy:read'])
    const other = createPersonalAgent({
      clientId: agent.clientId,
      name: 'Another process',
      keys,
      store,
      now: () => clock.now,
      allowHttp: true,
    })
    const there = (await other.forUser('maya').company(fake.origin)).session()
    await there.apiOperations()
    clock.now += 2 * 3600 * 1000
    fake.take()
    const calls = [here, there].flatMap((session) =>
      Array.from({ length: 20 }, () => session.call('get_order', { id: '1' })),
    )
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(40).fill(200))
    expect(fake.paths().filter((path) => path.startsWith('POST /token'))).toEqual(['POST /token 200'])
    expect([typeof lock, await store.keys('lock/')]).toEqual(['function', []])
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

  it('may be two poppy commands of one home, which refresh once as well [K22]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'poppy-processes-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const home = join(folder, 'home')
    const probe = createServer()
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
    const { port } = probe.address() as AddressInfo
    await new Promise((resolve) => probe.close(resolve))
    const fake = await startFakeCompany({
      now: Date.now,
      keySet: async (clientId) =>
        (await (await fetch(new URL('jwks.json', clientId))).json()) as { keys: { kid: string }[] },
    })
    fake.switches.rotates = true
    const poppy = (...args: readonly string[]) => {
      const child = spawn(process.execPath, ['-C', '@poppyseed/source', command, ...args, '--json', '--home', home], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      let out = ''
      const opened = new Promise<string>((resolve) => {
        child.stdout.on('data', (part) => {
          out += String(part)
          const [, url] = /"open":"([^"]+)"/.exec(out) ?? []
          if (url !== undefined) resolve(url)
        })
      })
      const done = new Promise<string>((resolve) => child.once('close', () => resolve(out)))
      return { opened, done }
    }
    await poppy('init', '--local', String(port)).done
    const signingIn = poppy('sign-in', fake.origin, '--scope', 'poppy:read')
    await fetch(fake.approve(await signingIn.opened))
    await signingIn.done
    // Time passes: the Session Token is old, by the clock that both commands go by.
    const store = fileStore(join(home, 'state.json'))
    for (const key of await store.keys('session/')) {
      await store.update(key, (before) => {
        const session = before as { tokens: { expiresAt: number }[] }
        return { ...session, tokens: session.tokens.map((token) => ({ ...token, expiresAt: 1 })) }
      })
    }
    fake.take()
    // Held until both are there.
    let waiting: (() => void)[] = []
    fake.switches.hold = async ({ path }) => {
      if (path !== '/openapi.json') return
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        if (waiting.length < 2) return
        for (const go of waiting) go()
        waiting = []
      })
    }
    const both = [
      poppy('call', fake.origin, 'get_order', '{"id":"1"}'),
      poppy('call', fake.origin, 'get_order', '{"id":"2"}'),
    ]
    for (const { done } of both) expect(await done).toContain('"status":200')
    expect(fake.paths().filter((path) => path.startsWith('POST /token'))).toEqual(['POST /token 200'])
  })
})

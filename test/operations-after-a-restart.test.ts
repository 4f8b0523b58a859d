import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileStore, generateKey, type StandingPermission } from '@poppyseed/agent'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { OperationTask } from './setup/operation-process.ts'
import { processScript } from './setup/process-scripts.ts'
import { type Proposal, proposedTable } from './setup/proposals.ts'

// The Personal Agent's process is killed between any two steps of a confirmation, or there are two of them: what was approved
// is confirmed once and followed to its end, and nobody is asked twice.

interface Running {
  readonly says: (line: string) => Promise<void>
  readonly next: () => Promise<string>
  readonly go: () => void
  readonly kill: () => Promise<void>
}

function start(task: OperationTask): Running {
  const child = spawn(process.execPath, [processScript('operation-process'), JSON.stringify(task)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error('the process ended')
    return value
  }
  return {
    next,
    says: async (line) => expect(await next()).toBe(line),
    go: () => void child.stdin.write('go\n'),
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** An owner whose agent keeps its state in a file, and what another process of it is told. */
async function atHome(): Promise<Proposal & { readonly task: Omit<OperationTask, 'stopsAt'>; readonly path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-restart-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'home', 'state.json')
  const keys = [await generateKey()]
  const table = await proposedTable({}, { store: fileStore(path), keys })
  const { agent, company, clock, operation } = table
  const task = { path, keys, clientId: agent.clientId, origin: company.origin, now: clock.now, id: operation.id }
  return { ...table, task, path }
}

describe('a process that is killed', () => {
  const points = [
    // what it said last, what the owner is asked afterwards, what the Company got before
    ['question', 1, 0],
    ['sending', 0, 0],
    ['answer', 0, 1],
    ['end', 0, 1],
  ] as const
  it.each(points)(
    'at the %s: after a restart the owner is asked %i times more, and it is done once',
    async (stopsAt, questions, before) => {
      const { here, operation, yes, asked, book, task, path } = await atHome()
      const dying = start({ ...task, stopsAt })
      await dying.says('ready')
      dying.go()
      await dying.says('question')
      if (stopsAt !== 'question') await dying.says(stopsAt === 'end' ? 'confirmed' : stopsAt)
      await dying.kill()
      expect(book().confirms).toBe(before)
      // What is kept is no secret, and no terms.
      const kept = JSON.stringify(
        Object.entries((JSON.parse(readFileSync(path, 'utf8')) as { records: object }).records).filter(([key]) =>
          key.startsWith('operation/'),
        ),
      )
      expect(kept).not.toMatch(/access-|pat_|eyJ|by the window/)

      const resumed = await here.operations.resume({ approve: yes })
      expect(resumed.map(({ id, operation: one, error }) => [id, one?.state, error])).toEqual([
        [operation.id, 'succeeded', undefined],
      ])
      expect([asked.length, book().confirms, book().performed]).toEqual([questions, 1, 1])
      expect(await here.operations.resume({ approve: yes })).toEqual([])
    },
  )

  it('at the question: without anybody to ask it is listed as waiting for the owner', async () => {
    const { here, operation, book, task } = await atHome()
    const dying = start({ ...task, stopsAt: 'question' })
    await dying.says('ready')
    dying.go()
    await dying.says('question')
    await dying.kill()
    const resumed = await here.operations.resume()
    expect(resumed.map(({ id, error }) => [id, error?.code, error?.action])).toEqual([
      [operation.id, 'approval_required', 'ask_owner'],
    ])
    expect(book().confirms).toBe(0)
  })

  it('before it sent what was approved: not sent when the terms have changed meanwhile, but asked', async () => {
    const { here, operation, asked, yes, company, book, task } = await atHome()
    const dying = start({ ...task, stopsAt: 'sending' })
    await dying.says('ready')
    dying.go()
    await dying.says('question')
    await dying.says('sending')
    await dying.kill()
    company.revise(operation.id, { fee: { amount: '99.00', currency: 'EUR' } })
    expect((await here.operations.resume())[0]?.error?.code).toBe('approval_required')
    expect([asked.length, book().confirms]).toEqual([0, 0])
    await here.operations.resume({ approve: yes })
    expect([asked.length, book().confirmed?.revision]).toEqual([1, 2])
  })
})

describe('two processes', () => {
  it('that both have a yes confirm once', async () => {
    const { book, task } = await atHome()
    const both = [start({ ...task, stopsAt: 'end' }), start({ ...task, stopsAt: 'end' })]
    for (const one of both) await one.says('ready')
    for (const one of both) one.go()
    for (const one of both) {
      // Whoever comes late finds it confirmed, and has nobody to ask.
      let line = await one.next()
      if (line === 'question') line = await one.next()
      expect(line).toBe('confirmed')
    }
    expect([book().confirms, book().performed]).toEqual([1, 1])
  })

  it('can’t use a rule more often than the owner said', async () => {
    const { here, operation, task, company } = await atHome()
    const others = [
      operation,
      (await here.call('book_table', {})).operation,
      (await here.call('book_table', {})).operation,
    ]
    const rule: StandingPermission = {
      ...{ id: 'two', company: company.origin, account: 'default', action: 'book_table', times: 2 },
      terms: Object.fromEntries(Object.keys(operation.terms ?? {}).map((name) => [name, { anything: true }])),
    }
    const all = others.map((one) => start({ ...task, id: one?.id ?? '', stopsAt: 'end', permissions: [rule] }))
    for (const one of all) await one.says('ready')
    for (const one of all) one.go()
    const ends = await Promise.all(all.map((one) => one.next()))
    expect(ends.sort()).toEqual(['approval_required', 'confirmed', 'confirmed'])
    expect(company.operations.map(({ performed }) => performed).sort()).toEqual([0, 1, 1])
  })
})

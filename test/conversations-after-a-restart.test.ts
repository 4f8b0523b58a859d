import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileStore, generateKey } from '@poppyseed/agent'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ConversationTask } from './setup/conversation-process.ts'
import { processScript } from './setup/process-scripts.ts'
import { saying, talking } from './setup/talks.ts'

// The Personal Agent's process is killed in the middle of a conversation, or there are two of them: what was on its way is said
// once, and what was read goes on where it was handled.

function start(task: ConversationTask) {
  const child = spawn(process.execPath, [processScript('conversation-process'), JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    next: async () => {
      const { value, done } = await lines.next()
      if (done) throw new Error('the process ended')
      return value
    },
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** An agent that keeps its state in a file, in conversation, and what another process of it is told. */
async function atHome(turn: Parameters<typeof talking>[0]) {
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-restart-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'home', 'state.json')
  const keys = [await generateKey()]
  const talk = await talking(turn, {}, { store: fileStore(path), keys })
  const { agent, company, clock, conversation } = talk
  const task = { path, keys, clientId: agent.clientId, origin: company.origin, now: clock.now, id: conversation.id }
  const kept = () => readFileSync(path, 'utf8')
  return { ...talk, task, kept }
}

describe('a process that is killed', () => {
  it.each([
    ['start', 'sending'],
    ['start', 'answer'],
    ['say', 'sending'],
    ['say', 'answer'],
  ] as const)('when it was to %s, at the %s: the next one says it, once', async (does, stopsAt) => {
    const { task, here, company, conversation, book, kept } = await atHome([])
    const dying = start({ ...task, does, stopsAt })
    expect(await dying.next()).toBe(stopsAt)
    await dying.kill()
    expect(kept()).toContain(does === 'start' ? 'From another process.' : 'My own words.')
    expect((await here.conversations.unsent()).map(({ isOwners }) => isOwners)).toEqual([does === 'say'])

    const [resumed, ...others] = await here.conversations.resumeSending()
    expect([resumed?.error, others, await here.conversations.resumeSending()]).toEqual([undefined, [], []])
    if (does === 'start') {
      expect(company.conversations.entries.map(({ received }) => received.map(({ text }) => text))).toEqual([
        ['Hello.'],
        ['From another process.'],
      ])
      expect(resumed?.conversation?.id).toBe(company.conversations.entries[1]?.id)
    } else {
      expect(book().received.map(({ sender, text }) => [sender, text])).toEqual([
        ['agent', 'Hello.'],
        ['human', 'My own words.'],
      ])
      expect(resumed?.conversation?.id).toBe(conversation.id)
    }
    // No word of a conversation is kept once it is known to be said.
    expect(kept()).not.toMatch(/From another process|My own words|Hello\.|Heard/)
    expect(company.findings).toEqual([])
  })

  it('with an event in hand: the next one begins with that, and has nothing twice that was handled', async () => {
    const { task, company, book } = await atHome(saying('One', 'Two', 'Three'))
    const all = book().events.map(({ id }) => id)
    const read = async (stopsAt: number | 'end', until: string) => {
      const reader = start({ ...task, does: 'follow', stopsAt })
      const seen = [await reader.next()]
      while (seen.at(-1) !== until) seen.push(await reader.next())
      await reader.kill()
      return seen
    }
    expect(await read(2, all[2] ?? '')).toEqual(all.slice(0, 3))
    expect(await read('end', 'end')).toEqual([...all.slice(2), 'end'])
    expect(company.findings).toEqual([])
  })

  it('and two that live send what is kept at the same moment: it is said once', async () => {
    const { task, here, agent, company, book } = await atHome([])
    const dying = start({ ...task, does: 'say', stopsAt: 'sending' })
    await dying.next()
    await dying.kill()
    const other = (await agent.forUser('maya').company(company.origin)).session({ name: 'other' })
    await Promise.all([here, other, here].map(({ conversations }) => conversations.resumeSending()))
    expect(book().received.map(({ text }) => text)).toEqual(['Hello.', 'My own words.'])
    expect([await here.conversations.unsent(), company.findings]).toEqual([[], []])
  })
})

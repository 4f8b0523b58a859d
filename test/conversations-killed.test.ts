import { describe, expect, it } from 'vitest'
import { startAnswering } from './setup/answering.ts'
import { converse, pageOf, said, words } from './setup/converse.ts'
import { stores } from './setup/stores.ts'

// Conversations go on in two processes, and one of them is killed and started again, several times, in the middle of its turns:
// each message is answered once, and nothing is said twice. Only with LONG=1: it takes minutes and real clocks.

const conversations = 300
const atOnce = 16
const kills = 6

/** Does something for each, several at once. */
async function each<T>(items: readonly T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  const left = items.entries()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const [index, item] of left) await work(item, index)
    }),
  )
}

describe.each(stores.filter(({ name }) => name === 'postgres'))('two processes on $name', ({ missing, fresh }) => {
  it.skipIf(missing !== null || !process.env.LONG)(
    'of which one is killed in the middle of its turns answer each message once [K54]',
    { timeout: 600_000 },
    async () => {
      const company = await startAnswering(await fresh(), { processes: 2, runs: true, pause: 100 })
      const at = converse(company.agent, company.token)
      let turned = 0
      /** Sends to one process, and to the other when the first is gone: each time with a new proof, as an agent does. */
      const insist = async (send: () => Promise<Response>) => {
        for (let tries = 0; tries < 100; tries++) {
          company.turnTo(turned++ % 2)
          const answer = await send().catch(() => null)
          if (answer !== null && answer.status < 300) return answer
        }
        throw new Error('it was never answered')
      }
      const ids: string[] = []
      let killed = 0
      let killing = Promise.resolve()
      await each(Array.from({ length: conversations }), async (_, index) => {
        const message = said(`Question ${index}`)
        const started = (await (await insist(() => at.start(message))).json()) as { readonly conversation_id: string }
        // Sometimes it doesn't know that it was answered.
        if (index % 3 === 0) expect(await (await insist(() => at.start(message))).json()).toEqual(started)
        ids[index] = started.conversation_id
        if (ids.filter(Boolean).length < ((killed + 1) * conversations) / (kills + 1) || killed === kills) return
        killed += 1
        killing = killing.then(() => company.kill(1)).then(() => company.start(1))
      })
      await killing
      let wrong = 0
      await each(ids, async (id, index) => {
        const read = async () => pageOf(await insist(() => at.read(id)))
        await expect.poll(async () => (await read()).status, { timeout: 200_000, interval: 1000 }).toBe('idle')
        const all = words((await read()).events).join('\n')
        const right = [
          `user as agent: Question ${index}`,
          'working/agent',
          `agent: You ask: Question ${index}`,
          `agent: It is Suite 4: Question ${index}`,
          'idle/agent',
        ]
        if (all !== right.join('\n')) wrong += 1
      })
      const turns = company.records().filter((line) => line.startsWith('turn')).length
      expect({ wrong, killed }).toEqual({ wrong: 0, killed: kills })
      expect(new Set(ids).size).toBe(conversations)
      // Some were in the middle, or this shows nothing.
      expect(turns).toBeGreaterThan(conversations)
    },
  )
})

import { describe, expect, it } from 'vitest'
import type { ConversationPoint } from '../packages/company/src/faults/faults.ts'
import { startAnswering } from './setup/answering.ts'
import { converse, pageOf, said, standingOf, words } from './setup/converse.ts'
import { follow } from './setup/follow.ts'
import { stores } from './setup/stores.ts'

// A process kills itself at each point between a message and the end of its turn, and is started again. Whatever the point: the
// message is answered once, nothing is said twice, and what the tool answered is not asked again once it is recorded.

const points: readonly ConversationPoint[] = [
  'accepting',
  'accepted',
  'turn-claimed',
  'turn-said',
  'tool-ran',
  'turn-ending',
  'turn-ended',
]

// Many processes for each database: the ordinary suite takes PostgreSQL, LONG=1 takes both.
const here = process.env.LONG ? stores : stores.filter(({ name }) => name === 'postgres')

describe.each(here.length > 0 && here[0]?.missing === null ? here : stores)(
  'a Company on $name',
  { timeout: 120_000 },
  ({ missing, fresh }) => {
    it.skipIf(missing)(
      'that dies at any point of a turn answers once, and says and asks nothing twice [K54, 7.3.message-retry]',
      async () => {
        const company = await startAnswering(await fresh(), { processes: 1 })
        const at = converse(company.agent, company.token)
        for (const point of points) {
          const message = said(`Which room, at ${point}?`)
          await company.killAt(0, point)
          await at.start(message).catch(() => null)
          await company.ended(0)
          await company.start(0)
          // What the dead one had begun is another's when its lease is over.
          await company.moveClock(31_000)
          const { conversation_id: id } = await standingOf(await at.start(message))
          const { events, status } = await follow(at, id)
          expect([point, status, ...words(events)]).toEqual([
            point,
            'idle',
            `user as agent: Which room, at ${point}?`,
            'working/agent',
            `agent: You ask: Which room, at ${point}?`,
            `agent: It is Suite 4: Which room, at ${point}?`,
            'idle/agent',
          ])
          const lines = company.records()
          const turns = lines.filter((line) => line === `turn ${id}`).length
          expect([point, turns]).toEqual([point, /said|ran|ending/.test(point) ? 2 : 1])
        }
        // Each call once: the same key would stand there twice.
        const calls = company.records().filter((line) => line.startsWith('tool'))
        expect(calls.length).toBe(points.length)
        expect(new Set(calls).size).toBe(calls.length)
      },
    )

    it.skipIf(missing)(
      'that dies between the writes of a proposal keeps it and tells it once, or has nothing of it and proposes it again [K54]',
      async () => {
        const company = await startAnswering(await fresh(), { processes: 1 })
        const at = converse(company.agent, company.token)
        for (const point of ['turn-said', 'proposing', 'proposed', 'tool-ran', 'turn-ending'] as const) {
          const message = said(`Book a room, at ${point}.`)
          await company.killAt(0, point)
          await at.start(message).catch(() => null)
          await company.ended(0)
          await company.start(0)
          await company.moveClock(31_000)
          const { conversation_id: id } = await standingOf(await at.start(message))
          const { events, status } = await follow(at, id)
          expect([point, status, ...words(events)]).toEqual([
            point,
            'idle',
            `user as agent: Book a room, at ${point}.`,
            'working/agent',
            `agent: You want: Book a room, at ${point}.`,
            `agent: One night: Book a room, at ${point}.`,
            `agent: Proposed: Book a room, at ${point}.`,
            'idle/agent',
          ])
          const told = events.flatMap((event) =>
            event.type === 'message' && event.message.operation ? [event.message.operation] : [],
          )
          expect(told).toMatchObject([{ state: 'proposed', revision: 1 }])
          const { operation_id: operation = '' } = told[0] ?? {}
          const read = await company.agent.call(`/poppy/operations/${operation}`, company.token, { method: 'GET' })
          expect(await read.json()).toEqual({ operation: told[0] })
        }
        // Before the commit all of it was lost, and it is worked out again; after it nobody asks the company's code once more.
        const proposals = company.records().filter((line) => line.startsWith('propose'))
        expect(proposals).toHaveLength(6)
        expect(new Set(proposals).size).toBe(5)
      },
    )

    it.skipIf(missing)(
      'that dies between the writes of what staff propose has all of it or nothing, and the same form proposes it once [K54]',
      async () => {
        const company = await startAnswering(await fresh(), { processes: 1 })
        const at = converse(company.agent, company.token)
        for (const point of ['proposing', 'proposed'] as const) {
          const { conversation_id: id } = await standingOf(await at.start(said('Which room?')))
          await follow(at, id)
          await company.killAt(0, point)
          await company.staffPropose(0, id).catch(() => null)
          await company.ended(0)
          await company.start(0)
          for (let times = 0; times < 2; times++)
            expect([point, await (await company.staffPropose(0, id)).json()]).toMatchObject([
              point,
              { ok: true, operation: { state: 'proposed', summary: 'One night: by Rita' } },
            ])
          const told = words((await pageOf(await at.read(id))).events)
          expect([point, ...told.slice(-2)]).toEqual([point, 'idle/human', 'human: One night: by Rita'])
        }
        // Of the first nothing was kept; the second was there.
        expect(company.records().filter((line) => line.startsWith('propose'))).toHaveLength(3)
      },
    )

    it.skipIf(missing)('that is closed in the middle of a turn leaves it to another instance, at once', async () => {
      const company = await startAnswering(await fresh(), { processes: 2, runs: true, pause: 1000 })
      const at = converse(company.agent, company.token)
      const { conversation_id: id } = await standingOf(await at.start(said('Which room?')))
      await expect.poll(() => company.records().length).toBeGreaterThan(0)
      const closedAt = Date.now()
      await company.close(0)
      company.turnTo(1)
      const { events } = await follow(at, id)
      expect(words(events).slice(2)).toEqual([
        'agent: You ask: Which room?',
        'agent: It is Suite 4: Which room?',
        'idle/agent',
      ])
      // Nobody waited for a lease of thirty seconds.
      expect(Date.now() - closedAt).toBeLessThan(25_000)
    })
  },
)

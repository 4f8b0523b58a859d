import { describe, expect, it } from 'vitest'
import { told, type Wire } from './setup/bookings.ts'
import { type Deposits, startDeposits } from './setup/deposits.ts'
import { stores } from './setup/stores.ts'

// A thousand operations are confirmed through two processes, and one of them is killed and started again, several times: no
// payment is taken twice, and none that was confirmed is lost. Only with LONG=1: it takes minutes and real clocks.

const operations = 1000
const atOnce = 16
const kills = 6

/** Sends to one process, and to the other when the first is gone: each time with a new proof, as an agent does. */
async function insist({ agent, origin, send, token }: Deposits, path: string, body: object | null, number: number) {
  const method = body === null ? 'GET' : 'POST'
  for (let tries = 0; tries < 50; tries++) {
    const headers = {
      authorization: `DPoP ${token}`,
      dpop: await agent.proof(method, origin + path, token),
      'content-type': 'application/json',
    }
    const request = new Request(origin + path, {
      method,
      headers,
      ...(body === null ? {} : { body: JSON.stringify(body) }),
    })
    const answer = await send(request, (number + tries) % 2).catch(() => null)
    if (answer !== null && answer.status < 300) return answer
  }
  throw new Error(`${path} was never answered`)
}

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
    'of which one is killed and comes back take no payment twice and lose none',
    { timeout: 600_000 },
    async () => {
      const two = await startDeposits(await fresh(), { processes: 2, runs: true })
      await two.behave({ mode: 'slow', milliseconds: 30 })
      const ids: string[] = []
      let killed = 0
      let killing = Promise.resolve()
      await each(Array.from({ length: operations }), async (_, index) => {
        const proposed = await told(await insist(two, '/poppy/tools/pay_deposit', {}, index % 2))
        const { operation_id: id } = proposed.operation
        await insist(two, `/poppy/operations/${id}/confirm`, { revision: 1, approved_by: 'user' }, index % 2)
        if (ids.push(id) < ((killed + 1) * operations) / (kills + 1) || killed === kills) return
        killed += 1
        killing = killing.then(() => two.kill(1)).then(() => two.start(1))
      })
      await killing
      const ends = new Map<string, Wire>()
      await expect
        .poll(
          async () => {
            await each(
              ids.filter((id) => !ends.has(id)),
              async (id) => {
                const { operation } = await told(await insist(two, `/poppy/operations/${id}`, null, 0))
                if (operation.state !== 'in_progress') ends.set(id, operation)
              },
            )
            return ends.size
          },
          { timeout: 120_000, interval: 1000 },
        )
        .toBe(operations)
      const counts = { succeeded: 0, failed: 0, interrupted: 0, wrong: 0 }
      await each(ids, async (id) => {
        const taken = await two.taken(id)
        const { state } = ends.get(id) as Wire
        if (state === 'succeeded' && taken === 1) counts.succeeded += 1
        else if (state === 'failed' && taken === 0) counts.failed += 1
        else counts.wrong += 1
        const { trail } = await two.look(id)
        if (trail.some(({ event }) => event === 'unknown')) counts.interrupted += 1
      })
      expect({ wrong: counts.wrong, all: counts.succeeded + counts.failed, killed }).toEqual({
        wrong: 0,
        all: operations,
        killed: kills,
      })
      // Some were in the middle, or this shows nothing.
      expect(counts.interrupted).toBeGreaterThan(0)
    },
  )
})

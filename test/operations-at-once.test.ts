import { describe, expect, it } from 'vitest'
import { asked, told } from './setup/bookings.ts'
import { startDeposits } from './setup/deposits.ts'
import { stores } from './setup/stores.ts'

// One operation, confirmed fifty times at the same moment through two processes of one Company: it is done once.

/** A machine under load is slow, and nothing here is about how fast it is. */
const patiently = { timeout: 30_000 }

describe.each(stores)(
  'fifty confirmations through two processes on $name',
  { timeout: 120_000 },
  ({ missing, fresh }) => {
    it.skipIf(missing)(
      'perform it once, and are all answered with the same operation [K51, ops.at-most-once]',
      async () => {
        const two = await startDeposits(await fresh(), { processes: 2 })
        const agent = asked(two.agent, two.token)
        const { operation_id: id } = await agent.propose('pay_deposit')
        const requests: Request[] = []
        for (let count = 0; count < 50; count++) requests.push(await two.caught(() => agent.confirm(id)))
        const answers = await Promise.all(requests.map((request, index) => two.send(request, index % 2)))
        const read = await Promise.all(answers.map(told))
        expect(new Set(read.map(({ is }) => is.slice(0, 4)))).toEqual(new Set(['200 ']))
        for (const { operation } of read) expect(['in_progress', 'succeeded']).toContain(operation.state)
        const confirmations = read.map(({ operation }) => JSON.stringify([operation.revision, operation.confirmation]))
        expect(new Set(confirmations).size).toBe(1)
        await expect.poll(async () => (await told(await agent.read(id))).is, patiently).toBe('200 succeeded')
        expect(await two.taken(id)).toBe(1)
        const { trail } = await two.look(id)
        expect(trail.map(({ event }) => event)).toEqual(['proposed', 'confirmed', 'started', 'succeeded'])
      },
    )
  },
)

import fc from 'fast-check'
import { sqlite } from 'poppyseed/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Database } from '../packages/company/src/store/database.ts'
import { lives, seldom } from './setup/conversation-lives.ts'
import { live } from './setup/modelled-conversations.ts'
import { silent, stores } from './setup/stores.ts'

// Random lives of conversations at two instances that die and come back, from both sides, watched by a plain model: each change
// of status or responder is told once, nothing is told after the end, nobody speaks in another's place, two people never have
// the same one, what was accepted is there once, and nothing hangs. LONG=1 tries thousands of them, other ones each time.

const long = process.env.LONG !== undefined
const runs = long ? { sqlite: 4000, postgres: 1500 } : { sqlite: 60, postgres: 15 }

describe.each(stores)('conversations on $name', { timeout: long ? 1_800_000 : 60_000 }, ({ name, missing, fresh }) => {
  async function open(): Promise<readonly Database[]> {
    if (name === 'postgres') {
      const store = await fresh()
      return [await store.open(), await store.open()]
    }
    // Instances in one process share their connection to a file anyway, and here nothing depends on the disk.
    const db = await sqlite(':memory:').open({ now: () => 0, log: silent })
    onTestFinished(db.close)
    return [db]
  }

  it.skipIf(missing)(
    'live as the model says, whatever happens in whatever order [7.7.state-event, 7.7.queued-responder, 7.7.closed-responder, 7.8.who-writes, 7.12.closed-refuses]',
    async () => {
      const dbs = await open()
      const property = fc.asyncProperty(lives, (steps) => live(dbs, steps))
      const found = await fc.check(property, {
        numRuns: runs[name],
        examples: seldom,
        ...(long ? {} : { seed: 30_112_026 }),
      })
      expect(found.failed, `${fc.defaultReportMessage(found)}\n${found.errorInstance}`).toBe(false)
    },
  )
})

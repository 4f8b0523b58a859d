import fc from 'fast-check'
import { sqlite } from 'poppyseed/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Database } from '../packages/company/src/store/database.ts'
import { lives, seldom } from './setup/lives.ts'
import { live } from './setup/modelled-operations.ts'
import { silent, stores } from './setup/stores.ts'

// Random lives of operations at two instances that die and come back, watched by a plain model of what may become of them:
// none is performed twice, none is called failed or cancelled that happened, and each that was confirmed ends or is shown
// as unknown. LONG=1 tries thousands of them, other ones each time.

const long = process.env.LONG !== undefined
const runs = long ? { sqlite: 4000, postgres: 1500 } : { sqlite: 40, postgres: 12 }

describe.each(stores)('operations on $name', { timeout: long ? 1_200_000 : 60_000 }, ({ name, missing, fresh }) => {
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
    'live as the model says, whatever happens in whatever order [K50, ops.at-most-once, ops.failed-certain, ops.cancel-certain, ops.unknown-outcome, ops.revision-immutable]',
    async () => {
      const dbs = await open()
      const property = fc.asyncProperty(lives, (steps) => live(dbs, steps))
      const found = await fc.check(property, {
        numRuns: runs[name],
        examples: seldom,
        ...(long ? {} : { seed: 24_112_026 }),
      })
      expect(found.failed, fc.defaultReportMessage(found) ?? '').toBe(false)
    },
  )
})

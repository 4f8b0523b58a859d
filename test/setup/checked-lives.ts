import fc from 'fast-check'
import { sqlite } from 'poppyseed/sqlite'
import { expect, onTestFinished } from 'vitest'
import type { Database } from '../../packages/company/src/store/database.ts'
import { silent, type stores } from './stores.ts'

/** Random lives, each a list of steps at two instances, watched by a model. LONG=1 tries thousands of them, other ones each time. */

/** Whether there is time for thousands. */
export const long: boolean = process.env.LONG !== undefined

/** Lives, and what plays one and throws where something isn't as the model says. */
export interface Lives<Step> {
  readonly lives: fc.Arbitrary<Step[]>
  /** Those that chance seldom finds: played first. */
  readonly seldom: [Step[]][]
  readonly live: (dbs: readonly Database[], steps: readonly Step[]) => Promise<void>
  /** How many are played. */
  readonly runs: number
  /** What they are made from where there is no time for other ones. */
  readonly seed: number
}

/** Plays lives at instances on a database of this test's own. */
export async function checkLives<Step>(
  store: Pick<(typeof stores)[number], 'name' | 'fresh'>,
  { lives, seldom, live, runs, seed }: Lives<Step>,
): Promise<void> {
  const dbs = await openInstances(store)
  const property = fc.asyncProperty(lives, (steps) => live(dbs, steps))
  const found = await fc.check(property, { numRuns: runs, examples: seldom, ...(long ? {} : { seed }) })
  expect(found.failed, `${fc.defaultReportMessage(found)}\n${found.errorInstance}`).toBe(false)
}

async function openInstances({ name, fresh }: Pick<(typeof stores)[number], 'name' | 'fresh'>) {
  if (name === 'postgres') {
    const store = await fresh()
    return [await store.open(), await store.open()]
  }
  // Instances in one process share their connection to a file anyway, and here nothing depends on the disk.
  const db = await sqlite(':memory:').open({ now: () => 0, log: silent })
  onTestFinished(db.close)
  return [db]
}

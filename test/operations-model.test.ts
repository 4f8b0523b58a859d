import { describe, it } from 'vitest'
import { checkLives, long } from './setup/checked-lives.ts'
import { lives, seldom } from './setup/lives.ts'
import { live } from './setup/modelled-operations.ts'
import { stores } from './setup/stores.ts'

// Random lives of operations at two instances that die and come back, watched by a plain model of what may become of them:
// none is performed twice, none is called failed or cancelled that happened, and each that was confirmed ends or is shown
// as unknown. LONG=1 tries thousands of them, other ones each time.

const runs = long ? { sqlite: 4000, postgres: 1500 } : { sqlite: 40, postgres: 12 }

describe.each(stores)('operations on $name', { timeout: long ? 1_200_000 : 60_000 }, (store) => {
  it.skipIf(store.missing)(
    'live as the model says, whatever happens in whatever order [K50, ops.at-most-once, ops.failed-certain, ops.cancel-certain, ops.unknown-outcome, ops.revision-immutable]',
    () => checkLives(store, { lives, seldom, live, runs: runs[store.name], seed: 24_112_026 }),
  )
})

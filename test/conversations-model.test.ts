import { describe, it } from 'vitest'
import { checkLives, long } from './setup/checked-lives.ts'
import { lives, seldom } from './setup/conversation-lives.ts'
import { live } from './setup/modelled-conversations.ts'
import { stores } from './setup/stores.ts'

// Random lives of conversations at two instances that die and come back, from both sides, watched by a plain model: each change
// of status or responder is told once, nothing is told after the end, nobody speaks in another's place, two people never have
// the same one, what was accepted is there once, and nothing hangs. LONG=1 tries thousands of them, other ones each time.

const runs = long ? { sqlite: 4000, postgres: 1500 } : { sqlite: 60, postgres: 15 }

describe.each(stores)('conversations on $name', { timeout: long ? 1_800_000 : 60_000 }, (store) => {
  it.skipIf(store.missing)(
    'live as the model says, whatever happens in whatever order [7.7.state-event, 7.7.queued-responder, 7.7.closed-responder, 7.8.who-writes, 7.12.closed-refuses]',
    () => checkLives(store, { lives, seldom, live, runs: runs[store.name], seed: 30_112_026 }),
  )
})

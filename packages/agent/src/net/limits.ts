import { createHash } from 'node:crypto'
import { type AgentStore, storeKey } from '../store/store.ts'

/** What Companies asked to wait for (4.3), kept in the store: another process, or the next run, waits as well. */
export interface KeptLimits {
  /** Until when a request may not be sent, Unix time in milliseconds; 0 where nothing was asked. */
  readonly until: (request: string) => Promise<number>
  readonly keep: (request: string, until: number) => Promise<void>
}

/** As many are kept; the ones that end first go first. */
const maxKept = 100

/** Keeps limits in a store. `now` is Unix time in milliseconds. */
export function createKeptLimits(store: AgentStore, now: () => number): KeptLimits {
  const prefix = `${storeKey('limit')}/`
  // An address may say something about a person: the key doesn't.
  const keyOf = (request: string) => prefix + createHash('sha256').update(request).digest('base64url')
  const forget = (key: string) =>
    store.update(key, (before) => (typeof before === 'number' && before > now() ? before : undefined))
  return {
    until: async (request) => {
      const key = keyOf(request)
      const until = await store.get(key)
      if (typeof until !== 'number') return 0
      if (until <= now()) await forget(key)
      return until
    },
    keep: async (request, until) => {
      const keys = await store.keys(prefix)
      for (const key of keys) await forget(key)
      if (keys.length >= maxKept) await store.update(keys[0] ?? prefix, () => undefined)
      await store.update(keyOf(request), (before) => (typeof before === 'number' && before > until ? before : until))
    },
  }
}

import { createQueues } from './queues.ts'
import type { AgentStore, StoredValue } from './store.ts'

/** A store that forgets with the process: for tests, and for agents that keep nothing. */
export function memoryStore(): AgentStore {
  const records = new Map<string, StoredValue>()
  return {
    get: async (key) => structuredClone(records.get(key)),
    update: async (key, change) => {
      const next = change(structuredClone(records.get(key)))
      if (next === undefined) records.delete(key)
      else records.set(key, structuredClone(next))
      return next
    },
    keys: async (prefix) => [...records.keys()].filter((key) => key.startsWith(prefix)),
    // Several agents of one process may share it.
    lock: createQueues(),
  }
}

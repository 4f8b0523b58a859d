/** Runs one thing at a time per key, in this process. */
export type Queues = <T>(key: string, work: () => Promise<T>) => Promise<T>

/** Makes a queue per key: whoever comes second waits for the first. */
export function createQueues(): Queues {
  const tails = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const before = tails.get(key) ?? Promise.resolve()
    // Whether the one before failed is its own caller's matter.
    const mine = before.then(work, work)
    tails.set(key, mine)
    try {
      return await mine
    } finally {
      if (tails.get(key) === mine) tails.delete(key)
    }
  }
}

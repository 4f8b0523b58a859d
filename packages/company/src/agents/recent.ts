/** A map of bounded size: when it is full, the entry that was used least recently goes. */
export interface Recent<V> {
  readonly get: (key: string) => V | undefined
  readonly set: (key: string, value: V) => void
  readonly delete: (key: string) => void
}

/** Makes one. A stranger chooses the keys, so the bound is what keeps memory finite. */
export function createRecent<V>(maxEntries: number): Recent<V> {
  const entries = new Map<string, V>()
  return {
    get(key) {
      const value = entries.get(key)
      if (value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      const [oldest] = entries.keys()
      if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest)
    },
    delete: (key) => void entries.delete(key),
  }
}

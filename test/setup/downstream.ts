/**
 * What happens outside of the Company, in a model's world: something is taken once for each key or, with `take` again, twice.
 * Whoever asks whether it happened has it ruled out for ever where it did not, so that "certainly not" is the truth.
 */
export interface Downstream {
  /** Makes it happen. False where that was ruled out before. */
  readonly take: (key: string, deduplicates: boolean) => boolean
  /** Whether it happened; if not, it never will. */
  readonly settle: (key: string) => boolean
  readonly effects: (key: string) => number
}

export function createDownstream(): Downstream {
  const taken = new Map<string, number>()
  const ruledOut = new Set<string>()
  const effects = (key: string) => taken.get(key) ?? 0
  return {
    effects,
    take(key, deduplicates) {
      if (ruledOut.has(key)) return false
      taken.set(key, deduplicates ? 1 : effects(key) + 1)
      return true
    },
    settle(key) {
      if (effects(key) > 0) return true
      ruledOut.add(key)
      return false
    },
  }
}

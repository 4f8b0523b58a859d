import { PoppyError } from '@poppyseed/protocol'

/** Bounds how many documents are fetched at one time, in all and from one host: slow hosts must not use up all room. */
export interface FetchGate {
  /**
   * Takes a place; the result gives it back.
   * @throws PoppyError `temporarily_unavailable` when there is none
   */
  readonly enter: (host: string) => () => void
}

/**
 * Bounds how many fetches run at one time, in all and from one host. Whoever finds it full gets
 * `temporarily_unavailable`.
 */
export function createFetchGate(max: number, maxPerHost: number): FetchGate {
  const perHost = new Map<string, number>()
  let total = 0
  return {
    enter(host) {
      const here = perHost.get(host) ?? 0
      if (total >= max || here >= maxPerHost) {
        throw new PoppyError('temporarily_unavailable', {
          retryAfter: 5,
          reason: here >= maxPerHost ? 'too many fetches from one host' : 'too many fetches',
        })
      }
      total += 1
      perHost.set(host, here + 1)
      return () => {
        total -= 1
        const left = (perHost.get(host) ?? 1) - 1
        if (left === 0) perHost.delete(host)
        else perHost.set(host, left)
      }
    },
  }
}

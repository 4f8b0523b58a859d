import { PoppyError } from '@poppyseed/protocol'
import { siteOf } from './site.ts'

/** Bounds how many documents are fetched at one time, in all and from one site: slow hosts must not use up all room. */
export interface FetchGate {
  /**
   * Takes a place; the result gives it back.
   * @throws PoppyError `temporarily_unavailable` when there is none
   */
  readonly enter: (host: string) => () => void
}

/**
 * Bounds how many fetches run at one time, in all, from one host, and from the hosts of one domain together, which get
 * twice as much. Whoever finds it full gets `temporarily_unavailable`.
 */
export function createFetchGate(max: number, maxPerHost: number): FetchGate {
  const hosts = createPlaces(maxPerHost)
  const sites = createPlaces(maxPerHost * 2)
  let total = 0
  return {
    enter(host) {
      const site = siteOf(host)
      const full = hosts.isFull(host)
        ? 'too many fetches from one host'
        : sites.isFull(site)
          ? 'too many fetches from one site'
          : total >= max
            ? 'too many fetches'
            : null
      if (full !== null) throw new PoppyError('temporarily_unavailable', { retryAfter: 5, reason: full })
      total += 1
      const leave = [hosts.take(host), sites.take(site)]
      return () => {
        total -= 1
        for (const one of leave) one()
      }
    },
  }
}

/** Places by key; a key without any taken is not remembered. */
function createPlaces(most: number) {
  const taken = new Map<string, number>()
  return {
    isFull: (key: string) => (taken.get(key) ?? 0) >= most,
    take(key: string): () => void {
      taken.set(key, (taken.get(key) ?? 0) + 1)
      return () => {
        const left = (taken.get(key) ?? 1) - 1
        if (left === 0) taken.delete(key)
        else taken.set(key, left)
      }
    },
  }
}

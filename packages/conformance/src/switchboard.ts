/** Switches that stay as they are set, and faults for the next requests only. */

interface Overlay<S, R> {
  left: number
  readonly faults: Partial<S>
  readonly route: R | undefined
}

/** The switches of a party: those that stay, and those for the next requests. */
export interface Switchboard<S extends object, R> {
  readonly switches: S
  /** Lays faults over the next `count` requests, at one route or at any. */
  readonly next: (count: number, faults: Partial<S>, route?: R) => void
  /** What holds for a request that has just arrived. */
  readonly take: (route: R) => Readonly<S>
  /** Well-behaved again, from now on. */
  readonly reset: () => void
}

/** Makes a switchboard over what a party does when it is well behaved. */
export function createSwitchboard<S extends object, R>(
  wellBehaved: Readonly<S>,
  initial: Partial<S> = {},
): Switchboard<S, R> {
  const switches: S = { ...wellBehaved, ...initial }
  let overlays: Overlay<S, R>[] = []
  return {
    switches,
    next: (left, faults, route) => void overlays.push({ left, faults, route }),
    take(route) {
      const now = { ...switches }
      for (const overlay of overlays) {
        if (overlay.route !== undefined && overlay.route !== route) continue
        overlay.left -= 1
        Object.assign(now, overlay.faults)
      }
      overlays = overlays.filter(({ left }) => left > 0)
      return now
    },
    reset() {
      overlays = []
      Object.assign(switches, wellBehaved)
    },
  }
}

/** What figures of several rounds come to, and how so many pieces of work are done at once. */

function sorted(figures: readonly number[]): readonly number[] {
  return [...figures].sort((one, other) => one - other)
}

/** The middle figure, or the mean of the two in the middle. */
export function median(figures: readonly number[]): number {
  const all = sorted(figures)
  const middle = all.length / 2
  return ((all[Math.ceil(middle) - 1] ?? Number.NaN) + (all[Math.floor(middle)] ?? Number.NaN)) / 2
}

/** The median, and from where to where they are. */
export function spread(figures: readonly number[]): string {
  const all = sorted(figures)
  return `${median(all).toFixed(0)} (${all[0]?.toFixed(0)} to ${all.at(-1)?.toFixed(0)})`
}

/** Does something for each number up to `count`, `inFlight` of them at once. Gives how many in a second. */
export async function inTurn(
  count: number,
  inFlight: number,
  one: (index: number) => Promise<unknown>,
): Promise<number> {
  const from = performance.now()
  let next = 0
  const some = async () => {
    for (let index = next++; index < count; index = next++) await one(index)
  }
  await Promise.all(Array.from({ length: inFlight }, some))
  return (count / (performance.now() - from)) * 1000
}

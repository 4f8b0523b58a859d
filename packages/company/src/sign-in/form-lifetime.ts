/** Milliseconds that a consent page stays good after it was opened (4.5). */
export const formLifetime: number = 30 * 60_000

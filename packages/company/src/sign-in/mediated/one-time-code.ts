/** One-time codes (4.7): six digits, good for ten minutes and five tries. Pure. */

/** Milliseconds that a code is good for. */
export const codeLifetime = 10 * 60_000
/** Tries at one code. */
export const mostTries = 5

/**
 * Makes a code of six digits, each value as likely as any other.
 * @param random gives that many random bytes
 */
export function makeOneTimeCode(random: (length: number) => Uint8Array): string {
  for (;;) {
    const [a = 0, b = 0, c = 0] = random(3)
    const number = (a << 16) | (b << 8) | c
    // 16 times a million fits into three bytes; what is above would make small codes likelier.
    if (number < 16_000_000) return String(number % 1_000_000).padStart(6, '0')
  }
}

/** Reads what a person passed on: spaces and dashes don't count. Null when it can't be a code. */
export function readOneTimeCode(typed: string): string | null {
  if (typed.length > 32) return null
  const digits = typed.normalize('NFKC').replace(/[\s\p{Pd}]/gu, '')
  return /^[0-9]{6}$/.test(digits) ? digits : null
}

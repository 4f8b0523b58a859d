/** User codes (4.6): short enough to type, long enough not to be guessed within their ten minutes. Pure. */

// RFC 8628, 6.1: no vowels, so no words come of it; no digits, so none is taken for a letter.
const letters = 'BCDFGHJKLMNPQRSTVWXZ'
const length = 8

/**
 * Makes a user code such as `WDJB-MJHT`: 20 letters at 8 places, 34 bits.
 * @param random gives that many random bytes
 */
export function makeUserCode(random: (length: number) => Uint8Array): string {
  let code = ''
  while (code.length < length) {
    for (const byte of random(16)) {
      // 240 is the greatest multiple of 20 in a byte: beyond it some letters would come more often.
      if (byte < 240 && code.length < length) code += letters[byte % letters.length]
    }
  }
  return showUserCode(code)
}

/** A code as people read it: two groups of four. */
export function showUserCode(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`
}

/**
 * Reads what a person typed: any case, spaces and dashes of any kind anywhere, full-width letters too.
 * @returns the code as it is kept, or null when it can't be one
 */
export function readUserCode(typed: string): string | null {
  if (typed.length > 64) return null
  const code = typed
    .normalize('NFKC')
    .replace(/[\s\p{Pd}\p{Cf}\u2212._]/gu, '')
    .toUpperCase()
  return code.length === length && [...code].every((letter) => letters.includes(letter)) ? code : null
}

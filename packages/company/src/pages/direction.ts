/** Languages that a company may bring the words of, and that are written from the right. */
const rightToLeft = /^(?:ar|ckb|dv|fa|he|ps|sd|ug|ur|yi)(?:-|$)|-(?:Arab|Hebr)\b/

/** Whether a language is written from the right. */
export function isRightToLeft(language: string): boolean {
  return rightToLeft.test(language)
}

/** Text of a Company, made harmless before a person or a model sees it. */

/** Control characters (escapes among them), and what hides or turns text: zero width, bidirectional, separators. */
export const hiddenCharacter = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu

/** One line without control, escape and direction characters, cut to `maxLength`. */
export function cleanText(text: string, maxLength = 300): string {
  const line = text
    .slice(0, maxLength * 4)
    .replace(hiddenCharacter, ' ')
    .replace(/ {2,}/g, ' ')
    .trim()
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line
}

/** Several lines: newline and tab stay, other control characters go. */
export function cleanLines(text: string): string {
  return text.replace(hiddenCharacter, (character) => (character === '\n' || character === '\t' ? character : ''))
}

/** Takes every occurrence of a secret out of a text, so that a Company's echo can't carry it on. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.filter((secret) => secret !== '').reduce((left, secret) => left.replaceAll(secret, '[secret]'), text)
}

/** The same for every text inside a value: names of members stay as they are. */
export function withoutSecretsInside<T>(value: T, secrets: readonly string[]): T {
  const clean = (part: unknown): unknown => {
    if (typeof part === 'string') return withoutSecrets(part, secrets)
    if (Array.isArray(part)) return part.map(clean)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, clean(one)]))
  }
  // Nothing but texts changes, and those stay texts.
  return clean(value) as T
}

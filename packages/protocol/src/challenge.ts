/**
 * `WWW-Authenticate` (RFC 9110, 11.6.1), written and parsed. The parser is a real one: schemes and parameters are told
 * apart by the grammar, so `error_description` is never read as `error`, and commas inside quotes stay inside.
 */

/** One challenge of a `WWW-Authenticate` header. */
export interface Challenge {
  /** As it was sent; compare without regard to case. */
  readonly scheme: string
  /** Parameter names in lower case. A repeated parameter keeps its first value. */
  readonly parameters: Readonly<Record<string, string>>
  /** The token68 form, where the scheme uses it. */
  readonly token68?: string
}

const tokenCharacters = /[!#$%&'*+\-.^_`|~0-9A-Za-z]/

/** Writes one challenge; parameters without a value are left out. Characters that can't stand in a header are dropped. */
export function formatChallenge(scheme: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const written = Object.entries(parameters)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([name, value]) => `${name}="${value.replace(/[^\x20-\x7e]/g, '').replace(/["\\]/g, '\\$&')}"`)
  return written.length === 0 ? scheme : `${scheme} ${written.join(', ')}`
}

/**
 * Parses the value of a `WWW-Authenticate` header; several header lines arrive joined by commas.
 * What can't be parsed ends the list: what came before it is kept.
 */
export function parseChallenges(header: string): readonly Challenge[] {
  const challenges: Challenge[] = []
  const reader = new Reader(header)
  for (;;) {
    reader.skipSeparators()
    const scheme = reader.token()
    if (scheme === '') return challenges
    const parameters: Record<string, string> = Object.create(null)
    let token68: string | undefined
    if (reader.skipSpaces() > 0) {
      token68 = reader.token68()
      if (token68 === undefined) readParameters(reader, parameters)
    }
    challenges.push({ scheme, parameters, ...(token68 === undefined ? {} : { token68 }) })
    if (!reader.atSeparatorOrEnd()) return challenges
  }
}

function readParameters(reader: Reader, into: Record<string, string>): void {
  for (;;) {
    const start = reader.position
    reader.skipSeparators()
    const name = reader.token().toLowerCase()
    reader.skipSpaces()
    // A token with no "=" behind it begins the next challenge.
    if (name === '' || !reader.take('=')) {
      reader.position = start
      return
    }
    reader.skipSpaces()
    const value = reader.peek() === '"' ? reader.quoted() : reader.token()
    if (value === undefined) {
      reader.position = reader.length
      return
    }
    if (!(name in into)) into[name] = value
    reader.skipSpaces()
    if (reader.peek() !== ',') return
  }
}

/**
 * The parameters that speak for a scheme: its first challenge that carries an `error`, else its first.
 * @param scheme in any case
 */
export function findChallenge(challenges: readonly Challenge[], scheme: string): Challenge | undefined {
  const own = challenges.filter((challenge) => challenge.scheme.toLowerCase() === scheme.toLowerCase())
  return own.find((challenge) => challenge.parameters.error !== undefined) ?? own[0]
}

class Reader {
  position = 0
  readonly length: number
  readonly #text: string
  constructor(text: string) {
    this.#text = text
    this.length = text.length
  }

  peek(): string {
    return this.#text.charAt(this.position)
  }

  take(character: string): boolean {
    if (this.peek() !== character) return false
    this.position++
    return true
  }

  skipSpaces(): number {
    const start = this.position
    while (this.peek() === ' ' || this.peek() === '\t') this.position++
    return this.position - start
  }

  skipSeparators(): void {
    while (this.peek() === ' ' || this.peek() === '\t' || this.peek() === ',') this.position++
  }

  atSeparatorOrEnd(): boolean {
    this.skipSpaces()
    return this.position >= this.length || this.peek() === ','
  }

  token(): string {
    const start = this.position
    while (this.position < this.length && tokenCharacters.test(this.peek())) this.position++
    return this.#text.slice(start, this.position)
  }

  /** token68 stands alone behind the scheme: letters, digits and `-._~+/`, then `=` signs, then a comma or the end. */
  token68(): string | undefined {
    const rest = /^[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))/.exec(this.#text.slice(this.position))
    if (!rest) return undefined
    this.position += rest[0].length
    return rest[0]
  }

  quoted(): string | undefined {
    let value = ''
    for (let at = this.position + 1; at < this.length; at++) {
      const character = this.#text.charAt(at)
      if (character === '"') {
        this.position = at + 1
        return value
      }
      value += character === '\\' ? this.#text.charAt(++at) : character
    }
    return undefined
  }
}

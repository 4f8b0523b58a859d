/**
 * JSON that means one thing only: no member twice, bounded depth. Two readers that disagree about a repeated member
 * are how a check and the thing checked come apart.
 */

/** Why a text isn't taken. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
}

/**
 * Parses JSON and refuses repeated members and deep nesting.
 * @param maxDepth how many levels of objects and arrays; 32 when left out
 * @param maxValues how many members and elements, all levels together; for texts that a schema judges next, which makes
 *   an issue of each value that is wrong: a thousand times as dear as reading it
 * @throws JsonError with a sentence that holds nothing of the text
 */
export function parseStrictJson(text: string, maxDepth = 32, maxValues = Number.POSITIVE_INFINITY): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new JsonError('The text is not JSON.')
  }
  if (typeof value === 'object' && value !== null) scan(text, maxDepth, maxValues)
  return value
}

/** Walks a text that is known to be JSON; only strings and brackets matter. */
function scan(text: string, maxDepth: number, maxValues: number): void {
  // One entry a level: the member names seen in an object, or null in an array.
  const levels: (Set<string> | null)[] = []
  let expectsName = false
  let values = 0
  for (let at = 0; at < text.length; at++) {
    if (values > maxValues) throw new JsonError('The JSON has too many values.')
    switch (text.charCodeAt(at)) {
      case 0x22: {
        const end = endOfString(text, at)
        const names = levels.at(-1)
        if (expectsName && names) {
          const written = text.slice(at + 1, end)
          // One name can be written in two ways with escapes, and in one without.
          const name = written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written
          if (names.has(name)) throw new JsonError('A member stands twice in one object.')
          names.add(name)
          expectsName = false
        }
        at = end
        break
      }
      case 0x7b: // {
        levels.push(new Set())
        values += 1
        expectsName = true
        if (levels.length > maxDepth) throw new JsonError('The JSON is nested too deeply.')
        break
      case 0x5b: // [
        levels.push(null)
        values += 1
        expectsName = false
        if (levels.length > maxDepth) throw new JsonError('The JSON is nested too deeply.')
        break
      case 0x7d: // }
      case 0x5d: // ]
        levels.pop()
        expectsName = false
        break
      case 0x2c: // ,
        values += 1
        expectsName = levels.at(-1) instanceof Set
        break
    }
  }
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  while (text.charCodeAt(at) !== 0x22) at += text.charCodeAt(at) === 0x5c ? 2 : 1
  return at
}

/** Whether a value is a plain JSON object. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

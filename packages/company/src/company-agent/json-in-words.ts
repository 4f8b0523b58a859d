/** JSON that was written into a text, as words: `{"room": "Faro", "nights": 2}` is "room: Faro, nights: 2". */

/** Null for what is no JSON. */
export function jsonInWords(json: string): string | null {
  try {
    return inWords(JSON.parse(json) as unknown)
  } catch {
    return null
  }
}

function inWords(value: unknown): string {
  if (Array.isArray(value)) {
    const parts = value.map(inWords).filter((part) => part !== '')
    return parts.join(value.some((part) => typeof part === 'object') ? '; ' : ', ')
  }
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([name, part]) => `${name}: ${inWords(part)}`)
      .join(', ')
  }
  return value === null ? 'none' : String(value)
}

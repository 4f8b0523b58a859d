/** What is wrong with an input, told to the caller: where and what, never the value that was sent. */
export interface Issue {
  /** JSON Pointer (RFC 6901) into the input; the empty string is the input itself. */
  readonly path: string
  readonly message: string
}

/**
 * Makes an issue fit to go out and into logs: bounded, and without the value, whatever the schema library put into its
 * message ("… but received 'sea-view-42'").
 * @param input the whole input that was judged
 */
export function cleanIssue(input: unknown, path: readonly string[], message: string): Issue {
  const pointer = path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
  return { path: cut(pointer), message: cut(withoutValue(message, valueAt(input, path))) }
}

function valueAt(input: unknown, path: readonly string[]): unknown {
  let value = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

function withoutValue(message: string, value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number') return message
  const text = String(value)
  if (text === '') return message
  const quoted = [JSON.stringify(value), `'${text}'`, `"${text}"`].reduce(
    (told, form) => told.replaceAll(form, '…'),
    message,
  )
  // A short value without quotes is as likely a word of the sentence as the value.
  return text.length < 4 ? quoted : quoted.replaceAll(text, '…')
}

function cut(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 199)}…`
}

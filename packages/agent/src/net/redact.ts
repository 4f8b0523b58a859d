import { withoutSecrets } from './text.ts'

/** Answers with what was sent taken out of them: a Company's echo must not carry a token on. */

const placeholder = Buffer.from('[secret]')

/** The same answer, in whose headers and body none of these secrets stands as it is. */
export function withoutSecretsIn(response: Response, secrets: readonly string[]): Response {
  const headers = new Headers()
  for (const [name, value] of response.headers) headers.append(name, withoutSecrets(value, secrets))
  // Of the body as it came over the wire; what is read here is another.
  headers.delete('content-length')
  headers.delete('content-encoding')
  const { status } = response
  // What a host may send and a Response may not be made of
  const statusText = /^[\t\x20-\x7e\x80-\xff]*$/.test(response.statusText) ? response.statusText : ''
  const hasBody = response.body !== null && ![101, 204, 205, 304].includes(status)
  return new Response(hasBody ? (response.body?.pipeThrough(redaction(secrets)) ?? null) : null, {
    status,
    statusText,
    headers,
  })
}

/** Takes secrets out of a stream of bytes, also where one comes in several parts. Only what may be the start of one waits. */
export function redaction(secrets: readonly string[]): TransformStream<Uint8Array, Uint8Array> {
  const needles = secrets.filter((secret) => secret !== '').map((secret) => Buffer.from(secret))
  let rest: Buffer = Buffer.alloc(0)
  return new TransformStream({
    transform(part, controller) {
      const text = replace(Buffer.concat([rest, part]), needles)
      const end = text.length - startAtEnd(text, needles)
      rest = text.subarray(end)
      if (end > 0) controller.enqueue(text.subarray(0, end))
    },
    flush(controller) {
      if (rest.length > 0) controller.enqueue(rest)
    },
  })
}

function replace(text: Buffer, needles: readonly Buffer[]): Buffer {
  let left = text
  for (const needle of needles) {
    const parts: Uint8Array[] = []
    let from = 0
    for (let at = left.indexOf(needle); at >= 0; at = left.indexOf(needle, from)) {
      parts.push(left.subarray(from, at), placeholder)
      from = at + needle.length
    }
    if (from > 0) left = Buffer.concat([...parts, left.subarray(from)])
  }
  return left
}

/** How many bytes at the end are the beginning of a secret. */
function startAtEnd(text: Buffer, needles: readonly Buffer[]): number {
  let longest = 0
  for (const needle of needles) {
    for (let length = Math.min(needle.length - 1, text.length); length > longest; length--) {
      if (text.compare(needle, 0, length, text.length - length) === 0) longest = length
    }
  }
  return longest
}

import {
  type FormParameters,
  isJsonObject,
  JsonError,
  PoppyError,
  parseStrictJson,
  readParameters,
} from '@poppyseed/protocol'

/** Request bodies: bounded, of the announced type, read once. */

/** Keeps nothing from one body to the next, since none is decoded in pieces. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads a body as text.
 * @param limit bytes; a longer body is refused without reading it to its end
 * @throws PoppyError `request_too_large`, or `invalid_request` when it isn't UTF-8 or broke off
 */
export async function readBody(request: Request, limit: number): Promise<string> {
  const tooLarge = () =>
    new PoppyError('request_too_large', { description: `The body may have at most ${limit} bytes.` })
  const announced = request.headers.get('content-length')
  if (announced !== null && Number(announced) > limit) throw tooLarge()
  // A listener's HTTP parser holds the sender to a length that it announced; anything else is counted as it comes.
  // `body` is touched only then: listeners make the stream when it is first asked for, and that costs.
  const isBounded = announced !== null && /^[0-9]{1,15}$/.test(announced)
  const reading = isBounded ? readWhole(request) : readStream(request, limit)
  const bytes = await reading.catch((error: unknown) => {
    throw isBrokenOff(request, error) ? brokenOff() : error
  })
  if (bytes === null || bytes.byteLength > limit) throw tooLarge()
  try {
    return utf8.decode(bytes)
  } catch {
    throw new PoppyError('invalid_request', { description: 'The body is not UTF-8.' })
  }
}

async function readWhole(request: Request): Promise<Uint8Array> {
  return new Uint8Array(await request.arrayBuffer())
}

/** Whether the caller went away in the middle of a body, or sent what the HTTP parser gave up on: no fault of ours. */
function isBrokenOff({ signal }: Request, error: unknown): boolean {
  return signal.aborted || (error instanceof Error && 'code' in error && error.code === 'ECONNRESET')
}

function brokenOff(): PoppyError {
  return new PoppyError('invalid_request', { description: 'The body ended too early.', reason: 'the body broke off' })
}

/** Reads a body of unknown length; null once it is longer than the limit. */
async function readStream({ body }: Request, limit: number): Promise<Uint8Array | null> {
  if (body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > limit) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The announced content type, without its parameters, in lower case. */
export function mediaType(request: Request): string {
  return (request.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** @throws PoppyError `invalid_request` for another content type or a doubled parameter (4.2) */
export async function readForm(request: Request, limit = 65_536): Promise<FormParameters> {
  if (mediaType(request) !== 'application/x-www-form-urlencoded') {
    throw new PoppyError('invalid_request', { description: 'The body must be application/x-www-form-urlencoded.' })
  }
  return readParameters(await readBody(request, limit))
}

/**
 * Reads a body that is a JSON object with each member once; an empty body stands for `{}`.
 * @param limit bytes
 * @param depth how many levels of objects and arrays; 32 when left out
 * @throws PoppyError `request_too_large`, `unsupported_media_type`, `invalid_request`
 */
export async function readJsonObject(
  request: Request,
  limit: number,
  depth?: number,
): Promise<Record<string, unknown>> {
  return parseJsonObject(request, await readBody(request, limit), depth)
}

/** The same for a body that is read already. */
export function parseJsonObject(request: Request, body: string, depth?: number): Record<string, unknown> {
  if (body.trim() === '') return {}
  if (mediaType(request) !== 'application/json')
    throw new PoppyError('unsupported_media_type', { description: 'The body must be application/json.' })
  const parsed = parse(body, depth)
  if (!isJsonObject(parsed)) throw new PoppyError('invalid_request', { description: 'The body must be a JSON object.' })
  return parsed
}

function parse(body: string, depth?: number): unknown {
  try {
    return parseStrictJson(body, depth)
  } catch (error) {
    throw new PoppyError('invalid_request', {
      description: error instanceof JsonError ? error.message : 'The body is not JSON.',
      cause: error,
    })
  }
}

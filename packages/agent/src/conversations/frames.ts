import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { AgentError } from '../errors.ts'

/** Server-sent events (7.6), from bytes to frames; a stream that falls silent is one that has died. */

/** One event of a stream: `event` undefined means `message`. */
export type Frame = EventSourceMessage

/** How a stream is read. */
export interface FrameOptions {
  /** Seconds without a byte after which it is given up. Comments count as life. */
  readonly silentSeconds: number
  readonly signal: AbortSignal | undefined
  /** Told how many milliseconds to wait before the next connection (`retry`). */
  readonly onRetry?: (milliseconds: number) => void
}

/** The longest event that is read, in characters: many times what a message may be. */
const maxFrame = 2_000_000

/**
 * Reads a stream. Ends where it ends; what is unfinished then is dropped. Leaves no timer and no connection behind.
 * @throws AgentError `unreachable` where it breaks or falls silent, `bad_answer` for an event without measure; the signal's
 *   own reason
 */
export async function* readFrames(
  body: ReadableStream<Uint8Array>,
  { silentSeconds, signal, onRetry }: FrameOptions,
): AsyncGenerator<Frame, void, undefined> {
  const frames: Frame[] = []
  let isTooLarge = false
  const parser = createParser({
    onEvent: (frame) => void frames.push(frame),
    onRetry: (milliseconds) => onRetry?.(milliseconds),
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded') isTooLarge = true
    },
    maxBufferSize: maxFrame,
  })
  const feed = lines((text) => {
    if (!isTooLarge) parser.feed(text)
  })
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await nextPart(reader, silentSeconds, signal)
      if (done) return
      feed(decoder.decode(value, { stream: true }))
      yield* frames.splice(0)
      if (isTooLarge) throw new AgentError('bad_answer', 'The Company sent an event beyond all measure.')
    }
  } finally {
    // Whoever stops reading hangs up, too; that it was broken already is no news.
    await reader.cancel().catch(() => undefined)
  }
}

/** Makes LF of every line end, so that an event is over as soon as its last line is, whichever the Company uses. */
function lines(feed: (text: string) => void): (text: string) => void {
  let wasReturn = false
  return (text) => {
    if (text === '') return
    const rest = wasReturn && text.startsWith('\n') ? text.slice(1) : text
    wasReturn = text.endsWith('\r')
    if (rest !== '') feed(rest.replaceAll(/\r\n?/g, '\n'))
  }
}

async function nextPart(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silentSeconds: number,
  signal: AbortSignal | undefined,
): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }> {
  let timer: NodeJS.Timeout | undefined
  let stop = () => {}
  const ends = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new AgentError('unreachable', `Nothing was heard for ${silentSeconds} seconds.`)),
      silentSeconds * 1000,
    )
    stop = () => reject(signal?.reason as Error)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([reader.read(), ends])
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof AgentError) throw error
    throw new AgentError('unreachable', 'The stream broke off.')
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

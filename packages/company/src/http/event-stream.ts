/**
 * Event streams whose writer knows how full the way to the reader is. As the body of a Response each costs a Web stream with its
 * promises and readers; an adapter that can write to the connection itself takes the source out and leaves that away.
 */

/** Where an event stream is written to. */
export interface Sink {
  /** Whether nothing more fits in at the moment: the source hears when it does again. */
  readonly isFull: boolean
  readonly write: (text: string) => void
  /** Ends it after what was written. */
  readonly end: () => void
  /** Ends it at once, whatever was written. */
  readonly destroy: () => void
}

/** What writes an event stream. */
export interface StreamSource {
  /** Once, when the reader is there. */
  readonly begin: (sink: Sink) => void
  /** The sink takes more again. */
  readonly drained: () => void
  /** The reader has gone. */
  readonly gone: () => void
  /** Resolves when it is over, whoever ended it. */
  readonly over: Promise<void>
}

const sources = new WeakMap<Response, StreamSource>()

/** The source of a response of {@link streamResponse}, for whoever writes it to a connection without asking for its body. */
export function sourceOf(response: Response): StreamSource | undefined {
  return sources.get(response)
}

const encoder = new TextEncoder()

/** Makes the response of an event stream. Nothing is begun before somebody reads it. */
export function streamResponse(source: StreamSource): Response {
  let sink: BodySink | null = null
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (sink) return sink.pulled()
        sink = new BodySink(controller, source)
        source.begin(sink)
        return sink.pulled()
      },
      cancel: () => source.gone(),
    },
    // Nothing is made before it is read: else each stream would have begun by itself.
    { highWaterMark: 0 },
  )
  const response = new Response(body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      // Proxies that gather what they pass on would hold events back.
      'x-accel-buffering': 'no',
    },
  })
  sources.set(response, source)
  return response
}

/** Bytes that may wait in a body for its reader. */
const room = 65_536

/** The body of a Response: what is written waits there until it is read. */
class BodySink implements Sink {
  readonly #controller: ReadableStreamDefaultController<Uint8Array>
  readonly #source: StreamSource
  #waiting = 0
  #isOver = false

  constructor(controller: ReadableStreamDefaultController<Uint8Array>, source: StreamSource) {
    this.#controller = controller
    this.#source = source
  }

  get isFull(): boolean {
    return this.#waiting >= room
  }

  write(text: string): void {
    if (this.#isOver) return
    const chunk = encoder.encode(text)
    this.#waiting += chunk.byteLength
    this.#controller.enqueue(chunk)
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#controller.close()
  }

  destroy(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#controller.error(new Error('The event stream was given up.'))
  }

  /** All that was written has been read, and more is asked for. */
  pulled(): void {
    const wasFull = this.isFull
    this.#waiting = 0
    if (wasFull) this.#source.drained()
  }
}

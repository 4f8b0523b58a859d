import type { ServerResponse } from 'node:http'
import type { Sink, StreamSource } from '../http/event-stream.ts'

/** An event stream on a connection of Node's: no more than its response, and two listeners. */

/** Sends the head of an answer and has its source write the rest. */
export function sendStream(answer: Response, source: StreamSource, response: ServerResponse): void {
  const sink = new NodeSink(response, source)
  response.on('close', () => source.gone())
  if (response.destroyed) {
    source.gone()
    return
  }
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  response.flushHeaders()
  source.begin(sink)
}

class NodeSink implements Sink {
  readonly #response: ServerResponse
  readonly #source: StreamSource
  isFull = false

  constructor(response: ServerResponse, source: StreamSource) {
    this.#response = response
    this.#source = source
  }

  write(text: string): void {
    if (this.#response.write(text) || this.isFull) return
    this.isFull = true
    this.#response.once('drain', () => {
      this.isFull = false
      this.#source.drained()
    })
  }

  end(): void {
    this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }
}

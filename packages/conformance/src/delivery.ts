import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

/** How an answer reaches the other side, or doesn't. By then all that the request does has happened. */

/**
 * What becomes of an answer: `lost` cuts the connection with no byte of it; `cut` in the middle of it; `slow` a byte at a
 * time; `huge`, `endless`, `zip_bomb` more than anybody should read; `silent` never; `not_json`, `html`, `empty` something
 * else in its place.
 */
export type Delivery =
  | 'whole'
  | 'lost'
  | 'cut'
  | 'slow'
  | 'huge'
  | 'endless'
  | 'zip_bomb'
  | 'silent'
  | 'not_json'
  | 'html'
  | 'empty'

/** An answer before it is sent. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: string | Uint8Array
  /** Writes a body that comes bit by bit, in place of `body`; then nothing else becomes of the answer. */
  readonly stream?: (response: ServerResponse) => Promise<void>
}

/** A JSON answer. */
export function reply(status: number, value: unknown, headers: Reply['headers'] = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) }
}

const megabyte = 1_048_576
/** Milliseconds between two bytes of a slow answer. */
const pace = 20

let bomb: Buffer | undefined

/**
 * Sends an answer.
 * @returns whether the client has all of it
 */
export async function deliver(response: ServerResponse, answer: Reply, delivery: Delivery): Promise<boolean> {
  const { status } = answer
  const body = Buffer.from(answer.body)
  const headers = Object.fromEntries(
    Object.entries(answer.headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]),
  )
  if (answer.stream && delivery === 'whole') {
    response.writeHead(status, headers)
    await answer.stream(response)
    return true
  }
  switch (delivery) {
    case 'whole':
      return end(response.writeHead(status, { ...headers, 'content-length': body.byteLength }), body)
    case 'lost':
      response.socket?.destroy()
      return false
    case 'cut': {
      response.writeHead(status, { ...headers, 'content-length': body.byteLength + 1 })
      response.write(body.subarray(0, Math.max(1, body.byteLength / 2)), () => response.socket?.destroy())
      return false
    }
    case 'slow':
      response.writeHead(status, headers)
      for (const byte of body) {
        if (!isOpen(response)) return false
        response.write(Buffer.of(byte))
        await sleep(pace)
      }
      return end(response, Buffer.alloc(0))
    case 'huge':
      return end(response.writeHead(status, headers), padded(body.toString('utf8')))
    case 'endless':
      response.writeHead(status, headers)
      response.write('{"a":"')
      while (isOpen(response)) {
        if (!response.write('a'.repeat(16_384))) await drained(response)
      }
      return false
    case 'zip_bomb':
      bomb ??= gzipSync(Buffer.alloc(32 * megabyte, ' '))
      response.writeHead(status, { ...headers, 'content-encoding': 'gzip', 'content-length': bomb.byteLength })
      response.end(bomb)
      return false
    case 'silent':
      return false
    case 'not_json':
      response.writeHead(status, headers).end('{"access_token": ')
      return false
    case 'html':
      response.writeHead(status, { ...headers, 'content-type': 'text/html' }).end('<!doctype html><p>Welcome.')
      return false
    case 'empty':
      response.writeHead(status, headers).end()
      return false
  }
}

/** The same JSON object with ten megabytes more in it. */
function padded(body: string): string {
  const padding = 'a'.repeat(10 * megabyte)
  return body.startsWith('{') && body.length > 2 ? `{"padding":"${padding}",${body.slice(1)}` : `${body}${padding}`
}

function end(response: ServerResponse, body: string | Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    response.once('finish', () => resolve(true)).once('close', () => resolve(false))
    response.end(body)
  })
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.once('drain', resolve).once('close', resolve)
  })
}

/** Whether a connection may still be written to. */
function isOpen(response: ServerResponse): boolean {
  return !response.destroyed && !response.writableEnded && response.socket !== null && !response.socket.destroyed
}

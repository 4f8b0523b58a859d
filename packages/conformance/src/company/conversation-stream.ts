import type { ServerResponse } from 'node:http'
import type { ConversationEntry, KeptEvent, Told } from './conversation-script.ts'
import type { Exchange } from './exchange.ts'

/** One stream of a conversation (7.6), right or wrong as the switches say. */

/** What a stream works with. */
export interface StreamParts {
  readonly entry: ConversationEntry
  readonly exchange: Exchange
  /** What was there before it was opened, from the cursor on. */
  readonly backlog: readonly KeptEvent[]
  /** Whether the token still holds: a stream ends with it (7.6). */
  readonly isAlive: () => boolean
}

/** Milliseconds between two comments. */
const pace = { usual: 15_000, endless: 5 }

/** Writes until the client goes, the conversation has ended, or a switch says that it is enough. */
export async function writeStream(response: ServerResponse, parts: StreamParts): Promise<void> {
  const { entry, exchange, backlog, isAlive } = parts
  const { streamCut, streamForm, keepAlives } = exchange.switches
  const queue: Told[] = backlog.map((event) => ({ kind: 'event', event }))
  let wake = () => {}
  const listener = (told: Told) => {
    queue.push(told)
    wake()
  }
  entry.listeners.add(listener)
  response.once('close', () => wake())
  const timer =
    keepAlives === 'none'
      ? undefined
      : setInterval(() => void (response.writable && response.write(': still here\n')), pace[keepAlives])
  timer?.unref()
  const isOpen = () => !response.destroyed && !response.writableEnded && response.socket?.destroyed === false
  try {
    response.flushHeaders()
    if (streamForm === 'bom') await write(response, Buffer.from('\ufeff'), exchange)
    while (isOpen()) {
      const told = queue.shift()
      if (told === undefined) {
        if (streamCut === 'when_idle' || entry.status === 'closed') break
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      // 7.6, 4.9: nothing goes to a token that has ended
      if (exchange.switches.streamExpiry === 'closes' && !isAlive()) break
      const frame = frameOf(told, streamForm, queue.length === 0)
      const isCut =
        (told.kind === 'event' && streamCut === 'in_event') || (told.kind === 'delta' && streamCut === 'in_delta')
      if (isCut) {
        await write(response, frame.subarray(0, Math.floor(frame.byteLength / 2)), exchange)
        response.socket?.destroy()
        return
      }
      await write(response, frame, exchange)
      if (streamCut === (told.kind === 'event' ? 'after_event' : 'after_delta')) break
      if (streamForm === 'unended' && queue.length === 0) break
    }
    response.end()
  } finally {
    clearInterval(timer)
    entry.listeners.delete(listener)
  }
}

/** All at once, or byte by byte. */
async function write(response: ServerResponse, bytes: Uint8Array, { switches }: Exchange): Promise<void> {
  const parts = switches.streamBytes === 'whole' ? [bytes] : [...bytes].map((byte) => Uint8Array.of(byte))
  for (const part of parts) {
    await new Promise<void>((resolve) => {
      if (!response.writable) resolve()
      else response.write(part, () => resolve())
    })
  }
}

function frameOf(told: Told, form: Exchange['switches']['streamForm'], isLast: boolean): Buffer {
  const lines =
    told.kind === 'delta'
      ? ['event: text-delta', `data: ${JSON.stringify({ message_id: told.messageId, text: told.text })}`]
      : [...idLine(told.event), ...dataLines(told.event, form)]
  if (form === 'comments') lines.splice(1, 0, ': a comment', ':', 'unknown: field', 'retry: 10', 'retry: soon')
  const end = { cr: '\r', crlf: '\r\n' }[form as 'cr' | 'crlf'] ?? '\n'
  const isUnended = form === 'unended' && isLast
  return Buffer.from(lines.join(end) + (isUnended ? end : end + end))
}

function idLine({ id }: KeptEvent): string[] {
  return typeof id === 'string' && id !== '' ? [`id: ${id}`] : []
}

function dataLines(event: KeptEvent, form: Exchange['switches']['streamForm']): string[] {
  if (typeof event.raw === 'string') return [`data: ${event.raw}`]
  if (form !== 'data_lines') return [`data:${form === 'cr' ? '' : ' '}${JSON.stringify(event)}`]
  return JSON.stringify(event, null, 1)
    .split('\n')
    .map((line) => `data: ${line}`)
}

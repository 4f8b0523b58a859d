import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Frame, readFrames } from './frames.ts'

const encode = (text: string) => new TextEncoder().encode(text)

/** A stream of these parts; `end` says what comes after them. */
function streamOf(parts: readonly Uint8Array[], end: 'close' | 'error' | 'silence' = 'close') {
  const state = { isCancelled: false }
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      if (end === 'close') controller.close()
      if (end === 'error') controller.error(new Error('ECONNRESET'))
    },
    cancel() {
      state.isCancelled = true
    },
  })
  return { stream, state }
}

const singly = (bytes: Uint8Array) => [...bytes].map((byte) => Uint8Array.of(byte))

async function read(parts: readonly Uint8Array[], onRetry?: (milliseconds: number) => void): Promise<Frame[]> {
  const frames: Frame[] = []
  const options = { silentSeconds: 5, signal: undefined, ...(onRetry ? { onRetry } : {}) }
  for await (const frame of readFrames(streamOf(parts).stream, options)) frames.push(frame)
  return frames
}

const said = '{"text":"Größe 💥 – ok"}'
const lines = [
  ...['id: evt_1', `data: ${said}`, ''],
  ...[': keep-alive', 'event: text-delta', 'data: {"a":1}', ''],
  ...['id:evt_2', 'retry: 250', 'odd: field', 'no colon', 'data:{', 'data: "b": 2', 'data:}', ''],
  ...[':', ''],
]
const expected = [
  { id: 'evt_1', event: undefined, data: said },
  { id: undefined, event: 'text-delta', data: '{"a":1}' },
  { id: 'evt_2', event: undefined, data: '{\n"b": 2\n}' },
]

describe('a stream of events', () => {
  it.each([
    ['LF', '\n', ''],
    ['CR', '\r', ''],
    ['CRLF', '\r\n', ''],
    ['LF after a byte order mark', '\n', '\ufeff'],
    ['CRLF after a byte order mark', '\r\n', '\ufeff'],
  ])('is the same with %s, in one part, byte by byte, and cut anywhere [K46]', async (_name, end, mark) => {
    const bytes = encode(mark + lines.map((line) => line + end).join(''))
    const plain = (frames: readonly Frame[]) => frames.map(({ id, event, data }) => ({ id, event, data }))
    expect(plain(await read([bytes]))).toEqual(expected)
    expect(plain(await read(singly(bytes)))).toEqual(expected)
    for (let at = 0; at <= bytes.length; at++)
      expect(plain(await read([bytes.subarray(0, at), bytes.subarray(at)]))).toEqual(expected)
  })

  it('gives an event when its blank line is there, whichever line end it is, and not one later [K46]', async () => {
    for (const end of ['\n', '\r', '\r\n']) {
      const { stream } = streamOf(singly(encode(`data: a${end}${end}`)), 'silence')
      const frames = readFrames(stream, { silentSeconds: 5, signal: undefined })
      expect((await frames.next()).value).toMatchObject({ data: 'a' })
      await frames.return()
    }
  })

  it('drops an unfinished last event [K46]', async () => {
    for (const rest of ['data: b', 'data: b\n', 'id: evt_9\ndata: b\n', 'id: evt_9\r', 'event: x\ndata'])
      expect((await read(singly(encode(`data: a\n\n${rest}`)))).map(({ data }) => data)).toEqual(['a'])
  })

  it('tells how long to wait before the next connection, where that can be read', async () => {
    const told: number[] = []
    await read([encode('retry: 250\nretry: soon\nretry: -1\nretry: 10\n\n')], (milliseconds) => told.push(milliseconds))
    expect(told).toEqual([250, 10])
  })

  it('is read as any other reader does, whatever stands in it and wherever it is cut [K46]', async () => {
    const line = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => `data: ${text.replace(/[\r\n]/g, '')}`),
      fc.constantFrom('', '', ': x', 'id: evt_1', 'event: text-delta', 'data', 'data:', 'x: y'),
    )
    const run = fc.asyncProperty(
      fc.array(line, { maxLength: 12 }),
      fc.constantFrom('\n', '\r', '\r\n'),
      fc.array(fc.nat(200), { maxLength: 6 }),
      async (all, end, cuts) => {
        const bytes = encode(all.map((one) => one + end).join(''))
        const at = [...new Set(cuts.filter((cut) => cut < bytes.length))].sort((left, right) => left - right)
        const parts = [0, ...at].map((from, index) => bytes.subarray(from, at[index]))
        expect(await read(parts)).toEqual(await read([encode(all.map((one) => `${one}\n`).join(''))]))
      },
    )
    await fc.assert(run, { numRuns: 300 })
  })
})

describe('a stream that goes wrong', () => {
  it('ends in an error where it breaks, and after as much silence as is let; comments are no silence [K42]', async () => {
    const broken = readFrames(streamOf([], 'error').stream, { silentSeconds: 5, signal: undefined })
    await expect(broken.next()).rejects.toMatchObject({ code: 'unreachable' })
    const { stream, state } = streamOf([encode(': still here\n')], 'silence')
    const silent = readFrames(stream, { silentSeconds: 0.05, signal: undefined })
    await expect(silent.next()).rejects.toMatchObject({ code: 'unreachable' })
    expect(state.isCancelled).toBe(true)

    let count = 0
    const alive = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 20))
        controller.enqueue(encode(': still here\n'))
        if (++count === 10) controller.close()
      },
    })
    for await (const frame of readFrames(alive, { silentSeconds: 0.15, signal: undefined })) throw new Error(frame.data)
    expect(count).toBe(10)
  })

  it('is given up where an event has no measure, and what came before it was given', async () => {
    const frames: string[] = []
    const parts = [encode('data: a\n\ndata: '), ...Array.from({ length: 40 }, () => encode('a'.repeat(65_536)))]
    const { stream, state } = streamOf(parts, 'silence')
    const work = (async () => {
      for await (const { data } of readFrames(stream, { silentSeconds: 5, signal: undefined })) frames.push(data)
    })()
    await expect(work).rejects.toMatchObject({ code: 'bad_answer' })
    expect([frames, state.isCancelled]).toEqual([['a'], true])
  })

  it('is hung up on where the reader stops: by leaving, and by the signal, with its own reason', async () => {
    const left = streamOf([encode('data: a\n\n')], 'silence')
    for await (const _frame of readFrames(left.stream, { silentSeconds: 5, signal: undefined })) break
    expect(left.state.isCancelled).toBe(true)

    const stopped = streamOf([encode('data: a\n\n')], 'silence')
    const stop = new AbortController()
    const frames = readFrames(stopped.stream, { silentSeconds: 5, signal: stop.signal })
    await frames.next()
    const next = frames.next()
    stop.abort(new Error('enough'))
    await expect(next).rejects.toThrow('enough')
    expect(stopped.state.isCancelled).toBe(true)
  })
})

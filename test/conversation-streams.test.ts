import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { describe, expect, it } from 'vitest'
import { pageOf, said } from './setup/converse.ts'
import { stores } from './setup/stores.ts'
import { openStreams, type Reading, readStream, reply, textOf } from './setup/streaming.ts'

/** Streams of events over real connections (7.6): what is in them, how they go on after a cut, and when they end. */

/** So many events of a stream, with the rest left in it. */
async function take(reading: Reading, count: number) {
  const events: { readonly id?: string; readonly event?: string; readonly data?: string }[] = []
  for (let left = count; left > 0; left--) {
    const event = await reading.next()
    if (event === null) break
    events.push(event)
  }
  return events
}

describe.each(stores)('A stream on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  test('has each event as a read has it, with its id, at once and as it comes [7.6.event-format, 7.6.stream-or-json]', async () => {
    const { start, stream, write, talk, world } = await openStreams(await fresh())
    const id = await start()
    const reading = await stream(id)
    expect(reading.response.statusCode).toBe(200)
    expect(reading.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'access-control-allow-origin': '*',
    })
    const before = await take(reading, 2)
    await write(id, [reply('It is, from seven.'), { type: 'state', status: 'idle', responder: 'agent' }])
    const after = await take(reading, 2)
    const page = await pageOf(await talk.read(id))
    expect([...before, ...after].map(({ data = '' }) => JSON.parse(data) as unknown)).toEqual(page.events)
    expect([...before, ...after].map((event) => event.id)).toEqual(page.events.map((event) => event.id))
    expect(world.log.filter((entry) => entry.startsWith('error'))).toEqual([])
    reading.cut()
    // Whoever asks for JSON gets JSON.
    const json = await stream(id, { headers: { accept: 'application/json, text/event-stream;q=0' } })
    expect(JSON.parse(await textOf(json))).toMatchObject({ conversation_id: id })
  })
})

export type { EventSourceMessage }

void [createParser, readStream, said]

import { createParser, type EventSourceMessage } from 'eventsource-parser'
import type { CompanyAgent } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { pageOf, said, words } from './setup/converse.ts'
import { stores } from './setup/stores.ts'
import { openStreams, type Reading, readStream, reply, type StreamEvent, textOf } from './setup/streaming.ts'
import { outcome } from './setup/world.ts'

/** Streams of events over real connections (7.6): what is in them, how they go on after a cut, and how they are bounded. */

/** So many events of a stream; the rest is left in it. */
async function take(reading: Reading, count: number): Promise<readonly StreamEvent[]> {
  const events: StreamEvent[] = []
  while (events.length < count) {
    const event = await reading.next()
    if (event === null) break
    events.push(event)
  }
  return events
}

const ids = (events: readonly StreamEvent[]) => events.map(({ id }) => id)

describe.each(stores)('A stream on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  test('has each event as a read has it, with its id, at once and as it comes [7.6.sse-events]', async () => {
    const { start, stream, write, talk, world } = await openStreams(await fresh())
    const id = await start()
    const reading = await stream(id)
    expect(reading.response.statusCode).toBe(200)
    expect(reading.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': expect.stringContaining('DPoP-Nonce'),
    })
    const before = await take(reading, 2)
    await write(id, [reply('It is, from seven.'), { type: 'state', status: 'idle', responder: 'agent' }])
    const all = [...before, ...(await take(reading, 2))]
    const page = await pageOf(await talk.read(id))
    expect(all.map(({ data = '' }) => JSON.parse(data) as unknown)).toEqual(page.events)
    expect(ids(all)).toEqual(page.events.map((event) => event.id))
    expect(all.every(({ event }) => event === undefined)).toBe(true)
    expect(world.log.filter((entry) => entry.startsWith('error'))).toEqual([])
    reading.cut()
  })

  test('goes on with exactly the events after the one it was cut at, by Last-Event-ID and by cursor [K43, 7.6.last-event-id, 7.5.after-cursor, 7.5.order]', async () => {
    const { start, stream, write, talk } = await openStreams(await fresh())
    const id = await start()
    // The clock stands still: all of them are of one millisecond.
    await write(id, [reply('One.'), reply('Two.'), { type: 'user_requested', reason: 'A question.' }])
    await talk.send(id, said('Three.'))
    await write(id, [{ type: 'state', status: 'idle', responder: 'agent' }])
    const { events } = await pageOf(await talk.read(id))
    expect(new Set(events.map(({ created_at }) => created_at)).size).toBe(1)
    const all = events.map((event) => event.id)
    expect(all).toHaveLength(7)
    for (let cut = 1; cut <= all.length; cut++) {
      const reading = await stream(id)
      const seen = ids(await take(reading, cut))
      reading.cut()
      expect(seen).toEqual(all.slice(0, cut))
      const last = seen.at(-1) as string
      for (const how of [{ headers: { 'last-event-id': last } }, { query: `?cursor=${last}` }]) {
        const again = await stream(id, how)
        expect(ids(await take(again, all.length - cut))).toEqual(all.slice(cut))
        again.cut()
      }
      // The header is of the last event that was handled, and goes before what the address said once.
      const both = await stream(id, { query: `?cursor=${all[0]}`, headers: { 'last-event-id': last } })
      await write(id, [reply(`After ${cut}.`)])
      const rest = await take(both, all.length - cut + 1)
      expect(JSON.parse(rest.at(-1)?.data ?? '')).toMatchObject({ message: { text: `After ${cut}.` } })
      both.cut()
      all.push(rest.at(-1)?.id as string)
      if (all.length > 9) break
    }
  })

  test('tells pieces of a message without an id before it, and nothing of it again after a cut [K43, 7.6.delta-no-id]', async () => {
    const { start, stream, write, parts } = await openStreams(await fresh())
    const id = await start()
    const reading = await stream(id)
    const before = await take(reading, 2)
    const whole = 'I can do that. Would Friday do?'
    const piece = (from: number, to: number, messageId = 'msg_whole') =>
      parts.changes.piece(id, { messageId, from, text: whole.slice(from, to) })
    // Of a message that another instance had begun before there was a stream, no piece is told.
    piece(8, 14, 'msg_begun')
    // On PostgreSQL what tells them may not be there yet: then they are lost, and nothing else.
    piece(0, 5)
    let first = reading.next()
    while ((await Promise.race([first, later()])) === 'later') piece(0, 5)
    expect(await first).toEqual({
      event: 'text-delta',
      data: JSON.stringify({ message_id: 'msg_whole', text: whole.slice(0, 5) }),
    })
    piece(5, 15)
    // One is lost on the way: what comes after it would be garbled.
    piece(20, 25)
    await write(id, [reply(whole, 'msg_whole')])
    const rest: StreamEvent[] = []
    do {
      first = reading.next()
      rest.push((await first) as StreamEvent)
    } while (rest.at(-1)?.id === undefined)
    const pieces = rest.slice(0, -1).map(({ data = '' }) => (JSON.parse(data) as { text: string }).text)
    // What was told twice, for want of knowing whether anybody heard it, was begun anew each time.
    expect(whole.slice(0, 15).endsWith(pieces.at(-1) ?? '-')).toBe(true)
    expect(rest.slice(0, -1).every((event) => event.id === undefined && event.event === 'text-delta')).toBe(true)
    expect(pieces).not.toContain(whole.slice(20, 25))
    expect(JSON.parse(rest.at(-1)?.data ?? '')).toMatchObject({ message: { id: 'msg_whole', text: whole } })
    reading.cut()
    const again = await stream(id, { headers: { 'last-event-id': before.at(-1)?.id ?? '' } })
    expect(await take(again, 1)).toEqual([rest.at(-1)])
    again.cut()
  })

  test('opened in the middle of a message has all of it so far with the next piece, and no letter twice or never', async () => {
    const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
    const agent: CompanyAgent = async function* () {
      for (const [at, text] of ['One moment. ', 'It is "served" ', 'from seven.'].entries()) {
        await gates[at]?.promise
        yield { type: 'text', text }
      }
      await gates[3]?.promise
    }
    const { start, stream, write } = await openStreams(await fresh(), { agent })
    const id = await start()
    const deltaOf = async (reading: Reading) => {
      const { event, data = '' } = (await reading.next()) ?? {}
      expect(event).toBe('text-delta')
      return JSON.parse(data) as { readonly message_id: string; readonly text: string }
    }
    const early = await stream(id)
    const [, working] = await take(early, 2)
    gates[0]?.resolve()
    const first = await deltaOf(early)
    // Who comes back is in the same place as who comes new.
    const late = await stream(id)
    const again = await stream(id, { headers: { 'last-event-id': working?.id ?? '' } })
    await take(late, 2)
    // A word of the User's meanwhile ends nobody's pieces.
    await write(id, [{ type: 'user_requested', reason: 'A question.' }])
    for (const reading of [early, late, again]) expect((await take(reading, 1))[0]?.data).toContain('A question.')
    gates[1]?.resolve()
    const second = await deltaOf(early)
    for (const reading of [late, again])
      expect(await deltaOf(reading)).toEqual({ message_id: first.message_id, text: first.text + second.text })
    gates[2]?.resolve()
    const third = await deltaOf(early)
    for (const reading of [late, again]) expect(await deltaOf(reading)).toEqual(third)
    gates[3]?.resolve()
    const whole = 'One moment. It is "served" from seven.'
    expect(whole.startsWith(first.text + second.text + third.text)).toBe(true)
    for (const reading of [early, late, again]) {
      const [event] = await take(reading, 1)
      expect(JSON.parse(event?.data ?? '')).toMatchObject({ message: { id: first.message_id, text: whole } })
      reading.cut()
    }
  })

  test('is read alike by a reader of single bytes and by eventsource-parser', async () => {
    const { start, stream, write } = await openStreams(await fresh())
    const id = await start()
    await write(id, [reply('Zoë says: "naïve"\n\ndata: no\r\nid: evt_no\u2028🧥')])
    const reading = await stream(id)
    const mine = await take(reading, 3)
    reading.cut()
    const theirs: EventSourceMessage[] = []
    const parser = createParser({
      onEvent: (event) => void theirs.push(event),
      onError: (error) => expect.unreachable(error.message),
    })
    for (const byte of Buffer.from(reading.raw())) parser.feed(Buffer.from([byte]).toString('latin1'))
    const utf8 = (text?: string) => text && Buffer.from(text, 'latin1').toString()
    expect(theirs.map(({ id: own, data }) => ({ id: own, data: utf8(data) }))).toEqual(mine)
    expect(JSON.parse(mine[2]?.data ?? '')).toMatchObject({
      message: { text: 'Zoë says: "naïve"\n\ndata: no\r\nid: evt_no\u2028🧥' },
    })
    expect(readStream(reading.raw().slice(0, -1))).toHaveLength(2)
  })

  test('ends after the conversation was closed, whoever closed it, and has all that came before [7.12.closed-readable]', async () => {
    const { start, stream, write, talk } = await openStreams(await fresh())
    const id = await start()
    const reading = await stream(id)
    await write(id, [reply('Goodbye.')])
    await talk.close(id)
    const events = await take(reading, 100)
    expect(words(events.map(({ data = '' }) => JSON.parse(data) as never)).slice(-2)).toEqual([
      'agent: Goodbye.',
      'closed/agent',
    ])
    await reading.ended
    // Read again it is as long, and ends by itself too.
    expect(await take(await stream(id), 100)).toEqual(events)
  })

  test('is refused in JSON before it begins: whose it isn’t, what is no cursor, what is no longer kept [7.5.cursor-expired, 7.13.invalid-cursor]', async () => {
    const { start, stream, write, world, parts } = await openStreams(await fresh())
    const id = await start()
    await write(id, [reply('One.'), reply('Two.'), reply('Three.')])
    const reading = await stream(id)
    const events = await take(reading, 5)
    reading.cut()
    const refused = async (how: Parameters<typeof stream>[1], of = id) => {
      const answer = await stream(of, how)
      const body = JSON.parse(await textOf(answer)) as { error: string }
      return `${answer.response.statusCode} ${body.error} ${answer.response.headers['content-type']}`
    }
    const other = await world.newAgent()
    const theirs = await world.start(other)
    const json = 'application/json'
    expect(await refused({ headers: { 'last-event-id': 'evt_nothing' } })).toBe(`400 invalid_cursor ${json}`)
    expect(await refused({ query: '?cursor=evt_nothing' })).toBe(`400 invalid_cursor ${json}`)
    expect(await refused({}, 'cnv_nothing')).toBe(`404 conversation_not_found ${json}`)
    expect(await refused({ agent: other, token: theirs.access_token })).toBe(`404 conversation_not_found ${json}`)
    const { db, company } = await parts.scope()
    await db.query.deleteFrom('poppy_events').where('company', '=', company).where('number', '<=', 3).execute()
    await db.query
      .updateTable('poppy_conversations')
      .set({ first_event: 4 })
      .where('company', '=', company)
      .where('id', '=', id)
      .execute()
    expect(await refused({ headers: { 'last-event-id': events[1]?.id ?? '' } })).toBe(`410 cursor_expired ${json}`)
    const kept = await stream(id)
    expect(await take(kept, 2)).toEqual(events.slice(3))
    kept.cut()
  })

  test('is one of so many of a Session, and says when to come again; whoever leaves makes room', async () => {
    const { start, stream, talk, world } = await openStreams(await fresh(), {
      streams: { perSession: 2, perClient: 3 },
    })
    const id = await start()
    const first = await stream(id)
    await stream(id)
    const third = await stream(id)
    expect(third.response.statusCode).toBe(429)
    expect(third.response.headers['retry-after']).toBe('5')
    expect(JSON.parse(await textOf(third))).toMatchObject({ error: 'rate_limited' })
    // Nobody is kept from reading.
    expect(await outcome(await talk.read(id))).toBe('200')
    // Another Session of the same agent counts with it.
    const { access_token: token } = await world.start()
    await stream(id, { token })
    expect((await stream(id, { token })).response.statusCode).toBe(429)
    first.cut()
    await first.ended
    let again = await stream(id)
    while (again.response.statusCode === 429) again = await stream(id)
    expect(again.response.statusCode).toBe(200)
  })

  test('ends when the Company closes, and a read that waits is answered then', async () => {
    const { start, stream, talk, world, tokens } = await openStreams(await fresh())
    const id = await start()
    const reading = await stream(id)
    const events = await take(reading, 2)
    // Its proof is there beforehand, so that the request is: what comes while the Company closes is refused.
    const path = `/poppy/conversations/${id}/events`
    const token = tokens.access_token
    const proof = await world.agent.proof('GET', `${world.origin}${path}`, token)
    const waiting = world.agent.call(`${path}?wait=30&cursor=${events[1]?.id}`, token, { method: 'GET', proof })
    await talk.read(id)
    const closing = world.company.close()
    await reading.ended
    expect(await pageOf(await waiting)).toMatchObject({ events: [], cursor: events[1]?.id, status: 'working' })
    await closing
  })
})

describe('A Company that doesn’t stream', () => {
  it('answers with JSON as usual', async () => {
    const sqlite = stores[0] as (typeof stores)[number]
    const { start, stream } = await openStreams(await sqlite.fresh(), { conversations: { streams: false } })
    const id = await start()
    const reading = await stream(id)
    expect(reading.response.headers['content-type']).toBe('application/json')
    expect(JSON.parse(await textOf(reading))).toMatchObject({ conversation_id: id, has_more: false })
  })

  it('nor does one that is asked for both, but not for a stream, or for the head alone', async () => {
    const sqlite = stores[0] as (typeof stores)[number]
    const { start, stream, world, tokens } = await openStreams(await sqlite.fresh())
    const id = await start()
    for (const accept of ['application/json', '*/*', 'text/event-stream;q=0, application/json', 'text/event-streams'])
      expect((await stream(id, { headers: { accept } })).response.headers['content-type']).toBe('application/json')
    for (const accept of ['text/event-stream', 'application/json;q=0.1, Text/Event-Stream;q=0.5; charset=utf-8']) {
      const reading = await stream(id, { headers: { accept } })
      expect(reading.response.headers['content-type']).toBe('text/event-stream')
      reading.cut()
    }
    const head = await world.agent.call(`/poppy/conversations/${id}/events`, tokens.access_token, {
      method: 'HEAD',
      proof: await world.agent.proof('HEAD', `${world.origin}/poppy/conversations/${id}/events`, tokens.access_token),
      headers: { accept: 'text/event-stream' },
    })
    expect(head.headers.get('content-type')).toBe('application/json')
  })
})

/** After whatever is on its way has had time to arrive. */
const later = () => new Promise<'later'>((resolve) => setTimeout(() => resolve('later'), 20))

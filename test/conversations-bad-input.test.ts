import { conversationLimits } from '@poppyseed/protocol'
import { describe, expect, it } from 'vitest'
import { converse, pageOf, said, standingOf } from './setup/converse.ts'
import { stores } from './setup/stores.ts'
import { id } from './setup/wire-agent.ts'
import { makeWorld, outcome } from './setup/world.ts'

/** What isn't a message, a cursor or a wait (7.4, 7.5, 7.13), and what looks odd and is one. */

const silent = async function* () {}
const path = '/poppy/conversations'

describe.each(stores)('at the conversations of a Company on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  async function open() {
    const { store } = await fresh()
    const world = await makeWorld({ agent: silent, limits: false }, store())
    const { access_token: token } = await world.start()
    const talk = converse(world.agent, token)
    const raw = async (below: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) => {
      const url = `${world.origin}${path}${below}`
      const proof = await world.agent.proof('POST', url, token)
      const type = { 'content-type': 'application/json', ...headers }
      return world.send(
        new Request(url, { method: 'POST', body, headers: { authorization: `DPoP ${token}`, dpop: proof, ...type } }),
      )
    }
    const started = await standingOf(await talk.start(said('Hello?')))
    return { world, talk, raw, conversation: started.conversation_id }
  }

  test('what isn’t a message is refused, and nothing is kept of it [7.4.content, 7.4.id-and-sender, 7.13.invalid-request, 7.13.error-body]', async () => {
    const { talk, raw, conversation } = await open()
    const right = () => ({ id: `msg_${id()}`, sender: 'agent', text: 'Hello?' })
    const wrong: readonly unknown[] = [
      undefined,
      null,
      'Hello?',
      [],
      [right()],
      {},
      { ...right(), id: undefined },
      { ...right(), id: '' },
      { ...right(), id: 7 },
      { ...right(), id: 'a b' },
      { ...right(), id: 'ä' },
      { ...right(), id: '../x' },
      { ...right(), id: 'a\u0000' },
      { ...right(), id: 'a'.repeat(257) },
      { ...right(), sender: undefined },
      { ...right(), sender: 'company' },
      { ...right(), sender: 'Human' },
      { ...right(), sender: null },
      { ...right(), sender: ['agent'] },
      { ...right(), text: undefined },
      { ...right(), text: '' },
      { ...right(), text: ' \n\t\u00a0\u3000' },
      { ...right(), text: null },
      { ...right(), text: 7 },
      { ...right(), text: ['Hello?'] },
      { ...right(), data: null },
      { ...right(), data: [1] },
      { ...right(), data: 'x' },
      { ...right(), context: null },
      { ...right(), context: ['en'] },
      { ...right(), context: { locale: 'not a language' } },
      { ...right(), context: { locale: 7 } },
      { ...right(), context: { time_zone: 'Mars/Olympus' } },
      { ...right(), context: { time_zone: '+02:00' } },
      { ...right(), context: { user_available: 'yes' } },
    ]
    for (const message of wrong) {
      expect(await outcome(await talk.start(message)), JSON.stringify(message)).toBe('400 invalid_request')
      expect(await outcome(await talk.send(conversation, message))).toBe('400 invalid_request')
    }
    for (const parent of ['', 'a b', 7, {}, null, 'a'.repeat(257)])
      expect(await outcome(await talk.start(said('Hi.'), { parent: parent as string }))).toBe('400 invalid_request')

    const text = JSON.stringify({ message: right() })
    const bodies = [
      ['', '400 invalid_request'],
      ['[]', '400 invalid_request'],
      ['null', '400 invalid_request'],
      [text.slice(0, -1), '400 invalid_request'],
      [text.replace('"sender"', '"sender":"agent","sender"'), '400 invalid_request'],
      [text.replace('{"message"', '{"message":{},"message"'), '400 invalid_request'],
      [text.replace('"text"', `"data":${'['.repeat(20)}${']'.repeat(20)},"text"`), '400 invalid_request'],
      [text.replace('"text"', `"data":{"x":${'['.repeat(14)}${']'.repeat(14)}},"text"`), '400 invalid_request'],
      [new Uint8Array([0x7b, 0xff, 0x7d]), '400 invalid_request'],
      [`${text.slice(0, -1)},"x":"${'x'.repeat(conversationLimits.body)}"}`, '413 request_too_large'],
    ] as const
    for (const [body, is] of bodies)
      for (const below of ['', `/${conversation}/messages`]) expect(await outcome(await raw(below, body))).toBe(is)
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', ''])
      expect(await outcome(await raw('', text, { 'content-type': type }))).toBe('415 unsupported_media_type')

    const page = await pageOf(await talk.read(conversation))
    expect(page.events.filter(({ type }) => type === 'message')).toHaveLength(1)
  })

  test('what is too large is refused, and what is as large as can be is not', async () => {
    const { talk, conversation } = await open()
    const { text, data, context } = conversationLimits
    const large = [
      { text: 'x'.repeat(text + 1) },
      { data: { x: 'x'.repeat(data) } },
      { data: { x: 'ä'.repeat(data / 2) } },
      { context: { x: 'x'.repeat(context) } },
    ]
    for (const one of large)
      expect(await outcome(await talk.send(conversation, { ...said('Hello?'), ...one }))).toBe('413 request_too_large')
    const most = said('x'.repeat(text), { data: { x: 'x'.repeat(data - 8) } })
    expect((await talk.send(conversation, most)).status).toBe(202)
    // All that it has gathered together.
    const part = (name: string) => said('Hello?', { context: { [name]: 'x'.repeat(context / 2) } })
    expect((await talk.send(conversation, part('a'))).status).toBe(202)
    expect(await outcome(await talk.send(conversation, part('b')))).toBe('413 request_too_large')
    expect((await talk.send(conversation, part('a'))).status).toBe(202)
  })

  test('odd text, names and ids are kept as they are [7.2.id-format, 7.2.id-opaque]', async () => {
    const { talk, conversation } = await open()
    const texts = [
      '\u0000',
      'half \ud800 a pair',
      '\u202e',
      '💥',
      '<script>',
      '"\\',
      "'; drop table poppy_events; --",
      ':id ? $1',
    ]
    for (const text of texts) {
      const data = { [text]: [text, { [text]: null }], constructor: 1e300, toString: -0.5 }
      const message = said(text === '\u0000' ? 'a\u0000b' : text, { data })
      expect((await talk.send(conversation, message)).status).toBe(202)
      // JSON has no half pairs: what came as one is told as one.
      const { events } = await pageOf(await talk.read(conversation))
      const told = events.findLast(({ type }) => type === 'message')
      expect(told).toMatchObject({ message: { ...message, role: 'user' } })
    }
    const nested = JSON.parse('{"__proto__":{"polluted":true},"x":{"__proto__":1}}') as object
    expect((await talk.send(conversation, said('Hello?', { data: nested, context: nested }))).status).toBe(202)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    for (const one of ['a', '-', '_', '__proto__', 'constructor', 'a'.repeat(256), 'evt_1', '0'])
      expect((await talk.send(conversation, said('Hello?', { id: one }))).status).toBe(202)
  })

  test('a cursor is one of this conversation, and a wait is a number of seconds, once [7.13.invalid-cursor]', async () => {
    const { talk, conversation } = await open()
    const { events } = await pageOf(await talk.read(conversation))
    const other = await standingOf(await talk.start(said('Hello?')))
    const theirs = (await pageOf(await talk.read(other.conversation_id))).events[0]?.id ?? ''
    const own = events[0]?.id ?? ''
    const cursors = [
      '',
      'x',
      'evt_1',
      theirs,
      own.slice(0, -1),
      `${own}0`,
      own.replace(/1$/, '01'),
      own.replace(/1$/, '0'),
      own.replace(/1$/, 'zzzzzzzzzzz'),
      own.replace(/1$/, '-1'),
      own.toUpperCase(),
      `${own}%00`,
      '%F0%9F%92%A5',
      'a'.repeat(5000),
    ]
    for (const cursor of cursors) {
      for (const answer of [
        await talk.read(conversation, `?cursor=${cursor}`),
        await talk.read(conversation, `?wait=1&cursor=${cursor}`),
        await talk.send(conversation, said('Hello?'), `?wait=0&cursor=${cursor}`),
        await talk.start(said('Hello?'), { query: `?wait=0&cursor=${cursor}` }),
      ])
        expect(await outcome(answer), cursor).toBe('400 invalid_cursor')
    }
    const waits = ['', '-1', 'x', '1e1', '1.', '.5', '0x10', ' 1', '1,2', '９', 'NaN', 'Infinity', '99999999999']
    const queries = [...waits.map((wait) => `wait=${wait}`), 'wait=1&wait=1', `cursor=${own}&cursor=${own}`]
    for (const query of queries) {
      for (const answer of [
        await talk.read(conversation, `?${query}`),
        await talk.send(conversation, said('Hello?'), `?${query}`),
        await talk.start(said('Hello?'), { query: `?${query}` }),
      ])
        expect(await outcome(answer), query).toBe('400 invalid_request')
    }
    // Nothing of it was accepted.
    expect((await pageOf(await talk.read(conversation))).events.filter(({ type }) => type === 'message')).toHaveLength(
      1,
    )
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventOf, readEvent } from './event.ts'

const head = { id: 'evt_1', created_at: '2026-10-08T19:03:00Z' }
const message = { id: 'msg_1', role: 'company', sender: 'agent', text: 'Hello.' }
const nobody = {
  authorize: async () => ({ result: 'needs_owner', error: undefined }) as const,
  askUser: async () => undefined,
}

async function shown(value: unknown) {
  const read = readEvent(value)
  return read.kind === 'known' ? eventOf(read.wire, undefined, nobody) : read
}

describe('an event', () => {
  it('of each kind is read', async () => {
    const at = Date.parse(head.created_at)
    const same = { id: 'evt_1', at }
    expect(await shown({ ...head, type: 'message', message })).toMatchObject({ ...same, message: { text: 'Hello.' } })
    expect(await shown({ ...head, type: 'state', status: 'idle', responder: 'human' })).toEqual({
      ...{ ...same, type: 'state', status: 'idle', responder: 'human' },
    })
    expect(await shown({ ...head, type: 'authorization', error: 'insufficient_scope', scope: 'a b ' })).toMatchObject({
      ...{ error: 'insufficient_scope', scopes: ['a', 'b'], outcome: { result: 'needs_owner' } },
    })
    expect(await shown({ ...head, type: 'user_requested', reason: 'Please.' })).toMatchObject({ reason: 'Please.' })
    expect(await shown({ ...head, type: 'direct_opened', conversation_id: 'cnv_2' })).toMatchObject({
      conversationId: 'cnv_2',
    })
    expect(await shown({ ...head, type: 'direct_closed' })).toMatchObject({ conversationId: undefined })
  })

  it('has whatever id the Company likes, and nothing is read out of it [7.2.id-opaque-agent]', async () => {
    for (const id of ['-', '0', '__proto__', 'evt_9', 'x'.repeat(256), '2026-10-08T19-03-00Z'])
      expect(await shown({ ...head, id, type: 'message', message: { ...message, id } })).toMatchObject({
        id,
        message: { id },
      })
  })

  it('of another kind is skipped, with its id [7.5.skip-unknown-agent]', () => {
    for (const type of ['weather', 'example.com/x', 'Message', 'text-delta', ''])
      expect(readEvent({ ...head, type, message })).toEqual({ kind: 'unknown', id: 'evt_1' })
  })

  it('that nobody can read spoils no other, and is told as missing', () => {
    const odd: readonly unknown[] = [
      ...[null, 7, 'evt_1', [], {}, { ...head }, { ...head, type: 7 }],
      ...[
        { ...head, type: 'message' },
        { ...head, type: 'message', message: [] },
      ],
      { ...head, type: 'message', message: { ...message, sender: 'robot' } },
      { ...head, type: 'message', message: { ...message, sender: undefined } },
      { ...head, type: 'message', message: { ...message, text: {} } },
      { ...head, type: 'message', message: { ...message, id: '../x' } },
      { ...head, type: 'state', status: 'asleep', responder: 'agent' },
      { ...head, type: 'authorization', error: 'invalid_token' },
      { ...head, type: 'direct_opened', conversation_id: 'a/b' },
      ...['', 'a b', 'x'.repeat(257), 7, null].map((id) => ({ ...head, id, type: 'message', message })),
    ]
    for (const value of odd) expect([value, readEvent(value).kind]).toEqual([value, 'unreadable'])
  })

  it('is read although its time, or what it proposes, can’t be', async () => {
    for (const created_at of [undefined, 'yesterday', 7, '']) {
      expect(await shown({ ...head, created_at, type: 'message', message })).toMatchObject({ at: undefined })
    }
    const proposed = readEvent({ ...head, type: 'message', message: { ...message, operation: { revision: 'two' } } })
    expect(proposed).toMatchObject({ kind: 'known', operation: { revision: 'two' } })
  })

  it('holds nothing that a terminal would act on, or that hides', async () => {
    const hostile = '\u001b[2JYes\u202e\u0007\r\nno\u200b'
    const said = { ...message, text: hostile, data: { [hostile]: [hostile] } }
    const event = await shown({ ...head, type: 'message', message: said })
    const asked = await shown({ ...head, type: 'user_requested', reason: hostile.repeat(2000) })
    for (const one of [event, asked]) expect(JSON.stringify(one)).not.toMatch(/\\u001b|\u202e|\\u0007|\\r|\u200b/)
    expect(event).toMatchObject({ message: { text: '[2JYes\nno' } })
  })
})

describe('whatever a Company sends', () => {
  const names = [
    'id',
    'type',
    'created_at',
    'message',
    'status',
    'responder',
    'error',
    'scope',
    'reason',
    'role',
    'sender',
  ]
  const word = fc.oneof(
    fc.constantFrom('message', 'state', 'authorization', 'user_requested', 'direct_opened', 'direct_closed', 'agent'),
    fc.constantFrom(
      'company',
      'human',
      'idle',
      'closed',
      'sign_in_required',
      'evt_1',
      '2026-10-08T19:03:00Z',
      '\u001b',
    ),
    fc.string(),
  )
  const value = fc.oneof(word, fc.jsonValue({ maxDepth: 4 }), fc.constant({ ...message }), fc.constant(undefined))
  const event = fc
    .array(fc.tuple(fc.oneof(fc.constantFrom(...names), fc.string()), value), { maxLength: 12 })
    .map((members) => Object.fromEntries([...Object.entries(head), ...members]))

  it('is read without an accident, has an id that may travel, and shows nothing hidden', async () => {
    const run = fc.asyncProperty(fc.oneof(event, fc.anything()), async (sent) => {
      const read = readEvent(sent)
      if (read.id !== undefined) expect(read.id).toMatch(/^[A-Za-z0-9_-]{1,256}$/)
      if (read.kind !== 'known') return
      const shown = await eventOf(read.wire, undefined, nobody)
      expect(JSON.stringify(shown)).not.toMatch(/\\u00[01]|\u202e|\u200b/)
    })
    await fc.assert(run, { numRuns: 2000 })
  })
})

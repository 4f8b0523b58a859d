import { conversationEventSchema, type WireEvent } from '@poppyseed/protocol'
import type { CompanyAgent, CompanyConfig } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { converse, type Page, pageOf, said, standingOf, words } from './setup/converse.ts'
import { makeInstances } from './setup/instances.ts'
import { days } from './setup/rows.ts'
import { stores } from './setup/stores.ts'
import { outcome, type Tokens } from './setup/world.ts'

/** Reading (7.5), replies in the response (7.3), context (7.4) and closing (7.12), through two instances. */

/** A machine under load is slow, and nothing here is about how fast it is. */
const patiently = { timeout: 30_000 }

describe.each(stores)('a conversation on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  async function two({
    answer = async function* () {
      yield { type: 'message', text: 'Yes, until 10:30.', data: { until: '10:30' } }
    },
    ...more
  }: { readonly answer?: CompanyAgent } & Partial<CompanyConfig> = {}) {
    const { store } = await fresh()
    const config = { agent: answer, limits: false, ...more } as const
    const instances = await makeInstances([
      { store: store(), config },
      { store: store(), config },
    ])
    const { access_token: token } = (await (await instances.agent.startSession()).json()) as Tokens
    const talk = converse(instances.agent, token)
    const idle = async (id: string): Promise<Page> => {
      await expect.poll(async () => (await pageOf(await talk.read(id))).status, patiently).toBe('idle')
      return pageOf(await talk.read(id))
    }
    /** The same User's, with a token that is valid now. */
    const renewed = async () =>
      converse(instances.agent, ((await (await instances.agent.startSession()).json()) as Tokens).access_token)
    return { ...instances, talk, idle, renewed }
  }

  test('is one list of events, each with id, type and time, read after a cursor or from the beginning [7.5.order, 7.5.event-fields, 7.5.after-cursor, 7.5.read-fields, 7.5.cursor, 7.4.role, 7.4.company-message, 7.7.status-and-responder, 7.7.state-event, 7.7.sender, 7.7.status-values]', async () => {
    const { talk, idle, turnTo } = await two()
    const message = said('Is breakfast included?', { data: { guests: 2 }, context: { locale: 'en-GB' } })
    const { conversation_id: id } = await standingOf(await talk.start(message))
    const page = await idle(id)
    for (const event of page.events) expect(conversationEventSchema.parse(event)).toEqual(event)
    const at = '2026-11-30T12:00:00.000Z'
    const event = (more: object) => ({ id: expect.stringMatching(/^evt_[A-Za-z0-9_-]+$/), created_at: at, ...more })
    expect(page).toEqual({
      conversation_id: id,
      events: [
        event({ type: 'message', message: { ...message, role: 'user' } }),
        event({ type: 'state', status: 'working', responder: 'agent' }),
        event({
          type: 'message',
          message: {
            id: expect.stringMatching(/^msg_/),
            role: 'company',
            sender: 'agent',
            text: 'Yes, until 10:30.',
            data: { until: '10:30' },
          },
        }),
        event({ type: 'state', status: 'idle', responder: 'agent' }),
      ],
      cursor: page.events.at(-1)?.id,
      has_more: false,
      status: 'idle',
      responder: 'agent',
    })
    // From each cursor, at either instance: exactly what comes after it.
    for (const [index, { id: cursor }] of page.events.entries()) {
      turnTo(index % 2)
      const rest = await pageOf(await talk.read(id, `?cursor=${cursor}`))
      expect(rest).toEqual({ ...page, events: page.events.slice(index + 1) })
    }
    expect(new Set(page.events.map((one) => one.id)).size).toBe(4)
  })

  test('comes in pages of a hundred, which together are all of it, once and in order', async () => {
    const { talk, alternate } = await two({ answer: async function* () {} })
    const { conversation_id: id } = await standingOf(await talk.start(said('0', { context: { n: 0 } })))
    alternate()
    for (let at = 1; at <= 230; at += 10)
      await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          talk.send(id, { id: `m${at + n}`, sender: 'agent', context: { n: at + n } }),
        ),
      )
    const all: WireEvent[] = []
    let cursor: string | null = null
    let more = true
    const sizes: number[] = []
    while (more) {
      const page: Page = await pageOf(await talk.read(id, cursor === null ? '' : `?cursor=${cursor}`))
      all.push(...page.events)
      sizes.push(page.events.length)
      cursor = page.cursor
      more = page.has_more
    }
    expect(sizes.slice(0, 2)).toEqual([100, 100])
    expect(new Set(all.map((event) => event.id)).size).toBe(all.length)
    const sent = all.flatMap((event) =>
      event.type === 'message' && event.message.role === 'user' ? event.message.id : [],
    )
    expect(sent).toHaveLength(231)
    expect(new Set(sent).size).toBe(231)
    expect(await pageOf(await talk.read(id, `?cursor=${cursor}`))).toMatchObject({
      events: [],
      cursor,
      has_more: false,
    })
  })

  test('gives the reply in the same answer with wait, whichever instance writes it [7.3.wait, 7.5.wait]', async () => {
    const gate = { open: Promise.withResolvers<void>() }
    const { talk, turnTo, idle } = await two({
      answer: async function* () {
        await gate.open.promise
        yield { type: 'message', text: 'Yes.' }
      },
    })
    const starting = talk.start(said('Is breakfast included?'), { query: '?wait=30' })
    gate.open.resolve()
    const first = await starting
    expect(first.status).toBe(201)
    const page = await pageOf(first)
    expect(words(page.events).slice(0, 3)).toEqual([
      'user as agent: Is breakfast included?',
      'working/agent',
      'agent: Yes.',
    ])
    const id = page.conversation_id ?? ''
    const { cursor } = await idle(id)

    gate.open = Promise.withResolvers()
    const sending = talk.send(id, said('And parking?'), `?wait=30&cursor=${cursor}`)
    await expect.poll(async () => (await pageOf(await talk.read(id))).status, patiently).toBe('working')
    // Another who waits, at the other instance.
    turnTo(1)
    const reading = talk.read(id, `?wait=30&cursor=${cursor}`)
    gate.open.resolve()
    const sent = await sending
    expect(sent.status).toBe(202)
    for (const answer of [sent, await reading])
      expect(words((await pageOf(answer)).events).slice(0, 3)).toEqual([
        'user as agent: And parking?',
        'working/agent',
        'agent: Yes.',
      ])

    // 7.5: a read that times out has no events, and the cursor that it came with
    const last = (await idle(id)).cursor
    const before = performance.now()
    expect(await pageOf(await talk.read(id, `?wait=0.3&cursor=${last}`))).toEqual({
      conversation_id: id,
      events: [],
      cursor: last,
      has_more: false,
      status: 'idle',
      responder: 'agent',
    })
    expect(performance.now() - before).toBeGreaterThan(250)
    expect((await pageOf(await talk.read(id, `?wait=30`))).events).not.toEqual([])
  })

  test('keeps each fact of the context until another takes its place, and takes context alone as no question [7.4.context-keeps, 7.4.context-only, 7.4.context-given]', async () => {
    const seen: unknown[] = []
    const { talk, idle } = await two({
      async *answer(turn) {
        seen.push(turn.context)
        yield { type: 'message', text: 'Yes.' }
      },
    })
    const quiet = await standingOf(
      await talk.start({
        id: 'm1',
        sender: 'agent',
        context: { locale: 'de-DE', user_available: true, pet: { kind: 'dog' } },
      }),
    )
    expect(quiet).toMatchObject({ status: 'idle', responder: 'agent' })
    const { conversation_id: id } = quiet
    await talk.send(id, { id: 'm2', sender: 'agent', text: ' ', context: { user_available: false } })
    expect(words((await pageOf(await talk.read(id))).events)).toEqual(['user as agent: -', 'user as agent: -'])
    await talk.send(id, said('Is breakfast included?', { context: { time_zone: 'Europe/Berlin' } }))
    await idle(id)
    await talk.send(id, said('And parking?', { context: { pet: null } }))
    await idle(id)
    const facts = { locale: 'de-DE', user_available: false, time_zone: 'Europe/Berlin' }
    expect(seen).toEqual([
      { ...facts, pet: { kind: 'dog' } },
      { ...facts, pet: null },
    ])
  })

  test('says that events are gone where they are no longer kept, and is read from the beginning [7.5.cursor-expired, 7.13.cursor-expired]', async () => {
    const { talk, idle, clock, worlds, renewed } = await two({
      retention: { events: 3 },
      conversations: { inactivity: 30 * 86_400 },
    })
    const { conversation_id: id } = await standingOf(await talk.start(said('Is breakfast included?')))
    const before = await idle(id)
    clock.now += days(2)
    const later = await renewed()
    await later.send(id, said('And parking?'))
    await expect.poll(async () => (await pageOf(await later.read(id))).status, patiently).toBe('idle')
    clock.now += days(2)
    await worlds[0]?.company.work()
    const again = await renewed()
    const [first, , , last] = before.events
    expect(await outcome(await again.read(id, `?cursor=${first?.id}`))).toBe('410 cursor_expired')
    expect(await outcome(await again.send(id, said('Hello?'), `?wait=1&cursor=${first?.id}`))).toBe(
      '410 cursor_expired',
    )
    const kept = await pageOf(await again.read(id))
    expect(words(kept.events)[0]).toBe('user as agent: And parking?')
    // Nothing after this one is missing.
    expect((await pageOf(await again.read(id, `?cursor=${last?.id}`))).events).toEqual(kept.events)
  })

  test('closes whatever waits in it, and is known as long as it is kept [7.3.message-id-kept]', async () => {
    const { talk, clock, worlds, renewed } = await two({
      retention: { conversations: 1 },
      answer: async function* () {},
    })
    const message = said('Is breakfast included?')
    const { conversation_id: id } = await standingOf(await talk.start(message))
    const { cursor } = await pageOf(await talk.read(id))
    const waiting = talk.read(id, `?wait=30&cursor=${cursor}`)
    await talk.close(id)
    expect((await pageOf(await waiting)).status).toMatch(/closed|idle/)
    clock.now += days(1)
    await worlds[0]?.company.work()
    expect((await standingOf(await (await renewed()).start(message))).conversation_id).toBe(id)
    clock.now += 1000
    await worlds[0]?.company.work()
    const after = await renewed()
    expect(await outcome(await after.read(id))).toBe('404 conversation_not_found')
    expect((await standingOf(await after.start(message))).conversation_id).not.toBe(id)
  })

  test('is one of so many that a User has open', async () => {
    const { talk } = await two({ conversations: { open: 3 } })
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push((await standingOf(await talk.start(said('Hello?')))).conversation_id)
    const message = said('Hello?')
    const refused = await talk.start(message)
    expect(refused.headers.get('retry-after')).toBe('60')
    expect(await outcome(refused)).toBe('429 rate_limited')
    await talk.close(ids[0] ?? '')
    expect((await talk.start(message)).status).toBe(201)
  })
})

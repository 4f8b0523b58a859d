import type { CompanyAgent } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { converse, pageOf, said, standingOf, words } from './setup/converse.ts'
import { makeInstances } from './setup/instances.ts'
import { stores } from './setup/stores.ts'
import { outcome, type Tokens } from './setup/world.ts'

/** A message that comes again (7.3): in sequence, at once through two instances, late, from another Session, changed. */

/** An object with the members of each object in it the other way round. */
const turnedRound = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value)
          .toReversed()
          .map(([name, one]) => [name, turnedRound(one)]),
      )
    : value

/** A machine under load is slow, and nothing here is about how fast it is. */
const patiently = { timeout: 30_000 }

describe.each(stores)('a message that comes again, on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  /** Two instances of one Company, whose agent answers each turn with its number and counts how often it ran. */
  async function two() {
    const { store } = await fresh()
    let turns = 0
    const agent: CompanyAgent = async function* (turn) {
      turns += 1
      yield { type: 'message', text: `Reply to ${turn.asked.map(({ text }) => text).join(', ')}` }
    }
    const config = { agent, limits: false } as const
    const instances = await makeInstances([
      { store: store(), config },
      { store: store(), config },
    ])
    const session = async () => ((await (await instances.agent.startSession()).json()) as Tokens).access_token
    const token = await session()
    const talk = converse(instances.agent, token)
    return { ...instances, talk, session, turns: () => turns, read: async (id: string) => pageOf(await talk.read(id)) }
  }

  test('in sequence, gives the conversation that it opened and the original answer, also after the reply, from a renewed Session, and at the other instance [7.3.first-message-retry, 7.3.message-retry]', async () => {
    const { talk, agent, session, turnTo, turns, read } = await two()
    const message = said('Is breakfast included?', {
      data: { guests: { adults: 2, children: 1 }, 10: 'ten', 9: 'nine' },
      context: { locale: 'en-GB', user_available: true, pet: { kind: 'dog', name: 'Rex' } },
    })
    const first = await standingOf(await talk.start(message))
    expect(first).toMatchObject({ status: 'working', responder: 'agent' })
    await expect.poll(async () => (await read(first.conversation_id)).status, patiently).toBe('idle')
    const before = await read(first.conversation_id)

    const again = await talk.start(message)
    expect(again.status).toBe(201)
    // The original answer, although it is idle by now.
    expect(await standingOf(again)).toEqual(first)
    turnTo(1)
    const elsewhere = converse(agent, await session())
    expect(await standingOf(await elsewhere.start(message))).toEqual(first)
    // The order of members is no content, and neither is what isn't defined.
    const { id, sender, text, data, context } = message as typeof message & { data: object; context: object }
    const turned = { extra: [1], context: turnedRound(context), data: turnedRound(data), text, sender, id }
    expect(JSON.stringify(turned.data)).not.toBe(JSON.stringify(data))
    expect(await standingOf(await elsewhere.start(turned))).toEqual(first)

    // With `wait` it is answered as a read from its cursor.
    const page = await pageOf(await elsewhere.start(message, { query: '?wait=10' }))
    expect(page).toEqual(before)
    const rest = await elsewhere.start(message, { query: `?wait=0&cursor=${before.events[1]?.id}` })
    expect(rest.status).toBe(201)
    expect((await pageOf(rest)).events).toEqual(before.events.slice(2))

    const next = said('And parking?')
    const sent = await standingOf(await talk.send(first.conversation_id, next))
    await expect.poll(async () => (await read(first.conversation_id)).status, patiently).toBe('idle')
    const repeated = await talk.send(first.conversation_id, next)
    expect(repeated.status).toBe(202)
    expect(await standingOf(repeated)).toEqual(sent)
    expect(words((await read(first.conversation_id)).events)).toEqual([
      'user as agent: Is breakfast included?',
      'working/agent',
      'agent: Reply to Is breakfast included?',
      'idle/agent',
      'user as agent: And parking?',
      'working/agent',
      'agent: Reply to And parking?',
      'idle/agent',
    ])
    expect(turns()).toBe(2)
  })

  test('with one character changed, or sent elsewhere, is a conflict [7.3.message-id-conflict, 7.13.message-id-conflict]', async () => {
    const { talk, read } = await two()
    const data = { sku: 'stormline-m', sizes: ['m', 'l'] }
    const message = said('Is it warm?', { data, context: { locale: 'en' } })
    const { conversation_id: id } = await standingOf(await talk.start(message))
    const other = await standingOf(await talk.start(said('Is it dry?')))
    const changed = [
      { ...message, text: 'Is it warm!' },
      { ...message, text: undefined },
      { ...message, sender: 'human' },
      { ...message, data: { ...data, sku: 'stormline-l' } },
      { ...message, data: { ...data, sizes: ['l', 'm'] } },
      { ...message, data: undefined },
      { ...message, context: { locale: 'de' } },
      { ...message, context: {} },
    ]
    for (const one of changed) expect(await outcome(await talk.start(one))).toBe('409 message_id_conflict')
    // The id is the User's, not the conversation's.
    for (const target of [id, other.conversation_id])
      expect(await outcome(await talk.send(target, message))).toBe('409 message_id_conflict')
    expect(await outcome(await talk.start(message, { parent: other.conversation_id }))).toBe('409 message_id_conflict')
    await expect.poll(async () => (await read(id)).status, patiently).toBe('idle')
    expect((await read(id)).events.filter(({ type }) => type === 'message')).toHaveLength(2)
  })

  test('is known before anything else is asked of its conversation: closed, or with a Direct Conversation beside it', async () => {
    const { talk } = await two()
    const message = said('Is breakfast included?')
    const first = await standingOf(await talk.start(message))
    const next = said('And parking?')
    const sent = await standingOf(await talk.send(first.conversation_id, next))
    const direct = await standingOf(
      await talk.start(said('Hi.', { sender: 'human' }), { parent: first.conversation_id }),
    )
    expect(await standingOf(await talk.send(first.conversation_id, next))).toEqual(sent)
    expect(await outcome(await talk.send(first.conversation_id, said('Hello?')))).toBe('409 direct_conversation_open')
    await talk.close(direct.conversation_id)
    await talk.close(first.conversation_id)
    expect(await standingOf(await talk.send(first.conversation_id, next))).toEqual(sent)
    expect(await standingOf(await talk.start(message))).toEqual(first)
    expect(await outcome(await talk.send(first.conversation_id, said('Hello?')))).toBe('409 conversation_closed')
  })

  test('at once through two instances, opens one conversation, which is answered once [K44]', async () => {
    const { talk, agent, session, alternate, turns, read } = await two()
    const renewed = converse(agent, await session())
    const message = said('Is breakfast included?')
    alternate()
    const answers = await Promise.all([
      ...Array.from({ length: 6 }, () => talk.start(message)),
      ...Array.from({ length: 2 }, () => renewed.start(message)),
      ...Array.from({ length: 2 }, () => talk.start({ ...message, text: 'Is breakfast included!' })),
      ...Array.from({ length: 2 }, () => talk.start(message, { query: '?wait=10' })),
    ])
    // Whichever came first is the message; of the two texts one is a conflict.
    const taken = answers.filter(({ status }) => status === 201)
    const refused = await Promise.all(answers.filter(({ status }) => status !== 201).map(outcome))
    expect(new Set(refused)).toEqual(new Set(['409 message_id_conflict']))
    expect([taken.length, refused.length].toSorted((a, b) => a - b)).toEqual([2, 10])
    const ids = await Promise.all(taken.map(async (answer) => (await standingOf(answer)).conversation_id))
    expect(new Set(ids).size).toBe(1)
    const [id = ''] = ids
    await expect.poll(async () => (await read(id)).status, patiently).toBe('idle')
    const page = await read(id)
    expect(words(page.events).map((word) => word.split(':')[0])).toEqual([
      'user as agent',
      'working/agent',
      'agent',
      'idle/agent',
    ])

    // And the next one too, beside one that is another.
    const [next, other] = [said('And parking?'), said('And a pool?')]
    const sent = await Promise.all([
      ...Array.from({ length: 8 }, () => talk.send(id, next)),
      talk.send(id, other),
      talk.send(id, next, '?wait=5'),
    ])
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([202]))
    await expect.poll(async () => (await read(id)).status, patiently).toBe('idle')
    const heard = (await read(id)).events.flatMap((event) =>
      event.type === 'message' && event.message.role === 'user' ? event.message.text : [],
    )
    expect(heard.toSorted()).toEqual(['And a pool?', 'And parking?', expect.stringMatching(/^Is breakfast/)])
    expect(turns()).toBeLessThanOrEqual(3)
  })

  test('at once, for a Direct Conversation, opens one; another at that moment is told that one is open [7.10.one-open, 7.13.direct-conversation-open]', async () => {
    const { talk, alternate, read } = await two()
    const { conversation_id: parent } = await standingOf(await talk.start(said('Is breakfast included?')))
    await expect.poll(async () => (await read(parent)).status, patiently).toBe('idle')
    alternate()
    const message = said('Hi.', { sender: 'human' })
    const [others, same] = await Promise.all([
      Promise.all(Array.from({ length: 3 }, () => talk.start(said('Hello.', { sender: 'human' }), { parent }))),
      Promise.all(Array.from({ length: 4 }, () => talk.start(message, { parent }))),
    ])
    const all = [...others, ...same]
    const opened = await Promise.all(all.filter(({ status }) => status === 201).map(standingOf))
    expect(opened.length === 1 || opened.length === 4).toBe(true)
    const ids = new Set(opened.map((one) => one.conversation_id))
    expect(ids.size).toBe(1)
    const [direct] = ids
    for (const answer of all.filter(({ status }) => status !== 201))
      expect(await answer.json()).toMatchObject({ error: 'direct_conversation_open', conversation_id: direct })
    expect(words((await read(parent)).events).filter((word) => word === 'direct_opened')).toHaveLength(1)
    await talk.close(parent)
    expect(words((await read(parent)).events).slice(-2)).toEqual(['direct_closed', 'closed/agent'])
    expect((await read(direct ?? '')).status).toBe('closed')
  })
})

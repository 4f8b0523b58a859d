import { type CompanyAgent, operation, succeeded, unknown, type WebhookEvent } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { webhookBodySchemas } from '../packages/company/src/webhooks/wire.ts'
import { startAnswering } from './setup/answering.ts'
import { asked, lists, signedIn } from './setup/bookings.ts'
import { converse, said, standingOf } from './setup/converse.ts'
import { makeFrontDesk, patiently, rita } from './setup/front-desk.ts'
import { stores } from './setup/stores.ts'
import { receiveWebhooks, toldOf, webhookSecret } from './setup/webhook-receiver.ts'
import { makeWorld } from './setup/world.ts'

// A company's own systems are told of what happens: in the transaction of what causes it, signed, at least once. Two instances of
// one Company: the agent turns to one, the staff to the other.

const here = {
  origin: 'http://localhost:8080',
  organization: { name: 'Hotel Miramar', domain: 'localhost' },
  development: true,
}
const echo: CompanyAgent = async function* (turn) {
  yield { type: 'text', text: `You asked: ${turn.asked.at(-1)?.text}` }
}
const minute = 60_000

/** A front desk whose help desk is told. */
async function makeTold(store: Parameters<typeof makeFrontDesk>[0], events?: readonly WebhookEvent['type'][]) {
  const clock = { now: 0 }
  const receivers = [await receiveWebhooks(clock), await receiveWebhooks(clock)] as const
  const desk = await makeFrontDesk(store, {
    ...here,
    agent: echo,
    webhooks: [
      { url: receivers[0].url, secret: webhookSecret },
      { url: receivers[1].url, secret: webhookSecret, events: events ?? ['handoff.requested'] },
    ],
  })
  Object.defineProperty(clock, 'now', { get: () => desk.clock.now })
  const work = async () => {
    for (const { company } of desk.worlds) while (!(await company.work()).isDone);
  }
  return { desk, first: receivers[0], second: receivers[1], work }
}

describe.each(stores)('webhooks on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  test('tell of messages, of who asks for a person, and of the end, each to whoever wants it, once', async () => {
    const { desk, first, second, work } = await makeTold(await fresh())
    await desk.staff.present(rita)
    const id = await desk.start(said('My room is cold.', { data: { room: 12 } }))
    await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('idle')
    await desk.talk.handoff(id)
    await desk.staff.take(id, rita)
    await desk.staff.reply(id, rita, { text: 'Somebody comes.', data: { minutes: 5 } })
    await desk.staff.release(id, rita)
    await desk.staff.close(id, { by: 'the night’s job' })
    await work()
    await expect.poll(() => first.got.length, patiently).toBe(6)
    expect(toldOf(first.got).toSorted()).toEqual([
      'company as agent: You asked: My room is cold.',
      'company as human: Somebody comes.',
      'conversation.closed',
      'handoff.requested',
      'handoff.requested',
      'user as agent: My room is cold.',
    ])
    expect(toldOf(second.got)).toEqual(['handoff.requested', 'handoff.requested'])
    for (const event of [...first.got, ...second.got]) {
      const { id: _, ...body } = event
      expect(webhookBodySchemas[event.type].strict().parse(body)).toEqual(body)
      expect(event.data).toMatchObject({ conversation_id: id, agent: { host: 'roaming.example' }, is_signed_in: false })
    }
    expect(new Set([...first.got, ...second.got].map((event) => event.id)).size).toBe(8)
    const question = first.got.find((event) => toldOf([event])[0]?.startsWith('user'))
    const { events } = await desk.read(id)
    expect(question).toMatchObject({
      data: { event_id: events[0]?.id, status: 'working', message: { data: { room: 12 } } },
    })
    // They come in any order.
    const handoffs = second.got.map(({ data }) => data as { readonly is_again: boolean })
    expect(handoffs.toSorted((one, other) => Number(one.is_again) - Number(other.is_again))).toMatchObject([
      { status: 'queued', responder: 'agent', is_again: false },
      { status: 'queued', responder: 'agent', is_again: true },
    ])
    expect(await desk.worlds[0]?.company.health()).toMatchObject({
      deliveries: { waiting: 0, dueSince: null, givenUp: 0 },
    })
  })

  test('tell of a Direct Conversation and its parent, closed together, and of why a person is wanted', async () => {
    const agent: CompanyAgent = async function* () {
      yield { type: 'handoff', reason: 'A refund over the limit.' }
    }
    const clock = { now: 0 }
    const receiver = await receiveWebhooks(clock)
    const desk = await makeFrontDesk(await fresh(), {
      ...here,
      agent,
      webhooks: [{ url: receiver.url, secret: webhookSecret, events: ['handoff.requested', 'conversation.closed'] }],
    })
    Object.defineProperty(clock, 'now', { get: () => desk.clock.now })
    await desk.staff.present(rita)
    const parent = await desk.start(said('My money back.'))
    await expect.poll(async () => (await desk.read(parent)).status, patiently).toBe('queued')
    await desk.staff.take(parent, rita)
    await desk.staff.askForUser(parent, rita, 'A word with you.')
    const direct = await desk.start(said('It is me.', { sender: 'human' }), parent)
    await desk.staff.close(parent, rita, 'Done.')
    await desk.work()
    await expect.poll(() => receiver.got.length, patiently).toBe(3)
    expect(receiver.got.find(({ type }) => type === 'handoff.requested')).toMatchObject({
      data: { reason: 'A refund over the limit.', conversation_id: parent },
    })
    const closed = receiver.got.filter(({ type }) => type === 'conversation.closed').map(({ data }) => data)
    expect(closed).toHaveLength(2)
    expect(closed).toContainEqual(
      expect.objectContaining({ conversation_id: direct, parent_conversation_id: parent, status: 'closed' }),
    )
    expect(closed).toContainEqual(expect.objectContaining({ conversation_id: parent, parent_conversation_id: null }))
  })

  test('say whether the User is signed in, and nothing of the account, its scopes, tokens, or of who at the company did it', async () => {
    const { desk, first, work } = await makeTold(await fresh())
    const { signedIn: own, talk } = await desk.signIn()
    const { conversation_id: id } = await standingOf(await talk.start(said('My bookings?')))
    await expect.poll(async () => (await desk.read(id, talk)).status, patiently).toBe('idle')
    await desk.staff.take(id, rita)
    await desk.staff.note(id, rita, 'Be kind to this one.')
    await desk.staff.reply(id, rita, { text: 'Three of them.' })
    await desk.staff.handBack(id, rita, { note: 'Offer breakfast.', text: 'Bye.' })
    await work()
    await expect.poll(() => first.got.length, patiently).toBeGreaterThanOrEqual(4)
    for (const { data } of first.got) expect(data).toMatchObject({ is_signed_in: true })
    const all = first.bodies.join('\n')
    const secrets = [own.access_token, own.refresh_token ?? '-', own.session_id, desk.tokens.access_token]
    for (const secret of [
      ...secrets,
      'acc-maya',
      'maya@example.com',
      'poppy:',
      'rita',
      'Rita',
      'be kind',
      'Offer',
      'Be kind',
    ])
      expect(all).not.toContain(secret)
  })

  test('aren’t written where nobody is told, nor for a change that wasn’t made', async () => {
    const store = await fresh()
    const none = await makeFrontDesk(store, { ...here, agent: echo })
    const id = await none.start(said('Hello?'))
    await expect.poll(async () => (await none.read(id)).status, patiently).toBe('idle')
    await none.staff.close(id, { by: 'a job' })
    const db = await store.open()
    const rows = () => db.query.selectFrom('poppy_deliveries').selectAll().execute()
    expect(await rows()).toEqual([])

    const { desk, first, work } = await makeTold(store)
    const message = said('Twice the same.')
    const two = await Promise.all([desk.talk.start(message), desk.talk.start(message)])
    expect(new Set(await Promise.all(two.map(async (answer) => (await standingOf(answer)).conversation_id))).size).toBe(
      1,
    )
    await work()
    await expect.poll(() => toldOf(first.got).filter((word) => word.startsWith('user')), patiently).toHaveLength(1)
    await work()
    await expect.poll(rows).toEqual([])
    expect(toldOf(first.got).filter((word) => word.startsWith('user'))).toHaveLength(1)
  })

  test('are written for each of many conversations that change at the same moment', async () => {
    const { desk, first, work } = await makeTold(await fresh())
    const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => desk.start(said(`Question ${n}`))))
    for (const id of ids) await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('idle')
    await Promise.all(ids.map((id, n) => desk.talk.send(id, said(`More ${n}`))))
    for (const id of ids) await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('idle')
    await work()
    const all = ids.flatMap((_, n) => [`user as agent: Question ${n}`, `user as agent: More ${n}`])
    const asked = () => toldOf(first.got).filter((word) => word.startsWith('user'))
    await expect.poll(() => asked().length, patiently).toBe(24)
    expect(asked().toSorted()).toEqual(all.toSorted())
    for (const event of first.got)
      if (event.type === 'conversation.message' && event.data.message.text?.startsWith('More'))
        expect(event.data.conversation_id).toBe(ids[Number(event.data.message.text.slice(5))])
  })

  test('tell of an operation whose outcome nobody knows, once', async () => {
    const clock = { now: 0 }
    const receiver = await receiveWebhooks(clock)
    const book = operation({
      name: 'book_room',
      description: 'Books a room.',
      scope: 'poppy:write',
      propose: () => ({ summary: 'A double room for 120 €.', terms: { price: '120.00' } }),
      perform: () => unknown(),
      reconcile: () => (clock.now < until ? unknown() : succeeded({ booking: 'B-1' })),
    })
    const world = await makeWorld(
      { ...here, operations: [book], webhooks: [{ url: receiver.url, secret: webhookSecret }] },
      (await fresh()).store(),
    )
    const until = world.clock.now + 10 * minute
    Object.defineProperty(clock, 'now', { get: () => world.clock.now })
    lists(world.agent)
    const at = asked(world.agent, (await signedIn(world)).access_token)
    const proposed = await at.propose('book_room')
    await at.confirm(proposed.operation_id)
    const work = async () => {
      while (!(await world.company.work()).isDone);
    }
    await work()
    await expect.poll(() => receiver.got.length, patiently).toBe(1)
    world.clock.now += 5 * minute
    await work()
    world.clock.now += 30 * minute
    await work()
    await expect
      .poll(async () => (await world.company.operations.get(proposed.operation_id))?.state, patiently)
      .toBe('succeeded')
    expect(receiver.got).toMatchObject([
      {
        type: 'operation.unknown',
        data: {
          operation_id: proposed.operation_id,
          name: 'book_room',
          revision: 1,
          conversation_id: null,
          agent: { host: 'agent.example' },
          is_signed_in: true,
          reason: 'unknown',
        },
      },
    ])
    const [{ id: _, ...body }] = receiver.got as [WebhookEvent]
    expect(webhookBodySchemas['operation.unknown'].strict().parse(body)).toEqual(body)
    expect(receiver.bodies.join()).not.toMatch(/120|maya/)
  })

  test('come again, as the same, after the process died between sending and noting it', {
    timeout: 120_000,
  }, async () => {
    const receiver = await receiveWebhooks()
    const company = await startAnswering(await fresh(), {
      processes: 1,
      webhooks: [{ url: receiver.url, secret: webhookSecret, events: ['conversation.closed'] }],
    })
    const at = converse(company.agent, company.token)
    const { conversation_id: id } = await standingOf(await at.start(said('Which room?')))
    await company.killAt(0, 'delivered')
    await at.close(id).catch(() => null)
    await company.ended(0)
    expect(receiver.got).toHaveLength(1)
    await company.start(0)
    await company.moveClock(31_000)
    await expect.poll(() => receiver.got.length, patiently).toBe(2)
    expect(receiver.got[1]).toEqual(receiver.got[0])
    await company.moveClock(120_000)
    expect(receiver.got).toHaveLength(2)
  })
})

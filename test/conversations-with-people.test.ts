import type { CompanyAgent } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { asked, bookings, lists } from './setup/bookings.ts'
import { pageOf, said, standingOf } from './setup/converse.ts'
import { makeFrontDesk, omar, openingHours, patiently, rita } from './setup/front-desk.ts'
import { stores } from './setup/stores.ts'
import { outcome } from './setup/world.ts'

// A person is asked for, comes or doesn't, and everybody knows who speaks. Two instances of one Company: the agent turns to one,
// the staff to the other.

const minute = 60_000
const polite: CompanyAgent = async function* (turn) {
  yield { type: 'text', text: `You asked: ${turn.asked.at(-1)?.text}` }
}

describe.each(stores)('a person on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  test('is asked for, takes it, and answers: until then the agent handles it, and all know who speaks [7.9.handoff, 7.9.queued, 7.9.messages-while-queued, 7.7.queued-responder, 7.7.sender, 7.7.status-values]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: polite })
    await desk.staff.present(rita)
    const id = await desk.start(said('My room is cold.'))
    await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('idle')
    const asked = await desk.talk.handoff(id)
    expect(asked.status).toBe(202)
    expect(await standingOf(asked)).toEqual({ conversation_id: id, status: 'queued', responder: 'agent' })
    const more = await desk.talk.send(id, said('It is room 12.', { context: { user_available: false } }))
    expect([more.status, await standingOf(more)]).toMatchObject([202, { status: 'queued', responder: 'agent' }])
    // Asked again, it is as it is.
    expect(await standingOf(await desk.talk.handoff(id))).toMatchObject({ status: 'queued' })

    const [waiting] = await desk.staff.queue()
    expect(waiting).toMatchObject({ id, agent: { host: 'roaming.example' }, context: { user_available: false } })
    await desk.staff.take(id, rita)
    expect(await standingOf(await desk.talk.handoff(id))).toMatchObject({ status: 'idle', responder: 'human' })
    await desk.staff.reply(id, rita, { text: 'I send somebody up.', data: { room: 12 } })
    const page = await desk.read(id)
    expect(page).toMatchObject({ status: 'idle', responder: 'human' })
    expect(await desk.words(id)).toEqual([
      'user as agent: My room is cold.',
      'working/agent',
      'agent: You asked: My room is cold.',
      'idle/agent',
      'queued/agent',
      'user as agent: It is room 12.',
      'idle/human',
      'human: I send somebody up.',
    ])
    expect(page.events.at(-1)).toMatchObject({ message: { role: 'company', sender: 'human', data: { room: 12 } } })
    for (const secret of ['rita', 'Rita', 'Alvarez']) expect(JSON.stringify(page)).not.toContain(secret)
  })

  test('isn’t there: the reason and the opening hours are told at once, in the language of the User [7.9.no-one]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: polite, conversations: { people: { openingHours } } })
    // Monday, 20:00 in London.
    desk.clock.now += 8 * 60 * minute
    const talk = await desk.later()
    const start = await talk.start(said('Hallo?', { context: { locale: 'de-DE' } }))
    const { conversation_id: id } = await standingOf(start)
    await expect.poll(async () => (await desk.read(id, talk)).status, patiently).toBe('idle')
    const asked = await talk.handoff(id)
    expect(asked.status).toBe(202)
    expect(await standingOf(asked)).toMatchObject({ status: 'idle', responder: 'agent' })
    expect((await desk.words(id, talk)).at(-1)).toBe(
      'agent: Bei Hotel Miramar kann gerade niemand übernehmen. Menschen übernehmen zu diesen Zeiten: Montag 09:00–18:00; Freitag 09:00–18:00 (Europe/London). Ich kann hier weiterhelfen.',
    )
    expect(await desk.staff.queue()).toEqual([])
    // Whoever is there is there, at any hour.
    await desk.staff.present(omar)
    expect(await standingOf(await talk.handoff(id))).toMatchObject({ status: 'queued' })
  })

  test('doesn’t come in time: the agent has it again, and says so once [7.9.no-one, 7.7.state-event]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: polite, conversations: { people: { openingHours } } })
    const id = await desk.start(said('Hello?'))
    await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('idle')
    expect(await standingOf(await desk.talk.handoff(id))).toMatchObject({ status: 'queued' })
    desk.clock.now += 10 * minute
    await Promise.all(desk.worlds.map(({ company }) => company.work()))
    await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('idle')
    const words = await desk.words(id)
    expect(words.slice(-2)).toEqual([
      'agent: Nobody at Hotel Miramar was free to take over in time. People take over at these times: Monday 09:00–18:00; Friday 09:00–18:00 (Europe/London). I can go on helping here.',
      'idle/agent',
    ])
    expect(words.filter((word) => word.includes('in time'))).toHaveLength(1)
    await desk.talk.send(id, said('Then you.'))
    await expect.poll(async () => (await desk.words(id)).at(-2), patiently).toBe('agent: You asked: Then you.')
  })

  test('isn’t waited for any more once it is closed [7.9.close-cancels, 7.7.closed-responder, 7.12.close]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: polite })
    await desk.staff.present(rita)
    const id = await desk.start(said('Hello?'))
    await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('idle')
    await desk.talk.handoff(id)
    expect(await standingOf(await desk.talk.close(id))).toMatchObject({ status: 'closed', responder: 'agent' })
    expect(await desk.staff.queue()).toEqual([])
    await expect(desk.staff.take(id, rita)).rejects.toMatchObject({ code: 'conversation_closed' })
    expect(await outcome(await desk.talk.handoff(id))).toBe('409 conversation_closed')
    expect((await desk.words(id)).slice(-2)).toEqual(['queued/agent', 'closed/agent'])

    const other = await desk.start(said('Hello?'))
    await desk.staff.take(other, rita)
    await desk.staff.close(other, rita, 'Done by telephone.')
    expect(await desk.read(other)).toMatchObject({ status: 'closed', responder: 'human' })
  })

  test('is asked for by the Company Agent, with a reason that stays within [7.9.queued]', async () => {
    const agent: CompanyAgent = async function* () {
      yield { type: 'text', text: 'I ask a colleague.' }
      yield { type: 'handoff', reason: 'A refund over the limit.' }
    }
    const desk = await makeFrontDesk(await fresh(), { agent })
    await desk.staff.present(rita)
    const id = await desk.start(said('I want my money back.'))
    await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('queued')
    expect(await desk.staff.queue()).toMatchObject([{ id, waitingFor: 'A refund over the limit.' }])
    expect(await desk.words(id)).toEqual([
      'user as agent: I want my money back.',
      'working/agent',
      'agent: I ask a colleague.',
      'queued/agent',
    ])
    expect(JSON.stringify(await desk.read(id))).not.toContain('over the limit')
  })

  test('is whom a message goes to where the company has no agent', async () => {
    const desk = await makeFrontDesk(await fresh())
    const alone = await desk.start(said('Hello?'))
    await expect
      .poll(async () => (await desk.words(alone)).slice(-2), patiently)
      .toEqual([
        'agent: Nobody at Hotel Miramar can take over right now. You can write again at any time.',
        'idle/agent',
      ])
    await desk.staff.present(rita)
    await desk.talk.send(alone, said('And now?'))
    await expect.poll(async () => (await desk.read(alone)).status, patiently).toBe('queued')
    expect((await desk.staff.takeNext(rita))?.id).toBe(alone)
    await expect(desk.staff.handBack(alone, rita)).rejects.toMatchObject({ extra: { because: 'no_agent' } })
  })

  test('takes over while the agent writes: its late reply is for the staff alone, and nothing of it goes out as a person’s [K49, 7.8.who-writes, 7.7.state-event, 7.7.sender]', async () => {
    const { promise: writes, resolve: begun } = Promise.withResolvers<void>()
    const { promise: gate, resolve: finish } = Promise.withResolvers<void>()
    let turns = 0
    const agent: CompanyAgent = async function* (turn) {
      turns += 1
      if (turns > 1)
        return yield {
          type: 'text',
          text: `Now I: ${turn.asked.map(({ text }) => text).join(', ')} (${turn.notes.join()})`,
        }
      yield { type: 'message', text: 'One moment.' }
      begun()
      await gate
      yield { type: 'text', text: 'I refund everything.' }
    }
    const desk = await makeFrontDesk(await fresh(), { agent })
    const id = await desk.start(said('I want my money back.'))
    await writes
    await desk.staff.take(id, rita)
    expect(await desk.read(id)).toMatchObject({ status: 'idle', responder: 'human' })
    const during = await standingOf(await desk.talk.send(id, said('Hello?')))
    expect(during).toMatchObject({ status: 'idle', responder: 'human' })
    finish()
    const drafts = async () => (await desk.staff.read(id)).notes.filter(({ kind }) => kind === 'draft')
    await expect.poll(drafts, patiently).toMatchObject([{ text: 'I refund everything.', by: null }])
    await desk.staff.reply(id, rita, { text: 'I look into it.' })
    await desk.talk.send(id, said('Thanks. And breakfast?'))
    await desk.work()
    expect(turns).toBe(1)
    // For the staff alone: the agent gets what is noted for it, else whoever talks with it could have it told.
    await desk.staff.note(id, rita, 'Pays late, they say.')
    await desk.staff.handBack(id, rita, { note: 'Breakfast is on the house.' })
    await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('idle')
    await expect.poll(async () => (await desk.words(id)).at(-1), patiently).toBe('idle/agent')
    expect(await desk.words(id)).toEqual([
      'user as agent: I want my money back.',
      'working/agent',
      'agent: One moment.',
      'idle/human',
      'user as agent: Hello?',
      'human: I look into it.',
      'user as agent: Thanks. And breakfast?',
      'working/agent',
      'agent: Now I: Thanks. And breakfast? (Breakfast is on the house.)',
      'idle/agent',
    ])
    expect(JSON.stringify(await desk.read(id))).not.toContain('refund everything')
  })

  test('has the rights of the last message at that moment, and no others [7.9.person-scopes, 7.11.token-scopes, 7.11.message-no-authority]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: polite })
    const id = await desk.start(said('Tell me my bookings. I allow everything.'))
    await desk.staff.take(id, rita)
    const bookings = () => desk.staff.callTool(id, rita, 'my_bookings', {})
    expect(await bookings()).toMatchObject({ ok: false, error: 'sign_in_required', scope: 'poppy:read' })
    await expect(desk.staff.openAccount(id, rita)).rejects.toMatchObject({ code: 'sign_in_required' })
    // A token that has more is nothing, until a message comes with it.
    const { talk } = await desk.signIn('poppy:read')
    expect(await bookings()).toMatchObject({ ok: false, error: 'sign_in_required' })
    await talk.send(id, said('Now I am signed in.'))
    expect(await bookings()).toMatchObject({ ok: true, value: { account: 'acc-maya' } })
    expect((await desk.staff.read(id)).conversation.account).toBe('acc-maya')
    expect(await desk.staff.callTool(id, rita, 'add_note', {})).toMatchObject({
      ok: false,
      error: 'insufficient_scope',
    })
    await expect(desk.staff.callTool(id, omar, 'my_bookings', {})).rejects.toMatchObject({
      extra: { because: 'held_by_other' },
    })
    // It used the account: a token that isn't signed in is told so.
    expect(await outcome(await desk.talk.read(id))).toBe('403 sign_in_required')
    // Signed out elsewhere, at this moment.
    await desk.worlds[1]?.company.accounts.revokeAll('acc-maya')
    expect(await bookings()).toMatchObject({ ok: false, error: 'sign_in_required' })
    await expect(desk.staff.openAccount(id, rita)).rejects.toMatchObject({ code: 'sign_in_required' })
  })

  test('proposes an operation, which only the User’s side can confirm', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: polite, operations: bookings() })
    lists(desk.client)
    const { talk, signedIn } = await desk.signIn()
    const { conversation_id: id } = await standingOf(await talk.start(said('Two nights, please.')))
    await desk.staff.take(id, rita)
    const outcome = await desk.staff.callTool(id, rita, 'book_room', { nights: 2 })
    expect(outcome).toMatchObject({ ok: true, operation: { state: 'proposed', revision: 1 } })
    const last = (await desk.read(id, talk)).events.at(-1)
    expect(last).toMatchObject({
      message: {
        sender: 'human',
        text: '2 nights in a sea view room, 260 €.',
        operation: { state: 'proposed', summary: '2 nights in a sea view room, 260 €.' },
      },
    })
    expect(JSON.stringify(last)).not.toContain('rita')
    const operation = last?.type === 'message' ? last.message.operation : undefined
    // "Yes" is a message like any other.
    await talk.send(id, said('Yes, I confirm.', { sender: 'human' }))
    expect((await desk.worlds[0]?.company.operations.get(operation?.operation_id ?? ''))?.state).toBe('proposed')
    const client = asked(desk.client, signedIn.access_token)
    expect((await client.confirm(operation?.operation_id ?? '')).status).toBe(200)
  })

  test('asks for a sign-in, and for more of one, in an event and in words [7.11.authorization, 7.11.also-asks, 7.11.authorization-scope, 7.11.any-token]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: polite })
    const id = await desk.start(said('Tell me my bookings.'))
    await desk.staff.take(id, rita)
    await desk.staff.askForSignIn(id, rita, { scope: 'poppy:read' })
    const { talk } = await desk.signIn('poppy:read')
    expect((await talk.send(id, said('Here I am.'))).status).toBe(202)
    await desk.staff.askForSignIn(id, rita, { scope: 'poppy:write' })
    await expect(desk.staff.askForSignIn(id, rita, { scope: 'poppy:read' })).rejects.toMatchObject({
      extra: { because: 'already_allowed' },
    })
    const { events } = await desk.read(id, talk)
    const asked = events.filter(({ type }) => type === 'authorization')
    expect(asked).toMatchObject([
      { error: 'sign_in_required', scope: 'poppy:read' },
      { error: 'insufficient_scope', scope: 'poppy:write' },
    ])
    const after = events[events.findIndex(({ id: event }) => event === asked[1]?.id) + 1]
    expect(after).toMatchObject({
      message: {
        sender: 'human',
        text: 'To go on, I need the sign-in to your account to include more rights: Change your bookings.',
      },
    })
    const { conversation_id, status } = await pageOf(await talk.read(id))
    expect([conversation_id, status]).toEqual([id, 'idle'])
  })

  test('who is gone for two minutes loses it back to the queue, and the agent is told [7.7.state-event]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: polite })
    const id = await desk.start(said('Hello?'))
    await desk.staff.take(id, rita)
    desk.clock.now += 2 * minute
    await Promise.all(desk.worlds.map(({ company }) => company.work()))
    expect(await desk.read(id)).toMatchObject({ status: 'queued', responder: 'agent' })
    await expect(desk.staff.reply(id, rita, { text: 'Sorry!' })).rejects.toMatchObject({
      extra: { because: 'not_held' },
    })
    expect((await desk.words(id)).filter((word) => word === 'queued/agent')).toHaveLength(1)
  })

  test('a handoff and a message at the same moment, at two instances, both count', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: polite })
    await desk.staff.present(rita)
    for (let round = 0; round < 4; round++) {
      const id = await desk.start(said('Hello?'))
      const [handoff, message] = await Promise.all([desk.talk.handoff(id), desk.talk.send(id, said('Quickly!'))])
      expect([handoff.status, message.status]).toEqual([202, 202])
      await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('queued')
      const words = await desk.words(id)
      expect(words.filter((word) => word === 'queued/agent')).toHaveLength(1)
      expect(words).toContain('user as agent: Quickly!')
      expect(words.slice(words.indexOf('queued/agent')).some((word) => word.startsWith('agent:'))).toBe(false)
    }
  })

  test('nobody says anything for a day: it is closed by the Company, and stays readable [7.12.closed-readable]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: polite })
    const id = await desk.start(said('Hello?'))
    await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('idle')
    desk.clock.now += 24 * 60 * minute
    await Promise.all(desk.worlds.map(({ company }) => company.work()))
    const talk = await desk.later()
    expect(await desk.read(id, talk)).toMatchObject({ status: 'closed', responder: 'agent' })
    expect((await desk.words(id, talk)).at(-1)).toBe('closed/agent')
  })

  test('a request for one that is none of these is refused, and one of somebody else’s isn’t found', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: polite })
    const id = await desk.start(said('Hello?'))
    expect(await outcome(await desk.talk.handoff(id, []))).toBe('400 invalid_request')
    expect(await outcome(await desk.talk.handoff('cnv_none'))).toBe('404 conversation_not_found')
    expect(await outcome(await desk.talk.close(id, 'x'))).toBe('400 invalid_request')
  })
})

import type { CompanyAgent } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { bookings, lists } from './setup/bookings.ts'
import { said } from './setup/converse.ts'
import { makeFrontDesk, patiently } from './setup/front-desk.ts'
import { atDesk, pageOf, staffLogin } from './setup/inbox.ts'
import { type FreshStore, stores } from './setup/stores.ts'

// The staff inbox, as its pages and forms have it without any script, and as their script asks. Two instances of one Company:
// the agent turns to one, the staff to the other.

const polite: CompanyAgent = async function* (turn) {
  if (turn.asked.at(-1)?.text?.includes('person') === true)
    yield { type: 'handoff', reason: 'A refund over the limit.' }
  else yield { type: 'text', text: `You asked: ${turn.asked.at(-1)?.text}` }
}

async function openInbox(fresh: FreshStore, config: Parameters<typeof makeFrontDesk>[1] = {}) {
  const desk = await makeFrontDesk(fresh, { agent: polite, ...staffLogin, ...config })
  lists(desk.client)
  const [here, there] = desk.worlds as [(typeof desk.worlds)[0], (typeof desk.worlds)[0]]
  return { desk, rita: atDesk(there, 'rita'), omar: atDesk(here, 'omar'), there, here }
}

describe.each(stores)('the staff inbox on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  test('shows who waits and why; a conversation is taken, answered, noted, handed back and closed by forms alone [7.9.queued, 7.8.who-writes]', async () => {
    const { desk, rita } = await openInbox(await fresh())
    // Whoever has the inbox open is there.
    expect((await rita.page()).status).toBe(200)
    const id = await desk.start(said('I want a person.', { context: { locale: 'de-DE', user_available: true } }))
    await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('queued')

    const { view, text } = await rita.page()
    expect(text).toContain('I want a person.')
    expect(view?.counts.waiting).toEqual({ number: 1, isMore: false })
    expect(view?.list.conversations).toMatchObject([
      {
        id,
        status: 'queued',
        host: 'roaming.example',
        isSignedIn: false,
        personLocale: 'de-DE',
        isUserAvailable: true,
        waitingFor: 'A refund over the limit.',
        last: { by: 'agent', sender: 'agent', text: 'I want a person.' },
      },
    ])

    const sent = async (path: string, fields: Readonly<Record<string, string>> = {}) => {
      const { token = '', once = '' } = (await rita.page()).view ?? {}
      const answer = await rita.post(path, { token, once, list: 'mine', ...fields })
      expect([path, answer.status]).toEqual([path, 303])
      return answer.headers.get('location') ?? ''
    }
    const taken = await sent('/take-next')
    expect(taken).toBe(`https://miramar.example/poppy/inbox/conversations/${id}?list=mine&done=take`)
    const after = await pageOf(await rita.get(taken.slice('https://miramar.example/poppy/inbox'.length)))
    expect(after.view).toMatchObject({
      notice: { kind: 'done', text: 'It is yours now.' },
      list: { name: 'mine', conversations: [{ id }] },
      conversation: {
        id,
        heldBy: { id: 'rita', name: 'Rita Alvarez' },
        asked: { text: 'I want a person.', by: 'agent', isPerson: false },
        decision: 'A refund over the limit.',
        agent: { host: 'roaming.example', clientId: 'https://roaming.example/agent.json', isBlocked: false },
      },
    })
    await sent(`/conversations/${id}/reply`, {
      text: 'I look into it.\r\nOne moment.',
      'data.0.name': 'room',
      'data.0.value': '12',
      'data.1.name': 'code',
      'data.1.value': '007',
      'data.2.name': 'refund',
      'data.2.value': 'true',
    })
    await sent(`/conversations/${id}/note`, { text: 'Nice people.' })
    expect((await desk.read(id)).events.at(-1)).toMatchObject({
      message: {
        role: 'company',
        sender: 'human',
        text: 'I look into it.\nOne moment.',
        data: { room: 12, code: '007', refund: true },
      },
    })
    const open = await rita.open(id)
    expect(open.asked).toBeNull()
    expect(
      open.entries.map((entry) => (entry.kind === 'message' || entry.kind === 'note' ? entry.text : entry.kind)),
    ).toEqual(['I want a person.', 'state', 'state', 'state', 'I look into it.\nOne moment.', 'Nice people.'])
    await sent(`/conversations/${id}/hand-back`, { note: 'Give it to them.', text: 'You are in good hands.' })
    await expect.poll(async () => (await desk.read(id)).responder, patiently).toBe('agent')
    await sent(`/conversations/${id}/close`, { reason: 'Done by telephone.' })
    expect(await desk.read(id)).toMatchObject({ status: 'closed' })
    const closed = await rita.look('?list=closed')
    expect(closed.view.list.conversations.map((row) => row.id)).toEqual([id])
    for (const secret of ['rita', 'Alvarez', 'Nice people', 'Give it to them', 'telephone'])
      expect(JSON.stringify(await desk.read(id))).not.toContain(secret)
  })

  test('is the same for two people: who holds a conversation is on both pages, and the other one is told why not', async () => {
    const { desk, rita, omar } = await openInbox(await fresh())
    await rita.page()
    await omar.page()
    const id = await desk.start(said('Hello?'))
    const [one, other] = await Promise.all([rita.on(id, 'take'), omar.on(id, 'take')])
    expect([one.status, other.status].sort()).toEqual([200, 409])
    const [holder, late] = one.status === 200 ? [rita, omar] : [omar, rita]
    const refused = one.status === 200 ? other : one
    expect(refused.view).toMatchObject({
      notice: { kind: 'refused', text: 'A colleague has this conversation.' },
      conversation: { id, allowed: { reply: 'A colleague has this conversation.', take: expect.any(String) } },
    })
    const typed = await late.on(id, 'reply', { text: 'Let me help.' })
    expect([typed.status, typed.view.entered]).toEqual([409, { act: 'reply', text: 'Let me help.' }])
    expect((await late.look('?list=mine')).view.list.conversations).toEqual([])
    expect((await holder.open(id)).allowed).toMatchObject({ reply: null, release: null, give: null })
    const colleague = (await holder.look()).view.colleagues[0]?.id ?? ''
    expect((await holder.on(id, 'give', { to: 'nobody' })).view.notice?.text).toBe(
      'That colleague is not here right now.',
    )
    expect((await holder.on(id, 'give', { to: colleague })).status).toBe(200)
    expect((await late.open(id)).allowed.reply).toBeNull()
    expect((await late.on(id, 'release')).view.notice).toEqual({ kind: 'done', text: 'It is back in the queue.' })
    expect((await desk.read(id)).status).toBe('queued')
  })

  test('runs tools and proposes with the rights of the last message, and says what is missing of others [7.9.person-scopes, 7.11.token-scopes]', async () => {
    const { desk, rita } = await openInbox(await fresh(), { operations: bookings() })
    await rita.page()
    const id = await desk.start(said('Book two nights, please.'))
    // Else the reply that is being written comes too late, and stands there as a draft.
    await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('idle')
    // That somebody has to take it first is no right that is missing.
    const before = await rita.open(id)
    expect(before.allowed.callTools).toBe('Take this conversation first.')
    expect(before.tools.filter(({ missing }) => missing === 'Take this conversation first.')).toEqual([])
    await rita.on(id, 'take')
    const out = await rita.open(id)
    expect(out.rights).toMatchObject({ isSignedIn: false, granted: [] })
    const missing = (name: string, tools = out.tools) => tools.find((tool) => tool.name === name)
    expect(missing('my_bookings')).toMatchObject({
      missing: 'The customer has to sign in first.',
      asks: ['poppy:read'],
    })
    const refused = await rita.on(id, 'call-tool', { tool: 'my_bookings', 'arg.year': '2027' })
    expect(refused.status).toBe(403)
    expect(refused.view).toMatchObject({
      notice: { kind: 'refused' },
      conversation: { outcome: { tool: 'my_bookings', isOk: false } },
      entered: { act: 'call-tool', tool: 'my_bookings', 'arg.year': '2027' },
    })
    expect((await rita.on(id, 'open-account')).status).toBe(403)
    const asked = await rita.on(id, 'ask-for-sign-in', [
      ['scope', 'poppy:read'],
      ['scope', 'poppy:write'],
      ['text', 'I need to see your booking.'],
    ])
    expect(asked.view.conversation?.entries.at(-2)).toMatchObject({
      kind: 'authorization',
      needs: 'sign-in',
      scopes: [
        { scope: 'poppy:read', text: 'See your bookings' },
        { scope: 'poppy:write', text: 'Change your bookings' },
      ],
    })
    expect(asked.view.conversation?.decision).toBe('Asked for a sign-in: See your bookings, Change your bookings')

    const { talk } = await desk.signIn()
    await talk.send(id, said('Here I am.'))
    const signedIn = await rita.open(id)
    expect(signedIn.rights).toMatchObject({
      isSignedIn: true,
      granted: [{ text: 'See your bookings' }, { text: 'Change your bookings' }],
      missing: [{ scope: 'loyalty', text: 'See your points' }],
    })
    const form = signedIn.tools.find((tool) => tool.name === 'book_room')
    expect(form).toMatchObject({
      proposes: true,
      missing: null,
      fields: [
        { name: 'nights', kind: 'number', isNeeded: true },
        { name: 'note', kind: 'text', isNeeded: false },
      ],
    })
    const wrong = await rita.on(id, 'call-tool', { tool: 'book_room', 'arg.nights': 'two' })
    expect([wrong.status, wrong.view.notice?.text]).toEqual([400, 'Check Nights. Nothing was done.'])
    const proposed = await rita.on(id, 'call-tool', { tool: 'book_room', 'arg.nights': '2', 'arg.note': '' })
    const told = 'Proposed: Book a room. The customer’s side decides.'
    expect([proposed.status, proposed.view.notice?.text]).toEqual([200, told])
    expect(proposed.view.conversation?.outcome).toMatchObject({ title: 'Book a room', isProposed: true, value: null })
    expect(proposed.view.conversation?.decision).toContain('2 nights in a sea view room, 260 €.')
    const card = proposed.view.conversation?.entries.flatMap((entry) =>
      entry.kind === 'message' && entry.operation !== null ? [entry.operation] : [],
    )[0]
    expect(card).toMatchObject({ state: 'proposed', revision: 1, input: { nights: '2' }, conversationId: id })
    const revised = await rita.on(id, 'revise', { operation: card?.id ?? '', revision: '1', 'arg.nights': '3' })
    expect(revised.view.notice).toMatchObject({ kind: 'done' })
    const late = await rita.on(id, 'revise', { operation: card?.id ?? '', revision: '1', 'arg.nights': '4' })
    expect(late.status).toBe(409)
    const cards = late.view.conversation?.entries.flatMap((entry) =>
      entry.kind === 'message' && entry.operation !== null ? [entry.operation] : [],
    )
    expect(cards?.at(-1)).toMatchObject({ id: card?.id, revision: 2, input: { nights: '3' } })
  })

  test('does nothing twice: the same form, sent again and at the same moment, is done once', async () => {
    const { desk, rita } = await openInbox(await fresh())
    await rita.page()
    const id = await desk.start(said('Hello?'))
    await rita.on(id, 'take')
    const { token, once } = (await rita.look()).view
    const send = () =>
      rita.post(`/conversations/${id}/reply`, { token, once, text: 'Once.' }, { accept: 'application/json' })
    const answers = await Promise.all([send(), send(), send()])
    answers.push(await send())
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect((await desk.words(id)).filter((word) => word === 'human: Once.')).toHaveLength(1)
  })

  test('puts back what somebody has who leaves, and they are not here any more', async () => {
    const { desk, rita, omar } = await openInbox(await fresh())
    await rita.page()
    await omar.page()
    const id = await desk.start(said('Hello?'))
    await rita.on(id, 'take')
    const { token, once } = (await rita.look()).view
    const left = await rita.post('/leave', { token, once })
    expect(left.headers.get('location')).toBe('https://miramar.example/poppy/inbox?done=leave')
    await rita.get('?done=leave')
    expect((await desk.read(id)).status).toBe('queued')
    expect((await omar.look()).view.colleagues).toEqual([])
    expect((await omar.act('/take-next')).view.conversation?.id).toBe(id)
    expect((await omar.act('/take-next')).view).toMatchObject({
      notice: { text: 'Nobody is waiting.' },
      conversation: null,
    })
  })
})

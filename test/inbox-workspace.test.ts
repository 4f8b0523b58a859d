import { type CompanyAgent, ToolError, tool } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { lists } from './setup/bookings.ts'
import { converse, said, standingOf } from './setup/converse.ts'
import { makeFrontDesk, patiently } from './setup/front-desk.ts'
import { atDesk, staffLogin } from './setup/inbox.ts'
import { type FreshStore, stores } from './setup/stores.ts'
import { makeWorld } from './setup/world.ts'

// What staff see of one conversation: all of it, in its order, with what was before it and what stays within the company.

async function openDesk(fresh: FreshStore, config: Parameters<typeof makeFrontDesk>[1] = {}) {
  const desk = await makeFrontDesk(fresh, { ...staffLogin, ...config })
  const rita = atDesk(desk.worlds[1] as (typeof desk.worlds)[0], 'rita')
  await rita.page()
  return { desk, rita }
}

describe.each(stores)('the workspace on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  test('says that nothing was done only where that is so: what a tool did before it failed or ran out of time stays done', async () => {
    const tools = [
      tool({
        name: 'open_the_door',
        description: 'Opens it.',
        run: () => {
          throw new ToolError('It is open, and it can’t be locked again.')
        },
      }),
      tool({ name: 'heat', description: 'Heats.', timeout: 1, run: () => new Promise<never>(() => {}) }),
      tool({ name: 'bill', description: 'Writes it.', scope: 'poppy:read', run: () => ({}) }),
    ]
    const { desk, rita } = await openDesk(await fresh(), { tools })
    const id = await desk.start(said('Hello?'))
    await rita.on(id, 'take')
    const told = async (name: string) => (await rita.on(id, 'call-tool', { tool: name })).view
    for (const name of ['open_the_door', 'heat']) {
      const { notice, conversation } = await told(name)
      expect(notice?.text).toBe('The tool could not do this. Look whether something was done before you try again.')
      expect(conversation?.outcome).toMatchObject({ tool: name, isOk: false })
    }
    expect((await told('bill')).notice?.text).toBe('The tool refused this. Nothing was done.')
  })

  test('goes back page by page through a long history, with each note where it was written, and says what is asked on each', async () => {
    const { desk, rita } = await openDesk(await fresh())
    const id = await desk.start(said('Message 0.'))
    await rita.on(id, 'note', { text: 'At the beginning.' })
    for (let n = 1; n <= 150; n++) {
      desk.clock.now += 1000
      await desk.talk.send(id, said(`Message ${n}.`))
    }
    await rita.on(id, 'note', { text: 'At the end.' })
    const texts: string[] = []
    let path: string | null = `/poppy/inbox/conversations/${id}?list=open`
    let pages = 0
    while (path !== null) {
      const { view } = await rita.look(path.slice('/poppy/inbox'.length))
      const shown = view.conversation
      if (shown === null) throw new Error('no conversation')
      expect([shown.asked?.text, view.list.name]).toEqual(['Message 150.', 'open'])
      expect(shown.newest).toBe(pages === 0 ? null : `/poppy/inbox/conversations/${id}?list=open`)
      texts.unshift(...shown.entries.flatMap((entry) => ('text' in entry && entry.text !== null ? [entry.text] : [])))
      path = shown.before
      pages += 1
    }
    expect(pages).toBeGreaterThan(1)
    expect(texts[0]).toBe('Message 0.')
    expect(texts.filter((text) => text.startsWith('Message'))).toEqual(
      Array.from({ length: 151 }, (_, n) => `Message ${n}.`),
    )
    expect(texts.filter((text) => text.startsWith('At'))).toEqual(['At the beginning.', 'At the end.'])
    expect(texts.indexOf('At the beginning.')).toBeLessThan(texts.indexOf('Message 2.'))
    for (const before of ['0', '-1', '1e3', '99999999999999999999', 'x', '1&before=2'])
      expect([before, (await rita.look(`/conversations/${id}?before=${before}`)).status]).toEqual([before, 200])
  })

  test('has what was said before a Direct Conversation behind it, and tells for whom one writes [7.10.user-requested]', async () => {
    const { desk, rita } = await openDesk(await fresh())
    const id = await desk.start(said('My owner has a question.'))
    await rita.on(id, 'take')
    await rita.on(id, 'note', { text: 'Ask them.' })
    expect((await rita.open(id)).writesFor).toBe('agent')
    desk.clock.now += 1000
    const asked = await rita.on(id, 'ask-for-user', { reason: 'Please tell us yourself.' })
    expect(asked.view.conversation?.entries.at(-1)).toMatchObject({
      kind: 'user-requested',
      reason: 'Please tell us yourself.',
    })
    const direct = (await standingOf(await desk.talk.start(said('It is me.', { sender: 'human' }), { parent: id })))
      .conversation_id
    // Whoever opens it has read what was said before, and that is in the record of both.
    const readBy = async (one: string) =>
      (await desk.staff.audit({ conversation: one })).entries
        .filter(({ act }) => act === 'read')
        .map(({ staff }) => staff.id)
    const omar = atDesk(desk.worlds[0] as (typeof desk.worlds)[0], 'omar')
    await omar.page(`/conversations/${direct}`)
    await omar.open(direct)
    expect([await readBy(direct), await readBy(id)]).toEqual([['omar'], ['omar', 'rita']])
    const open = await rita.open(direct)
    expect(open).toMatchObject({
      isDirect: true,
      writesFor: 'human',
      asked: { text: 'It is me.', by: 'user', isPerson: true },
      allowed: { askForUser: 'The customer is here already.', reply: null },
      parent: { id, entries: expect.arrayContaining([expect.objectContaining({ text: 'Ask them.' })]) },
    })
    expect(await rita.open(id)).toMatchObject({
      direct,
      allowed: { askForUser: 'The customer is in a conversation of their own beside this one.' },
    })
    expect((await rita.on(id, 'ask-for-user', { reason: 'Again.' })).status).toBe(409)
  })

  test('keeps what the Company Agent said too late as a draft to begin a reply with, and replies that are written often', async () => {
    const { promise: writes, resolve: begun } = Promise.withResolvers<void>()
    const { promise: gate, resolve: finish } = Promise.withResolvers<void>()
    const agent: CompanyAgent = async function* () {
      begun()
      await gate
      yield { type: 'text', text: 'I refund everything.' }
    }
    const savedReplies = [
      { title: 'Hours', text: 'We are here from nine to six.' },
      { title: 'Thanks', text: 'Thank you.' },
    ]
    const { desk, rita } = await openDesk(await fresh(), { agent, savedReplies })
    const id = await desk.start(said('Money back!'))
    await writes
    await rita.on(id, 'take')
    finish()
    const drafts = async () =>
      (await rita.open(id)).entries.filter((entry) => entry.kind === 'note' && entry.note === 'draft')
    await expect.poll(drafts, patiently).toHaveLength(1)
    const [draft] = await drafts()
    expect(draft).toMatchObject({ text: 'I refund everything.', by: null })
    const begin = async (query: string) => (await rita.look(`/conversations/${id}?${query}`)).view.entered
    expect(await begin(`draft=${draft?.id}`)).toEqual({ act: 'reply', text: 'I refund everything.' })
    expect(await begin('saved=1')).toEqual({ act: 'reply', text: 'Thank you.' })
    for (const query of ['saved=2', 'saved=-1', 'saved=length', 'draft=note-99', 'draft=', 'saved=1e0'])
      expect([query, await begin(query)]).toEqual([query, {}])
  })

  test.each(['with words', 'without a word'])(
    'keeps the data of what the Company Agent said too late, %s: shown as a table, and sent with a reply where that is wanted',
    async (how) => {
      const { promise: writes, resolve: begun } = Promise.withResolvers<void>()
      const { promise: gate, resolve: finish } = Promise.withResolvers<void>()
      const rooms = [
        { room: 'Faro', price: 120 },
        { room: 'Sol', price: 140 },
      ]
      const agent: CompanyAgent = async function* (turn) {
        turn.signal.addEventListener('abort', () => finish())
        begun()
        await gate
        if (how === 'with words') yield { type: 'message', text: 'These are free.', data: { rooms } }
        else yield { type: 'message', data: { rooms } }
      }
      const { desk, rita } = await openDesk(await fresh(), { agent })
      const omar = atDesk(desk.worlds[0] as (typeof desk.worlds)[0], 'omar')
      const id = await desk.start(said('A room?'))
      await writes
      await rita.on(id, 'take')
      const drafts = async () =>
        (await rita.open(id)).entries.flatMap((entry) =>
          entry.kind === 'note' && entry.note === 'draft' ? [entry] : [],
        )
      await expect.poll(drafts, patiently).toHaveLength(1)
      const [draft] = await drafts()
      expect(draft).toMatchObject({
        text: how === 'with words' ? 'These are free.' : '',
        data: {
          kind: 'fields',
          fields: [{ name: 'Rooms', value: { kind: 'table', columns: ['Room', 'Price'] } }],
        },
      })
      const { view } = await rita.look(`/conversations/${id}?draft=${draft?.id}`)
      const page = await rita.page(`/conversations/${id}?draft=${draft?.id}`)
      expect(view.entered).toMatchObject({ act: 'reply', draft: draft?.id })
      expect(page.text).toMatch(/<input type="checkbox" name="draft"[^>]*checked/)
      // Only who has the conversation sends it, and nobody sends a draft that isn't there.
      expect((await omar.on(id, 'reply', { text: 'Mine.', draft: draft?.id ?? '' })).status).toBe(409)
      for (const wrong of ['note-99', 'note-', 'x', 'note-1.5'])
        expect((await rita.on(id, 'reply', { text: 'Yes.', draft: wrong })).status).toBe(400)
      const sent = { text: 'Either is free.', draft: draft?.id ?? '', 'data.0.name': 'nights', 'data.0.value': '2' }
      expect((await rita.on(id, 'reply', sent)).status).toBe(200)
      expect((await desk.read(id)).events.at(-1)).toMatchObject({
        message: { sender: 'human', text: 'Either is free.', data: { rooms, nights: 2 } },
      })
      // Sent without it, nothing of it goes out.
      expect((await rita.on(id, 'reply', { text: 'Good.' })).status).toBe(200)
      expect((await desk.read(id)).events.at(-1)).not.toHaveProperty('message.data')
      expect((await rita.on(id, 'reply', { text: '', draft: draft?.id ?? '' })).status).toBe(200)
      expect((await desk.read(id)).events.at(-1)).toMatchObject({ message: { data: { rooms } } })
    },
  )

  test('finds conversations by agent, account and words, and searching is in the record, without what for', async () => {
    const { desk, rita } = await openDesk(await fresh())
    const { talk } = await desk.signIn()
    const one = await standingOf(await talk.start(said('About the heating in room 12.')))
    const other = await desk.start(said('About breakfast.'))
    const find = async (text: string) => {
      const { view } = await rita.look(`?q=${encodeURIComponent(text)}`)
      expect(view.list).toMatchObject({ name: 'search', query: text })
      return view.list.conversations.map(({ id }) => id).sort()
    }
    const all = [one.conversation_id, other].sort()
    expect(await find('heating')).toEqual([one.conversation_id])
    expect(await find('roaming.example')).toEqual(all)
    expect(await find(other)).toEqual([other])
    // By account, once a conversation belongs to it: on the page, and in the API.
    expect(await find('acc-maya')).toEqual([])
    await rita.on(one.conversation_id, 'take')
    await rita.on(one.conversation_id, 'open-account')
    expect(await find('acc-maya')).toEqual([one.conversation_id])
    const answer = await rita.get('/api/search?text=acc-maya', { accept: 'application/json' })
    expect(await answer.json()).toMatchObject({ conversations: [{ id: one.conversation_id }], operations: [] })
    const noted = await rita.on(other, 'note', { text: 'Found.', q: 'breakfast' })
    expect(noted.view.list).toMatchObject({ name: 'search', query: 'breakfast', conversations: [{ id: other }] })
    for (const odd of ['nothing of the kind', '%', "'; drop table x", '\u0000', '*', '"'])
      expect([odd, (await rita.look(`?q=${encodeURIComponent(odd)}`)).status]).toEqual([odd, 200])
    for (const more of ['since=x', 'since=text.1.a', 'since=a&since=b'])
      expect((await rita.look(`?q=heating&${more}`)).status).toBe(200)
    await rita.look('?q=heating')
    const record = await desk.staff.audit({ staff: 'rita' })
    const searches = record.entries.filter(({ act }) => act === 'searched')
    expect(searches.length).toBeGreaterThan(2)
    expect(JSON.stringify(record)).not.toContain('heating')
    const reads = record.entries.filter(({ act }) => act === 'read')
    expect(reads).toEqual([])
    await rita.open(other)
    await rita.open(other)
    const after = await desk.staff.audit({ conversation: other })
    expect(after.entries.map(({ act }) => act)).toEqual(['read', 'noted'])
  })
})

describe('the workspace', () => {
  it('is in the language of whoever reads it, with what the agent says of itself apart from what was checked', async () => {
    const world = await makeWorld({
      conversations: {},
      ...staffLogin,
      scopes: { 'poppy:read': { en: 'See your bookings', de: 'Ihre Buchungen sehen' } },
      signIn: { direct: ['poppy:read'] },
      tools: [
        tool({ name: 'bill', description: 'Writes it.', scope: 'poppy:read', run: () => ({}) }),
        tool({
          name: 'ring',
          description: 'Rings.',
          run: () => {
            throw new ToolError('Die Klingel ist kaputt.')
          },
        }),
      ],
    })
    lists(world.agent)
    const greta = atDesk(world, 'greta')
    await greta.page()
    const context = { locale: 'en-GB', time_zone: 'Europe/London', user_available: true, car: 'none' }
    const { conversation_id: id } = await standingOf(
      await converse(world.agent, (await world.start()).access_token).start({ ...said('Hello?'), context }),
    )
    const { view } = await greta.look(`/conversations/${id}`)
    expect(view).toMatchObject({ hasAgent: false, language: 'de', locale: 'de-DE', isRightToLeft: false })
    expect(view.conversation).toMatchObject({
      host: 'agent.example',
      claimedName: 'Example Agent',
      agent: {
        clientId: 'https://agent.example/agent.json',
        claims: [
          { name: 'Name', value: 'Example Agent' },
          { name: 'Erweiterungen', value: 'operations 1' },
        ],
      },
      context: {
        fields: [
          { name: 'Sprache', value: { text: 'en-GB' } },
          { name: 'Zeitzone', value: { text: 'Europe/London' } },
          { name: 'Kunde erreichbar', value: { text: 'Ja' } },
          { name: 'Car', value: { text: 'none' } },
        ],
      },
      rights: { missing: [{ scope: 'poppy:read', text: 'Ihre Buchungen sehen' }] },
    })
    await greta.on(id, 'take')
    const refused = await greta.on(id, 'call-tool', { tool: 'bill' })
    expect(refused.view?.conversation?.outcome?.text).toBe(
      'Der Kunde muss sich anmelden, mit dem Konto, mit dem diese Unterhaltung begann.',
    )
    const broken = await greta.on(id, 'call-tool', { tool: 'ring' })
    expect(broken.view?.conversation?.outcome?.text).toBe('Die Klingel ist kaputt.')
    const ran = (await greta.open(id)).audit.find(({ act }) => act === 'ran')
    expect(ran?.detail).toBe('ring · das ging nicht')
    const { text, words } = await greta.page()
    expect(text).toContain('<html lang="de">')
    expect(words?.reply).not.toBe('Reply')
    const rita = atDesk(world, 'rita', { headers: { 'accept-language': 'de-AT' } })
    expect((await rita.look()).view).toMatchObject({ language: 'de', locale: 'de-AT' })
  })

  it('does nothing more for an agent that the company keeps out, and says so', async () => {
    const world = await makeWorld({ conversations: {}, ...staffLogin, customer: () => ({ title: 'Maya' }) })
    const rita = atDesk(world, 'rita')
    await rita.page()
    const { session_id } = await world.start()
    const { access_token } = await world.signIn(world.agent, session_id)
    const { conversation_id: id } = await standingOf(await converse(world.agent, access_token).start(said('Hello?')))
    await rita.on(id, 'take')
    await rita.on(id, 'open-account')
    expect((await rita.open(id)).account).toMatchObject({ title: 'Maya' })
    await world.company.agents.block(world.agent.clientId)
    const open = await rita.open(id)
    const why = 'You blocked this agent, and it hears nothing more.'
    expect(open).toMatchObject({
      agent: { isBlocked: true },
      account: { state: 'dark' },
      isSignedIn: false,
      tools: [],
      allowed: { callTools: why, openAccount: why, askForSignIn: why },
    })
    expect((await rita.on(id, 'call-tool', { tool: 'my_bookings' })).status).toBeGreaterThan(399)
    expect((await rita.on(id, 'open-account')).status).toBeGreaterThan(399)
  })
})

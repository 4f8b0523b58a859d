import { describe, expect, it } from 'vitest'
import { openBookings, signedIn } from './setup/bookings.ts'
import { converse, said, standingOf } from './setup/converse.ts'
import { makeFrontDesk } from './setup/front-desk.ts'
import { atDesk, staffLogin } from './setup/inbox.ts'
import { apiWorld, caller } from './setup/inbox-api.ts'
import { type FreshStore, stores } from './setup/stores.ts'

// Whoever searches sees what was found, who said it and when, and comes to it by a link: without script as well.

async function openDesk(fresh: FreshStore) {
  const desk = await makeFrontDesk(fresh, staffLogin)
  const rita = atDesk(desk.worlds[1] as (typeof desk.worlds)[0], 'rita')
  await rita.page()
  return { desk, rita }
}

/** The row of a conversation, as it is drawn. */
function rowOf(text: string, id: string): string {
  const [, row = ''] = new RegExp(`(<a class="row"[^>]*/conversations/${id}\\b.*?</a>)`, 's').exec(text) ?? []
  return row
}
const linkOf = (row: string) => (/href="([^"]*)"/.exec(row)?.[1] ?? '').replaceAll('&amp;', '&')
/** An entry of the history, as it is drawn. */
const entryOf = (text: string, entry: string) =>
  new RegExp(`<li id="entry-${entry}".*?</li>`, 's').exec(text)?.[0] ?? ''

describe.each(stores)('a search in the inbox on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  test('shows the message in which the words were found, and leads to it, however far back it stands', async () => {
    const { desk, rita } = await openDesk(await fresh())
    const id = await desk.start(said('Is the <b>Sauna</b> &amp; pool\nopen at night?'))
    const at = desk.clock.now
    for (let n = 1; n <= 160; n++) {
      desk.clock.now += 1000
      await desk.talk.send(id, said(`Message ${n}.`))
    }
    const { text, view } = await rita.page('?q=sauna%3C/B%3E')
    const found = view?.list.found[id]
    if (found?.kind !== 'words') throw new Error('not by words')
    expect(found).toMatchObject({ at, who: { kind: 'message', by: 'agent', sender: 'agent' } })
    const row = rowOf(text, id)
    expect(row).toContain('Is the &lt;b><mark>Sauna&lt;/b></mark> &amp;amp; pool open at night?')
    expect(row).toContain('Customer’s agent (AI)')
    expect(row).toContain(`<time datetime="${new Date(at).toISOString()}"`)
    expect(row).not.toContain('Message 160.')

    const link = linkOf(row)
    expect(link).toBe(`/poppy/inbox/conversations/${id}?q=sauna%3C%2FB%3E&at=${found.entry}#entry-${found.entry}`)
    const path = link.slice('/poppy/inbox'.length).split('#')[0] ?? ''
    const page = await rita.page(path)
    const entry = entryOf(page.text, found.entry)
    expect(entry).toContain('is-found')
    expect(entry).toContain('Found here')
    expect(entry).toContain('Is the &lt;b><mark>Sauna&lt;/b></mark> &amp;amp; pool\nopen at night?')
    expect(page.text.match(/data-found/g)).toHaveLength(1)
    // Of the newest there is a way back, and the search stays beside it.
    const opened = page.view?.conversation
    expect(opened?.newest).toBe(`/poppy/inbox/conversations/${id}?q=sauna%3C%2FB%3E`)
    expect(opened?.asked?.text).toBe('Message 160.')
    expect(page.view?.list).toMatchObject({ name: 'search', conversations: [{ id }] })

    // In the middle, with as much above it as below.
    const middle = (await rita.look(`?q=${encodeURIComponent('message 60.')}`)).view.list.found[id]
    if (middle?.kind !== 'words') throw new Error('not by words')
    const around = (await rita.look(`/conversations/${id}?at=${middle.entry}`)).view.conversation
    const texts = around?.entries.map((one) => (one.kind === 'message' ? one.text : ''))
    expect(texts?.indexOf('Message 60.')).toBeGreaterThan(20)
    expect(texts?.slice(texts.indexOf('Message 60.') + 1).length).toBeGreaterThan(20)
    expect(around?.found).toEqual({ entry: middle.entry, pieces: [{ text: 'Message 60.', isFound: false }] })
    // What is none of its entries leads to the newest.
    for (const other of ['evt_x', 'note-7', `${found.entry}zzzzz`, 'evt_AAAAAAAAAAAA1', 'x', ''])
      expect((await rita.look(`/conversations/${id}?at=${other}`)).view.conversation).toMatchObject({
        found: null,
        newest: null,
      })
  })

  test('finds a note where it was written, and marks it there', async () => {
    const { desk, rita } = await openDesk(await fresh())
    const id = await desk.start(said('Hello?'))
    desk.clock.now += 1000
    await rita.on(id, 'note', { text: 'Wants a late CHECKOUT.' })
    for (let n = 1; n <= 110; n++) {
      desk.clock.now += 1000
      await desk.talk.send(id, said(`Message ${n}.`))
    }
    const { text } = await rita.page('?q=late+checkout')
    const row = rowOf(text, id)
    expect(row).toContain('Wants a <mark>late CHECKOUT</mark>.')
    expect(row).toMatch(/Note<span> · Rita Alvarez<\/span>/)
    expect(linkOf(row)).toMatch(/at=note-1#entry-note-1$/)
    const page = await rita.page(linkOf(row).slice('/poppy/inbox'.length).split('#')[0])
    expect(entryOf(page.text, 'note-1')).toContain('Wants a <mark>late CHECKOUT</mark>.')
    expect(page.view?.conversation?.newest).not.toBeNull()
    // One of today stands on the newest page.
    desk.clock.now += 1000
    await rita.on(id, 'note', { text: 'Gone.' })
    const newest = await rita.look(`/conversations/${id}?q=gone&at=note-2`)
    expect(newest.view.conversation).toMatchObject({ newest: null, found: { entry: 'note-2' } })
  })

  test('says by which operation, account or agent one was found', async () => {
    const world = await openBookings({ conversations: {}, ...staffLogin }, (await fresh()).store())
    const { access_token } = await signedIn(world)
    const id = (await standingOf(await converse(world.agent, access_token).start(said('Hello?')))).conversation_id
    const rita = atDesk(world, 'rita')
    await rita.on(id, 'take')
    await rita.on(id, 'call-tool', { tool: 'book_room', 'arg.nights': '2' })
    const { account } = (await world.company.conversations.read(id)).conversation
    const { operations } = await world.company.operations.list()
    const operation = operations[0]?.id ?? ''
    const pageFor = async (text: string) => (await rita.page(`?q=${encodeURIComponent(text)}`)).text
    const rowFor = async (text: string) => rowOf(await pageFor(text), id)
    expect(await rowFor(operation)).toContain(`By the operation ${operation}`)
    expect(await rowFor(id)).toContain('By its own number')
    expect(await rowFor('agent.example')).toContain('By the agent agent.example')
    expect(account).not.toBeNull()
    expect(await rowFor(account ?? '')).toContain('By the account')
    // Nothing leads to a message there, and no list but a search says by what.
    expect(linkOf(await rowFor(account ?? ''))).not.toContain('at=')
    expect((await rita.look('?list=mine')).view.list.found).toEqual({})
  })
})

describe('a search by the JSON API', () => {
  it('gives the words with what stands around them, and where they stand in it', async () => {
    const world = await apiWorld(undefined, { conversations: {} })
    const { access_token } = await world.start()
    const talk = converse(world.agent, access_token)
    const id = (await standingOf(await talk.start(said('Is the\n\u202eSAUNA <i>open</i>, the sauna of the hotel?'))))
      .conversation_id
    await talk.send(id, said('Never mind.'))
    const rita = caller(world.base, 'rita')
    const found = async (text: string) => {
      const { status, body } = await rita('GET', `/search?text=${encodeURIComponent(text)}`)
      expect(status).toBe(200)
      return body.conversations[0].found
    }
    const { excerpt, ...by } = await found('sauna')
    expect(by).toEqual({
      ...{ by: 'message', operation_id: null, event_id: expect.stringMatching(/^evt_/), note: null, said_by: 'agent' },
      at: expect.stringMatching(/Z$/),
    })
    expect(excerpt.text).toBe('Is the \ufffdSAUNA <i>open</i>, the sauna of the hotel?')
    expect(excerpt.marks.map(({ from, to }: { from: number; to: number }) => excerpt.text.slice(from, to))).toEqual([
      'SAUNA',
      'sauna',
    ])
    await rita('POST', `/conversations/${id}/note`, { text: 'A sauna!' })
    expect(await found('a sauna')).toMatchObject({ by: 'note', note: 1, said_by: 'staff', event_id: null })
    expect(await found(id)).toMatchObject({ by: 'conversation', excerpt: null, at: null })
    expect(await found('agent.example')).toMatchObject({ by: 'agent', excerpt: null })
  })
})

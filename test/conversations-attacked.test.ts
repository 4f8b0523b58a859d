import { setTimeout as pause } from 'node:timers/promises'
import { type CompanyAgent, operation, succeeded, type ToolOutcome, tool } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { lists } from './setup/bookings.ts'
import { converse, type Page, said, standingOf } from './setup/converse.ts'
import { makeFrontDesk, patiently, rita } from './setup/front-desk.ts'
import { stores } from './setup/stores.ts'
import { outcome } from './setup/world.ts'

// What an agent that means no good, or one that is in a hurry, tries with conversations (7).

const own = (text: string) => said(text, { sender: 'human' })
const myBooking = tool({
  name: 'my_booking',
  description: 'The booking of the signed-in guest.',
  scope: 'poppy:read',
  run: () => ({ booking: 'b-4711' }),
})
const bookRoom = operation({
  name: 'book_room',
  description: 'Books a room.',
  scope: 'poppy:write',
  expiresIn: 30,
  propose: () => ({ summary: 'A double room for 120 €.', terms: { price: '120.00' } }),
  perform: () => succeeded(),
})

describe.each(stores)('a conversation that is attacked, on $name,', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  test('tells nothing of the account that was used in its Direct Conversation, while it isn’t the account’s itself', async () => {
    const agent: CompanyAgent = async function* ({ history, asked, call }) {
      if (asked.at(-1)?.text === 'Where is my booking?')
        yield { type: 'text', text: `It is ${JSON.stringify(await call('my_booking', {}))}.` }
      else yield { type: 'text', text: `I know: ${history.map(({ text }) => text).join(' | ')}` }
    }
    const desk = await makeFrontDesk(await fresh(), { agent, tools: [myBooking] })
    const { talk } = await desk.signIn('poppy:read')
    const parent = await desk.start(said('Hello?'))
    await desk.staff.take(parent, rita)
    await desk.talk.send(parent, said('What do you know?'))
    const { conversation_id: direct } = await standingOf(await talk.start(own('Where is my booking?'), { parent }))
    await desk.staff.handBack(direct, rita)
    await expect.poll(async () => (await desk.words(direct, talk)).join(), patiently).toContain('b-4711')
    await desk.staff.handBack(parent, rita)
    await expect.poll(async () => (await desk.words(parent)).at(-1), patiently).toBe('idle/agent')
    // Whoever is signed out reads the parent.
    const told = (await desk.words(parent)).join()
    expect(told).toContain('I know: ')
    expect(told).not.toContain('b-4711')
  })

  test('hears nothing of what another account of the same User proposed in its Direct Conversation [7.2.owner-only]', async () => {
    const agent: CompanyAgent = async function* ({ asked }) {
      if (asked.at(-1)?.text === 'Book.') yield { type: 'call', name: 'book_room', input: {} }
    }
    const desk = await makeFrontDesk(await fresh(), { agent, operations: [bookRoom] })
    lists(desk.client)
    const [here] = desk.worlds
    if (here === undefined) throw new Error('there is no instance')
    const { talk: maya } = await desk.signIn()
    here.site.account = { id: 'acc-work', name: 'maya@work.example' }
    const other = await here.start(desk.client)
    const work = converse(desk.client, (await here.signIn(desk.client, other.session_id)).access_token)
    const parent = await desk.start(said('Hello?'))
    await work.send(parent, said('It is me, from work.'))
    await desk.staff.take(parent, rita)
    const { conversation_id: direct } = await standingOf(await maya.start(own('Book.'), { parent }))
    await desk.staff.handBack(direct, rita)
    await expect.poll(async () => (await desk.words(direct, maya)).join(), patiently).toContain('A double room')
    await desk.staff.openAccount(parent, rita)
    await maya.close(direct)
    // It expires, which is told.
    desk.clock.now += 60_000
    for (let round = 0; round < 3; round++) for (const { company } of desk.worlds) await company.work()
    expect((await desk.staff.read(direct)).conversation).toMatchObject({ account: 'acc-maya', status: 'closed' })
    const read = await desk.staff.read(parent)
    expect(read.conversation.account).toBe('acc-work')
    expect(JSON.stringify(read.events)).not.toContain('A double room')
  })

  test('that is opened twice at once by the same message, beside another, is opened once, and both are told of it [7.3.first-message-retry]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: async function* () {} })
    for (let round = 0; round < 4; round++) {
      const parent = await desk.start(said('Hello?'))
      const first = own('It is me.')
      const both = await Promise.all([0, 1, 2].map(() => desk.talk.start(first, { parent })))
      expect(both.map(({ status }) => status)).toEqual([201, 201, 201])
      const opened = await Promise.all(both.map(standingOf))
      expect(new Set(opened.map(({ conversation_id: id }) => id)).size).toBe(1)
    }
  })

  test('is one of no more than a User may have open, also where many are begun at once', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: async function* () {}, conversations: { open: 5 } })
    const all = await Promise.all(Array.from({ length: 20 }, (_, at) => desk.talk.start(said(`Room ${at}, please.`))))
    expect(all.filter(({ status }) => status === 201)).toHaveLength(5)
    expect(all.filter(({ status }) => status === 429)).toHaveLength(15)
  })

  test('tells details that only look alike from each other [7.3.message-id-conflict]', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: async function* () {} })
    const message = said('Two nights.', { data: { room: { beds: 2 } } })
    const id = await desk.start(message)
    const other = { ...message, data: { room: [['beds', 2]] } }
    expect(await outcome(await desk.talk.start(other))).toBe('409 message_id_conflict')
    expect(await desk.start({ ...message, data: { room: { beds: 2.0 } } })).toBe(id)
  })

  test('has its largest message read by the agent', async () => {
    const asked: number[] = []
    const agent: CompanyAgent = async function* (turn) {
      asked.push(...turn.asked.map(({ text = '' }) => text.length))
      yield { type: 'text', text: 'I read it.' }
    }
    const desk = await makeFrontDesk(await fresh(), { agent })
    // As many bytes as a body may have, of characters that JSON has to escape.
    const message = said('\0'.repeat(32_000), { data: { x: '\0'.repeat(10_910) } })
    const left = 262_144 - Buffer.byteLength(JSON.stringify({ message: { ...message, context: { note: '' } } }))
    const id = await desk.start({ ...message, context: { note: 'x'.repeat(left) } })
    await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('idle')
    expect(asked).toEqual([32_000])
  })

  test('is read in pages that a reader can take, however large its messages are', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: async function* () {} })
    const id = await desk.start(said('Hello?'))
    const data = { x: '\0'.repeat(10_900) }
    for (let count = 0; count < 12; count++) await desk.talk.send(id, said('\0'.repeat(32_000), { data }))
    const numbers: string[] = []
    for (let query = '', pages = 0; ; pages++) {
      const text = await (await desk.talk.read(id, query)).text()
      expect(text.length).toBeLessThan(1_500_000)
      const page = JSON.parse(text) as Page
      numbers.push(...page.events.map((event) => event.id))
      query = `?cursor=${page.cursor}`
      if (page.has_more) continue
      expect(pages).toBeGreaterThan(1)
      break
    }
    expect(new Set(numbers).size).toBe(numbers.length)
    expect(numbers.length).toBeGreaterThan(12)
  })

  test('has nothing done in it by an agent whose turn is over', async () => {
    const late: ToolOutcome[] = []
    let runs = 0
    const { promise: over, resolve: isOver } = Promise.withResolvers<void>()
    const { promise: tried, resolve: hasTried } = Promise.withResolvers<void>()
    const agent: CompanyAgent = async function* ({ call, more }) {
      void over.then(async () => {
        late.push(await call('open_door', {}))
        expect(await more()).toEqual([])
        hasTried()
      })
      yield { type: 'text', text: 'Good night.' }
    }
    const openDoor = tool({ name: 'open_door', description: 'Opens the door.', run: () => ({ runs: ++runs }) })
    const desk = await makeFrontDesk(await fresh(), { agent, tools: [openDoor] })
    const id = await desk.start(said('Good night.'))
    await expect.poll(async () => (await desk.words(id)).at(-1), patiently).toBe('idle/agent')
    await pause(50)
    isOver()
    await tried
    expect(late).toEqual([{ ok: false, error: 'temporarily_unavailable', description: expect.any(String) }])
    expect(runs).toBe(0)
  })

  test('doesn’t become as long as an agent without measure would have it', async () => {
    const agent: CompanyAgent = async function* () {
      // Six times what a turn may say
      yield { type: 'message', text: 'word '.repeat(2_000_000) }
    }
    const desk = await makeFrontDesk(await fresh(), { agent })
    const id = await desk.start(said('Hello?'))
    await expect.poll(async () => (await desk.read(id)).status, patiently).toBe('idle')
    expect((await desk.read(id)).events.length).toBeLessThan(20)
  })

  test('whose name, or whose member of staff, is anything at all is refused in words', async () => {
    const desk = await makeFrontDesk(await fresh(), { agent: async function* () {} })
    const id = await desk.start(said('Hello?'))
    for (const name of ['\0', 'cnv_\0', '\ud800', 'a'.repeat(10_000), "' or 1=1 --", '__proto__']) {
      await expect(desk.staff.take(name, rita)).rejects.toMatchObject({ code: 'conversation_not_found' })
      await expect(desk.staff.read(name)).rejects.toMatchObject({ code: 'conversation_not_found' })
    }
    for (const who of ['\0', 'ri\0ta', '\ud800'])
      for (const staff of [
        { id: who, name: 'Rita' },
        { id: 'rita', name: who },
      ])
        await expect(desk.staff.take(id, staff)).rejects.toThrow(TypeError)
    expect(await desk.staff.heldBy('\0')).toEqual([])
    for (const filter of ['heldBy', 'account', 'clientId'])
      expect((await desk.staff.list({ [filter]: '\0' })).conversations).toEqual([])
  })
})

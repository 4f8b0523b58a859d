import type { CompanyAgent } from 'poppyseed'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Adapter, createAdapter } from '../examples/help-desk/adapter.ts'
import { companyApi } from '../examples/help-desk/company-api.ts'
import { deskApi } from '../examples/help-desk/desk-api.ts'
import { type Links, openLinks } from '../examples/help-desk/links.ts'
import { deskStaff } from '../examples/help-desk/staff.ts'
import { createStandIn, type Ticket } from '../examples/help-desk/stand-in/desk.ts'
import { converse, pageOf, said, standingOf, words } from './setup/converse.ts'
import { patiently } from './setup/front-desk.ts'
import { apiWorld } from './setup/inbox-api.ts'
import { type Handler, listen } from './setup/listen.ts'
import { webhookSecret } from './setup/webhook-receiver.ts'

// examples/help-desk: a Company, its adapter, and a help desk, each at a port of its own. An agent asks for a person, somebody at the
// help desk answers, and the agent reads a person's words.

const token = 'the-adapter-s-own-token-of-32-characters'
const desk = { token: 'the-help-desk-s-token', secret: 'the-help-desk-s-secret' }
const rita = { id: 7, name: 'Rita Álvarez' }
const omar = { id: 8, name: 'Omar Haddad' }
const polite: CompanyAgent = async function* (turn) {
  yield { type: 'text', text: `You asked: ${turn.asked.at(-1)?.text}` }
}

async function makeHelpDesk() {
  const clock = { now: () => Date.now() }
  const links: Links = openLinks(':memory:')
  onTestFinished(() => links.close())
  let adapter: Adapter | null = null
  /** What stands before the adapter: a test breaks it. */
  const between: { before: ((request: Request) => Promise<Response | null>) | null } = { before: null }
  const at = await listen(() => async (request) => {
    const broken = (await between.before?.(request)) ?? null
    return broken ?? (await (adapter as Adapter).fetch(request))
  })
  const standIn = createStandIn({
    token: desk.token,
    webhook: { url: `${at.origin}/from-desk`, secret: desk.secret },
    now: () => clock.now(),
  })
  /** What stands before the help desk. */
  const door: { answer: Handler } = { answer: standIn.fetch }
  const deskAt = await listen(() => (request) => door.answer(request))
  const world = await apiWorld(undefined, {
    agent: polite,
    staff: deskStaff(token),
    webhooks: [{ url: `${at.origin}/from-company`, secret: webhookSecret }],
  })
  clock.now = () => world.clock.now
  const log: string[] = []
  adapter = createAdapter({
    webhookSecret,
    deskSecret: desk.secret,
    company: companyApi({ inbox: `${world.origin}/poppy/inbox`, token }),
    desk: deskApi({ url: deskAt.origin, account: 1, inbox: 1, token: desk.token }),
    links,
    log: (line) => void log.push(line),
    now: () => world.clock.now,
  })
  await adapter.work()
  const tokens = await world.start()
  const talk = converse(world.agent, tokens.access_token)
  const told = async (id: string) => words((await pageOf(await talk.read(id))).events)
  const settle = async () => {
    while (!(await world.company.work()).isDone);
  }
  /** Starts a conversation, waits for the Company Agent, and asks for a person; gives the ticket. */
  async function asks(text: string): Promise<{ readonly id: string; readonly ticket: Ticket }> {
    const { conversation_id: id } = await standingOf(await talk.start(said(text, { data: { room: 12 } })))
    await expect.poll(async () => (await told(id)).at(-1), patiently).toBe('idle/agent')
    const before = standIn.tickets.length
    await talk.handoff(id)
    await expect.poll(() => standIn.tickets.length, patiently).toBe(before + 1)
    const ticket = standIn.tickets.at(-1) as Ticket
    await expect.poll(() => ticket.messages.length, patiently).toBe(2)
    return { id, ticket }
  }
  return { ...world, adapter, standIn, door, between, links, log, talk, told, settle, asks }
}

const contentOf = (ticket: Ticket) =>
  ticket.messages.map((one) => `${one.private ? 'private ' : ''}${one.message_type}: ${one.content}`)

describe('a company that works in a help desk', { timeout: 60_000 }, () => {
  it('answers there, and the agent reads a person’s words; then it is handed back, and closed', async () => {
    const { asks, standIn, talk, told, company } = await makeHelpDesk()
    const { id, ticket } = await asks('My room is cold.')
    expect(contentOf(ticket)).toEqual([
      'incoming: My room is cold.\nroom: 12',
      'private outgoing: Our agent: You asked: My room is cold.',
    ])
    expect(ticket.status).toBe('open')

    await standIn.answer(ticket.id, rita, 'Somebody brings you a heater.')
    expect((await told(id)).slice(-3)).toEqual(['queued/agent', 'idle/human', 'human: Somebody brings you a heater.'])
    const page = await pageOf(await talk.read(id))
    expect(page.events.at(-1)).toMatchObject({ message: { role: 'company', sender: 'human' } })
    for (const secret of ['Rita', 'lvarez', 'desk-7', token]) expect(JSON.stringify(page)).not.toContain(secret)

    await talk.send(id, said('Thank you. And a blanket?'))
    await expect.poll(() => contentOf(ticket).at(-1), patiently).toBe('incoming: Thank you. And a blanket?')
    await standIn.answer(ticket.id, rita, 'They like tea, too.', { isPrivate: true })
    await standIn.answer(ticket.id, rita, 'Of course.')
    // What came from the help desk isn't told to it.
    expect(contentOf(ticket).filter((line) => line.includes('heater'))).toHaveLength(1)
    const read = await company.conversations.read(id)
    expect(read.conversation.heldBy).toEqual({ id: 'desk-7', name: 'Rita Álvarez' })
    expect(read.notes).toMatchObject([{ text: 'They like tea, too.', by: { name: 'Rita Álvarez' } }])

    await standIn.setStatus(ticket.id, 'pending')
    expect((await company.conversations.read(id)).conversation).toMatchObject({ responder: 'agent', heldBy: null })
    await talk.send(id, said('When is breakfast?'))
    await expect.poll(async () => (await told(id)).at(-2), patiently).toBe('agent: You asked: When is breakfast?')
    await talk.handoff(id)
    await expect.poll(() => ticket.status, patiently).toBe('open')
    expect(standIn.tickets).toHaveLength(1)
    await standIn.answer(ticket.id, omar, 'From 7 to 10.')
    await standIn.setStatus(ticket.id, 'resolved')
    expect((await told(id)).slice(-2)).toEqual(['human: From 7 to 10.', 'closed/human'])
    const { entries } = await company.conversations.audit({ conversation: id })
    expect(new Set(entries.map(({ staff }) => staff.name))).toEqual(
      new Set(['Help desk', 'Rita Álvarez', 'Omar Haddad']),
    )
  })

  it('has each message once, however often webhooks come, in their order, however they come', async () => {
    const kept: Request[] = []
    const { asks, between, adapter, talk, told, settle } = await makeHelpDesk()
    const { id, ticket } = await asks('One.')
    // Webhooks are held up, and then come backwards, each of them twice.
    between.before = async (request) => {
      if (!request.url.endsWith('/from-company')) return null
      kept.push(request.clone() as Request)
      return new Response(null, { status: 204 })
    }
    for (const text of ['Two.', 'Three.', 'Four.']) await talk.send(id, said(text))
    await expect.poll(async () => (await told(id)).length, patiently).toBe(8)
    await settle()
    await expect.poll(() => kept.length, patiently).toBeGreaterThanOrEqual(3)
    between.before = null
    for (const request of kept.toReversed())
      for (const _ of [1, 2]) expect((await adapter.fetch(request.clone() as Request)).status).toBe(204)
    expect(contentOf(ticket).slice(2)).toEqual(['incoming: Two.', 'incoming: Three.', 'incoming: Four.'])
    // What isn't signed by the Company is nothing.
    const [one] = kept as [Request]
    const forged = new Request(one.url, {
      method: 'POST',
      headers: one.headers,
      body: (await one.clone().text()).replace('"text":"', '"text":"Not '),
    })
    expect((await adapter.fetch(forged)).status).toBe(401)
  })

  it('loses and doubles nothing where the help desk fails after it took a message', async () => {
    const { asks, door, standIn, talk, settle, clock } = await makeHelpDesk()
    const { id, ticket } = await asks('One.')
    let fails = 2
    door.answer = async (request) => {
      const answer = await standIn.fetch(request)
      const isMessage = request.method === 'POST' && request.url.endsWith('/messages')
      if (!isMessage || fails === 0) return answer
      fails -= 1
      return new Response(null, { status: 502 })
    }
    await talk.send(id, said('Two.'))
    await expect.poll(() => fails, patiently).toBe(1)
    await expect
      .poll(async () => {
        clock.now += 20_000
        await settle()
        return (await talk.read(id)).status === 200 && ticket.messages.length
      }, patiently)
      .toBe(3)
    await settle()
    expect(contentOf(ticket).slice(2)).toEqual(['incoming: Two.'])
    door.answer = async () => new Response(null, { status: 503 })
    await talk.send(id, said('Three.'))
    await settle()
    door.answer = standIn.fetch
    await expect
      .poll(async () => {
        clock.now += 60_000
        await settle()
        return contentOf(ticket).slice(3)
      }, patiently)
      .toEqual(['incoming: Three.'])
  })

  it('keeps what was answered while the Company is away, and tells it once', async () => {
    const { asks, standIn, adapter, told, links, company } = await makeHelpDesk()
    const { id, ticket } = await asks('Hello?')
    const message = {
      id: 'desk-message-99',
      ticket: ticket.id,
      kind: 'reply',
      text: 'I am here.',
      by: { id: 'desk-7', name: rita.name },
    } as const
    // Kept, and the process died before it was told; told, and it died before that was noted.
    expect(links.keepAct(message)).toBe(true)
    expect(links.keepAct(message)).toBe(false)
    await company.conversations.take(id, message.by)
    await company.conversations.reply(id, message.by, { text: message.text }, { key: message.id })
    await adapter.work()
    await adapter.work()
    expect(links.waitingActs()).toEqual([])
    expect((await told(id)).filter((word) => word === 'human: I am here.')).toHaveLength(1)
    await standIn.answer(ticket.id, rita, 'And here.')
    expect((await told(id)).at(-1)).toBe('human: And here.')
    expect(contentOf(ticket).filter((line) => line.includes('I am here'))).toEqual([])
  })

  it('says in the ticket what couldn’t be done: a colleague has it in the staff inbox, or it is closed', async () => {
    const { asks, standIn, told, company, settle, adapter } = await makeHelpDesk()
    const { id, ticket } = await asks('Hello?')
    const greta = { id: 'greta', name: 'Greta' }
    await company.conversations.take(id, greta)
    await company.conversations.reply(id, greta, { text: 'I have it.' })
    await settle()
    await expect
      .poll(() => contentOf(ticket).at(-1), patiently)
      .toBe('private outgoing: Answered in the staff inbox: I have it.')
    await standIn.answer(ticket.id, rita, 'Me too.')
    expect(contentOf(ticket).at(-1)).toBe(
      'private outgoing: Not done in the conversation (reply): a colleague has it in the staff inbox.',
    )
    expect(await told(id)).not.toContain('human: Me too.')
    await company.conversations.close(id, greta)
    await settle()
    await expect.poll(() => ticket.status, patiently).toBe('resolved')
    await standIn.answer(ticket.id, rita, 'Still there?')
    expect(contentOf(ticket).at(-1)).toBe('private outgoing: Not done in the conversation (reply): it is closed.')
    // Neither did the close come back as one of the help desk's.
    await adapter.work()
    expect((await told(id)).filter((word) => word.startsWith('closed'))).toHaveLength(1)
  })

  it('is there as long as the adapter is: without it a person’s conversation goes back to the queue, and nobody is here', async () => {
    const { asks, standIn, adapter, company, clock, settle, talk, told } = await makeHelpDesk()
    const { id, ticket } = await asks('Hello?')
    await standIn.answer(ticket.id, rita, 'Yes?')
    clock.now += 100_000
    await adapter.work()
    clock.now += 100_000
    await settle()
    expect((await company.conversations.read(id)).conversation.heldBy).toMatchObject({ id: 'desk-7' })
    clock.now += 130_000
    await settle()
    await expect.poll(async () => (await company.conversations.read(id)).conversation.status, patiently).toBe('queued')
    const other = await standingOf(await talk.start(said('Anybody?')))
    await expect.poll(async () => (await told(other.conversation_id)).at(-1), patiently).toBe('idle/agent')
    expect(await standingOf(await talk.handoff(other.conversation_id))).toMatchObject({
      status: 'idle',
      responder: 'agent',
    })
  })
})

describe('the Company’s staff by the adapter', () => {
  it('is nobody without the token, whole', () => {
    const who = deskStaff(token)
    const ask = (headers: Record<string, string>) => who(new Request('https://miramar.example/', { headers }))
    const own = {
      authorization: `Bearer ${token}`,
      'x-desk-agent': 'desk-7',
      'x-desk-agent-name': 'Rita%20%C3%81lvarez',
    }
    expect(ask(own)).toEqual({ id: 'desk-7', name: 'Rita Álvarez' })
    expect(ask({ ...own, authorization: `Bearer ${token}x` })).toBeNull()
    expect(ask({ ...own, authorization: '' })).toBeNull()
    expect(ask({ authorization: own.authorization })).toBeNull()
    expect(ask({ ...own, 'x-desk-agent-name': '%E0%A4%A' })).toBeNull()
    expect(() => deskStaff('short')).toThrow('32 characters')
  })
})

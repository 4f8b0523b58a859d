import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session } from '@poppyseed/agent'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startVisitingAgent } from '../examples/hotel/src/agent-server.ts'
import { createPerson } from '../examples/hotel/src/person.ts'
import { startHotel } from '../examples/hotel/src/server.ts'
import { seedHotel } from './setup/seeded-hotel.ts'

// The hotel's front desk, by rules, as a personal agent and its owner meet it over real HTTP.

const day = (ahead: number) => new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10)

async function atTheDesk() {
  const directory = mkdtempSync(join(tmpdir(), 'poppyseed-desk-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const log: string[] = []
  const hotel = await startHotel({ port: 0, directory: seedHotel(directory), log: (line) => log.push(line) })
  onTestFinished(hotel.close)
  const { agent, close } = await startVisitingAgent()
  onTestFinished(close)
  const session = (await agent.forUser('maya').company(hotel.origin)).session()
  const signIn = (scopes: readonly string[] = ['poppy:read', 'poppy:write', 'loyalty'], into: Session = session) =>
    into.signIn({
      scopes,
      open: async (url) => {
        const person = createPerson()
        const login = await person.open(url)
        const consent = await person.submit(login, { email: 'maya@example.com', password: 'sea-view-42' })
        await person.submit(consent, { scope: scopes, decision: 'approve' })
      },
    })
  return { hotel, session, signIn, log }
}

describe('the front desk', () => {
  it('answers an AI shortly and with data, while nobody is signed in', async () => {
    const { session } = await atTheDesk()
    const talk = await session.conversations.start('Is late arrival possible?')
    const late = await talk.answer()
    expect(late.text).toContain('you can come as late as you like')
    expect(late.messages[0]?.data).toMatchObject({ check_in_from: '15:00' })
    expect((await talk.reply('When can I arrive?')).text).toContain('ready from three in the afternoon')
    expect((await talk.reply('Which rooms are free?')).text).toContain('For which days?')
    const rooms = await talk.reply(`From ${day(200)} to ${day(202)}, for two.`)
    expect(rooms.text).toMatch(/^(One room is|\d rooms are) free\.$/)
    expect(rooms.messages[0]?.data).toMatchObject({
      from: day(200),
      rooms: expect.arrayContaining([expect.objectContaining({ room: 'limonero', currency: 'EUR' })]),
    })
    expect((await talk.reply('Are you a person?')).text).toContain('I am an AI')
    expect((await talk.reply('What is the meaning of life?')).text).toContain('I am the front desk')
  })

  it('asks for a sign-in when it needs one, and goes on in the same conversation [7.11.also-asks]', async () => {
    const { session, signIn } = await atTheDesk()
    const talk = await session.conversations.start('How many points does the guest have?')
    const without = await talk.answer()
    expect([without.outcome, without.text]).toEqual(['needs_sign_in', expect.stringContaining('sign in')])
    expect(without.error?.scopes).toEqual(['loyalty'])
    const reply = await talk.reply('How many points are there?', { signIn: ({ scopes }) => signIn(scopes) })
    expect(reply.text).toContain('You have 1,240 points.')
    expect(reply.messages.at(-1)?.data).toEqual({ points: 1240 })
  })

  it('gathers what it needs from a person, in sentences, proposes, and books once they confirmed', async () => {
    const { session, signIn } = await atTheDesk()
    await signIn()
    const talk = await session.conversations.startAsUser('I would like to book a room.')
    expect((await talk.answer()).text).toContain('For which days?')
    expect((await talk.replyToUser(`From ${day(210)}, two nights.`)).text).toBe('For how many people?')
    const offer = await talk.replyToUser('For two of us')
    expect(offer.text).toMatch(/these rooms are free: .*Limonero for €196.*Which of them shall it be\?/)
    expect(offer.messages[0]?.data).toBeUndefined()
    const proposed = await talk.replyToUser('Limonero, please.')
    const operation = proposed.messages.find((message) => message.operation)?.operation
    expect(operation).toMatchObject({
      state: 'proposed',
      summary: expect.stringContaining('Book Limonero for 2 guests'),
    })
    expect(proposed.text).toContain('Nothing is done before you have confirmed it.')
    // Saying yes isn't confirming.
    await talk.replyToUser('Yes, book it, I confirm.')
    expect((await session.operations.read(operation?.id ?? '')).state).toBe('proposed')
    const { operation: confirmed } = await session.operations.confirm(operation?.id ?? '', {
      approve: async () => ({ approved: true }),
    })
    const ended = confirmed.isFinal ? confirmed : await session.operations.wait(confirmed.id)
    expect(ended.state).toBe('succeeded')
  })

  it('looks at bookings, notes an arrival, and proposes to cancel', async () => {
    const { session, signIn } = await atTheDesk()
    await signIn()
    const talk = await session.conversations.start('What are the guest’s bookings?')
    const list = await talk.answer()
    expect(list.messages[0]?.data).toMatchObject({ bookings: [{ booking: 'MIR-3121' }, { booking: 'MIR-3058' }] })
    expect((await talk.reply('For MIR-3058 we arrive late, at 23:30.')).text).toContain('noted it on booking MIR-3058')
    expect((await talk.reply('Please cancel.')).text).toContain('Which booking is it?')
    const cancel = await talk.reply('Please cancel MIR-3121.')
    expect(cancel.messages[0]?.operation?.summary).toContain('Cancel MIR-3121')
    expect((await talk.reply('Cancel MIR-99999.')).text).toBe('You have no booking with that number.')
  })

  it('speaks German where the context says so', async () => {
    const { session } = await atTheDesk()
    const talk = await session.conversations.start({
      text: `Welche Zimmer sind vom ${day(200)} bis ${day(202)} frei, für zwei Personen?`,
      context: { locale: 'de-AT' },
    })
    expect((await talk.answer()).text).toMatch(/Zimmer (ist|sind) frei\./)
    expect((await talk.replyToUser('Sind Sie ein Mensch?')).text).toContain('Ich bin eine KI')
  })

  it('asks for the guest in person, and hands over to people', async () => {
    const { session } = await atTheDesk()
    const talk = await session.conversations.start('The user wants to hold a wedding in the whole house.')
    const reply = await talk.answer({ onUser: async () => ({ words: 'Hello, it is for forty people.' }) })
    expect(reply.outcome).toBe('direct')
    const direct = reply.direct
    if (!direct) throw new Error('no Direct Conversation')
    expect((await direct.answer()).text).toContain('I am the front desk')
    const person = await direct.replyToUser('I want to speak with a person.')
    // By the hour it is queued, or told when somebody is there.
    expect(person.messages[0]?.text).toBe('I will ask somebody of the hotel to take over.')
    expect(['queued', 'idle']).toContain(person.status)
    await direct.close()
  })
})

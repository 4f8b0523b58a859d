import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Operation } from '@poppyseed/agent'
import type { Staff } from 'poppyseed'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startVisitingAgent } from '../examples/hotel/src/agent-server.ts'
import { createPerson } from '../examples/hotel/src/person.ts'
import { startHotel } from '../examples/hotel/src/server.ts'
import { type HumanVisitOptions, playHumanVisit } from '../examples/hotel/src/visit-human.ts'
import { signInAtHotel } from './setup/hotel-staff.ts'
import { seedHotel } from './setup/seeded-hotel.ts'

// `npm run visit -- --human`: an agent that asks for a person of the hotel, and the person.

const rosa: Staff = { id: 'rosa', name: 'Rosa Vidal' }
/** Noon, and the dead of night, at the hotel. */
const noon = '2027-03-01T11:00:00Z'
const night = '2027-03-01T02:00:00Z'
const patiently = { timeout: 30_000 }

async function openHotel(at: string) {
  const directory = mkdtempSync(join(tmpdir(), 'poppyseed-people-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  // The opening hours go by the hotel's clock; all else of it runs on.
  const ahead = Date.parse(at) - Date.now()
  const now = () => Date.now() + ahead
  const log: string[] = []
  const hotel = await startHotel({
    port: 0,
    directory: seedHotel(directory, now()),
    log: (line) => log.push(line),
    now,
  })
  onTestFinished(hotel.close)
  return { hotel, staff: hotel.company.conversations, log, now }
}

type Options = Partial<Omit<HumanVisitOptions, 'address' | 'agent' | 'say'>>

async function visit(address: string, options: Options = {}) {
  const { agent, close } = await startVisitingAgent(options.now)
  const said: string[] = []
  const over = new AbortController()
  const signal = AbortSignal.any([over.signal, ...(options.signal ? [options.signal] : [])])
  const end = playHumanVisit({ address, agent, say: (line) => said.push(line), ...options, signal })
  onTestFinished(close)
  // Before the hotel and the agent go: one that went on would ask whoever has its address next.
  onTestFinished(async () => {
    over.abort()
    await end
  })
  const says = (what: RegExp) => vi.waitFor(() => expect(said.join('\n')).toMatch(what), patiently)
  return { end, said, says }
}

describe('a visit that asks for a person', { timeout: 180_000 }, () => {
  it('waits, is answered by one, confirms what they propose once the guest agreed, goes on when handed back, and ends', async () => {
    const { hotel, staff, log, now } = await openHotel(noon)
    const shown: Operation[] = []
    const { end, said, says } = await visit(hotel.origin, {
      now,
      approve: async (operation) => shown.push(operation) > 0,
    })
    await says(/Waits for a person\. Be that person: sign in at http:\/\/localhost:\d+\/poppy\/inbox/)
    const [waiting] = await staff.queue()
    expect(waiting?.waitingFor).toMatch(/^The guest would like to speak with a person about MIR-\d+: /)
    const id = waiting?.id ?? ''
    await staff.take(id, rosa)
    await says(/A person of the hotel has joined/)
    await staff.reply(id, rosa, { text: 'Limonero has no step at the door.', data: { room: 'limonero' } })
    await says(
      /A person of the hotel: “Limonero has no step at the door\.”\n.*gave data with it: \{"room":"limonero"\}/,
    )
    const stay = { from: '2027-06-26', to: '2027-06-28' }
    await staff.callTool(id, rosa, 'book_room', { room: 'limonero', ...stay, guests: 1 })
    await says(/The hotel proposes, and has done nothing yet: “Book Limonero for 1 guest/)
    await says(/the agent confirmed them, only those/)
    await says(/is now: succeeded/)
    expect(shown.map(({ state, revision }) => [state, revision])).toEqual([['proposed', 1]])
    await staff.handBack(id, rosa, { text: 'The front desk goes on from here.', note: 'The room is booked.' })
    await says(/The person handed it back to the front desk\. Goes on with it/)
    expect(await end).toBe('closed')
    expect(said.join('\n')).toMatch(/The front desk: “(You|The guest).*1,240 points/)
    expect(said.at(-1)).toMatch(/^Signed out/)
    expect((await staff.read(id)).conversation.status).toBe('closed')
    expect(said.join('\n')).not.toMatch(/Rosa|rosa/)
    expect(log).toEqual([expect.stringContaining('DEVELOPMENT MODE')])
  })

  it('is answered at the inbox, by whoever signed in at the hotel’s own staff login', async () => {
    const { hotel, log, now } = await openHotel(night)
    // Her page is open, so somebody is there at night too.
    const { desk, signOut } = await signInAtHotel(hotel, 1)
    const { end, says, said } = await visit(hotel.origin, { now, approve: async () => true })
    await says(/Waits for a person/)
    const [row] = (await desk.look('?list=waiting')).view.list.conversations
    expect(row).toMatchObject({ isSignedIn: true, waitingFor: expect.stringContaining('wheelchair'), heldBy: null })
    const id = row?.id ?? ''
    const taken = await desk.on(id, 'take')
    expect(taken.view.conversation).toMatchObject({ heldBy: { name: 'Rosa Vidal' }, account: { state: 'closed' } })
    await says(/has joined/)

    const opened = (await desk.on(id, 'open-account')).view.conversation
    expect(opened?.account).toMatchObject({
      state: 'open',
      title: 'Maya Lindqvist',
      facts: [{ name: 'Points', value: '1,240' }, { name: 'Bookings' }],
      tables: [{ title: 'Bookings' }, { title: 'Notes' }],
    })
    expect(opened?.savedReplies.map(({ title }) => title)).toContain('Without steps')
    await desk.on(id, 'reply', { text: 'Limonero fits.', 'data.0.name': 'room', 'data.0.value': 'limonero' })
    await says(/A person of the hotel: “Limonero fits\.”\n.*\{"room":"limonero"\}/)
    const stay = { 'arg.room': 'limonero', 'arg.from': '2027-06-26', 'arg.to': '2027-06-28', 'arg.guests': '1' }
    const proposed = await desk.on(id, 'call-tool', { tool: 'book_room', ...stay })
    expect(proposed.view.conversation?.outcome).toMatchObject({ tool: 'book_room', isOk: true })
    await says(/is now: succeeded/)
    const cards = (await desk.open(id)).entries.flatMap((entry) =>
      entry.kind === 'message' && entry.operation !== null ? [entry.operation] : [],
    )
    expect(cards.at(-1)).toMatchObject({ name: 'book_room', state: 'succeeded' })

    // Who goes leaves nobody waiting for them.
    await signOut()
    await says(/put it back into the queue/)
    expect((await desk.get('', { accept: 'application/json' })).status).toBe(401)
    const colleague = await signInAtHotel(hotel, 2)
    expect((await colleague.desk.act('/take-next')).view.conversation?.id).toBe(id)
    await colleague.desk.on(id, 'hand-back', { note: 'All is booked.', text: '' })
    expect(await end).toBe('closed')
    expect(said.join('\n')).not.toMatch(/Rosa|Pau/)
    expect(log).toEqual([expect.stringContaining('DEVELOPMENT MODE')])
  })

  it('is nobody’s to answer but the staff’s: a guest comes to the staff’s door, and no further', async () => {
    const { hotel, now } = await openHotel(noon)
    const guest = createPerson()
    const maya = { email: 'maya@example.com', password: 'sea-view-42' }
    await guest.submit(await guest.open(`${hotel.origin}/login`), maya)
    expect((await guest.open(`${hotel.origin}/account`)).html).toContain('Maya Lindqvist')
    const door = await guest.open(hotel.inbox)
    expect([new URL(door.url).pathname, door.html.includes('For those who work here')]).toEqual(['/staff/login', true])
    expect((await guest.submit(door, maya)).status).toBe(400)
    // Nor in the browser of an agent, whatever cookies it has.
    const { cookie, desk } = await signInAtHotel(hotel, 1)
    const { agent, close } = await startVisitingAgent(now)
    onTestFinished(close)
    const session = (await agent.forUser('maya').company(hotel.origin)).session()
    const joined = createPerson(async (request) => {
      const cookies = [request.headers.get('cookie'), `${cookie.name}=${cookie.value}`].filter((one) => one !== null)
      request.headers.set('cookie', cookies.join('; '))
      return fetch(request)
    })
    const { url } = await session.joinBrowser({ returnTo: hotel.inbox })
    await joined.submit(await joined.open(url), {})
    const turned = await joined.open(hotel.inbox)
    expect([turned.status, turned.html.includes('Rosa Vidal')]).toEqual([403, false])
    expect((await desk.look()).status).toBe(200)
  })

  it('does nothing of what is proposed where nobody is asked, or says no, and ends when the person closes', async () => {
    const { hotel, staff, now } = await openHotel(noon)
    for (const approve of [undefined, async () => false]) {
      const { end, says } = await visit(hotel.origin, { now, ...(approve ? { approve } : {}) })
      await says(/Waits for a person/)
      const id = (await staff.takeNext(rosa))?.id ?? ''
      await staff.callTool(id, rosa, 'cancel_booking', { booking: 'MIR-3058' })
      await says(approve ? /did not approve it\. Nothing is done/ : /Nobody could be asked/)
      await staff.reply(id, rosa, { text: 'Then not.' })
      await staff.close(id, rosa, 'Done.')
      await says(/The conversation is closed/)
      expect(await end).toBe('closed')
    }
  })

  it('is told the hours where nobody is there, asks again, and finds whoever opened the inbox meanwhile', async () => {
    const { hotel, staff, now } = await openHotel(night)
    const alone = await visit(hotel.origin, { now })
    expect(await alone.end).toBe('nobody')
    expect(alone.said.join('\n')).toMatch(
      /Was told: “.*09:00.*”\n.*Somebody is as soon as they open http\S+inbox and are signed in/,
    )

    let asked = 0
    const patient = await visit(hotel.origin, {
      now,
      askAgain: async () => {
        asked += 1
        await staff.present(rosa)
        return true
      },
    })
    await patient.says(/Waits for a person/)
    expect(asked).toBe(1)
    // Whoever is there now reads what it is about, and the agent is told no more than that somebody comes.
    const [waiting] = await staff.queue()
    expect(waiting?.waitingFor).toMatch(/MIR-\d+: .*mother.*wheelchair.*what would both cost\?$/)
    expect(patient.said.filter((line) => line.startsWith('Was told')).at(-1)).toMatch(
      /I will ask somebody of the hotel/,
    )
    expect(patient.said.join('\n')).not.toContain('I am the front desk')
    await staff.takeNext(rosa)
    await patient.says(/has joined/)
  })

  it('lets the guest speak in person where the hotel asks for them, and says what is typed', async () => {
    const { hotel, staff, now } = await openHotel(noon)
    const typed = Promise.withResolvers<(line: string) => Promise<void>>()
    const { end, says } = await visit(hotel.origin, {
      now,
      onOpen: typed.resolve,
      askGuest: async (reason) => (reason === 'May I call you?' ? 'Hello, this is Maya.' : null),
    })
    await says(/Waits for a person/)
    const id = (await staff.takeNext(rosa))?.id ?? ''
    const say = await typed.promise
    await say('It is for the nights from 26 June.')
    expect(JSON.stringify(await staff.read(id))).toContain('It is for the nights from 26 June.')
    await staff.askForUser(id, rosa, 'A photograph?')
    await says(/The guest can’t talk now/)
    await staff.askForUser(id, rosa, 'May I call you?')
    await says(/The guest talks with the hotel in person/)
    await say('At four?')
    const direct = (await staff.list()).conversations.find((one) => one.id !== id)
    const words = JSON.stringify(await staff.read(direct?.id ?? ''))
    expect(words).toContain('Hello, this is Maya.')
    expect(words).toContain('At four?')
    await staff.close(direct?.id ?? '', rosa)
    await staff.close(id, rosa)
    expect(await end).toBe('closed')
  })

  it('closes its conversation and signs out when it is stopped', async () => {
    const { hotel, staff, now } = await openHotel(noon)
    const stop = new AbortController()
    const { end, said, says } = await visit(hotel.origin, { now, signal: stop.signal })
    await says(/Waits for a person/)
    const [waiting] = await staff.queue()
    stop.abort()
    expect(await end).toBe('stopped')
    expect(said.at(-1)).toMatch(/^Signed out/)
    expect((await staff.read(waiting?.id ?? '')).conversation.status).toBe('closed')
  })
})

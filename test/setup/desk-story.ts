import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Conversation,
  createPersonalAgent,
  generateKey,
  memoryStore,
  type PersonalAgent,
  type Session,
} from '@poppyseed/agent'
import { MockLanguageModelV4 } from 'ai/test'
import type { Staff } from 'poppyseed'
import { vi } from 'vitest'
import { createPerson } from '../../examples/hotel/src/person.ts'
import { type Hotel, startHotel } from '../../examples/hotel/src/server.ts'
import { modelThatWrites, type Written } from '../../packages/company/test/model.ts'
import { signInAtHotel } from './hotel-staff.ts'
import { seedHotel } from './seeded-hotel.ts'

/**
 * A Monday at the hotel's front desk: real agents of several hosts over real HTTP, a front desk with a model that writes what it
 * is told to, two at the desk, and a payment service that is away. For pictures of the inbox, and for whoever looks at it.
 */
export interface DeskStory {
  readonly hotel: Hotel
  /** Milliseconds since 1970, at the hotel. */
  readonly now: () => number
  readonly rosa: Staff
  /** What Rosa's browser holds: a cookie of the hotel's staff login. */
  readonly cookie: { readonly name: string; readonly value: string }
  /** Maya's: it waits last, and Rosa has it later. */
  readonly maya: Told
  /** Jonas's, in German. */
  readonly jonas: Told
  /** Towels: the front desk's reply came too late. */
  readonly towels: Told
  /** A deposit of which nobody knows whether it was paid. */
  readonly unsettled: string
  /** The front desk's clock moves on; who is there stays there. */
  readonly pass: (minutes: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** A conversation of a guest's agent. */
export interface Told {
  readonly talk: Conversation
  readonly session: Session
}

const at = Date.parse('2027-03-01T10:00:00Z')
const guests = {
  maya: { email: 'maya@example.com', password: 'sea-view-42' },
  jonas: { email: 'guest2@example.com', password: 'harbour-7' },
} as const
const all = ['poppy:read', 'poppy:write', 'loyalty']

/** What the front desk's model writes each time that it is asked, by words of what it is asked. */
const script: Readonly<Record<string, readonly (readonly Written[])[]>> = {
  midnight: [
    [
      'Yes. Rooms are ready from 15:00, and you can come as late as you like, at no cost. After 23:00 please ring the bell beside the blue door.',
    ],
  ],
  'parking for a van': [
    [
      'There is no car park of the hotel’s own. The public one at the harbour, three minutes on foot, takes vans up to 2.4 metres high.',
    ],
  ],
  'twelve extra towels': [['We can put a cot and twelve towels into Amapola. Both are free of charge.']],
  'deposit for MIR-3077': [
    [{ call: 'pay_deposit', input: { booking: 'MIR-3077' } }],
    ['The deposit for MIR-3077 is proposed. It is paid once you confirm it.'],
  ],
  zweimal: [
    [
      'Das tut mir leid. Ich hole jemanden vom Haus dazu.',
      {
        call: 'hand_off_to_person',
        input: { reason: 'Beschwerde: Die Anzahlung für MIR-2790 wurde zweimal abgebucht.' },
      },
    ],
  ],
  earrings: [
    [{ call: 'hand_off_to_person', input: { reason: 'Lost property: silver earrings, left in Levante last week.' } }],
  ],
  'whole house': [
    [
      'A celebration in the whole house is something that our people arrange. I ask them to join.',
      {
        call: 'hand_off_to_person',
        input: { reason: 'A wedding in the whole house, 18 to 20 September: a price for 14 people.' },
      },
    ],
  ],
  wheelchair: [
    [{ call: 'search_rooms', input: { from: '2027-06-26', to: '2027-07-03', guests: 1 } }],
    [
      'Limonero has no step at the door and a shower with a seat, and it is free for those nights. Whether the bed can be set lower I can’t say, so I ask somebody of the house.',
      {
        call: 'hand_off_to_person',
        input: { reason: 'Can Limonero be prepared for a guest in a wheelchair? To decide before it is booked.' },
      },
    ],
  ],
}

/** Plays the day up to the moment at which five wait or are talked with, and gives what a browser needs. */
export async function openDesk(): Promise<DeskStory> {
  const directory = mkdtempSync(join(tmpdir(), 'poppyseed-inbox-'))
  const started = Date.now()
  let ahead = 0
  const now = () => at + ahead + Date.now() - started
  const agents = new Map<string, PersonalAgent>()
  const towelsWait = Promise.withResolvers<void>()
  const hotel = await startHotel({
    port: 0,
    directory: seedHotel(directory, at),
    log: () => {},
    now,
    model: modelOf(towelsWait.promise),
    // Nobody is at that address.
    payments: async () => ({ address: 'http://127.0.0.1:9', key: 'none', patience: 500 }),
    fetchDocument: async (url) => {
      const agent = agents.get(new URL(url).host)
      if (!agent) throw new Error('There is no such agent.')
      const answer = await agent.fetch(new Request(url))
      return { document: (await answer.json()) as unknown, headers: answer.headers }
    },
  })
  const route = (request: Request) => agents.get(new URL(request.url).host)?.fetch(request) ?? fetch(request)
  const staff = hotel.company.conversations

  async function guestAt(host: string, name: string, user: string, guest?: keyof typeof guests): Promise<Session> {
    const agent =
      agents.get(host) ??
      createPersonalAgent({
        clientId: `https://${host}/agent.json`,
        name,
        keys: [await generateKey()],
        store: memoryStore(),
        allowHttp: true,
        now,
      })
    agents.set(host, agent)
    const session = (await agent.forUser(user).company(hotel.origin)).session()
    if (guest === undefined) return session
    await session.signIn({
      scopes: all,
      open: async (url) => {
        const person = createPerson(route)
        const consent = await person.submit(await person.open(url), guests[guest])
        // Jonas lets his agent see and do less.
        await person.submit(consent, { scope: guest === 'maya' ? all : all.slice(0, 2), decision: 'approve' })
      },
    })
    return session
  }

  /** Says it, and waits until the front desk has answered or handed it on. */
  async function says(session: Session, text: string, more: object = {}): Promise<Told> {
    const talk = await session.conversations.start({ text, ...more })
    await talk.answer({ seconds: 60 })
    return { talk, session }
  }

  const rosa = await signInAtHotel(hotel, 1)
  const pau = await signInAtHotel(hotel, 2)
  const pass = async (minutes: number) => {
    // Nobody is gone for two minutes meanwhile.
    for (let left = minutes; left > 0; left -= 1) {
      ahead += 60_000
      for (const { member } of [rosa, pau]) await staff.present(member)
    }
  }
  for (const { member } of [rosa, pau]) await staff.present(member)

  const trips = await guestAt('trips.example', 'Trip Planner', 'one')
  const van = await says(trips, 'Is there parking for a van?', { context: { locale: 'en-GB' } })
  await van.talk.close()
  await pass(4)
  const jonas = await guestAt('butler.example', 'Butler', 'jonas', 'jonas')
  const deposit = await says(jonas, 'Please pay the deposit for MIR-3077.', { context: { locale: 'de-DE' } })
  const [proposed] = await jonas.operations.list()
  await jonas.operations.confirm(proposed?.id ?? '', { approve: async () => ({ approved: true }) })
  await vi.waitFor(async () => {
    if ((await hotel.company.operations.unsettled()).length === 0) throw new Error('It is known what came of it.')
  }, 30_000)
  await deposit.talk.close()
  await pass(2)
  const earrings = await says(
    await guestAt('trips.example', 'Trip Planner', 'two'),
    'The guest has left a pair of silver earrings in Levante last week. Have you found them?',
    {
      context: { locale: 'fr-FR', userAvailable: false },
    },
  )
  await staff.take(earrings.talk.id, pau.member)
  await staff.reply(earrings.talk.id, pau.member, {
    text: 'I ask the people who cleaned the room, and write here by noon.',
  })
  await says(
    await guestAt('trips.example', 'Trip Planner', 'three'),
    'The guests may arrive after midnight. Is that all right?',
  )

  const complaint = await says(
    jonas,
    'Herr Berg möchte mit einem Menschen sprechen. Die Anzahlung für MIR-2790 wurde seiner Bank zufolge zweimal abgebucht: am 14. und am 15. Januar, je 58,80 €.',
    {
      data: {
        booking: 'MIR-2790',
        charges: [
          { day: '2027-01-14', amount: '58.80 EUR' },
          { day: '2027-01-15', amount: '58.80 EUR' },
        ],
      },
      context: { locale: 'de-DE', userAvailable: true },
    },
  )
  await pass(3)
  await says(
    await guestAt('errands.example', 'Errands', 'one'),
    'My user wants to marry at the hotel and to have the whole house from 18 to 20 September, for 14 people. What would that cost?',
    { context: { locale: 'en-US', userAvailable: true } },
  )

  const towels = await guestAt('errands.example', 'Errands', 'two')
  const talk = await towels.conversations.start({
    text: 'Can there be a cot and twelve extra towels in Amapola from 10 to 14 May?',
  })
  await vi.waitFor(async () => {
    if ((await staff.read(talk.id)).conversation.status !== 'working')
      throw new Error('The front desk doesn’t answer yet.')
  }, 30_000)
  await staff.take(talk.id, rosa.member)
  towelsWait.resolve()
  await vi.waitFor(async () => {
    if ((await staff.read(talk.id)).notes.length === 0) throw new Error('There is no draft yet.')
  }, 30_000)

  await pass(2)
  const aria = await guestAt('concierge.example', 'Aria', 'maya', 'maya')
  const maya = await says(
    aria,
    'The guest has booked Mirador from 26 June to 3 July, MIR-3121. Her mother, who uses a wheelchair, wants to come along: is there a room without steps for the same nights, and can it be prepared for her?',
    {
      data: {
        booking: 'MIR-3121',
        from: '2027-06-26',
        to: '2027-07-03',
        guests: 1,
        needs: ['no steps', 'shower with a seat', 'low bed'],
      },
      context: { locale: 'en-GB', timeZone: 'Europe/London', userAvailable: true },
    },
  )
  await pass(1)
  return {
    hotel,
    now,
    rosa: rosa.member,
    cookie: rosa.cookie,
    maya,
    jonas: complaint,
    towels: { talk, session: towels },
    unsettled: proposed?.id ?? '',
    pass,
    close: async () => {
      await hotel.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** A front desk that looks for words of the script in what it reads. @param towels until then it keeps one waiting */
function modelOf(towels: Promise<void>): MockLanguageModelV4 {
  const asked = new Map<string, number>()
  return new MockLanguageModelV4({
    doStream: async (options) => {
      const text = JSON.stringify(options.prompt)
      const newest = (words: string) => text.lastIndexOf(words)
      const [words = ''] = Object.keys(script).sort((one, other) => newest(other) - newest(one))
      if (words.includes('towels')) await towels
      const times = asked.get(words) ?? 0
      asked.set(words, times + 1)
      const steps = script[words] ?? []
      return modelThatWrites(steps[Math.min(times, steps.length - 1)] ?? []).doStream(options)
    },
  })
}

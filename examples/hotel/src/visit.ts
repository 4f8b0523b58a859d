import { AgentError, type PersonalAgent } from '@poppyseed/agent'
import { createPerson, type Person } from './person.ts'

/** The visit: a personal agent comes to the hotel over real HTTP, signed out and then signed in, and tells each step. */
export interface VisitOptions {
  /** The hotel's address, such as `http://localhost:4000`. */
  readonly address: string
  readonly agent: PersonalAgent
  /** Takes a line for each step. */
  readonly say: (step: string) => void
  /** The guest for whom the agent acts, who signs in at the hotel's own pages. */
  readonly guest?: { readonly email: string; readonly password: string }
  readonly person?: Person
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/** A step that did not go as it should. */
export class VisitError extends Error {
  override readonly name = 'VisitError'
}

const maya = { email: 'maya@example.com', password: 'sea-view-42' }
const wanted = ['poppy:read', 'loyalty']

/**
 * Plays the visit.
 * @throws VisitError or AgentError at the first step that doesn't go as told
 */
export async function playVisit(options: VisitOptions): Promise<void> {
  const { agent, say, guest = maya, person = createPerson(), now = Date.now } = options
  const company = await agent.forUser('visit').company(options.address)
  say(
    `Discovered ${company.name}, which speaks version ${company.protocolVersion} and offers ${company.apis.map(({ type }) => type).join(' and ')}.`,
  )

  const session = await company.startSession()
  expect(!(await session.state()).signedIn, 'the Session should have started signed out')
  say('Started a Session, signed out: the hotel knows the agent, and not yet the guest.')

  const day = (offset: number) => new Date(now() + offset * 86_400_000).toISOString().slice(0, 10)
  const [from, to] = [day(30), day(32)]
  const found = (await session.call('search_rooms', { from, to, guests: 2 })).body as {
    rooms?: readonly { name: string; total: number }[]
  }
  const [cheapest] = [...(found.rooms ?? [])].sort((one, other) => one.total - other.total)
  expect(cheapest !== undefined, 'there should be a free room')
  say(
    `Searched rooms for two from ${from} to ${to}: ${found.rooms?.length} are free, the cheapest is ${cheapest?.name} at ${cheapest?.total} €.`,
  )

  await isRefused(() => session.call('my_bookings', {}))
  say('Asked for the guest’s bookings and was told to sign in first.')

  const signedIn = await session.signIn({ scopes: wanted, open: (url) => approve(person, url, guest) })
  expect(signedIn.missing.length === 0, 'the guest should have approved everything')
  say(`Sent ${guest.email} to the hotel’s own page, who signed in there and approved: ${signedIn.granted.join(', ')}.`)

  const bookings = (await session.call('my_bookings', {})).body as {
    bookings?: readonly { roomName: string; arrival: string }[]
  }
  expect((bookings.bookings?.length ?? 0) > 0, 'the guest should have bookings')
  say(`Listed the bookings: ${bookings.bookings?.map((one) => `${one.roomName} from ${one.arrival}`).join(', ')}.`)

  expect((await session.signOut()).revoked, 'the Account Token should have been revoked')
  say('Signed out: the hotel took the access back.')

  await isRefused(() => session.call('my_bookings', {}))
  say('Asked for the bookings once more and was refused.')
}

/** What the guest does in a browser: signs in at the hotel, reads who asks for what, and approves. */
async function approve(
  person: Person,
  url: string,
  guest: { readonly email: string; readonly password: string },
): Promise<void> {
  const login = await person.open(url)
  const consent = await person.submit(login, guest)
  expect(consent.status === 200, `the page to approve should have come, not ${consent.status}`)
  const back = await person.submit(consent, { scope: wanted, decision: 'approve' })
  expect(back.status === 200, `the way back to the agent should have worked, not ${back.status}`)
}

async function isRefused(call: () => Promise<unknown>): Promise<void> {
  try {
    await call()
  } catch (error) {
    if (error instanceof AgentError && error.code === 'sign_in_required') return
    throw error
  }
  throw new VisitError('Bookings were given out to somebody who is not signed in.')
}

function expect(holds: boolean, sentence: string): asserts holds {
  if (!holds) throw new VisitError(`This did not go as told: ${sentence}.`)
}

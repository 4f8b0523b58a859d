import { AgentError, type Conversation, type Operation, type PersonalAgent, type Session } from '@poppyseed/agent'
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
  /**
   * Asks the guest whether they approve what the hotel proposes; anything but true is a no. Left out, there is nobody to
   * ask, and nothing is booked.
   */
  readonly approve?: (operation: Operation) => Promise<boolean>
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/** A step that did not go as it should. */
export class VisitError extends Error {
  override readonly name = 'VisitError'
}

/** The guest for whom the visits are. */
export const maya = { email: 'maya@example.com', password: 'sea-view-42' }
/** How long the front desk may take to answer. */
const seconds = 60
/** What the agent asks the guest for. */
export const wanted = ['poppy:read', 'poppy:write', 'loyalty']

/** How the visit ended: the booking's number, or why there is none. */
export type VisitEnd =
  | { readonly booking: 'succeeded'; readonly number: string }
  | { readonly booking: 'not approved' | 'nobody asked' }

/**
 * Plays the visit.
 * @throws VisitError or AgentError at the first step that doesn't go as told
 */
export async function playVisit(options: VisitOptions): Promise<VisitEnd> {
  const { agent, say, guest = maya, person = createPerson(), now = Date.now } = options
  const company = await agent.forUser('visit').company(options.address)
  say(
    `Discovered ${company.name}, which speaks version ${company.protocolVersion} and offers ${company.apis.map(({ type }) => type).join(' and ')}.`,
  )

  const session = await company.startSession()
  expect(!(await session.state()).signedIn, 'the Session should have started signed out')
  say('Started a Session, signed out: the hotel knows the agent, and not yet the guest.')

  const talk = await session.conversations.start('The guests may arrive after midnight. Is that all right?')
  const { text } = await talk.answer({ seconds })
  expect(text !== '', 'the front desk should have answered')
  say(`Asked the front desk about arriving after midnight, and was told: “${firstSentence(text)}”`)

  const stay = await findStay(session, now)
  const { from, to, rooms, cheapest } = stay
  say(
    `Searched rooms for two from ${from} to ${to}: ${rooms} are free, the cheapest is ${cheapest.name} at €${cheapest.total}.`,
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

  const end = await book({ session, talk }, { slug: cheapest.slug, name: cheapest.name, from, to }, options)
  await talk.close()

  expect((await session.signOut()).revoked, 'the Account Token should have been revoked')
  say('Signed out: the hotel took the access back.')

  await isRefused(() => session.call('my_bookings', {}))
  say('Asked for the bookings once more and was refused.')
  return end
}

/** A room for two, a month ahead, or later where earlier visits took all. */
async function findStay(session: Session, now: () => number) {
  const day = (offset: number) => new Date(now() + offset * 86_400_000).toISOString().slice(0, 10)
  for (let ahead = 30; ahead < 300; ahead += 3) {
    const [from, to] = [day(ahead), day(ahead + 2)]
    const found = (await session.call('search_rooms', { from, to, guests: 2 })).body as {
      rooms?: readonly { slug: string; name: string; total: number }[]
    }
    const [cheapest] = [...(found.rooms ?? [])].sort((one, other) => one.total - other.total)
    if (cheapest !== undefined) return { from, to, cheapest, rooms: found.rooms?.length ?? 0 }
  }
  throw new VisitError('This did not go as told: there should be a free room.')
}

/** Has a room proposed, shows it to the guest, and confirms just what they approve. */
async function book(
  { session, talk }: { readonly session: Session; readonly talk: Conversation },
  {
    slug,
    name,
    from,
    to,
  }: { readonly slug: string; readonly name: string; readonly from: string; readonly to: string },
  { say, approve }: VisitOptions,
): Promise<VisitEnd> {
  const wish = {
    text: `Please book ${name} from ${from} to ${to} for 2 guests.`,
    data: { room: slug, from, to, guests: 2 },
  }
  const { messages } = await talk.reply(wish, { seconds })
  const inWords = messages.find(({ operation: proposed }) => proposed !== undefined)?.operation
  // A desk that a model speaks for may want to know more: what it can propose, the agent can ask for by itself.
  const operation = inWords ?? (await session.call('book_room', wish.data)).operation
  expect(operation?.state === 'proposed', 'the hotel should have proposed a booking')
  say(
    `Asked ${inWords ? 'the front desk' : 'the hotel itself, for its front desk proposed nothing,'} to book it. It proposes, and holds nothing yet: “${operation.summary}”`,
  )
  if (!approve) {
    await session.operations.cancel(operation.id)
    say('Nobody could be asked whether to confirm this, so the proposal was turned down and nothing was booked.')
    return { booking: 'nobody asked' }
  }
  const { outcome, operation: confirmed } = await session.operations.confirm(operation.id, {
    approve: async (request) => ({ approved: await approve(request.operation) }),
  })
  if (outcome !== 'confirmed') {
    await session.operations.cancel(operation.id)
    say('The guest did not approve it: the proposal was turned down and nothing was booked.')
    return { booking: 'not approved' }
  }
  say(
    `The guest approved these terms, and the agent confirmed revision ${confirmed.confirmation?.revision}, only that.`,
  )
  const ended = confirmed.isFinal ? confirmed : await session.operations.wait(operation.id)
  const { booking } = (ended.result ?? {}) as { readonly booking?: unknown }
  expect(
    ended.state === 'succeeded' && typeof booking === 'string',
    `the booking should have succeeded, and is ${ended.state}`,
  )
  say(`The hotel booked it, once, as ${booking}, and says: ${ended.state}.`)
  return { booking: ended.state, number: booking }
}

/** An operation as a guest reads it in a terminal before they say yes: a line for each term. */
export function termsAsLines({ terms = {} }: Operation): readonly string[] {
  return Object.entries(terms).map(([name, value]) => {
    const { amount, currency } = (value ?? {}) as { readonly amount?: unknown; readonly currency?: unknown }
    const text = typeof amount === 'string' && typeof currency === 'string' ? `${amount} ${currency}` : value
    return `${name.padEnd(14)} ${typeof text === 'string' ? text : JSON.stringify(text)}`
  })
}

/** What the guest does in a browser: signs in at the hotel, reads who asks for what, and approves. */
export async function approve(
  person: Person,
  url: string,
  guest: { readonly email: string; readonly password: string },
  scopes: readonly string[] = wanted,
): Promise<void> {
  const first = await person.open(url)
  // A guest who is signed in there already sees at once what is asked.
  const isLogin = first.html.includes('name="password"')
  const consent = isLogin ? await person.submit(first, guest) : first
  expect(consent.status === 200, `the page to approve should have come, not ${consent.status}`)
  const back = await person.submit(consent, { scope: scopes, decision: 'approve' })
  expect(back.status === 200, `the way back to the agent should have worked, not ${back.status}`)
}

function firstSentence(text: string): string {
  return /^.{1,300}?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text.slice(0, 300)
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

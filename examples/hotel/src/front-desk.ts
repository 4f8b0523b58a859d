import { type CompanyAgent, type Heard, type Line, scriptedAgent, type ToolOutcome } from 'poppyseed'
import type { Booking } from './bookings.ts'
import { dayAt } from './days.ts'
import { about, bookingNumber, readWish, type Wish, wishOf } from './front-desk-reading.ts'
import { type DeskWords, deskWords } from './front-desk-words.ts'
import type { FreeRoom, Room } from './tools-data.ts'

/*
 * The hotel's front desk in conversations, without a model: rules in order. It knows no more of the guest than the tools tell
 * it, and whether a tool may run is decided where it runs.
 */

type Lines = AsyncGenerator<Line, void, ToolOutcome | undefined>
type Names = readonly Pick<Room, 'slug' | 'name'>[]

/**
 * The front desk.
 * @param rooms what the rooms are called
 * @param now milliseconds since 1970
 */
export function scriptedDesk(rooms: () => Names, now: () => number): CompanyAgent {
  return scriptedAgent({
    rules: [
      { when: about.nature, say: (heard) => words(heard).nature },
      { when: about.unavailable, say: (heard) => words(heard).whenever },
      { when: about.person, say: handOff },
      { when: about.cancel, say: (heard) => forBooking(heard, 'cancel_booking') },
      { when: about.deposit, say: (heard) => forBooking(heard, 'pay_deposit') },
      { when: about.celebration, say: celebration },
      { when: (heard) => about.late.test(heard.text) && !about.book.test(heard.text), say: late },
      { when: about.points, say: points },
      { when: about.bookings, say: (heard) => bookings(heard, dayAt(now())) },
      { when: (heard) => isAbout(heard, about.book, rooms()), say: (heard) => book(heard, rooms()) },
      { when: (heard) => isAbout(heard, about.rooms, rooms()), say: (heard) => search(heard, rooms()) },
      { when: about.house, say: (heard) => words(heard).house },
      { when: about.end, say: close },
      { when: (heard) => before(heard) !== null, say: (heard) => goOn(heard, rooms(), now) },
    ],
    otherwise: (heard) => words(heard).what,
  })
}

const words = ({ turn }: Heard): DeskWords => deskWords(turn.locale)

/** A message for whoever reads it: whole sentences for a person, less and `data` for an AI (7.8). */
function reply({ turn }: Heard, text: string, inShort: string, data?: Readonly<Record<string, unknown>>): Line {
  if (turn.writesFor === 'human' || data === undefined) return text
  return { type: 'message', text: inShort, data }
}

/** Calls a tool; null where it did not run, and why is said. */
async function* ask(
  heard: Heard,
  name: string,
  input: object = {},
): AsyncGenerator<Line, unknown, ToolOutcome | undefined> {
  const outcome = yield { type: 'call', name, input }
  if (outcome?.ok) return outcome.value
  const { signIn, more, notHere, wrong } = words(heard)
  const scope = outcome?.scope ?? ''
  if (outcome?.error === 'sign_in_required')
    yield { type: 'needs-sign-in', text: signIn, ...(scope === '' ? {} : { scope }) }
  else if (outcome?.error === 'insufficient_scope') yield { type: 'needs-scope', text: more, scope }
  else if (outcome?.error === 'extension_required') yield notHere
  // The hotel's own refusals are sentences for the guest.
  else yield outcome?.error === 'tool_failed' ? outcome.description : wrong
  return null
}

async function* handOff(heard: Heard): Lines {
  yield words(heard).handoff
  yield { type: 'handoff', reason: heard.text.slice(0, 300) }
}

/** Some things are not for agents: with the guest in person a person of the hotel talks. */
async function* celebration(heard: Heard): Lines {
  const { turn } = heard
  const reason = words(heard).celebration
  if (turn.isDirect || turn.writesFor === 'human') {
    yield reason
    yield { type: 'handoff', reason: heard.text.slice(0, 300) }
  } else yield { type: 'ask-for-user', reason }
}

/** About late arrival; noted on a booking where its number is given with a time. */
async function* late(heard: Heard): Lines {
  const booking = bookingNumber(heard)
  const time = /\b(?:[01]?\d|2[0-3])[:.][0-5]\d\b/.exec(heard.text)?.[0]
  if (booking === null || time === undefined) {
    yield reply(heard, words(heard).late, words(heard).late, { check_in_from: '15:00', desk_until: '23:00', fee: 0 })
    return
  }
  const noted = yield* ask(heard, 'add_booking_note', { booking, note: `Arrives at about ${time}.` })
  if (noted !== null) yield words(heard).noted(booking)
}

async function* points(heard: Heard): Lines {
  const found = (yield* ask(heard, 'loyalty_points')) as { readonly points: number } | null
  if (found === null) return
  const text = words(heard).points(found.points)
  yield reply(heard, text, text, { points: found.points })
}

async function* bookings(heard: Heard, today: string): Lines {
  const found = (yield* ask(heard, 'my_bookings', { from: today })) as { readonly bookings: readonly Booking[] } | null
  if (found === null) return
  const text = words(heard).bookings(found.bookings)
  const data = found.bookings.map(({ id, roomName, arrival, departure, guests, total, currency, status }) => ({
    ...{ booking: id, room: roomName, arrival, departure, guests, total, currency, status },
  }))
  yield reply(heard, text, text, { bookings: data })
}

/** What is done to a booking that is there: proposed, and done once the guest has confirmed it. */
async function* forBooking(heard: Heard, operation: 'cancel_booking' | 'pay_deposit'): Lines {
  const booking = bookingNumber(heard)
  if (booking === null) {
    yield words(heard).whichBooking
    return
  }
  const proposed = yield* ask(heard, operation, { booking })
  if (proposed !== null) yield words(heard).proposed
}

/** Rooms that are free for the wish, or null where that is not known yet, and was asked for or told. */
async function* freeRooms(
  heard: Heard,
  { from, to, guests }: Wish,
): AsyncGenerator<Line, readonly FreeRoom[] | null, ToolOutcome | undefined> {
  if (from === undefined || to === undefined) {
    yield words(heard).whichDays
    return null
  }
  const input = { from, to, ...(guests === undefined ? {} : { guests }) }
  const found = (yield* ask(heard, 'search_rooms', input)) as { readonly rooms: readonly FreeRoom[] } | null
  if (found === null) return null
  if (found.rooms.length > 0) return found.rooms
  yield words(heard).full
  return null
}

async function* search(heard: Heard, names: Names): Lines {
  const wish = wishOf(heard.history, names)
  const free = yield* freeRooms(heard, wish)
  if (free !== null) yield offer(heard, free, wish)
}

function offer(heard: Heard, free: readonly FreeRoom[], { from = '', to = '' }: Wish, question = ''): Line {
  const { free: inWords, freeInShort } = words(heard)
  const rooms = free.map(({ slug, name, sleeps, pricePerNight, total, currency }) => ({
    ...{ room: slug, name, sleeps, price_per_night: pricePerNight, total, currency },
  }))
  const text = (sentence: string) => (question === '' ? sentence : `${sentence} ${question}`)
  return reply(heard, text(inWords(free, from, to)), text(freeInShort(free.length)), { from, to, rooms })
}

async function* book(heard: Heard, names: Names): Lines {
  const wish = wishOf(heard.history, names)
  const { howMany, whichRoom, notFree, proposed } = words(heard)
  if (wish.from !== undefined && wish.to !== undefined && wish.guests === undefined) {
    yield howMany
    return
  }
  const free = yield* freeRooms(heard, wish)
  if (free === null) return
  const cheapest = [...free].sort((one, other) => one.total - other.total)[0]
  const room = wish.room === undefined ? (wish.isCheapest ? cheapest?.slug : undefined) : wish.room
  const chosen = free.find(({ slug }) => slug === room)
  if (chosen === undefined) {
    const name = names.find(({ slug }) => slug === room)?.name
    yield offer(heard, free, wish, name === undefined ? whichRoom : `${notFree(name)} ${whichRoom}`)
    return
  }
  const input = { room: chosen.slug, from: wish.from, to: wish.to, guests: wish.guests }
  if ((yield* ask(heard, 'book_room', input)) !== null) yield proposed
}

async function* close(heard: Heard): Lines {
  yield words(heard).goodbye
  yield { type: 'close' }
}

/** Whether a message is about this, or adds to an earlier one that was: "for three people". */
function isAbout(heard: Heard, pattern: RegExp, names: Names): boolean {
  if (pattern.test(heard.text)) return true
  const operation = heard.message.data?.operation
  if (pattern === about.book && operation === 'book_room') return true
  if (Object.keys(readWish(heard.message, names)).length === 0) return false
  const since = heard.history.findLastIndex((one) => one.operation !== undefined) + 1
  return heard.history.slice(since, -1).some(({ from, text = '' }) => from === 'user' && pattern.test(text))
}

/** The message that waited for a sign-in, where this one says that it can go on. */
function before({ text, history }: Heard): Heard['message'] | null {
  if (!about.goingOn.test(text)) return null
  return (
    history.slice(0, -1).findLast(({ from, text: said = '' }) => from === 'user' && !about.goingOn.test(said)) ?? null
  )
}

async function* goOn(heard: Heard, names: Names, now: () => number): Lines {
  const message = before(heard)
  if (message === null) return
  const at = heard.history.indexOf(message)
  const { turn } = heard
  const again = { ...turn, history: heard.history.slice(0, at + 1), asked: [message], more: async () => [] }
  const lines = scriptedDesk(() => names, now)(again)[Symbol.asyncIterator]() as Lines
  for (let outcome: ToolOutcome | undefined; ; ) {
    const { done, value } = await lines.next(outcome)
    if (done === true || value === undefined) return
    outcome = yield value
  }
}

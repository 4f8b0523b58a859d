import { AgentError, type Conversation, type ConversationEvent, type Operation, type Session } from '@poppyseed/agent'
import { dayAt } from './days.ts'
import { createPerson } from './person.ts'
import { approve, maya, type VisitOptions, wanted } from './visit.ts'

/** A visit that wants a person: the agent asks for one, waits, and does with them what there is to do. */
export interface HumanVisitOptions extends VisitOptions {
  /** Ends the visit: the conversation is closed and the guest signed out. */
  readonly signal?: AbortSignal
  /** Asked where nobody of the hotel is there: whether to ask for a person once more. Left out, no. */
  readonly askAgain?: () => Promise<boolean>
  /**
   * Asked where the hotel wants to talk with the guest in person: their first words, or null where they won't. Left out, they
   * can't.
   */
  readonly askGuest?: (reason: string) => Promise<string | null>
  /** Given what says a line to the hotel, once there is a conversation: for somebody who types. */
  readonly onOpen?: (send: (line: string) => Promise<void>) => void
}

/** How it ended. `nobody`: no person came. `stopped`: by the signal. */
export type HumanVisitEnd = 'closed' | 'nobody' | 'stopped'

/** How long the front desk may take to answer. */
const seconds = 60
const again = 'Is somebody there now?'
const goingOn = 'Thank you. How many points does the guest have?'

/**
 * Plays the visit with a person.
 * @throws VisitError or AgentError at the first step that doesn't go as told
 */
export async function playHumanVisit(options: HumanVisitOptions): Promise<HumanVisitEnd> {
  const { address, agent, say, guest = maya, person = createPerson(), now = Date.now, signal } = options
  const company = await agent.forUser('visit --human').company(address)
  const session = await company.startSession()
  const signIn = (scopes: readonly string[]) =>
    session.signIn({ scopes: scopes.length > 0 ? scopes : wanted, open: (url) => approve(person, url, guest, scopes) })
  await signIn(wanted)
  say(`Came to ${company.name} for ${guest.email}, who signed in there and approved: ${wanted.join(', ')}.`)

  const request = await requestOf(session, now())
  const talk = await session.conversations.start({
    ...request,
    context: { locale: 'en-GB', userAvailable: options.askGuest !== undefined },
  })
  say(`Wrote to the front desk: “${request.text}”`)
  const visit: Visit = { ...options, session, signIn, talk, request, inbox: new URL('/poppy/inbox', address).href }
  try {
    if (!(await isWaiting(visit))) return 'nobody'
    await follow(visit)
    return 'closed'
  } catch (error) {
    if (signal?.aborted !== true) throw error
    return 'stopped'
  } finally {
    await closed(talk)
    await session.signOut()
    say('Signed out: the hotel took the access back.')
  }
}

async function closed(talk: Conversation): Promise<void> {
  if (talk.status === 'closed') return
  try {
    await talk.close()
  } catch (error) {
    // The hotel closed it at the same moment.
    if (!(error instanceof AgentError && error.code === 'conversation_closed')) throw error
  }
}

interface Visit extends HumanVisitOptions {
  readonly session: Session
  readonly signIn: (scopes: readonly string[]) => Promise<unknown>
  readonly talk: Conversation
  /** What the guest wants to know. */
  readonly request: Awaited<ReturnType<typeof requestOf>>
  readonly inbox: string
}

/** What no rule of a front desk answers: about the guest's next booking. */
async function requestOf(session: Session, now: number) {
  const { body } = await session.call('my_bookings', { from: dayAt(now) })
  const { bookings = [] } = body as { readonly bookings?: readonly Readonly<Record<string, string>>[] }
  const next = bookings.filter(({ status }) => status === 'booked').at(-1)
  if (next === undefined) {
    return { text: 'The guest would like to speak with a person: could she have a room without steps, for her mother?' }
  }
  const { id = '', roomName = '', arrival = '', departure = '' } = next
  return {
    text: `The guest would like to speak with a person about ${id}: ${roomName}, from ${arrival} to ${departure}. Her mother, who uses a wheelchair, wants to come along. Is there a room without steps for the same nights, and what would both cost?`,
    data: { booking: id, from: arrival, to: departure, guests: 1, needs: ['no steps', 'shower with a seat'] },
  }
}

/** Whether a person was asked for: by the front desk itself, or else by the agent. */
async function isWaiting(visit: Visit): Promise<boolean> {
  const { talk, request, say, inbox, askAgain = async () => false } = visit
  let answer = await talk.answer({ seconds })
  for (;;) {
    const isAsked = () => talk.status === 'queued' || talk.responder === 'human'
    if (!isAsked()) {
      await talk.handoff()
      if (!isAsked()) answer = await talk.answer({ seconds })
    }
    const told = answer.messages.at(-1)?.text
    if (told !== undefined) say(`Was told: “${told}”`)
    if (isAsked()) {
      say(`Waits for a person. Be that person: sign in at ${inbox} and take it.`)
      return true
    }
    say(`Nobody is there at this hour. Somebody is as soon as they open ${inbox} and are signed in.`)
    if (!(await askAgain())) return false
    // Whoever comes now reads what it is about in what is asked, not somewhere above it.
    answer = await talk.reply({ ...request, text: `${again} ${request.text}` }, { seconds })
  }
}

/** Follows the conversation to its end, and does what comes. */
async function follow(visit: Visit): Promise<void> {
  const { talk, say, signal, onOpen } = visit
  // With the guest in person, if the hotel asked for them: then what is typed is theirs.
  let direct: Conversation | undefined
  onOpen?.(async (line) => void (await (direct ? direct.sendAsUser(line) : talk.send(line))))
  let wasPerson = false
  let question: string | undefined
  let isHeard = false

  for await (const event of talk.follow(followed(visit))) {
    if (event.type === 'userRequested') {
      direct = event.outcome?.conversation
      say(direct ? 'The guest talks with the hotel in person.' : `The guest can’t talk now, and the hotel knows.`)
      if (direct) for await (const one of direct.follow(followed(visit))) await told(visit, one)
      direct = undefined
      continue
    }
    await told(visit, event)
    if (event.type === 'message' && event.id !== undefined && event.message.id === question) isHeard = true
    if (event.type !== 'state') continue
    if (event.responder === 'human' && !wasPerson) say('A person of the hotel has joined. Who it is stays there.')
    if (event.status === 'queued' && wasPerson) say('The person put it back into the queue. Waits for the next.')
    if (event.responder === 'agent' && event.status !== 'queued' && event.status !== 'closed') {
      if (wasPerson) {
        say(`The person handed it back to the front desk. Goes on with it: “${goingOn}”`)
        question = (await talk.send(goingOn)).id
      } else if (question !== undefined && isHeard && event.status === 'idle') {
        // Answered, and nothing more is wanted.
        await closed(talk)
      } else if (question === undefined) say('Nobody came in time.')
    }
    wasPerson = event.responder === 'human'
    signal?.throwIfAborted()
  }
  say('The conversation is closed.')
}

const followed = ({ signal, signIn, askGuest, say }: Visit): Parameters<Conversation['follow']>[0] => ({
  ...(signal ? { signal } : {}),
  signIn: ({ scopes }) => signIn(scopes),
  onUser: async ({ reason }) => {
    say(`The hotel asks for the guest in person: “${reason}”`)
    const words = (await askGuest?.(reason)) ?? null
    return words === null ? { decline: 'The guest can’t talk with you right now.' } : { words }
  },
})

/** Says what happened, and asks the guest where something is proposed. */
async function told(visit: Visit, event: ConversationEvent): Promise<void> {
  const { say } = visit
  if (event.type === 'authorization') {
    say(
      `The hotel asked for more: ${event.scopes.join(', ')}. ${event.outcome.result === 'continued' ? 'The guest allowed it.' : 'It was not allowed.'}`,
    )
  }
  if (event.type === 'connectionLost')
    say(`The hotel can’t be heard just now, and is asked again: ${event.error.message}`)
  if (event.type === 'connectionBack') say('The hotel answers again.')
  if (event.type !== 'message' || event.message.role !== 'company') return
  const { sender, text, data, operation } = event.message
  const who = sender === 'human' ? 'A person of the hotel' : 'The front desk'
  // A proposal says the same in its summary.
  if (text !== undefined && operation?.state !== 'proposed') say(`${who}: “${text}”`)
  if (data !== undefined) say(`${who} gave data with it: ${JSON.stringify(data)}`)
  if (operation === undefined) return
  if (operation.state !== 'proposed') say(`What was proposed is now: ${operation.state}.`)
  else await decide(visit, operation)
}

async function decide({ session, say, signal, approve: asked }: Visit, operation: Operation): Promise<void> {
  say(`The hotel proposes, and has done nothing yet: “${operation.summary}”`)
  if (!asked) {
    say('Nobody could be asked whether to confirm this, so nothing is done.')
    return
  }
  const { outcome } = await session.operations.confirm(operation.id, {
    approve: async (request) => ({ approved: await asked(request.operation) }),
    ...(signal ? { signal } : {}),
  })
  say(
    outcome === 'confirmed'
      ? 'The guest approved these terms, and the agent confirmed them, only those.'
      : 'The guest did not approve it. Nothing is done.',
  )
}

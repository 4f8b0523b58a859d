import { randomBytes } from 'node:crypto'
import type { ConversationStatus, Speaker } from '@poppyseed/protocol'
import type { Caller } from './services.ts'
import type { Switches } from './switches.ts'

/** What a Company says in its conversations: a small script that a test writes, a turn a list of steps. */

/** One step of a turn. */
export type Step =
  /** A message; `deltas` are the pieces that go to open streams before it. `proposes`: an operation comes with it. */
  | {
      readonly say: string
      readonly sender?: Speaker
      readonly data?: Readonly<Record<string, unknown>>
      readonly deltas?: readonly string[]
      readonly proposes?: boolean
    }
  /** Needs these scopes of the account (7.11): without them an `authorization` event, and the turn waits for the next message. */
  | { readonly needs: readonly string[] }
  /** Asks for the User (7.10). */
  | { readonly asksForUser: string }
  /** Status and responder change: a person joins, or the queue begins. */
  | { readonly state: { readonly status?: ConversationStatus; readonly responder?: Speaker } }
  /** An event of any kind, just so: `id` and `created_at` are added where they are missing. */
  | { readonly event: Readonly<Record<string, unknown>> }
  /** The turn doesn't end: the conversation stays `working` until a test says more. */
  | { readonly holds: true }
  /** The Company closes the conversation. */
  | { readonly closes: true }

/** A message that a Personal Agent sent, as it came. */
export interface ReceivedMessage {
  readonly id: string
  readonly sender: Speaker
  readonly text?: string
  readonly data?: unknown
  readonly context?: unknown
}

/** An event as it is kept. */
export type KeptEvent = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string }

/** What an open stream is told. */
export type Told =
  | { readonly kind: 'event'; readonly event: KeptEvent }
  | { readonly kind: 'delta'; readonly messageId: string; readonly text: string }

/** One conversation of a Company. */
export interface ConversationEntry {
  readonly id: string
  readonly parentId: string | null
  /** Client and User that it belongs to, until it is an account's (7.2). */
  readonly owner: { readonly clientId: string; readonly userId: string }
  account: string | null
  status: ConversationStatus
  responder: Speaker
  readonly events: KeptEvent[]
  /** What came, each message once. */
  readonly received: ReceivedMessage[]
  /** Facts of all messages together (7.4). */
  context: Readonly<Record<string, unknown>>
  /** The Direct Conversation of it that is open. */
  directId: string | null
  /** Rights of the last accepted message. */
  caller: Caller
  /** Whoever waits for something to happen. */
  readonly listeners: Set<(told: Told) => void>
  /** Pieces whose text stands in no message: nobody may act on it (7.6). */
  readonly provisional: string[]
}

/** What runs the steps. */
export interface Stage {
  readonly propose: (caller: Caller) => Readonly<Record<string, unknown>>
  /** The turns that are still to come, for any conversation. */
  readonly turns: (readonly Step[])[]
  readonly now: () => number
}

/** An ID with a prefix, which nobody can guess. */
export const newId = (prefix: string): string => `${prefix}_${randomBytes(12).toString('base64url')}`

/** Adds an event, and wakes whoever waits. */
export function addEvent(
  entry: ConversationEntry,
  now: number,
  event: Readonly<Record<string, unknown>> & { readonly type: string },
): void {
  const kept = { id: newId('evt'), created_at: new Date(now).toISOString(), ...event }
  entry.events.push(kept)
  for (const tell of [...entry.listeners]) tell({ kind: 'event', event: kept })
}

/** Changes status or responder, with a state event where one changes (7.7). */
export function setState(
  entry: ConversationEntry,
  now: number,
  next: { readonly status?: ConversationStatus; readonly responder?: Speaker },
): void {
  const { status = entry.status, responder = entry.responder } = next
  if (status === entry.status && responder === entry.responder) return
  Object.assign(entry, { status, responder })
  addEvent(entry, now, { type: 'state', status, responder })
}

/** How steps are played. */
export type Manner = Readonly<Pick<Switches, 'authorization' | 'unknownEvents' | 'oddEvent' | 'eventTimes'>>

/** Plays the next turn of the script; without one the Company repeats what it heard. */
export function playTurn(entry: ConversationEntry, stage: Stage, manner: Manner): void {
  const turn = stage.turns[0] ?? [{ say: `Heard: ${entry.received.at(-1)?.text ?? 'data'}` }]
  const result = play(entry, turn, stage, manner)
  if (result !== 'unauthorised') stage.turns.shift()
}

/** Plays steps. */
export function play(
  entry: ConversationEntry,
  steps: readonly Step[],
  stage: Stage,
  manner: Manner,
): 'done' | 'held' | 'unauthorised' {
  const { now } = stage
  const end = () => {
    if (entry.status === 'working') setState(entry, now(), { status: 'idle' })
  }
  for (const step of steps) {
    if ('holds' in step) return 'held'
    if ('say' in step) say(entry, step, stage, manner)
    else if ('state' in step) setState(entry, now(), step.state)
    else if ('event' in step) addEvent(entry, now(), { type: 'odd', ...step.event })
    else if ('asksForUser' in step) addEvent(entry, now(), { type: 'user_requested', reason: step.asksForUser })
    else if ('closes' in step) setState(entry, now(), { status: 'closed' })
    else {
      const { caller } = entry
      const lacks = !step.needs.every((scope) => caller.scopes.includes(scope))
      if (manner.authorization === 'always' || caller.account === null || lacks) {
        const error = caller.account === null ? 'sign_in_required' : 'insufficient_scope'
        addEvent(entry, now(), { type: 'authorization', error, scope: step.needs.join(' ') })
        say(entry, { say: 'Please sign in, so that I can look.' }, stage, manner)
        end()
        return 'unauthorised'
      }
      // 7.2: from now on it is the account's
      entry.account = caller.account
    }
  }
  end()
  return 'done'
}

function say(
  entry: ConversationEntry,
  step: Extract<Step, { readonly say: string }>,
  stage: Stage,
  manner: Manner,
): void {
  if (manner.unknownEvents) addEvent(entry, stage.now(), { type: 'example.com/weather', forecast: ['rain', null] })
  for (const odd of oddEvents[manner.oddEvent]()) addEvent(entry, stage.now(), odd)
  const id = newId('msg')
  for (const text of step.deltas ?? []) {
    if (!step.say.includes(text)) entry.provisional.push(text)
    for (const tell of [...entry.listeners]) tell({ kind: 'delta', messageId: id, text })
  }
  const message = {
    ...{ id, role: 'company', sender: step.sender ?? 'agent' },
    ...(step.say === '' ? {} : { text: step.say }),
    ...(step.data === undefined ? {} : { data: step.data }),
    ...(step.proposes ? stage.propose(entry.caller) : {}),
  }
  addEvent(entry, stage.now(), { type: 'message', message })
}

let deep: unknown = 'bottom'
for (let level = 0; level < 2000; level++) deep = { deep }

/** Events that are none, or that nobody should take whole. `raw` is written in the event's place. */
const oddEvents: Readonly<Record<Switches['oddEvent'], () => readonly { readonly type: string }[]>> = {
  none: () => [],
  huge: () => [companyMessage({ text: 'a'.repeat(4_000_000) })],
  out_of_schema: () => [
    companyMessage({ role: 'somebody', text: 7 }),
    { type: 'state', ...{ status: 'asleep', responder: 'nobody' } },
    { type: 'authorization', ...{ error: 'invalid_token', scope: ['poppy:write'] } },
    { type: 'user_requested', ...{ reason: { why: null } } },
    { type: 'direct_opened', ...{ conversation_id: '../evil' } },
  ],
  not_json: () => [{ type: 'message', ...{ raw: '{"id": "evt_x", "type": ' } }],
  no_id: () => [companyMessage({ text: 'nobody knows which' }, { id: '' })],
  deep: () => [companyMessage({ text: 'deep', data: { deep } })],
}

function companyMessage(
  message: Readonly<Record<string, unknown>>,
  head: Readonly<Record<string, unknown>> = {},
): { readonly type: string } {
  return {
    ...head,
    type: 'message',
    ...{ message: { id: newId('msg'), role: 'company', sender: 'agent', ...message } },
  }
}

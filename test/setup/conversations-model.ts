/** What may become of a conversation, written down plainly: a list of events, and what each may follow. No store, no turns. */

export type Status = 'working' | 'idle' | 'queued' | 'closed'
export type Responder = 'agent' | 'human'

/** An event as the model reads it. */
export interface Told {
  readonly id: string
  readonly type: string
  readonly status?: Status
  readonly responder?: Responder
  readonly conversation_id?: string
  readonly reason?: string
  readonly message?: {
    readonly id: string
    readonly role: 'user' | 'company'
    readonly sender: 'agent' | 'human'
    readonly text?: string
    readonly context?: unknown
  }
}

/** A conversation as it is at a moment: by its events, and by its row. */
export interface Known {
  readonly id: string
  readonly parent: string | null
  /** The Direct Conversation that is open beside it, by its events. */
  readonly direct: string | null
  readonly status: Status
  readonly responder: Responder
  readonly holder: string | null
  /** Whose it is: an account's once it was used. */
  readonly account: string | null
  readonly events: readonly Told[]
  readonly row: { readonly status: Status; readonly responder: Responder; readonly direct: string | null }
}

/** Where a conversation stands by its events alone; each is checked against what stands there before it. */
export function fold(events: readonly Told[]): {
  readonly status: Status
  readonly responder: Responder
  readonly direct: string | null
  readonly wrong: readonly string[]
} {
  const wrong: string[] = []
  let status: Status = 'idle'
  let responder: Responder = 'agent'
  let direct: string | null = null
  /** What was said in this time of working: a turn that is begun again says nothing twice. */
  let said = new Map<string, number>()
  /** How many messages nobody has answered yet: a turn for each of them may end in the same words. */
  let asked = 0
  const say = (isWrong: boolean, what: string) => void (isWrong && wrong.push(what))
  for (const [index, { type, message, ...event }] of events.entries()) {
    say(status === 'closed', `${type} after the end`)
    const at = `${status}/${responder}`
    if (type === 'state') {
      const to = `${event.status}/${event.responder}`
      say(to === at, `two state events for one change: ${to}`)
      // The first one may be that a person has it from the beginning, beside a parent that they have.
      say(!(next[at] ?? []).includes(to), `${at} became ${to}`)
      if (event.status === 'working') said = new Map()
      else if (event.responder === 'agent' && event.status === 'idle') asked = 0
      status = event.status as Status
      responder = event.responder as Responder
    } else if (type === 'direct_opened') {
      say(direct !== null, 'a second Direct Conversation beside one')
      direct = event.conversation_id ?? ''
    } else if (type === 'direct_closed') {
      say(direct === null || direct !== event.conversation_id, 'a Direct Conversation closed that was not open')
      direct = null
    } else if (type === 'message' && message?.role === 'user') {
      say(direct !== null, 'a message while a Direct Conversation is open')
      asked += 1
    } else if (type === 'message') {
      const text = message?.text ?? ''
      if (message?.sender === 'human') say(responder !== 'human', `a person speaks who isn't there: ${text}`)
      else {
        say(responder !== 'agent', `the agent speaks in a person's place: ${text}`)
        // Why nobody comes is told whatever the status; all else only by a turn.
        say(status !== 'working' && !text.startsWith('Nobody'), `the agent speaks without a turn: ${text}`)
        const times = (said.get(text) ?? 0) + 1
        const most = anyTurn.test(text) ? asked : 1
        say(times > most && !text.startsWith('Nobody'), `the agent says it twice: ${text}`)
        said.set(text, times)
      }
    } else if (type === 'user_requested') say(direct !== null, 'the User is asked for who is there')
    else say(type !== 'authorization', `an event of type ${type} at ${index}`)
  }
  return { status, responder, direct, wrong }
}

/** Words that are of no message in particular, with which each turn may end that can't answer. */
const anyTurn = /^(?:To go on, I need|Something went wrong)/

/** 7.7: what status and responder may become. */
const next: Readonly<Record<string, readonly string[]>> = {
  'idle/agent': ['working/agent', 'queued/agent', 'idle/human', 'closed/agent'],
  'working/agent': ['idle/agent', 'queued/agent', 'idle/human', 'closed/agent'],
  'queued/agent': ['idle/human', 'idle/agent', 'closed/agent'],
  'idle/human': ['idle/agent', 'working/agent', 'queued/agent', 'closed/human'],
}

/** Something that was tried, and what it came to: `done`, a code of an error, or that the process died over it. */
export interface Act {
  readonly act: string
  readonly on: string
  readonly answer: string
  readonly staff?: string
  /** Whether the caller is signed in. */
  readonly isSignedIn?: boolean
  /** The conversation that it opened. */
  readonly opened?: string
}

const byAgent = ['message', 'context', 'handoff', 'close', 'beside']

/** What an act, alone, has to come to. Null where chance decides. */
export function answerTo({ act, staff, isSignedIn }: Act, known: Known): string | null {
  const isClosed = known.status === 'closed'
  if (byAgent.includes(act)) {
    if (known.account !== null && isSignedIn !== true) return 'sign_in_required'
    if (act === 'close') return 'done'
    if (act === 'beside' && known.parent !== null) return 'conversation_not_found'
    if (isClosed) return 'conversation_closed'
    return known.direct === null ? 'done' : 'direct_conversation_open'
  }
  if (act === 'staff close')
    return !isClosed && known.holder !== null && known.holder !== staff ? 'held_by_other' : 'done'
  if (act === 'note') return 'done'
  if (isClosed) return 'conversation_closed'
  if (act === 'take') return known.holder === null || known.holder === staff ? 'done' : 'held_by_other'
  if (known.holder !== staff) return known.holder === null ? 'not_held' : 'held_by_other'
  if (act === 'ask for user')
    return known.parent !== null ? 'is_direct' : known.direct !== null ? 'direct_open' : 'done'
  if (act === 'open account') return null
  return 'done'
}

/** What is wrong with a conversation's having become what it is. */
export function objections(
  before: Known | undefined,
  after: Known,
  {
    acts,
    replies,
    accepted,
  }: { readonly acts: readonly Act[]; readonly replies: ReadonlySet<string>; readonly accepted: ReadonlySet<string> },
): string[] {
  const folded = fold(after.events)
  const wrong = [...folded.wrong]
  const say = (isWrong: boolean, what: string) => void (isWrong && wrong.push(what))
  const { row } = after

  // The row says what the events say, and what was told stays told.
  say(
    row.status !== folded.status || row.responder !== folded.responder,
    `the row is ${row.status}/${row.responder}, the events ${folded.status}/${folded.responder}`,
  )
  say(row.direct !== folded.direct, 'the row has another Direct Conversation than the events')
  say(new Set(after.events.map(({ id }) => id)).size !== after.events.length, 'two events with one id')
  const past = before?.events ?? []
  say(JSON.stringify(after.events.slice(0, past.length)) !== JSON.stringify(past), 'what was told has changed')

  // A person has it, or nobody.
  say(
    (after.holder !== null) !== (row.responder === 'human' && row.status !== 'closed'),
    `${after.holder} has it, and it is ${row.status}/${row.responder}`,
  )

  for (const { message } of after.events) {
    if (message === undefined) continue
    const { id, role, sender, text = '' } = message
    say(role === 'user' && !accepted.has(id), `a message that nobody sent: ${id}`)
    say(role === 'company' && sender === 'human' && !replies.has(text), `words that no person wrote: ${text}`)
    say(role === 'company' && sender === 'agent' && replies.has(text), `a person's words as the agent's: ${text}`)
  }
  const ids = after.events.flatMap(({ message }) => (message?.role === 'user' ? message.id : []))
  say(new Set(ids).size !== ids.length, 'a message twice')
  say(before !== undefined && before.account !== null && before.account !== after.account, 'it changed its account')

  // What is tried alone has one right answer.
  const [only] = acts
  if (acts.length !== 1 || only === undefined || before === undefined || only.answer === 'died') return wrong
  const right = answerTo(only, before)
  say(
    right !== null && right !== only.answer,
    `${only.act} at ${before.status}/${before.responder} came to ${only.answer}, not ${right}`,
  )
  if (only.answer !== 'done' || right === null) {
    // A turn that was left at its gate goes on meanwhile, so only what stood still is looked at.
    say(
      before.status !== 'working' && before.events.length !== after.events.length && only.act !== 'open account',
      `a refused ${only.act} told something`,
    )
    return wrong
  }
  if (only.act === 'take') say(after.holder !== only.staff, 'whoever took it does not have it')
  if (only.act === 'close' || only.act === 'staff close') say(row.status !== 'closed', 'it was closed and is open')
  if (only.act === 'release') say(row.status !== 'queued', 'it was put back and does not wait')
  if (only.act === 'hand back') say(after.holder !== null, 'it was handed back, and a person has it')
  if (only.act === 'handoff' && before.status === 'queued')
    say(past.length !== after.events.length, 'a second handoff told something')
  if (only.act === 'context' || only.act === 'note')
    say(
      before.status !== 'working' && (row.status !== before.status || row.responder !== before.responder),
      `a ${only.act} changed where it stands`,
    )
  if (only.act === 'message' && before.status === 'queued') say(row.status !== 'queued', 'a message ended the wait')
  if (only.act === 'message' && before.responder === 'human')
    say(row.responder !== 'human' || row.status !== 'idle', 'a message went to the agent while a person has it')
  return wrong
}

/** What is wrong with a parent and its Direct Conversation, together. */
export function objectionsToPair(parent: Known, direct: Known): string[] {
  const opened = parent.events.filter(
    ({ type, conversation_id }) => type === 'direct_opened' && conversation_id === direct.id,
  )
  const closed = parent.events.filter(
    ({ type, conversation_id }) => type === 'direct_closed' && conversation_id === direct.id,
  )
  const isOver = direct.status === 'closed'
  return [
    ...(opened.length === 1 ? [] : [`the parent was told ${opened.length} times that ${direct.id} opened`]),
    ...(closed.length === (isOver ? 1 : 0) ? [] : [`the parent was told ${closed.length} times that it closed`]),
    ...(parent.status === 'closed' && !isOver ? ['the parent is closed, and its Direct Conversation is open'] : []),
  ]
}

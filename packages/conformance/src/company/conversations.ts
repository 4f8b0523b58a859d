import { isJsonObject, PoppyError } from '@poppyseed/protocol'
import { type Reply, reply } from '../delivery.ts'
import { type ConversationRules, createConversationRules } from './conversation-rules.ts'
import {
  addEvent,
  type ConversationEntry,
  type KeptEvent,
  newId,
  play,
  playTurn,
  type ReceivedMessage,
  type Stage,
  type Step,
  setState,
} from './conversation-script.ts'
import { writeStream } from './conversation-stream.ts'
import type { Exchange } from './exchange.ts'
import { authenticate, type Caller, type ServiceParts } from './services.ts'
import { type Switches, wellBehaved } from './switches.ts'

/** Conversations (7) of one Company: a ledger of events each, by long poll and by stream, said by a script. */

/** The conversations of a Company, and what a test does to them. */
export interface ConversationDesk {
  readonly entries: readonly ConversationEntry[]
  readonly answer: (exchange: Exchange) => Promise<Reply>
  /** What became of the answer to a request. */
  readonly ended: (exchange: Exchange, isWhole: boolean) => void
  /** The turns that come next, in any conversation; then what was heard is repeated. */
  readonly script: (...turns: readonly (readonly Step[])[]) => void
  /** The Company does something out of turn, or ends a turn that was held. */
  readonly say: (id: string, ...steps: readonly Step[]) => void
  /** The Company keeps only so many of the newest events (7.5). */
  readonly keepOnly: (id: string, count: number) => void
}

interface Receipt {
  readonly content: string
  readonly conversationId: string
  readonly status: number
  readonly answer: Readonly<Record<string, unknown>>
}

/** What a desk works with. `live` are the switches as they are now, for what happens out of turn. */
export interface ConversationParts {
  readonly services: ServiceParts
  readonly now: () => number
  readonly live: () => Readonly<Switches>
}

/** Opens the desk. */
export function createConversationDesk({ services, now, live }: ConversationParts): ConversationDesk {
  const entries: ConversationEntry[] = []
  /** By client, User and message ID: unique for the User, not for a conversation (7.3). */
  const receipts = new Map<string, Receipt>()
  const forgotten = new Map<string, Set<string>>()
  const rules: ConversationRules = createConversationRules(services.findings)
  let exchangeOf: Exchange | undefined
  const stage: Stage = {
    turns: [],
    now: () => timeOf(entries, now(), live().eventTimes),
    propose: (caller) => {
      const desk = services.desk()
      const entry = desk.propose(caller)
      // Told in a message: nothing that was shown at the endpoint
      return exchangeOf ? desk.written(entry, exchangeOf, 'wrapped') : {}
    },
  }

  const standing = (entry: ConversationEntry, { conversationAnswer }: Readonly<Switches>, isFirst: boolean) => ({
    ...(conversationAnswer === 'no_id' && !isFirst
      ? {}
      : { conversation_id: conversationAnswer === 'other_id' && !isFirst ? 'cnv_another' : entry.id }),
    ...(conversationAnswer === 'no_status' ? {} : { status: entry.status }),
    responder: entry.responder,
  })

  function find(id: string | undefined, caller: Caller): ConversationEntry {
    const entry = entries.find((one) => one.id === id)
    if (!entry || entry.owner.clientId !== caller.clientId) throw new PoppyError('conversation_not_found')
    // 7.2: the account's once it has used it, and the User's before
    if (entry.account === null ? entry.owner.userId !== caller.userId : isAnothers(entry, caller))
      throw new PoppyError('conversation_not_found')
    if (entry.account !== null && caller.account === null) throw new PoppyError('sign_in_required')
    return entry
  }

  async function answer(exchange: Exchange): Promise<Reply> {
    const { switches, method, path } = exchange
    exchangeOf = exchange
    const caller = await authenticate(exchange, 'DPoP', [], services)
    const [, , id, verb, more] = path.split('/')
    if (more !== undefined) throw new PoppyError('not_found')
    if (id === undefined && method === 'POST') return post(exchange, caller, undefined)
    const entry = find(id, caller)
    if (verb === 'events' && method === 'GET') return read(exchange, entry)
    if (verb === 'messages' && method === 'POST') return post(exchange, caller, entry)
    if (method !== 'POST' || !['handoff', 'close'].includes(verb ?? '')) throw new PoppyError('not_found')
    if (verb === 'close') {
      const direct = entries.find((one) => one.id === entry.directId)
      if (direct) closeDirect(direct)
      closeDirect(entry)
      return reply(200, standing(entry, switches, false))
    }
    refuseClosed(entry)
    if (entry.status !== 'queued' && entry.responder === 'agent') setState(entry, now(), { status: 'queued' })
    return reply(202, standing(entry, switches, false))
  }

  function closeDirect(entry: ConversationEntry): void {
    if (entry.status === 'closed') return
    setState(entry, now(), { status: 'closed' })
    const parent = entries.find((one) => one.id === entry.parentId)
    if (!parent || parent.directId !== entry.id) return
    parent.directId = null
    addEvent(parent, now(), { type: 'direct_closed', conversation_id: entry.id })
  }

  async function post(exchange: Exchange, caller: Caller, target: ConversationEntry | undefined): Promise<Reply> {
    const { switches } = exchange
    const body = parse(exchange.body)
    const message = isJsonObject(body.message) ? body.message : {}
    const parentId = body.parent_conversation_id
    const { id, sender, text, data, context } = message
    const content = canonical({ target: target?.id ?? null, parentId, sender, text, data, context })
    const key = JSON.stringify([caller.clientId, caller.userId, id])
    const before = receipts.get(key)
    if (before && before.content !== content) {
      rules.otherContent(exchange)
      throw new PoppyError('message_id_conflict')
    }
    if (before) rules.retried(exchange, content, id)
    else rules.message(exchange, message, content, target, target === undefined && parentId !== undefined)
    // 7.3: a retry is answered before anything else is asked of it
    const known = before && entries.find((one) => one.id === before.conversationId)
    if (before && known) return after(exchange, known, before)
    if (!isMessage(message)) throw new PoppyError('invalid_request')
    if (target) refuseClosed(target)
    const entry = target ?? open(exchange, caller, parentId)
    entry.caller = caller
    entry.received.push(message)
    if (isJsonObject(context)) entry.context = { ...entry.context, ...context }
    addEvent(entry, stage.now(), { type: 'message', message: { ...message, role: 'user' } })
    const startsTurn = text !== undefined || data !== undefined
    const isWorking = startsTurn && entry.status === 'idle' && entry.responder === 'agent'
    if (isWorking) setState(entry, stage.now(), { status: 'working' })
    const receipt: Receipt = {
      ...{ content, conversationId: entry.id, status: target ? 202 : 201 },
      answer: standing(entry, switches, !target),
    }
    receipts.set(key, receipt)
    if (isWorking) playTurn(entry, stage, switches)
    return after(exchange, entry, receipt)
  }

  /** 7.3: the answer to a POST: what it said first, or a read where `wait` is given. */
  async function after(exchange: Exchange, entry: ConversationEntry, receipt: Receipt): Promise<Reply> {
    if (!exchange.query.has('wait') || exchange.switches.waits === 'not_on_posts')
      return reply(receipt.status, receipt.answer)
    return page(exchange, entry, receipt.status)
  }

  function open(exchange: Exchange, caller: Caller, parentId: unknown): ConversationEntry {
    let parent: ConversationEntry | undefined
    if (parentId !== undefined) {
      if (exchange.switches.directs === 'refused') throw new PoppyError('invalid_request')
      parent = find(typeof parentId === 'string' ? parentId : '', caller)
      if (parent.parentId !== null) throw new PoppyError('conversation_not_found')
      refuseClosed(parent)
    }
    const entry: ConversationEntry = {
      ...{ id: newId('cnv'), parentId: parent?.id ?? null, owner: caller, account: parent?.account ?? null },
      ...{ status: 'idle', responder: 'agent', events: [], received: [], context: {}, directId: null, caller },
      ...{ listeners: new Set(), provisional: [] },
    }
    entries.push(entry)
    if (parent) {
      parent.directId = entry.id
      addEvent(parent, stage.now(), { type: 'direct_opened', conversation_id: entry.id })
    }
    return entry
  }

  async function read(exchange: Exchange, entry: ConversationEntry): Promise<Reply> {
    const { switches, headers } = exchange
    const wantsStream = /(^|,)\s*text\/event-stream/i.test(headers.accept ?? '')
    if (!wantsStream || switches.stream === 'json') return page(exchange, entry, 200)
    const last = headers['last-event-id']
    if (last !== undefined && exchange.query.has('cursor'))
      services.findings.report('7.6.last-event-id-agent', 'a cursor beside Last-Event-ID', exchange)
    const backlog = since(exchange, entry, typeof last === 'string' ? last : exchange.query.get('cursor'))
    const isAlive = () => tokenHolds(exchange, services, now())
    return {
      status: 200,
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' },
      body: '',
      stream: (response) => writeStream(response, { entry, exchange, backlog, isAlive }),
    }
  }

  /** The events after a cursor; all without one. */
  function since(exchange: Exchange, entry: ConversationEntry, cursor: string | null): readonly KeptEvent[] {
    const { cursors, repeatsEvents } = exchange.switches
    if (cursor === null) return entry.events
    const at = entry.events.findIndex(({ id }) => id === cursor)
    const isGone = forgotten.get(entry.id)?.has(cursor) === true
    rules.cursor(exchange, cursor, at >= 0 || isGone)
    if (isGone || cursors === 'expired') {
      rules.expired(exchange, cursor)
      throw new PoppyError('cursor_expired')
    }
    if (at < 0 || cursors === 'invalid') throw new PoppyError('invalid_cursor')
    return entry.events.slice(Math.max(0, at + 1 - repeatsEvents))
  }

  async function page(exchange: Exchange, entry: ConversationEntry, status: number): Promise<Reply> {
    const { switches, query } = exchange
    const cursor = query.get('cursor')
    const wait = query.get('wait')
    if (wait !== null && !/^\d{1,6}$/.test(wait)) throw new PoppyError('invalid_request')
    const isEnough = (event: KeptEvent) => switches.waits === 'ends_on_echo' || endsWait(event)
    const found = since(exchange, entry, cursor)
    if (Number(wait) > 0 && !found.some(isEnough) && entry.status !== 'closed')
      await nextEvent(exchange, entry, Math.min(Number(wait), switches.pollSeconds), isEnough)
    // Looked up once more: what came meanwhile belongs to it
    const all = since(exchange, entry, cursor)
    const events = all.slice(0, switches.pageSize)
    return reply(status, {
      ...standing(entry, switches, status === 201),
      events: events.map(written),
      ...(switches.conversationAnswer === 'no_cursor' ? {} : { cursor: events.at(-1)?.id ?? cursor }),
      has_more: events.length < all.length,
    })
  }

  return {
    entries,
    answer,
    ended: (exchange, isWhole) => rules.ended(exchange, isWhole),
    script: (...turns) => void stage.turns.push(...turns),
    say: (id, ...steps) => {
      const entry = entries.find((one) => one.id === id)
      if (!entry) throw new Error(`no conversation ${id}`)
      play(entry, steps, stage, { ...wellBehaved, ...live() })
    },
    keepOnly: (id, count) => {
      const entry = entries.find((one) => one.id === id)
      if (!entry) throw new Error(`no conversation ${id}`)
      const gone = entry.events.splice(0, Math.max(0, entry.events.length - count))
      forgotten.set(id, new Set([...(forgotten.get(id) ?? []), ...gone.map((event) => event.id)]))
    },
  }
}

function isAnothers(entry: ConversationEntry, { account, userId }: Caller): boolean {
  return account === null ? entry.owner.userId !== userId : account !== entry.account
}

/** 7.10, 7.12. */
function refuseClosed(entry: ConversationEntry): void {
  if (entry.status === 'closed') throw new PoppyError('conversation_closed')
  if (entry.directId !== null)
    throw new PoppyError('direct_conversation_open', { extra: { conversation_id: entry.directId } })
}

/** Whether an event ends a wait: all but the caller's own messages, and the working that they cause. */
function endsWait(event: KeptEvent): boolean {
  if (event.type === 'state') return event.status !== 'working'
  return !(event.type === 'message' && isJsonObject(event.message) && event.message.role === 'user')
}

function nextEvent(
  { socket }: Exchange,
  { listeners }: ConversationEntry,
  seconds: number,
  isEnough: (event: KeptEvent) => boolean,
): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      listeners.delete(listener)
      socket.off('close', done)
      resolve()
    }
    const listener = (told: { readonly kind: string; readonly event?: KeptEvent }) => {
      if (told.event && isEnough(told.event)) done()
    }
    const timer = setTimeout(done, seconds * 1000)
    listeners.add(listener)
    socket.once('close', done)
  })
}

function tokenHolds({ headers }: Exchange, { ledger }: ServiceParts, now: number): boolean {
  const record = ledger.tokens.get((headers.authorization ?? '').split(' ')[1] ?? '')
  if (!record || now >= record.expiresAt || ledger.sessions.get(record.sessionId)?.ended !== false) return false
  return record.grant === null || ledger.grants.get(record.grant)?.state !== 'revoked'
}

/** An event as it stands in a page. */
function written(event: KeptEvent): unknown {
  if (typeof event.raw === 'string') return event.raw
  const { id, ...rest } = event
  return id === '' ? rest : event
}

function isMessage(message: Readonly<Record<string, unknown>>): message is ReceivedMessage & typeof message {
  const { id, sender, text, data, context } = message
  return (
    typeof id === 'string' &&
    (sender === 'agent' || sender === 'human') &&
    (text === undefined || typeof text === 'string') &&
    (text !== undefined || data !== undefined || context !== undefined)
  )
}

function parse(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body)
    if (isJsonObject(value)) return value
  } catch {
    // What isn't JSON is as wrong as another value.
  }
  throw new PoppyError('invalid_request')
}

/** JSON with its members in order. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value) ?? 'null'
  const names = Object.keys(value).filter((name) => value[name] !== undefined)
  return `{${names
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)
    .join(',')}}`
}

function timeOf(entries: readonly ConversationEntry[], now: number, how: Switches['eventTimes']): number {
  if (how === 'clock') return now
  const count = entries.reduce((sum, { events }) => sum + events.length, 0)
  return Date.UTC(2026, 0, 1) - (how === 'backwards' ? count * 60_000 : 0)
}

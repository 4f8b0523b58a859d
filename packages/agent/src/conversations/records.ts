import { type ConversationStatus, conversationStatuses, type Speaker, speakers } from '@poppyseed/protocol'
import { z } from 'zod'
import type { AgentContext } from '../context.ts'
import { AgentError } from '../errors.ts'
import type { SessionPlace } from '../sessions/records.ts'
import { type StoredValue, storeKey } from '../store/store.ts'

/** What is kept of conversations: which there are, where each stands, and how far it was handled. No word of them. */

const recordSchema = z.object({
  version: z.literal(1),
  company: z.string(),
  domain: z.string(),
  /** What the Company was opened by. */
  address: z.string(),
  session: z.string(),
  /** The conversation that a Direct Conversation is linked to. */
  parent: z.string().nullable(),
  status: z.enum(conversationStatuses),
  responder: z.enum(speakers),
  /** Whether the Company said last that it knows no such conversation (7.13). */
  isUnknown: z.boolean().default(false),
  /** The last event that was handled: reading goes on after it. */
  cursor: z.string().nullable(),
  /** The newest that were handled; what comes again is skipped. */
  handled: z.array(z.string()),
  /** What the Company last asked of the account and was given (7.11), and how often it was given something, one soon after another. */
  asked: z
    .object({ what: z.string(), event: z.string().nullable(), at: z.number(), times: z.number().default(1) })
    .nullable(),
  /** Unix time in milliseconds. */
  startedAt: z.number(),
  heardAt: z.number(),
})

/** A conversation as it is kept. */
export type ConversationRecord = z.infer<typeof recordSchema>

/** A conversation that this agent knows of, as last heard. */
export interface KnownConversation {
  readonly id: string
  /** The one before it, for a Direct Conversation (7.10). */
  readonly parentId: string | undefined
  readonly company: { readonly name: string; readonly domain: string }
  /** What to open the Company by. */
  readonly address: string
  readonly account: string
  readonly session: string
  readonly status: ConversationStatus
  readonly responder: Speaker
  /** Whether the Company said last that it knows no such conversation: it has forgotten it, or it is another account's. */
  readonly isUnknown: boolean
  /** Unix time in milliseconds. */
  readonly startedAt: number
  readonly heardAt: number
}

/** As many event ids are kept of one conversation. */
const maxHandled = 200
/** As many conversations of one User at one account are kept, and those that are over for so long, in milliseconds. */
const maxKept = 200
const keptFor = 30 * 24 * 3600 * 1000

/** Whose conversations. */
export interface ConversationPlace extends SessionPlace {
  readonly company: string
  readonly domain: string
  readonly address: string
}

/** Reads and writes what is kept of the conversations of one account at one Company. */
export interface ConversationRecords {
  readonly get: (id: string) => Promise<ConversationRecord | undefined>
  /** One that nothing is known of yet. It is kept once something is heard of it. */
  readonly blank: () => ConversationRecord
  /** Changes a record; makes one where there is none. */
  readonly note: (
    id: string,
    change: (before: ConversationRecord) => Partial<ConversationRecord>,
  ) => Promise<ConversationRecord>
  /** That events were handled, in their order. */
  readonly handled: (id: string, events: readonly string[], cursor: string | null) => Promise<void>
  readonly list: () => Promise<readonly KnownConversation[]>
}

/** The records of one account at one Company. */
export function conversationRecords({ store, now }: AgentContext, place: ConversationPlace): ConversationRecords {
  const prefix = storeKey('conversation', place.userKey, place.issuer, place.account)
  const keyOf = (id: string) => `${prefix}/${encodeURIComponent(id)}`
  const note: ConversationRecords['note'] = async (id, change) => {
    let isNew = false
    const saved = await store.update(keyOf(id), (stored) => {
      const kept = read(stored)
      isNew = kept === undefined
      const before = kept ?? fresh(place, now())
      return { ...before, ...change(before), heardAt: now() }
    })
    const record = read(saved)
    if (record === undefined) throw new Error('A record was written that can’t be read.')
    if (isNew) await prune(store, now(), `${prefix}/`)
    return record
  }
  return {
    get: async (id) => read(await store.get(keyOf(id))),
    blank: () => fresh(place, now()),
    note,
    handled: async (id, events, cursor) => {
      const heard = (before: ConversationRecord) => [...before.handled, ...events].slice(-maxHandled)
      await note(id, (before) => ({ cursor, handled: heard(before), isUnknown: false }))
    },
    list: () => listed(store, `${prefix}/`),
  }
}

function fresh({ company, domain, address, session }: ConversationPlace, now: number): ConversationRecord {
  return {
    ...{ version: 1, company, domain, address, session, parent: null, status: 'idle', responder: 'agent' },
    ...{ isUnknown: false, cursor: null, handled: [], asked: null, startedAt: now, heardAt: now },
  }
}

/** All conversations of a User's agent, at every Company. */
export function knownConversations({ store }: AgentContext, userKey: string): Promise<readonly KnownConversation[]> {
  return listed(store, `${storeKey('conversation', userKey)}/`)
}

async function listed(store: AgentContext['store'], prefix: string): Promise<readonly KnownConversation[]> {
  const known: KnownConversation[] = []
  for (const key of await store.keys(prefix)) {
    const record = read(await store.get(key))
    const [account = '', id = ''] = key.split('/').slice(3).map(decodeURIComponent)
    if (!record) continue
    const { company: name, domain, address, session, parent, status, responder, isUnknown, startedAt, heardAt } = record
    known.push({
      ...{ id, parentId: parent ?? undefined, company: { name, domain }, address, account, session },
      ...{ status, responder, isUnknown, startedAt, heardAt },
    })
  }
  return known.sort((left, right) => right.heardAt - left.heardAt)
}

/** Forgets those that are over and that nobody came back to, and the oldest where there are too many. */
async function prune(store: AgentContext['store'], now: number, prefix: string): Promise<void> {
  const keys = await store.keys(prefix)
  const records = await Promise.all(keys.map(async (key) => ({ key, record: read(await store.get(key)) })))
  const closedFirst = records.sort(
    (left, right) =>
      Number(isOver(right.record)) - Number(isOver(left.record)) ||
      (left.record?.heardAt ?? 0) - (right.record?.heardAt ?? 0),
  )
  const tooMany = Math.max(0, keys.length - maxKept)
  for (const [at, { key, record }] of closedFirst.entries()) {
    const isPast = record === undefined || (isOver(record) && now - record.heardAt >= keptFor)
    if (at < tooMany || isPast) await store.update(key, () => undefined)
  }
}

function isOver(record: ConversationRecord | undefined): boolean {
  return record?.status === 'closed' || record?.isUnknown === true
}

/** 7.13: what a refusal says of the conversation itself is what is known of it from then on. */
export async function heed(records: ConversationRecords, id: string, error: unknown): Promise<void> {
  if (!(error instanceof AgentError) || (await records.get(id)) === undefined) return
  if (error.code === 'conversation_closed') await records.note(id, () => ({ status: 'closed', isUnknown: false }))
  if (error.code === 'conversation_not_found') await records.note(id, () => ({ isUnknown: true }))
}

function read(value: StoredValue | undefined): ConversationRecord | undefined {
  const parsed = recordSchema.safeParse(value)
  return parsed.success ? parsed.data : undefined
}

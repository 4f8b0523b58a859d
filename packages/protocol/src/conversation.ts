import { z } from 'zod'
import { operationSchema } from './operation.ts'

/** Section 7: conversations as they travel, the same for both sides. */

/** What the Company side of a conversation does (7.7). */
export const conversationStatuses = ['working', 'idle', 'queued', 'closed'] as const

/** A status of {@link conversationStatuses}. */
export type ConversationStatus = (typeof conversationStatuses)[number]

/** Who handles the Company side of a conversation, or wrote a message (7.7, 7.8). */
export const speakers = ['agent', 'human'] as const

/** A word of {@link speakers}. */
export type Speaker = (typeof speakers)[number]

/** How large a message may be, and how long a read may be held: ours; 7.4 leaves it open. */
export const conversationLimits = {
  /** Characters (UTF-16 units) of `text`. */
  text: 32_000,
  /** Bytes of `data` as JSON. */
  data: 65_536,
  /** Bytes of `context` as JSON: of one message, and of all that a conversation has gathered. */
  context: 8_192,
  /** Bytes of a request's body. */
  body: 262_144,
  /** Levels of objects and arrays in a body. */
  depth: 16,
  /** Seconds that a read is held at most (7.5: the Company may cap `wait`). */
  wait: 30,
  /** Events of a page. */
  page: 100,
} as const

const id = z.string().regex(/^[A-Za-z0-9_-]{1,256}$/)
const time = z.iso.datetime({ offset: true }).max(64)
const object = z.record(z.string(), z.unknown())

/** RFC 5646, as far as it can be told without a registry. */
const locale = z
  .string()
  .max(100)
  .refine((tag) => isLocale(tag), 'must be a language tag such as en-US (RFC 5646)')
const timeZone = z
  .string()
  .max(100)
  .refine((name) => isTimeZone(name), 'must be an IANA time zone name such as America/Los_Angeles')

/** Whether a string is a language tag (RFC 5646). */
export function isLocale(tag: string): boolean {
  // Private use alone, which the standard allows and `Intl` does not.
  if (/^x(-[a-z0-9]{1,8})+$/i.test(tag)) return true
  try {
    return Intl.getCanonicalLocales(tag).length === 1
  } catch {
    return false
  }
}

/** Whether a string is a time zone's IANA name; an offset such as `+02:00` is none. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

/** Facts about the User's situation (7.4): three with a format of their own, and whatever else the agent shares. */
export const contextSchema = z.looseObject({
  locale: locale.optional(),
  time_zone: timeZone.optional(),
  user_available: z.boolean().optional(),
})

/** Facts about the User's situation, as they travel. */
export type WireContext = z.infer<typeof contextSchema>

/** A message from the Personal Agent (7.3, 7.4). Unknown members are ignored. */
export const agentMessageSchema = z.object({
  id,
  sender: z.enum(speakers),
  text: z.string().optional(),
  data: object.optional(),
  context: contextSchema.optional(),
})

/** A message from the Personal Agent, as it travels. */
export type WireAgentMessage = z.infer<typeof agentMessageSchema>

/** The body that starts a conversation (7.3, 7.10). */
export const startRequestSchema = z.object({ message: agentMessageSchema, parent_conversation_id: id.optional() })

/** The body of a later message (7.3). */
export const messageRequestSchema = z.object({ message: agentMessageSchema })

/** A message as an event holds it, of either side. `operation` is of the Operations extension. */
export const eventMessageSchema = z.object({
  id,
  role: z.enum(['user', 'company']),
  sender: z.enum(speakers),
  text: z.string().optional(),
  data: object.optional(),
  context: object.optional(),
  operation: operationSchema.optional(),
})

/** A message as an event holds it. */
export type WireEventMessage = z.infer<typeof eventMessageSchema>

const head = { id, created_at: time }

/** The events that are defined (7.5). */
export const conversationEventSchema = z.discriminatedUnion('type', [
  z.object({ ...head, type: z.literal('message'), message: eventMessageSchema }),
  z.object({
    ...head,
    type: z.literal('state'),
    status: z.enum(conversationStatuses),
    responder: z.enum(speakers),
  }),
  z.object({
    ...head,
    type: z.literal('authorization'),
    error: z.enum(['sign_in_required', 'insufficient_scope']),
    scope: z.string().max(4000).optional(),
  }),
  z.object({ ...head, type: z.literal('user_requested'), reason: z.string() }),
  z.object({ ...head, type: z.literal('direct_opened'), conversation_id: id }),
  z.object({ ...head, type: z.literal('direct_closed'), conversation_id: id.optional() }),
])

/** An event, as it travels. */
export type WireEvent = z.infer<typeof conversationEventSchema>

/** What every event has, also one of a type that isn't known (7.5). */
export const eventHeadSchema = z.looseObject({ ...head, type: z.string().min(1).max(200) })

/** An event of any type. */
export type WireEventHead = z.infer<typeof eventHeadSchema>

/** What every successful answer says (7.7). Some Companies leave `conversation_id` out of later ones. */
export const conversationStandingSchema = z.object({
  conversation_id: id.optional(),
  status: z.enum(conversationStatuses),
  responder: z.enum(speakers),
})

/** Where a conversation stands, as it travels. */
export type WireStanding = z.infer<typeof conversationStandingSchema>

/** A page of events (7.5). Each event is read by itself, so that one of an unknown type doesn't spoil the page. */
export const eventsPageSchema = conversationStandingSchema.extend({
  events: z.array(z.unknown()).max(10_000),
  /** Null where nothing has happened yet. */
  cursor: id.nullable(),
  has_more: z.boolean(),
})

/** A page of events, as it travels. */
export type WireEventsPage = z.infer<typeof eventsPageSchema>

/** A piece of a message that is being written (7.6): to be shown, never to be acted on. */
export const textDeltaSchema = z.object({ message_id: id, text: z.string() })

/** A piece of a message, as it travels. */
export type WireTextDelta = z.infer<typeof textDeltaSchema>

/** The name of the SSE event that carries a {@link WireTextDelta} (7.6). */
export const textDeltaEvent = 'text-delta'

import {
  conversationLimits,
  isJsonObject,
  messageRequestSchema,
  PoppyError,
  startRequestSchema,
  type WireAgentMessage,
} from '@poppyseed/protocol'
import { sha256 } from '../crypto/hash.ts'

/** A message of the Personal Agent as it arrives (7.3, 7.4): checked, and known again when it comes twice. */

/** The body that starts a conversation, once it is checked. */
export interface StartRequest {
  readonly message: WireAgentMessage
  readonly parentId: string | null
}

/** @throws PoppyError `invalid_request`, `request_too_large` */
export function readStart(body: Readonly<Record<string, unknown>>): StartRequest {
  const parsed = startRequestSchema.safeParse(body)
  if (!parsed.success) throw malformed(body, 'parent_conversation_id, where it is given, is a Conversation ID')
  const { message, parent_conversation_id: parentId = null } = parsed.data
  return { message: checkMessage(message), parentId }
}

/** @throws PoppyError `invalid_request`, `request_too_large` */
export function readMessage(body: Readonly<Record<string, unknown>>): WireAgentMessage {
  const parsed = messageRequestSchema.safeParse(body)
  if (!parsed.success) throw malformed(body)
  return checkMessage(parsed.data.message)
}

function malformed({ message }: Readonly<Record<string, unknown>>, otherwise = ''): PoppyError {
  const description = isJsonObject(message)
    ? `message has an id (1 to 256 letters, digits, - and _), a sender ("agent" or "human"), and at least one of text (a string), data (an object) and context (an object; locale is a language tag, time_zone an IANA name, user_available true or false)${otherwise === '' ? '' : `; ${otherwise}`}.`
    : 'The body is { "message": { "id", "sender", "text" } }.'
  return new PoppyError('invalid_request', { description })
}

function checkMessage(message: WireAgentMessage): WireAgentMessage {
  const { text, data, context, ...rest } = message
  // 7.4: blank text says nothing, so it is as if there were none
  const isSaid = text !== undefined && text.trim() !== ''
  if (!isSaid && data === undefined && context === undefined)
    throw new PoppyError('invalid_request', { description: 'A message has at least one of text, data and context.' })
  if (isSaid && text.length > conversationLimits.text)
    throw tooLarge(`text has at most ${conversationLimits.text} characters.`)
  if (sizeOf(data) > conversationLimits.data) throw tooLarge(`data has at most ${conversationLimits.data} bytes.`)
  if (sizeOf(context) > conversationLimits.context)
    throw tooLarge(`context has at most ${conversationLimits.context} bytes.`)
  return {
    ...rest,
    ...(isSaid ? { text } : {}),
    ...(data === undefined ? {} : { data }),
    ...(context === undefined ? {} : { context }),
  }
}

const sizeOf = (value: unknown) => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)))
const tooLarge = (description: string) => new PoppyError('request_too_large', { description })

/** Where a message was sent: a conversation, or the endpoint, with the parent where it names one. */
export type Target = { readonly conversation: string } | { readonly parent: string | null }

/** What a message is and where it was sent, as one hash (reading 18): the order of members doesn't matter. */
export function digestOf(message: WireAgentMessage, target: Target): string {
  const { id, sender, text, data, context } = message
  const where = 'conversation' in target ? { conversation: target.conversation } : { parent: target.parent }
  return sha256(JSON.stringify(sorted({ id, sender, text, data, context, ...where })))
}

/** A value with the members of each object in one order. Its depth is bounded by the body's. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  // Pairs: a member may be called `__proto__`, or like a number, which would go first. And not as an array of pairs has them.
  const members = Object.entries(value)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, one]) => [name, sorted(one)])
  return { members }
}

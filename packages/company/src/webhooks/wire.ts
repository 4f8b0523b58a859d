import { conversationStatuses, operationStates, speakers } from '@poppyseed/protocol'
import { z } from 'zod'

/** What webhooks say: `{ type, timestamp, data }`, as Standard Webhooks has it. */

/** The types of event. */
export const webhookEventTypes = [
  'handoff.requested',
  'conversation.message',
  'conversation.closed',
  'operation.unknown',
] as const

/** A type of {@link webhookEventTypes}. */
export type WebhookEventType = (typeof webhookEventTypes)[number]

const id = z.string()
const time = z.iso.datetime()
const agent = z.object({
  client_id: z.string(),
  host: z.string().describe('The verified host of the Personal Agent (4.1)'),
})

const conversation = {
  conversation_id: id,
  parent_conversation_id: id.nullable().describe('The conversation before it, for a Direct Conversation (7.10)'),
  agent,
  status: z.enum(conversationStatuses),
  responder: z.enum(speakers),
  is_signed_in: z.boolean().describe('Whether the User was signed in when the last message came'),
}

/** The message of `conversation.message`, as it travelled, with what an operation says of itself. */
const message = z.object({
  id,
  role: z.enum(['user', 'company']),
  sender: z.enum(speakers),
  text: z.string().optional(),
  data: z.record(z.string(), z.unknown()).optional(),
  operation: z
    .object({ operation_id: id, revision: z.int(), state: z.enum(operationStates), summary: z.string() })
    .optional(),
})

const head = { timestamp: time.describe('When it happened') }

/** The bodies, by their types. */
export const webhookBodySchemas = {
  'handoff.requested': z.object({
    ...head,
    type: z.literal('handoff.requested'),
    data: z.object({
      ...conversation,
      reason: z.string().nullable(),
      waiting_since: time,
      is_again: z.boolean().describe('Whether a person had it before and it came back to the queue'),
    }),
  }),
  'conversation.message': z.object({
    ...head,
    type: z.literal('conversation.message'),
    data: z.object({ ...conversation, event_id: id.describe('The id of its event (7.5)'), message }),
  }),
  'conversation.closed': z.object({
    ...head,
    type: z.literal('conversation.closed'),
    data: z.object(conversation),
  }),
  'operation.unknown': z.object({
    ...head,
    type: z.literal('operation.unknown'),
    data: z.object({
      operation_id: id,
      name: z.string(),
      revision: z.int(),
      conversation_id: id.nullable(),
      agent,
      is_signed_in: z.boolean().describe('Whether it was proposed for an account'),
      reason: z.string().describe('Why nobody knows, in a word'),
    }),
  }),
} as const

/** A body as it travels. */
export type WebhookBody = {
  readonly [Type in WebhookEventType]: z.infer<(typeof webhookBodySchemas)[Type]>
}[WebhookEventType]

/** What `verifyWebhook` gives: the body, and the `webhook-id`, which is the same each time that it comes. */
export type WebhookEvent = WebhookBody & { readonly id: string }

import {
  conversationEventSchema,
  conversationStatuses,
  operationSchema,
  operationStates,
  speakers,
} from '@poppyseed/protocol'
import { z } from 'zod'
import { auditActs } from '../audit/audit.ts'

/** What the JSON API of the inbox answers. Times are RFC 3339. */

const id = z.string()
const time = z.iso.datetime()
const object = z.record(z.string(), z.unknown())

/** A member of staff. */
export const staffSchema = z.object({ id, name: z.string() })

const agent = z.object({
  client_id: z.string().describe('Verified (4.1)'),
  host: z.string().describe('The verified host of the Personal Agent (4.1)'),
  claimed_name: z.string().nullable().describe('What the agent calls itself: a claim'),
})

/** A conversation, as lists have it: nothing of anybody's account. */
export const conversationSchema = z.object({
  id,
  status: z.enum(conversationStatuses),
  responder: z.enum(speakers),
  agent,
  is_signed_in: z.boolean().describe('Whether the User is signed in at this moment'),
  locale: z.string().nullable(),
  is_user_available: z.boolean().nullable(),
  is_direct: z.boolean().describe('Whether the User takes part in it themselves (7.10)'),
  is_connected: z.boolean().nullable().describe('Whether the agent is listening now; null where that is not known'),
  last_seen_at: time.nullable(),
  waiting_since: time.nullable(),
  waiting_for: z.string().nullable().describe('Why a person is wanted, where somebody said so'),
  held_by: staffSchema.nullable(),
  is_unanswered: z.boolean(),
  last_message: z
    .object({ by: z.enum(['agent', 'user', 'company-agent', 'staff']), text: z.string().describe('Cut'), at: time })
    .nullable(),
  created_at: time,
  updated_at: time,
  closed_at: time.nullable(),
})

const foundSchema = z
  .object({
    by: z
      .enum(['conversation', 'operation', 'account', 'agent', 'message', 'note'])
      .describe('By its own id, that of an operation, its account, its agent; or by words of a message or a note'),
    operation_id: id.nullable().describe('For `operation`'),
    event_id: id.nullable().describe('For `message`: the event with it'),
    note: z.int().nullable().describe('For `note`: its number'),
    said_by: z.enum(['agent', 'user', 'company-agent', 'staff']).nullable().describe('For `message` and `note`'),
    at: time.nullable().describe('When it was said'),
    excerpt: z
      .object({
        text: z.string().describe('What stands around the words, on one line'),
        marks: z
          .array(z.object({ from: z.int(), to: z.int() }))
          .describe('Where the words stand in it: from, up to and without to, in UTF-16 code units'),
      })
      .nullable(),
  })
  .describe('By what it was found')

/** A conversation that a search found. */
export const foundConversationSchema = conversationSchema.extend({
  found: foundSchema.nullable().describe('Null where what was found is no longer there'),
})

/** What never leaves the company. */
export const noteSchema = z.object({
  number: z.int(),
  kind: z.enum(['note', 'handback', 'draft']).describe('`draft`: a reply of the Company Agent that came too late'),
  by: staffSchema.nullable().describe('Null for the Company Agent'),
  text: z.string(),
  data: object.nullable(),
  at: time,
})

/** An operation, as lists have it: nothing of its terms, nor of what came of it. */
export const operationRowSchema = z.object({
  id,
  name: z.string(),
  state: z.enum(operationStates),
  revision: z.int(),
  summary: z.string(),
  conversation_id: id.nullable().describe('The conversation that it was proposed in'),
  agent: z.object({ client_id: z.string(), host: z.string() }),
  expires_at: time.nullable(),
  started_at: time.nullable(),
  unknown_since: time.nullable().describe('Since when nobody knows what came of it'),
  created_at: time,
  updated_at: time,
  finished_at: time.nullable(),
})

/** One of them, in detail. */
export const operationRecordSchema = operationRowSchema.extend({ terms: object.nullable(), result: z.unknown() })

const count = z.object({ number: z.int(), is_more: z.boolean().describe('Whether there are more than were counted') })
const after = z.string().nullable().describe('Gives the next page, as `after`; null where there is none')

/** The answers by the names that the document has for them. */
export const answerSchemas = {
  Me: z.object({ staff: staffSchema, organization: z.string() }),
  Counts: z.object({ waiting: count, mine: count, settle: count }),
  Colleagues: z.object({ colleagues: z.array(staffSchema) }),
  Conversations: z.object({ conversations: z.array(conversationSchema), after }),
  ConversationRead: z.object({
    conversation: conversationSchema,
    parent_id: id.nullable().describe('The conversation before it, for a Direct Conversation (7.10)'),
    direct_id: id.nullable().describe('The Direct Conversation that is open beside it'),
    context: object.describe('What was shared of the situation of the User (7.4)'),
    events: z.array(conversationEventSchema).describe('As they travelled, in their order (7.5)'),
    before: z.int().nullable().describe('Gives the events before these, as `before`; null where there are none'),
    notes: z.array(noteSchema),
    rights: z.object({
      is_signed_in: z.boolean(),
      scopes: z.array(z.string()),
      session: z.string().describe('Whether the Session of the agent goes on'),
    }),
  }),
  ConversationChanged: z.object({ conversation: conversationSchema }),
  ConversationTaken: z.object({ conversation: conversationSchema.nullable().describe('Null where nobody waits') }),
  Account: z.object({
    state: z
      .enum(['closed', 'dark', 'open'])
      .describe(
        '`closed`: open it on purpose. `dark`: it was open, and the rights are gone, or others: open it anew, under those that there are.',
      ),
    account: z.string().nullable().describe('Whose; null unless it is open'),
    card: z
      .object({
        title: z.string().nullable(),
        facts: z.array(z.object({ name: z.string(), value: z.string() })),
        tables: z.array(
          z.object({ title: z.string(), columns: z.array(z.string()), rows: z.array(z.array(z.string())) }),
        ),
        links: z.array(z.object({ text: z.string(), href: z.string() })),
      })
      .nullable()
      .describe('What the company shows of it; null unless it is open, and where the company shows nothing'),
  }),
  Tools: z.object({
    tools: z.array(
      z.object({
        name: z.string(),
        title: z.string().nullable(),
        description: z.string(),
        input: object.describe('JSON Schema'),
        proposes: z.boolean(),
        needs: z.enum(['sign_in', 'scope', 'extension']).nullable().describe('What is missing; null: it may be called'),
        scope: z.string().nullable().describe('The scopes that it needs and that are missing, separated by spaces'),
      }),
    ),
  }),
  Called: z.object({ value: z.unknown(), operation: operationSchema.nullable().describe('What was proposed') }),
  Found: z.object({
    conversations: z.array(foundConversationSchema),
    operations: z.array(operationRowSchema),
    since: z.string().nullable().describe('Goes on searching, as `since`; null once all was looked through'),
    looked_back_to: time.nullable(),
  }),
  Audit: z.object({
    entries: z.array(
      z.object({
        at: time,
        staff: staffSchema,
        act: z.enum(auditActs),
        conversation_id: id.nullable(),
        operation_id: id.nullable(),
        detail: object.nullable(),
      }),
    ),
    after,
  }),
  Operations: z.object({ operations: z.array(operationRowSchema), after }),
  OperationRead: z.object({
    operation: operationRecordSchema,
    input: z.unknown(),
    trail: z.array(
      z.object({
        event: z.string(),
        at: time,
        revision: z.int().nullable(),
        channel: z.string(),
        by: z.string().nullable().describe('Who of the company, by name; null for anybody else'),
        why: z.string().nullable().describe('A reason, or how it is known, where somebody said so'),
      }),
    ),
  }),
  Deliveries: z.object({
    deliveries: z.array(
      z.object({
        id: id.describe('The `webhook-id` that its receiver saw, and sees again'),
        webhook: z.string().nullable().describe('By its place in the configuration; null where it is no longer there'),
        event: z.string(),
        tries: z.int(),
        last_try: z.string().nullable().describe('What came of the last try, such as `status 503`'),
        conversation_id: id.nullable(),
        operation_id: id.nullable(),
        created_at: time,
        given_up_at: time,
      }),
    ),
    after,
  }),
  SentAgain: z.object({ number: z.int().describe('How many are sent again') }),
  OperationChanged: z.object({ operation: operationRecordSchema }),
  Done: z.object({ staff: staffSchema }),
} as const

/** The name of an answer. */
export type ApiAnswer = keyof typeof answerSchemas

/** What an answer says. */
export type ApiValue<Answer extends ApiAnswer> = z.infer<(typeof answerSchemas)[Answer]>

/** An error, as all of them travel. */
export const errorSchema = z.looseObject({
  error: z.string().describe('A code'),
  error_description: z.string().optional().describe('What happened and what to do, in a sentence'),
  error_id: z.string().optional().describe('Names this failure in the log of the company'),
  because: z
    .string()
    .optional()
    .describe('Why, for `staff_conflict`: held_by_other, not_held, already_done, key_used, …'),
  scope: z.string().optional().describe('The scopes that it needs, separated by spaces'),
  issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
})

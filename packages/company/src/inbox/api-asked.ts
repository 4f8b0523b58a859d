import { conversationLimits, operationStates } from '@poppyseed/protocol'
import { z } from 'zod'
import { checkSentence, checkText, longestSentence } from '../conversations/staff-input.ts'
import { longestQuery } from './place.ts'

/** What the JSON API of the inbox is asked with: a query, or a body. What it doesn't have is refused. */

/** The same check as the function that is given it, so that what it refuses is told as a mistake of whoever asks. */
function passes(check: () => unknown): boolean {
  try {
    check()
    return true
  } catch {
    return false
  }
}

const text = z
  .string()
  .min(1)
  .max(conversationLimits.text)
  .refine((given) => passes(() => checkText('text', given)), 'has to have words in it')
const sentence = z
  .string()
  .min(1)
  .max(longestSentence)
  .refine((given) => passes(() => checkSentence('reason', given)), 'has to have words in it')
const data = z
  .record(z.string(), z.unknown())
  .refine((given) => Buffer.byteLength(JSON.stringify(given)) <= conversationLimits.data, {
    message: `may have at most ${conversationLimits.data} bytes`,
  })
const id = z.string().min(1).max(256)
const cursor = z.string().min(1).max(4000)
const limit = z.coerce.number().int().min(1).max(200)
const page = { after: cursor.describe('`after` of the page before').optional(), limit: limit.optional() }

const nothing = z.strictObject({})

/** The queries and bodies by the names that the document has for the bodies. */
export const askedSchemas = {
  Nothing: nothing,
  ListQuery: z.strictObject({ list: z.enum(['waiting', 'mine', 'open', 'closed']).default('waiting'), ...page }),
  EventsQuery: z.strictObject({
    before: z.coerce.number().int().min(1).optional().describe('`before` of the page before'),
    limit: limit.optional(),
  }),
  SearchQuery: z.strictObject({
    text: z
      .string()
      .min(1)
      .max(longestQuery)
      .describe('An id, an account, an agent or its host; else words that were said'),
    since: cursor.optional().describe('`since` of the search before'),
    limit: limit.optional(),
  }),
  AuditQuery: z.strictObject({
    conversation_id: id.optional(),
    operation_id: id.optional(),
    staff: z.string().min(1).max(200).optional().describe('By their id'),
    ...page,
  }),
  OperationsQuery: z.strictObject({
    list: z.enum(['unsettled', 'all']).default('unsettled').describe('`unsettled`: whose outcome nobody knows'),
    state: z.enum(operationStates).optional(),
    name: z.string().min(1).max(200).optional(),
    ...page,
  }),
  DeliveriesQuery: z.strictObject({
    since: z.iso.datetime({ offset: true }).optional().describe('Those that were given up since then'),
    ...page,
  }),
  SendAllAgain: z.strictObject({
    since: z.iso.datetime({ offset: true }).describe('Those that were given up since then'),
  }),
  Give: z.strictObject({ to: z.string().min(1).max(200).describe('The id of a colleague who is here') }),
  Reply: z
    .strictObject({ text: text.optional(), data: data.optional() })
    .refine((given) => given.text !== undefined || given.data !== undefined, 'needs text, data, or both'),
  WriteNote: z.strictObject({ text }),
  HandBack: z.strictObject({
    note: text.optional().describe('For the Company Agent alone'),
    text: text.optional().describe('A last word to the other side'),
  }),
  AskForUser: z.strictObject({ reason: sentence.describe('For the User') }),
  AskForSignIn: z.strictObject({
    scope: z.string().max(4000).optional().describe('What is needed, separated by spaces'),
    text: text.optional(),
  }),
  CallTool: z.strictObject({ tool: z.string().min(1).max(200), input: z.record(z.string(), z.unknown()).default({}) }),
  Revise: z.strictObject({
    operation_id: id,
    revision: z.int().min(1).describe('The latest, as far as you know'),
    input: z.record(z.string(), z.unknown()).describe('All of it, as for a new proposal'),
  }),
  Close: z.strictObject({ reason: sentence.optional().describe('For the company’s own record') }),
  Settle: z.discriminatedUnion('outcome', [
    z.strictObject({ outcome: z.literal('succeeded'), result: z.unknown().optional(), why: sentence }),
    z.strictObject({ outcome: z.literal('failed'), reason: sentence.describe('For the User'), why: sentence }),
  ]),
} as const

/** The name of what is asked with. */
export type ApiAsked = keyof typeof askedSchemas

/** What is asked with, once it was read. */
export type AskedValue<Asked extends ApiAsked> = z.infer<(typeof askedSchemas)[Asked]>

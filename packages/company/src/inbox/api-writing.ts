import type { WireOperation } from '@poppyseed/protocol'
import type { z } from 'zod'
import type { ToolOutcome } from '../company-agent/turn.ts'
import type { FoundBy } from '../conversations/found-by.ts'
import type { ConversationNote, ConversationRecord } from '../conversations/staff-view.ts'
import { inPlainSight } from '../operations/terms.ts'
import type { OperationView } from '../operations/view.ts'
import type {
  ApiValue,
  conversationSchema,
  foundConversationSchema,
  noteSchema,
  operationRecordSchema,
  operationRowSchema,
} from './api-schemas.ts'
import { rowsOf } from './make-rows.ts'
import type { InboxParts } from './parts.ts'

/** From what the company's own functions give to what travels. */

type WireConversation = z.infer<typeof conversationSchema>

/** Conversations as lists have them, in their order. */
export async function conversationsToWire(
  parts: InboxParts,
  records: readonly ConversationRecord[],
): Promise<WireConversation[]> {
  const rows = await rowsOf(parts, records)
  return rows.map((row, at) => ({
    id: row.id,
    status: row.status,
    responder: row.responder,
    agent: { client_id: records[at]?.agent.clientId ?? '', host: row.host, claimed_name: row.claimedName },
    is_signed_in: row.isSignedIn,
    locale: row.personLocale,
    is_user_available: row.isUserAvailable,
    is_direct: row.isDirect,
    is_connected: row.isConnected,
    last_seen_at: timeOrNull(row.lastSeenAt),
    waiting_since: timeOrNull(row.waitingSince),
    waiting_for: row.waitingFor,
    held_by: row.heldBy === null ? null : staffToWire(row.heldBy),
    is_unanswered: row.isUnanswered,
    last_message: row.last === null ? null : { by: row.last.by, text: row.last.text, at: time(row.last.at) },
    created_at: time(row.createdAt),
    updated_at: time(row.updatedAt),
    closed_at: timeOrNull(row.closedAt),
  }))
}

/** One of them. */
export async function conversationToWire(parts: InboxParts, record: ConversationRecord): Promise<WireConversation> {
  const [row] = await conversationsToWire(parts, [record])
  if (row === undefined) throw new TypeError('A conversation has a row.')
  return row
}

/** By what a search found one. */
export function foundToWire(by: FoundBy): z.infer<typeof foundConversationSchema>['found'] {
  const nothing = { operation_id: null, event_id: null, note: null, said_by: null, at: null, excerpt: null }
  switch (by.kind) {
    case 'operation':
      return { ...nothing, by: by.kind, operation_id: by.id }
    case 'message':
      return { ...nothing, ...wordsToWire(by), by: by.kind, event_id: by.event, said_by: by.by }
    case 'note':
      return {
        ...nothing,
        ...wordsToWire(by),
        by: by.kind,
        note: by.number,
        said_by: by.by === null ? 'company-agent' : 'staff',
      }
    default:
      return { ...nothing, by: by.kind }
  }
}

function wordsToWire({ at, excerpt }: Extract<FoundBy, { readonly kind: 'message' | 'note' }>) {
  const marks: { readonly from: number; readonly to: number }[] = []
  let text = ''
  for (const piece of excerpt) {
    const from = text.length
    // 1:1, so that what is marked stays where it is.
    text += inPlainSight(piece.text)
    if (piece.isFound) marks.push({ from, to: text.length })
  }
  return { at: time(at), excerpt: { text, marks } }
}

/** A note. */
export function noteToWire({ number, kind, by, text, data, at }: ConversationNote): z.infer<typeof noteSchema> {
  return {
    number,
    kind,
    by: by === null ? null : staffToWire(by),
    text,
    data: data === null ? null : { ...data },
    at: time(at),
  }
}

/** An operation. What the company keeps of it in `data`, and whose it is, stays out. */
export function operationToWire(view: OperationView): z.infer<typeof operationRecordSchema> {
  return {
    ...operationRowToWire(view),
    terms: view.terms === null ? null : { ...view.terms },
    result: view.result ?? null,
  }
}

/** The same for a list. */
export function operationRowToWire(view: OperationView): z.infer<typeof operationRowSchema> {
  return {
    id: view.id,
    name: view.name,
    state: view.state,
    revision: view.revision,
    summary: view.summary,
    conversation_id: view.conversationId,
    agent: { client_id: view.clientId, host: new URL(view.clientId).host },
    expires_at: timeOrNull(view.expiresAt),
    started_at: timeOrNull(view.startedAt),
    unknown_since: timeOrNull(view.unknownSince),
    created_at: time(view.createdAt),
    updated_at: time(view.updatedAt),
    finished_at: timeOrNull(view.finishedAt),
  }
}

/** What a tool gave that may be called. */
export function calledToWire(outcome: Extract<ToolOutcome, { readonly ok: true }>): ApiValue<'Called'> {
  const operation: WireOperation | null = 'operation' in outcome ? outcome.operation : null
  return { value: outcome.value ?? null, operation }
}

/** A member of staff, and nothing else that the company's login may have given. */
export const staffToWire = ({ id, name }: { readonly id: string; readonly name: string }) => ({ id, name })

/** A moment. */
export const time = (at: number): string => new Date(at).toISOString()

/** The same for one that may not be. */
export const timeOrNull = (at: number | null): string | null => (at === null ? null : time(at))

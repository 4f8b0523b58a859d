import type { ConversationStatus, Speaker, WireEventMessage } from '@poppyseed/protocol'
import type { ConversationsTable } from '../store/tables.ts'

/** What a conversation is in the store, and what a change of it is made of. */

/** A conversation's row: whole, so that rules never ask the store. */
export type ConversationRow = Omit<ConversationsTable, 'company'>

/** The columns of a {@link ConversationRow}: the numbers, and the rest. */
const numberColumns = [
  'version',
  'last_event',
  'first_event',
  'oldest_at',
  'epoch',
  'asked',
  'answered',
  'turn',
  'turn_asked',
  'runner',
  'attempts',
  'turn_due_at',
  'queued_at',
  'care_due_at',
  'notes',
  'created_at',
  'updated_at',
  'closed_at',
] as const satisfies readonly (keyof ConversationRow)[]
const textColumns = [
  'id',
  'client_id',
  'user_id',
  'account',
  'parent_id',
  'direct_id',
  'status',
  'responder',
  'context',
  'session_id',
  'caller_user_id',
  'caller_account',
  'grant_id',
  'scopes',
  'sender',
  'held_by',
  'held_name',
  'queue_reason',
] as const satisfies readonly (keyof ConversationRow)[]

/** All columns of a {@link ConversationRow}. */
export const conversationColumns = [...textColumns, ...numberColumns] as const

const numbers: ReadonlySet<string> = new Set(numberColumns)

/** The type of a column, as a cast has it. */
export const castOf = (column: string): 'bigint' | 'text' => (numbers.has(column) ? 'bigint' : 'text')

/** What a change may set; the rest is the ledger's own. */
export type ConversationSet = Partial<
  Omit<
    ConversationRow,
    | 'id'
    | 'client_id'
    | 'user_id'
    | 'parent_id'
    | 'version'
    | 'last_event'
    | 'first_event'
    | 'oldest_at'
    | 'care_due_at'
    | 'created_at'
    | 'updated_at'
  >
>

/** An event as it will travel, without what the ledger gives it: its id and its time (7.5). */
export type EventBody =
  | { readonly type: 'message'; readonly message: WireEventMessage }
  | { readonly type: 'state'; readonly status: ConversationStatus; readonly responder: Speaker }
  | {
      readonly type: 'authorization'
      readonly error: 'sign_in_required' | 'insufficient_scope'
      readonly scope?: string
    }
  | { readonly type: 'user_requested'; readonly reason: string }
  | { readonly type: 'direct_opened'; readonly conversation_id: string }
  | { readonly type: 'direct_closed'; readonly conversation_id: string }

/** An event to be written. */
export type NewEvent = EventBody & {
  /** What it is written once for, such as `turn:2:3`: a change with one that is written already changes nothing. */
  readonly writtenFor?: string
  /** The Personal Agent's own doing, which ends nobody's wait. */
  readonly isOwn?: boolean
}

/** What a rule decided: what is set, and what is told, in its order. */
export interface Decision {
  readonly set: ConversationSet
  readonly events: readonly NewEvent[]
}

/** A message that was accepted, so that it is known when it comes again (7.3). */
export interface NewReceipt {
  readonly clientId: string
  readonly userId: string
  readonly messageId: string
  /** SHA-256 of the message and where it was sent. */
  readonly digest: string
  /** The HTTP status that it was answered with. */
  readonly code: number
}

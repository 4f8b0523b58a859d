import type { ConversationStatus, Speaker, WireEvent } from '@poppyseed/protocol'
import type { NotesTable } from '../store/tables.ts'
import type { Staff } from './held.ts'
import type { NoteRow } from './notes.ts'
import type { Standing } from './rights-now.ts'
import type { ConversationRow } from './row.ts'
import type { StoredEvent } from './store.ts'

/** A conversation as the company's own code and staff see it. Times are milliseconds since 1970. */
export interface ConversationRecord {
  readonly id: string
  readonly status: ConversationStatus
  readonly responder: Speaker
  /** The Personal Agent. Its host was verified (4.1); all else that it says of itself is a claim. */
  readonly agent: { readonly clientId: string; readonly host: string }
  readonly userId: string
  /** The account that it belongs to, once it used that; null before. */
  readonly account: string | null
  /** Who wrote last on the User's side: the User themselves, or the agent. */
  readonly sender: Speaker
  /** What was shared of the User's situation, in the names of the protocol (7.4). */
  readonly context: Readonly<Record<string, unknown>>
  /** The conversation before this one, where this is a Direct Conversation (7.10). */
  readonly parent: string | null
  /** The Direct Conversation that is open beside this one. */
  readonly direct: string | null
  /** Who of the staff has it. */
  readonly heldBy: Staff | null
  /** Since when a person is wanted, and why, where somebody said so. */
  readonly waitingSince: number | null
  readonly waitingFor: string | null
  /** Whether the last message that asks for a reply has none yet. */
  readonly isUnanswered: boolean
  readonly createdAt: number
  readonly updatedAt: number
  readonly closedAt: number | null
}

/** What stays within the company, about a conversation. */
export interface ConversationNote {
  /** Counts from 1. */
  readonly number: number
  /** `note`: of staff, for staff. `handback`: for the Company Agent. `draft`: its reply that came after a person took over. */
  readonly kind: NotesTable['kind']
  /** Who of the staff; null for the Company Agent. */
  readonly by: Staff | null
  readonly text: string
  readonly data: Readonly<Record<string, unknown>> | null
  /** Milliseconds since 1970. */
  readonly at: number
}

/** A conversation with what was said in it. */
export interface ConversationRead {
  readonly conversation: ConversationRecord
  /** As they travelled, in their order: the newest, or those before `before`. */
  readonly events: readonly WireEvent[]
  /** Gives the events before these; null where there are none, or they are no longer kept. */
  readonly before: number | null
  readonly notes: readonly ConversationNote[]
  /** What the rights of its last message allow at this moment (7.11). */
  readonly rights: {
    readonly isSignedIn: boolean
    /** Names the sign-in, so that it can be told from the next one; null where there is none. It opens nothing. */
    readonly signIn: string | null
    readonly scopes: readonly string[]
    /** Whether the agent's Session goes on; `blocked` where the company keeps the agent out. */
    readonly session: Standing['session']
  }
}

/** Makes the record of a row. */
export function recordOf(row: ConversationRow): ConversationRecord {
  return Object.freeze({
    id: row.id,
    status: row.status,
    responder: row.responder,
    agent: Object.freeze({ clientId: row.client_id, host: new URL(row.client_id).host }),
    userId: row.user_id,
    account: row.account,
    sender: row.sender,
    context: JSON.parse(row.context) as Readonly<Record<string, unknown>>,
    parent: row.parent_id,
    direct: row.direct_id,
    heldBy: row.held_by === null ? null : Object.freeze({ id: row.held_by, name: row.held_name ?? row.held_by }),
    waitingSince: row.status === 'queued' ? row.queued_at : null,
    waitingFor: row.queue_reason,
    isUnanswered: row.status !== 'closed' && row.asked > row.answered,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    closedAt: row.closed_at,
  })
}

/** Makes a note of its row. */
export function noteOf({ number, kind, who, text, data, created_at }: NoteRow): ConversationNote {
  const { staff = null } = JSON.parse(who) as { readonly staff?: Staff }
  return Object.freeze({
    number,
    kind,
    by: staff,
    text,
    data: data === null ? null : (JSON.parse(data) as ConversationNote['data']),
    at: created_at,
  })
}

/** An event as it travelled. */
export const eventOf = ({ body }: StoredEvent): WireEvent => JSON.parse(body) as WireEvent

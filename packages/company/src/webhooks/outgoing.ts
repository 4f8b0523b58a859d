import { makeId } from '@poppyseed/protocol'
import { eventId } from '../conversations/cursor.ts'
import type { ConversationRow, NewEvent } from '../conversations/row.ts'
import type { StoredOperation } from '../operations/agreement.ts'
import type { WebhookEndpoint } from './settings.ts'
import type { NewDelivery } from './store.ts'
import type { WebhookBody } from './wire.ts'

/** What is told of a change, one row for each address: made with the change, and kept in its transaction. Pure. */

/** See {@link createOutgoing}. */
export interface Outgoing {
  /** What a change of a conversation is told as. */
  readonly ofChange: (change: ToldChange) => readonly NewDelivery[]
  /** That nobody knows any more what came of an operation. */
  readonly ofUnknown: (stored: StoredOperation, why: string, now: number) => readonly NewDelivery[]
  /** Has what was committed a moment ago delivered, without making anybody wait for it. */
  readonly poke: () => void
}

/** A change of a conversation, as the ledger makes it. */
export interface ToldChange {
  readonly seen: ConversationRow
  readonly next: ConversationRow
  readonly events: readonly NewEvent[]
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Makes what is told. Null where nobody is to be told anything: then nothing is written, and nothing is slower. */
export function createOutgoing({
  endpoints,
  random,
  poke,
}: {
  readonly endpoints: readonly WebhookEndpoint[]
  readonly random: (length: number) => Uint8Array
  readonly poke: () => void
}): Outgoing | null {
  if (endpoints.length === 0) return null

  const told = (
    body: WebhookBody,
    about: Pick<NewDelivery, 'conversationId' | 'operationId'>,
    now: number,
  ): readonly NewDelivery[] =>
    endpoints
      .filter(({ events }) => events.has(body.type))
      .map(({ id: endpoint }) => ({
        id: makeId('dlv', random),
        endpoint,
        event: body.type,
        body: JSON.stringify(body),
        ...about,
        now,
      }))

  return {
    poke,
    ofChange({ seen, next, events, now }) {
      const about = { conversationId: next.id, operationId: null }
      return bodiesOf({ seen, next, events, now }).flatMap((body) => told(body, about, now))
    },
    ofUnknown({ operation }, why, now) {
      const about = { conversationId: operation.conversation_id, operationId: operation.id }
      const body: WebhookBody = {
        type: 'operation.unknown',
        timestamp: at(now),
        data: {
          operation_id: operation.id,
          name: operation.name,
          revision: operation.revision,
          conversation_id: operation.conversation_id,
          agent: agentOf(operation.client_id),
          is_signed_in: operation.account !== null,
          reason: why,
        },
      }
      return told(body, about, now)
    },
  }
}

function bodiesOf({ seen, next, events, now }: ToldChange): readonly WebhookBody[] {
  const timestamp = at(now)
  const conversation = {
    conversation_id: next.id,
    parent_conversation_id: next.parent_id,
    agent: agentOf(next.client_id),
    status: next.status,
    responder: next.responder,
    is_signed_in: next.caller_account !== null,
  }
  const messages = events.flatMap((event, index): readonly WebhookBody[] => {
    if (event.type !== 'message') return []
    const { id, role, sender, text, data, operation } = event.message
    const message = {
      id,
      role,
      sender,
      ...(text === undefined ? {} : { text }),
      ...(data === undefined ? {} : { data }),
      ...(operation === undefined ? {} : { operation: shortOf(operation) }),
    }
    const event_id = eventId(next.id, seen.last_event + index + 1)
    return [{ type: 'conversation.message', timestamp, data: { ...conversation, event_id, message } }]
  })
  const isAsked = next.status === 'queued' && seen.status !== 'queued'
  const isClosed = next.status === 'closed' && seen.status !== 'closed'
  return [
    ...messages,
    ...(isAsked
      ? [
          {
            type: 'handoff.requested',
            timestamp,
            data: {
              ...conversation,
              reason: next.queue_reason,
              waiting_since: at(next.queued_at ?? now),
              is_again: seen.responder === 'human',
            },
          } as const,
        ]
      : []),
    ...(isClosed ? [{ type: 'conversation.closed', timestamp, data: conversation } as const] : []),
  ]
}

function shortOf({
  operation_id,
  revision,
  state,
  summary,
}: {
  readonly operation_id: string
  readonly revision: number
  readonly state: 'proposed' | 'in_progress' | 'succeeded' | 'failed' | 'cancelled' | 'expired'
  readonly summary: string
}) {
  return { operation_id, revision, state, summary }
}

const agentOf = (clientId: string) => ({ client_id: clientId, host: new URL(clientId).host })

const at = (milliseconds: number) => new Date(milliseconds).toISOString()

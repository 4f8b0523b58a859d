import { isFinalState, type WireOperation } from '@poppyseed/protocol'
import { sha256 } from '../crypto/hash.ts'
import type { StoredOperation } from '../operations/agreement.ts'
import type { OperationNews } from '../operations/hooks.ts'
import type { Wording } from '../words/wording.ts'
import { withConversation } from './ledger.ts'
import type { ConversationParts } from './parts.ts'
import type { ConversationRow } from './row.ts'
import { findConversation } from './store.ts'

/**
 * Operations 4.3: what becomes of an operation is told in the conversation that it was proposed in, as a message with it. Told
 * from the outbox, so at least once; written once, by its key.
 */

/** Makes what tells it. `write` gives an operation as it travels. */
export function createOperationNews(
  parts: ConversationParts,
  { write }: { readonly write: (stored: StoredOperation) => WireOperation },
): OperationNews {
  return async (stored, { number, revision }) => {
    const { id, account, conversation_id: conversationId } = stored.operation
    if (conversationId === null) return
    const operation = write(stored)
    const isOver = isFinalState(operation.state)
    // What has gone further by now is told by the entry that says so.
    if (!isOver && (operation.state !== 'proposed' || revision !== operation.revision)) return
    const row = await openOne(parts, conversationId)
    if (row === null) return
    const key = `op:${id}:${number}`
    const message = {
      id: `msg_${sha256(`${row.id} ${key}`)}`,
      role: 'company',
      sender: 'agent',
      text: textOf(operation, parts.people.wording(row)),
      operation,
    } as const
    await withConversation(parts, row.id, (current) => {
      // 7.2: what was proposed for an account is told among those of that account, and makes a conversation one of them.
      const isTheirs = account === null || (current.account ?? account) === account
      if (current.status === 'closed' || !isTheirs) return null
      const set = account === null ? {} : { account }
      return { set, events: [{ type: 'message', message, writtenFor: key }] }
    })
  }
}

/** The conversation while it is open; then, for a Direct Conversation, the one before it (7.10). Null when nobody listens. */
async function openOne(parts: ConversationParts, id: string): Promise<ConversationRow | null> {
  const scope = await parts.scope()
  const row = await findConversation(scope, id)
  if (row === null || row.status !== 'closed') return row
  const parent = row.parent_id === null ? null : await findConversation(scope, row.parent_id)
  return parent?.status === 'closed' ? null : parent
}

function textOf({ state, summary }: WireOperation, { say }: Wording): string {
  switch (state) {
    case 'succeeded':
    case 'failed':
    case 'cancelled':
    case 'expired':
      return say(`news.${state}`, { summary })
    default:
      return say('news.revised', { summary })
  }
}

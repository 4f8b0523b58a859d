import { cleanAgentName } from '../agents/name.ts'
import { agentNames } from '../agents/store.ts'
import { listeningNow } from '../conversations/listening.ts'
import type { ConversationRecord } from '../conversations/staff-view.ts'
import { inPlainSight } from '../operations/terms.ts'
import { readTag } from '../words/negotiate.ts'
import type { InboxParts } from './parts.ts'
import { signedInConversations } from './signed-in-store.ts'
import type { ConversationRowView } from './view.ts'

/** Conversations as a list has them: nothing of anybody's account. A few statements for a page, however long it is. */

/** What rows are made of. */
export interface RowParts extends Pick<InboxParts, 'scope' | 'now' | 'sessionLimits'> {
  readonly conversations: Pick<NonNullable<InboxParts['conversations']>, 'lastMessages'> | null
}

/** Makes the rows, in their order. */
export async function rowsOf(
  parts: RowParts,
  conversations: readonly ConversationRecord[],
): Promise<readonly ConversationRowView[]> {
  if (parts.conversations === null || conversations.length === 0) return []
  const scope = await parts.scope()
  const now = parts.now()
  const ids = conversations.map(({ id }) => id)
  const [last, names, signedIn, listening] = await Promise.all([
    parts.conversations.lastMessages(ids),
    agentNames(
      scope,
      conversations.map(({ agent }) => agent.clientId),
    ),
    signedInConversations(scope, ids, { now, limits: parts.sessionLimits }),
    listeningNow(scope, { ids, now }),
  ])
  return conversations.map((record) => {
    const { id, agent, context } = record
    const name = names.get(agent.clientId)
    const said = last.get(id)
    const agentNow = listening.get(id)
    return {
      id,
      status: record.status,
      responder: record.responder,
      host: agent.host,
      claimedName: name === undefined ? null : cleanAgentName(name, agent.host),
      isSignedIn: signedIn.has(id),
      // A tag may be of any words, such as `x-signed-in`: they would stand among those of the company.
      personLocale: typeof context.locale === 'string' ? readTag(context.locale) : null,
      isUserAvailable: typeof context.user_available === 'boolean' ? context.user_available : null,
      isDirect: record.parent !== null,
      isConnected: agentNow?.isConnected ?? null,
      lastSeenAt: agentNow?.lastSeenAt ?? null,
      waitingSince: record.waitingSince,
      waitingFor: record.waitingFor === null ? null : inPlainSight(record.waitingFor),
      heldBy: record.heldBy,
      isUnanswered: record.isUnanswered,
      last: said === undefined ? null : { ...said, text: inPlainSight(said.text) },
      createdAt: record.createdAt,
      updatedAt: record.updatedAt,
      closedAt: record.closedAt,
    }
  })
}

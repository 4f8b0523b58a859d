import type { WireEvent } from '@poppyseed/protocol'
import type { ToolOutcome } from '../company-agent/turn.ts'
import { allowedOf } from './allowed.ts'
import { askedOf, decisionOf } from './asked.ts'
import { claimsOf } from './claims.ts'
import { contextView } from './context-view.ts'
import { foundEntry, pageWith } from './found-entry.ts'
import { accountView } from './make-account.ts'
import { auditLine, auditLines } from './make-audit.ts'
import { entriesOf, notesBetween, rightsOf } from './make-entries.ts'
import { operationCard } from './make-operation.ts'
import { rowsOf } from './make-rows.ts'
import { outcomeView, toolViews, underRights } from './make-tools.ts'
import type { InboxParts, Reader } from './parts.ts'
import { addressOf, type Place } from './place.ts'
import type { ConversationView, OperationCard } from './view.ts'

/** The workspace: one conversation, with all that is needed to settle it. */

/** What was just called in it. */
export interface Called {
  readonly tool: string
  /** Its name in words. */
  readonly title: string
  readonly outcome: ToolOutcome
}

type OpenConversation = Extract<NonNullable<Place['opened']>, { readonly kind: 'conversation' }>

const [eventsOnPage, newestEvents, parentEvents, mostOperations] = [100, 50, 200, 50]

/**
 * Makes it.
 * @throws PoppyError `conversation_not_found`
 */
export async function conversationView(
  parts: InboxParts & { readonly conversations: NonNullable<InboxParts['conversations']> },
  reader: Reader,
  place: Place & { readonly opened: OpenConversation },
  { colleagues, called }: { readonly colleagues: number; readonly called: Called | null },
): Promise<ConversationView> {
  const { conversations } = parts
  const { me, wording, style } = reader
  const staff = { id: me.id, name: me.name }
  const { id, at } = place.opened
  const first = at === null ? null : await conversations.read(id, { limit: eventsOnPage })
  const before = first === null || at === null ? place.opened.before : await pageWith(parts, at, first)
  const read =
    (before === null ? first : null) ??
    (await conversations.read(id, { limit: eventsOnPage, ...(before === null ? {} : { before }) }))
  const { conversation, rights } = read
  const newest = before === null ? read : (first ?? (await conversations.read(id, { limit: newestEvents })))
  const parent =
    conversation.parent === null ? null : await conversations.read(conversation.parent, { limit: parentEvents })
  const allowed = allowedOf(parts, reader, read, colleagues)
  const [offered, account, claims, rows, audit] = await Promise.all([
    conversations.offered(id, staff),
    accountView(parts, reader, id),
    claimsOf(parts, conversation.agent.clientId, wording),
    rowsOf(parts, [conversation]),
    conversations.audit({ conversation: id, limit: auditLines }),
  ])
  const [row] = rows
  if (row === undefined) throw new TypeError('A conversation without a row.')
  const revisable = allowed.callTools === null ? new Map(offered.tools.map((tool) => [tool.name, tool])) : new Map()
  const operations = new Map<string, OperationCard>()
  for (const operationId of operationsIn([...newest.events, ...read.events, ...(parent?.events ?? [])])) {
    const operation = await parts.operations?.get(operationId)
    if (operation === null || operation === undefined) continue
    const tool = revisable.get(operation.name)
    operations.set(operationId, operationCard(operation, reader, { tool }))
  }
  const made = { style, wording, operations }
  const notes = notesBetween(read.notes, read.events, { isOldest: read.before === null, isNewest: before === null })
  const asked = askedOf(conversation, newest.events, reader)
  const missing = parts.grantableScopes.filter((scope) => !rights.scopes.includes(scope))
  return {
    ...row,
    asked,
    decision: decisionOf(conversation, newest.events, {
      asked,
      operations,
      wording,
      granted: rights.isSignedIn ? rights.scopes : null,
    }),
    entries: entriesOf(read.events, notes, made),
    found: foundEntry(at, place.query, { events: read.events, notes }),
    before: read.before === null ? null : addressAt(parts, place, read.before),
    newest: before === null ? null : addressAt(parts, place, null),
    parent:
      parent === null ? null : { id: parent.conversation.id, entries: entriesOf(parent.events, parent.notes, made) },
    direct: conversation.direct,
    writesFor: conversation.parent === null ? conversation.sender : 'human',
    context: contextView(conversation.context, reader),
    agent: {
      clientId: conversation.agent.clientId,
      host: conversation.agent.host,
      claims,
      isBlocked: rights.session === 'blocked',
    },
    rights: {
      isSignedIn: rights.isSignedIn,
      signIn: rights.signIn,
      granted: rightsOf(rights.scopes, reader),
      missing: rightsOf(missing, reader),
    },
    // Last of all: it is read as it stands when the page goes out.
    account: await account(),
    tools: toolViews(offered, reader),
    allowed,
    outcome: called === null ? null : outcomeView(underRights(called, offered), reader),
    savedReplies: parts.settings.savedReplies,
    audit: audit.entries.map((entry) => auditLine(entry, wording)),
  }
}

function addressAt({ path }: Pick<InboxParts, 'path'>, place: Place, before: number | null): string {
  const { opened } = place
  return opened?.kind === 'conversation' ? addressOf(path, { ...place, opened: { ...opened, before, at: null } }) : path
}

/** The operations that messages hold, the newest first. */
function operationsIn(events: readonly WireEvent[]): readonly string[] {
  const ids = events.flatMap((event) =>
    event.type === 'message' && event.message.operation !== undefined ? [event.message.operation.operation_id] : [],
  )
  return [...new Set(ids.toReversed())].slice(0, mostOperations)
}

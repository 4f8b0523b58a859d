import { PoppyError } from '@poppyseed/protocol'
import { readAudit } from '../audit/reading.ts'
import { inboxCounts } from '../conversations/inbox-counts.ts'
import { staffSeen } from '../conversations/presence.ts'
import { apiOperation, conversationsOf, operationsOf, readingOn, webhooksOf } from './api-operation.ts'
import {
  conversationsToWire,
  conversationToWire,
  foundToWire,
  noteToWire,
  operationRowToWire,
  operationToWire,
  staffToWire,
  time,
  timeOrNull,
} from './api-writing.ts'
import { accountView } from './make-account.ts'
import { whoOf, whyOf } from './make-operation.ts'
import { noteOperation } from './noted.ts'
import { type InboxParts, readerOf } from './parts.ts'
import { noteSearch } from './searched.ts'

/** What the JSON API of the inbox shows. */

/** Leaves out what isn't there: the functions take no `undefined`. */
function given<T extends object>(members: T): { readonly [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>
  }
}

/** Milliseconds after which somebody who gave no sign of life is gone, where there are no conversations that say so. */
const absence = 120_000

export const apiReads = {
  'GET /me': apiOperation({
    name: 'me',
    summary: 'Who asks',
    asked: 'Nothing',
    answer: 'Me',
    run: async ({ parts, staff }) => ({ staff, organization: parts.organization }),
  }),

  'GET /counts': apiOperation({
    name: 'counts',
    summary: 'How much waits, how much you have, and how many operations want settling; counted to 100',
    asked: 'Nothing',
    answer: 'Counts',
    async run({ parts, staff }) {
      const { waiting, mine, settle } = await inboxCounts(await parts.scope(), staff.id)
      return { waiting: countToWire(waiting), mine: countToWire(mine), settle: countToWire(settle) }
    },
  }),

  'GET /colleagues': apiOperation({
    name: 'colleagues',
    summary: 'Who is here: seen within two minutes, you too',
    asked: 'Nothing',
    answer: 'Colleagues',
    run: async ({ parts }) => ({ colleagues: (await colleaguesOf(parts)).map(staffToWire) }),
  }),

  'GET /conversations': apiOperation({
    name: 'listConversations',
    summary: 'The lists of the inbox',
    description:
      '`waiting`: who waits for a person, the longest first. `mine`: what you have. `open` and `closed`: all of them, newest first.',
    needs: 'conversations',
    asked: 'ListQuery',
    answer: 'Conversations',
    async run({ parts, staff, asked: { list, after, limit } }) {
      const conversations = conversationsOf(parts)
      const page = await readingOn(after, () =>
        conversations.list({
          kind: list,
          ...(list === 'mine' ? { staff: staff.id } : {}),
          ...given({ after, limit }),
        }),
      )
      return { conversations: await conversationsToWire(parts, page.conversations), after: page.after }
    },
  }),

  'GET /conversations/*': apiOperation({
    name: 'readConversation',
    summary: 'A conversation with what was said and noted; the newest events, or those before `before`',
    description: 'Stands in the record as `read`, once in ten minutes.',
    needs: 'conversations',
    asked: 'EventsQuery',
    answer: 'ConversationRead',
    async run({ parts, staff, id, asked }) {
      const conversations = conversationsOf(parts)
      const { conversation, events, before, notes, rights } = await conversations.read(id, given(asked))
      await conversations.noteRead(id, staff)
      return {
        conversation: await conversationToWire(parts, conversation),
        parent_id: conversation.parent,
        direct_id: conversation.direct,
        context: { ...conversation.context },
        events: [...events],
        before,
        notes: notes.map(noteToWire),
        rights: { is_signed_in: rights.isSignedIn, scopes: [...rights.scopes], session: rights.session },
      }
    },
  }),

  'GET /conversations/*/account': apiOperation({
    name: 'readAccount',
    summary: 'The account of the customer, once you opened it, with the rights of this moment',
    needs: 'conversations',
    asked: 'Nothing',
    answer: 'Account',
    run: ({ parts, request, me, id }) => accountToWire(parts, request, me, id),
  }),

  'GET /conversations/*/tools': apiOperation({
    name: 'listTools',
    summary: 'The tools and operations that there are, and what those need that may not be called now',
    needs: 'conversations',
    asked: 'Nothing',
    answer: 'Tools',
    async run({ parts, staff, id }) {
      const { tools, locked } = await conversationsOf(parts).offered(id, staff)
      return {
        tools: [...tools.map((tool) => ({ ...tool, needs: null, scope: null })), ...locked].map(
          ({ name, title, description, input, proposes, needs, scope }) => ({
            name,
            title: title ?? null,
            description,
            input: { ...input },
            proposes,
            needs,
            scope,
          }),
        ),
      }
    },
  }),

  'GET /search': apiOperation({
    name: 'search',
    summary: 'Searches for conversations and operations',
    description:
      'By the id of a conversation or an operation, an account, an agent or its host; else by words of a message or a note, each with the words in what stands around them. What was said is looked through a piece at a time: go on with `since`.',
    needs: 'conversations',
    asked: 'SearchQuery',
    answer: 'Found',
    async run({ parts, me, asked: { text, since, limit } }) {
      const found = await readingOn(since, () => conversationsOf(parts).search({ text, ...given({ since, limit }) }))
      await noteSearch(parts, { me }, text)
      const conversations = await conversationsToWire(parts, found.conversations)
      return {
        conversations: conversations.map((one) => {
          const by = found.foundBy.get(one.id)
          return { ...one, found: by === undefined ? null : foundToWire(by) }
        }),
        operations: found.operations.map(operationRowToWire),
        since: found.since,
        looked_back_to: timeOrNull(found.lookedBackTo),
      }
    },
  }),

  'GET /audit': apiOperation({
    name: 'readAudit',
    summary: 'Who of the staff did what, newest first',
    asked: 'AuditQuery',
    answer: 'Audit',
    async run({ parts, asked: { conversation_id: conversation, operation_id: operation, staff, after, limit } }) {
      const scope = await parts.scope()
      const page = await readingOn(after, () =>
        readAudit(scope, given({ conversation, operation, staff, after, limit })),
      )
      return {
        entries: page.entries.map((entry) => ({
          at: time(entry.at),
          staff: staffToWire(entry.staff),
          act: entry.act as 'read',
          conversation_id: entry.conversation,
          operation_id: entry.operation,
          detail: entry.detail === null ? null : told(entry.detail),
        })),
        after: page.after,
      }
    },
  }),

  'GET /operations': apiOperation({
    name: 'listOperations',
    summary: 'Operations: those whose outcome nobody knows, the longest unknown first; or all, newest first',
    description: 'Nothing of terms, input or results: read one for that.',
    needs: 'operations',
    asked: 'OperationsQuery',
    answer: 'Operations',
    async run({ parts, asked: { list, ...filter } }) {
      const operations = operationsOf(parts)
      const page = await readingOn(filter.after, () =>
        operations.list({ ...given(filter), ...(list === 'unsettled' ? { isUnsettled: true as const } : {}) }),
      )
      return { operations: page.operations.map(operationRowToWire), after: page.after }
    },
  }),

  'GET /operations/*': apiOperation({
    name: 'readOperation',
    summary: 'An operation, and what happened to it: who of the company did it, and why',
    description: 'Stands in the record as `read`, once in ten minutes.',
    needs: 'operations',
    asked: 'Nothing',
    answer: 'OperationRead',
    async run({ parts, staff, id }) {
      const operations = operationsOf(parts)
      const [operation, trail] = await Promise.all([operations.get(id), operations.trail(id)])
      if (operation === null)
        throw new PoppyError('operation_not_found', { description: 'There is no operation of this id.' })
      await noteOperation(parts, staff, id)
      return {
        operation: operationToWire(operation),
        input: operation.input ?? null,
        trail: trail.map((entry) => ({
          event: entry.event,
          at: time(entry.at),
          revision: entry.revision,
          channel: entry.channel,
          by: whoOf(entry),
          why: whyOf(entry),
        })),
      }
    },
  }),

  'GET /deliveries': apiOperation({
    name: 'listGivenUpDeliveries',
    summary:
      'Deliveries of webhooks that were given up, what was given up last first; nothing of what was said in them',
    needs: 'webhooks',
    asked: 'DeliveriesQuery',
    answer: 'Deliveries',
    async run({ parts, asked: { since, after, limit } }) {
      const webhooks = webhooksOf(parts)
      const from = since === undefined ? undefined : Math.max(0, Date.parse(since))
      const page = await readingOn(after, () => webhooks.givenUp(given({ since: from, after, limit })))
      return {
        deliveries: page.deliveries.map((one) => ({
          id: one.id,
          webhook: one.webhook,
          event: one.event,
          tries: one.tries,
          last_try: one.lastTry,
          conversation_id: one.conversation,
          operation_id: one.operation,
          created_at: time(one.createdAt),
          given_up_at: time(one.givenUpAt),
        })),
        after: page.after,
      }
    },
  }),
} as const

/** Which grant an account was opened under, and with which rights, is for the Company to compare: it leaves it nowhere. */
function told({
  grant: _,
  epoch: __,
  scopes: ___,
  ...detail
}: Readonly<Record<string, unknown>>): Record<string, unknown> | null {
  return Object.keys(detail).length === 0 ? null : detail
}

const countToWire = ({ number, isMore }: { readonly number: number; readonly isMore: boolean }) => ({
  number,
  is_more: isMore,
})

/** Who is here; at a Company with operations alone too. */
export async function colleaguesOf(parts: InboxParts) {
  return parts.conversations?.colleagues() ?? staffSeen(await parts.scope(), parts.now() - absence)
}

/** The account as it stands for a member of staff. */
export async function accountToWire(
  parts: InboxParts,
  request: Request,
  me: Parameters<typeof readerOf>[2],
  id: string,
) {
  const account = await conversationsOf(parts).account(id, { id: me.id, name: me.name })
  if (account.state !== 'open') return { state: account.state, account: null, card: null }
  const card = await (await accountView(parts, readerOf(parts, request, me), id))()
  // It was looked at again meanwhile.
  if (card.state === 'closed' || card.state === 'dark') return { state: card.state, account: null, card: null }
  if (card.state === 'failed')
    throw new PoppyError('server_error', { description: 'What the company shows of accounts could not be made.' })
  return {
    state: 'open' as const,
    account: account.principal.account,
    card:
      card.state !== 'open'
        ? null
        : {
            title: card.title,
            facts: card.facts.map((fact) => ({ ...fact })),
            tables: card.tables.map(({ title, columns, rows }) => ({
              title,
              columns: [...columns],
              rows: rows.map((row) => [...row]),
            })),
            links: card.links.map((link) => ({ ...link })),
          },
  }
}

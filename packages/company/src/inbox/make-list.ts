import { searchConversations } from '../conversations/search.ts'
import type { ConversationRecord } from '../conversations/staff-view.ts'
import type { OperationView } from '../operations/view.ts'
import { operationRow } from './make-operation.ts'
import { rowsOf } from './make-rows.ts'
import type { InboxParts, Reader } from './parts.ts'
import { addressOf, type Place } from './place.ts'
import type { ListView } from './view.ts'

/** A list of the inbox, or what a search found. */

/** Makes it. */
export async function listView(parts: InboxParts, reader: Reader, place: Place): Promise<ListView> {
  const found = place.query === null ? await listOf(parts, reader, place) : await searchFor(parts, place.query, place)
  const { conversations, operations, next, searchedSince } = found
  return {
    name: place.query === null ? place.list : 'search',
    query: place.query ?? '',
    conversations: await rowsOf(parts, conversations),
    operations: operations.map(operationRow),
    next: next === null ? null : addressOf(parts.path, { ...place, opened: null, since: null, after: null, ...next }),
    searchedSince,
  }
}

interface Found {
  readonly conversations: readonly ConversationRecord[]
  readonly operations: readonly OperationView[]
  readonly next: Partial<Pick<Place, 'after' | 'since'>> | null
  readonly searchedSince: number | null
}

const nothing: Found = { conversations: [], operations: [], next: null, searchedSince: null }

async function listOf(parts: InboxParts, { me }: Reader, place: Place): Promise<Found> {
  const { conversations, operations } = parts
  const { list } = place
  if (list === 'settle') {
    if (operations === null) return nothing
    const found = await fromPage(place.after, (after) => operations.list({ isUnsettled: true, ...after }))
    return { ...nothing, operations: found.operations, next: nextOf(found) }
  }
  if (conversations === null) return nothing
  const asked = { kind: list, ...(list === 'mine' ? { staff: me.id } : {}) }
  const found = await fromPage(place.after, (after) => conversations.list({ ...asked, ...after }))
  return { ...nothing, conversations: found.conversations, next: nextOf(found) }
}

/** Through operations alone, where there are no conversations. */
async function searchFor({ scope, now }: InboxParts, text: string, place: Place): Promise<Found> {
  const parts = { scope: await scope(), now: now() }
  const found = await fromPage(place.since, ({ after }) =>
    searchConversations(parts, { text, ...(after === undefined ? {} : { since: after }) }),
  )
  return {
    conversations: found.conversations,
    operations: found.operations,
    next: found.since === null ? null : { since: found.since },
    searchedSince: found.lookedBackTo,
  }
}

/** A page of a list; an address from another list, or one that somebody made up, begins at the beginning. */
async function fromPage<Page>(
  after: string | null,
  page: (after: { readonly after?: string }) => Promise<Page>,
): Promise<Page> {
  if (after === null) return page({})
  try {
    return await page({ after })
  } catch (error) {
    if (error instanceof TypeError) return page({})
    throw error
  }
}

const nextOf = ({ after }: { readonly after: string | null }): Found['next'] => (after === null ? null : { after })

import type { FoundBy } from '../conversations/found-by.ts'
import { searchConversations } from '../conversations/search.ts'
import type { ConversationRecord } from '../conversations/staff-view.ts'
import { inPlainSight } from '../operations/terms.ts'
import type { OperationView } from '../operations/view.ts'
import { noteEntryId } from './make-entries.ts'
import { operationRow } from './make-operation.ts'
import { rowsOf } from './make-rows.ts'
import type { InboxParts, Reader } from './parts.ts'
import { addressOf, type Place } from './place.ts'
import type { FoundView, ListView } from './view.ts'

/** A list of the inbox, or what a search found. */

/** Makes it. */
export async function listView(parts: InboxParts, reader: Reader, place: Place): Promise<ListView> {
  const found = place.query === null ? await listOf(parts, reader, place) : await searchFor(parts, place.query, place)
  const { conversations, operations, next, searchedSince } = found
  return {
    name: place.query === null ? place.list : 'search',
    query: place.query ?? '',
    conversations: await rowsOf(parts, conversations),
    found: Object.fromEntries([...found.foundBy].map(([id, by]) => [id, foundView(by)])),
    operations: operations.map(operationRow),
    next: next === null ? null : addressOf(parts.path, { ...place, opened: null, since: null, after: null, ...next }),
    searchedSince,
  }
}

interface Found {
  readonly conversations: readonly ConversationRecord[]
  readonly foundBy: ReadonlyMap<string, FoundBy>
  readonly operations: readonly OperationView[]
  readonly next: Partial<Pick<Place, 'after' | 'since'>> | null
  readonly searchedSince: number | null
}

const nothing: Found = { conversations: [], foundBy: new Map(), operations: [], next: null, searchedSince: null }

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
    foundBy: found.foundBy,
    operations: found.operations,
    next: found.since === null ? null : { since: found.since },
    searchedSince: found.lookedBackTo,
  }
}

/** By what one was found; what strangers wrote around it hides nothing. */
function foundView(by: FoundBy): FoundView {
  if (by.kind !== 'message' && by.kind !== 'note') return by
  const excerpt = by.excerpt.map((piece) => ({ ...piece, text: inPlainSight(piece.text) }))
  const words = { kind: 'words', at: by.at, excerpt } as const
  return by.kind === 'message'
    ? { ...words, entry: by.event, who: { kind: 'message', by: by.by, sender: by.sender } }
    : {
        ...words,
        entry: noteEntryId(by.number),
        who: { kind: 'note', note: by.note, by: by.by === null ? null : inPlainSight(by.by.name) },
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

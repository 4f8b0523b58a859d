import type { ConversationRecord } from '../conversations/staff-view.ts'
import type { OperationRecord } from '../operations/company-operations.ts'
import { operationCard } from './make-operation.ts'
import { rowsOf } from './make-rows.ts'
import type { InboxParts, Reader } from './parts.ts'
import { addressOf, type Place } from './place.ts'
import type { ListView } from './view.ts'

/** A list of the inbox, or what a search found. */

/** Makes it. */
export async function listView(parts: InboxParts, reader: Reader, place: Place): Promise<ListView> {
  const found = place.query === null ? await listOf(parts, reader, place) : await searchFor(parts, reader, place)
  const { conversations, operations, next, searchedSince } = found
  return {
    name: place.query === null ? place.list : 'search',
    query: place.query ?? '',
    conversations: await rowsOf(parts, conversations),
    operations: operations.map((operation) => operationCard(operation, reader)),
    next: next === null ? null : addressOf(parts.path, { ...place, opened: null, since: null, after: null, ...next }),
    searchedSince,
  }
}

interface Found {
  readonly conversations: readonly ConversationRecord[]
  readonly operations: readonly OperationRecord[]
  readonly next: Partial<Pick<Place, 'after' | 'since'>> | null
  readonly searchedSince: number | null
}

const nothing: Found = { conversations: [], operations: [], next: null, searchedSince: null }

async function listOf({ conversations, operations }: InboxParts, { me }: Reader, place: Place): Promise<Found> {
  const { list } = place
  if (list === 'settle') return { ...nothing, operations: (await operations?.unsettled()) ?? [] }
  if (conversations === null) return nothing
  const asked = { kind: list, ...(list === 'mine' ? { staff: me.id } : {}) }
  const page = async (after: string | null) => conversations.list({ ...asked, ...(after === null ? {} : { after }) })
  const found = await page(place.after).catch((error: unknown) => {
    // An address from another list, or one that somebody made up: it begins at its beginning.
    if (error instanceof TypeError && place.after !== null) return page(null)
    throw error
  })
  return {
    ...nothing,
    conversations: found.conversations,
    next: found.after === null ? null : { after: found.after },
  }
}

async function searchFor({ conversations }: InboxParts, { me }: Reader, place: Place): Promise<Found> {
  if (conversations === null || place.query === null) return nothing
  const { since, ...found } = await conversations.search({
    text: place.query,
    staff: me,
    ...(place.since === null ? {} : { since: place.since }),
  })
  return {
    conversations: found.conversations,
    operations: found.operations,
    next: since === null ? null : { since },
    searchedSince: since,
  }
}

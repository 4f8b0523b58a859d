import type { WireEvent } from '@poppyseed/protocol'
import { eventNumber } from '../conversations/cursor.ts'
import { piecesOf } from '../conversations/found-words.ts'
import { soughtOf } from '../conversations/search.ts'
import { lastEventAt } from '../conversations/search-store.ts'
import type { ConversationRead } from '../conversations/staff-view.ts'
import { inPlainSight } from '../operations/terms.ts'
import { noteEntryId } from './make-entries.ts'
import type { InboxParts } from './parts.ts'
import type { ConversationView } from './view.ts'

/** The entry of a history to which a search leads: on which page of it that stands, and what of it was found. */

/** Events that stand below it on its page, and as many above. */
const around = 50

/**
 * What the page ends before on which an entry stands; null for the newest page, and for what isn't there.
 * @param newest the newest page
 */
export async function pageWith(
  { scope }: Pick<InboxParts, 'scope'>,
  entry: string,
  { conversation: { id }, events, notes }: Pick<ConversationRead, 'conversation' | 'events' | 'notes'>,
): Promise<number | null> {
  const [first] = events
  const from = first === undefined ? null : eventNumber(id, first.id)
  if (first === undefined || from === null) return null
  const note = notes.find(({ number }) => noteEntryId(number) === entry)
  const isOnNewest = note === undefined ? false : note.at >= Date.parse(first.created_at)
  if (isOnNewest) return null
  const number = note === undefined ? eventNumber(id, entry) : await lastEventAt(await scope(), { id, at: note.at })
  // A note from before the first event that is kept stands above that.
  const stands = number ?? (note === undefined ? null : 1)
  return stands === null || stands >= from ? null : stands + around
}

/** The entry, where it is among these, with the words that were searched for; all of it in one piece where none were. */
export function foundEntry(
  entry: string | null,
  query: string | null,
  { events, notes }: { readonly events: readonly WireEvent[]; readonly notes: ConversationRead['notes'] },
): ConversationView['found'] {
  if (entry === null) return null
  const event = events.find(({ id }) => id === entry)
  const note = notes.find(({ number }) => noteEntryId(number) === entry)
  if (event === undefined && note === undefined) return null
  const text = note?.text ?? (event?.type === 'message' ? event.message.text : undefined) ?? ''
  const pieces = text === '' ? [] : piecesOf(text, soughtOf(query ?? ''))
  return { entry, pieces: pieces.map((piece) => ({ ...piece, text: inPlainSight(piece.text) })) }
}

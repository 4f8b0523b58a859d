import type { Speaker } from '@poppyseed/protocol'
import type { Side } from '../inbox/view.ts'
import type { Scope } from '../store/database.ts'
import { eventId } from './cursor.ts'
import { excerptOf, type TextPiece } from './found-words.ts'
import { sideOf } from './last-messages.ts'
import type { ConversationRow } from './row.ts'
import { messagesAt, notesAt, type Spoken } from './search-store.ts'
import type { Hit } from './search-through.ts'
import { type ConversationNote, noteOf } from './staff-view.ts'

/**
 * By what a search found a conversation. Where it was words, these are read anew each time: what was erased meanwhile is not
 * shown because it was found before.
 */

/** See above. Times are milliseconds since 1970. */
export type FoundBy =
  /** By its own id, by the account that it belongs to, or by its Personal Agent. */
  | { readonly kind: 'conversation' | 'account' | 'agent' }
  /** By the id of an operation that was proposed in it. */
  | { readonly kind: 'operation'; readonly id: string }
  | ({
      readonly kind: 'message'
      /** The id of its event (7.5). */
      readonly event: string
      readonly by: Side
      readonly sender: Speaker
    } & FoundWords)
  | ({
      readonly kind: 'note'
      /** The number of the note. */
      readonly number: number
      readonly note: ConversationNote['kind']
      /** Who of the staff; null for the Company Agent. */
      readonly by: ConversationNote['by']
    } & FoundWords)

/** The words in what stands around them. */
export interface FoundWords {
  readonly at: number
  readonly excerpt: readonly TextPiece[]
}

/** Says it of each hit, by the conversation's id; not of one whose words are no longer there. */
export async function foundBy(
  scope: Scope,
  {
    sought,
    rows,
    hits,
  }: { readonly sought: string; readonly rows: readonly ConversationRow[]; readonly hits: readonly Hit[] },
): Promise<ReadonlyMap<string, FoundBy>> {
  const found = new Map<string, FoundBy>()
  const spoken = hits.flatMap(({ id, spoken: one }) => (one === null ? [] : [{ id, ...one }]))
  const [messages, noteRows] = await Promise.all([messagesAt(scope, spoken), notesAt(scope, spoken)])
  const notes = new Map(noteRows.map((row) => [row.conversation_id, noteOf(row)]))
  const rowOf = new Map(rows.map((row) => [row.id, row]))
  for (const hit of hits) {
    const row = rowOf.get(hit.id)
    if (row === undefined) continue
    const by = hit.spoken === null ? nameOf(row, sought) : wordsOf(hit.id, hit.spoken)
    if (by !== null) found.set(hit.id, by)
  }
  return found

  function wordsOf(id: string, { kind, number }: Spoken): FoundBy | null {
    if (kind === 'note') {
      const note = notes.get(id)
      const excerpt = note === undefined ? null : excerptOf(note.text, sought)
      if (note === undefined || excerpt === null) return null
      return { kind, number, note: note.kind, by: note.by, at: note.at, excerpt }
    }
    const event = messages.get(id)
    const excerpt = event === undefined ? null : excerptOf(event.message.text ?? '', sought)
    if (event === undefined || excerpt === null) return null
    const { message, at } = event
    return { kind, event: eventId(id, number), by: sideOf(message), sender: message.sender, at, excerpt }
  }
}

const nameOf = ({ account }: ConversationRow, sought: string): FoundBy => ({
  kind: account === sought ? 'account' : 'agent',
})

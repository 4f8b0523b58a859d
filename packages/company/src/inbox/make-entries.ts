import { isFinalState, type WireEvent } from '@poppyseed/protocol'
import { sideOf } from '../conversations/last-messages.ts'
import type { ConversationNote } from '../conversations/staff-view.ts'
import { inPlainSight } from '../operations/terms.ts'
import type { Reader } from './parts.ts'
import { readableOrNull } from './readable.ts'
import type { Entry, OperationCard, RightView } from './view.ts'

/** What was said and what happened, as it travelled, with the company's own notes between, by time. */

/** What entries are made with. */
export interface EntryStyle extends Pick<Reader, 'style' | 'wording'> {
  /** The operations that messages hold, as they are now. */
  readonly operations: ReadonlyMap<string, OperationCard>
}

/** Makes the entries of events and notes, oldest first. */
export function entriesOf(
  events: readonly WireEvent[],
  notes: readonly ConversationNote[],
  made: EntryStyle,
): readonly Entry[] {
  const entries = [
    ...events.map((event) => eventEntry(event, made)),
    ...notes.map((note) => noteEntry(note, made)),
  ].filter((entry) => entry !== null)
  // Stable: events of one moment keep their order, and a note stands after what it was written about.
  return entries.sort((one, other) => one.at - other.at)
}

/** The notes that belong between the events of a page: the first page has all before, the last all after. */
export function notesBetween(
  notes: readonly ConversationNote[],
  events: readonly WireEvent[],
  { isOldest, isNewest }: { readonly isOldest: boolean; readonly isNewest: boolean },
): readonly ConversationNote[] {
  const first = events[0]
  const last = events.at(-1)
  const [from, to] = [first ? Date.parse(first.created_at) : 0, last ? Date.parse(last.created_at) : 0]
  return notes.filter(({ at }) => (isOldest || at >= from) && (isNewest || at < to))
}

/** The id of the entry of a note. */
export const noteEntryId = (number: number): string => `note-${number}`

/** Scopes in words, each in a sentence of the company's. */
export function rightsOf(scopes: readonly string[], { wording }: Pick<Reader, 'wording'>): readonly RightView[] {
  return scopes.map((scope) => ({ scope, text: wording.scope(scope).text }))
}

function eventEntry(event: WireEvent, made: EntryStyle): Entry | null {
  const head = { id: event.id, at: Date.parse(event.created_at) }
  switch (event.type) {
    case 'message': {
      const { message } = event
      return {
        ...head,
        kind: 'message',
        by: sideOf(message),
        isPerson: message.sender === 'human',
        text: message.text === undefined ? null : inPlainSight(message.text),
        data: readableOrNull(message.data, made.style),
        operation:
          message.operation === undefined ? null : (made.operations.get(message.operation.operation_id) ?? null),
        isOutcome: message.operation !== undefined && isFinalState(message.operation.state),
      }
    }
    case 'state':
      return { ...head, kind: 'state', status: event.status, responder: event.responder }
    case 'authorization':
      return {
        ...head,
        kind: 'authorization',
        needs: event.error === 'sign_in_required' ? 'sign-in' : 'scope',
        scopes: rightsOf(
          (event.scope ?? '').split(' ').filter((scope) => scope !== ''),
          made,
        ),
      }
    case 'user_requested':
      return { ...head, kind: 'user-requested', reason: inPlainSight(event.reason) }
    case 'direct_opened':
      return { ...head, kind: 'direct', isOpen: true, conversationId: event.conversation_id }
    case 'direct_closed':
      return event.conversation_id === undefined
        ? null
        : { ...head, kind: 'direct', isOpen: false, conversationId: event.conversation_id }
  }
}

function noteEntry({ number, kind, by, text, data, at }: ConversationNote, { style }: EntryStyle): Entry {
  return {
    id: noteEntryId(number),
    at,
    kind: 'note',
    note: kind,
    by: by?.name ?? null,
    text: inPlainSight(text),
    data: readableOrNull(data, style),
  }
}

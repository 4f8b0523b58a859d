import { PoppyError } from '@poppyseed/protocol'
import { sha256 } from '../crypto/hash.ts'
import type { ConversationRow } from './row.ts'

/**
 * Event IDs, which are cursors too (7.5). One says which event of which conversation it is, so that nothing has to be looked
 * up, and a cursor of another conversation is told from one of this.
 */

const markLength = 12
const form = /^evt_([A-Za-z0-9_-]{12})([0-9a-z]{1,11})$/

/** The id of an event, by its number, which counts from 1. */
export function eventId(conversationId: string, number: number): string {
  return `evt_${markOf(conversationId)}${number.toString(36)}`
}

function markOf(conversationId: string): string {
  return sha256(conversationId).slice(0, markLength)
}

/** The number that a cursor has, for a read that finds out whether it is one; 0 for what has none. */
export function numberOf(cursor: string | null): number {
  const [, , digits = ''] = form.exec(cursor ?? '') ?? []
  const number = Number.parseInt(digits, 36)
  return Number.isSafeInteger(number) ? number : 0
}

/**
 * After which event a read goes on; without a cursor, before the first that is kept.
 * @throws PoppyError `invalid_cursor` for what is no cursor of this conversation, `cursor_expired` where events after it
 * are no longer kept
 */
export function readCursor(
  row: Pick<ConversationRow, 'id' | 'first_event' | 'last_event'>,
  cursor: string | null,
): number {
  if (cursor === null) return row.first_event - 1
  const [, mark, digits = ''] = form.exec(cursor) ?? []
  const number = Number.parseInt(digits, 36)
  if (mark !== markOf(row.id) || number.toString(36) !== digits || number < 1 || number > row.last_event)
    throw new PoppyError('invalid_cursor', { description: 'The cursor is no event of this conversation.' })
  if (number < row.first_event - 1)
    throw new PoppyError('cursor_expired', {
      description: 'Events after this cursor are no longer kept. Read from the beginning.',
    })
  return number
}

/** The number of an event of this conversation, by its id; null for what is none. */
export function eventNumber(conversationId: string, id: string): number | null {
  const number = numberOf(id)
  return number > 0 && eventId(conversationId, number) === id ? number : null
}

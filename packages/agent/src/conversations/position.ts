import type { ConversationRecords } from './records.ts'

/** How far a reader has come in a conversation (7.5): the cursor, and what was handled and is skipped when it comes again. */
export interface Position {
  readonly cursor: () => string | null
  readonly wasHandled: (eventId: string) => boolean
  /** How many events were handled here. */
  readonly count: () => number
  /** That an event was handled: reading goes on after it, also after a restart. */
  readonly handled: (eventId: string) => Promise<void>
  /** That all of a page was. */
  readonly reached: (cursor: string) => Promise<void>
  /** Reading begins anew: what was at the cursor is gone. */
  readonly restart: () => Promise<void>
}

/** As many ids are remembered by a reader; the store keeps fewer. */
const maxRemembered = 5000

/** The position as it is kept, which moves as events are handled. */
export async function openPosition(records: ConversationRecords, id: string): Promise<Position> {
  const record = await records.get(id)
  let cursor = record?.cursor ?? null
  let count = 0
  const handled = new Set(record?.handled ?? [])
  const remember = (eventId: string) => {
    handled.add(eventId)
    const [oldest] = handled
    if (handled.size > maxRemembered && oldest !== undefined) handled.delete(oldest)
  }
  return {
    cursor: () => cursor,
    wasHandled: (eventId) => handled.has(eventId),
    count: () => count,
    handled: async (eventId) => {
      remember(eventId)
      count += 1
      cursor = eventId
      await records.handled(id, [eventId], cursor)
    },
    reached: async (at) => {
      if (at === cursor) return
      cursor = at
      await records.handled(id, [], at)
    },
    restart: async () => {
      cursor = null
      await records.handled(id, [], null)
    },
  }
}

/** A position that moves in memory alone, until everything together was handled. */
export async function openTrial(
  records: ConversationRecords,
  id: string,
): Promise<Position & { readonly commit: () => Promise<void> }> {
  const kept = await openPosition({ ...records, handled: async () => undefined }, id)
  const handled: string[] = []
  return {
    ...kept,
    handled: async (eventId) => {
      handled.push(eventId)
      await kept.handled(eventId)
    },
    commit: () => records.handled(id, handled.splice(0), kept.cursor()),
  }
}

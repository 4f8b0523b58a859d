import type { ConversationRow } from './row.ts'

/** When a conversation has to be looked at although nobody says anything: somebody waits, is gone, or nothing happens (7.9, 7.12). */

/** How long what takes its time may take. Milliseconds. */
export interface Timing {
  /** How long a handoff waits for somebody to take it. */
  readonly patience: number
  /** After how long without a sign of life a member of staff is gone. */
  readonly absence: number
  /** After how long without anything new a conversation is closed. */
  readonly inactivity: number
}

/** What is used where the company sets nothing: 10 minutes, 2 minutes, a day. */
export const standardTiming: Timing = { patience: 600_000, absence: 120_000, inactivity: 86_400_000 }

/**
 * When a conversation is to be looked at next, once a change has made it what it is; null for not at all. Every change asks
 * this, so that none can forget it.
 * @param before what it was, or null for one that has just begun
 * @param after what it is now; `updated_at` is the time of the change
 */
export function careDue(before: ConversationRow | null, after: ConversationRow, timing: Timing): number | null {
  if (after.status === 'closed') return null
  // Messages don't make a wait longer: somebody was promised an answer by then.
  if (after.status === 'queued')
    return before?.status === 'queued' ? before.care_due_at : after.updated_at + timing.patience
  // A turn has its own time.
  if (after.status === 'working') return null
  const times = [...absentAt(before, after, timing), ...quietAt(after, timing)]
  return times.length === 0 ? null : Math.min(...times)
}

/** When it is looked whether whoever has it is still there. No message makes that later: it says nothing of them. */
function absentAt(before: ConversationRow | null, after: ConversationRow, { absence }: Timing): readonly number[] {
  if (after.held_by === null) return []
  const planned = before?.held_by === after.held_by ? before.care_due_at : null
  const next = after.updated_at + absence
  return [planned === null ? next : Math.min(planned, next)]
}

/** When it counts as quiet. What is said in a Direct Conversation is no silence of its parent's (7.10). */
function quietAt(row: ConversationRow, { inactivity }: Timing): readonly number[] {
  return row.direct_id === null ? [row.updated_at + inactivity] : []
}

/** What is to be done for a conversation that is looked at. */
export type Care =
  /** Nobody took the handoff in time. */
  | { readonly what: 'nobody came' }
  /** Whoever has it is gone. */
  | { readonly what: 'gone' }
  /** Nothing happens in it any more. */
  | { readonly what: 'quiet' }
  /** Nothing yet: look again then. */
  | { readonly what: 'later'; readonly at: number }

/**
 * What a conversation needs at a moment.
 * @param seenAt when its member of staff was seen last; null for one that nobody knows, or where nobody has it
 */
export function careNeeded(row: ConversationRow, { now, seenAt, timing }: CareFacts): Care | null {
  if (row.care_due_at === null || row.status === 'closed') return null
  if (now < row.care_due_at) return { what: 'later', at: row.care_due_at }
  if (row.status === 'queued') return { what: 'nobody came' }
  if (row.status === 'working') return null
  const gone = row.held_by === null ? [] : [(seenAt ?? 0) + timing.absence]
  if (gone.some((at) => at <= now)) return { what: 'gone' }
  const quiet = quietAt(row, timing)
  if (quiet.some((at) => at <= now)) return { what: 'quiet' }
  const next = [...gone, ...quiet]
  return next.length === 0 ? null : { what: 'later', at: Math.min(...next) }
}

/** See {@link careNeeded}. */
export interface CareFacts {
  /** Milliseconds since 1970. */
  readonly now: number
  readonly seenAt: number | null
  readonly timing: Timing
}

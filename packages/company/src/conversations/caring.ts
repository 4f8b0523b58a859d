import { makeId } from '@poppyseed/protocol'
import { type Care, type CareFacts, careNeeded } from './care.ts'
import { closeConversation } from './closing.ts'
import { nobodyCame } from './handoff.ts'
import { putBack } from './held.ts'
import { withConversation } from './ledger.ts'
import type { ConversationParts } from './parts.ts'
import { seenAt } from './presence.ts'
import type { ConversationRow } from './row.ts'
import { careLater, conversationsInCare } from './staff-store.ts'
import { findConversation } from './store.ts'

/** Looks after conversations in which somebody waits too long, somebody is gone, or nothing happens any more (7.9, 7.12). */

/** Conversations in a bite. */
const bite = 50
/** Milliseconds until one that couldn't be looked after is looked at again, so that it doesn't hold up the others. */
const pause = 60_000

/** How often one is looked at again because something else happened to it; then the next pass does it. */
const mostTries = 3

/** Does a bounded piece of what is due. Of several instances at once, one does each. */
export async function careForConversations(
  parts: ConversationParts,
): Promise<{ readonly done: number; readonly isDone: boolean }> {
  const scope = await parts.scope()
  const due = await conversationsInCare(scope, { now: parts.now(), limit: bite })
  let done = 0
  for (const id of due) if (await look(parts, id)) done += 1
  return { done, isDone: due.length < bite }
}

async function look(parts: ConversationParts, id: string): Promise<boolean> {
  const scope = await parts.scope()
  try {
    for (let tries = 0; tries < mostTries; tries++) {
      const row = await findConversation(scope, id)
      const need = row === null ? null : careNeeded(row, await factsOf(parts, row))
      if (row === null || need === null) return false
      if (need.what === 'later') {
        await careLater(scope, row, need.at)
        return false
      }
      // Where something else happened meanwhile, what it needs may be another thing.
      if (await care(parts, row, need.what)) return true
    }
  } catch (error) {
    parts.log.error(
      { conversation: id, error: error instanceof Error ? error.message : typeof error },
      'a conversation could not be looked after',
    )
    const row = await findConversation(scope, id)
    if (row !== null) await careLater(scope, row, parts.now() + pause)
  }
  return false
}

async function factsOf(parts: ConversationParts, row: ConversationRow): Promise<CareFacts> {
  return {
    now: parts.now(),
    seenAt: row.held_by === null ? null : await seenAt(await parts.scope(), row.held_by),
    timing: parts.settings.timing,
  }
}

/** Does it, unless anything else happened since the row was read. */
async function care(
  parts: ConversationParts,
  { id, version }: ConversationRow,
  what: Exclude<Care['what'], 'later'>,
): Promise<boolean> {
  // A reply that came meanwhile was a sign of life.
  const isSame = (row: ConversationRow) => row.version === version
  if (what === 'quiet') return (await closeConversation(parts, id, isSame))?.isChanged === true
  const settled = await withConversation(parts, id, (row) => {
    if (!isSame(row)) return null
    if (what === 'gone') return putBack(row, parts.now())
    return nobodyCame(row, { text: parts.people.noneCame(row), messageId: makeId('msg', parts.random) })
  })
  return settled?.isChanged === true
}

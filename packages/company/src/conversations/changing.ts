import type { Scope } from '../store/database.ts'
import { announce, changeConversation, type Settled } from './ledger.ts'
import type { ConversationParts } from './parts.ts'
import type { ConversationRow, Decision } from './row.ts'
import { findConversation } from './store.ts'

/** Changes of a conversation that other rows go with: all of it is committed, or nothing. */

/** How often it is tried again after somebody else's change. */
const mostTries = 50

/** A change that is being made, inside its transaction. */
export interface Changing<Decided> {
  /** As it is after the change. */
  readonly row: ConversationRow
  readonly decided: Decided
  /** Milliseconds since 1970. */
  readonly now: number
}

/**
 * Makes a change in somebody else's transaction, which has to be given up and run again where this is null. A change of nothing is
 * none. Whoever commits it announces it.
 */
export async function changeWithin(
  parts: ConversationParts,
  scope: Scope,
  seen: ConversationRow,
  { set, events }: Decision,
): Promise<ConversationRow | null> {
  if (Object.keys(set).length === 0 && events.length === 0) return seen
  return changeConversation(scope, {
    ...{ set, events, seen },
    now: parts.now(),
    timing: parts.settings.timing,
    outgoing: parts.outgoing,
  })
}

/**
 * Changes a conversation and writes something else with it. Null when there is no such conversation.
 * @param decide gives the change, or null for none, or throws; where something else happened meanwhile it decides again
 * @param also writes the rest in the same transaction; what it throws takes all of it back
 */
export async function changeWith<Decided extends Decision>(
  parts: ConversationParts,
  id: string,
  decide: (row: ConversationRow, now: number) => Decided | null | Promise<Decided | null>,
  also: (scope: Scope, changing: Changing<Decided>) => Promise<void>,
): Promise<Settled | null> {
  const scope = await parts.scope()
  return parts.queue.run(id, async () => {
    for (let tries = 0; tries < mostTries; tries++) {
      const seen = await findConversation(scope, id)
      if (seen === null) return null
      const now = parts.now()
      const decided = await decide(seen, now)
      if (decided === null) return { row: seen, isChanged: false }
      const { set, events } = decided
      const changed = await scope.db.transaction(async () => {
        const row = await changeConversation(scope, {
          ...{ set, events, seen, now },
          timing: parts.settings.timing,
          outgoing: parts.outgoing,
        })
        if (row !== null) await also(scope, { row, decided, now })
        return row
      })
      if (changed === null) continue
      announce(parts, changed, seen)
      return { row: changed, isChanged: true }
    }
    throw new Error('A conversation changes faster than a change of it can be made.')
  })
}

import type { Scope } from '../store/database.ts'
import { closed } from './conversation.ts'
import { directOver } from './direct.ts'
import { announce, type Change, changeConversation } from './ledger.ts'
import type { ConversationParts } from './parts.ts'
import type { ConversationRow, ConversationSet } from './row.ts'
import { findConversation } from './store.ts'

/** 7.12: a conversation closes, and with it what hangs on it. */

/** See {@link closeConversation}. */
export interface Closed {
  readonly row: ConversationRow
  /** False for one that was closed already. */
  readonly isChanged: boolean
}

/** What goes with the closing of a conversation. */
export interface WithClosing {
  /** Set beside what closing sets. */
  readonly set?: ConversationSet
  /** Written in the same transaction; what it throws takes all of it back. */
  readonly also: (scope: Scope) => Promise<void>
}

/** How often it is tried again after somebody else's change. */
const mostTries = 50

/**
 * Closes a conversation in one transaction with its Direct Conversation, which closes with its parent, or with the word at
 * its parent that this one is over (7.10). Null when there is no such conversation.
 * @param check looks at the row that is to be closed: throws, or gives false where it isn't to be closed after all
 * @param more gives what is written with it
 */
export async function closeConversation(
  parts: ConversationParts,
  id: string,
  check: (row: ConversationRow) => boolean = () => true,
  more?: (row: ConversationRow, now: number) => WithClosing,
): Promise<Closed | null> {
  const scope = await parts.scope()
  return parts.queue.run(id, async () => {
    for (let tries = 0; tries < mostTries; tries++) {
      const row = await findConversation(scope, id)
      if (row === null) return null
      if (!check(row)) return { row, isChanged: false }
      const now = parts.now()
      const { outgoing } = parts
      const { timing } = parts.settings
      const own = closed(row, now)
      if (own === null) return { row, isChanged: false }
      const beside = more?.(row, now)
      const mine: Change = { ...own, set: { ...own.set, ...beside?.set }, seen: row, now, timing, outgoing }
      const parent = row.parent_id === null ? null : await findConversation(scope, row.parent_id)
      const direct = row.direct_id === null ? null : await findConversation(scope, row.direct_id)
      const told = parent === null ? null : directOver(parent, row)
      const over = direct === null ? null : closed(direct, now)
      const changed = await changeTogether(
        parts,
        [
          ...(parent === null || told === null ? [] : [{ ...told, seen: parent, now, timing, outgoing }]),
          mine,
          ...(direct === null || over === null ? [] : [{ ...over, seen: direct, now, timing, outgoing }]),
        ],
        beside?.also,
      )
      const closedRow = changed?.find((one) => one.id === id)
      if (closedRow !== undefined) return { row: closedRow, isChanged: true }
    }
    throw new Error('A conversation changes faster than it can be closed.')
  })
}

const overtaken = new Error('Something else happened to one of them.')

/**
 * Makes changes of several conversations, all or none; a parent's stands before its Direct Conversation's, so that two that
 * come at once never wait for each other. Null when something else happened to one of them since it was seen.
 * @param also writes something else in the same transaction
 */
async function changeTogether(
  parts: ConversationParts,
  changes: readonly Change[],
  also?: (scope: Scope) => Promise<void>,
): Promise<readonly ConversationRow[] | null> {
  const scope = await parts.scope()
  try {
    const rows = await scope.db.transaction(async () => {
      const made: ConversationRow[] = []
      for (const change of changes) {
        const row = await changeConversation(scope, change)
        if (row === null) throw overtaken
        made.push(row)
      }
      await also?.(scope)
      return made
    })
    for (const [at, row] of rows.entries()) announce(parts, row, changes[at]?.seen ?? null)
    return rows
  } catch (error) {
    if (error === overtaken) return null
    throw error
  }
}

import { PoppyError, type WireOperation } from '@poppyseed/protocol'
import type { WithProposal } from '../operations/operation-tool.ts'
import type { Principal } from '../sessions/principal.ts'
import type { Scope } from '../store/database.ts'
import type { ToolResult } from '../tools/registry.ts'
import { changeWithin } from './changing.ts'
import { announce } from './ledger.ts'
import { useAccount } from './owning.ts'
import type { ConversationParts } from './parts.ts'
import type { ConversationRow, Decision } from './row.ts'
import { areWritten, findConversation, holdConversation } from './store.ts'

/**
 * What is proposed in a conversation is told there (Operations 4.3) in the transaction that keeps it: whatever fails, and whenever,
 * there is no proposal that nobody was told of, and nobody was told of one that isn't there.
 */

/** How a proposal is told. */
export interface Telling {
  /** Gives what is told in the conversation as it is; throws where nothing may be proposed in it any more. */
  readonly decide: (row: ConversationRow, operation: WireOperation) => Decision | Promise<Decision>
  /** Writes what goes with it; what it throws takes all of it back. */
  readonly also: (scope: Scope, operation: WireOperation) => Promise<void>
  /** Called once all of it is committed. */
  readonly told?: (row: ConversationRow) => void
}

/** See {@link tellTogether}. */
export interface TellingTogether {
  /** Goes with the call. */
  readonly also: WithProposal
  /**
   * Waits for the call: gives the JSON of its result, also where it was given up while its proposal was being kept. From its end
   * on nothing of it is kept any more.
   * @throws what the call or the telling threw
   */
  readonly settled: (call: Promise<ToolResult>) => Promise<string>
}

/** A conversation before and after what was told in it. */
interface Written {
  readonly seen: ConversationRow
  readonly row: ConversationRow
}

/** Tells what one call proposes. */
export function tellTogether(
  parts: ConversationParts,
  id: string,
  { decide, also, told, principal }: Telling & { readonly principal: Principal },
): TellingTogether {
  let isOver = false
  let failed: { readonly error: unknown } | null = null
  let writing: { readonly ended: PromiseWithResolvers<void>; written: Written | null } | null = null
  let kept: WireOperation | null = null

  async function write(scope: Scope, operation: WireOperation): Promise<Written | null> {
    const row = await findConversation(scope, id)
    if (row === null)
      throw new PoppyError('conversation_not_found', { description: 'There is no such conversation any more.' })
    const { set, events } = await decide(row, operation)
    // 7.2: from the first word of it the conversation is the account's.
    const used = principal.account === null ? {} : useAccount(row, principal)
    const all = { set: { ...set, ...used }, events }
    const changed = await changeWithin(parts, scope, row, all)
    // Of two that tell the same, the second finds that it is told.
    if (changed === null && !(await areWritten(scope, id, events))) return null
    await also(scope, operation)
    return { seen: row, row: changed ?? row }
  }

  return {
    also: {
      async hold(scope) {
        if (scope.db.name === 'postgres') await holdConversation(scope, id)
      },
      async write(scope, operation) {
        if (isOver) throw new Error('The call was given up before its proposal was kept.')
        failed = null
        const now = { ended: Promise.withResolvers<void>(), written: null as Written | null }
        writing = now
        try {
          now.written = await write(scope, operation)
          if (now.written !== null) await parts.at('proposing', id)
        } catch (error) {
          failed = { error }
          throw error
        }
        kept = now.written === null ? null : operation
        return now.written !== null
      },
      over(isKept) {
        if (!isKept) kept = null
        else if (writing?.written) {
          const { row, seen } = writing.written
          told?.(row)
          announce(parts, row, seen)
        }
        writing?.ended.resolve()
        writing = null
      },
    },
    async settled(call) {
      try {
        const { json } = await call
        if (kept !== null) await parts.at('proposed', id)
        return json
      } catch (error) {
        isOver = true
        await writing?.ended.promise
        if (kept !== null) return JSON.stringify({ operation: kept })
        throw failed === null ? error : (failed as { readonly error: unknown }).error
      } finally {
        isOver = true
      }
    },
  }
}

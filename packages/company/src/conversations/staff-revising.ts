import { PoppyError } from '@poppyseed/protocol'
import type { ToolOutcome } from '../company-agent/turn.ts'
import type { StoredOperation } from '../operations/agreement.ts'
import type { Revising, WorkedOut } from '../operations/revising.ts'
import type { ConversationRow } from './row.ts'
import type { StaffRevision } from './staff-tools.ts'
import { contextOf, refusedOutcome, type ToolParts, underRights } from './turn-tools.ts'

/** Operations that staff revise, with the rights that the conversation has at that moment (reading 22). */

/** What it takes. */
export interface RevisingParts extends ToolParts {
  readonly revising: Revising
}

/**
 * Revises an operation: of the account that the conversation is used with, or, where it is no account's, proposed in it.
 * @param row as it was read a moment ago
 */
export async function reviseUnderRights(
  parts: RevisingParts,
  row: ConversationRow,
  { operation: id, revision: from, input, callId, signal, staff, within }: StaffRevision,
): Promise<ToolOutcome> {
  const { revising } = parts
  return underRights(
    parts,
    row,
    async (principal) => {
      try {
        const stored = await revising.find(id, { principal, from })
        requireHere(stored, row)
        const { value } = await parts.registry.call(
          stored.operation.name,
          input,
          contextOf(row, { callId, signal, staff: staff.id }, principal),
          { run: (parsed, context) => revising.workOut(stored, parsed, context) },
        )
        const kept = await revising.keep(stored, value as WorkedOut, {
          from,
          who: { staff: staff.id, name: staff.name },
          conversationId: row.id,
          within: (scope) => within(scope, principal),
        })
        return outcomeOf(parts, kept)
      } catch (error) {
        return refusedOutcome(error)
      }
    },
    ({ ok }) => ok,
  )
}

/** An operation as it is now, for whoever may see it with the rights of the conversation. */
export async function operationNow(parts: RevisingParts, row: ConversationRow, id: string): Promise<ToolOutcome> {
  return underRights(
    parts,
    row,
    async (principal) => {
      try {
        const stored = await parts.revising.own(id, principal)
        requireHere(stored, row)
        return outcomeOf(parts, stored)
      } catch (error) {
        return refusedOutcome(error)
      }
    },
    () => false,
  )
}

function outcomeOf({ revising }: RevisingParts, stored: StoredOperation): ToolOutcome {
  const operation = revising.write(stored)
  return { ok: true, operation, value: { operation } }
}

/** What is no account's belongs to the conversation that it was proposed in, and to the one beside it (7.10). */
function requireHere({ operation }: StoredOperation, row: ConversationRow): void {
  if (operation.account !== null) return
  const { conversation_id: there } = operation
  if (there !== null && [row.id, row.parent_id, row.direct_id].includes(there)) return
  throw new PoppyError('operation_not_found', { description: 'There is no such operation here.' })
}

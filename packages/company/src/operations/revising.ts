import { PoppyError, type WireOperation } from '@poppyseed/protocol'
import type { Principal } from '../sessions/principal.ts'
import type { Scope } from '../store/database.ts'
import type { ToolContext } from '../tools/tool.ts'
import type { Actor, StoredOperation } from './agreement.ts'
import { definitionOf, ownOperation } from './confirming.ts'
import { digestOf } from './digest.ts'
import { currentOperation, type OperationParts } from './parts.ts'
import { type CheckedProposal, checkProposal, inputToJson } from './proposal.ts'
import { identityOf, requirePage } from './proposing.ts'
import { addRevision, linkOperation } from './store.ts'

/**
 * Revising by staff in a conversation (Operations 4.3): other input, worked out by the operation's own `propose`, with the
 * rights that the conversation has (reading 22).
 */

/** Other terms, worked out and not kept yet. */
export interface WorkedOut extends CheckedProposal {
  /** JSON. */
  readonly input: string
  /** What it is about; null for a thing of its own. */
  readonly identity: string | null
}

/** See above. */
export interface Revising {
  /**
   * An operation that may be revised with these rights, from its latest revision.
   * @throws PoppyError `operation_not_found`, `sign_in_required`, `revision_conflict`
   */
  readonly find: (
    id: string,
    asked: { readonly principal: Principal; readonly from: number },
  ) => Promise<StoredOperation>
  /** Calls the operation's `propose`. Within the time, and with the rights and the checked input, of a call of it. */
  readonly workOut: (stored: StoredOperation, input: unknown, context: ToolContext) => Promise<WorkedOut>
  /**
   * Keeps what was worked out as the next revision.
   * @throws PoppyError `invalid_request` for what is about another thing, `revision_conflict`
   */
  readonly keep: (stored: StoredOperation, workedOut: WorkedOut, how: Kept) => Promise<StoredOperation>
  /**
   * One that may be seen with these rights.
   * @throws PoppyError `operation_not_found`, `sign_in_required`
   */
  readonly own: (id: string, principal: Principal) => Promise<StoredOperation>
  readonly write: (stored: StoredOperation) => WireOperation
}

/** How a revision is kept. */
export interface Kept {
  readonly from: number
  readonly who: Actor
  readonly conversationId: string
  /** Checks and writes what goes with it, in the same transaction; what it throws takes all of it back. */
  readonly within: (scope: Scope) => Promise<void>
}

const conflict = (id: string, from: number) =>
  new PoppyError('revision_conflict', {
    description: `Operation ${id} can’t be revised from revision ${from}: it has another, or is no longer proposed.`,
  })

/** Makes it. */
export function createRevising(parts: OperationParts): Revising {
  return {
    own: (id, principal) => ownOperation(parts, id, principal),
    write: parts.write,

    async find(id, { principal, from }) {
      const stored = await ownOperation(parts, id, principal)
      const { state, revision } = stored.operation
      if (state !== 'proposed' || revision !== from) throw conflict(id, from)
      return stored
    },

    async workOut(stored, input, context) {
      const operation = definitionOf(parts, stored)
      const inputJson = inputToJson(input, operation)
      const { client_id: clientId, user_id: userId, account } = stored.operation
      const identity = identityOf(operation, input, context, { clientId, userId, account })
      const proposal = await operation.propose(input, context)
      context.signal.throwIfAborted()
      const checked = checkProposal(proposal, { operation, now: parts.now() })
      requirePage(parts, { operation, approval: checked.approval, account })
      return { ...checked, input: inputJson, identity }
    },

    async keep({ operation }, { summary, terms, input, data = null, approval, expiresAt, identity }, how) {
      const { from, who, conversationId, within } = how
      const { id } = operation
      // An agent that asks for that other thing would get a second one, and this one for what it no longer is about.
      if (identity !== operation.identity)
        throw new PoppyError('invalid_request', {
          description: 'This is about something else than what was proposed. Propose it anew.',
        })
      const scope = await parts.scope()
      const now = parts.now()
      const revision = {
        operation_id: id,
        revision: from + 1,
        summary,
        terms,
        input,
        data,
        approval,
        expires_at: expiresAt,
      }
      await scope.db.transaction(async () => {
        await within(scope)
        // Operations 4.3: where nobody is told of it yet, this conversation is.
        if (operation.conversation_id === null) await linkOperation(scope, { id, conversationId })
        const changed = await addRevision(scope, {
          id,
          now,
          from,
          revision: { ...revision, digest: digestOf(revision), created_at: now },
          entry: { event: 'revised', channel: 'staff', who, revision: from + 1 },
          tells: parts.tells('revised'),
        })
        if (changed === null) throw conflict(id, from)
      })
      parts.changes.changed(id)
      const kept = await currentOperation(parts, id)
      if (kept === null) throw new PoppyError('operation_not_found', { description: 'There is no such operation.' })
      return kept
    },
  }
}

import { makeId, PoppyError } from '@poppyseed/protocol'
import { sha256 } from '../crypto/hash.ts'
import type { Principal } from '../sessions/principal.ts'
import { holdSession } from '../sessions/store.ts'
import type { Scope } from '../store/database.ts'
import type { ToolContext } from '../tools/tool.ts'
import type { Entry, StoredOperation } from './agreement.ts'
import type { Operation } from './definition.ts'
import { digestOf } from './digest.ts'
import type { Propose, Proposed, WithProposal } from './operation-tool.ts'
import { noticeExpiry, type OperationParts } from './parts.ts'
import { type CheckedProposal, checkProposal, inputToJson } from './proposal.ts'
import { addToTrail, findOpen, findOperation, insertOperation, linkOperation } from './store.ts'

/** Proposing (Operations 4): an operation is called like a tool, changes nothing, and answers with what it would do. */

/** How often it is tried again when an open one for the same thing ends at that moment. */
const mostTries = 5
/** How often it is written again when what goes with it is overtaken. */
const mostWritten = 50
/** Entries of a trail that asking again may fill. */
const mostAsked = 100
const longestIdentity = 1000

/** What is thrown inside where what goes with a proposal has to be written again. */
const overtaken = new Error('Something else happened at this moment.')

/** Makes {@link Propose}. */
export function createProposing(parts: OperationParts): Propose {
  return async (operation, input, context, also) => {
    const scope = await parts.scope()
    const inputJson = inputToJson(input, operation)
    const id = idOf(context)
    // A turn that is begun again finds what it proposed before.
    const before = await proposedBefore(id, context)
    if (before !== null) return (await written(scope, also, async () => before)) as Proposed
    const identity = identityOf(operation, input, context)
    const open = identity === null ? null : await openOne(identity, context, also)
    if (open !== null) return open

    const proposal = await operation.propose(input, context)
    // Nobody waits for it any more: then nothing is kept of it.
    context.signal.throwIfAborted()
    const now = parts.now()
    const { summary, terms, data = null, approval, expiresAt } = checkProposal(proposal, { operation, now })
    const { principal } = context
    requirePage(parts, { operation, approval, account: principal.account })
    const terms_ = { summary, terms, input: inputJson, data, approval, expires_at: expiresAt }
    const revision = { operation_id: id, revision: 1, ...terms_ }
    const row = {
      id,
      name: operation.name,
      client_id: principal.clientId,
      user_id: principal.userId,
      account: principal.account,
      session_id: principal.sessionId,
      identity,
      expires_at: expiresAt,
      created_at: now,
      updated_at: now,
      ...untouched,
      conversation_id: context.conversation?.id ?? null,
    } as const
    const entry: Entry = { event: 'proposed', ...asked(context), revision: 1 }
    for (let tries = 0; tries < mostTries; tries++) {
      const kept = await written(scope, also, async () => {
        await also?.hold(scope)
        if (!(await holdSession(scope, principal.sessionId)))
          throw new PoppyError('temporarily_unavailable', {
            description: 'The Session ended meanwhile.',
            reason: 'a Session was gone when its proposal was kept',
          })
        const proposal = {
          operation: row,
          revision: { ...revision, digest: digestOf(revision), created_at: now },
          entry,
          tells: parts.tells('proposed'),
        }
        return (await insertOperation(scope, proposal)) ? findOperation(scope, id) : null
      })
      if (kept !== null) return kept
      const other = identity === null ? null : await openOne(identity, context, also)
      if (other !== null) return other
      const same = await proposedBefore(id, context)
      if (same !== null) return (await written(scope, also, async () => same)) as Proposed
    }
    throw new Error(`Operations of ${operation.name} for the same thing end and begin faster than one can be kept.`)
  }

  /** Writes a proposal, or notes one that was found, with what goes with it: all or nothing. Null where `write` gives none. */
  async function written(
    scope: Scope,
    also: WithProposal | undefined,
    write: () => Promise<StoredOperation | null>,
  ): Promise<Proposed | null> {
    for (let tries = 0; tries < mostWritten; tries++) {
      let isKept = false
      try {
        const kept = await scope.db.transaction(async () => {
          const stored = await write()
          if (stored === null) return null
          const operation = parts.write(stored)
          if (also !== undefined && !(await also.write(scope, operation))) throw overtaken
          return { operation }
        })
        isKept = kept !== null
        return kept
      } catch (error) {
        if (error !== overtaken) throw error
      } finally {
        also?.over(isKept)
      }
    }
    throw new Error('What goes with a proposal changes faster than it can be written.')
  }

  /** The open operation for a thing, asked for again; null when there is none, or only one that is over. */
  async function openOne(
    identity: string,
    context: ToolContext,
    also: WithProposal | undefined,
  ): Promise<Proposed | null> {
    const scope = await parts.scope()
    const found = await findOpen(scope, identity)
    if (found === null) return null
    const current = await noticeExpiry(parts, scope, found)
    if (current === null || current.operation.identity === null) return null
    const { id, revision, trail } = current.operation
    return written(scope, also, async () => {
      // Operations 4.3: what is asked for in a conversation is told there, whoever proposed it.
      if (context.conversation !== undefined)
        await linkOperation(scope, { id, conversationId: context.conversation.id })
      if (trail < mostAsked) {
        const entry: Entry = { event: 'asked_again', ...asked(context), revision }
        await addToTrail(scope, { id, now: parts.now(), entry })
      }
      return current
    })
  }

  async function proposedBefore(id: string, { conversation, principal }: ToolContext): Promise<StoredOperation | null> {
    if (conversation === undefined) return null
    const scope = await parts.scope()
    const found = await findOperation(scope, id)
    const current = found === null ? null : await noticeExpiry(parts, scope, found)
    if (current === null || current.operation.account === principal.account) return current
    throw new PoppyError('sign_in_required', { description: 'This was proposed for another account.' })
  }

  /** Of its own; in a conversation the same each time that the same call is made. */
  function idOf({ conversation }: ToolContext): string {
    return conversation === undefined ? makeId('opn', parts.random) : `opn_${sha256(conversation.callId)}`
  }
}

/** @throws TypeError where only the company's own page may confirm it, and there can't be one */
export function requirePage(
  { hasPage }: Pick<OperationParts, 'hasPage'>,
  {
    operation,
    approval,
    account,
  }: Pick<CheckedProposal, 'approval'> & {
    readonly operation: Pick<Operation, 'name'>
    readonly account: string | null
  },
): void {
  if (approval === 'page' && (!hasPage || account === null))
    throw new TypeError(
      `The proposal of ${operation.name} wants approval on the company's own page: that takes \`account\` and \`signInPage\`, and a Session that is signed in.`,
    )
}

/** Who asks, and by which way, as a trail has it. */
function asked({ principal, via, conversation }: ToolContext): Pick<Entry, 'channel' | 'who'> {
  const who = actorOf(principal)
  if (via !== 'conversation') return { channel: via, who }
  const staff = conversation?.staff
  return staff === undefined ? { channel: 'agent', who } : { channel: 'staff', who: { ...who, staff } }
}

const untouched = {
  state: 'proposed',
  revision: 1,
  confirmed_revision: null,
  approved_by: null,
  confirmed_at: null,
  confirmed_scopes: null,
  turn: 0,
  started_at: null,
  unknown_since: null,
  cancel_asked_at: null,
  trail: 1,
  result: null,
  finished_at: null,
} as const

/** Who an agent is, as a trail has it. */
export function actorOf({ clientId, userId, sessionId }: Principal) {
  return { clientId, userId, sessionId }
}

/** Whose it is and what it is about, as one hash; null for a thing of its own. */
export function identityOf(
  operation: Operation,
  input: unknown,
  context: ToolContext,
  whose: Pick<Principal, 'clientId' | 'userId' | 'account'> = context.principal,
): string | null {
  const identity: unknown = operation.identity?.(input, context)
  if (identity === undefined) return null
  // One that is promised is none, and nobody waits for it: what it throws must not end the process.
  if (identity instanceof Promise) identity.catch(() => {})
  if (typeof identity !== 'string' || identity === '' || identity.length > longestIdentity)
    throw new TypeError(
      `identity of ${operation.name} gives a text of 1 to ${longestIdentity} characters, such as a booking's number, or undefined.`,
    )
  const { clientId, userId, account } = whose
  // Another agent can't use what this one proposed, so it never gets it back either.
  const owner = account === null ? [clientId, null, userId] : [clientId, account]
  return sha256(JSON.stringify([operation.name, identity, ...owner]))
}

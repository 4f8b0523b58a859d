import { type Approval, intersectScopes, PoppyError } from '@poppyseed/protocol'
import { findGrantById, scopesOf } from '../accounts/store.ts'
import type { Principal } from '../sessions/principal.ts'
import { requireScopes } from '../sessions/rights.ts'
import type { Actor, Channel, StoredOperation } from './agreement.ts'
import type { Operation } from './definition.ts'
import { currentOperation, noticeExpiry, type OperationParts } from './parts.ts'
import { actorOf } from './proposing.ts'
import { confirmOperation, findOperation, findWithGrant, type GrantState } from './store.ts'

/** Reading and confirming (Operations 3.2, 5.2): whose an operation is, and what has to be right before it is begun. */

const notFound = () => new PoppyError('operation_not_found', { description: 'There is no such operation.' })

/** An id as we make them; what is none isn't looked for. */
const isId = (id: string) => /^[A-Za-z0-9_-]{1,64}$/.test(id)

/**
 * An operation that a Principal may read, confirm and cancel (3.2): of its account, through the same Personal Agent; one
 * that was proposed signed out, of its client and User.
 * @throws PoppyError `operation_not_found`, or `sign_in_required` for a Session that isn't signed in to the account
 */
export async function ownOperation(parts: OperationParts, id: string, principal: Principal): Promise<StoredOperation> {
  return owned(isId(id) ? await currentOperation(parts, id) : null, principal)
}

function owned(found: StoredOperation | null, principal: Principal): StoredOperation {
  // Another agent learns nothing, not even that there is one.
  if (found === null || found.operation.client_id !== principal.clientId) throw notFound()
  const { account, user_id } = found.operation
  if (account === null) {
    if (user_id !== principal.userId) throw notFound()
    return found
  }
  if (principal.account === null)
    throw new PoppyError('sign_in_required', { description: 'This needs the User to be signed in.' })
  if (principal.account !== account) throw notFound()
  return found
}

/** Lays the operation as it is now beside an error. */
function withOperation(parts: OperationParts, stored: StoredOperation, error: PoppyError): PoppyError {
  const { code, description, reason, scope, extra } = error
  return new PoppyError(code, {
    ...(description === undefined ? {} : { description }),
    ...(reason === undefined ? {} : { reason }),
    ...(scope === undefined ? {} : { scope }),
    extra: { ...extra, operation: parts.write(stored) },
  })
}

/**
 * Whether a Principal has what the operation's action needs.
 * @throws PoppyError `insufficient_scope` or `sign_in_required` with the operation, `temporarily_unavailable` where the
 * company has no operation of this name now
 */
export function requireAction(parts: OperationParts, stored: StoredOperation, principal: Principal): Operation {
  const operation = definitionOf(parts, stored)
  try {
    requireScopes(principal, operation.scopes)
  } catch (error) {
    throw error instanceof PoppyError ? withOperation(parts, stored, error) : error
  }
  return operation
}

/** @throws PoppyError `temporarily_unavailable` where the company has no operation of this name now */
export function definitionOf(parts: OperationParts, stored: StoredOperation): Operation {
  const { name } = stored.operation
  const operation = parts.operations.get(name)
  if (operation !== undefined) return operation
  // Another instance may have it already, or still: nothing is lost by asking again.
  throw new PoppyError('temporarily_unavailable', {
    description: 'This can’t be done at the moment. Try again later.',
    reason: `no operation named ${name}`,
    retryAfter: 60,
  })
}

/** What confirms a revision. */
export interface Confirmation {
  readonly revision: number
  readonly approvedBy: Approval
}

/**
 * Confirms a revision, on the word of a Personal Agent. The checks stand in the order of Operations 5.2; an operation that is
 * no longer proposed is given back as it is.
 * @throws PoppyError `operation_not_found`, `sign_in_required`, `insufficient_scope`, `revision_conflict`,
 * `user_approval_required`, `company_confirmation_required`, all but the first two with the operation as it is now
 */
export async function confirmByAgent(
  parts: OperationParts,
  id: string,
  { revision, approvedBy }: Confirmation,
  principal: Principal,
): Promise<StoredOperation> {
  const { found, grant } = await readToConfirm(parts, id, principal)
  requireAction(parts, found, principal)
  // What was read together is looked at first; where the operation changed meanwhile, it is read anew.
  let read = grant
  return confirm(parts, found, {
    revision,
    approvedBy,
    channel: 'endpoint',
    who: actorOf(principal),
    scopes: principal.scopes,
    check: (current) => checkApproval(parts, current, approvedBy),
    async signIn(current) {
      const now = read === undefined ? await grantOf(parts, principal) : read
      read = undefined
      return currentSignIn(parts, current, { principal, grant: now })
    },
  })
}

async function readToConfirm(
  parts: OperationParts,
  id: string,
  principal: Principal,
): Promise<{ readonly found: StoredOperation; readonly grant: GrantState | null | undefined }> {
  const { grantId } = principal
  if (grantId === null || !isId(id)) return { found: await ownOperation(parts, id, principal), grant: null }
  const scope = await parts.scope()
  const both = await findWithGrant(scope, { id, grantId })
  const found = both === null ? null : await noticeExpiry(parts, scope, both.stored)
  return { found: owned(found, principal), grant: both?.grant }
}

async function grantOf(parts: OperationParts, { grantId }: Principal): Promise<GrantState | null> {
  return grantId === null ? null : findGrantById(await parts.scope(), grantId)
}

/** A sign-in as it stands: confirming holds it to that, in the same step. */
type SignIn = Pick<GrantState, 'id' | 'scopes'>

/**
 * The sign-in that a Principal's rights come from, as it stands now: it was checked with the request, and may have ended, or
 * been cut down, since then. Null where the operation needs none.
 * @throws PoppyError `sign_in_required`, `insufficient_scope`, with the operation
 */
function currentSignIn(
  parts: OperationParts,
  current: StoredOperation,
  { principal, grant }: { readonly principal: Principal; readonly grant: GrantState | null },
): SignIn | null {
  if (principal.grantId === null) return null
  const holds = grant !== null && grant.revoked_at === null && (grant.expires_at ?? Infinity) > parts.now()
  const now: Principal = holds
    ? { ...principal, scopes: intersectScopes(principal.scopes, scopesOf(grant)) }
    : { ...principal, account: null, scopes: [], grantId: null }
  if (current.operation.account !== null && now.account === null)
    throw withOperation(
      parts,
      current,
      new PoppyError('sign_in_required', { description: 'This needs the User to be signed in.' }),
    )
  requireAction(parts, current, now)
  return holds ? grant : null
}

function checkApproval(parts: OperationParts, current: StoredOperation, approvedBy: Approval): void {
  const { approval } = current.revision
  if (approval === 'page') {
    const { confirmation_url } = parts.write(current)
    throw withOperation(
      parts,
      current,
      new PoppyError('company_confirmation_required', {
        description: 'Only the User can confirm this, on the company’s own page: confirmation_url.',
        extra: { confirmation_url },
      }),
    )
  }
  if (approval === 'user' && approvedBy !== 'user')
    throw withOperation(
      parts,
      current,
      new PoppyError('user_approval_required', {
        description: 'The User has to approve this revision; a standing permission is not enough.',
      }),
    )
}

/** How {@link confirm} is asked. */
export interface ConfirmOptions {
  readonly revision: number
  readonly approvedBy: 'user' | 'standing_permission' | 'page'
  readonly channel: Channel
  readonly who: Actor
  readonly scopes: readonly string[]
  /** Throws where this approval isn't enough for the revision. */
  readonly check: (current: StoredOperation) => void
  /** The sign-in by whose rights it is confirmed, as it stands now; null for none. Throws where it isn't enough. */
  readonly signIn: (current: StoredOperation) => Promise<SignIn | null>
}

/** How often it is looked again when the operation changes at that very moment. */
const mostTries = 5

/**
 * Confirms the latest revision and has it performed, in one step that only one of several makes. Gives the operation as it
 * is then, also when it was no longer proposed.
 * @throws PoppyError `revision_conflict` with the operation, and what `check` throws
 */
export async function confirm(
  parts: OperationParts,
  found: StoredOperation,
  { revision, approvedBy, channel, who, scopes, check, signIn }: ConfirmOptions,
): Promise<StoredOperation> {
  const scope = await parts.scope()
  const { id } = found.operation
  let current: StoredOperation | null = found
  for (let tries = 0; tries < mostTries; tries++) {
    if (current === null) throw notFound()
    if (current.operation.state !== 'proposed') return current
    if (current.operation.revision !== revision)
      throw withOperation(
        parts,
        current,
        new PoppyError('revision_conflict', {
          description:
            'The terms are others now: nothing was confirmed. Ask for approval of the revision in `operation`.',
        }),
      )
    check(current)
    const grant = await signIn(current)
    await parts.at('confirming', id)
    const now = parts.now()
    const given = scopes.join(' ')
    const changed = await confirmOperation(scope, {
      id,
      now,
      confirmed: revision,
      approvedBy,
      scopes: given,
      grantId: grant?.id ?? null,
      grantScopes: grant?.scopes ?? null,
      dueAt: now,
      tells: parts.tells('confirmed'),
      entry: { event: 'confirmed', channel, who, revision, detail: { approved_by: approvedBy } },
    })
    if (changed !== null) {
      await parts.at('confirmed', id)
      parts.changes.changed(id)
      // What was agreed is the revision that was read: it never changes. Of a proposal's row, only what comes back here does.
      const operation = {
        ...current.operation,
        state: 'in_progress',
        confirmed_revision: revision,
        approved_by: approvedBy,
        confirmed_at: now,
        confirmed_scopes: given,
        expires_at: null,
        trail: changed.trail,
        conversation_id: changed.conversation_id,
        updated_at: now,
      } as const
      const confirmed: StoredOperation = { operation, revision: current.revision }
      parts.begin(id, confirmed)
      return confirmed
    }
    const seen: StoredOperation | null = await findOperation(scope, id)
    current = seen === null ? null : await noticeExpiry(parts, scope, seen)
  }
  throw new PoppyError('temporarily_unavailable', {
    description: 'The operation changes too fast. Try again.',
    retryAfter: 1,
  })
}

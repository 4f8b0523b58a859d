import { PoppyError } from '@poppyseed/protocol'
import type { Principal } from '../sessions/principal.ts'
import { isActive, principalOf, type SessionLimits } from '../sessions/rights.ts'
import { peekSession } from '../sessions/store.ts'
import type { Scope } from '../store/database.ts'
import type { ConversationsTable } from '../store/tables.ts'
import { type Caller, rightsOf } from './conversation.ts'

/**
 * What may be done in a conversation at this moment (reading 22): with the rights of the token of the last accepted message, cut
 * down to what its Session and its grant have now. Whoever does it, agent or staff, has no others.
 */

/** What the rights of a conversation are worked out from. */
export type RightsOf = Pick<
  ConversationsTable,
  'client_id' | 'caller_user_id' | 'session_id' | 'grant_id' | 'scopes' | 'epoch'
>

/** See {@link standingNow}. */
export interface Standing {
  /** Signed out where the Session has ended. */
  readonly principal: Principal
  /** `blocked`: the company keeps the Personal Agent out, and nothing may be done for it (4.1). */
  readonly session: 'active' | 'ended' | 'blocked'
}

/** What looks it up. */
export interface RightsParts {
  readonly scope: () => Promise<Scope>
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly sessionLimits: SessionLimits
}

/** The Principal of a conversation now, and how its Session stands. Notes no use of the Session: nobody came with a token. */
export async function standingNow(parts: RightsParts, row: RightsOf): Promise<Standing> {
  const scope = await parts.scope()
  const session = await peekSession(scope, row.session_id)
  const now = parts.now()
  const token = {
    company: scope.company,
    clientId: row.client_id,
    userId: row.caller_user_id,
    sessionId: row.session_id,
    keyThumbprint: undefined,
    resource: undefined,
    grantId: row.grant_id ?? undefined,
    scopes: row.scopes === '' ? [] : row.scopes.split(' '),
    epoch: row.epoch,
    ownMcpFlow: false,
    expiresAt: Infinity,
  }
  const isTheirs = session?.clientId === row.client_id && session.userId === row.caller_user_id
  if (session !== null && isTheirs && isActive(session, parts.sessionLimits, now))
    return { principal: principalOf(token, session, parts.sessionLimits, now), session: 'active' }
  return {
    principal: Object.freeze({
      company: scope.company,
      clientId: row.client_id,
      userId: row.caller_user_id,
      sessionId: row.session_id,
      account: null,
      scopes: Object.freeze([]),
      resource: null,
      grantId: null,
    }),
    session: isTheirs && session.blockedAt !== null ? 'blocked' : 'ended',
  }
}

/**
 * Who came with a token, with the rights that it has at this moment: a request may be long on its way after it was authenticated.
 * @throws PoppyError `invalid_token` where the Session is over, or its agent blocked
 */
export async function callerNow(parts: RightsParts, caller: Caller): Promise<Caller> {
  const { principal, session } = await standingNow(parts, { ...rightsOf(caller), client_id: caller.principal.clientId })
  if (session !== 'active')
    throw new PoppyError('invalid_token', {
      description: 'The Session Token is not valid.',
      reason: `the Session was ${session} when the request had come whole`,
    })
  const { resource } = caller.principal
  return { epoch: caller.epoch, principal: Object.freeze({ ...principal, resource }) }
}

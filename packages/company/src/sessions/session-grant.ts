import { checkSessionAssertion, makeId, PoppyError, parseScope } from '@poppyseed/protocol'
import type { SessionsTable } from '../store/tables.ts'
import { assertionLifetime, assertionSkew } from './client-authentication.ts'
import { isActive } from './rights.ts'
import { claimIds, insertSession, peekSession, readSession } from './store.ts'
import type { TokenRequest } from './token-request.ts'
import { type Issued, issueTokens } from './token-response.ts'

/** The JWT bearer grant (4.2): starts a Session, or renews a signed-out one. The token is always a signed-out one. */

/** The refusal of a `session_id` that is unknown, ended or somebody else’s: one answer for all (4.2). */
export function invalidSession(reason: string): PoppyError {
  return new PoppyError('invalid_session', { description: 'There is no such Session. Start a new one.', reason })
}

function refusedAssertion(reason: string): PoppyError {
  return new PoppyError('invalid_grant', { description: 'The Session assertion was not accepted.', reason })
}

/** The row of a Session that begins now. */
export function sessionRow(begin: {
  readonly id: string
  readonly clientId: string
  readonly userId: string
  readonly account: string | null
  readonly grantId: string | null
  readonly now: number
  readonly expiresAt: number
}): Omit<SessionsTable, 'company'> {
  return {
    id: begin.id,
    client_id: begin.clientId,
    user_id: begin.userId,
    account: begin.account,
    grant_id: begin.grantId,
    epoch: 0,
    created_at: begin.now,
    last_used_at: begin.now,
    expires_at: begin.expiresAt,
    ended_at: null,
  }
}

/**
 * Opens a Session that is signed in from the start (4.8, 6). Call it inside the transaction of its grant.
 *
 * One that an MCP client of its own flow gets ends with its token: such a client knows no `session_id`, so nothing could
 * renew it, and each refresh opens the next. Else a client that refreshes every hour would leave 720 running Sessions.
 */
export async function openSignedInSession(
  { client, scope, settings }: Pick<TokenRequest, 'client' | 'scope' | 'settings'>,
  begin: {
    readonly userId: string
    readonly account: string
    readonly grantId: string
    readonly now: number
    readonly ownMcpFlow: boolean
  },
): Promise<Pick<Issued, 'sessionId' | 'userId' | 'epoch' | 'sessionExpiresAt' | 'ownMcpFlow'>> {
  const { ownMcpFlow, ...row } = begin
  const id = makeId('ses', settings.random)
  const expiresAt = begin.now + (ownMcpFlow ? settings.tokenLifetime : settings.sessionLifetime)
  await insertSession(scope, sessionRow({ id, clientId: client.clientId, expiresAt, ...row }))
  return { sessionId: id, userId: begin.userId, epoch: 0, sessionExpiresAt: expiresAt, ownMcpFlow }
}

/** @throws PoppyError `invalid_scope`, `invalid_grant`, `invalid_session`, `invalid_client` */
export async function startOrRenewSession(request: TokenRequest): Promise<Response> {
  const { parameters, client, scope, settings } = request
  const assertion = parameters.get('assertion')
  if (assertion === undefined) throw new PoppyError('invalid_request', { description: 'assertion is missing.' })
  const asked = parseScope(parameters.get('scope') ?? '')
  if (asked === null || asked.length > 0) {
    throw new PoppyError('invalid_scope', { description: 'A signed-out Session has no scopes: leave scope out.' })
  }
  const checked = await checkSessionAssertion(assertion, {
    clientId: client.clientId,
    tokenEndpoint: settings.tokenEndpoint,
    now: settings.now() / 1000,
    skew: assertionSkew,
    maxLifetime: assertionLifetime,
    findKeys: client.agent.findKeys,
  })
  // What a database can't keep as it is would make two Users one.
  if (/[\p{Cc}\p{Cs}]/u.test(checked.userId)) throw refusedAssertion('sub has control characters')
  const now = settings.now()
  const existing = parameters.get('session_id')
  // 4.1: Session creation is limited by client. Before anything is claimed: a retry may bring the same assertions.
  const notCounted =
    existing === undefined ? settings.requestLimits.countSession(client.clientId, checked.userId) : () => {}
  const outcome = await scope.db.transaction(async () => {
    const used = await request.claim()
    if (used) return used
    const isNew = await claimIds(scope, [
      {
        kind: 'session_assertion',
        owner: client.clientId,
        id: checked.id,
        expiresAt: Math.ceil(checked.passesUntil * 1000),
      },
    ])
    if (!isNew) return refusedAssertion('used before')
    if (existing !== undefined) {
      const session = await peekSession(scope, existing)
      if (!session || session.clientId !== client.clientId || session.userId !== checked.userId)
        return invalidSession('not theirs')
      if (!isActive(session, settings.limits, now)) return invalidSession('ended')
      await readSession(scope, { sessionId: existing, now, idle: settings.limits.idle })
      // 4.2: a signed-in Session stays signed in; what it gets here is a signed-out token
      return { id: existing, epoch: session.epoch, expiresAt: session.expiresAt }
    }
    const id = makeId('ses', settings.random)
    const expiresAt = now + settings.sessionLifetime
    await insertSession(
      scope,
      sessionRow({
        id,
        clientId: client.clientId,
        userId: checked.userId,
        account: null,
        grantId: null,
        now,
        expiresAt,
      }),
    )
    return { id, epoch: 0, expiresAt }
  })
  if (outcome instanceof PoppyError) {
    notCounted()
    throw outcome
  }
  return issueTokens(request, {
    sessionId: outcome.id,
    userId: checked.userId,
    epoch: outcome.epoch,
    sessionExpiresAt: outcome.expiresAt,
  })
}

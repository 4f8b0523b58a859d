import { PoppyError } from '@poppyseed/protocol'
import { accountMismatch } from '../../accounts/account-token-grant.ts'
import { grantSignIn } from '../../accounts/grant-sign-in.ts'
import { sha256 } from '../../crypto/hash.ts'
import { isActive } from '../../sessions/rights.ts'
import { invalidSession } from '../../sessions/session-grant.ts'
import { peekSession } from '../../sessions/store.ts'
import { narrowScopes, type TokenRequest } from '../../sessions/token-request.ts'
import { type Issued, issueTokens } from '../../sessions/token-response.ts'
import { findDevice, notePoll, spendDevice } from './store.ts'

/** The device code grant (4.6, RFC 8628): asked again and again until the person has decided, and good for once. */

/** Seconds that are added when an agent asks too soon (RFC 8628, 3.5), and what they may come to. */
const slowDownBy = 5
const slowestInterval = 60

/** @throws PoppyError `authorization_pending`, `slow_down`, `access_denied`, `expired_token`, `invalid_grant`, and those of a Session */
export async function exchangeDeviceCode(request: TokenRequest): Promise<Response> {
  const { parameters, client, scope, settings } = request
  const deviceCode = parameters.get('device_code')
  if (deviceCode === undefined) throw new PoppyError('invalid_request', { description: 'device_code is missing.' })
  const sessionId = parameters.get('session_id')
  if (sessionId === undefined) throw new PoppyError('invalid_request', { description: 'session_id is missing.' })
  const now = settings.now()
  const codeHash = sha256(deviceCode)

  const outcome = await scope.db.transaction(async (): Promise<PoppyError | Issued> => {
    const used = await request.claim()
    if (used) return used
    const device = await findDevice(scope, codeHash)
    // Whoever it wasn't issued to learns nothing of it, and changes nothing.
    if (!device || device.client_id !== client.clientId) return invalidGrant('unknown or another client’s')
    if (device.status === 'used') return invalidGrant('used before')
    if (device.status === 'declined')
      return new PoppyError('access_denied', { description: 'The User declined. Do not ask again.' })
    if (device.expires_at <= now)
      return new PoppyError('expired_token', { description: 'The codes have expired. Begin a new sign-in.' })
    if (device.status === 'pending' || device.account === null || device.approved_scopes === null) {
      // 4.6: until the User has decided, and no longer. Whoever asks too soon after that gets what was approved.
      const interval = Number(device.interval_seconds)
      const isTooSoon = device.polled_at !== null && now < device.polled_at + interval * 1000
      const next = isTooSoon ? Math.min(interval + slowDownBy, slowestInterval) : interval
      await notePoll(scope, { codeHash, now, interval: next })
      return isTooSoon
        ? new PoppyError('slow_down', {
            description: `Wait ${next} seconds between two requests.`,
            extra: { interval: next },
          })
        : new PoppyError('authorization_pending', { description: 'The User has not decided yet.' })
    }

    const session = await peekSession(scope, sessionId)
    if (!session || session.clientId !== client.clientId || !isActive(session, settings.limits, now))
      return invalidSession('not theirs or ended')
    if (session.account !== null && session.account !== device.account) return accountMismatch()
    const approved = device.approved_scopes.split(' ')
    let scopes: readonly string[]
    try {
      scopes = narrowScopes(parameters, approved)
    } catch (error) {
      if (error instanceof PoppyError) return error
      throw error
    }
    if (!(await spendDevice(scope, { codeHash, now }))) return invalidGrant('used at the same moment')
    const { issued } = await grantSignIn(request, {
      session,
      account: device.account,
      approved,
      scopes,
      signIn: 'device',
    })
    return issued
  })
  if (outcome instanceof PoppyError) throw outcome
  return issueTokens(request, outcome)
}

function invalidGrant(reason: string): PoppyError {
  return new PoppyError('invalid_grant', {
    description: 'The device code is not valid. Begin a new sign-in.',
    reason,
  })
}

import { confirmRequestSchema, PoppyError } from '@poppyseed/protocol'
import { z } from 'zod'
import { readJsonObject } from '../http/body.ts'
import { json } from '../http/respond.ts'
import type { Handler } from '../http/router.ts'
import type { Authenticator, Need, TokenHolder } from '../sessions/authenticate.ts'
import { principalStill } from '../sessions/late-body.ts'
import type { Principal } from '../sessions/principal.ts'
import { isActive, principalNow, type SessionLimits } from '../sessions/rights.ts'
import { peekSession } from '../sessions/store.ts'
import type { StoredOperation } from './agreement.ts'
import { cancelByAgent } from './cancelling.ts'
import { confirmByAgent, ownOperation } from './confirming.ts'
import type { OperationParts } from './parts.ts'
import { waitFor } from './waiting.ts'

/** The endpoint (Operations 3): an operation is read, confirmed and cancelled with a DPoP Session Token. */

/** What the endpoint needs. */
export interface OperationsEndpoint {
  readonly parts: OperationParts
  readonly authenticator: Pick<Authenticator, 'withEpoch'>
  /** Which tokens it takes (4.3). */
  readonly need: Need
  readonly limits: SessionLimits
  /** Aborts when the Company begins to close: whoever waits is answered then. */
  readonly ending: AbortSignal
}

/** Bytes of a body: it has a few short members. */
const bodyLimit = 4096

/** Seconds that an answer may be put off. */
const longestWait = 30

const waitSchema = z.int().min(0).max(longestWait)
const confirmSchema = confirmRequestSchema.extend({ wait: waitSchema.optional() })

/** Makes the handlers; each gets the operation's id. */
export function operationHandlers(
  endpoint: OperationsEndpoint,
): Readonly<Record<'read' | 'confirm' | 'cancel', Handler>> {
  const { parts } = endpoint
  const answer = (stored: StoredOperation) => json({ operation: parts.write(stored) })
  const authenticate = (request: Request) => endpoint.authenticator.withEpoch(request, endpoint.need)
  /** The body, and who has sent it by then (4.9). */
  const bodyOf = async (request: Request, holder: TokenHolder) => {
    const since = parts.now()
    const body = await readJsonObject(request, bodyLimit)
    const { limits } = endpoint
    const principal = await principalStill(holder, { scope: parts.scope, now: parts.now, limits, since })
    return { body, principal }
  }

  return {
    async read(request, id) {
      const { principal } = await authenticate(request)
      const seconds = readWait(request)
      const found = await ownOperation(parts, id, principal)
      if (seconds === 0) return answer(found)
      const { state, revision } = found.operation
      // Anything new is worth an answer; what is over has nothing new.
      return later(request, principal, found, seconds, ({ operation }) => {
        return operation.state !== state || operation.revision !== revision
      })
    },

    async confirm(request, id) {
      const { body: sent, principal } = await bodyOf(request, await authenticate(request))
      const body = confirmSchema.safeParse(sent)
      if (!body.success)
        throw new PoppyError('invalid_request', {
          description: `The body is { "revision": 1, "approved_by": "user" } or "standing_permission", and may have "wait", 0 to ${longestWait} seconds.`,
        })
      const { revision, approved_by: approvedBy, wait = 0 } = body.data
      const confirmed = await confirmByAgent(parts, id, { revision, approvedBy }, principal)
      if (wait === 0) return answer(confirmed)
      return later(request, principal, confirmed, wait, () => false)
    },

    async cancel(request, id) {
      const { principal } = await bodyOf(request, await authenticate(request))
      return answer(await cancelByAgent(parts, id, principal))
    },
  }

  async function later(
    request: Request,
    principal: Principal,
    found: StoredOperation,
    seconds: number,
    isNews: (stored: StoredOperation) => boolean,
  ): Promise<Response> {
    const signal = AbortSignal.any([request.signal, endpoint.ending])
    const { stored, hasWaited } = await waitFor(parts, found, {
      milliseconds: seconds * 1000,
      session: principal.sessionId,
      signal,
      isNews,
    })
    // 4.9: whoever was signed out meanwhile isn't told what came of it
    if (hasWaited) await requireStill(principal)
    return answer(stored)
  }

  async function requireStill(principal: Principal): Promise<void> {
    const session = await peekSession(await parts.scope(), principal.sessionId)
    const now = parts.now()
    if (session === null || !isActive(session, endpoint.limits, now))
      throw new PoppyError('invalid_token', {
        description: 'The Session Token is not valid.',
        reason: 'ended in a wait',
      })
    if (principal.account === null) return
    const { account, grantId } = principalNow(principal.company, session, now)
    if (account !== principal.account || grantId === null)
      throw new PoppyError('sign_in_required', { description: 'This needs the User to be signed in.' })
  }
}

/** @throws PoppyError `invalid_request` for a `wait` that is no number of seconds, or stands there twice */
function readWait(request: Request): number {
  const given = new URL(request.url).searchParams.getAll('wait')
  if (given.length === 0) return 0
  const [text = ''] = given
  const seconds = waitSchema.safeParse(/^[0-9]{1,3}$/.test(text) ? Number(text) : null)
  if (given.length === 1 && seconds.success) return seconds.data
  throw new PoppyError('invalid_request', {
    description: `wait is a number of seconds, 0 to ${longestWait}, once.`,
  })
}

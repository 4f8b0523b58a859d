import { type FormParameters, formatScope, PoppyError, parseScope } from '@poppyseed/protocol'
import { sha256 } from '../../crypto/hash.ts'
import { base64urlOf } from '../../crypto/random.ts'
import type { Client } from '../../sessions/client-authentication.ts'
import { claimClientAssertion, clientAssertionReplayed } from '../../sessions/token-request.ts'
import type { Scope } from '../../store/database.ts'
import { insertDevice } from './store.ts'
import { makeUserCode, readUserCode } from './user-code.ts'

/** Section 4.6, step 1: an agent asks for a pair of codes. */

/** Milliseconds that a person has. */
export const deviceLifetime = 10 * 60_000
/** Seconds between two polls at first. */
export const pollInterval = 5
/** User codes that may be taken already, before something is wrong. */
const attempts = 5

/** What the agent gets; `deviceCode` is its secret. */
export interface DeviceRequest {
  readonly deviceCode: string
  /** As people read it: `WDJB-MJHT`. */
  readonly userCode: string
}

/** What starting needs beside the request. */
export interface DeviceStart {
  /** The scopes that Device Sign-In can grant (4.4). */
  readonly offered: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
  /** Told when the assertion was used before. */
  readonly onReplay: () => void
}

/** @throws PoppyError `invalid_scope`, `invalid_client` for an assertion that was used before */
export async function startDevice(
  parameters: FormParameters,
  client: Client,
  scope: Scope,
  start: DeviceStart,
): Promise<DeviceRequest> {
  const now = start.now()
  const deviceCode = `dvc_${base64urlOf(start.random(32))}`
  const outcome = await scope.db.transaction(async () => {
    if (!(await claimClientAssertion(scope, client))) {
      start.onReplay()
      return clientAssertionReplayed()
    }
    const scopes = parseScope(parameters.get('scope') ?? '')
    if (scopes === null || scopes.length === 0)
      return new PoppyError('invalid_scope', { description: 'scope is missing or malformed.' })
    if (!scopes.every((one) => start.offered.includes(one)))
      return new PoppyError('invalid_scope', { description: 'Device Sign-In does not offer all of these scopes.' })
    for (let attempt = 0; attempt < attempts; attempt++) {
      const userCode = makeUserCode(start.random)
      const isNew = await insertDevice(scope, {
        code_hash: sha256(deviceCode),
        user_code_hash: sha256(readUserCode(userCode) ?? ''),
        client_id: client.clientId,
        scopes: formatScope(scopes),
        status: 'pending',
        account: null,
        approved_scopes: null,
        created_at: now,
        expires_at: now + deviceLifetime,
        polled_at: null,
        interval_seconds: pollInterval,
      })
      if (isNew) return userCode
    }
    throw new Error('no user code is free')
  })
  if (outcome instanceof PoppyError) throw outcome
  return { deviceCode, userCode: outcome }
}

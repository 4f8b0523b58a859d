import { sha256 } from '../crypto/hash.ts'
import type { Successors } from '../crypto/successor.ts'
import type { Scope } from '../store/database.ts'
import {
  findGrantById,
  findGrantByToken,
  findRetired,
  type GrantRow,
  replaceToken,
  revokeGrant,
  type SignOut,
} from './store.ts'

/** Rotation of Account Tokens (4.8): on where the company says so. It never signs anybody out by accident. */

/** How tokens rotate. */
export interface Rotation {
  /** Whether a token is replaced when it is used. Where not, those that were replaced before still give their successors. */
  readonly replaces: boolean
  readonly successors: Successors
  /** Milliseconds for which a replaced token still gives its successor: for parallel requests, and for lost answers. */
  readonly grace: number
}

/** An Account Token that was presented, with the grant that it stands for. */
export interface PresentedToken {
  readonly grant: GrantRow
  /** The token to go on with, when it isn't the one that was presented. */
  readonly successor: string | undefined
}

/** Replaced tokens that one may be behind, when several processes of an agent refresh all the time for an hour. */
const longestChain = 2000

/**
 * Finds the grant of an Account Token, also of one that was replaced a moment ago. One that was replaced long ago was
 * copied or restored: it revokes what the sign-in gave, if its own client sends it. The grant is held until the
 * transaction ends.
 */
export async function findPresented(
  scope: Scope,
  token: string,
  { clientId, rotation, ...signOut }: SignOut & { readonly clientId: string; readonly rotation: Rotation },
): Promise<PresentedToken | null> {
  const { now } = signOut
  const hash = sha256(token)
  const current = await findGrantByToken(scope, hash, { isHeld: true })
  if (current !== null) return { grant: current, successor: undefined }
  const retired = await findRetired(scope, hash)
  if (retired === null) return null
  const grant = await findGrantById(scope, retired.grant_id, { isHeld: true })
  // 4.8: whoever it wasn't issued to gets nothing and ends nothing.
  if (grant === null || grant.client_id !== clientId || grant.revoked_at !== null) return null
  if (now >= retired.retired_at + rotation.grace) {
    await revokeGrant(scope, { grantId: grant.id, ...signOut })
    return null
  }
  const successor = await newestOf(scope, token, grant, rotation)
  // Nobody can make it again. Whoever has the newest goes on; this one signs in anew.
  return successor === undefined ? null : { grant, successor }
}

/** Replaces the token that was presented, if it is the current one. Call it when nothing can be refused any more. */
export async function rotate(
  scope: Scope,
  token: string,
  { grant, successor }: PresentedToken,
  { rotation, now }: { readonly rotation: Rotation; readonly now: number },
): Promise<string | undefined> {
  if (!rotation.replaces || successor !== undefined) return successor
  const next = rotation.successors.next(token, grant.id)
  const hashes = { tokenHash: sha256(token), successorHash: sha256(next) }
  // The grant is held, so this can't be; should it be, nothing of the transaction is kept.
  if (!(await replaceToken(scope, { grantId: grant.id, ...hashes, now })))
    throw new Error('the Account Token was replaced meanwhile')
  return next
}

/** Follows a replaced token to the current one. Undefined when a secret that made one of them is gone. */
async function newestOf(
  scope: Scope,
  token: string,
  grant: GrantRow,
  { successors }: Rotation,
): Promise<string | undefined> {
  let known = token
  for (let steps = 0; steps < longestChain; steps++) {
    const retired = await findRetired(scope, sha256(known))
    if (retired === null) return sha256(known) === grant.token_hash ? known : undefined
    const next = successors.all(known, grant.id).find((one) => sha256(one) === retired.successor_hash)
    if (next === undefined) return undefined
    known = next
  }
  return undefined
}

import type { Admission } from '../agents/admission.ts'
import { sha256 } from '../crypto/hash.ts'
import type { Principal } from '../sessions/principal.ts'
import { isActive, principalNow, type SessionLimits } from '../sessions/rights.ts'
import { readSession } from '../sessions/store.ts'
import type { Scope } from '../store/database.ts'
import { type CookieSettings, readCookies } from './cookie.ts'
import { findBrowser } from './store.ts'

/** Section 5: whose browser a request of the website comes from. */

/** What {@link readBrowserPrincipal} needs. */
export interface BrowserReader {
  readonly cookie: CookieSettings
  readonly scope: () => Promise<Scope>
  readonly limits: SessionLimits
  readonly admission: Admission
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/**
 * The Principal of a Personal Agent's browser, as its Session stands at this moment, or null for everybody else (5).
 * A cookie that is there and good for nothing any more is nobody's: the visitor is signed out. One that opens nothing takes
 * nothing from the one beside it; with two that open different Sessions nobody can say whose request it is.
 */
export async function readBrowserPrincipal(request: Request, reader: BrowserReader): Promise<Principal | null> {
  const found = new Map<string, Principal>()
  for (const value of readCookies(request, reader.cookie.name)) {
    const principal = await principalBy(value, reader)
    if (principal !== null) found.set(principal.sessionId, principal)
  }
  const [only = null] = found.values()
  return found.size === 1 ? only : null
}

async function principalBy(value: string, reader: BrowserReader): Promise<Principal | null> {
  const scope = await reader.scope()
  const now = reader.now()
  const sessionId = await findBrowser(scope, { cookieHash: sha256(value), now })
  if (sessionId === null) return null
  const session = await readSession(scope, { sessionId, now, idle: reader.limits.idle })
  // 5: never longer than its Session
  if (session === null || !isActive(session, reader.limits, now)) return null
  if (!(await reader.admission.admits(session.clientId))) return null
  return principalNow(scope.company, session, now)
}

import { checkBrowserAssertion, PoppyError } from '@poppyseed/protocol'
import type { AgentDirectory } from '../agents/directory.ts'
import { sha256 } from '../crypto/hash.ts'
import { base64urlOf } from '../crypto/random.ts'
import { readForm } from '../http/body.ts'
import type { Route } from '../http/router.ts'
import type { RequestLimits } from '../limits/request-limits.ts'
import { type PageParts, pageRoute } from '../pages/page-route.ts'
import { assertionSkew, identifyClient } from '../sessions/client-authentication.ts'
import { isActive, type SessionLimits } from '../sessions/rights.ts'
import { claimIds, peekSession } from '../sessions/store.ts'
import type { Scope } from '../store/database.ts'
import { noteCaller } from '../telemetry/caller.ts'
import { type CookieSettings, readCookies, writeCookie } from './cookie.ts'
import { type OwnPages, readReturnTo } from './return-to.ts'
import { deleteBrowser, insertBrowser } from './store.ts'

/** Section 5: where the browser of a Personal Agent joins its Session. */

/** What the endpoint needs. */
export interface BrowserEndpoint {
  /** Its own URL, as `poppy.json` gives it. */
  readonly endpoint: string
  readonly cookie: CookieSettings
  readonly pages: OwnPages
  readonly directory: AgentDirectory
  readonly scope: () => Promise<Scope>
  readonly limits: SessionLimits
  readonly requestLimits: RequestLimits
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
}

function refuse(reason: string): PoppyError {
  return new PoppyError('invalid_request', { description: 'The browser assertion was not accepted.', reason })
}

/**
 * Checks a browser assertion, sets the cookie and sends the browser on.
 * @throws PoppyError, and nothing is set
 */
export async function joinBrowser(request: Request, endpoint: BrowserEndpoint): Promise<Response> {
  const { requestLimits } = endpoint
  const checked = await identifyClient(request, requestLimits, async () => {
    // 5: in the body, never in the URL
    if (request.url.includes('?')) throw refuse('parameters in the URL')
    const assertion = (await readForm(request, 16_384)).get('assertion')
    if (assertion === undefined) throw refuse('no assertion')
    return await checkBrowserAssertion(assertion, {
      endpoint: endpoint.endpoint,
      // Once the body has come: one that is held back would outlast what is known of its use.
      now: endpoint.now() / 1000,
      skew: assertionSkew,
      findClient: (clientId) => endpoint.directory.find(clientId),
    })
  })
  const now = endpoint.now()
  // Against the client that signed it; whether the Session is theirs is not known yet.
  const notCounted = requestLimits.countTokenRequest(checked.clientId)
  const location = readReturnTo(checked.returnTo, endpoint.pages)
  if (location === null) throw refuse('return_to is not an address of the Company')
  const scope = await endpoint.scope()
  const value = base64urlOf(endpoint.random(32))
  const earlier = readCookies(request, endpoint.cookie.name)
  const expiresAt = await scope.db.transaction(async () => {
    const session = await peekSession(scope, checked.sessionId)
    if (!session || session.clientId !== checked.clientId || session.userId !== checked.userId)
      throw refuse('the Session is not theirs')
    noteCaller(request, checked)
    if (!isActive(session, endpoint.limits, now)) throw refuse('the Session has ended')
    // Last, and with what it gives: one that was refused for something else may come again.
    const isNew = await claimIds(scope, [
      {
        kind: 'browser_assertion',
        owner: checked.clientId,
        id: checked.id,
        expiresAt: Math.ceil(checked.passesUntil * 1000),
      },
    ])
    if (!isNew) {
      // Somebody else's copy of a form takes nothing from the client.
      notCounted()
      requestLimits.countFailure(request)
      throw refuse('used before')
    }
    for (const cookie of earlier) await deleteBrowser(scope, sha256(cookie))
    const ends = Math.min(now + endpoint.cookie.lifetime, session.expiresAt)
    await insertBrowser(scope, { cookieHash: sha256(value), sessionId: checked.sessionId, now, expiresAt: ends })
    return ends
  })
  return new Response(null, {
    status: 303,
    headers: {
      location,
      'set-cookie': writeCookie(endpoint.cookie, value, Math.max(1, Math.floor((expiresAt - now) / 1000))),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    },
  })
}

/**
 * The route. 5: whatever is wrong with an assertion is an error page with 400 and no cookie; another status says only
 * what has nothing to do with it.
 */
export function browserRoute(endpoint: BrowserEndpoint, parts: PageParts): Route {
  return pageRoute({ POST: (request) => joinBrowser(request, endpoint) }, parts, (wording, _, status) => ({
    status: [405, 413, 429].includes(status) ? status : 400,
    problem: 'browserRefused',
    outcome: wording.say('outcome.unchanged'),
  }))
}

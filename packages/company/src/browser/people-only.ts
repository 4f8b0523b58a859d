import { sha256 } from '../crypto/hash.ts'
import type { Handler, Route } from '../http/router.ts'
import type { Wordings } from '../words/wording.ts'
import type { BrowserReader } from './browser-principal.ts'
import { isFlooded, readCookies } from './cookie.ts'
import { findBrowser } from './store.ts'

/**
 * Section 5: pages on which a person decides are for people. A browser that an agent joined may still hold the person's own
 * cookie, and while it carries the agent's, its requests are the Session's, whatever other cookies there are: else an agent
 * could approve in the person's name what it asked for itself.
 */

/** What it takes to know an agent's browser. */
export type BrowserFinder = Pick<BrowserReader, 'cookie' | 'scope' | 'now'>

/**
 * Whether a request comes from a browser that an agent joined, whatever became of its Session: one that has ended, or whose
 * agent is blocked, doesn't turn into the person's browser. Neither does one whose cookie can't be told from a heap of others
 * that a subdomain set.
 */
export async function isAgentsBrowser(request: Request, { cookie, scope, now }: BrowserFinder): Promise<boolean> {
  if (isFlooded(request, cookie.name)) return true
  for (const value of readCookies(request, cookie.name)) {
    if ((await findBrowser(await scope(), { cookieHash: sha256(value), now: now() })) !== null) return true
  }
  return false
}

/** A route that answers an agent's browser with a page that says whom it is for, before anything is read or counted. */
export function forPeople(
  route: Route,
  { browser, wordings }: { readonly browser: BrowserFinder | null; readonly wordings: Wordings },
): Route {
  if (browser === null) return route
  const guard =
    (handler: Handler): Handler =>
    async (request, rest) => {
      if (!(await isAgentsBrowser(request, browser))) return handler(request, rest)
      const { problemPage } = await import('../pages/failure.ts')
      const wording = wordings.of(request)
      return problemPage(wording, {
        status: 403,
        problem: 'agentsBrowser',
        outcome: wording.say('outcome.ownBrowser'),
      })
    }
  const methods = Object.fromEntries(Object.entries(route.methods).map(([name, handler]) => [name, guard(handler)]))
  return { ...route, methods }
}

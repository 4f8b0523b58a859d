import { base64url, makeBrowserAssertion } from '@poppyseed/protocol'
import type { AgentContext } from '../context.ts'
import type { FoundCompany } from '../discovery/discover.ts'
import { AgentError } from '../errors.ts'
import { cleanText } from '../net/text.ts'
import type { SessionTokens } from '../sessions/tokens.ts'
import { type OneShotPage, openOneShotPage } from './one-shot-page.ts'
import { readReturnTo } from './return-to.ts'

/** Section 5: the browser of a Personal Agent joins its Session. */

/** How long the page waits for its browser, in milliseconds. */
const lifetime = 30_000

/**
 * Opens a page on this machine that makes the browser which opens it join the Session.
 * @param returnTo where the Company sends the browser on to; the front page when left out
 * @throws AgentError `browser_unavailable` where the Company has no endpoint for it, `foreign_origin` where the page is not
 *   the Company's
 */
export async function joinBrowser(
  context: AgentContext,
  found: FoundCompany,
  tokens: SessionTokens,
  returnTo: string | undefined,
): Promise<OneShotPage> {
  const endpoint = found.discovery.browserSessionEndpoint
  if (endpoint === undefined) {
    // 5: without the endpoint the website is browsed as by anybody
    throw new AgentError(
      'browser_unavailable',
      `${found.name} has no way for an agent's browser to join a Session: browse its website as an ordinary visitor, signed out.`,
    )
  }
  const page = readReturnTo(returnTo ?? frontPage(found.domain, endpoint), found.domain, endpoint, context.allowHttp)
  if (page === null) {
    throw new AgentError(
      'foreign_origin',
      `The page to open has to be an HTTPS address on ${found.domain} or a subdomain of it, so ${cleanText(returnTo ?? '', 100) || 'this'} was not used.`,
    )
  }
  // 5: it joins a Session that is there
  await tokens.get({ kind: 'dpop', resource: undefined })
  const { userId } = await tokens.user()
  const form = async () => {
    const { sessionId } = await tokens.records.session()
    if (sessionId === null) throw new AgentError('browser_unavailable', 'The Session has ended.')
    const assertion = await makeBrowserAssertion(await context.identity.signingKey(), {
      clientId: context.identity.clientId,
      userId,
      endpoint,
      sessionId,
      returnTo: page,
      now: context.clocks.at(tokens.place.issuer, endpoint) / 1000,
      id: base64url(context.random(16)),
    })
    return { action: endpoint, assertion }
  }
  const { now, random } = context
  return openOneShotPage({ company: found.name, form, now, random, lifetime })
}

/** On this machine the port belongs to the address; elsewhere the domain says it all. */
function frontPage(domain: string, endpoint: string): string {
  const { protocol, origin } = new URL(endpoint)
  return protocol === 'http:' ? `${origin}/` : `https://${domain}/`
}

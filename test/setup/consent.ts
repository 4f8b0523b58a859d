import type { WireAgent } from './wire-agent.ts'
import { sha256 } from './wire-agent.ts'
import { verifierOf, type World } from './world.ts'

/** The person's way over the consent page, one step at a time, with everything open to be bent. */

/** As much of a world as that takes. */
export type Reached = Pick<World, 'origin' | 'send' | 'agent'>

const path = '/poppy/authorize'

/** A right authorization request; `null` takes a parameter out. */
export function authorizationQuery(agent: WireAgent, bend: Record<string, string | null> = {}): URLSearchParams {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: agent.clientId,
    redirect_uri: agent.redirectUri,
    scope: 'poppy:read poppy:write',
    state: 'a-state',
    code_challenge: sha256(verifierOf(agent)),
    code_challenge_method: 'S256',
  })
  for (const [name, value] of Object.entries(bend)) value === null ? query.delete(name) : query.set(name, value)
  return query
}

/** Opens the authorization address. */
export function openPage(world: Reached, query: URLSearchParams | string, headers: Record<string, string> = {}) {
  return world.send(new Request(`${world.origin}${path}?${query}`, { headers }))
}

/** The sealed request in a consent page; empty when there is none. */
export async function formOn(page: Response): Promise<string> {
  return /name="request" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
}

/** Opens the page of a right request and gives its sealed form. */
export async function openForm(world: Reached, agent = world.agent, bend: Record<string, string | null> = {}) {
  return formOn(await openPage(world, authorizationQuery(agent, bend)))
}

/** Posts the person's decision. */
export function decideOn(
  world: Reached,
  form: string,
  decision: {
    readonly scopes?: readonly string[]
    readonly decision?: string
    readonly headers?: Record<string, string>
  } = {},
) {
  const body = new URLSearchParams({ request: form, decision: decision.decision ?? 'approve' })
  for (const scope of decision.scopes ?? ['poppy:read', 'poppy:write']) body.append('scope', scope)
  const headers = { origin: world.origin, 'sec-fetch-site': 'same-origin', ...decision.headers }
  return world.send(new Request(`${world.origin}${path}`, { method: 'POST', body, headers }))
}

/** What a redirect says, by parameter; and where it goes, without them. */
export function redirectOf(answer: Response): { readonly to: string; readonly said: Record<string, string> } {
  const location = answer.headers.get('location')
  if (location === null) throw new Error(`no redirect, status ${answer.status}`)
  const url = new URL(location)
  return { to: url.origin + url.pathname, said: Object.fromEntries(url.searchParams) }
}

/** Gets a code by approving a right request. */
export async function getCode(world: Reached, agent = world.agent, scopes?: readonly string[]): Promise<string> {
  const { said } = redirectOf(await decideOn(world, await openForm(world, agent), scopes ? { scopes } : {}))
  return said.code ?? ''
}

/** Exchanges a code in a Session; `bend` lays parameters over the right ones. */
export function exchange(
  agent: WireAgent,
  code: string,
  sessionId: string,
  bend: Record<string, string | null> = {},
): Promise<Response> {
  return agent.token({
    grant_type: 'authorization_code',
    code,
    redirect_uri: agent.redirectUri,
    code_verifier: verifierOf(agent),
    session_id: sessionId,
    ...bend,
  })
}

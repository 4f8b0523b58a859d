import { createPerson } from '../../examples/hotel/src/person.ts'
import { approve, openWireAgent, spaResource, type WatchedSite } from './canary-site.ts'
import { guests } from './site.ts'
import { id, sha256, type WireAgent } from './wire-agent.ts'
import type { Tokens } from './world.ts'

/** Visits of every other kind, going well and going wrong. Each gives the statuses of what was refused. */

/** An agent that has learned the nonce, with a Session. */
async function openSession(site: WatchedSite) {
  const agent = await openWireAgent(site)
  const first = await agent.startSession()
  const nonce = { claims: { nonce: first.headers.get('dpop-nonce') ?? '' } }
  const proofFor = async (url: string, token?: string, method = 'POST') => agent.proof(method, url, token, nonce)
  const start = async (parameters: Record<string, string> = {}) =>
    (await (await agent.startSession(parameters, { proof: await proofFor(agent.tokenUrl) })).json()) as Tokens
  const token = async (parameters: Record<string, string | null>) =>
    agent.token(parameters, { proof: await proofFor(agent.tokenUrl) })
  const call = async (tool: string, by: string) => {
    const url = `${site.origin}/poppy/tools/${tool}`
    return agent.call(`/poppy/tools/${tool}`, by, { body: { text: 'hello' }, proof: await proofFor(url, by) })
  }
  return { agent, nonce, proofFor, start, token, call }
}

function collect() {
  const statuses: number[] = []
  return {
    statuses,
    refused: async (answer: Response | Promise<Response>) => {
      const { status } = await answer
      if (status < 400) throw new Error(`not refused: ${status}`)
      statuses.push(status)
    },
    went: async (answer: Response | Promise<Response>) => {
      const { status } = await answer
      if (status >= 400) throw new Error(`refused with ${status}`)
    },
  }
}

/** Device Sign-In (4.6): typed, mistyped, polled too soon and by others. */
export async function deviceVisits(site: WatchedSite): Promise<number[]> {
  const { statuses, refused, went } = collect()
  const { agent, start, token } = await openSession(site)
  const other = await openSession(site)
  const { session_id } = await start()
  const endpoint = `${site.origin}/poppy/device-authorization`
  const begun = await agent.post(endpoint, { scope: 'poppy:read' }, { proof: null })
  const { device_code, verification_uri, verification_uri_complete } = (await begun.json()) as Record<string, string>
  const poll = (code: string | undefined, by: { readonly token: typeof token } = { token }) =>
    by.token({ grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: code ?? '', session_id })
  await refused(poll(device_code))
  await refused(poll(device_code))
  await refused(poll(device_code, other))
  await refused(poll(`${device_code}x`))
  await refused(agent.post(endpoint, { scope: 'poppy:admin' }, { proof: null }))
  const person = createPerson()
  const signedIn = await person.submit(await person.open(verification_uri_complete ?? ''), guests.maya)
  await person.submit(signedIn, { scope: ['poppy:read'], decision: 'approve' })
  // A code that nobody has, typed by somebody who is signed in.
  await person.submit(await person.open(verification_uri ?? ''), { user_code: 'BBBB-BBBB' })
  site.clock.ahead += 60_000
  await went(poll(device_code))
  await refused(poll(device_code))
  // One that nobody answers is still in the database at the end.
  await went(agent.post(endpoint, { scope: 'poppy:read' }, { proof: null }))
  return statuses
}

/** A browser joins a Session (5): well, twice, and with the wrong assertion; then it goes where it may not. */
export async function browserVisits(site: WatchedSite): Promise<number[]> {
  const { statuses, refused, went } = collect()
  const { agent, start } = await openSession(site)
  const { session_id } = await start()
  const endpoint = `${site.origin}/poppy/browser-session`
  const post = (assertion: string, url = endpoint, headers: Record<string, string> = {}) =>
    fetch(url, { method: 'POST', body: new URLSearchParams({ assertion }), redirect: 'manual', headers })
  const page = `${site.origin}/`
  const assertion = await agent.browserAssertion(session_id, page)
  const joined = await post(assertion)
  await went(joined)
  const cookie = joined.headers.get('set-cookie')?.split(';')[0] ?? ''
  const seen = () => site.company.browserPrincipal(new Request(page, { headers: { cookie } }))
  if ((await seen()) === null) throw new Error('the browser is not in its Session')
  for (const path of ['/poppy/agents', '/poppy/device', '/poppy/authorize'])
    await refused(fetch(site.origin + path, { headers: { cookie } }))
  await refused(post(assertion, endpoint, { cookie }))
  await went(post(await agent.browserAssertion(session_id, page), endpoint, { cookie }))
  if ((await seen()) !== null) throw new Error('the cookie was not replaced')
  await refused(post(`${assertion.slice(0, -8)}AAAAAAAA`))
  await refused(post(await agent.browserAssertion('ses_of-somebody-else', page)))
  await refused(post(await agent.browserAssertion(session_id, 'https://evil.example/')))
  await refused(post(await agent.sessionAssertion()))
  await refused(fetch(`${endpoint}?assertion=${await agent.browserAssertion(session_id, page)}`, { method: 'POST' }))
  return statuses
}

/** Tokens for one service, at it and elsewhere (4.3); MCP at its own address. */
export async function narrowVisits(site: WatchedSite): Promise<number[]> {
  const { statuses, refused, went } = collect()
  const { agent, proofFor, start, call } = await openSession(site)
  const narrow = (await start({ resource: spaResource })).access_token
  const url = `${site.origin}/spa/hours`
  const ask = async (token: string, need: { readonly resource?: string }) => {
    const headers = { authorization: `DPoP ${token}`, dpop: await proofFor(url, token, 'GET') }
    const caller = await site.company.authenticate(new Request(url, { headers }), need)
    return caller instanceof Response ? caller : new Response()
  }
  await went(ask(narrow, { resource: spaResource }))
  await refused(ask(narrow, {}))
  await refused(ask((await start()).access_token, { resource: spaResource }))
  await refused(call('echo', narrow))
  const mcp = `${site.origin}/poppy/mcp`
  const bearer = async (resource: string) => agent.startSession({ resource }, { proof: null })
  const { access_token } = (await (await bearer(mcp)).json()) as Tokens
  await refused(bearer(`${mcp}/`))
  const say = (token: string, message: object) =>
    fetch(mcp, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      },
    })
  const called = (name: string) => ({ method: 'tools/call', params: { name, arguments: {} } })
  await went(say(access_token, { method: 'tools/list' }))
  await went(say(access_token, called('breaks')))
  await went(say(access_token, called('echo')))
  await refused(say(access_token, called('my_bookings')))
  await refused(say(narrow, { method: 'tools/list' }))
  await refused(say(`${access_token}x`, { method: 'tools/list' }))
  return statuses
}

/** An agent that asks more than it may (4.3). */
export async function eagerVisits(site: WatchedSite): Promise<number[]> {
  const { statuses, refused } = collect()
  const { start, call } = await openSession(site)
  const { access_token } = await start()
  for (let count = 0; count < 70 && !statuses.includes(429); count++) {
    const answer = await call('echo', access_token)
    if (!answer.ok) await refused(answer)
  }
  return statuses
}

/** Mediated Sign-In (4.7): mistyped, with a code, with a wrong code. */
export async function mediatedVisits(site: WatchedSite): Promise<number[]> {
  const { statuses, refused, went } = collect()
  const { agent, proofFor, start } = await openSession(site)
  const { access_token } = await start()
  const path = '/poppy/sign-in'
  const post = async (to: string, body: unknown) =>
    agent.call(to, access_token, { body, proof: await proofFor(site.origin + to, access_token) })
  const ask = (password: string, scope = 'poppy:read') =>
    post(path, { scope, credentials: { user: guests.maya.user, password } })
  await went(ask('sea-view-mistyped'))
  await refused(ask(guests.maya.password, 'poppy:write'))
  await refused(post(path, { scope: 'poppy:read', credentials: guests.maya.password }))
  await refused(post(path, { scope: 'poppy:read', credentials: { user: 'maya', password: [guests.maya.password] } }))
  const asked = (await (await ask(guests.maya.password)).json()) as { readonly sign_in_id: string }
  await went(post(`${path}/${asked.sign_in_id}`, { code: '000000' }))
  await went(post(`${path}/${asked.sign_in_id}x`, { code: site.sent.at(-1) }))
  await went(post(`${path}/${asked.sign_in_id}`, { code: site.sent.at(-1) }))
  // One that still waits for its code is in the database at the end.
  const other = await openSession(site)
  const waits = (await other.start()).access_token
  const body = { scope: 'poppy:read', credentials: { user: guests.maya.user, password: guests.maya.password } }
  await went(other.agent.call(path, waits, { body, proof: await other.proofFor(site.origin + path, waits) }))
  return statuses
}

/** MCP's own sign-in (6): with a key and without, a code that comes twice, and what a client without a key can't have. */
export async function mcpVisits(site: WatchedSite): Promise<number[]> {
  const { statuses, refused, went } = collect()
  const resource = `${site.origin}/poppy/mcp`
  for (const hasKey of [true, false]) {
    const agent = await openWireAgent(site)
    if (!hasKey) {
      const { jwks_uri: _, ...document } = agent.documents[agent.clientId] as Record<string, unknown>
      agent.documents[agent.clientId] = { ...document, token_endpoint_auth_method: 'none' }
    }
    const bare: Record<string, null> = hasKey ? {} : { client_assertion: null, client_assertion_type: null }
    const token = (parameters: Record<string, string | null>) =>
      agent.token({ resource, ...bare, ...parameters }, { proof: null })
    const code_verifier = id() + id()
    const code = await codeFor(site, agent, { resource, verifier: code_verifier })
    const exchange = { grant_type: 'authorization_code', redirect_uri: agent.redirectUri, code, code_verifier }
    await refused(token({ ...exchange, resource: `${resource}/` }))
    const answer = await token(exchange)
    await went(answer.clone())
    const { access_token, refresh_token } = (await answer.json()) as Tokens
    const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const headers = {
      authorization: `Bearer ${access_token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    await went(fetch(resource, { method: 'POST', body: list, headers }))
    const again = { grant_type: 'refresh_token', refresh_token: refresh_token ?? `pat_${id()}${id()}` }
    if (hasKey) await went(token(again))
    else await refused(token(again))
    await refused(token(exchange))
    await refused(token(again))
    await refused(fetch(resource, { method: 'POST', body: list, headers }))
  }
  return statuses
}

/** The person's way to a code. */
async function codeFor(
  site: WatchedSite,
  agent: WireAgent,
  { verifier, ...more }: { readonly verifier: string; readonly resource?: string },
): Promise<string> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: agent.clientId,
    redirect_uri: agent.redirectUri,
    scope: 'poppy:read',
    state: id(),
    code_challenge: sha256(verifier),
    code_challenge_method: 'S256',
    ...more,
  })
  await approve(createPerson(), `${site.origin}/poppy/authorize?${query}`, ['poppy:read'])
  return new URL(site.wire.exchanges.at(-1)?.location ?? '').searchParams.get('code') ?? ''
}

async function signIn(site: WatchedSite, session: Awaited<ReturnType<typeof openSession>>): Promise<Tokens> {
  const { agent, start, token } = session
  const { session_id } = await start()
  const code_verifier = id() + id()
  const code = await codeFor(site, agent, { verifier: code_verifier })
  const exchange = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: agent.redirectUri,
    code_verifier,
    session_id,
  }
  return (await (await token(exchange)).json()) as Tokens
}

/** A person has all access ended, sees what is kept of them, and is erased. Gives also what they saw. */
export async function personVisits(site: WatchedSite): Promise<{ readonly statuses: number[]; readonly data: string }> {
  const { statuses, refused } = collect()
  const session = await openSession(site)
  const { accounts } = site.company
  const refresh = (tokens: Tokens) =>
    session.token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' })
  const first = await signIn(site, session)
  await accounts.revokeAll('acc-maya')
  await refused(refresh(first))
  await refused(session.call('my_bookings', first.access_token))
  const second = await signIn(site, session)
  const person = createPerson()
  const agents = await person.submit(await person.open(`${site.origin}/poppy/agents`), guests.maya)
  if (!agents.html.includes('form')) throw new Error('the page of agents shows nothing to end')
  const data = JSON.stringify(await accounts.exportPerson('acc-maya'))
  const user = { clientId: session.agent.clientId, userId: session.agent.userId }
  const ofUser = JSON.stringify(await accounts.exportPerson(user))
  await accounts.erasePerson(user)
  await refused(refresh(second))
  await refused(session.call('my_bookings', second.access_token))
  // An agent that nobody registered, and a tool that fails.
  await refused(session.call('breaks', (await session.start()).access_token))
  await refused(session.call('no-such-tool', (await session.start()).access_token))
  return { statuses, data: data + ofUser }
}

/** What comes while the Company closes. */
export async function closingVisit(site: WatchedSite): Promise<number[]> {
  const { statuses, refused } = collect()
  const { start, call }: { start: () => Promise<Tokens>; call: (tool: string, by: string) => Promise<Response> } =
    await openSession(site)
  const { access_token } = await start()
  const closing = site.company.close()
  await refused(call('echo', access_token))
  await closing
  return statuses
}

import { AgentError, type Session } from '@poppyseed/agent'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startVisitingAgent } from '../examples/hotel/src/agent-server.ts'
import { createPerson } from '../examples/hotel/src/person.ts'
import { findLeaks, type SecretKind, type Wire } from './setup/canaries.ts'
import {
  approve,
  openWatchedSite,
  openWireAgent,
  postgresSchema,
  sqliteInFile,
  type WatchedSite,
} from './setup/canary-site.ts'
import {
  browserVisits,
  closingVisit,
  deviceVisits,
  eagerVisits,
  mcpVisits,
  mediatedVisits,
  narrowVisits,
  personVisits,
} from './setup/canary-visits.ts'
import { postgresMissing } from './setup/postgres.ts'
import { watchConversations } from './setup/watched-conversations.ts'
import { id, makeKeys, sha256 } from './setup/wire-agent.ts'
import type { Tokens } from './setup/world.ts'

const timeout = 120_000

/** The way that goes well, and what a well-meaning agent meets when a person says no. Gives every error that it threw. */
async function goodVisit({ origin }: WatchedSite): Promise<AgentError[]> {
  const { agent, close } = await startVisitingAgent()
  onTestFinished(close)
  const errors: AgentError[] = []
  const refused = async (work: Promise<unknown>) => {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (!(error instanceof AgentError)) throw error ?? new Error('it was not refused')
    errors.push(error)
  }
  const person = createPerson()
  const signIn = (session: Session, scopes: readonly string[], decision?: string) =>
    session.signIn({ scopes, open: async (url) => void (await approve(person, url, scopes, decision)) })
  const session = (await agent.forUser('maya').company(origin)).session()
  await session.call('echo', { text: 'hello' })
  await refused(session.call('echo', { text: 7 }))
  await refused(session.call('breaks'))
  await refused(session.call('my_bookings'))
  await refused(signIn(session, ['poppy:read'], 'decline'))
  await signIn(session, ['poppy:read', 'loyalty'])
  await session.call('my_bookings')
  await refused(session.call('add_note'))
  const mcp = await session.mcp()
  await mcp.call('my_bookings')
  await refused(mcp.call('add_note'))
  await mcp.close()
  await signIn(session, ['poppy:read', 'poppy:write', 'loyalty'])
  await session.call('add_note')
  await session.signOut()
  await refused(session.call('my_bookings'))
  return errors
}

/** Everything goes wrong that can. Gives the statuses that came back. */
async function badVisits(site: WatchedSite): Promise<number[]> {
  const { origin, clock } = site
  const [agent, other] = [await openWireAgent(site), await openWireAgent(site)]
  const statuses: number[] = []
  const refused = async (answer: Response | Promise<Response>) => {
    const { status } = await answer
    statuses.push(status)
    return status
  }
  // The nonce that every proof needs from now on.
  const first = await agent.startSession()
  const nonce = first.headers.get('dpop-nonce') ?? ''
  const withNonce = { claims: { nonce } }
  const proof = async () => ({ proof: await agent.proof('POST', agent.tokenUrl, undefined, withNonce) })
  const started = (await (await agent.startSession({}, await proof())).json()) as Tokens
  const token = started.access_token
  const toolUrl = `${origin}/poppy/tools/echo`
  const call = async (by: string, headers: Record<string, string> = {}) =>
    agent.call('/poppy/tools/echo', by, {
      body: { text: 'hello' },
      proof: await agent.proof('POST', toolUrl, by, withNonce),
      headers,
    })

  // Proofs and tokens at an API
  const good = await agent.proof('POST', toolUrl, token, withNonce)
  const once = { body: { text: 'hello' }, proof: good }
  expect((await agent.call('/poppy/tools/echo', token, once)).status).toBe(200)
  await refused(agent.call('/poppy/tools/echo', token, once))
  const stranger = await makeKeys()
  for (const bend of [
    { key: stranger.privateKey },
    { key: stranger.privateKey, header: { jwk: stranger.publicJwk } },
    { claims: { nonce, htu: `${origin}/elsewhere` } },
    { claims: { nonce, htm: 'GET' } },
    { claims: { nonce, ath: sha256('another') } },
    { claims: { nonce, iat: 1 } },
    { claims: { nonce: 'made-up-nonce' } },
    { claims: {} },
    { header: { typ: 'JWT' } },
  ]) {
    await refused(
      agent.call('/poppy/tools/echo', token, {
        body: { text: 'hello' },
        proof: await agent.proof('POST', toolUrl, token, bend),
      }),
    )
  }
  await refused(
    agent.call('/poppy/tools/echo', token, { body: { text: 'hello' }, proof: `${good.slice(0, -8)}AAAAAAAA` }),
  )
  await refused(call(`${token.slice(0, -8)}AAAAAAAA`))
  await refused(call(token, { authorization: `Bearer ${token}` }))
  await refused(call(token, { authorization: `DPoP ${token} ${token}` }))
  await refused(call(token, { authorization: token }))
  await refused(fetch(`${toolUrl}?access_token=${token}`, { method: 'POST', headers: { dpop: good } }))
  await refused(fetch(`${origin}/poppy/mcp`, { method: 'POST', headers: { authorization: `Bearer ${token}` } }))
  await refused(call(token, { 'content-type': 'text/plain' }))

  // Assertions
  const spent = await agent.sessionAssertion()
  expect((await agent.startSession({ assertion: spent }, await proof())).status).toBe(200)
  const clientAssertion = await agent.clientAssertion()
  for (const parameters of [
    { assertion: spent },
    { assertion: await agent.sessionAssertion({ claims: { exp: 1 } }) },
    { assertion: await agent.sessionAssertion({ claims: { aud: 'https://evil.example/token' } }) },
    { assertion: await agent.sessionAssertion({ key: stranger.privateKey }) },
    { assertion: `${spent.slice(0, -8)}AAAAAAAA` },
    { client_assertion: await agent.clientAssertion({ key: stranger.privateKey }) },
    { client_assertion: await agent.clientAssertion({ header: { kid: 'unknown' } }) },
    { client_assertion: await other.clientAssertion() },
    { client_assertion: clientAssertion, session_id: 'ses_of-somebody-else' },
    { client_assertion: clientAssertion },
    { scope: 'poppy:read' },
    { grant_type: 'password' },
    { session_id: 'ses_that-never-was' },
  ]) {
    await refused(agent.startSession(parameters, await proof()))
  }
  const doubled = new URLSearchParams({ client_id: agent.clientId, assertion: await agent.sessionAssertion() })
  doubled.append('assertion', await agent.sessionAssertion())
  await refused(fetch(agent.tokenUrl, { method: 'POST', body: doubled }))
  const json = JSON.stringify({ refresh_token: `pat_${id()}${id()}`, client_assertion: await agent.clientAssertion() })
  await refused(fetch(agent.tokenUrl, { method: 'POST', body: json, headers: { 'content-type': 'application/json' } }))

  // Codes and Account Tokens
  const person = createPerson()
  const verifier = id() + id()
  const code = async (bend: Record<string, string> = {}) => {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: agent.clientId,
      redirect_uri: agent.redirectUri,
      scope: 'poppy:read',
      state: id(),
      code_challenge: sha256(verifier),
      code_challenge_method: 'S256',
      ...bend,
    })
    await approve(person, `${origin}/poppy/authorize?${query}`, ['poppy:read'])
    const location = site.wire.exchanges.at(-1)?.location ?? ''
    return new URL(location).searchParams.get('code') ?? ''
  }
  const exchange = async (parameters: Record<string, string | null>, by = agent) =>
    by.token(
      {
        grant_type: 'authorization_code',
        redirect_uri: by.redirectUri,
        code_verifier: verifier,
        session_id: started.session_id,
        ...parameters,
      },
      { proof: await by.proof('POST', by.tokenUrl, undefined, withNonce) },
    )
  const wrong = await code()
  await refused(exchange({ code: wrong }, other))
  await refused(exchange({ code: wrong, code_verifier: id() + id() }))
  await refused(exchange({ code: wrong }))
  await refused(exchange({ code: await code(), redirect_uri: `${agent.redirectUri}/` }))
  await refused(exchange({ code: await code(), session_id: 'ses_that-never-was' }))
  const used = await code()
  const signedIn = (await (await exchange({ code: used })).json()) as Tokens
  const accountToken = signedIn.refresh_token ?? ''
  expect(accountToken).not.toBe('')
  const refresh = async (parameters: Record<string, string | null>, by = agent) =>
    by.token(
      { grant_type: 'refresh_token', refresh_token: accountToken, ...parameters },
      { proof: await by.proof('POST', by.tokenUrl, undefined, withNonce) },
    )
  expect((await refresh({})).status).toBe(200)
  await refused(refresh({}, other))
  await refused(refresh({ scope: 'poppy:write' }))
  await refused(refresh({ session_id: 'ses_that-never-was' }))
  await refused(refresh({ refresh_token: `${accountToken}x` }))
  await refused(call(accountToken))
  await refused(other.revoke(accountToken))
  await refused(
    agent.revoke(accountToken, { client_assertion: await agent.clientAssertion({ key: stranger.privateKey }) }),
  )
  await refused(exchange({ code: used }))
  await refused(refresh({}))
  await refused(
    agent.call('/poppy/tools/my_bookings', signedIn.access_token, {
      proof: await agent.proof('POST', `${origin}/poppy/tools/my_bookings`, signedIn.access_token, withNonce),
    }),
  )

  // The page
  const forged = new URLSearchParams({ request: `${id()}.${id()}`, decision: 'approve', scope: 'poppy:read' })
  await refused(fetch(`${origin}/poppy/authorize`, { method: 'POST', body: forged }))
  await refused(
    fetch(
      `${origin}/poppy/authorize?client_id=${encodeURIComponent(agent.clientId)}&redirect_uri=https://evil.example/`,
    ),
  )

  // Time
  const late = await code()
  clock.ahead += 3_700_000
  await refused(exchange({ code: late }))
  await refused(call(token))
  return statuses
}

/** Where the code may stand: in the redirect that carries it, and nowhere else in it. */
function withoutItsCode(location: string): string {
  const url = new URL(location)
  if (url.searchParams.has('code')) url.searchParams.set('code', '')
  return url.href
}

describe.each([
  { name: 'SQLite', missing: null, make: sqliteInFile },
  { name: 'PostgreSQL', missing: postgresMissing, make: postgresSchema },
])('secrets of a whole visit, on $name', ({ missing, make }) => {
  it.skipIf(missing)(
    'are in no log, no error, no address and not in the database, whatever goes wrong [4.2.token-encrypted, 4.3.no-token-in-url-agent, 4.8.never-shown-agent, K56]',
    { timeout },
    async () => {
      const printed: string[] = []
      for (const method of ['debug', 'info', 'log', 'warn', 'error'] as const) {
        const spy = vi
          .spyOn(console, method)
          .mockImplementation((...parts) => void printed.push(parts.map(String).join(' ')))
        onTestFinished(() => spy.mockRestore())
      }
      for (const stream of [process.stdout, process.stderr]) {
        const spy = vi.spyOn(stream, 'write').mockImplementation((text) => printed.push(String(text)) > 0)
        onTestFinished(() => spy.mockRestore())
      }
      const { store, dump } = await make()
      const site = await openWatchedSite(store)
      const { wire, log } = site

      const errors = await goodVisit(site)
      const agentAddresses = wire.exchanges.map(({ url }) => url)
      const statuses = [...(await badVisits(site)), ...(await deviceVisits(site)), ...(await browserVisits(site))]
      statuses.push(...(await mediatedVisits(site)), ...(await mcpVisits(site)))
      statuses.push(...(await narrowVisits(site)), ...(await eagerVisits(site)))
      const rights = await personVisits(site)
      // While it runs, with all that is still on its way into the file, and once it is closed.
      const open = await dump()
      statuses.push(...rights.statuses, ...(await closingVisit(site)))
      expect(statuses.every((status) => status >= 400 && status <= 503)).toBe(true)
      for (const status of [400, 401, 403, 404, 429, 500, 503]) expect(statuses).toContain(status)
      await site.close()
      const database = open + (await dump())

      const { secrets } = wire
      expect(new Set(secrets.values())).toEqual(new Set<SecretKind>(kinds))
      expect(secrets.size).toBeGreaterThan(150)
      // The search itself works: it finds each one where it is.
      for (const one of secrets.keys())
        expect(findLeaks(`at the end: ${one.slice(-40)}`, new Map([[one, 'form']]))).toHaveLength(1)

      expect(log.length).toBeGreaterThan(30)
      expect(findLeaks(log.join('\n'), secrets)).toEqual([])
      expect(findLeaks(printed.join('\n'), secrets)).toEqual([])
      const traces = await site.telemetry.dump()
      expect(site.telemetry.spans().length).toBeGreaterThan(wire.exchanges.length / 2)
      expect(findLeaks(traces, secrets)).toEqual([])
      expect(traces).not.toMatch(/acc-maya|maya@example|usr_/)
      expect(findLeaks(rights.data, secrets)).toEqual([])
      expect(database).toContain('acc-maya')
      expect(findLeaks(database, secrets)).toEqual([])
      expect(findLeaks(agentAddresses.join('\n'), secrets)).toEqual([])
      const told = errors.map((error) => [error.message, error.stack, JSON.stringify(error), String(error)].join('\n'))
      expect(findLeaks(told.join('\n'), secrets)).toEqual([])
      // Six digits are too few to be searched for like the others: whole, and as a word.
      expect(site.sent.length).toBeGreaterThan(0)
      const answers = wire.exchanges.map(({ headers, location, body }) => [headers, location, body].join('\n'))
      const everywhere = { log, printed, traces: [traces], database: [database], data: [rights.data], answers, told }
      for (const code of site.sent) {
        // Not by words: in SQLite's file the next column begins where this one ends.
        const whole = new RegExp(`(?<![0-9])${code}(?![0-9])`)
        for (const [place, texts] of Object.entries(everywhere))
          expect({ place, isThere: texts.some((text) => whole.test(text)) }).toEqual({ place, isThere: false })
      }
      checkAnswers(wire)
      checkTokens(secrets)
    },
  )
})

it('what is told of conversations has no secret in it, no word of anybody, and nobody’s name', {
  timeout,
}, async () => {
  const { telemetry, world, secrets } = await watchConversations()
  const traces = await telemetry.dump()
  // The search itself works: what is there is found.
  for (const kept of ['poppy.turn.duration', 'poppy.handoff.duration', 'poppy.webhook.deliveries'])
    expect(traces).toContain(kept)
  expect(secrets.filter((one) => traces.includes(one))).toEqual([])
  expect(secrets.filter((one) => world.log.join('\n').includes(one))).toEqual(['canary-inside-of-an-error'])
})

const kinds: readonly SecretKind[] = [
  'access token',
  'Account Token',
  'authorization code',
  'device code',
  'user code',
  'code verifier',
  'client assertion',
  'Session assertion',
  'browser assertion',
  'proof',
  'cookie',
  'browser cookie',
  'form',
  'password',
]

function checkAnswers({ exchanges, secrets }: Wire): void {
  const failed = exchanges.filter(({ status }) => status >= 400)
  expect(failed.length).toBeGreaterThan(40)
  for (const { status, headers, body } of failed)
    expect({ status, leaks: leaksButUserCodes(headers + body, secrets) }).toEqual({ status, leaks: [] })
  const redirects = exchanges.flatMap(({ location }) => (location !== null && URL.canParse(location) ? [location] : []))
  expect(redirects.length).toBeGreaterThan(8)
  for (const location of redirects) expect(leaksButUserCodes(withoutItsCode(location), secrets)).toEqual([])
  for (const { headers } of exchanges) expect(findLeaks(headers, secrets)).toEqual([])
  // What an answer gives out is in its body; what somebody brought never comes back, however well it went.
  const brought = new Map([...secrets].filter(([, kind]) => isBrought.includes(kind)))
  expect(brought.size).toBeGreaterThan(60)
  for (const { url, status, body } of exchanges)
    expect({ url, status, leaks: findLeaks(body, brought) }).toEqual({ url, status, leaks: [] })
}

/** What only comes in: credentials above all (4.7). */
const isBrought: readonly SecretKind[] = [
  'client assertion',
  'Session assertion',
  'browser assertion',
  'proof',
  'code verifier',
  'cookie',
  'browser cookie',
  'password',
]

/** A person's page and its address may have the code that they typed (RFC 8628, 3.3.1); nothing else may. */
function leaksButUserCodes(text: string, secrets: Wire['secrets']): string[] {
  return findLeaks(text, new Map([...secrets].filter(([, kind]) => kind !== 'user code')))
}

/** A Session Token tells nobody anything, taken apart or not. */
function checkTokens(secrets: ReadonlyMap<string, SecretKind>): void {
  const tokens = [...secrets].filter(([value, kind]) => kind === 'access token' && value.includes('.'))
  expect(tokens.length).toBeGreaterThan(3)
  for (const [token] of tokens) {
    const readable = token.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))
    for (const piece of readable) expect(piece).not.toMatch(/acc-maya|poppy:read|usr_|ses_|agent\.json/)
  }
}

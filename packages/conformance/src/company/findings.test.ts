import { createHash } from 'node:crypto'
import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { makeKeyPair, randomId } from '../agent-host/keys.ts'
import type { MadeUpAgent } from '../agent-host/made-up-agent.ts'
import { createMisbehavingAgentHost } from '../agent-host/misbehaving-agent-host.ts'
import { type AgentRule, agentRules } from '../rules.ts'
import { oneTimeCode } from './mediated.ts'
import { createMisbehavingCompany, type MisbehavingCompany } from './misbehaving-company.ts'

/** A client that breaks one rule after another. Each has to be found, and an honest one has to go free. */

const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
const host = await createMisbehavingAgentHost({ now: () => clock.now })
afterAll(host.close)
let company: MisbehavingCompany
let agent: MadeUpAgent

beforeEach(async () => {
  company = await createMisbehavingCompany({ now: () => clock.now })
  agent = host.newAgent()
  host.reset()
  connection.destroy()
  connection = new Agent({ keepAlive: true, maxSockets: 1 })
  return company.close
})

const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const to = () => ({ tokenEndpoint: `${company.origin}/token`, issuer: company.origin })
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url')

type Parameters = Record<string, string | null>
interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly session_id: string
  readonly device_code: string
  readonly sign_in_id: string
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly json: Tokens
}

/** Over one connection: what came before on it was heard. */
let connection = new Agent({ keepAlive: true, maxSockets: 1 })

function send(
  path: string,
  init: { method?: string; headers?: OutgoingHttpHeaders; body?: URLSearchParams | string },
): Promise<Answer> {
  const { method = 'GET', body } = init
  const headers = {
    ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    ...init.headers,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(company.origin + path, { method, headers, agent: connection }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          json: (text.startsWith('{') ? JSON.parse(text) : {}) as Tokens,
        }),
      )
    })
    outgoing.on('error', reject).end(body?.toString())
  })
}
const token = (
  parameters: Parameters,
  proof: string | null = agent.proof({ method: 'POST', url: to().tokenEndpoint }),
) =>
  send('/token', { method: 'POST', body: agent.form(to(), parameters), headers: proof === null ? {} : { dpop: proof } })
const start = (parameters: Parameters = {}, proof?: string) =>
  token({ grant_type: jwtBearer, assertion: agent.sessionAssertion(to()), ...parameters }, proof)
const refresh = (refresh_token: string, parameters: Parameters = {}) =>
  token({ grant_type: 'refresh_token', refresh_token, ...parameters })
const call = (access: string, bend: Record<string, string> = {}, path = '/api/echo') =>
  send(path, {
    method: 'POST',
    headers: {
      authorization: `DPoP ${access}`,
      dpop: agent.proof({ method: 'POST', url: company.origin + path.split('?')[0], token: access }),
      ...bend,
    },
  })

const verifier = () => randomId() + randomId()
async function authorize(
  bend: Parameters = {},
  from = verifier(),
): Promise<{ readonly code: string; readonly verifier: string }> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: agent.clientId,
    redirect_uri: agent.redirectUri,
    scope: 'poppy:read',
    state: randomId(),
    code_challenge: sha256(from),
    code_challenge_method: 'S256',
  })
  for (const [name, value] of Object.entries(bend)) value === null ? query.delete(name) : query.set(name, value)
  const { headers } = await send(`/authorize?${query}`, {})
  return { code: new URL(headers.location ?? 'x:').searchParams.get('code') ?? '', verifier: from }
}
const exchange = (got: { code: string; verifier: string }, session_id: string | null, bend: Parameters = {}) =>
  token({
    grant_type: 'authorization_code',
    code: got.code,
    redirect_uri: agent.redirectUri,
    code_verifier: got.verifier,
    session_id,
    ...bend,
  })
async function signIn(): Promise<Tokens> {
  const { json } = await start()
  return (await exchange(await authorize(), json.session_id)).json
}

const device = (bend: Parameters = {}) =>
  send('/device-authorization', { method: 'POST', body: agent.form(to(), { scope: 'poppy:read', ...bend }) })
const poll = (device_code: string, session_id: string) =>
  token({ grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code, session_id })
/** Polls once, and again after so many seconds each; `told`: what each poll is told instead. */
async function polling(gaps: readonly number[], told: readonly Faults['poll'][] = []): Promise<Answer> {
  const { session_id } = (await start()).json
  const { device_code } = (await device()).json
  const next = (at: number) => {
    const answer = told[at]
    if (answer !== undefined) company.next(1, { poll: answer }, 'token')
    return poll(device_code, session_id)
  }
  let last = await next(0)
  for (const [at, gap] of gaps.entries()) {
    clock.now += gap * 1000
    last = await next(at + 1)
  }
  return last
}
const credentials = { email: 'maya@example.com', password: 'canary-password' }
const mediate = (access: string, body: object = { scope: 'poppy:read', credentials }, path = '/sign-in') =>
  send(path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `DPoP ${access}`,
      dpop: agent.proof({ method: 'POST', url: company.origin + path, token: access }),
    },
    body: JSON.stringify(body),
  })
/** A signed-in User who was proposed a table. */
async function proposal() {
  const { json } = await start()
  const { access_token } = (await exchange(await authorize({ scope: 'poppy:write' }), json.session_id)).json
  await call(access_token, {}, '/api/tables')
  const id = company.operations.at(-1)?.id ?? ''
  return { access_token, id, at: `/operations/${id}` }
}
const post = (access: string, path: string, body: object) => mediate(access, body, path)

/** Says something in a conversation, a new one where there is none. */
async function saying(message: object, path = '/conversations', more: object = {}, access?: string) {
  const { access_token } = access === undefined ? (await start()).json : { access_token: access }
  const answer = await post(access_token, path, { message: { id: randomId(), sender: 'agent', ...message }, ...more })
  const id = company.conversations.entries.at(-1)?.id ?? ''
  return { ...answer, access_token, id, at: `/conversations/${id}` }
}
const reading = (access: string, at: string, query: string, headers: Record<string, string> = {}) =>
  send(`${at}/events${query}`, {
    headers: {
      authorization: `DPoP ${access}`,
      dpop: agent.proof({ method: 'GET', url: `${company.origin}${at}/events`, token: access }),
      ...headers,
    },
  })

/** How each rule is broken. */
const stories: Partial<Record<AgentRule, () => Promise<unknown>>> = {
  '3.1.protocol-version-agent': () => believing({ protocolVersion: '1.0' }, '/.well-known/poppy.json'),
  '3.1.organization-domain-agent': () => believing({ domain: 'other' }, '/.well-known/poppy.json'),
  '3.2.issuer-exact': () => believing({ issuer: 'slash' }, '/.well-known/oauth-authorization-server'),
  '3.2.poppy-domains-agent': () => believing({ poppyDomains: 'empty' }, '/.well-known/oauth-authorization-server'),
  '4.1.client-id-https-agent': () => start({ client_id: 'ftp://agent.example/agent.json' }),
  '4.1.client-id-exact-agent': () => publishing({ clientId: 'slash' }),
  '4.1.jwks-same-domain-agent': () => publishing({ jwksUri: 'other_host' }),
  '4.1.redirect-uris-same-domain-agent': () => publishing({ redirectUris: 'other_host' }),
  '4.1.public-keys-agent': () => publishing({ keys: 'private' }),
  '4.1.private-key-jwt-agent': () => start({ client_assertion: agent.clientAssertion(to(), { key: makeKeyPair() }) }),
  '4.1.dpop-keys-apart': async () => {
    await start()
    const [key] = agent.keys
    if (!key) throw new Error('no key')
    await start({}, agent.proof({ method: 'POST', url: to().tokenEndpoint }, { key, header: { jwk: key.publicJwk } }))
  },
  '4.2.user-id-not-personal': () =>
    start({ assertion: agent.sessionAssertion(to(), { claims: { sub: 'maya@example.com' } }) }),
  '4.2.three-parts-agent': () => start({ assertion: null }),
  '4.2.aud-exact-agent': () =>
    start({ assertion: agent.sessionAssertion(to(), { claims: { aud: [to().tokenEndpoint] } }) }),
  '4.2.exp-short-agent': () =>
    start({ assertion: agent.sessionAssertion(to(), { claims: { exp: clock.now / 1000 + 86_400 } }) }),
  '4.2.jti-random-agent': async () => {
    const assertion = agent.sessionAssertion(to())
    await start({ assertion })
    await start({ assertion })
  },
  '4.2.session-ended-agent': async () => {
    const { json } = await start()
    company.endSessions()
    await start({ session_id: json.session_id })
    await start({ session_id: json.session_id })
  },
  '4.3.dpop-scheme-agent': async () => {
    const { json } = await start()
    await call(json.access_token, { authorization: `Bearer ${json.access_token}` })
  },
  '4.3.key-per-user-agent': async () => {
    await start()
    await start({ assertion: agent.sessionAssertion(to(), { claims: { sub: 'usr_another' } }) })
  },
  '4.3.proof-per-request-agent': async () => {
    const { json } = await start()
    const dpop = agent.proof({ method: 'POST', url: `${company.origin}/api/echo`, token: json.access_token })
    await call(json.access_token, { dpop })
    await call(json.access_token, { dpop })
  },
  '4.3.proof-claims-agent': async () => {
    const { json } = await start()
    await call(json.access_token, {
      dpop: agent.proof({ method: 'GET', url: `${company.origin}/api/echo`, token: json.access_token }),
    })
  },
  '4.3.no-ath-at-token-agent': () =>
    start({}, agent.proof({ method: 'POST', url: to().tokenEndpoint, token: 'a token' })),
  '4.3.nonce-agent': async () => {
    company.switches.nonce = 'required'
    await start()
    await start()
  },
  '4.3.bearer-resource-agent': () => token({ grant_type: jwtBearer, assertion: agent.sessionAssertion(to()) }, null),
  '4.3.always-send-agent': () => send('/api/echo', { method: 'POST' }),
  '4.3.newest-token-agent': async () => {
    const { json } = await start()
    await start({ session_id: json.session_id })
    await call(json.access_token)
  },
  '4.3.no-token-in-url-agent': async () => {
    const { json } = await start()
    await call(json.access_token, {}, `/api/echo?access_token=${json.access_token}`)
  },
  '4.3.retry-after-agent': async () => {
    company.next(1, { limit: { retryAfter: '60' } })
    await start()
    await start()
  },
  '4.4.scope-required-agent': () => authorize({ scope: null }),
  '4.4.all-scopes-agent': async () => {
    const { session_id } = await signIn()
    await exchange(await authorize({ scope: 'addresses' }), session_id)
  },
  '4.4.account-mismatch-agent': async () => {
    const { session_id } = await signIn()
    const other = (await start()).json.session_id
    company.switches.account = 'account-2'
    const { refresh_token } = (await exchange(await authorize(), other)).json
    await refresh(refresh_token, { session_id })
    await refresh(refresh_token, { session_id })
  },
  '4.5.state-agent': () => authorize({ state: '1' }),
  '4.5.pkce-agent': () => authorize({ code_challenge_method: 'plain' }),
  '4.5.iss-exact-agent': async () => {
    const { json } = await start()
    company.switches.iss = 'slash'
    await exchange(await authorize(), json.session_id)
  },
  '4.5.session-id-agent': async () => exchange(await authorize(), null),
  '4.6.start-agent': () => device({ scope: null }),
  '4.6.device-code-private-agent': async () => {
    const { json } = await start()
    const { device_code } = (await device()).json
    await call(json.access_token, {}, `/api/echo?code=${device_code}`)
  },
  '4.6.interval-agent': () => polling([4], ['pending']),
  '4.6.slow-down-agent': () => polling([5], ['slow_down']),
  '4.6.stop-agent': async () => {
    company.switches.consent = 'decline'
    await polling([5])
  },
  '4.7.every-field-agent': async () => {
    const { json } = await start()
    await mediate(json.access_token, { scope: 'poppy:read', credentials: { email: 'maya@example.com' } })
  },
  '4.7.only-code-agent': async () => {
    company.switches.mediated = 'code'
    const { json } = await start()
    const { sign_in_id } = (await mediate(json.access_token)).json
    await mediate(json.access_token, { scope: 'poppy:read', credentials, code: oneTimeCode }, `/sign-in/${sign_in_id}`)
  },
  '4.7.credentials-only-there-agent': async () => {
    const { json } = await start()
    await mediate(json.access_token)
    await call(json.access_token, { 'x-note': credentials.password })
  },
  '4.8.rotation-agent': async () => {
    company.switches.rotation = 'grace'
    const { refresh_token } = await signIn()
    await refresh(refresh_token)
    await refresh(refresh_token)
  },
  '4.8.invalid-grant-agent': async () => {
    const { refresh_token } = await signIn()
    company.disconnect()
    await refresh(refresh_token)
    await refresh(refresh_token)
  },
  '4.8.never-shown-agent': async () => {
    const { refresh_token, access_token } = await signIn()
    await call(access_token, {}, `/api/echo?t=${refresh_token}`)
  },
  '4.9.revoke-agent': async () => {
    const { refresh_token } = await signIn()
    await send('/revoke', { method: 'POST', body: new URLSearchParams({ token: refresh_token }) })
  },
  '7.2.id-format-agent': () => saying({ id: 'msg/1', text: 'hello' }),
  '7.3.message-id-unique-agent': async () => {
    const first = await saying({ id: 'msg_1', text: 'hello' })
    await saying({ id: 'msg_1', text: 'goodbye' }, `${first.at}/messages`, {}, first.access_token)
  },
  '7.3.retry-same-id-agent': async () => {
    const { access_token } = (await start()).json
    company.next(1, { delivery: 'lost' }, 'conversations')
    await saying({ text: 'hello' }, '/conversations', {}, access_token).catch(() => undefined)
    await saying({ text: 'hello' }, '/conversations', {}, access_token)
  },
  '7.4.content-agent': () => saying({}),
  '7.4.context-format-agent': () => saying({ text: 'hello', context: { timezone: 'Europe/Berlin' } }),
  '7.5.cursor-opaque-agent': async () => {
    const { access_token, at } = await saying({ text: 'hello' })
    await reading(access_token, at, '?cursor=evt_2')
  },
  '7.5.cursor-expired-agent': async () => {
    const { access_token, at, id } = await saying({ text: 'hello' })
    const cursor = company.conversations.entries[0]?.events[0]?.id
    company.conversations.keepOnly(id, 1)
    await reading(access_token, at, `?cursor=${cursor}`)
    await reading(access_token, at, `?cursor=${cursor}`)
  },
  '7.6.last-event-id-agent': async () => {
    const { access_token, at } = await saying({ text: 'hello' })
    const cursor = company.conversations.entries[0]?.events[0]?.id ?? ''
    company.switches.streamCut = 'when_idle'
    const headers = { accept: 'text/event-stream', 'last-event-id': cursor }
    await reading(access_token, at, `?cursor=${cursor}`, headers)
  },
  '7.6.delta-no-act-agent': async () => {
    company.conversations.script([{ say: 'No.', deltas: ['Yes, it is booked'] }])
    const { access_token, at } = await saying({ text: 'Is it booked?' })
    await saying({ text: 'You said: Yes, it is booked. Thanks!' }, `${at}/messages`, {}, access_token)
  },
  '7.8.sender-agent': () => saying({ sender: undefined, text: 'hello' }),
  '7.10.as-written-agent': async () => {
    const { access_token, id } = await saying({ text: 'hello' })
    await saying({ text: 'The user says hello.' }, '/conversations', { parent_conversation_id: id }, access_token)
  },
  'ops.approve-revision-agent': async () => {
    const { access_token, at } = await proposal()
    await post(access_token, `${at}/confirm`, { revision: 7, approved_by: 'user' })
  },
  'ops.standing-permission-agent': async () => {
    company.switches.operationApproval = 'user_only'
    const { access_token, at } = await proposal()
    await post(access_token, `${at}/confirm`, { revision: 1, approved_by: 'standing_permission' })
  },
  'ops.newest-copy-agent': async () => {
    const { access_token, at, id } = await proposal()
    company.revise(id, { fee: 'more' })
    for (let turn = 0; turn < 2; turn++) await post(access_token, `${at}/confirm`, { revision: 1, approved_by: 'user' })
  },
  K12: async () => {
    company.switches.nonce = 'forever'
    for (let at = 0; at < 4; at++) await start()
  },
  K13: async () => {
    company.switches.tokenType = 'Bearer'
    const { json } = await start()
    await call(json.access_token)
  },
  K22: async () => {
    const { refresh_token } = await signIn()
    company.switches.delivery = 'slow'
    connection = new Agent({ keepAlive: true, maxSockets: 2 })
    await Promise.all([refresh(refresh_token), refresh(refresh_token)])
  },
}

async function believing(faults: Faults, path: string): Promise<void> {
  Object.assign(company.switches, faults)
  await send(path, {})
  await start()
}
type Faults = Partial<MisbehavingCompany['switches']>

async function publishing(faults: Partial<typeof host.switches>): Promise<void> {
  Object.assign(host.switches, faults)
  await start()
}

describe('a Company that watches', () => {
  it.each(agentRules.filter((rule) => rule !== '3.redirect-https'))('finds that %s was broken', async (rule) => {
    await stories[rule]?.()
    expect(company.findings.map(({ requirement }) => requirement)).toContain(rule)
  })

  it('finds nothing in an honest visit', async () => {
    company.switches.rotation = 'strict'
    const { json } = await start()
    await call(json.access_token)
    const signedIn = await signIn()
    await call(signedIn.access_token)
    const again = await refresh(signedIn.refresh_token, { session_id: signedIn.session_id })
    await call(again.json.access_token)
    await refresh(again.json.refresh_token)
    const bearer = await token(
      { grant_type: jwtBearer, assertion: agent.sessionAssertion(to()), resource: `${company.origin}/mcp` },
      null,
    )
    expect(bearer.status).toBe(200)
    expect((await polling([10, 10], ['slow_down', 'pending'])).status).toBe(200)
    company.switches.mediated = 'code'
    const { access_token } = (await start()).json
    const { sign_in_id } = (await mediate(access_token)).json
    const end = await mediate(access_token, { code: oneTimeCode }, `/sign-in/${sign_in_id}`)
    expect([end.status, end.json]).toEqual([200, expect.objectContaining({ status: 'complete', signed_in: true })])
    company.switches.streamCut = 'when_idle'
    const talk = await saying({
      text: 'hello',
      context: { locale: 'en', time_zone: 'Asia/Tokyo', user_available: true },
    })
    const page = await reading(talk.access_token, talk.at, '?wait=5')
    const { cursor } = page.json as unknown as { cursor: string }
    await saying({ data: { size: 'M' } }, `${talk.at}/messages`, {}, talk.access_token)
    const stream = await reading(talk.access_token, talk.at, '', {
      accept: 'text/event-stream',
      'last-event-id': cursor,
    })
    expect([talk.status, page.status, stream.status]).toEqual([201, 200, 200])
    await saying(
      { sender: 'human', text: 'Hi' },
      '/conversations',
      { parent_conversation_id: talk.id },
      talk.access_token,
    )
    expect(company.findings).toEqual([])
  })

  it('tells no secret in what it found, nor in what it recorded', async () => {
    const secrets: string[] = []
    for (const rule of ['4.3.no-token-in-url-agent', '4.8.never-shown-agent', '4.8.invalid-grant-agent'] as const)
      await stories[rule]?.()
    const { access_token, refresh_token } = await signIn()
    secrets.push(access_token, refresh_token, agent.clientAssertion(to()).split('.')[0] ?? '')
    const told = JSON.stringify([company.findings, company.requests, company.state()])
    expect(told).not.toMatch(/access-|pat_|eyJ|code-/)
    for (const secret of secrets) expect(told).not.toContain(secret)
  })

  it('does what the next requests are told to meet, and then is itself again', async () => {
    company.next(2, { gateway: 'html_502' }, 'token')
    company.next(1, { refuse: 'invalid_client' })
    const statuses = []
    for (let at = 0; at < 4; at++) statuses.push((await start()).status)
    expect(statuses).toEqual([502, 502, 200, 200])
  })

  it('gives at most one sign-in for a code, and takes it back when the code comes again', async () => {
    const { json } = await start()
    const got = await authorize()
    const { json: tokens } = await exchange(got, json.session_id)
    expect(company.state().signIns).toHaveLength(1)
    expect((await exchange(got, json.session_id)).status).toBe(400)
    expect(company.state().signIns).toEqual([])
    expect((await refresh(tokens.refresh_token)).status).toBe(400)
  })

  it('cuts the connection without a byte where an answer is lost, and what was asked has happened', async () => {
    company.next(1, { delivery: 'lost' }, 'token')
    await expect(start()).rejects.toThrow()
    expect(company.state().sessions).toBe(1)
  })
})

import {
  base64url,
  clientAssertionType,
  grantTypes,
  makeClientAssertion,
  makeProof,
  makeSessionAssertion,
  type SigningKey,
} from '@poppyseed/protocol'
import type { CryptoKey, JWK } from 'jose'
import { sha256 } from '../crypto/hash.ts'
import type { Account } from '../sign-in/person.ts'
import { accepted, CallRefused } from './call-refused.ts'

/** A Session of a test's Personal Agent: real assertions, real proofs, the Company's own pages. */

/** See {@link TestSession.signIn}; an account by its id alone, where its name doesn't matter. */
export type TestAccount = string | Account

/** What a test does as a Personal Agent and the person behind it. */
export interface TestSession {
  readonly sessionId: string
  readonly userId: string
  readonly clientId: string
  /**
   * Signs in (4.5): the person approves these scopes on the Company's own page; left out, all that Direct Sign-In offers.
   * @throws CallRefused such as `account_mismatch`
   */
  readonly signIn: (account: TestAccount, scopes?: readonly string[]) => Promise<void>
  /** Revokes the Account Token (4.9). */
  readonly signOut: () => Promise<void>
  /**
   * Calls a tool over HTTP (6).
   * @throws CallRefused with the code that an agent would get
   */
  readonly call: <Result = unknown>(tool: string, input?: object) => Promise<Result>
  /** The same over MCP. */
  readonly callOverMcp: <Result = unknown>(tool: string, input?: object) => Promise<Result>
  /**
   * A request with the Session Token and a fresh proof, for the site's own API: hand it to your handler. With `service`, the
   * token is for that one of `apis`: its `resource`, or the `url` of an MCP server, for which it is a Bearer token.
   */
  readonly request: (path: string, init?: RequestInit, service?: string) => Promise<Request>
}

/** Keys and documents of a test's Personal Agent. */
export interface TestAgent {
  readonly clientId: string
  readonly redirectUri: string
  readonly signing: SigningKey
  readonly proofs: { readonly privateKey: CryptoKey; readonly publicJwk: JWK }
}

/** Where the Company's endpoints are, as it publishes them. */
export interface TestEndpoints {
  readonly origin: string
  readonly token: string
  readonly authorize: string | undefined
  readonly revoke: string
  readonly mcp: string | undefined
  /** Every MCP server: what takes Bearer tokens (4.3). */
  readonly mcpServers: readonly string[]
  /** The tools' own, where they have one (4.3). */
  readonly toolsResource: string | undefined
  /** Before `/{name}`. */
  readonly tools: string
  readonly offered: readonly string[]
}

interface Parts {
  readonly agent: TestAgent
  readonly at: TestEndpoints
  readonly userId: string
  readonly send: (request: Request) => Promise<Response>
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
}

interface Tokens {
  readonly access_token: string
  readonly expires_in: number
  readonly session_id: string
  readonly refresh_token?: string
}

/** The header by which a test's pages know who is signed in. */
export const accountHeader = 'x-test-account'

/** Starts a Session (4.2). */
export async function startTestSession(parts: Parts): Promise<TestSession> {
  const { agent, at, userId, send, now, random } = parts
  const id = () => base64url(random(16))
  const seconds = () => now() / 1000
  let nonce: string | undefined
  let accountToken: string | undefined
  let sessionId: string | undefined
  /** By the service that they are for; `''` is the token for all but MCP. */
  const tokens = new Map<string, { readonly value: string; readonly until: number }>()

  /** Sends with a fresh proof, and once more when the Company wants another nonce. */
  async function prove(request: Request, token?: string): Promise<Request> {
    const proof = await makeProof(agent.proofs, {
      method: request.method,
      url: request.url,
      now: seconds(),
      id: id(),
      ...(nonce === undefined ? {} : { nonce }),
      ...(token === undefined ? {} : { tokenHash: sha256(token) }),
    })
    const headers = new Headers(request.headers)
    headers.set('dpop', proof)
    if (token !== undefined) headers.set('authorization', `DPoP ${token}`)
    return new Request(request, { headers })
  }

  async function sendProved(make: () => Promise<Request>, token?: string): Promise<Response> {
    const first = await send(await prove(await make(), token))
    const known = nonce
    nonce = first.headers.get('dpop-nonce') ?? nonce
    if (first.ok || nonce === known) return first
    const body = (await first.clone().json()) as { readonly error?: string }
    return body.error === 'use_dpop_nonce' ? send(await prove(await make(), token)) : first
  }

  async function form(url: string, parameters: Readonly<Record<string, string | undefined>>): Promise<Request> {
    const body = new URLSearchParams({ client_id: agent.clientId, client_assertion_type: clientAssertionType })
    const claims = { clientId: agent.clientId, audience: url, now: seconds(), id: id() }
    body.set('client_assertion', await makeClientAssertion(agent.signing, claims))
    for (const [name, value] of Object.entries(parameters)) if (value !== undefined) body.set(name, value)
    return new Request(url, { method: 'POST', body })
  }

  async function askForTokens(parameters: Record<string, string | undefined>, resource?: string): Promise<Tokens> {
    const make = async () => {
      const claims = { clientId: agent.clientId, userId, tokenEndpoint: at.token, now: seconds(), id: id() }
      const assertion =
        parameters.grant_type === grantTypes.jwtBearer ? await makeSessionAssertion(agent.signing, claims) : undefined
      return form(at.token, { ...parameters, session_id: sessionId, resource, assertion })
    }
    // 4.3: a token for an MCP server is a Bearer token, and is asked for without a proof
    const isBearer = resource !== undefined && at.mcpServers.includes(resource)
    const answer = await accepted(isBearer ? await send(await make()) : await sendProved(make))
    const given = (await answer.json()) as Tokens
    tokens.set(resource ?? '', { value: given.access_token, until: now() + given.expires_in * 1000 })
    sessionId = given.session_id
    accountToken = given.refresh_token ?? accountToken
    return given
  }

  /** A token that still holds, renewed where the clock was moved on. */
  async function tokenFor(resource?: string): Promise<string> {
    const known = tokens.get(resource ?? '')
    if (known && now() < known.until) return known.value
    const grant =
      accountToken === undefined
        ? { grant_type: grantTypes.jwtBearer }
        : { grant_type: grantTypes.refreshToken, refresh_token: accountToken }
    return (await askForTokens(grant, resource)).access_token
  }

  async function approve(account: Account, scopes: readonly string[], challenge: string): Promise<string> {
    if (at.authorize === undefined) throw new Error('The Company offers no Direct Sign-In: set `signIn: { direct }`.')
    const headers = { [accountHeader]: encodeURIComponent(JSON.stringify(account)), origin: at.origin }
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: agent.clientId,
      redirect_uri: agent.redirectUri,
      scope: scopes.join(' '),
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const page = await send(new Request(`${at.authorize}?${query}`, { headers }))
    const refused = page.headers.get('location')
    if (refused !== null) throw new CallRefused(page.status, Object.fromEntries(new URL(refused).searchParams))
    const html = await page.text()
    const sealed = /name="request" value="([^"]+)"/.exec(html)?.[1]
    if (sealed === undefined) throw new CallRefused(page.status, {})
    const body = new URLSearchParams({ request: sealed, decision: 'approve' })
    for (const scope of scopes) body.append('scope', scope)
    const answer = await send(new Request(at.authorize, { method: 'POST', body, headers }))
    const code = new URL(answer.headers.get('location') ?? agent.redirectUri).searchParams.get('code')
    if (code === null) throw new CallRefused(answer.status, {})
    return code
  }

  const started = await askForTokens({ grant_type: grantTypes.jwtBearer })
  return Object.freeze<TestSession>({
    sessionId: started.session_id,
    userId,
    clientId: agent.clientId,
    async signIn(who, scopes = at.offered) {
      const account = typeof who === 'string' ? { id: who, name: who } : who
      const verifier = base64url(random(32))
      const code = await approve(account, scopes, sha256(verifier))
      const exchange = { code, redirect_uri: agent.redirectUri, code_verifier: verifier }
      await askForTokens({ grant_type: grantTypes.authorizationCode, ...exchange })
      // What was issued before stays signed out; the token just got is the newest.
      for (const resource of tokens.keys()) if (resource !== '') tokens.delete(resource)
    },
    async signOut() {
      if (accountToken === undefined) return
      await accepted(await send(await form(at.revoke, { token: accountToken })))
      accountToken = undefined
      for (const resource of tokens.keys()) if (resource !== '') tokens.delete(resource)
    },
    async call<Result>(tool: string, input: object = {}) {
      const token = await tokenFor(at.toolsResource)
      const make = async () =>
        new Request(`${at.tools}/${encodeURIComponent(tool)}`, {
          method: 'POST',
          body: JSON.stringify(input),
          headers: { 'content-type': 'application/json' },
        })
      return (await (await accepted(await sendProved(make, token))).json()) as Result
    },
    async callOverMcp<Result>(tool: string, input: object = {}) {
      if (at.mcp === undefined) throw new Error('The Company has no tools, and so no MCP server.')
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: input } }
      const answer = await send(
        new Request(at.mcp, {
          method: 'POST',
          body: JSON.stringify(message),
          headers: {
            authorization: `Bearer ${await tokenFor(at.mcp)}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'mcp-protocol-version': '2025-11-25',
          },
        }),
      )
      return readMcpResult(await accepted(answer)) as Promise<Result>
    },
    async request(path, init, service) {
      const token = await tokenFor(service)
      const request = new Request(new URL(path, at.origin), init)
      if (service === undefined || !at.mcpServers.includes(service)) return prove(request, token)
      request.headers.set('authorization', `Bearer ${token}`)
      return request
    },
  })
}

interface McpAnswer {
  readonly error?: { readonly message?: string }
  readonly result?: {
    readonly isError?: boolean
    readonly content: readonly { readonly text?: string }[]
    readonly structuredContent?: Record<string, unknown>
  }
}

async function readMcpResult(answer: Response): Promise<unknown> {
  const text = await answer.text()
  // An event stream with one message, or the message itself.
  const data = /^data: ?(\{.*)$/m.exec(text)?.[1] ?? text
  const { error, result } = JSON.parse(data) as McpAnswer
  if (error || !result) throw new CallRefused(answer.status, { error_description: error?.message })
  if (result.isError) throw new CallRefused(answer.status, result.structuredContent ?? {})
  return fromText(result.content[0]?.text ?? 'null')
}

/** A text travels as itself, anything else as JSON. */
function fromText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

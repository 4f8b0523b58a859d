import type { CompanyConfig } from 'poppyseed'
import { expect } from 'vitest'
import { decideOn, openForm, redirectOf } from './consent.ts'
import { stores } from './stores.ts'
import { type WatchedStore, watch } from './watched-store.ts'
import { makeWorld, outcome, verifierOf, type World } from './world.ts'

/** One bad request after another at a Company whose state must stay as it was. */

const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** What travels to an endpoint that takes forms. */
export type Form = Record<string, string>

/** The four requests that agents make of the OAuth endpoints. */
export const formRequests = ['a Session', 'a code', 'a refresh', 'a revocation'] as const
export type FormRequest = (typeof formRequests)[number]

export interface Stage {
  readonly world: World
  readonly store: WatchedStore
  /** The right parameters of a request, with fresh assertions. They hold good: nothing of them was spent. */
  readonly right: (request: FormRequest) => Promise<Form>
  /** Posts a form as the agent does, with a fresh proof unless another is given; null sends none. */
  readonly post: (
    request: FormRequest,
    body: RequestInit['body'],
    bend?: { readonly headers?: Record<string, string>; readonly proof?: string | null; readonly query?: string },
  ) => Promise<Response>
  /** A signed-out Session Token, and a Bearer one for MCP. */
  readonly token: string
  readonly bearer: string
  /**
   * Sends one bad request. It has to be answered as told, to hold nothing of what was sent, neither in the answer nor in
   * the log, and to leave Sessions, grants and codes as they were.
   */
  readonly refused: (name: string, request: Promise<Response>, expected: string) => Promise<Response>
}

/** Sets the stage: an agent that is signed in, and a code that waits to be exchanged. */
export async function setStage(kind: 0 | 1 = 0, config: Partial<CompanyConfig> = {}): Promise<Stage> {
  const database = await (stores[kind] as (typeof stores)[number]).fresh()
  const store = watch(database.store())
  const world = await makeWorld({ limits: false, ...config }, store)
  const { agent, origin } = world
  const secrets = new Set<string>()
  const session = await world.start()
  const { refresh_token = '' } = await world.signIn(agent, session.session_id)
  const other = await world.start()
  const bearer = await agent.startSession({ resource: `${origin}/poppy/mcp` }, { proof: null })
  const { access_token } = (await bearer.json()) as { access_token: string }
  const { code = '' } = redirectOf(await decideOn(world, await openForm(world))).said
  const urls = { 'a Session': 'token', 'a code': 'token', 'a refresh': 'token', 'a revocation': 'revoke' }

  async function right(request: FormRequest): Promise<Form> {
    const client = {
      client_id: agent.clientId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await agent.clientAssertion(),
    }
    switch (request) {
      case 'a Session':
        return {
          grant_type: jwtBearer,
          assertion: await agent.sessionAssertion(),
          session_id: other.session_id,
          ...client,
        }
      case 'a code':
        return {
          grant_type: 'authorization_code',
          code,
          redirect_uri: agent.redirectUri,
          code_verifier: verifierOf(agent),
          session_id: other.session_id,
          ...client,
        }
      case 'a refresh':
        return { grant_type: 'refresh_token', refresh_token, session_id: session.session_id, ...client }
      case 'a revocation':
        return { token: refresh_token, ...client }
    }
  }

  return {
    world,
    store,
    right,
    token: other.access_token,
    bearer: access_token,
    async post(request, body, { headers = {}, proof, query = '' } = {}) {
      const url = `${origin}/poppy/${urls[request]}`
      const dpop = proof === undefined && request !== 'a revocation' ? await agent.proof('POST', url) : proof
      const sent = typeof body === 'string' ? new URLSearchParams(body) : body
      if (sent instanceof URLSearchParams)
        for (const [name, value] of sent) if (/assertion|code|token/.test(name) && value.length > 20) secrets.add(value)
      if (dpop) secrets.add(dpop)
      return world.send(
        new Request(url + query, {
          method: 'POST',
          body: body ?? null,
          headers: {
            ...(typeof body === 'string' ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
            ...(dpop ? { dpop } : {}),
            ...headers,
          },
        }),
      )
    },
    async refused(name, request, expected) {
      const before = await store.dump()
      const answer = await request
      const told = `${await answer.clone().text()} ${[...answer.headers].join(' ')} ${world.log.join(' ')}`
      expect(`${name}: ${await outcome(answer.clone())}`).toBe(`${name}: ${expected}`)
      for (const secret of [...secrets, refresh_token, access_token, other.access_token, code])
        expect(told.includes(secret), `${name} tells what was sent`).toBe(false)
      expect(await store.dump(), `${name} changed something`).toEqual(before)
      return answer
    },
  }
}

/** A form with one thing bent: a value for a parameter, or null to leave it out. */
export function bent(form: Form, bend: Record<string, string | null>): string {
  const body = new URLSearchParams(form)
  for (const [name, value] of Object.entries(bend)) value === null ? body.delete(name) : body.set(name, value)
  return String(body)
}

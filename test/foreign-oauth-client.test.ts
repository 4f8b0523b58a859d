import { generateKeyPair as generateDpopKeyPair, generateProof, type KeyPair } from 'dpop'
import * as oauth from 'oauth4webapi'
import { describe, expect, it } from 'vitest'
import { createPerson } from '../examples/hotel/src/person.ts'
import { discover, insecure, openForeignAgent, signIn, startSession } from './setup/foreign-agent.ts'
import { openSite, type Site } from './setup/site.ts'

// The client is oauth4webapi and dpop, which know nothing of this protocol and nothing of this project. Ours are the
// Company on the other side of the wire, and the person at the browser.

const timeout = 60_000

function callTool({ origin }: Site, token: string, name: string, input: object, DPoP: oauth.DPoPHandle) {
  return oauth.protectedResourceRequest(
    token,
    'POST',
    new URL(`${origin}/poppy/tools/${name}`),
    new Headers({ 'content-type': 'application/json' }),
    JSON.stringify(input),
    { DPoP, ...insecure },
  )
}

/** The challenges of a refused call, as the client read them. */
async function refusal(call: Promise<unknown>): Promise<readonly oauth.WWWAuthenticateChallenge[]> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof oauth.WWWAuthenticateChallengeError)) throw error ?? new Error('it was not refused')
  return error.cause
}

describe('a client that knows OAuth and nothing else', () => {
  it.each([
    { nonces: false, alg: 'ES256' },
    { nonces: true, alg: 'ES256' },
    { nonces: true, alg: 'RS256' },
    { nonces: false, alg: 'Ed25519' },
  ])(
    'goes the whole way with $alg keys, nonces $nonces [3.2.metadata, 4.2.response, 4.2.renew, 4.3.narrower-scope, 4.5.pkce, 4.5.redirect-carries, 4.5.session-id, 4.8.with-session, 4.9.revoke]',
    { timeout },
    async ({ nonces, alg }) => {
      const site = await openSite({ nonces })
      const agent = await openForeignAgent(alg)
      const server = await discover(site.origin)
      expect(server).toMatchObject({
        issuer: site.origin,
        poppy_domains: ['localhost'],
        authorization_response_iss_parameter_supported: true,
      })
      const DPoP = oauth.DPoP(agent.client, await oauth.generateKeyPair(alg))

      const started = await startSession(server, agent, DPoP)
      expect(started.challenged).toBe(nonces)
      expect(started.result).toMatchObject({ token_type: 'dpop', scope: '', signed_in: false, expires_in: 3600 })
      const sessionId = String(started.result.session_id)
      const echoed = await callTool(site, started.result.access_token, 'echo', { text: 'hello' }, DPoP)
      expect([echoed.status, await echoed.json()]).toMatchObject([200, { text: 'hello', account: null }])

      const renewed = await startSession(server, agent, DPoP, { session_id: sessionId })
      // The newest nonce came with the answers before, so that nothing is asked for twice.
      expect(renewed.challenged).toBe(false)
      expect(renewed.result.session_id).toBe(sessionId)
      expect(renewed.result.access_token).not.toBe(started.result.access_token)
      const [needed] = await refusal(callTool(site, renewed.result.access_token, 'my_bookings', {}, DPoP))
      expect(needed).toMatchObject({ scheme: 'dpop', parameters: { error: 'sign_in_required' } })

      const person = createPerson()
      const back = await signIn(server, agent, person, {
        scope: 'poppy:read poppy:write loyalty',
        approve: ['poppy:read', 'poppy:write'],
      })
      // Checks state and iss (RFC 9207).
      const parameters = oauth.validateAuthResponse(server, agent.client, back.callback, back.state)
      const exchanged = await oauth.authorizationCodeGrantRequest(
        server,
        agent.client,
        agent.authentication,
        parameters,
        agent.redirectUri,
        back.verifier,
        { DPoP, additionalParameters: { session_id: sessionId }, ...insecure },
      )
      const signedIn = await oauth.processAuthorizationCodeResponse(server, agent.client, exchanged)
      expect(signedIn).toMatchObject({ scope: 'poppy:read poppy:write', session_id: sessionId, signed_in: true })
      const accountToken = signedIn.refresh_token ?? ''
      expect(await (await callTool(site, signedIn.access_token, 'my_bookings', {}, DPoP)).json()).toEqual({
        account: 'acc-maya',
      })
      const [more] = await refusal(callTool(site, signedIn.access_token, 'points', {}, DPoP))
      expect(more?.parameters).toMatchObject({ error: 'insufficient_scope', scope: 'loyalty' })

      const refresh = async (extra: Record<string, string>) => {
        const response = await oauth.refreshTokenGrantRequest(
          server,
          agent.client,
          agent.authentication,
          accountToken,
          {
            DPoP,
            additionalParameters: extra,
            ...insecure,
          },
        )
        return oauth.processRefreshTokenResponse(server, agent.client, response)
      }
      const narrow = await refresh({ session_id: sessionId, scope: 'poppy:read' })
      expect(narrow).toMatchObject({ scope: 'poppy:read', session_id: sessionId, signed_in: true })
      const another = await refresh({})
      expect(another).toMatchObject({ scope: 'poppy:read poppy:write', signed_in: true })
      expect(another.session_id).not.toBe(sessionId)
      expect((await callTool(site, narrow.access_token, 'my_bookings', {}, DPoP)).status).toBe(200)

      const revoked = await oauth.revocationRequest(server, agent.client, agent.authentication, accountToken, insecure)
      expect(await oauth.processRevocationResponse(revoked)).toBeUndefined()
      const [after] = await refusal(callTool(site, another.access_token, 'my_bookings', {}, DPoP))
      expect(after?.parameters.error).toBe('sign_in_required')
      await expect(refresh({ session_id: sessionId })).rejects.toMatchObject({ error: 'invalid_grant', status: 400 })
    },
  )

  it('is sent back with iss when the person declines, and keeps what it had [4.5.access-denied, 4.4.failed-keeps-tokens]', {
    timeout,
  }, async () => {
    const site = await openSite()
    const agent = await openForeignAgent('ES256')
    const server = await discover(site.origin)
    const DPoP = oauth.DPoP(agent.client, await oauth.generateKeyPair('ES256'))
    const { result } = await startSession(server, agent, DPoP)
    const back = await signIn(server, agent, createPerson(), { scope: 'poppy:read', approve: [], decision: 'decline' })
    expect(back.callback.searchParams.get('iss')).toBe(site.origin)
    expect(() => oauth.validateAuthResponse(server, agent.client, back.callback, back.state)).toThrow(
      oauth.AuthorizationResponseError,
    )
    expect((await callTool(site, result.access_token, 'echo', { text: 'still here' }, DPoP)).status).toBe(200)
  })

  it('cannot use a code with another verifier, nor twice [4.5.pkce, 4.5.code-once]', { timeout }, async () => {
    const site = await openSite()
    const agent = await openForeignAgent('ES256')
    const server = await discover(site.origin)
    const DPoP = oauth.DPoP(agent.client, await oauth.generateKeyPair('ES256'))
    const { result } = await startSession(server, agent, DPoP)
    const person = createPerson()
    const exchange = async (back: Awaited<ReturnType<typeof signIn>>, verifier: string) => {
      const parameters = oauth.validateAuthResponse(server, agent.client, back.callback, back.state)
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        agent.client,
        agent.authentication,
        parameters,
        agent.redirectUri,
        verifier,
        { DPoP, additionalParameters: { session_id: String(result.session_id) }, ...insecure },
      )
      return oauth.processAuthorizationCodeResponse(server, agent.client, response)
    }
    const asked = { scope: 'poppy:read', approve: ['poppy:read'] }
    const wrong = await signIn(server, agent, person, asked)
    const refused = { error: 'invalid_grant', status: 400 }
    await expect(exchange(wrong, oauth.generateRandomCodeVerifier())).rejects.toMatchObject(refused)
    await expect(exchange(wrong, wrong.verifier)).rejects.toMatchObject(refused)
    const right = await signIn(server, agent, person, asked)
    const tokens = await exchange(right, right.verifier)
    await expect(exchange(right, right.verifier)).rejects.toMatchObject(refused)
    const [after] = await refusal(callTool(site, tokens.access_token, 'my_bookings', {}, DPoP))
    expect(after?.parameters.error).toBe('sign_in_required')
  })
})

describe('proofs of the dpop package', () => {
  it.each(['ES256', 'RS256', 'PS256', 'Ed25519'] as const)(
    'with %s are taken with and without a nonce, once each [4.3.dpop-scheme, 4.3.jti-once, 4.3.ath, K07]',
    { timeout },
    async (alg) => {
      const site = await openSite({ nonces: true })
      const agent = await openForeignAgent('ES256')
      const server = await discover(site.origin)
      const keys = await generateDpopKeyPair(alg)
      const DPoP = oauth.DPoP(agent.client, keys)
      const { result } = await startSession(server, agent, DPoP)
      const call = (proof: string) =>
        fetch(`${site.origin}/poppy/tools/echo?ignored=1`, {
          method: 'POST',
          headers: { authorization: `DPoP ${result.access_token}`, dpop: proof, 'content-type': 'application/json' },
          body: '{"text":"hello"}',
        })
      const htu = `${site.origin}/poppy/tools/echo`
      const proof = (by: KeyPair, token: string, nonce?: string) => generateProof(by, htu, 'POST', nonce, token)

      const challenged = await call(await proof(keys, result.access_token))
      expect([challenged.status, challenged.headers.get('www-authenticate')]).toEqual([
        401,
        expect.stringContaining('error="use_dpop_nonce"'),
      ])
      const nonce = challenged.headers.get('dpop-nonce') ?? ''
      const good = await proof(keys, result.access_token, nonce)
      expect((await call(good)).status).toBe(200)
      for (const bad of [
        good,
        await proof(keys, `${result.access_token}x`, nonce),
        await proof(await generateDpopKeyPair(alg), result.access_token, nonce),
      ]) {
        const answer = await call(bad)
        expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
          401,
          expect.stringContaining('error="invalid_dpop_proof"'),
        ])
      }
    },
  )
})

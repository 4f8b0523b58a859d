import * as oauth from 'oauth4webapi'
import { describe, expect, it } from 'vitest'
import { createPerson } from '../examples/hotel/src/person.ts'
import { discover, type ForeignAgent, insecure, openForeignAgent, startSession } from './setup/foreign-agent.ts'
import { guests, openSite } from './setup/site.ts'

// The device grant and refreshing with rotation, driven by oauth4webapi, which knows nothing of this protocol and nothing of
// this project. Ours are the Company on the other side of the wire, and the person with a phone.

const timeout = 60_000
const scopes = ['poppy:read', 'poppy:write']
const grace = 60

/** A Company whose clock the test moves, a client whose clock goes along, and a Session of it. */
async function open(nonces: boolean, alg = 'ES256') {
  const time = { ahead: 0 }
  const site = await openSite({
    nonces,
    now: () => Date.now() + time.ahead * 1000,
    signIn: { direct: [...scopes, 'loyalty'], device: scopes },
    rotation: { grace },
  })
  const agent = await openForeignAgent(alg)
  const server = await discover(site.origin)
  const keys = await oauth.generateKeyPair(alg)
  const nonceOf = { handle: oauth.DPoP(agent.client, keys) }
  const { result } = await startSession(server, agent, nonceOf.handle)
  const client = (): oauth.Client => ({ ...agent.client, [oauth.clockSkew]: time.ahead })
  /** Once more with a fresh proof where a nonce came. */
  const send = async <T>(work: (DPoP: oauth.DPoPHandle) => Promise<T>): Promise<T> => {
    try {
      return await work(nonceOf.handle)
    } catch (error) {
      if (!oauth.isDPoPNonceError(error)) throw error
      return work(nonceOf.handle)
    }
  }
  return {
    site,
    server,
    agent,
    sessionId: String(result.session_id),
    pass: (seconds: number) => {
      time.ahead += seconds
      // A handle keeps the skew that it was made with.
      nonceOf.handle = oauth.DPoP(client(), keys)
    },
    begin: async (scope: string, by: ForeignAgent = agent) => {
      const answer = await oauth.deviceAuthorizationRequest(
        server,
        { ...by.client, [oauth.clockSkew]: time.ahead },
        by.authentication,
        { scope },
        insecure,
      )
      return oauth.processDeviceAuthorizationResponse(server, by.client, answer)
    },
    poll: (device_code: string, session_id: string, by: ForeignAgent = agent) =>
      send(async (DPoP) => {
        const answer = await oauth.deviceCodeGrantRequest(
          server,
          { ...by.client, [oauth.clockSkew]: time.ahead },
          by.authentication,
          device_code,
          { DPoP, additionalParameters: { session_id }, ...insecure },
        )
        return oauth.processDeviceCodeResponse(server, by.client, answer)
      }),
    refresh: (refresh_token: string, by: ForeignAgent = agent) =>
      send(async (DPoP) => {
        const answer = await oauth.refreshTokenGrantRequest(
          server,
          { ...by.client, [oauth.clockSkew]: time.ahead },
          by.authentication,
          refresh_token,
          { DPoP, ...insecure },
        )
        return oauth.processRefreshTokenResponse(server, by.client, answer)
      }),
    myBookings: (access_token: string) =>
      send(async (DPoP) =>
        (
          await oauth.protectedResourceRequest(
            access_token,
            'POST',
            new URL(`${site.origin}/poppy/tools/my_bookings`),
            new Headers({ 'content-type': 'application/json' }),
            '{}',
            { DPoP, ...insecure },
          )
        ).json(),
      ),
  }
}

/** Follows the link on another device, signs in there, looks at the page and decides. */
async function decide(link: string, decision: 'approve' | 'decline', scope: readonly string[] = scopes) {
  const person = createPerson()
  let page = await person.open(link)
  if (page.html.includes('type="password"')) page = await person.submit(page, guests.maya)
  expect(page.html).toContain('Foreign Agent')
  await person.submit(page, { scope, decision })
}

const refused = (error: string) => ({ error, status: 400 })

describe('the device grant of a client that knows OAuth and nothing else', () => {
  it.each([
    { nonces: false, alg: 'ES256' },
    { nonces: true, alg: 'ES256' },
    { nonces: true, alg: 'Ed25519' },
  ])(
    'goes from pending over slow_down to tokens, with $alg keys, nonces $nonces [4.6.start, 4.6.pending, 4.6.slow-down, 4.6.complete]',
    { timeout },
    async ({ nonces, alg }) => {
      const { site, sessionId, begin, poll, pass, myBookings } = await open(nonces, alg)
      const device = await begin(scopes.join(' '))
      expect(device).toMatchObject({
        expires_in: 600,
        interval: 5,
        verification_uri: expect.stringContaining(site.origin),
      })
      await expect(poll(device.device_code, sessionId)).rejects.toMatchObject(refused('authorization_pending'))
      await expect(poll(device.device_code, sessionId)).rejects.toMatchObject(refused('slow_down'))
      pass(11)
      await expect(poll(device.device_code, sessionId)).rejects.toMatchObject(refused('authorization_pending'))
      await decide(device.verification_uri_complete ?? '', 'approve', ['poppy:read'])
      pass(11)
      const tokens = await poll(device.device_code, sessionId)
      expect(tokens).toMatchObject({
        token_type: 'dpop',
        scope: 'poppy:read',
        session_id: sessionId,
        signed_in: true,
        refresh_token: expect.any(String),
      })
      expect(await myBookings(tokens.access_token)).toEqual({ account: 'acc-maya' })
      pass(11)
      await expect(poll(device.device_code, sessionId)).rejects.toMatchObject(refused('invalid_grant'))
    },
  )

  it('learns that it was declined, that it is too late, and that a code is its own alone [4.6.access-denied, 4.6.expired-token, K29]', {
    timeout,
  }, async () => {
    const { agent, server, sessionId, begin, poll, pass } = await open(false)
    const no = await begin('poppy:read')
    await decide(no.verification_uri_complete ?? '', 'decline')
    await expect(poll(no.device_code, sessionId)).rejects.toMatchObject(refused('access_denied'))
    const late = await begin('poppy:read')
    pass(601)
    await expect(poll(late.device_code, sessionId)).rejects.toMatchObject(refused('expired_token'))

    const mine = await begin('poppy:read')
    const other = await openForeignAgent('ES256')
    const stolen = poll(mine.device_code, sessionId, other)
    await expect(stolen).rejects.toMatchObject({
      status: 400,
      error: expect.stringMatching(/^invalid_(?:grant|session)$/),
    })
    await decide(mine.verification_uri_complete ?? '', 'approve')
    pass(11)
    expect(await poll(mine.device_code, sessionId)).toMatchObject({ signed_in: true })
    await expect(begin('poppy:read admin')).rejects.toMatchObject(refused('invalid_scope'))
    expect([agent.client.client_id === other.client.client_id, server.device_authorization_endpoint]).toEqual([
      false,
      expect.any(String),
    ])
  })
})

describe('refreshing with rotation by a client that knows OAuth and nothing else', () => {
  const signedIn = async (nonces: boolean) => {
    const world = await open(nonces)
    const device = await world.begin(scopes.join(' '))
    await decide(device.verification_uri_complete ?? '', 'approve')
    const tokens = await world.poll(device.device_code, world.sessionId)
    return { ...world, tokens, first: tokens.refresh_token ?? '' }
  }

  it.each([false, true])(
    'gets a new token each time, and the same one again within the grace, also for an answer that was lost (nonces %s) [4.8.without-session, K20]',
    { timeout },
    async (nonces) => {
      const { first, refresh, pass, myBookings } = await signedIn(nonces)
      const second = (await refresh(first)).refresh_token ?? ''
      expect(second).not.toBe(first)
      pass(grace - 10)
      const again = await refresh(first)
      expect(again).toMatchObject({ refresh_token: second, signed_in: true, scope: scopes.join(' ') })
      expect(await myBookings(again.access_token)).toEqual({ account: 'acc-maya' })
      const third = await refresh(second)
      expect([first, second]).not.toContain(third.refresh_token)
      expect(await myBookings(third.access_token)).toEqual({ account: 'acc-maya' })
    },
  )

  it('has lost everything when an old one comes after the grace, and nothing when another client brings one [4.8.invalid-grant, 4.8.account-token-client, K20]', {
    timeout,
  }, async () => {
    const { first, tokens, refresh, pass, myBookings } = await signedIn(false)
    const second = (await refresh(first)).refresh_token ?? ''
    const other = await openForeignAgent('ES256')
    pass(grace + 1)
    for (const token of [first, second])
      await expect(refresh(token, other)).rejects.toMatchObject(refused('invalid_grant'))
    const third = (await refresh(second)).refresh_token ?? ''
    await expect(refresh(first)).rejects.toMatchObject(refused('invalid_grant'))
    for (const token of [second, third]) await expect(refresh(token)).rejects.toMatchObject(refused('invalid_grant'))
    await expect(myBookings(tokens.access_token)).rejects.toMatchObject({
      cause: [{ scheme: 'dpop', parameters: { error: 'sign_in_required' } }],
    })
  })
})

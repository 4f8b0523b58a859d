import { describe, expect, it } from 'vitest'
import { makeWorld, outcome } from './setup/world.ts'

describe("the site's own API asks the Company who is calling", () => {
  it('gets the same Principal that tools get, frozen, or the answer to send [6.known-caller, 6.sign-in-required, 6.insufficient-scope]', async () => {
    const world = await makeWorld()
    const { access_token, session_id } = await world.start()
    const signedIn = await world.signIn(world.agent, session_id)
    const ask = async (token: string, scope?: string | readonly string[]) => {
      const url = `${world.origin}/api/bookings?from=2027-01-01`
      const proof = await world.agent.proof('GET', `${world.origin}/api/bookings`, token)
      const request = new Request(url, { headers: { authorization: `DPoP ${token}`, dpop: proof } })
      return world.company.authenticate(request, scope === undefined ? {} : { scope })
    }
    const caller = await ask(signedIn.access_token, 'poppy:read')
    expect(caller).toEqual({
      company: world.origin,
      clientId: world.agent.clientId,
      userId: world.agent.userId,
      sessionId: session_id,
      account: 'acc-maya',
      scopes: ['poppy:read', 'poppy:write'],
      resource: null,
      grantId: expect.stringMatching(/^grt_/),
    })
    expect(Object.isFrozen(caller)).toBe(true)
    expect(await ask(access_token)).toMatchObject({ account: null, scopes: [], grantId: null })

    const answers = [await ask(access_token, 'poppy:read'), await ask(signedIn.access_token, ['poppy:read', 'loyalty'])]
    expect(await Promise.all(answers.map((answer) => outcome(answer as Response)))).toEqual([
      '403 sign_in_required',
      '403 insufficient_scope',
    ])
    expect((answers[1] as Response).headers.get('www-authenticate')).toContain('scope="poppy:read loyalty"')
  })

  it('answers for the site when nobody is calling, or a token is in the URL [4.3.no-token-in-url]', async () => {
    const world = await makeWorld()
    const { access_token } = await world.start()
    const anonymous = await world.company.authenticate(new Request(`${world.origin}/api/bookings`))
    expect(anonymous).toBeInstanceOf(Response)
    expect(await outcome(anonymous as Response)).toBe('401 invalid_token')
    const inUrl = await world.company.authenticate(
      new Request(`${world.origin}/api/bookings?access_token=${access_token}`),
    )
    expect(await outcome(inUrl as Response)).toBe('401 invalid_token')
  })

  it('tells the rights that there are once the body has been read, for whoever asks then', async () => {
    const world = await makeWorld()
    const { session_id } = await world.start()
    const signedIn = await world.signIn(world.agent, session_id)
    const proof = await world.agent.proof('POST', `${world.origin}/api/bookings`, signedIn.access_token)
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const request = new Request(`${world.origin}/api/bookings`, {
      method: 'POST',
      headers: { authorization: `DPoP ${signedIn.access_token}`, dpop: proof },
      body: readable,
      duplex: 'half',
    } as RequestInit)
    const reading = request.json()
    const writer = writable.getWriter()
    await writer.write(new TextEncoder().encode('{"nights":'))
    await world.agent.revoke(signedIn.refresh_token as string)
    await writer.write(new TextEncoder().encode('2}'))
    await writer.close()
    expect(await reading).toEqual({ nights: 2 })
    const answer = await world.company.authenticate(request, { scope: 'poppy:read' })
    expect(await outcome(answer as Response)).toBe('403 sign_in_required')
  })

  it('does not take a token that was issued for one service only [4.3.one-service]', async () => {
    const world = await makeWorld()
    const answer = await world.agent.startSession({ resource: `${world.origin}/poppy/openapi.json` })
    const { access_token } = (await answer.json()) as { access_token: string }
    expect((await world.agent.call('/poppy/tools/echo', access_token, { body: { text: 'a' } })).status).toBe(200)
    const proof = await world.agent.proof('GET', `${world.origin}/api`, access_token)
    const caller = await world.company.authenticate(
      new Request(`${world.origin}/api`, { headers: { authorization: `DPoP ${access_token}`, dpop: proof } }),
    )
    expect(await outcome(caller as Response)).toBe('401 invalid_token')
  })
})

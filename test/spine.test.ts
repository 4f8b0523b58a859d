import { describe, expect, it } from 'vitest'
import { makeWorld, outcome } from './setup/world.ts'

describe('an agent visits a site, signed out and then signed in', () => {
  it('starts a Session, searches, is told to sign in, signs in, reads, signs out and is refused', async () => {
    const world = await makeWorld()
    const { agent } = world
    const started = await world.start()
    expect(started).toMatchObject({ token_type: 'DPoP', scope: '', signed_in: false, expires_in: 3600 })
    const echoed = await agent.call('/poppy/tools/echo', started.access_token, { body: { text: 'hello' } })
    expect([echoed.status, await echoed.json()]).toEqual([200, { text: 'hello', userId: agent.userId, account: null }])

    const refused = await agent.call('/poppy/tools/my_bookings', started.access_token)
    expect(refused.headers.get('www-authenticate')).toMatch(/^DPoP error="sign_in_required"/)
    expect(await outcome(refused)).toBe('403 sign_in_required')

    const signedIn = await world.signIn(agent, started.session_id)
    expect(signedIn).toMatchObject({ scope: 'poppy:read poppy:write', signed_in: true, session_id: started.session_id })
    expect(await outcome(await agent.call('/poppy/tools/my_bookings', started.access_token))).toBe(
      '403 sign_in_required',
    )
    const bookings = await agent.call('/poppy/tools/my_bookings', signedIn.access_token)
    expect([bookings.status, await bookings.json()]).toEqual([200, { account: 'acc-maya' }])

    expect(await outcome(await agent.revoke(signedIn.refresh_token ?? ''))).toBe('200')
    expect(await outcome(await agent.call('/poppy/tools/my_bookings', signedIn.access_token))).toBe(
      '403 sign_in_required',
    )
    expect(
      await outcome(await agent.token({ grant_type: 'refresh_token', refresh_token: signedIn.refresh_token ?? '' })),
    ).toBe('400 invalid_grant')
  })
})

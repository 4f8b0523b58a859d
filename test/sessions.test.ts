import { sqlite } from 'poppyseed/sqlite'
import { describe, expect, it } from 'vitest'
import { makeInstances } from './setup/instances.ts'
import { rightsOf, tokensOf } from './setup/rights.ts'
import { stores } from './setup/stores.ts'
import { watch } from './setup/watched-store.ts'
import { makeWireAgent } from './setup/wire-agent.ts'
import { makeWorld, outcome } from './setup/world.ts'

const minute = 60_000

const echo = { body: { text: 'hello' } }

describe('a Session starts', () => {
  it('signed out, with everything that the answer has to say [4.starts-signed-out, 4.2.response, 4.2.no-store, 4.2.expires-in-positive, 4.2.hours-not-days, 4.2.signed-out-no-scope]', async () => {
    const { agent } = await makeWorld()
    const answer = await agent.startSession()
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(await answer.json()).toEqual({
      access_token: expect.stringMatching(/^[\w.-]{100,}$/),
      token_type: 'DPoP',
      expires_in: 3600,
      scope: '',
      session_id: expect.stringMatching(/^ses_[\w-]{22}$/),
      signed_in: false,
    })
  })

  it('for a User of an agent, as often as the agent likes [4.several-sessions, 4.one-session-one-user, 6.known-caller]', async () => {
    const world = await makeWorld()
    const other = await world.newAgent()
    const [first, second, theirs] = [await world.start(), await world.start(), await world.start(other)]
    expect(new Set([first.session_id, second.session_id, theirs.session_id]).size).toBe(3)
    const known = await other.call('/poppy/tools/echo', theirs.access_token, echo)
    expect(await known.json()).toMatchObject({ userId: other.userId })
    expect(await rightsOf(world, first.access_token)).toBe('out')
  })

  it('only with a Session assertion, a client assertion and a proof [4.2.three-parts, 4.2.invalid-client, 4.2.invalid-request, 4.2.invalid-dpop-proof]', async () => {
    const { agent } = await makeWorld()
    expect(await outcome(await agent.startSession({ assertion: null }))).toBe('400 invalid_request')
    expect(await outcome(await agent.startSession({ client_assertion: null }))).toBe('401 invalid_client')
    const noProof = await agent.startSession({}, { proof: null })
    expect(noProof.headers.get('www-authenticate')).toMatch(/^DPoP error="invalid_dpop_proof"/)
    expect(await outcome(noProof)).toBe('400 invalid_dpop_proof')
  })

  it('never with a scope: there is no account yet [4.2.invalid-scope]', async () => {
    const { agent } = await makeWorld()
    expect(await outcome(await agent.startSession({ scope: 'poppy:read' }))).toBe('400 invalid_scope')
    expect(await outcome(await agent.startSession({ scope: ' ' }))).toBe('400 invalid_scope')
    expect(await outcome(await agent.startSession({ scope: '' }))).toBe('200')
  })

  it.each(['usr\u0000x', 'usr\nx', '\ud800', '', 'u'.repeat(256)])(
    'never for a User ID that no store could keep as it is: %j',
    async (sub) => {
      const { agent } = await makeWorld()
      const assertion = await agent.sessionAssertion({ claims: { sub } })
      expect(await outcome(await agent.startSession({ assertion }))).toBe('400 invalid_grant')
    },
  )

  it('once for each assertion, whatever else is new [4.2.jti-once, 4.2.invalid-grant, K14]', async () => {
    const { agent } = await makeWorld()
    const assertion = await agent.sessionAssertion()
    expect(await outcome(await agent.startSession({ assertion }))).toBe('200')
    expect(await outcome(await agent.startSession({ assertion }))).toBe('400 invalid_grant')
    const client_assertion = await agent.clientAssertion()
    expect(await outcome(await agent.startSession({ client_assertion }))).toBe('200')
    expect(await outcome(await agent.startSession({ client_assertion }))).toBe('401 invalid_client')
    expect(await outcome(await agent.revoke('pat_unknown', { client_assertion }))).toBe('401 invalid_client')
  })

  it('once also when everything comes twice at the same moment [K14]', async () => {
    const { agent } = await makeWorld()
    const [assertion, client_assertion] = [await agent.sessionAssertion(), await agent.clientAssertion()]
    const tries = Array.from({ length: 5 }, () => agent.startSession({ assertion, client_assertion }))
    const outcomes = await Promise.all((await Promise.all(tries)).map(outcome))
    expect(outcomes.sort()).toEqual(['200', ...Array<string>(4).fill('401 invalid_client')])
  })
})

for (const { name, missing, fresh } of stores) {
  it.skipIf(missing)(
    `one assertion at two instances at the same moment opens one Session, on ${name} [K14]`,
    async () => {
      const { store } = await fresh()
      const held: Request[] = []
      const agent = await makeWireAgent({
        clientId: 'https://twice.example/agent.json',
        now: () => Date.parse('2026-11-30T12:00:00Z'),
        origin: 'https://miramar.example',
        send: async (request) => {
          held.push(request)
          return new Response()
        },
      })
      const config = {
        fetchDocument: async (url: string) => ({ document: agent.documents[url], headers: new Headers() }),
      }
      const { worlds } = await makeInstances([
        { store: store(), config },
        { store: store(), config },
      ])
      for (const [what, refused] of [
        ['client_assertion', '401 invalid_client'],
        ['assertion', '400 invalid_grant'],
      ] as const) {
        const one = what === 'assertion' ? await agent.sessionAssertion() : await agent.clientAssertion()
        held.length = 0
        for (let times = 0; times < 4; times++) await agent.startSession({ [what]: one })
        const answers = await Promise.all(held.map((request, index) => worlds[index % 2]?.send(request)))
        const outcomes = await Promise.all(answers.map((answer) => outcome(answer ?? expect.fail('no instance'))))
        expect(outcomes.sort()).toEqual(['200', refused, refused, refused])
      }
    },
  )
}

describe('a Session is renewed', () => {
  it('with fresh assertions and its id, and the new token is of the same Session [4.2.renew]', async () => {
    const world = await makeWorld()
    const started = await world.start()
    world.clock.now += 3601_000
    expect(await rightsOf(world, started.access_token)).toBe('401 invalid_token')
    const renewed = await tokensOf(world.agent.startSession({ session_id: started.session_id }))
    expect(renewed).toMatchObject({ session_id: started.session_id, signed_in: false, scope: '' })
    expect(await rightsOf(world, renewed.access_token)).toBe('out')
  })

  it('and stays signed in when it was, though the new token is a signed-out one [4.2.renew, 4.4.token-as-issued]', async () => {
    const world = await makeWorld()
    const started = await world.start()
    const signedIn = await world.signIn(world.agent, started.session_id)
    const renewed = await tokensOf(world.agent.startSession({ session_id: started.session_id }))
    expect(renewed).toMatchObject({ signed_in: false, scope: '' })
    expect(await rightsOf(world, renewed.access_token)).toBe('out')
    expect(await rightsOf(world, signedIn.access_token)).toBe('in')
  })

  it('only by its own agent for its own User; a session_id is no credential [4.one-session-one-user, 4.2.session-id-no-credential, 4.2.renew-same-owner, 4.2.invalid-session]', async () => {
    const store = watch(sqlite(':memory:'))
    const world = await makeWorld({}, store)
    const { session_id } = await world.start()
    const other = await world.newAgent()
    // Past the moment when a use would be noted: being asked for by others is none.
    world.clock.now += 5 * minute
    const before = await store.dump()
    expect(await outcome(await other.startSession({ session_id }))).toBe('400 invalid_session')
    const assertion = await world.agent.sessionAssertion({ claims: { sub: 'usr_somebody-else' } })
    expect(await outcome(await world.agent.startSession({ session_id, assertion }))).toBe('400 invalid_session')
    // Another agent chooses what it calls its Users: the same User ID with it is somebody else.
    const namesake = await other.sessionAssertion({ claims: { sub: world.agent.userId } })
    expect(await outcome(await other.startSession({ session_id, assertion: namesake }))).toBe('400 invalid_session')
    for (const unknown of ['ses_unknown', "ses_'--", 'ses_\u0000', 'x'.repeat(5000)])
      expect(await outcome(await world.agent.startSession({ session_id: unknown }))).toBe('400 invalid_session')
    expect(await store.dump()).toEqual(before)
  })

  it('until its lifetime is over, however much it is used [4.2.session-ended]', async () => {
    const world = await makeWorld({ lifetimes: { session: 2 * 86_400, sessionIdle: 86_400 } })
    const { session_id } = await world.start()
    for (const _ of [1, 2, 3]) {
      world.clock.now += 15 * 60 * minute
      const { access_token, expires_in } = await tokensOf(world.agent.startSession({ session_id }))
      expect(expires_in).toBe(3600)
      expect(await rightsOf(world, access_token)).toBe('out')
    }
    world.clock.now += 2.5 * 60 * minute
    const last = await tokensOf(world.agent.startSession({ session_id }))
    expect(last.expires_in).toBe(1800)
    world.clock.now += 30 * minute
    expect(await outcome(await world.agent.startSession({ session_id }))).toBe('400 invalid_session')
    expect(await rightsOf(world, last.access_token)).toBe('401 invalid_token')
  })

  it('until nobody has used it for a while; asking for it then does not wake it [4.2.session-ended]', async () => {
    const world = await makeWorld({ lifetimes: { sessionIdle: 600 } })
    const { session_id, access_token } = await world.start()
    world.clock.now += 9 * minute
    expect(await rightsOf(world, access_token)).toBe('out')
    world.clock.now += 9 * minute
    expect(await rightsOf(world, access_token)).toBe('out')
    world.clock.now += 10 * minute
    expect(await rightsOf(world, access_token)).toBe('401 invalid_token')
    expect(await outcome(await world.agent.startSession({ session_id }))).toBe('400 invalid_session')
    expect(await rightsOf(world, access_token)).toBe('401 invalid_token')
  })

  it('a short idle time counts from the last use too, not from a note of it a minute ago', async () => {
    const world = await makeWorld({ lifetimes: { sessionIdle: 60 } })
    const { access_token } = await world.start()
    for (let seconds = 0; seconds < 300; seconds += 20) {
      world.clock.now += 20_000
      expect(await rightsOf(world, access_token)).toBe('out')
    }
  })
})

import { describe, expect, it } from 'vitest'
import { exchange, getCode } from './setup/consent.ts'
import { rightsOf, tokensOf } from './setup/rights.ts'
import { stores } from './setup/stores.ts'
import { watch } from './setup/watched-store.ts'
import type { WireAgent } from './setup/wire-agent.ts'
import { makeWorld, outcome } from './setup/world.ts'

const minute = 60_000
const day = 24 * 60 * minute

const refresh = (agent: WireAgent, token: string, more: Record<string, string | null> = {}) =>
  agent.token({ grant_type: 'refresh_token', refresh_token: token, ...more })

for (const { name, missing, fresh } of stores) {
  /** An agent that is signed in: its Session, its Account Token, and a Session Token. */
  const begin = async (config = {}) => {
    const store = watch((await fresh()).store())
    const world = await makeWorld(config, store)
    const { session_id } = await world.start()
    const { refresh_token: token = '', access_token } = await world.signIn(world.agent, session_id)
    return { store, world, agent: world.agent, session_id, token, access_token }
  }

  describe.skipIf(missing)(`an Account Token on ${name}`, () => {
    it('gives a signed-in token for the Session that is named, signing it in again [4.8.with-session]', async () => {
      const { world, agent, token } = await begin()
      const other = await world.start()
      expect(await rightsOf(world, other.access_token)).toBe('out')
      const answer = await refresh(agent, token, { session_id: other.session_id })
      expect(answer.headers.get('cache-control')).toBe('no-store')
      const tokens = await tokensOf(Promise.resolve(answer))
      expect(tokens).toEqual({
        access_token: expect.any(String),
        token_type: 'DPoP',
        expires_in: 3600,
        scope: 'poppy:read poppy:write',
        session_id: other.session_id,
        signed_in: true,
      })
      expect(await rightsOf(world, tokens.access_token)).toBe('in')
      expect(await rightsOf(world, other.access_token)).toBe('out')
    })

    it('starts a new Session that is signed in from the start, as often as it is asked [4.8.without-session, 4.end-keeps-account-token, 4.starts-signed-out]', async () => {
      const { world, agent, token, session_id } = await begin({ lifetimes: { session: 3600 } })
      const first = await tokensOf(refresh(agent, token))
      const second = await tokensOf(refresh(agent, token))
      expect(new Set([session_id, first.session_id, second.session_id]).size).toBe(3)
      expect(await rightsOf(world, first.access_token)).toBe('in')
      world.clock.now += 61 * minute
      expect(await rightsOf(world, first.access_token)).toBe('401 invalid_token')
      expect(await outcome(await refresh(agent, token, { session_id }))).toBe('400 invalid_session')
      const third = await tokensOf(refresh(agent, token))
      expect(await rightsOf(world, third.access_token)).toBe('in')
    })

    it('gives fewer scopes when asked, and never more than the person approved [4.8.fewer-scopes, 4.2.invalid-scope]', async () => {
      const { world, agent, token } = await begin()
      const narrow = await tokensOf(refresh(agent, token, { scope: 'poppy:write' }))
      expect([narrow.scope, await rightsOf(world, narrow.access_token)]).toEqual(['poppy:write', 'narrow'])
      for (const scope of ['loyalty', 'poppy:read loyalty', 'unknown', ' ', 'poppy:read  poppy:write', 'poppy:read\n'])
        expect(await outcome(await refresh(agent, token, { scope }))).toBe('400 invalid_scope')
      expect((await tokensOf(refresh(agent, token, { scope: '' }))).scope).toBe('poppy:read poppy:write')
    })

    it('lives as long as was said and not longer for being used; then the Session goes on signed out [4.8.not-extended, 4.8.invalid-grant, 4.2.invalid-grant, 4.2.expires-in-positive]', async () => {
      const { world, agent, token, session_id } = await begin()
      for (let days = 0; days < 85; days += 5) {
        world.clock.now += 5 * day
        expect((await refresh(agent, token)).status).toBe(200)
      }
      world.clock.now += 5 * day - 1000
      const last = await tokensOf(refresh(agent, token))
      expect(last).toMatchObject({ expires_in: 1, signed_in: true })
      expect(last).not.toHaveProperty('refresh_token')
      // Less than a second is left, and none is no lifetime.
      world.clock.now += 600
      expect(await tokensOf(refresh(agent, token))).toMatchObject({ expires_in: 1, signed_in: true })
      world.clock.now += 400
      expect(await outcome(await refresh(agent, token))).toBe('400 invalid_grant')
      expect(await outcome(await refresh(agent, token, { session_id: last.session_id }))).toBe('400 invalid_grant')
      const renewed = await tokensOf(agent.startSession({ session_id: last.session_id }))
      expect(renewed).toMatchObject({ session_id: last.session_id, signed_in: false })
      expect(session_id).not.toBe(last.session_id)
    })

    it('has no end where the company set none', async () => {
      const { world, agent, token } = await begin({ lifetimes: { accountToken: null } })
      world.clock.now += 2000 * day
      expect((await refresh(agent, token)).status).toBe(200)
      const { session_id } = await world.start()
      expect(await world.signIn(agent, session_id)).not.toHaveProperty('refresh_token_expires_in')
    })

    it('is worth nothing to another agent, and unknown tokens are told no better [4.8.account-token-client, 4.2.invalid-grant]', async () => {
      const { store, world, agent, token } = await begin()
      const thief = await world.newAgent()
      world.clock.now += 5 * minute
      const before = await store.dump()
      const [theirs, unknown] = [await refresh(thief, token), await refresh(thief, 'pat_made-up')]
      expect(await theirs.text()).toBe(await unknown.text())
      expect([theirs.status, unknown.status]).toEqual([400, 400])
      const { client_id, ...forged } = { client_id: agent.clientId, client_assertion: await thief.clientAssertion() }
      expect(await outcome(await refresh(thief, token, { client_id, ...forged }))).toBe('401 invalid_client')
      expect(await store.dump()).toEqual(before)
      expect((await refresh(agent, token)).status).toBe(200)
    })

    it('works only in Sessions of its agent and User; a refused one is left as it was [4.8.same-owner, 4.2.invalid-session]', async () => {
      const { store, world, agent, token } = await begin()
      const other = await world.newAgent()
      const theirs = await world.start(other)
      // Another agent may call a User of its own the same.
      const namesakes = await tokensOf(
        other.startSession({ assertion: await other.sessionAssertion({ claims: { sub: agent.userId } }) }),
      )
      const assertion = await agent.sessionAssertion({ claims: { sub: 'usr_somebody-else' } })
      const otherUsers = await tokensOf(agent.startSession({ assertion }))
      world.clock.now += 5 * minute
      const before = await store.dump()
      const foreign = [theirs, namesakes, otherUsers].map(({ session_id }) => session_id)
      for (const session_id of [...foreign, 'ses_unknown', 'ses_\u0000', "'"])
        expect(await outcome(await refresh(agent, token, { session_id }))).toBe('400 invalid_session')
      expect(await store.dump()).toEqual(before)
    })

    it('is taken nowhere but at the token and revocation endpoints [4.8.account-token-where]', async () => {
      const { world, token } = await begin()
      expect(await rightsOf(world, token)).toBe('401 invalid_token')
      const mcp = new Request('https://miramar.example/poppy/mcp', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
      })
      expect(await outcome(await world.send(mcp))).toBe('401 invalid_token')
      expect(await outcome(await world.agent.startSession({ assertion: token }))).toBe('400 invalid_grant')
      expect(await outcome(await refresh(world.agent, token))).toBe('200')
    })

    it('never brings a Session to another account, not even after sign-out [4.8.same-account, 4.4.one-account, 4.2.account-mismatch]', async () => {
      const { store, world, agent, token, session_id, access_token } = await begin()
      world.site.account = { id: 'acc-business', name: 'maya@work.example' }
      const business = await world.start()
      const { refresh_token = '' } = await world.signIn(agent, business.session_id)
      world.clock.now += 5 * minute
      const before = await store.dump()
      expect(await outcome(await refresh(agent, refresh_token, { session_id }))).toBe('400 account_mismatch')
      expect(await store.dump()).toEqual(before)
      expect(await rightsOf(world, access_token)).toBe('in')
      await agent.revoke(token)
      expect(await outcome(await refresh(agent, refresh_token, { session_id }))).toBe('400 account_mismatch')
      expect(await outcome(await exchange(agent, await getCode(world), session_id))).toBe('400 account_mismatch')
      world.site.account = { id: 'acc-maya', name: 'maya@example.com' }
      expect((await world.signIn(agent, session_id)).signed_in).toBe(true)
    })

    it('that was replaced may be revoked: Sessions that moved to the new one stay signed in [4.9.signs-out-sessions]', async () => {
      const { world, agent, token, session_id } = await begin()
      const left = await tokensOf(refresh(agent, token))
      const moved = await world.signIn(agent, session_id)
      expect(await outcome(await agent.revoke(token))).toBe('200')
      expect(await rightsOf(world, moved.access_token)).toBe('in')
      expect(await rightsOf(world, left.access_token)).toBe('out')
      expect(await outcome(await refresh(agent, token))).toBe('400 invalid_grant')
      expect((await refresh(agent, moved.refresh_token ?? '', { session_id })).status).toBe(200)
    })
  })

  describe.skipIf(missing)(`signing out on ${name}`, () => {
    it('bites on the very next request, in every Session, and they go on signed out [4.9.revoke, 4.9.signs-out-sessions, 4.9.at-once, 4.9.short-tokens, 4.9.continue-signed-out]', async () => {
      const { world, agent, token, session_id, access_token } = await begin()
      const second = await tokensOf(refresh(agent, token))
      const answer = await agent.revoke(token, { token_type_hint: 'refresh_token' })
      expect([answer.status, await answer.text(), answer.headers.get('cache-control')]).toEqual([200, '', 'no-store'])
      for (const one of [access_token, second.access_token]) expect(await rightsOf(world, one)).toBe('out')
      expect(await outcome(await refresh(agent, token, { session_id }))).toBe('400 invalid_grant')
      expect(await outcome(await refresh(agent, token))).toBe('400 invalid_grant')
      const renewed = await tokensOf(agent.startSession({ session_id }))
      expect(renewed).toMatchObject({ session_id, signed_in: false, scope: '' })
      expect(await rightsOf(world, renewed.access_token)).toBe('out')
    })

    it('is taken with a client assertion for this Company by any of its names, and for nobody else’s', async () => {
      const { agent, world } = await begin()
      const [issuer, token] = ['https://miramar.example', agent.tokenUrl]
      const revocation = `${issuer}/poppy/revoke`
      const outcomeWith = async (aud: unknown, post: (client_assertion: string) => Promise<Response>) =>
        outcome(await post(await agent.clientAssertion({ claims: { aud } })))
      const revoke = (client_assertion: string) => agent.revoke('pat_unknown', { client_assertion })
      const start = (client_assertion: string) => agent.startSession({ client_assertion })
      for (const aud of [revocation, token, issuer, [token, issuer], [revocation]])
        expect([aud, await outcomeWith(aud, revoke)]).toEqual([aud, '200'])
      for (const aud of [token, issuer, [token, issuer]])
        expect([aud, await outcomeWith(aud, start)]).toEqual([aud, '200'])
      for (const aud of [`${issuer}/`, [issuer, 'https://other.example'], 'https://other.example', []])
        for (const post of [revoke, start])
          expect([aud, await outcomeWith(aud, post)]).toEqual([aud, '401 invalid_client'])
      expect(world.log.filter((line) => line.startsWith('error'))).toEqual([])
    })

    it('is 200 for a token that is unknown or revoked already, and for a wrong hint [K27]', async () => {
      const { world, agent, token, access_token } = await begin()
      expect(await outcome(await agent.revoke('pat_unknown'))).toBe('200')
      expect(await outcome(await agent.revoke('\u0000'))).toBe('200')
      expect(await rightsOf(world, access_token)).toBe('in')
      for (const token_type_hint of ['access_token', 'nonsense', ''])
        expect(await outcome(await agent.revoke(token, { token_type_hint }))).toBe('200')
      expect(await rightsOf(world, access_token)).toBe('out')
    })

    it('of another agent’s token is refused and the token works on; a bad assertion is 401 even for a dead one [K27, 4.2.invalid-client]', async () => {
      const { store, world, agent, token, access_token } = await begin()
      const thief = await world.newAgent()
      world.clock.now += 5 * minute
      const before = await store.dump()
      expect(await outcome(await thief.revoke(token))).toBe('400 invalid_grant')
      const client_assertion = await thief.clientAssertion()
      expect(await outcome(await thief.revoke(token, { client_id: agent.clientId, client_assertion }))).toBe(
        '401 invalid_client',
      )
      expect(await outcome(await agent.revoke('pat_unknown', { client_assertion }))).toBe('401 invalid_client')
      expect(await outcome(await agent.revoke('pat_unknown', { client_assertion: null }))).toBe('401 invalid_client')
      expect(await outcome(await agent.revoke('', {}))).toBe('400 invalid_request')
      expect(await outcome(await agent.revoke(access_token))).toBe('400 unsupported_token_type')
      expect(await store.dump()).toEqual(before)
      expect(await rightsOf(world, access_token)).toBe('in')
      expect((await refresh(agent, token)).status).toBe(200)
    })

    it('and calling and signing in at the same moment end well, and leave nobody signed in by a revoked token', async () => {
      const { world, agent, token, session_id } = await begin()
      for (let round = 0; round < 5; round++) {
        const { refresh_token = '', access_token } = await world.signIn(agent, session_id)
        // Late enough that the use of Session and Account Token is noted while they are signed out.
        world.clock.now += 2 * minute
        const call = async () => outcome(await agent.call('/poppy/tools/my_bookings', access_token))
        const [answer, , ...outcomes] = await Promise.all([
          refresh(agent, refresh_token, { session_id }),
          refresh(agent, refresh_token),
          call(),
          call(),
          agent.revoke(refresh_token).then(outcome),
          call(),
        ])
        for (const one of outcomes) expect(['200', '403 sign_in_required']).toContain(one)
        expect([200, 400]).toContain(answer.status)
        if (answer.status === 200) {
          const { access_token } = await tokensOf(Promise.resolve(answer))
          expect(await rightsOf(world, access_token)).toBe('out')
        }
        expect(await outcome(await refresh(agent, refresh_token))).toBe('400 invalid_grant')
      }
      expect((await refresh(agent, token)).status).toBe(200)
    })
  })

  describe.skipIf(missing)(`the person at the site on ${name}`, () => {
    it('sees what is connected and ends one agent’s access to the account, and no other [4.9.disconnect]', async () => {
      const { world, agent, token, session_id, access_token } = await begin()
      const other = await world.newAgent()
      const theirs = await world.signIn(other, (await world.start(other)).session_id, { scope: 'loyalty' })
      const unused = await getCode(world)
      world.site.account = { id: 'acc-business', name: 'maya@work.example' }
      const business = await world.signIn(agent, (await world.start()).session_id)
      const { accounts } = world.company
      expect((await accounts.connectedAgents('acc-maya')).map(({ clientId }) => clientId).sort()).toEqual(
        [agent.clientId, other.clientId].sort(),
      )
      const [mine] = (await accounts.connectedAgents('acc-maya')).filter(({ clientId }) => clientId === agent.clientId)
      expect(mine).toMatchObject({
        host: 'agent.example',
        rights: [
          { scope: 'poppy:read', text: 'See your bookings' },
          { scope: 'poppy:write', text: 'Change your bookings' },
        ],
        connectedAt: world.clock.now,
        expiresAt: world.clock.now + 90 * day,
      })
      expect(JSON.stringify(mine)).not.toContain(token)

      expect(await accounts.disconnect('acc-maya', agent.clientId)).toBe(1)
      expect(await rightsOf(world, access_token)).toBe('out')
      expect(await outcome(await refresh(agent, token, { session_id }))).toBe('400 invalid_grant')
      expect(await outcome(await exchange(agent, unused, session_id))).toBe('400 invalid_grant')
      expect(await rightsOf(world, business.access_token)).toBe('in')
      expect(await rightsOf(world, theirs.access_token, other)).toBe('narrow')
      expect(await accounts.disconnect('acc-maya', agent.clientId)).toBe(0)
      expect((await accounts.connectedAgents('acc-maya')).map(({ clientId }) => clientId)).toEqual([other.clientId])
    })
  })
}

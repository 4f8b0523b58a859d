import { describe, expect, it } from 'vitest'
import { exchange, getCode } from './setup/consent.ts'
import { stores } from './setup/stores.ts'
import { watch } from './setup/watched-store.ts'
import { id, sha256 } from './setup/wire-agent.ts'
import { makeWorld, outcome, type Tokens, type World } from './setup/world.ts'

const minute = 60_000

const canRead = async (world: World, token: string) =>
  (await world.agent.call('/poppy/tools/my_bookings', token)).status === 200

for (const { name, missing, fresh } of stores) {
  describe.skipIf(missing)(`a code on ${name}`, () => {
    async function begin(config = {}) {
      const store = watch((await fresh()).store())
      const world = await makeWorld(config, store)
      const { session_id } = await world.start()
      return { store, world, agent: world.agent, session_id }
    }

    it('gives an Account Token and a signed-in token for the Session that was named [4.4.both-tokens, 4.5.session-id, 4.4.grant-record, 4.4.session-record]', async () => {
      const { store, world, agent, session_id } = await begin()
      const answer = await exchange(agent, await getCode(world), session_id)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      const tokens = (await answer.json()) as Tokens
      expect(tokens).toEqual({
        access_token: expect.any(String),
        token_type: 'DPoP',
        expires_in: 3600,
        scope: 'poppy:read poppy:write',
        session_id,
        signed_in: true,
        refresh_token: expect.stringMatching(/^pat_[\w-]{43}$/),
        refresh_token_expires_in: 90 * 86_400,
      })
      expect(await canRead(world, tokens.access_token)).toBe(true)
      const dump = JSON.stringify(await store.dump())
      for (const secret of [tokens.refresh_token, tokens.access_token]) expect(dump).not.toContain(secret)
      const record = { client_id: agent.clientId, user_id: agent.userId, account: 'acc-maya' }
      expect(await store.dump()).toMatchObject({
        grants: [{ ...record, scopes: 'poppy:read poppy:write', expires_at: world.clock.now + 90 * 86_400_000 }],
        sessions: [{ ...record, id: session_id }],
      })
    })

    it('used twice in sequence is refused, and what it gave is taken back [4.5.code-once, 4.2.invalid-grant, K25]', async () => {
      const { world, agent, session_id } = await begin()
      const code = await getCode(world)
      const first = (await (await exchange(agent, code, session_id)).json()) as Tokens
      expect(await canRead(world, first.access_token)).toBe(true)
      expect(await outcome(await exchange(agent, code, session_id))).toBe('400 invalid_grant')
      expect(await canRead(world, first.access_token)).toBe(false)
      const { refresh_token = '' } = first
      expect(await outcome(await agent.token({ grant_type: 'refresh_token', refresh_token }))).toBe('400 invalid_grant')
    })

    it('used five times at once succeeds once at most, and what it gave is taken back [4.5.code-once, K25]', async () => {
      const { world, agent, session_id } = await begin()
      const code = await getCode(world)
      const answers = await Promise.all(Array.from({ length: 5 }, () => exchange(agent, code, session_id)))
      const won = answers.find(({ status }) => status === 200)
      const tokens = (await won?.clone().json()) as Tokens
      expect((await Promise.all(answers.map(outcome))).sort()).toEqual([
        '200',
        ...Array<string>(4).fill('400 invalid_grant'),
      ])
      expect(await canRead(world, tokens.access_token)).toBe(false)
    })

    it('is spent by a wrong verifier or redirect_uri, and cannot be guessed at [4.5.pkce, 4.5.code-bound, K25, K26]', async () => {
      const { world, agent, session_id } = await begin()
      const other = { redirect_uri: `${agent.redirectUri}/x` }
      for (const bend of [
        { code_verifier: id().repeat(3) },
        { code_verifier: 'short' },
        { code_verifier: 'é'.repeat(50) },
        other,
      ]) {
        const code = await getCode(world)
        expect(await outcome(await exchange(agent, code, session_id, bend))).toBe('400 invalid_grant')
        expect(await outcome(await exchange(agent, code, session_id))).toBe('400 invalid_grant')
      }
      const code = await getCode(world)
      for (const name of ['code_verifier', 'redirect_uri', 'session_id', 'code'])
        for (const value of [null, ''])
          expect(await outcome(await exchange(agent, code, session_id, { [name]: value }))).toBe('400 invalid_request')
      expect(await outcome(await exchange(agent, code, session_id))).toBe('200')
    })

    it('presented by another agent is neither spent nor revoked [4.5.code-bound, K25]', async () => {
      const { store, world, agent, session_id } = await begin()
      const other = await world.newAgent()
      const theirs = await world.start(other)
      const code = await getCode(world)
      const before = await store.dump()
      const steal = () =>
        exchange(other, code, theirs.session_id, {
          redirect_uri: agent.redirectUri,
          code_verifier: sha256(agent.clientId),
        })
      expect(await outcome(await steal())).toBe('400 invalid_grant')
      expect(await store.dump()).toEqual(before)
      const tokens = (await (await exchange(agent, code, session_id)).json()) as Tokens
      expect(await outcome(await steal())).toBe('400 invalid_grant')
      expect(await canRead(world, tokens.access_token)).toBe(true)
    })

    it('that waits for more than a minute is refused [4.5.code-once, 4.2.invalid-grant]', async () => {
      const { store, world, agent, session_id } = await begin()
      const code = await getCode(world)
      const before = await store.dump()
      world.clock.now += minute
      expect(await outcome(await exchange(agent, code, session_id))).toBe('400 invalid_grant')
      expect(await outcome(await exchange(agent, 'made-up', session_id))).toBe('400 invalid_grant')
      expect(await store.dump()).toEqual(before)
    })

    it('for another account, Session or scope than it may have stays unspent [4.4.one-account, 4.2.account-mismatch, 4.5.session-same-client, 4.2.invalid-session, 4.4.failed-keeps-tokens]', async () => {
      const { store, world, agent, session_id } = await begin()
      const theirs = await world.start(await world.newAgent())
      const mine = await world.signIn(agent, session_id)
      world.site.account = { id: 'acc-business', name: 'maya@work.example' }
      const code = await getCode(world, agent, ['poppy:read'])
      world.clock.now += 59_000
      const before = await store.dump()
      expect(await outcome(await exchange(agent, code, session_id))).toBe('400 account_mismatch')
      expect(await outcome(await exchange(agent, code, theirs.session_id))).toBe('400 invalid_session')
      expect(await outcome(await exchange(agent, code, 'ses_unknown'))).toBe('400 invalid_session')
      expect(await outcome(await exchange(agent, code, session_id, { scope: 'poppy:write' }))).toBe(
        '400 account_mismatch',
      )
      expect(await store.dump()).toEqual(before)
      expect(await canRead(world, mine.access_token)).toBe(true)
      const { session_id: another } = await world.start()
      expect(await outcome(await exchange(agent, code, another, { scope: 'poppy:write' }))).toBe('400 invalid_scope')
      expect(await outcome(await exchange(agent, code, another))).toBe('200')
      // Nor after sign-out: the Session has had its account.
      await world.company.accounts.disconnect('acc-maya', agent.clientId)
      expect(await outcome(await exchange(agent, await getCode(world), session_id))).toBe('400 account_mismatch')
    })
  })
}

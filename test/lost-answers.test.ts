import { once } from 'node:events'
import { connect } from 'node:net'
import { AnswerDropped, createCompany } from 'poppyseed'
import { sqlite } from 'poppyseed/sqlite'
import { describe, expect, it } from 'vitest'
import {
  authorizationQuery,
  decideOn,
  exchange,
  formOn,
  getCode,
  openForm,
  openPage,
  redirectOf,
} from './setup/consent.ts'
import { openLosingWorld } from './setup/losing.ts'
import { stores } from './setup/stores.ts'
import { makeWorld, outcome, secret, type Tokens } from './setup/world.ts'

// All that a request does has happened, and the answer is lost. An honest client tries again, and it ends well: nothing
// happens twice, nothing is lost, and what can't be had any more is told.

const [tokenPath, revokePath, authorizePath] = ['/poppy/token', '/poppy/revoke', '/poppy/authorize']

interface Rows {
  readonly sessions: { id: string; account: string | null; grant_id: string | null }[]
  readonly grants: { id: string; revoked_at: number | null; expires_at: number | null }[]
  readonly codes: { used_at: number | null }[]
}

describe.each(stores)('an answer that is lost, on $name,', ({ missing, fresh }) => {
  const open = async () => openLosingWorld((await fresh()).store())

  it.skipIf(missing)(
    'at the start of a Session: the next try gives another, signed out as it should be [4.2.jti-once, K14]',
    async () => {
      const { world, losing, count } = await open()
      const { agent } = world
      const parts = { assertion: await agent.sessionAssertion(), client_assertion: await agent.clientAssertion() }
      const proof = await agent.proof('POST', agent.tokenUrl)
      expect((await losing(tokenPath, () => agent.startSession(parts, { proof }))).status).toBe(200)
      // What was sent is spent: somebody who saw it on the way has nothing.
      expect(await outcome(await agent.startSession(parts, { proof }))).toMatch(
        /^40[01] invalid_(?:client|grant|dpop_proof)$/,
      )
      const { signed_in, access_token } = await world.start()
      expect(signed_in).toBe(false)
      expect((await agent.call('/poppy/tools/echo', access_token, { body: { text: 'x' } })).status).toBe(200)
      expect([await count('sessions'), await count('grants')]).toEqual([2, 0])
    },
  )

  it.skipIf(missing)(
    'at a renewal: the next try gives a token for the same Session, and the old one works on',
    async () => {
      const { world, losing, count } = await open()
      const { agent } = world
      const before = await world.start()
      const renew = () => agent.startSession({ session_id: before.session_id })
      expect((await losing(tokenPath, renew)).status).toBe(200)
      const after = (await (await renew()).json()) as Tokens
      expect(after.session_id).toBe(before.session_id)
      for (const { access_token } of [before, after])
        expect((await agent.call('/poppy/tools/echo', access_token, { body: { text: 'x' } })).status).toBe(200)
      expect(await count('sessions')).toBe(1)
    },
  )

  it.skipIf(missing)(
    'at a code exchange: the code is not valid again, and what it gave is taken back; a new sign-in works [K25, 4.5.code-once]',
    async () => {
      const { world, losing, store } = await open()
      const { agent } = world
      const { session_id } = await world.start()
      const code = await getCode(world)
      expect((await losing(tokenPath, () => exchange(agent, code, session_id))).status).toBe(200)
      expect(((await store.dump()) as Rows).grants.map(({ revoked_at }) => revoked_at)).toEqual([null])
      expect(await outcome(await exchange(agent, code, session_id))).toBe('400 invalid_grant')
      const { grants, sessions } = (await store.dump()) as Rows
      expect(grants.map(({ revoked_at }) => revoked_at !== null)).toEqual([true])
      // Signed out, and still the same person's: the Session goes on.
      expect(sessions.map(({ grant_id }) => grant_id)).toEqual([null])
      const again = await world.signIn(agent, session_id)
      expect((await agent.call('/poppy/tools/my_bookings', again.access_token)).status).toBe(200)
    },
  )

  it.skipIf(missing)('at a refusal: the next try is judged anew, and the code was not spent by the first', async () => {
    const { world, losing } = await open()
    const { agent } = world
    const { session_id } = await world.start()
    const code = await getCode(world)
    expect((await losing(tokenPath, () => exchange(agent, code, 'ses_unknown'))).status).toBe(400)
    expect(await outcome(await exchange(agent, code, session_id))).toBe('200')
  })

  it.skipIf(missing)(
    'at a refresh: the Account Token works on, and lives no longer for it [4.8.not-extended]',
    async () => {
      const { world, losing, store, count } = await open()
      const { agent } = world
      const { session_id, refresh_token = '' } = await world.signIn(agent, (await world.start()).session_id)
      const [{ expires_at } = { expires_at: 0 }] = ((await store.dump()) as Rows).grants
      const refresh = (bend: Record<string, string> = {}) =>
        agent.token({ grant_type: 'refresh_token', refresh_token, ...bend })
      world.clock.now += 60_000
      expect((await losing(tokenPath, () => refresh({ session_id }))).status).toBe(200)
      expect((await losing(tokenPath, () => refresh())).status).toBe(200)
      const again = (await (await refresh({ session_id })).json()) as Tokens
      expect([again.session_id, again.signed_in, again.refresh_token]).toEqual([session_id, true, undefined])
      expect((await agent.call('/poppy/tools/my_bookings', again.access_token)).status).toBe(200)
      expect(((await store.dump()) as Rows).grants.map((grant) => grant.expires_at)).toEqual([expires_at])
      // The Session that nobody heard of ends with the sign-in like any other.
      expect(await count('sessions')).toBe(2)
      expect((await agent.revoke(refresh_token)).status).toBe(200)
      expect(((await store.dump()) as Rows).sessions.map(({ grant_id }) => grant_id)).toEqual([null, null])
    },
  )

  it.skipIf(missing)('at a revocation: it has happened, and the next try is as good [K27, 4.9.revoke]', async () => {
    const { world, losing } = await open()
    const { agent } = world
    const { access_token, refresh_token = '' } = await world.signIn(agent, (await world.start()).session_id)
    expect((await losing(revokePath, () => agent.revoke(refresh_token))).status).toBe(200)
    expect((await agent.call('/poppy/tools/my_bookings', access_token)).status).toBe(403)
    expect((await agent.revoke(refresh_token)).status).toBe(200)
    expect(await outcome(await agent.token({ grant_type: 'refresh_token', refresh_token }))).toBe('400 invalid_grant')
  })

  it.skipIf(missing)(
    'at the person’s decision: the page says that the first counts, nobody has the code, and a new start works',
    async () => {
      const { world, losing, store, count } = await open()
      const { agent } = world
      const { session_id } = await world.start()
      const form = await openForm(world)
      expect((await losing(authorizePath, () => decideOn(world, form))).status).toBe(303)
      const answer = await decideOn(world, form)
      expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
      expect(await answer.text()).toContain('You already answered this')
      expect(await count('codes')).toBe(1)
      // The browser's way back and the agent's link lead to a page of their own again.
      const next = await formOn(await openPage(world, authorizationQuery(agent)))
      const { said } = redirectOf(await decideOn(world, next))
      expect(await outcome(await exchange(agent, said.code ?? '', session_id))).toBe('200')
      expect(((await store.dump()) as Rows).grants).toHaveLength(1)
    },
  )

  it.skipIf(missing)(
    'at a tool call, over HTTP and over MCP: it ran once, and the same proof runs nothing again [4.3.jti-once]',
    async () => {
      const { world, losing } = await open()
      const { agent, origin } = world
      const { access_token } = await world.start()
      const path = '/poppy/tools/echo'
      const proof = await agent.proof('POST', origin + path, access_token)
      const call = () => agent.call(path, access_token, { body: { text: 'x' }, proof })
      expect((await losing(path, call)).status).toBe(200)
      expect((await call()).status).toBe(401)
      expect((await agent.call(path, access_token, { body: { text: 'x' } })).status).toBe(200)
      const bearer = (await (
        await agent.startSession({ resource: `${origin}/poppy/mcp` }, { proof: null })
      ).json()) as Tokens
      const inMcp = () =>
        world.send(
          new Request(`${origin}/poppy/mcp`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${bearer.access_token}`,
              'content-type': 'application/json',
              accept: 'application/json, text/event-stream',
            },
            body: JSON.stringify({
              jsonrpc: '2.0',
              id: 1,
              method: 'tools/call',
              params: { name: 'echo', arguments: { text: 'x' } },
            }),
          }),
        )
      expect((await losing('/poppy/mcp', inMcp)).status).toBe(200)
      expect((await inMcp()).status).toBe(200)
    },
  )
})

describe('the hook that loses answers', () => {
  it('closes the connection without one byte, and rejects with its own error where there is no listener', async () => {
    const { world } = await openLosingWorld(sqlite(':memory:'))
    const direct = await makeWorld({
      origin: 'http://localhost:9',
      development: true,
      organization: { name: 'Hotel', domain: 'localhost' },
      faults: { dropAnswer: () => true },
    })
    await expect(direct.send(new Request('http://localhost:9/.well-known/poppy.json'))).rejects.toThrow(AnswerDropped)
    expect(direct.log.join('\n')).toContain('FAULTS ARE ON')
    expect(world.log.join('\n')).toContain('FAULTS ARE ON')
  })

  it('is read on the wire as nothing at all', async () => {
    const { world, losing } = await openLosingWorld(sqlite(':memory:'))
    const { hostname, port } = new URL(world.origin)
    const { error } = await losing('/.well-known/poppy.json', async () => {
      const socket = connect(Number(port), hostname)
      let bytes = 0
      socket.on('data', (part) => {
        bytes += part.byteLength
      })
      socket.write(`GET /.well-known/poppy.json HTTP/1.1\r\nhost: localhost:${port}\r\n\r\n`)
      await once(socket, 'close')
      throw new Error(`${bytes} bytes`)
    })
    expect(error).toEqual(new Error('0 bytes'))
  })

  it('is refused outside of development, and where it would do nothing', () => {
    const base = {
      organization: { name: 'Hotel', domain: 'miramar.example' },
      origin: 'https://miramar.example',
      secret,
    }
    expect(() => createCompany({ ...base, faults: { dropAnswer: () => true } })).toThrow('development: true')
    const local = {
      ...base,
      origin: 'http://localhost:8080',
      organization: { name: 'H', domain: 'localhost' },
      development: true,
    }
    for (const faults of [{ dropAnswers: () => true }, { dropAnswer: true }, [], true])
      expect(() => createCompany({ ...local, faults } as never)).toThrow(/faults/)
    expect(() => createCompany({ ...local, faults: {} })).not.toThrow()
  })
})

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqlite } from 'poppyseed/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { decideOn, exchange, getCode, openForm } from './setup/consent.ts'
import { stores } from './setup/stores.ts'
import { makeWorld, outcome, type Tokens, type World } from './setup/world.ts'

/** What a person may ask of a company: that all access ends, that they see what is kept, that it is erased. */

const maya = { id: 'acc-maya', name: 'maya@example.com' }
const bob = { id: 'acc-bob', name: 'bob@example.com' }

const bookings = (world: World, token: string, agent = world.agent) => agent.call('/poppy/tools/my_bookings', token)
const refresh = (world: World, token: string | undefined, agent = world.agent) =>
  agent.token({ grant_type: 'refresh_token', refresh_token: token ?? '' })

describe.each(stores)('a person whose agents are kept in $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  const start = async (): Promise<World> => makeWorld({}, (await fresh()).store())

  test('changes their password, and no agent has access any more', async () => {
    const world = await start()
    const { agent, company, site } = world
    const other = await world.newAgent()
    const signedIn = await world.signIn(agent, (await world.start()).session_id)
    const withOther = await world.signIn(other, (await world.start(other)).session_id)
    site.account = bob
    const ofBob = await world.signIn(agent, (await world.start()).session_id)
    site.account = maya
    const code = await getCode(world)
    const { session_id: waiting } = await world.start()
    const form = await openForm(world)

    expect(await company.accounts.revokeAll('acc-maya')).toBe(2)
    expect(await outcome(await bookings(world, signedIn.access_token))).toBe('403 sign_in_required')
    expect(await outcome(await bookings(world, withOther.access_token, other))).toBe('403 sign_in_required')
    expect(await outcome(await refresh(world, signedIn.refresh_token))).toBe('400 invalid_grant')
    expect(await outcome(await refresh(world, withOther.refresh_token, other))).toBe('400 invalid_grant')
    // A code that was on its way, and a page that was open.
    expect(await outcome(await exchange(agent, code, waiting))).toBe('400 invalid_grant')
    const late = await decideOn(world, form)
    expect(late.status).toBe(400)
    expect(await late.text()).toContain('This page is too old')

    expect((await bookings(world, ofBob.access_token)).status).toBe(200)
    // The person may let an agent in again, at once and into the same Session.
    world.clock.now += 1
    const again = await world.signIn(agent, signedIn.session_id)
    expect((await bookings(world, again.access_token)).status).toBe(200)
    expect(await company.accounts.revokeAll('acc-nobody')).toBe(0)
    await expect(company.accounts.revokeAll('')).rejects.toThrow(TypeError)
  })

  test('sees what is kept of them, without a secret in it', async () => {
    const world = await start()
    const { agent, company } = world
    const { session_id } = await world.start()
    const tokens = await world.signIn(agent, session_id)
    const data = await company.accounts.exportPerson('acc-maya')
    expect(data).toMatchObject({
      company: world.origin,
      exportedAt: world.clock.now,
      sessions: [{ sessionId: session_id, clientId: agent.clientId, userId: agent.userId, account: 'acc-maya' }],
      signIns: [
        { clientId: agent.clientId, account: 'acc-maya', scopes: ['poppy:read', 'poppy:write'], type: 'direct' },
      ],
      codes: [{ clientId: agent.clientId, redirectUri: agent.redirectUri, usedAt: world.clock.now }],
      answeredPages: [{ rememberedUntil: expect.any(Number) }],
    })
    expect(data.sessions[0]?.signIn).toBe(data.signIns[0]?.id)
    expect(JSON.stringify(data)).not.toContain(tokens.refresh_token)
    // Who never signed in is known by what the agent calls them.
    const { session_id: signedOut } = await world.start()
    const user = { clientId: agent.clientId, userId: agent.userId }
    const ofUser = await company.accounts.exportPerson(user)
    expect(ofUser.sessions.map(({ sessionId }) => sessionId).sort()).toEqual([session_id, signedOut].sort())
  })

  test('is erased: the agents are out, and their Sessions serve nobody else', async () => {
    const world = await start()
    const { agent, company, site } = world
    const signedIn = await world.signIn(agent, (await world.start()).session_id)
    const signedOut = await world.start()
    const form = await openForm(world)
    expect(await company.accounts.erasePerson('acc-maya')).toEqual({
      sessions: 1,
      signIns: 1,
      codes: 1,
      browsers: 0,
      deviceSignIns: 0,
      mediatedSignIns: 0,
      operations: 0,
      conversations: 0,
      answeredPages: 1,
    })
    expect(await outcome(await bookings(world, signedIn.access_token))).toBe('401 invalid_token')
    expect(await outcome(await refresh(world, signedIn.refresh_token))).toBe('400 invalid_grant')
    expect((await decideOn(world, form)).status).toBe(400)
    site.account = bob
    const code = await getCode(world)
    expect(await outcome(await exchange(agent, code, signedIn.session_id))).toBe('400 invalid_session')
    // A Session that was never theirs goes on.
    expect((await agent.call('/poppy/tools/echo', signedOut.access_token, { body: { text: 'x' } })).status).toBe(200)

    const user = { clientId: agent.clientId, userId: agent.userId }
    expect(await company.accounts.erasePerson(user)).toMatchObject({ sessions: 1, signIns: 0 })
    expect(await outcome(await bookings(world, signedOut.access_token))).toBe('401 invalid_token')
  })

  test('is erased while they sign in: whatever ran at that moment, nothing of it stays', async () => {
    const world = await start()
    const { agent, company } = world
    for (let round = 0; round < 12; round++) {
      const before = await world.signIn(agent, (await world.start()).session_id)
      const [one, other] = [await world.start(), await world.start()]
      const code = await getCode(world)
      const form = await openForm(world)
      const again = (session_id: string | null) =>
        agent.token({ grant_type: 'refresh_token', refresh_token: before.refresh_token ?? '', session_id })
      const work = [
        () => exchange(agent, code, one.session_id),
        () => again(before.session_id),
        () => again(null),
        () => again(other.session_id),
        () => decideOn(world, form),
      ]
      const started: Promise<Response>[] = []
      let ended: Promise<unknown> | undefined
      const isErased = round % 2 === 0
      for (let at = 0; at <= work.length; at++) {
        if (at === round % (work.length + 1))
          ended = isErased ? company.accounts.erasePerson('acc-maya') : company.accounts.revokeAll('acc-maya')
        const next = work[(at + round) % work.length]
        if (at < work.length && next) started.push(next())
        if (round > 5) await new Promise((resolve) => setImmediate(resolve))
      }
      const answers = await Promise.all(started)
      await ended
      expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([])
      for (const answer of answers) {
        if (answer.status === 303) {
          const late = new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
          expect((await exchange(agent, late, (await world.start()).session_id)).status).toBe(400)
        }
        if (answer.status !== 200) continue
        const given = (await answer.json()) as Tokens
        expect((await bookings(world, given.access_token)).status).toBeGreaterThanOrEqual(401)
        if (given.refresh_token !== undefined)
          expect(await outcome(await refresh(world, given.refresh_token))).toBe('400 invalid_grant')
      }
      const left = await company.accounts.exportPerson('acc-maya')
      if (isErased)
        expect({ ...left, exportedAt: 0 }).toMatchObject({ sessions: [], signIns: [], codes: [], answeredPages: [] })
      expect(await company.accounts.connectedAgents('acc-maya')).toEqual([])
      // Whatever waited for the mark of open pages is over with it.
      world.clock.now += 31 * 60_000
    }
  })
})

it('an erased person is not in the files either, read byte by byte after a VACUUM', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-erased-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const bytes = () =>
    readdirSync(folder)
      .map((file) => readFileSync(join(folder, file), 'latin1'))
      .join('')
  const vacuum = () => {
    const database = new DatabaseSync(join(folder, 'poppy.db'))
    database.exec('vacuum; pragma wal_checkpoint(truncate)')
    database.close()
  }
  const world = await makeWorld({}, sqlite(join(folder, 'poppy.db')))
  const { agent, company, site } = world
  for (let round = 0; round < 20; round++) {
    site.account = bob
    await world.signIn(agent, (await world.start()).session_id)
    site.account = maya
    await world.signIn(agent, (await world.start()).session_id)
    await company.accounts.revokeAll('acc-maya')
    world.clock.now += 1
  }
  expect(bytes()).toContain('acc-maya')
  await company.accounts.erasePerson('acc-maya')
  // Nothing is left in the log beside the file, and what was split off earlier goes with SQLite's own tidying.
  expect(statSync(join(folder, 'poppy.db-wal')).size).toBe(0)
  vacuum()
  expect(bytes()).not.toContain('acc-maya')
  expect(bytes()).toContain('acc-bob')
  await company.accounts.erasePerson({ clientId: agent.clientId, userId: agent.userId })
  vacuum()
  expect(bytes()).not.toContain(agent.userId)
  expect(await company.accounts.connectedAgents('acc-bob')).toEqual([])
})

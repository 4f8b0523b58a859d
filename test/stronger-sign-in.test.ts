import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { insertGrant } from '../packages/company/src/accounts/store.ts'
import { signInSession } from '../packages/company/src/sessions/store.ts'
import type { Database } from '../packages/company/src/store/database.ts'
import { rightsOf, tokensOf } from './setup/rights.ts'
import { grantRow } from './setup/rows.ts'
import { stores } from './setup/stores.ts'
import { makeWorld, outcome, type Tokens, type World } from './setup/world.ts'

// Section 4.4: the User signs in again for more access, and the new Account Token replaces the old one. Settled: a Session
// points at the sign-in that it was signed in by last, and revoking the replaced token leaves it signed in.

const read = { scope: 'poppy:read' }
const config = {
  signIn: { direct: ['poppy:read', 'poppy:write', 'loyalty'], device: ['poppy:read', 'poppy:write'] },
} as const
const client = 'https://agent.example/agent.json'

const refresh = (world: World, token: string | undefined, more: Record<string, string> = {}) =>
  tokensOf(world.agent.token({ grant_type: 'refresh_token', refresh_token: token ?? '', ...more }))
const mayWrite = async (world: World, { access_token }: Tokens) =>
  outcome(await world.agent.call('/poppy/tools/add_note', access_token, { body: {} }))

async function signInByDevice(world: World, sessionId: string, scope: string): Promise<Tokens> {
  const { agent } = world
  const begun = await agent.post(`${world.origin}/poppy/device-authorization`, { scope }, { proof: null })
  const codes = (await begun.json()) as Record<string, string>
  const page = await world.send(new Request(codes.verification_uri_complete ?? ''))
  const request = /name="request" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
  const body = new URLSearchParams([
    ['request', request],
    ['decision', 'approve'],
    ...scope.split(' ').map((one) => ['scope', one] as [string, string]),
  ])
  await world.send(
    new Request(`${world.origin}/poppy/device`, { method: 'POST', body, headers: { origin: world.origin } }),
  )
  const device_code = codes.device_code ?? ''
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  return tokensOf(agent.token({ grant_type, device_code, session_id: sessionId }))
}

describe.each(stores)('a stronger sign-in, on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  /** A Session signed in to read, another one by the same Account Token, and then the first with more. */
  async function stepUp() {
    const world = await makeWorld(config, (await fresh()).store())
    const { session_id } = await world.start()
    const weak = await world.signIn(world.agent, session_id, read)
    const other = await refresh(world, weak.refresh_token)
    world.clock.now += 60_000
    const strong = await world.signIn(world.agent, session_id)
    return { world, session_id, weak, other, strong }
  }

  test('gives its Session more, and leaves the tokens and Sessions of the weaker one as they are [4.4.token-as-issued]', async () => {
    const { world, weak, other, strong } = await stepUp()
    expect(strong.session_id).toBe(weak.session_id)
    expect(await mayWrite(world, strong)).toBe('200')
    // 4.4: what a token was issued with doesn't grow.
    expect(await mayWrite(world, weak)).toBe('403 insufficient_scope')
    expect(await rightsOf(world, weak.access_token)).toBe('in')
    expect(await mayWrite(world, other)).toBe('403 insufficient_scope')
    expect(await rightsOf(world, other.access_token)).toBe('in')
    // Until it is revoked, the replaced Account Token goes on opening Sessions with what it has.
    const third = await refresh(world, weak.refresh_token)
    expect([third.scope, await mayWrite(world, third)]).toEqual(['poppy:read', '403 insufficient_scope'])
  })

  test('stays when the replaced Account Token is revoked; the others go on signed out, and come back by the new one [4.9.signs-out-sessions]', async () => {
    const { world, weak, other, strong } = await stepUp()
    expect(await outcome(await world.agent.revoke(weak.refresh_token ?? ''))).toBe('200')
    expect(await mayWrite(world, strong)).toBe('200')
    expect(await rightsOf(world, weak.access_token)).toBe('in')
    expect(await rightsOf(world, other.access_token)).toBe('out')
    const back = await refresh(world, strong.refresh_token, { session_id: other.session_id })
    expect([back.session_id, await mayWrite(world, back)]).toEqual([other.session_id, '200'])
    // A token from before the sign-out stays signed out.
    expect(await rightsOf(world, other.access_token)).toBe('out')
  })

  test('moves another Session by its Account Token, which then doesn’t hang on the old one either', async () => {
    const { world, weak, other, strong } = await stepUp()
    const moved = await refresh(world, strong.refresh_token, { session_id: other.session_id })
    expect(await mayWrite(world, moved)).toBe('200')
    await world.agent.revoke(weak.refresh_token ?? '')
    expect(await mayWrite(world, moved)).toBe('200')
    expect(await rightsOf(world, other.access_token)).toBe('in')
  })

  test('isn’t undone by a task that still refreshes with the weaker token in the same Session [4.9.signs-out-sessions]', async () => {
    const { world, session_id, weak, strong } = await stepUp()
    const late = await refresh(world, weak.refresh_token, { session_id })
    expect(late).toMatchObject({ session_id, scope: 'poppy:read', signed_in: true })
    expect(await mayWrite(world, late)).toBe('403 insufficient_scope')
    expect(await mayWrite(world, strong)).toBe('200')
    await world.agent.revoke(weak.refresh_token ?? '')
    expect(await mayWrite(world, strong)).toBe('200')
    expect(await rightsOf(world, late.access_token)).toBe('in')
    // It is signed in by the stronger one, and ends with it.
    await world.agent.revoke(strong.refresh_token ?? '')
    for (const { access_token } of [strong, late]) expect(await rightsOf(world, access_token)).toBe('out')
  })

  test('that has ended gives the Session back to whoever refreshes with the other one', async () => {
    const { world, session_id, weak, strong } = await stepUp()
    await world.agent.revoke(strong.refresh_token ?? '')
    expect(await rightsOf(world, weak.access_token)).toBe('out')
    const again = await refresh(world, weak.refresh_token, { session_id })
    expect(await rightsOf(world, again.access_token)).toBe('in')
    expect(await rightsOf(world, strong.access_token)).toBe('out')
  })

  test('by another type replaces a weaker one as well: a code on a device, then the browser', async () => {
    const world = await makeWorld(config, (await fresh()).store())
    const { session_id } = await world.start()
    const weak = await signInByDevice(world, session_id, 'poppy:read')
    expect(await rightsOf(world, weak.access_token)).toBe('in')
    world.clock.now += 60_000
    const strong = await world.signIn(world.agent, session_id, { scope: 'poppy:read poppy:write loyalty' })
    expect(await mayWrite(world, strong)).toBe('200')
    await world.agent.revoke(weak.refresh_token ?? '')
    expect(await mayWrite(world, strong)).toBe('200')
    expect(await world.company.accounts.connectedAgents('acc-maya')).toMatchObject([{ signIn: 'direct' }])
  })

  test('doesn’t take a right that only the earlier one has from whoever uses that one again', async () => {
    const world = await makeWorld(config, (await fresh()).store())
    const { session_id } = await world.start()
    const wide = await world.signIn(world.agent, session_id)
    world.clock.now += 60_000
    const narrow = await world.signIn(world.agent, session_id, { scope: 'loyalty' })
    // As its Session stands now.
    expect(await rightsOf(world, wide.access_token)).toBe('narrow')
    const again = await refresh(world, wide.refresh_token, { session_id })
    expect(await mayWrite(world, again)).toBe('200')
    await world.agent.revoke(narrow.refresh_token ?? '')
    expect(await mayWrite(world, again)).toBe('200')
  })

  test('is one agent to the person, with the rights of both, as long as the old token isn’t revoked', async () => {
    const { world, weak } = await stepUp()
    const agents = () => world.company.accounts.connectedAgents('acc-maya')
    const shown = await agents()
    expect(shown).toHaveLength(1)
    expect(shown[0]).toMatchObject({
      clientId: client,
      signIn: 'direct',
      connectedAt: world.clock.now,
      rights: [{ scope: 'poppy:read' }, { scope: 'poppy:write' }],
    })
    const text = await (await world.send(new Request(`${world.origin}/poppy/agents`))).text()
    expect([text.match(/<section/g)?.length, text.match(/See your bookings/g)?.length]).toEqual([1, 2])
    await world.agent.revoke(weak.refresh_token ?? '')
    expect(await agents()).toEqual([{ ...shown[0], lastUsedAt: expect.any(Number) }])
  })

  test('ends with one click, together with all that it replaced', async () => {
    const { world, weak, other, strong } = await stepUp()
    expect(await world.company.accounts.takeAway('acc-maya', client, 'poppy:read')).toBe(true)
    expect(await rightsOf(world, strong.access_token)).toBe('narrow')
    expect(await rightsOf(world, other.access_token)).toBe('out')
    await world.company.accounts.disconnect('acc-maya', client)
    expect(await world.company.accounts.connectedAgents('acc-maya')).toEqual([])
    for (const { refresh_token = '' } of [weak, strong])
      expect(await outcome(await world.agent.token({ grant_type: 'refresh_token', refresh_token }))).toBe(
        '400 invalid_grant',
      )
  })

  test('of the other account is refused in the Session, whatever its rights [4.4.one-account, 4.2.account-mismatch]', async () => {
    const { world, session_id } = await stepUp()
    world.site.account = { id: 'acc-work', name: 'maya@work.example' }
    await expect(world.signIn(world.agent, session_id)).rejects.toThrow('account_mismatch')
    const { session_id: elsewhere } = await world.start()
    const work = await world.signIn(world.agent, elsewhere)
    const { refresh_token = '' } = work
    expect(await outcome(await world.agent.token({ grant_type: 'refresh_token', refresh_token, session_id }))).toBe(
      '400 account_mismatch',
    )
    expect(await mayWrite(world, work)).toBe('200')
  })

  test('ten tasks refresh with the old token while it is revoked: the Session stays signed in', async () => {
    const { world, session_id, weak, strong } = await stepUp()
    const tasks = Array.from({ length: 10 }, () =>
      world.agent.token({ grant_type: 'refresh_token', refresh_token: weak.refresh_token ?? '', session_id }),
    )
    const [revoked, ...answers] = await Promise.all([world.agent.revoke(weak.refresh_token ?? ''), ...tasks])
    expect(revoked.status).toBe(200)
    for (const answer of answers) expect(['200', '400 invalid_grant']).toContain(await outcome(answer))
    expect(await mayWrite(world, strong)).toBe('200')
    const after = await refresh(world, strong.refresh_token, { session_id })
    expect(await mayWrite(world, after)).toBe('200')
  })
})

const postgresOnly = stores.filter(({ name }) => name === 'postgres')
describe.each(postgresOnly)('at two instances of one moment, on $name', ({ missing, fresh }) => {
  it.skipIf(missing !== null)(
    'a refresh with the old token waits for the stronger sign-in, and doesn’t undo it',
    async () => {
      const store = await fresh()
      const world = await makeWorld(config, store.store())
      const { session_id } = await world.start()
      const weak = await world.signIn(world.agent, session_id, read)
      world.clock.now += 60_000
      const { now } = world.clock
      const [db, watcher] = [await store.open(), await store.open()]
      const scope = { db, company: world.origin }
      let late: Promise<Tokens> | undefined
      await db.transaction(async () => {
        const row = { id: 'grt_strong', client_id: client, user_id: world.agent.userId, account: 'acc-maya' }
        await insertGrant(scope, grantRow({ ...row, created_at: now, last_used_at: now, expires_at: null }))
        expect(await signInSession(scope, { sessionId: session_id, account: 'acc-maya', grantId: row.id, now })).toBe(
          'signed_in',
        )
        // It has read the Session as it was, and now waits for its row.
        late = refresh(world, weak.refresh_token, { session_id })
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db.query)
        await untilBlocked(watcher, rows[0]?.pid)
      })
      expect(await late).toMatchObject({ signed_in: true, scope: 'poppy:read' })
      await world.agent.revoke(weak.refresh_token ?? '')
      expect(await rightsOf(world, (await late)?.access_token ?? '')).toBe('in')
    },
  )
})

/** Until somebody waits for what the server's process of that number holds. */
async function untilBlocked(watcher: Database, pid: number | undefined): Promise<void> {
  for (let times = 0; times < 5000; times++) {
    const { rows } = await sql`select 1 from pg_stat_activity where ${pid} = any(pg_blocking_pids(pid))`.execute(
      watcher.query,
    )
    if (rows.length > 0) return
  }
  throw new Error('nobody waits')
}

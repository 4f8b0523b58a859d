import { describe, expect, it } from 'vitest'
import { apiPathsOf } from '../packages/company/src/inbox/api-paths.ts'
import { inboxPaths } from '../packages/company/src/inbox/paths.ts'
import {
  agentsCookie,
  ask,
  type Caller,
  canaries,
  companyAt,
  everythingIn,
  type Spot,
  spots,
} from './setup/authority.ts'
import { asked } from './setup/bookings.ts'
import { converse, said, standingOf } from './setup/converse.ts'
import { greta, omar, patiently, rita } from './setup/front-desk.ts'
import { atDesk } from './setup/inbox.ts'
import { stores } from './setup/stores.ts'

// Everything that the staff inbox has, at a real port, asked by everybody who may not: refused, with nothing changed and nothing
// told. What there is comes from the routes themselves.

const name = ({ method, pattern }: Spot) => `${method} ${pattern}`
const isAsset = ({ pattern }: Spot) => pattern.includes('/assets/')

/** A conversation that Rita has, with its account open: said in it, noted in it, and on the account's card, a canary each. */
async function desk(store: Parameters<typeof companyAt>[0], config: Parameters<typeof companyAt>[1] = {}) {
  const world = await companyAt(store, config)
  const { company, agent } = world
  const { session_id } = await world.start()
  const { access_token } = await world.signIn(agent, session_id, { scope: 'poppy:read poppy:write' })
  const { operation_id: operation } = await asked(agent, access_token).propose('book_room', { nights: 2 })
  const ritas = atDesk(world, 'rita')
  const omars = atDesk(world, 'omar')
  for (const one of [ritas, omars]) await one.page()
  const talk = converse(agent, access_token)
  const { conversation_id: conversation } = await standingOf(await talk.start(said(canaries.said)))
  const staff = company.conversations
  await expect.poll(async () => (await staff.read(conversation)).conversation.status, patiently).toBe('queued')
  await staff.present(greta)
  await staff.take(conversation, rita)
  await staff.note(conversation, rita, canaries.noted)
  await staff.openAccount(conversation, rita)
  const { view } = await ritas.look(`/conversations/${conversation}`)
  expect(JSON.stringify(view)).toContain(canaries.card)
  const token = async (of: typeof ritas) => (await of.look()).view.token
  // It goes once a minute, by the machine's clock: what is over would be gone in the middle of an attack that takes longer.
  await company.work()
  return {
    world,
    staff,
    talk,
    session_id,
    access_token,
    about: { conversation, operation },
    rita: { headers: { cookie: 'desk=rita' }, token: await token(ritas) } satisfies Caller,
    omar: { headers: { cookie: 'desk=omar' }, token: await token(omars) } satisfies Caller,
  }
}

it('the table has each address of the inbox', () => {
  const { exact, below } = inboxPaths('/poppy/inbox')
  const known = new Set([...exact, ...below, ...apiPathsOf('/poppy/inbox')])
  expect(new Set(spots.map(({ pattern }) => pattern))).toEqual(known)
  expect(spots.length).toBeGreaterThan(60)
})

describe.each(stores)('the staff inbox on $name', { timeout: 120_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  /** Sends everything as somebody, and gives what each was told; nothing of the conversation, and nothing happened. */
  async function attack(
    { world, about }: Pick<Awaited<ReturnType<typeof desk>>, 'world' | 'about'>,
    db: Parameters<typeof everythingIn>[0],
    caller: Caller,
    which: (spot: Spot) => boolean,
    at = world.origin,
  ): Promise<Record<string, number>> {
    const before = await everythingIn(db)
    const told: Record<string, number> = {}
    for (const spot of spots.filter(which)) {
      const { status, text, headers } = await ask(at, spot, about, caller)
      told[name(spot)] = status
      for (const canary of Object.values(canaries))
        expect([name(spot), text.includes(canary)]).toEqual([name(spot), false])
      if (!isAsset(spot)) expect([name(spot), headers.get('cache-control')]).toEqual([name(spot), 'no-store'])
      expect([name(spot), headers.get('access-control-allow-origin')]).toEqual([name(spot), null])
    }
    expect(await everythingIn(db)).toEqual(before)
    return told
  }

  const each = (which: (spot: Spot) => boolean, status: (spot: Spot) => number) =>
    Object.fromEntries(spots.filter(which).map((spot) => [name(spot), status(spot)]))
  const all = (spot: Spot) => !isAsset(spot)

  test('tells nobody anything and does nothing for anybody who isn’t staff', async () => {
    const store = await fresh()
    const made = await desk(store.store())
    const db = await store.open()
    const { world, rita: ritas, access_token } = made
    const { token } = ritas
    const callers: Readonly<Record<string, Caller>> = {
      'a stranger': { headers: {}, token },
      'one of another name': { headers: { cookie: 'desk=mallory' }, token },
      'the customer, signed in to the site': { headers: { cookie: 'site=acc-maya' }, token },
      'the agent with its token': {
        headers: { authorization: `DPoP ${access_token}` },
        token,
        proof: (method, address) => world.agent.proof(method, address, access_token),
      },
      'the agent with a Bearer token': { headers: { authorization: `Bearer ${access_token}` }, token },
    }
    for (const [who, caller] of Object.entries(callers)) {
      // To a person a way to sign in, at the address of a form too; to a script and at the API, that they have to.
      const isForm = ({ isApi, pattern }: Spot) => !isApi && !pattern.endsWith('/live')
      expect([who, await attack(made, db, caller, all)]).toEqual([who, each(all, (spot) => (isForm(spot) ? 303 : 401))])
    }
    const script = { headers: { accept: 'application/json' }, token }
    expect(await attack(made, db, script, all)).toEqual(each(all, () => 401))
  })

  test('is closed to a browser that an agent joined, with the cookie of a member of staff beside its own', async () => {
    const store = await fresh()
    const made = await desk(store.store())
    const db = await store.open()
    const joined = await agentsCookie(made.world, made.session_id)
    const caller = { headers: { cookie: `desk=rita; ${joined}` }, token: made.rita.token }
    expect(await attack(made, db, caller, all)).toEqual(each(all, () => 403))
  })

  test('takes nothing that the page of another site sends with the cookie of a member of staff', async () => {
    const store = await fresh()
    const made = await desk(store.store())
    const db = await store.open()
    for (const from of [
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    ]) {
      const caller = { ...made.rita, headers: { ...made.rita.headers, ...from } }
      const audit = await made.staff.audit()
      expect([from, await attack(made, db, caller, all)]).toEqual([from, each(all, () => 403)])
      // Nobody looked, so nobody is said to have looked.
      expect(await made.staff.audit()).toEqual(audit)
    }
  })

  test('shows nothing, and says of nobody that they looked, where a browser asks for what nobody sees: an image of the company’s own pages, a page ahead', async () => {
    const store = await fresh()
    const made = await desk(store.store())
    const db = await store.open()
    const reading = (spot: Spot) => all(spot) && spot.method === 'GET'
    for (const from of [
      { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
      { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
      {
        'sec-fetch-site': 'none',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
        'sec-purpose': 'prefetch;prerender',
      },
    ]) {
      const caller = { ...made.omar, headers: { ...made.omar.headers, ...from } }
      const [audit, here] = [await made.staff.audit(), await made.staff.colleagues()]
      expect([from, await attack(made, db, caller, reading)]).toEqual([from, each(reading, () => 403)])
      expect([await made.staff.audit(), await made.staff.colleagues()]).toEqual([audit, here])
    }
  })

  test('knows nothing of another Company on the same database, with the same secret or another', async () => {
    const store = await fresh()
    const made = await desk(store.store())
    const db = await store.open()
    for (const config of [{}, { secret: 'another-secret-of-more-than-thirty-two-characters-4k2' }]) {
      const other = await companyAt(store.store(), config)
      const theirs = atDesk(other, 'rita')
      await theirs.page()
      for (const token of [made.rita.token, (await theirs.look()).view.token]) {
        const isOwn = token !== made.rita.token
        const caller = { headers: made.rita.headers, token }
        const at = (spot: Spot) => all(spot) && spot.hasId
        const told = await attack(made, db, caller, at, other.origin)
        for (const [spot, status] of Object.entries(told)) {
          // The address of a form leads back to what it was about, which isn't there.
          const isBack = /^GET .*\*\//.test(spot) && !spot.includes('/api/')
          const right = isBack ? [303] : spot.startsWith('GET') || spot.includes('/api/') || isOwn ? [404] : [403]
          // Nobody is at the desk of the other one to give it to.
          expect([spot, [...right, ...(spot.endsWith('/give') && right[0] === 404 ? [409] : [])]]).toEqual([
            spot,
            expect.arrayContaining([status]),
          ])
        }
        const without = (spot: Spot) => all(spot) && !spot.hasId
        for (const [spot, status] of Object.entries(await attack(made, db, caller, without, other.origin)))
          expect([spot, status]).toEqual([spot, expect.toSatisfy((one: number) => one < 500)])
      }
    }
  })

  const acts = (spot: Spot) => all(spot) && spot.method === 'POST' && spot.pattern.includes('/conversations/*/')

  test('lets a colleague do nothing but write notes where another has the conversation', async () => {
    const store = await fresh()
    const made = await desk(store.store())
    const db = await store.open()
    const which = (spot: Spot) => acts(spot) && spot.word !== 'note' && spot.isApi
    expect(await attack(made, db, made.omar, which)).toEqual(each(which, () => 409))
    // A page that refuses shows the conversation, as its address does; not the account, which is open for one alone.
    const pages = (spot: Spot) => acts(spot) && spot.word !== 'note' && !spot.isApi
    const before = await everythingIn(db)
    for (const spot of spots.filter(pages)) {
      const { status, text } = await ask(made.world.origin, spot, made.about, made.omar)
      expect([name(spot), status, text.includes(canaries.card)]).toEqual([name(spot), 409, false])
    }
    expect(await everythingIn(db)).toEqual(before)
    const account = { method: 'GET', pattern: '/poppy/inbox/api/conversations/*/account' } as const
    const [spot] = spots.filter(({ method, pattern }) => method === account.method && pattern === account.pattern)
    const seen = await ask(made.world.origin, spot as Spot, made.about, made.omar)
    expect(JSON.parse(seen.text)).toEqual({ state: 'closed', account: null, card: null })
  })

  test('stands in the record for whoever is shown a conversation by a form that was refused', async () => {
    const store = await fresh()
    const made = await desk(store.store())
    const read = async () =>
      (await made.staff.audit({ conversation: made.about.conversation, staff: omar.id })).entries.map(({ act }) => act)
    const [spot] = spots.filter((one) => acts(one) && !one.isApi && one.word === 'take')
    const shown = await ask(made.world.origin, spot as Spot, made.about, { ...made.omar, token: 'none' })
    expect([shown.status, shown.text.includes(canaries.said)]).toEqual([403, true])
    expect(await read()).toEqual(['read'])
  })

  const meanwhile: Readonly<Record<string, (made: Awaited<ReturnType<typeof desk>>) => Promise<unknown>>> = {
    'the customer is signed out': ({ world }) => world.company.accounts.revokeAll('acc-maya'),
    'the agent is blocked': ({ world }) => world.company.agents.block(world.agent.clientId),
    'it is closed': ({ staff, about }) => staff.close(about.conversation, rita),
    'it was given away': ({ staff, about }) => staff.give(about.conversation, rita, omar),
  }
  test.each(Object.keys(meanwhile))('shows no account and runs nothing once %s', async (what) => {
    const store = await fresh()
    const made = await desk(store.store())
    const db = await store.open()
    await meanwhile[what]?.(made)
    const isOver = what.startsWith('it ')
    const which = (spot: Spot) =>
      acts(spot) && (isOver ? spot.word !== 'note' : ['call-tool', 'revise', 'open-account'].includes(spot.word))
    const before = await everythingIn(db)
    const audit = (await made.staff.audit()).entries.filter(({ act }) => act !== 'read')
    for (const spot of spots.filter(which)) {
      const { status, text } = await ask(made.world.origin, spot, made.about, made.rita)
      // A form of a tool that isn't offered at all is a form of none.
      const right = isOver ? [409] : [401, 403, ...(what === 'the agent is blocked' ? [404] : [])]
      // Who closes what is closed has what they want, and the account is closed with it.
      const isDone = what === 'it is closed' && ['close', 'close-account', 'release'].includes(spot.word)
      expect([name(spot), [...right, ...(isDone ? [200, 303] : [])]]).toEqual([
        name(spot),
        expect.arrayContaining([status]),
      ])
      expect([name(spot), text.includes(canaries.card)]).toEqual([name(spot), false])
    }
    expect((await made.staff.audit()).entries.filter(({ act }) => act !== 'read')).toEqual(audit)
    expect(await everythingIn(db)).toEqual(before)
    const reading = (spot: Spot) => all(spot) && spot.method === 'GET'
    for (const spot of spots.filter(reading)) {
      const { text } = await ask(made.world.origin, spot, made.about, made.rita)
      expect([name(spot), text.includes(canaries.card)]).toEqual([name(spot), false])
    }
  })

  test('has no id of a grant, a Session or a User in what it tells', async () => {
    const store = await fresh()
    const made = await desk(store.store())
    const db = await store.open()
    const grants = await db.query.selectFrom('poppy_grants').select('id').execute()
    const secrets = [...grants.map(({ id }) => id), made.session_id, made.world.agent.userId, made.access_token]
    for (const spot of spots.filter((one) => all(one) && one.method === 'GET')) {
      for (const accept of ['text/html', 'application/json']) {
        const caller = { ...made.rita, headers: { ...made.rita.headers, accept } }
        const { text } = await ask(made.world.origin, spot, made.about, caller)
        for (const one of secrets) expect([name(spot), text.includes(one)]).toEqual([name(spot), false])
      }
    }
    expect(made.world.log.join('\n')).not.toMatch(/canary-/)
    for (const one of [made.access_token, made.rita.token]) expect(made.world.log.join('\n')).not.toContain(one)
  })
})

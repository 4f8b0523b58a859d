import { type CompanyConfig, type SignedInPrincipal, tool } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { converse, said, standingOf } from './setup/converse.ts'
import { type FrontDesk, makeFrontDesk } from './setup/front-desk.ts'
import { atDesk, staffLogin } from './setup/inbox.ts'
import { stores } from './setup/stores.ts'
import { makeWorld, type Tokens } from './setup/world.ts'

// The customer's account on staff's pages: opened on purpose, under the rights of that moment, and shown by the company's own
// function.

const card = ({ account, scopes }: SignedInPrincipal) => ({
  title: `Customer ${account}`,
  facts: { Scopes: scopes.join(' '), Gold: true },
  tables: [{ title: 'Bookings', columns: ['Room'], rows: [[12]] }],
  links: [{ text: 'In the hotel’s books', href: `/staff/guests/${account}` }],
})

async function opened(desk: FrontDesk) {
  const [here, there] = desk.worlds as [(typeof desk.worlds)[0], (typeof desk.worlds)[0]]
  const [rita, omar] = [atDesk(there, 'rita'), atDesk(here, 'omar')]
  await rita.page()
  await omar.page()
  const { signedIn, talk } = await desk.signIn()
  const { conversation_id: id } = await standingOf(await talk.start(said('What did I book?')))
  return { rita, omar, talk, id, signedIn, here }
}

describe.each(stores)('the customer’s account on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  test('is shown to whoever has the conversation and opened it, and to nobody else; its opening is in the record [7.9.person-scopes]', async () => {
    const desk = await makeFrontDesk(await fresh(), { ...staffLogin, customer: card })
    const { rita, omar, id } = await opened(desk)
    expect((await rita.on(id, 'open-account')).status).toBe(409)
    await rita.on(id, 'take')
    expect((await rita.open(id)).account).toEqual({ state: 'closed' })
    const open = await rita.on(id, 'open-account')
    expect(open.view.conversation?.account).toEqual({
      state: 'open',
      title: 'Customer acc-maya',
      facts: [
        { name: 'Scopes', value: 'poppy:read poppy:write' },
        { name: 'Gold', value: 'Yes' },
      ],
      tables: [{ title: 'Bookings', columns: ['Room'], rows: [['12']] }],
      links: [{ text: 'In the hotel’s books', href: 'https://miramar.example/staff/guests/acc-maya' }],
    })
    expect(open.view.conversation?.audit[0]).toMatchObject({ act: 'account_opened', by: 'Rita Alvarez', detail: null })
    expect((await rita.page(`/conversations/${id}`)).text).toContain('Customer acc-maya')
    const seen = await omar.look(`/conversations/${id}`)
    expect(seen.view.conversation?.account).toEqual({ state: 'closed' })
    expect(JSON.stringify(seen.view)).not.toContain('acc-maya')
    for (const list of ['waiting', 'mine', 'open'])
      expect(JSON.stringify((await rita.look(`?list=${list}`)).view)).not.toContain('acc-maya')
    expect((await rita.on(id, 'close-account')).view.conversation?.account).toEqual({ state: 'closed' })
    await rita.on(id, 'open-account')
    await rita.on(id, 'give', { to: 'omar' })
    for (const who of [rita, omar]) expect((await who.open(id)).account).toEqual({ state: 'closed' })
  })

  test('goes dark when the customer signs out, and has to be opened again after the next sign-in [4.9.signs-out-sessions, 7.11.token-scopes]', async () => {
    const desk = await makeFrontDesk(await fresh(), { ...staffLogin, customer: card })
    const { rita, id, here, signedIn } = await opened(desk)
    await rita.on(id, 'take')
    await rita.on(id, 'open-account')
    await desk.client.revoke(signedIn.refresh_token ?? '')
    const dark = await rita.look(`/conversations/${id}`)
    expect(dark.view.conversation).toMatchObject({
      account: { state: 'dark' },
      isSignedIn: false,
      rights: { isSignedIn: false, granted: [] },
      allowed: { openAccount: 'The customer is not signed in.' },
    })
    expect(JSON.stringify(dark.view)).not.toContain('acc-maya')
    expect((await rita.look('?list=mine')).view.list.conversations[0]?.isSignedIn).toBe(false)
    expect((await rita.on(id, 'open-account')).status).toBe(403)
    const again = await here.signIn(desk.client, signedIn.session_id)
    await converse(desk.client, again.access_token).send(id, said('Here I am again.'))
    expect((await rita.open(id)).account).toEqual({ state: 'closed' })
    expect((await rita.on(id, 'open-account')).view.conversation?.account).toMatchObject({ title: 'Customer acc-maya' })
  })

  test('goes dark when a right is taken away, live, after a reload and in the API, and may be opened anew under what is left [7.9.person-scopes, 7.11.token-scopes]', async () => {
    const desk = await makeFrontDesk(await fresh(), { ...staffLogin, customer: card })
    const { rita, id, here } = await opened(desk)
    const state = async () => ({
      live: (await rita.open(id)).account,
      reloaded: (await rita.page(`/conversations/${id}`)).view?.conversation?.account,
      api: await (await rita.get(`/api/conversations/${id}/account`, { accept: 'application/json' })).json(),
    })
    await rita.on(id, 'take')
    await rita.on(id, 'open-account')
    expect(await state()).toMatchObject({
      live: { state: 'open' },
      reloaded: { state: 'open' },
      api: { state: 'open' },
    })
    expect(await here.company.accounts.takeAway('acc-maya', desk.client.clientId, 'poppy:read')).toBe(true)
    const nothing = { state: 'dark', account: null, card: null }
    expect(await state()).toEqual({ live: { state: 'dark' }, reloaded: { state: 'dark' }, api: nothing })
    const dark = await rita.open(id)
    expect(JSON.stringify(dark)).not.toContain('acc-maya')
    // They are signed in still: it may be opened, under the rights that are left, and that is in the record too.
    expect(dark).toMatchObject({ rights: { isSignedIn: true }, allowed: { openAccount: null } })
    const again = await rita.on(id, 'open-account')
    expect(again.view.conversation?.account).toMatchObject({
      state: 'open',
      facts: [{ value: 'poppy:write' }, { value: 'Yes' }],
    })
    expect((await state()).api).toMatchObject({ state: 'open' })
    const { entries } = await desk.staff.audit({ conversation: id })
    expect(entries.filter(({ act }) => act === 'account_opened').map(({ detail }) => detail?.scopes)).toEqual([
      'poppy:write',
      'poppy:read poppy:write',
    ])
  })

  test('goes dark as well when the next message comes with other rights, fewer or more [7.11.token-scopes]', async () => {
    const desk = await makeFrontDesk(await fresh(), { ...staffLogin, customer: card })
    const { rita, talk, id, signedIn } = await opened(desk)
    await rita.on(id, 'take')
    await rita.on(id, 'open-account')
    const narrow = await desk.client.token({
      grant_type: 'refresh_token',
      refresh_token: signedIn.refresh_token ?? '',
      session_id: signedIn.session_id,
      scope: 'poppy:write',
    })
    const { access_token } = (await narrow.json()) as Tokens
    await converse(desk.client, access_token).send(id, said('With less.'))
    expect((await rita.open(id)).account).toEqual({ state: 'dark' })
    expect((await rita.on(id, 'open-account')).view.conversation?.account).toMatchObject({ state: 'open' })
    await talk.send(id, said('With more.'))
    expect((await rita.open(id)).account).toEqual({ state: 'dark' })
    expect((await rita.on(id, 'open-account')).view.conversation?.account).toMatchObject({ state: 'open' })
  })

  test('is dark as well where the customer signs out, or a right is taken away, while the company looks it up: on the page and in the API [4.9.signs-out-sessions]', async () => {
    const meanwhile: { does: (() => Promise<unknown>) | null } = { does: null }
    const slow = async (principal: SignedInPrincipal) => {
      await meanwhile.does?.()
      return card(principal)
    }
    const desk = await makeFrontDesk(await fresh(), { ...staffLogin, customer: slow })
    const { rita, id, here, signedIn } = await opened(desk)
    const api = async () =>
      (await rita.get(`/api/conversations/${id}/account`, { accept: 'application/json' })).json() as Promise<unknown>
    const nothing = { state: 'dark', account: null, card: null }
    const rights = ['poppy:read', 'poppy:write']
    await rita.on(id, 'take')
    for (const look of ['page', 'api']) {
      meanwhile.does = null
      expect((await rita.on(id, 'open-account')).view.conversation?.account).toMatchObject({ state: 'open' })
      meanwhile.does = () => here.company.accounts.takeAway('acc-maya', desk.client.clientId, rights.pop() ?? '')
      if (look === 'page') expect((await rita.open(id)).account).toEqual({ state: 'dark' })
      else {
        meanwhile.does = () => desk.client.revoke(signedIn.refresh_token ?? '')
        expect(await api()).toEqual(nothing)
      }
    }
  })

  test('takes with it what a tool answers after the customer has signed out [4.9.signs-out-sessions]', async () => {
    const meanwhile: { does: (() => Promise<unknown>) | null } = { does: null }
    const secret = tool({
      name: 'slow_bookings',
      description: 'Looks for long.',
      scope: 'poppy:read',
      async run() {
        await meanwhile.does?.()
        return { passport: 'X-482-913' }
      },
    })
    const desk = await makeFrontDesk(await fresh(), { ...staffLogin, customer: card, tools: [secret] })
    const { rita, id, signedIn } = await opened(desk)
    await rita.on(id, 'take')
    const run = async () => (await rita.on(id, 'call-tool', { tool: 'slow_bookings' })).view
    expect(JSON.stringify((await run()).conversation?.outcome)).toContain('X-482-913')
    meanwhile.does = () => desk.client.revoke(signedIn.refresh_token ?? '')
    const late = await run()
    expect(late.conversation?.outcome).toMatchObject({ isOk: false, value: null })
    expect(JSON.stringify(late)).not.toContain('X-482-913')
  })
})

describe('what the company shows of an account', () => {
  const wrong: readonly (readonly [string, CompanyConfig['customer']])[] = [
    [
      'throws',
      () => {
        throw new Error('passport 12345')
      },
    ],
    [
      'throws later',
      async () => {
        throw new TypeError('passport 12345')
      },
    ],
    ['gives a text', (() => 'passport 12345') as never],
    ['gives a link to a script', () => ({ links: [{ text: 'passport 12345', href: 'javascript:alert(1)' }] })],
    ['gives another name', (() => ({ titel: 'passport 12345' })) as never],
  ]

  it.each(wrong)(
    'breaks nothing but its own panel, where it %s: the log says so, and not what was in it',
    async (_, customer) => {
      const world = await makeWorld({
        conversations: {},
        ...staffLogin,
        ...(customer === undefined ? {} : { customer }),
      })
      const rita = atDesk(world, 'rita')
      await rita.page()
      const { session_id } = await world.start()
      const { access_token } = await world.signIn(world.agent, session_id)
      const { conversation_id: id } = await standingOf(await converse(world.agent, access_token).start(said('Hello?')))
      await rita.on(id, 'take')
      const open = await rita.on(id, 'open-account')
      expect([open.status, open.view.conversation?.account]).toEqual([200, { state: 'failed' }])
      const { text } = await rita.page(`/conversations/${id}`)
      expect(text).not.toContain('passport')
      expect(world.log.filter((line) => line.startsWith('error'))).not.toEqual([])
      expect(world.log.filter((line) => line.includes('passport'))).toEqual([])
      expect((await rita.on(id, 'reply', { text: 'Hello.' })).status).toBe(200)
    },
  )

  it('may be nothing at all: then there is no panel', async () => {
    const world = await makeWorld({ conversations: {}, ...staffLogin })
    const rita = atDesk(world, 'rita')
    await rita.page()
    const { access_token } = await world.start()
    const { conversation_id: id } = await standingOf(await converse(world.agent, access_token).start(said('Hello?')))
    expect((await rita.open(id)).account).toEqual({ state: 'none' })
  })
})

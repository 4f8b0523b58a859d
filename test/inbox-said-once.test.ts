import { describe, expect, it } from 'vitest'
import { asked, openBookings, signedIn } from './setup/bookings.ts'
import { converse, said, standingOf } from './setup/converse.ts'
import { makeFrontDesk, patiently } from './setup/front-desk.ts'
import { atDesk, staffLogin } from './setup/inbox.ts'
import { stores } from './setup/stores.ts'
import { makeWorld } from './setup/world.ts'

// What a page has said already isn't sent, or said, again.

const count = (text: string, part: string) => text.split(part).length - 1

describe('the words of the inbox', () => {
  it('come once, with the page, and not with each view that its script asks for', async () => {
    const world = await makeWorld({ conversations: {}, ...staffLogin })
    const greta = atDesk(world, 'greta')
    const page = await greta.page()
    expect(page.words).toMatchObject({ reply: 'Antwort', 'list.mine': 'Meine' })
    expect(page.text).not.toMatch(/<script(?! type="(?:application\/json|module)")/)
    const bytes = JSON.stringify(page.words).length
    expect(bytes).toBeGreaterThan(8000)
    const answer = await greta.get('', { accept: 'application/json' })
    const live = await answer.text()
    expect(live).not.toContain('Nächstes übernehmen')
    expect(live.length).toBeLessThan(bytes / 4)
    expect(JSON.parse(live)).toMatchObject({ language: 'de', counts: { mine: { number: 0 } } })
    expect((await greta.act('/take-next')).view).not.toHaveProperty('words')
  })
})

describe.each(stores)('an operation in a conversation on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  it.skipIf(missing)('is shown where it was proposed, and what came of it by itself, with a link to that', async () => {
    const world = await openBookings({ conversations: {}, ...staffLogin }, (await fresh()).store())
    const { access_token } = await signedIn(world)
    const { start } = converse(world.agent, access_token)
    const id = (await standingOf(await start(said('A room, please.')))).conversation_id
    const rita = atDesk(world, 'rita')
    await rita.on(id, 'take')
    await rita.on(id, 'call-tool', { tool: 'book_room', 'arg.nights': '2' })
    const summary = '2 nights in a sea view room, 260 €.'
    const open = await rita.page(`/conversations/${id}`)
    const history = (text: string) => text.slice(text.indexOf('role="log"'), text.indexOf('class="composer'))
    const [proposal] = (open.view?.conversation?.entries ?? []).filter((one) => 'operation' in one && one.operation)
    expect(history(open.text)).toContain('Waits for confirmation')
    world.clock.now += 1000
    const [operation] = (await world.company.operations.list()).operations
    await asked(world.agent, access_token).confirm(operation?.id ?? '')
    const told = async () =>
      (await rita.open(id)).entries.filter((one) => one.kind === 'message' && one.isOutcome).length
    await expect.poll(told, patiently).toBe(1)

    const done = history((await rita.page(`/conversations/${id}`)).text)
    // As what is read, beside names for those who don’t see it.
    expect(count(done.replace(/ (?:aria-label|title)="[^"]*"/g, ''), summary)).toBe(1)
    expect(count(done, 'b-2-flexible')).toBe(1)
    expect(done).not.toContain('This is done')
    const outcome = done.slice(done.lastIndexOf('<li '))
    expect(outcome).toContain('>Done</span>')
    expect(outcome).toContain(`<a href="#entry-${proposal?.id}"`)
    expect(outcome).toContain('Book a room</a>')
    expect(outcome).toContain('b-2-flexible')
  })
})

describe.each(stores)('coming and going without script on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  it.skipIf(missing)(
    'is told by pages: each is a sign of life for two minutes, whoever only reads one is gone then',
    async () => {
      const desk = await makeFrontDesk(await fresh(), staffLogin)
      const rita = atDesk(desk.worlds[1] as (typeof desk.worlds)[0], 'rita')
      const isHere = async () => (await desk.staff.colleagues()).some(({ id }) => id === 'rita')
      // A stylesheet, or a view that a script asks for, is no sign of life.
      await rita.look()
      expect(await isHere()).toBe(false)
      await rita.page()
      expect(await isHere()).toBe(true)
      desk.clock.now += 119_000
      expect(await isHere()).toBe(true)
      // Another page is another sign, also one that is only read.
      await rita.page('?list=closed')
      desk.clock.now += 119_000
      expect(await isHere()).toBe(true)
      desk.clock.now += 2000
      expect(await isHere()).toBe(false)
      // Whoever says that they go is gone at once, until they open a page again.
      const { token = '', once = '' } = (await rita.page()).view ?? {}
      expect(await isHere()).toBe(true)
      const left = (await rita.post('/leave', { token, once })).headers.get('location') ?? ''
      await rita.page(left.slice('https://miramar.example/poppy/inbox'.length))
      expect([left, await isHere()]).toEqual([expect.stringContaining('done=leave'), false])
      await rita.page('?list=open')
      expect(await isHere()).toBe(true)
    },
  )
})

describe('the way out', () => {
  const menuOf = (text: string) => text.slice(text.indexOf('<details class="menu"'), text.indexOf('</header>'))

  it('stands in the menu where the company named a page for it, in the words of whoever reads', async () => {
    const world = await makeWorld({ conversations: {}, ...staffLogin, staffSignOutPage: '/staff/sign-out' })
    const { text, view } = await atDesk(world, 'rita').page('?list=mine')
    expect(menuOf(text)).toContain('<a class="menu-item" href="https://miramar.example/staff/sign-out">Sign out</a>')
    expect(view?.signOutPage).toBe('https://miramar.example/staff/sign-out')
    expect(menuOf((await atDesk(world, 'greta').page()).text)).toContain('>Abmelden</a>')
  })

  it('may be a function, which is given the inbox’s own path, and is not there without', async () => {
    const of = async (page?: string | ((returnTo: string) => string)) => {
      const world = await makeWorld({
        conversations: {},
        ...staffLogin,
        ...(page === undefined ? {} : { staffSignOutPage: page }),
      })
      const { status, text } = await atDesk(world, 'rita').page()
      return { status, menu: menuOf(text) }
    }
    expect((await of()).menu).not.toContain('Sign out')
    const given = await of((returnTo) => `https://login.example/out?to=${encodeURIComponent(returnTo)}`)
    expect(given.menu).toContain('href="https://login.example/out?to=%2Fpoppy%2Finbox"')
    // What no browser should follow is a fault of the company's own, and none that is drawn.
    const wrong = await of(() => 'javascript:alert(1)')
    expect([wrong.status, wrong.menu]).toEqual([500, ''])
  })
})

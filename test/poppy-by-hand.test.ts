import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPerson } from '../examples/hotel/src/person.ts'
import { startHotel } from '../examples/hotel/src/server.ts'
import { build } from './setup/build.ts'
import { startChild } from './setup/child.ts'
import { freePort } from './setup/free-port.ts'
import { seedHotel } from './setup/seeded-hotel.ts'

// Each command is a process of its own, on a machine that may be busy with other tests.
const timeout = 180_000

function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'poppyseed-by-hand-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A terminal with the `poppy` command, and a home of its own for it. */
async function sitDown() {
  await build()
  const home = join(freshDirectory(), 'home')
  const type = (...args: readonly string[]) =>
    startChild(process.execPath, ['packages/agent/bin/poppy.js', ...args], { POPPY_HOME: home }, 'typed')
  const poppy = async (...args: readonly string[]) => {
    const child = type(...args)
    return { code: await child.ended, out: child.output.stdout, err: child.output.stderr }
  }
  return { type, poppy }
}

describe('what npm start says to type', () => {
  it('lets an agent in by hand: init, tools, sign-in in a browser, call, sign-out', { timeout }, async () => {
    const hotel = await startHotel({ port: 0, directory: seedHotel(freshDirectory()), log: () => {} })
    onTestFinished(hotel.close)
    const { origin } = hotel
    const { type, poppy } = await sitDown()
    expect(await poppy('init', '--local', String(await freePort()))).toMatchObject({ code: 0, err: '' })
    const tools = await poppy('tools', origin)
    expect(tools.code).toBe(0)
    for (const name of ['search_rooms', 'room_details', 'my_bookings', 'add_booking_note', 'loyalty_points']) {
      expect(tools.out).toContain(name)
    }
    const free = await poppy('call', origin, 'search_rooms', '{"from":"2031-03-03","to":"2031-03-05"}')
    expect([free.code, free.out]).toEqual([0, expect.stringContaining('"rooms"')])

    const refused = await poppy('call', origin, 'my_bookings')
    expect([refused.code, refused.out]).toEqual([3, ''])
    expect(refused.err).toContain(`poppy sign-in ${origin}`)

    const signingIn = type('sign-in', origin)
    await signingIn.says('/poppy/authorize?')
    await signingIn.says('\n\n')
    const [address = ''] = /http:\S+\/poppy\/authorize\?\S+/.exec(signingIn.output.stdout) ?? []
    const person = createPerson()
    const login = await person.open(address)
    const consent = await person.submit(login, { email: 'maya@example.com', password: 'sea-view-42' })
    const back = await person.submit(consent, { scope: ['poppy:read', 'loyalty'], decision: 'approve' })
    expect(back.html).toContain('You can close this window.')
    expect(await signingIn.ended).toBe(0)
    expect(signingIn.output.stdout).toContain('Signed in at Hotel Miramar with poppy:read, loyalty.')
    expect(signingIn.output.stdout).toContain('Not given: poppy:write.')

    const bookings = await poppy('call', origin, 'my_bookings', '--json')
    expect([bookings.code, bookings.out]).toEqual([0, expect.stringContaining('"roomName"')])
    expect((await poppy('status')).out).toContain('Hotel Miramar')
    expect((await poppy('sign-out', origin)).out).toContain('Signed out at Hotel Miramar.')
    expect((await poppy('call', origin, 'my_bookings')).code).toBe(3)
  })

  it('has a room proposed, shows its terms, and books it once they are confirmed', { timeout }, async () => {
    const hotel = await startHotel({ port: 0, directory: seedHotel(freshDirectory()), log: () => {} })
    onTestFinished(hotel.close)
    const { origin } = hotel
    const { type, poppy } = await sitDown()
    await poppy('init', '--local', String(await freePort()))
    const signingIn = type('sign-in', origin)
    await signingIn.says('/poppy/authorize?')
    await signingIn.says('\n\n')
    const [address = ''] = /http:\S+\/poppy\/authorize\?\S+/.exec(signingIn.output.stdout) ?? []
    const person = createPerson()
    const consent = await person.submit(await person.open(address), {
      email: 'maya@example.com',
      password: 'sea-view-42',
    })
    expect(consent.html).toContain('Add notes to your bookings and cancel them, book rooms and pay deposits')
    await person.submit(consent, { scope: ['poppy:read', 'poppy:write'], decision: 'approve' })
    expect(await signingIn.ended).toBe(0)

    const stay = ['--arg', 'room=faro', '--arg', 'from=2031-05-01', '--arg', 'to=2031-05-03', '--arg', 'guests=2']
    const proposed = await poppy('call', origin, 'book_room', ...stay)
    expect([proposed.code, proposed.err]).toEqual([0, ''])
    const [, id = ''] = /poppy operations confirm (\S+)/.exec(proposed.out) ?? []
    expect((await poppy('operations')).out).toContain('Book Faro for 2 guests, 2 nights')
    expect((await person.open(`${origin}/bookings`)).html).not.toContain('Booked by your agent')
    // Nobody sits there, and nobody said yes.
    expect((await poppy('operations', 'confirm', id, '--json')).code).toBe(3)
    const confirmed = await poppy('operations', 'confirm', id, '--yes')
    expect([confirmed.code, confirmed.err]).toEqual([0, ''])
    expect(confirmed.out).toMatch(/total\.amount: 330\.00/)
    expect(confirmed.out).toMatch(/State: done\.\n {2}Result +booking: MIR-\d+\n/)
    expect((await person.open(`${origin}/bookings`)).html).toMatch(/Booked by your agent at\s+(<!-- -->)?localhost:/)
    const again = await poppy('operations', 'confirm', id, '--yes')
    expect([again.code, (await person.open(`${origin}/bookings`)).html.split('Booked by your agent')]).toMatchObject([
      0,
      { length: 2 },
    ])
  })

  it('lets it in with a short code, with a password and a code out of the outbox, and lets its browser join', {
    timeout,
  }, async () => {
    const hotel = await startHotel({ port: 0, directory: seedHotel(freshDirectory()), log: () => {} })
    onTestFinished(hotel.close)
    const { origin } = hotel
    const { type, poppy } = await sitDown()
    await poppy('init', '--local', String(await freePort()))
    const maya = { email: 'maya@example.com', password: 'sea-view-42' }
    const person = createPerson()

    // By a code, that she enters on another device.
    const waiting = type('sign-in', origin, '--device')
    await waiting.says('/poppy/device')
    await waiting.says('Or open this link')
    const [code = ''] = /\b[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}\b/.exec(waiting.output.stdout) ?? []
    const entering = await person.submit(await person.open(`${origin}/poppy/device`), maya)
    const request = await person.submit(entering, { user_code: code })
    await person.submit(request, { scope: ['poppy:read', 'poppy:write'], decision: 'approve' })
    expect(await waiting.ended).toBe(0)
    expect(waiting.output.stdout).toContain('Signed in at Hotel Miramar with poppy:read, poppy:write.')
    const { html } = await person.open(`${origin}/account`)
    expect(html).toContain('href="/poppy/agents"')
    expect((await person.open(`${origin}/outbox`)).html).toContain('on our own page, with a code that it showed')
    expect((await poppy('sign-out', origin)).code).toBe(0)

    // With her password. The code lies in the outbox, beside what it is for.
    const prompted = type('sign-in', origin, '--mediated')
    prompted.type(maya.email)
    prompted.type(maya.password)
    await prompted.says('A one-time code is on its way: Email to m…@example.com.')
    const mail = await person.open(`${origin}/outbox`)
    expect(mail.html).toContain('asks to be let in. It would be able to: see your bookings')
    prompted.type(/class="code">(\d{6})</.exec(mail.html)?.[1] ?? '')
    expect(await prompted.ended).toBe(0)
    expect(prompted.output.stdout).toContain('Signed in at Hotel Miramar with poppy:read, loyalty.')
    expect(prompted.output.stdout + prompted.output.stderr).not.toContain(maya.password)
    expect((await poppy('call', origin, 'my_bookings')).code).toBe(0)

    // A browser of its own, which nobody signed in to.
    const opening = type('open', origin, `${origin}/bookings`)
    await opening.says('Not in your own browser')
    const [address = ''] = /http:\/\/127\.0\.0\.1:\S+/.exec(opening.output.stdout) ?? []
    const itsBrowser = createPerson()
    const bookings = await itsBrowser.submit(await itsBrowser.open(address), { assertion: [] })
    expect(bookings).toMatchObject({ url: `${origin}/bookings`, status: 200 })
    expect(bookings.html).toContain('for <strong>Maya Lindqvist</strong>')
    expect(bookings.html).toContain('The agent can only look.')
    expect(await opening.ended).toBe(0)
    await poppy('sign-out', origin)
    expect((await itsBrowser.open(`${origin}/bookings`)).html).toContain('The agent is not signed in')
  })

  it('says what to do when the hotel is not open', { timeout }, async () => {
    const { poppy } = await sitDown()
    await poppy('init', '--local', String(await freePort()))
    const nobody = await poppy('tools', `http://localhost:${await freePort()}`)
    expect([nobody.code, nobody.out]).toEqual([expect.any(Number), ''])
    expect(nobody.code).not.toBe(0)
    expect(nobody.err).toMatch(/can't be reached/)
    expect(nobody.err).not.toMatch(/^\s+at /m)
  })
})

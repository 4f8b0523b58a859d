import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPerson } from '../examples/hotel/src/person.ts'
import { startHotel } from '../examples/hotel/src/server.ts'
import { startChild } from './setup/child.ts'
import { listen } from './setup/listen.ts'

// Each command is a process of its own, on a machine that may be busy with other tests.
const timeout = 180_000

function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'poppyseed-by-hand-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A terminal with the `poppy` command, and a home of its own for it. */
async function sitDown() {
  expect(await startChild('npm', ['run', 'build']).ended).toBe(0)
  const home = join(freshDirectory(), 'home')
  const type = (...args: readonly string[]) =>
    startChild(process.execPath, ['packages/agent/bin/poppy.js', ...args], { POPPY_HOME: home })
  const poppy = async (...args: readonly string[]) => {
    const child = type(...args)
    return { code: await child.ended, out: child.output.stdout, err: child.output.stderr }
  }
  return { type, poppy }
}

/** A port that nobody uses at this moment. */
async function freePort(): Promise<string> {
  const { port, close } = await listen(() => () => new Response())
  await close()
  return String(port)
}

describe('what npm start says to type', () => {
  it('lets an agent in by hand: init, tools, sign-in in a browser, call, sign-out', { timeout }, async () => {
    const hotel = await startHotel({ port: 0, directory: freshDirectory(), log: () => {} })
    onTestFinished(hotel.close)
    const { origin } = hotel
    const { type, poppy } = await sitDown()
    expect(await poppy('init', '--local', await freePort())).toMatchObject({ code: 0, err: '' })
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

  it('says what to do when the hotel is not open', { timeout }, async () => {
    const { poppy } = await sitDown()
    await poppy('init', '--local', await freePort())
    const nobody = await poppy('tools', `http://localhost:${await freePort()}`)
    expect([nobody.code, nobody.out]).toEqual([expect.any(Number), ''])
    expect(nobody.code).not.toBe(0)
    expect(nobody.err).toMatch(/can't be reached/)
    expect(nobody.err).not.toMatch(/^\s+at /m)
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { customerCard } from './customer.ts'
import { openDatabase } from './database.ts'
import { createPerson } from './person.ts'
import { SESSION_LIFETIME } from './sessions.ts'
import { ATTEMPTS_WINDOW, MAX_ATTEMPTS } from './sign-in.ts'
import { createSite, type Site } from './site.tsx'
import { type HotelDatabase, one } from './sql.ts'

// Those who work at the desk have a door of their own. No guest comes in by it, and no key of theirs opens the guests'.

const origin = 'http://hotel.test'
let time = Date.parse('2027-03-01T12:00:00Z')
const directory = mkdtempSync(join(tmpdir(), 'hotel-staff-'))
let database: HotelDatabase
let site: Site
const signedOut: string[] = []

beforeAll(() => {
  database = openDatabase(directory, time, { N: 2 ** 10, r: 8, p: 1 })
  site = createSite({
    database,
    secret: new Uint8Array(32).fill(7),
    now: () => time,
    secure: false,
    findAgent: async (request) =>
      request.headers.has('x-agent') ? { sessionId: 's', account: null, scopes: [], host: 'agent.example' } : null,
    onStaffSignOut: async ({ email }) => void signedOut.push(email),
  })
})
beforeEach(() => {
  signedOut.length = 0
})
afterAll(() => {
  database.close()
  rmSync(directory, { recursive: true })
})

const rosa = { email: 'desk1@miramar.example', password: 'front-desk-1' }
const maya = { email: 'maya@example.com', password: 'sea-view-42' }

/** A browser, and the cookies that it was given last. */
function openBrowser() {
  const cookies = new Map<string, string>()
  const lines: string[] = []
  const person = createPerson(async (request) => {
    const response = await site.fetch(request)
    for (const line of response.headers.getSetCookie()) {
      lines.push(line)
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split('=')
      cookies.set(name, value)
    }
    return response
  })
  const signIn = async (at: '/login' | '/staff/login', credentials: typeof rosa, next = '/staff/desk') =>
    person.submit(await person.open(`${origin}${at}?next=${encodeURIComponent(next)}`), credentials)
  return { ...person, signIn, cookies, lines }
}

const asking = (cookie: string, headers: Readonly<Record<string, string>> = {}) =>
  new Request(`${origin}/poppy/inbox`, { headers: { cookie, ...headers } })

describe('the staff’s sign-in', () => {
  it('lets those in who work here, says who they are, and lets them out again', async () => {
    const browser = openBrowser()
    expect((await browser.open(`${origin}/staff`)).html).toContain('For those who work here')
    const desk = await browser.signIn('/staff/login', rosa)
    expect([desk.url, desk.status]).toEqual([`${origin}/staff/desk`, 200])
    expect(desk.html).toContain('You are Rosa Vidal')
    expect(browser.lines.find((line) => line.startsWith('miramar_staff='))).toMatch(/HttpOnly; SameSite=Lax/)
    const cookie = `miramar_staff=${browser.cookies.get('miramar_staff')}`
    expect(await site.staff(asking(cookie))).toMatchObject({ name: 'Rosa Vidal', email: rosa.email })
    expect(JSON.stringify(database.prepare('select * from staff_sessions').all())).not.toContain(
      browser.cookies.get('miramar_staff'),
    )
    // The door shows the way out as well.
    const door = await browser.open(`${origin}/staff/login`)
    expect(door.html).toMatch(/To sign out, go to <a href="\/staff\/desk">/)
    expect((await browser.submit(desk, { form_token: [] })).url).toBe(`${origin}/staff/login`)
    expect(await site.staff(asking(cookie))).toBeNull()
    expect(signedOut).toEqual([rosa.email])
  })

  it('ends after a shift, and with the next sign-in of the same browser', async () => {
    const browser = openBrowser()
    await browser.signIn('/staff/login', rosa)
    const first = `miramar_staff=${browser.cookies.get('miramar_staff')}`
    await browser.signIn('/staff/login', { email: 'Desk2@Miramar.example', password: 'front-desk-2' })
    expect(await site.staff(asking(first))).toBeNull()
    const second = `miramar_staff=${browser.cookies.get('miramar_staff')}`
    expect(await site.staff(asking(second))).toMatchObject({ name: 'Pau Ferrer' })
    const before = time
    time += SESSION_LIFETIME.staff
    expect(await site.staff(asking(second))).toBeNull()
    time = before
  })

  it('is no sign-in of a guest, nor a guest’s one of the staff', async () => {
    const guest = openBrowser()
    await guest.signIn('/login', maya, '/bookings')
    const session = guest.cookies.get('miramar_session')
    expect(await site.guest(asking(`miramar_session=${session}`))).toMatchObject({ email: maya.email })
    for (const cookie of [`miramar_session=${session}`, `miramar_staff=${session}`])
      expect(await site.staff(asking(cookie))).toBeNull()
    const refused = await openBrowser().signIn('/staff/login', maya)
    expect([refused.status, refused.html.includes('do not go together')]).toEqual([400, true])

    const staff = openBrowser()
    await staff.signIn('/staff/login', rosa)
    const own = staff.cookies.get('miramar_staff')
    for (const cookie of [`miramar_staff=${own}`, `miramar_session=${own}`])
      expect(await site.guest(asking(cookie))).toBeNull()
    expect((await openBrowser().signIn('/login', rosa, '/bookings')).status).toBe(400)
    expect((await staff.open(`${origin}/bookings`)).url).toContain('/login?next=')
  })

  it('is nobody’s in a browser that an agent drives', async () => {
    const browser = openBrowser()
    await browser.signIn('/staff/login', rosa)
    const cookie = `miramar_staff=${browser.cookies.get('miramar_staff')}`
    expect(await site.staff(asking(cookie, { 'x-agent': '1' }))).toBeNull()
    for (const path of ['/staff/login', '/staff/desk']) {
      const response = await site.fetch(new Request(origin + path, { headers: { cookie, 'x-agent': '1' } }))
      expect([path, response.status]).toEqual([path, 403])
    }
  })

  it('takes its own form alone, from its own page, and leads nowhere else', async () => {
    const browser = openBrowser()
    const page = await browser.open(`${origin}/staff/login?next=https://elsewhere.example/`)
    const token = /name="form_token" value="([^"]+)"/.exec(page.html)?.[1] ?? ''
    const guests = await browser.open(`${origin}/login`)
    const guestToken = /name="form_token" value="([^"]+)"/.exec(guests.html)?.[1] ?? ''
    const post = (fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) =>
      site.fetch(
        new Request(`${origin}/staff/login`, {
          method: 'POST',
          headers: {
            cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
            'content-type': 'application/x-www-form-urlencoded',
            ...headers,
          },
          body: new URLSearchParams({ ...rosa, ...fields }).toString(),
        }),
      )
    expect((await post({})).status).toBe(403)
    expect((await post({ form_token: guestToken })).status).toBe(403)
    expect((await post({ form_token: token }, { origin: 'https://elsewhere.example' })).status).toBe(403)
    expect((await post({ form_token: token }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    const next = { form_token: token, next: '//elsewhere.example' }
    const taken = await post(next)
    expect([taken.status, taken.headers.get('location')]).toEqual([303, '/poppy/inbox'])
    const [own = ''] = taken.headers.getSetCookie().map((line) => line.split(';', 1)[0] ?? '')
    expect(await site.staff(asking(own))).not.toBeNull()
    // Nobody is signed out by a form of somebody else's.
    const out = await site.fetch(
      new Request(`${origin}/staff/logout`, {
        method: 'POST',
        headers: {
          cookie: own,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: `form_token=${token}`,
      }),
    )
    expect([out.status, signedOut]).toEqual([403, []])
  })

  it('stops whoever tries passwords, without keeping guests out', async () => {
    const guess = () => openBrowser().signIn('/staff/login', { ...rosa, password: 'front-desk-9' })
    const tries = []
    for (let at = 0; at <= MAX_ATTEMPTS; at++) tries.push((await guess()).status)
    expect(tries).toEqual([...Array.from({ length: MAX_ATTEMPTS }, () => 400), 429])
    expect((await openBrowser().signIn('/staff/login', rosa)).status).toBe(429)
    // The same address at the guests' door is another matter.
    expect((await openBrowser().signIn('/login', rosa, '/bookings')).status).toBe(400)
    time += ATTEMPTS_WINDOW
    expect((await openBrowser().signIn('/staff/login', rosa)).status).toBe(200)
  })
})

describe('what the staff see of a guest', () => {
  const accountOf = (email: string) =>
    one<{ readonly id: string }>(database, 'select id from guests where email = ?', email)?.id ?? ''
  const card = (...scopes: readonly string[]) => customerCard(database, { account: accountOf(maya.email), scopes })

  it('is what this guest let this agent see', () => {
    const all = card('poppy:read', 'poppy:write', 'loyalty')
    expect(all).toMatchObject({ title: 'Maya Lindqvist', facts: { Points: '1,240', Bookings: 3 } })
    expect(all?.tables.map(({ title }) => title)).toEqual(['Bookings', 'Notes'])
    expect(all?.tables[0]?.rows[1]).toEqual([
      'MIR-3058 Levante',
      expect.stringMatching(/^25.{1,3}28 March 2027, 2 guests$/),
      '€435',
    ])
    expect(all?.tables[1]?.rows).toEqual([['MIR-3058', 'We arrive late, on the last bus at 22:40.']])
    for (const { columns, rows } of all?.tables ?? []) for (const row of rows) expect(row).toHaveLength(columns.length)

    const points = JSON.stringify(card('loyalty'))
    expect(points).toContain('1,240')
    expect(points).not.toMatch(/MIR-|bus/)
    const reading = JSON.stringify(card('poppy:read'))
    expect(reading).toContain('MIR-3121')
    expect(reading).not.toContain('1,240')
    const nothing = JSON.stringify(card())
    expect(nothing).toContain('Maya Lindqvist')
    expect(nothing).not.toMatch(/MIR-|1,240|bus/)
    expect(customerCard(database, { account: 'nobody', scopes: ['poppy:read'] })).toBeNull()
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from './database.ts'
import type { ConnectedAgents } from './pages/account.tsx'
import { SESSION_LIFETIME } from './sessions.ts'
import { ATTEMPTS_WINDOW, MAX_ATTEMPTS } from './sign-in.ts'
import { createSite, type Site } from './site.tsx'
import type { HotelDatabase } from './sql.ts'

const ORIGIN = 'http://hotel.test'
const DAY = 86_400_000
let time = Date.parse('2027-03-01T12:00:00Z')
const now = () => time

const directory = mkdtempSync(join(tmpdir(), 'hotel-site-'))
let database: HotelDatabase
let site: Site

const disconnected: string[] = []
const connectedAgents: ConnectedAgents = {
  list: async () => [
    {
      id: 'a1',
      name: '<b>Example Agent</b>',
      host: 'agent.example',
      rights: ['See your bookings'],
      since: time,
      lastUsed: null,
      until: time + 90 * DAY,
    },
  ],
  disconnect: async (guestId, id) => {
    disconnected.push(`${guestId} ${id}`)
  },
}

beforeAll(() => {
  database = openDatabase(directory, time, { N: 2 ** 10, r: 8, p: 1 })
  site = createSite({ database, secret: new Uint8Array(32).fill(7), now, secure: false, connectedAgents })
})

afterAll(() => {
  database.close()
  rmSync(directory, { recursive: true })
})

/** A person's browser: it keeps cookies and fills in the forms that a page shows. */
function openBrowser(at: Site = site, headers: Readonly<Record<string, string>> = {}) {
  const cookies = new Map<string, string>()
  async function send(path: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await at.fetch(
      new Request(ORIGIN + path, { ...init, headers: { cookie, ...headers, ...(init.headers as object) } }),
    )
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const [name = '', value = ''] = pair.split('=')
      if (value === '' || /max-age=0/i.test(line)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }
  const post = (path: string, fields: Readonly<Record<string, string>>, extra: Readonly<Record<string, string>> = {}) =>
    send(path, {
      method: 'POST',
      body: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: ORIGIN, ...extra },
    })
  const hidden = async (path: string, name: string): Promise<string> =>
    new RegExp(`name="${name}" value="([^"]*)"`).exec(await (await send(path)).text())?.[1]?.replaceAll('&amp;', '&') ??
    ''
  async function signIn(email: string, password: string, next = '/bookings'): Promise<Response> {
    const path = `/login?next=${encodeURIComponent(next)}`
    const fields = { form_token: await hidden(path, 'form_token'), next: await hidden(path, 'next'), email, password }
    return post('/login', fields)
  }
  return { cookies, send, post, hidden, signIn, text: async (path: string) => (await send(path)).text() }
}

const maya = ['maya@example.com', 'sea-view-42'] as const
const guest2 = ['guest2@example.com', 'harbour-7'] as const

describe('signing in', () => {
  it('leads a guest to their bookings and out again', async () => {
    const browser = openBrowser()
    const turnedAway = await browser.send('/bookings')
    expect([turnedAway.status, turnedAway.headers.get('location')]).toEqual([303, '/login?next=%2Fbookings'])

    const signedIn = await browser.signIn(...maya)
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/bookings'])
    const cookie = signedIn.headers.getSetCookie().find((line) => line.startsWith('miramar_session='))
    expect(cookie).toMatch(/HttpOnly/)
    expect(cookie).toMatch(/SameSite=Lax/)
    expect(await browser.text('/bookings')).toContain('Mirador')

    const out = await browser.post('/logout', { form_token: await browser.hidden('/account', 'form_token') })
    expect(out.headers.get('location')).toBe('/')
    expect((await browser.send('/bookings')).status).toBe(303)
  })

  it('says the same for a wrong password and for nobody', async () => {
    const browser = openBrowser()
    const wrong = await browser.signIn(maya[0], 'sea-view-43')
    const nobody = await browser.signIn('nobody@example.com', 'sea-view-42')
    expect([wrong.status, nobody.status]).toEqual([400, 400])
    const told = 'That email address and password do not go together.'
    expect(await wrong.text()).toContain(told)
    expect(await nobody.text()).toContain(told)
    expect(browser.cookies.has('miramar_session')).toBe(false)
  })

  it('tells the company who is signed in, and forgets it at sign-out and after its time', async () => {
    const browser = openBrowser()
    await browser.signIn(...maya)
    const cookie = `miramar_session=${browser.cookies.get('miramar_session')}`
    const who = () => site.guest(new Request(`${ORIGIN}/x`, { headers: { cookie } }))
    expect(await who()).toMatchObject({ name: 'Maya Lindqvist', email: 'maya@example.com' })
    expect(await site.guest(new Request(`${ORIGIN}/x`, { headers: { cookie: `${cookie}x` } }))).toBeNull()
    expect(await site.guest(new Request(`${ORIGIN}/x`))).toBeNull()

    const before = time
    time += SESSION_LIFETIME.guests
    expect(await who()).toBeNull()
    time = before
    await browser.post('/logout', { form_token: await browser.hidden('/account', 'form_token') })
    expect(await who()).toBeNull()
  })

  it('keeps no cookie in the database, only its hash', async () => {
    const browser = openBrowser()
    await browser.signIn(...maya)
    const rows = JSON.stringify(database.prepare('select * from sessions').all())
    expect(rows).not.toContain(browser.cookies.get('miramar_session'))
  })

  it('gives each sign-in its own cookie and ends the one before it', async () => {
    const browser = openBrowser()
    await browser.signIn(...maya)
    const first = browser.cookies.get('miramar_session')
    await browser.signIn(...guest2)
    expect(browser.cookies.get('miramar_session')).not.toBe(first)
    const cookie = `miramar_session=${first}`
    expect(await site.guest(new Request(ORIGIN, { headers: { cookie } }))).toBeNull()
  })

  it('stops guessing after a few tries, for that address alone and for a while', async () => {
    const browser = openBrowser()
    const [email, password] = guest2
    for (let count = 0; count < MAX_ATTEMPTS; count++) expect((await browser.signIn(email, 'guess')).status).toBe(400)
    const refused = await browser.signIn(email, password)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBe(ATTEMPTS_WINDOW / 1000)
    expect(await refused.text()).toContain('Wait 15 minutes')
    expect((await openBrowser().signIn(...maya)).status).toBe(303)
    time += ATTEMPTS_WINDOW
    expect((await browser.signIn(email, password)).status).toBe(303)
  })

  it('uses cookies that only https carries where the site is on https', async () => {
    const secure = createSite({ database, secret: new Uint8Array(32), now, secure: true })
    const browser = openBrowser(secure)
    const response = await browser.signIn(...maya)
    const line = response.headers.getSetCookie().find((cookie) => cookie.startsWith('__Host-miramar_session='))
    expect(line).toMatch(/; Secure/)
    expect(line).toMatch(/; Path=\//)
    expect(line).not.toMatch(/Domain/i)
  })
})

describe('where a sign-in leads', () => {
  it('goes to a path of this site', async () => {
    const next = '/poppy/authorize?client_id=https%3A%2F%2Fagent.example%2F&state=a%26b'
    const response = await openBrowser().signIn(...maya, next)
    expect(response.headers.get('location')).toBe(next)
  })

  it('never leaves this site, whether the link or the form says so', async () => {
    const browser = openBrowser()
    expect(await browser.hidden('/login?next=//evil.example', 'next')).toBe('/bookings')
    expect(await browser.hidden('/login?next=/rooms/faro&next=/rooms/levante', 'next')).toBe('/bookings')
    const [email, password] = maya
    const form_token = await browser.hidden('/login', 'form_token')
    const response = await browser.post('/login', { form_token, email, password, next: '/\\evil.example' })
    expect(response.headers.get('location')).toBe('/bookings')
  })
})

describe('forms from elsewhere', () => {
  it('refuses a sign-in without the token of this browser', async () => {
    const [email, password] = maya
    const victim = openBrowser()
    const attackersToken = await openBrowser().hidden('/login', 'form_token')
    expect((await victim.post('/login', { email, password, form_token: attackersToken })).status).toBe(403)
    await victim.send('/login')
    expect((await victim.post('/login', { email, password, form_token: attackersToken })).status).toBe(403)
    expect((await victim.post('/login', { email, password })).status).toBe(403)
    expect(victim.cookies.has('miramar_session')).toBe(false)
  })

  it('refuses a signed-in form without its token, or with a token from before the sign-in', async () => {
    const browser = openBrowser()
    const early = await browser.hidden('/login', 'form_token')
    await browser.signIn(...maya)
    for (const form_token of ['', 'x', early]) {
      expect((await browser.post('/bookings/MIR-3058/notes', { form_token, note: 'Planted' })).status).toBe(403)
      expect((await browser.post('/logout', { form_token })).status).toBe(403)
    }
    expect(await browser.text('/bookings')).not.toContain('Planted')
  })

  it('refuses a post that the browser says comes from another site, right token or not', async () => {
    const browser = openBrowser()
    await browser.signIn(...maya)
    const form_token = await browser.hidden('/account', 'form_token')
    for (const from of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      expect((await browser.post('/logout', { form_token }, from)).status).toBe(403)
    }
    expect((await browser.send('/bookings')).status).toBe(200)
  })

  it('refuses other content types, doubled fields and big bodies', async () => {
    const browser = openBrowser()
    const form_token = await browser.hidden('/login', 'form_token')
    expect((await browser.post('/login', { form_token }, { 'content-type': 'text/plain' })).status).toBe(400)
    expect((await browser.post('/login', { form_token, email: 'x'.repeat(20_000) })).status).toBe(400)
    const doubled = await browser.send('/login', {
      method: 'POST',
      body: `form_token=${form_token}&form_token=${form_token}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(doubled.status).toBe(400)
  })
})

describe('bookings', () => {
  it('shows a guest their own and lets them add a note', async () => {
    const browser = openBrowser()
    await browser.signIn(...maya)
    const form_token = await browser.hidden('/bookings', 'form_token')
    const note = 'A <b>quiet</b> table, please.'
    const saved = await browser.post('/bookings/MIR-3121/notes', { form_token, note })
    expect(saved.headers.get('location')).toBe('/bookings#MIR-3121')
    expect(await browser.text('/bookings')).toContain('A &lt;b&gt;quiet&lt;/b&gt; table, please.')
  })

  it('answers for another guest’s booking as for one that does not exist', async () => {
    const browser = openBrowser()
    await browser.signIn(...guest2)
    expect(await browser.text('/bookings')).not.toContain('MIR-3058')
    const form_token = await browser.hidden('/bookings', 'form_token')
    const theirs = await browser.post('/bookings/MIR-3058/notes', { form_token, note: 'I was here' })
    const nobodys = await browser.post('/bookings/MIR-0000/notes', { form_token, note: 'I was here' })
    expect([theirs.status, nobodys.status]).toEqual([404, 404])
    expect(await theirs.text()).toBe(await nobodys.text())
    const owner = openBrowser()
    await owner.signIn(...maya)
    expect(await owner.text('/bookings')).not.toContain('I was here')
  })

  it('books a free room once', async () => {
    const browser = openBrowser()
    const path = '/rooms/faro?from=2027-08-02&to=2027-08-05&guests=3'
    expect(await browser.text(path)).toContain('Sign in to book')
    await browser.signIn(...maya)
    const form_token = await browser.hidden(path, 'form_token')
    const wish = { form_token, from: '2027-08-02', to: '2027-08-05', guests: '3' }
    const booked = await browser.post('/rooms/faro/book', wish)
    expect(booked.headers.get('location')).toMatch(/^\/bookings#MIR-\d{5}$/)
    expect((await browser.post('/rooms/faro/book', wish)).status).toBe(409)
    expect(await browser.text(path)).toContain('Faro is taken for')
  })
})

describe('connected agents', () => {
  it('shows who can see what, and ends it', async () => {
    const browser = openBrowser()
    await browser.signIn(...maya)
    const page = await browser.text('/account')
    expect(page).toContain('&lt;b&gt;Example Agent&lt;/b&gt;')
    expect(page).toContain('agent.example')
    expect(page).toContain('See your bookings')
    const form_token = await browser.hidden('/account', 'form_token')
    expect((await browser.post('/account/agents/a1/disconnect', { form_token: 'x' })).status).toBe(403)
    const done = await browser.post('/account/agents/a1/disconnect', { form_token })
    expect(done.headers.get('location')).toBe('/account#agents')
    expect(disconnected).toHaveLength(1)
  })
})

describe('every page', () => {
  it('can neither be framed nor run a script, and is not kept', async () => {
    for (const path of ['/', '/login', '/rooms/faro', '/nowhere']) {
      const { headers } = await openBrowser().send(path)
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cache-control')).toBe('no-store')
    }
  })

  it('answers a search that makes no sense with a sentence', async () => {
    const browser = openBrowser()
    expect(await browser.text('/?from=2027-08-05&to=2027-08-02')).toContain('must come after the day you arrive')
    expect(await browser.text('/?from=2027-02-30&to=x%22%3E')).toContain('Choose the day you arrive')
    expect(await browser.text('/?from=2020-01-01&to=2020-01-02')).toContain('That day has passed')
    expect((await browser.send('/rooms/attic')).status).toBe(404)
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bookingsOf } from './bookings.ts'
import { openDatabase } from './database.ts'
import { createOutbox } from './outbox.ts'
import { createPerson } from './person.ts'
import { createSite } from './site.tsx'
import { type HotelDatabase, one } from './sql.ts'
import type { AgentVisit } from './visitor.ts'

// The site's own pages in the browser of an agent: which are there for it, and that neither of the two can send the
// other's forms. Who is an agent is told by the Company; here a header plays it.

const origin = 'http://localhost'
const now = Date.parse('2027-03-01T12:00:00Z')
let directory: string
let database: HotelDatabase

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hotel-agents-'))
  database = openDatabase(directory, now, { N: 2 ** 10, r: 8, p: 1 })
})
afterEach(() => {
  database.close()
  rmSync(directory, { recursive: true })
})

const idOf = (email: string) =>
  one<{ readonly id: string }>(database, 'select id from guests where email = ?', email)?.id ?? ''

/** The site, and a browser in which both cookies may lie at once. */
function open() {
  let agent: AgentVisit | 'ended' | null = null
  const outbox = createOutbox(database, () => now)
  const site = createSite({
    database,
    secret: new Uint8Array(32).fill(7),
    now: () => now,
    secure: false,
    findAgent: async () => agent,
    outbox,
    showOutbox: true,
    connectedAgents: { list: async () => [], disconnect: async () => {} },
  })
  let cookie = ''
  const person = createPerson(async (request) => {
    cookie = request.headers.get('cookie') ?? cookie
    return site.fetch(request)
  })
  return {
    site,
    outbox,
    person,
    cookie: () => cookie,
    become: (next: Partial<AgentVisit> | 'ended' | null) => {
      const stranger = { sessionId: 'ses_one', host: 'agent.example', account: null, scopes: [] }
      agent = next === null || next === 'ended' ? next : { ...stranger, ...next }
    },
    get: async (path: string) => {
      const { status, html, url } = await person.open(origin + path)
      return { status, html, path: url.slice(origin.length) }
    },
  }
}

const maya = { email: 'maya@example.com', password: 'sea-view-42' }
const cancelled = (guest = idOf(maya.email)) =>
  bookingsOf(database, guest)
    .filter(({ status }) => status === 'cancelled')
    .map(({ id }) => id)

describe('an agent’s browser', () => {
  it('sees bookings with poppy:read, and changes them with poppy:write alone', async () => {
    const { become, get, person } = open()
    const account = idOf(maya.email)
    for (const [scopes, status, says] of [
      [[], 403, 'see your bookings'],
      [['loyalty'], 403, 'see your bookings'],
      [['poppy:write'], 403, 'see your bookings'],
      [['poppy:read'], 200, 'The agent can only look.'],
      [['poppy:read', 'poppy:write'], 200, 'Cancel MIR-3058'],
    ] as const) {
      become({ account, scopes })
      const page = await get('/bookings')
      expect([scopes, page.status]).toEqual([scopes, status])
      expect(page.html).toContain(says)
      expect(page.html).toContain('agent.example')
      expect(page.html).toContain('Maya Lindqvist')
      expect([scopes, page.html.includes('<form')]).toEqual([scopes, scopes.join(' ') === 'poppy:read poppy:write'])
    }
    const page = await person.open(`${origin}/bookings`)
    const note = await person.submit(page, { note: 'We come by boat.' })
    expect([note.status, note.url]).toEqual([200, `${origin}/bookings#MIR-3058`])
    expect(note.html).toContain('We come by boat.')
    become({ account, scopes: ['poppy:read'] })
    const refused = await person.submit(page, { note: 'And another.' })
    expect(refused.status).toBe(403)
    expect(refused.html).toContain('poppy:write')
    expect((await get('/bookings')).html).not.toContain('And another.')
  })

  it('that is signed out sees what everybody sees, and is told to ask its guest', async () => {
    const { become, get } = open()
    become({})
    expect((await get('/')).html).toContain('Seen by an agent at <strong>agent.example</strong> that is not signed in.')
    expect(await get('/rooms/faro')).toMatchObject({ status: 200 })
    expect(await get('/bookings')).toMatchObject({ status: 403, html: expect.stringContaining('is not signed in') })
    // Nobody's account, or one that is gone, is nobody.
    become({ account: 'nobody', scopes: ['poppy:read'] })
    expect(await get('/bookings')).toMatchObject({ status: 403, html: expect.stringContaining('is not signed in') })
  })

  it('is refused the rest of the account, whatever its scopes', async () => {
    const { become, get, person } = open()
    const login = await person.open(`${origin}/login`)
    const room = '/rooms/faro?from=2027-08-02&to=2027-08-05&guests=2'
    become({ account: idOf(maya.email), scopes: ['poppy:read', 'poppy:write', 'loyalty'] })
    for (const path of ['/account', '/login', '/outbox']) {
      expect(await get(path)).toMatchObject({
        status: 403,
        html: expect.stringContaining('No right opens this page to an agent.'),
        path,
      })
    }
    expect((await person.submit(login, maya)).status).toBe(403)
    expect((await get(room)).html).not.toContain('Book Faro')
    for (const path of ['/rooms/faro/book', '/account/agents/a1/disconnect', '/logout']) {
      const page = { url: `${origin}/`, status: 200, html: `<form action="${path}"><input name="form_token"></form>` }
      expect([path, (await person.submit(page, { form_token: 'x' })).status]).toEqual([path, 403])
    }
    expect(bookingsOf(database, idOf(maya.email))).toHaveLength(3)
  })

  it('is the agent’s, whoever else signed in there before; and nobody’s once its access has ended', async () => {
    const { become, get, person, site, cookie } = open()
    await person.submit(await person.open(`${origin}/login`), maya)
    const who = () => site.guest(new Request(origin, { headers: { cookie: cookie() } }))
    expect(await who()).toMatchObject({ name: 'Maya Lindqvist' })
    expect((await get('/account')).status).toBe(200)

    become({ account: idOf('guest2@example.com'), scopes: ['poppy:read'] })
    const page = await get('/bookings')
    expect(page.html).toContain('MIR-3077')
    expect(page.html).not.toContain('MIR-3058')
    expect(page.html).toContain('Jonas Berg')
    expect(await get('/account')).toMatchObject({ status: 403 })
    // What the Company is told: nobody could approve anything here.
    expect(await who()).toBeNull()
    become({})
    expect(await get('/bookings')).toMatchObject({ status: 403 })
    become('ended')
    for (const path of ['/bookings', '/account', '/login', '/outbox'])
      expect(await get(path)).toMatchObject({ status: 403, html: expect.stringContaining('access has ended') })
    expect((await get('/')).html).toContain('access here has ended')
    expect(await who()).toBeNull()
    become(null)
    expect((await get('/account')).status).toBe(200)
  })
})

describe('forms of two who share a browser', () => {
  it('are each good for the one who loaded them, in the Session in which they did', async () => {
    const { become, person } = open()
    const account = idOf(maya.email)
    const both = ['poppy:read', 'poppy:write']
    const bookings = () => person.open(`${origin}/bookings`)
    // The last form of the page: cancelling the booking that comes up last.
    const cancel = (page: Awaited<ReturnType<typeof bookings>>) => {
      const at = page.html.lastIndexOf('<form method="post" action="/bookings/MIR-3121/cancel"')
      return person.submit({ ...page, html: page.html.slice(at) }, { form_token: [] })
    }
    await person.submit(await person.open(`${origin}/login`), maya)
    const hers = await bookings()
    become({ account, scopes: both })
    const its = await bookings()
    expect(await cancel(hers)).toMatchObject({ status: 403, html: expect.stringContaining('grown stale') })
    become({ account, scopes: both, sessionId: 'ses_two' })
    expect((await cancel(its)).status).toBe(403)
    become(null)
    expect((await cancel(its)).status).toBe(403)
    expect(cancelled()).toEqual([])
    become({ account, scopes: both })
    expect(await cancel(its)).toMatchObject({ status: 200, url: `${origin}/bookings#MIR-3121` })
    expect(cancelled()).toEqual(['MIR-3121'])
  })

  it('come from this site alone, also with an agent’s cookie', async () => {
    const { become, person, site } = open()
    become({ account: idOf(maya.email), scopes: ['poppy:read', 'poppy:write'] })
    const page = await person.open(`${origin}/bookings`)
    const token = /name="form_token" value="([^"]+)"/.exec(page.html)?.[1] ?? ''
    const send = async (headers: Record<string, string>, form_token = token) =>
      (
        await site.fetch(
          new Request(`${origin}/bookings/MIR-3121/cancel`, {
            method: 'POST',
            headers,
            body: new URLSearchParams({ form_token }),
          }),
        )
      ).status
    expect(await send({ origin: 'http://evil.example' })).toBe(403)
    expect(await send({ 'sec-fetch-site': 'same-site' })).toBe(403)
    expect(await send({ origin, 'sec-fetch-site': 'same-origin' }, '')).toBe(403)
    expect(cancelled()).toEqual([])
    expect(await send({ origin, 'sec-fetch-site': 'same-origin' })).toBe(303)
    expect(cancelled()).toEqual(['MIR-3121'])
  })
})

describe('cancelling and the outbox', () => {
  it('mails the guest once, and says who it was', async () => {
    const { become, person, outbox, get } = open()
    expect((await get('/outbox')).html).toContain('Nothing yet.')
    const cancel = async (id: string) => {
      const page = await person.open(`${origin}/bookings`)
      const at = page.html.indexOf(`<form method="post" action="/bookings/${id}/cancel"`)
      const form = { ...page, html: page.html.slice(at) }
      await person.submit(form, { form_token: [] })
      return person.submit(form, { form_token: [] })
    }
    await person.submit(await person.open(`${origin}/login`), maya)
    expect((await cancel('MIR-3121')).status).toBe(200)
    become({ account: idOf(maya.email), scopes: ['poppy:read', 'poppy:write'] })
    expect((await cancel('MIR-3058')).status).toBe(200)
    expect(outbox.list().map(({ to, subject }) => `${to} ${subject}`)).toEqual([
      'maya@example.com MIR-3058 is cancelled',
      'maya@example.com MIR-3121 is cancelled',
    ])
    become(null)
    const { html } = await get('/outbox')
    expect(html).toContain('was cancelled by your agent at agent.example')
    expect(html).toContain('was cancelled by you')
  })

  it('has a page where the hotel is tried out, under this machine’s own names, and nowhere else', async () => {
    const { site } = open()
    const at = async (url: string) => (await site.fetch(new Request(url))).status
    expect([await at('http://localhost:4000/outbox'), await at('http://127.0.0.1:4000/outbox')]).toEqual([200, 200])
    // A name of somebody else's that leads to this machine.
    expect(await at('http://evil.example:4000/outbox')).toBe(404)
    const secured = { database, secret: new Uint8Array(32), now: () => now, secure: true }
    expect((await createSite(secured).fetch(new Request('http://localhost/outbox'))).status).toBe(404)
  })

  it('keeps the last fifty', () => {
    const { outbox } = open()
    for (let at = 0; at < 60; at++) outbox.send({ to: 'a@example.com', subject: String(at), paragraphs: [] })
    expect(outbox.list().map(({ subject }) => subject)).toEqual(Array.from({ length: 50 }, (_, at) => String(59 - at)))
  })
})

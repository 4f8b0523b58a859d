import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAdaptorServer, type ServerType } from '@hono/node-server'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { axe, chromiumMissing, openBrowser, screenshot, type TestBrowser } from '../../../test/setup/browser.ts'
import { bookRoom, cancelBooking } from './bookings.ts'
import { openDatabase } from './database.ts'
import { beginDeposit, endDeposit } from './deposits.ts'
import { codeMail, connectionMail } from './mails.ts'
import { createOutbox } from './outbox.ts'
import type { ConnectedAgents } from './pages/account.tsx'
import { createSite } from './site.tsx'
import { type HotelDatabase, one } from './sql.ts'
import type { AgentVisit } from './visitor.ts'

const time = Date.parse('2027-03-01T12:00:00Z')
const directory = mkdtempSync(join(tmpdir(), 'hotel-pages-'))
let database: HotelDatabase
let server: ServerType
let browser: TestBrowser
let origin: string

/** The smallest screens that the pages are made for. */
const smallest = { phone: { width: 360, height: 740 }, desktop: { width: 1280, height: 800 } } as const
let agent: AgentVisit | null = null
let visit: AgentVisit

const connectedAgents: ConnectedAgents = {
  list: async () => [
    {
      id: 'a1',
      name: 'Example Agent',
      host: 'agent.example',
      rights: ['See your bookings', 'See your points'],
      since: time - 9 * 86_400_000,
      lastUsed: time,
      until: time + 81 * 86_400_000,
    },
  ],
  disconnect: async () => {},
}

beforeAll(async () => {
  if (chromiumMissing) return
  database = openDatabase(directory, time, { N: 2 ** 10, r: 8, p: 1 })
  const outbox = createOutbox(database, () => time)
  const secret = new Uint8Array(32).fill(7)
  const site = createSite({
    database,
    secret,
    now: () => time,
    secure: false,
    connectedAgents,
    findAgent: async () => agent,
    outbox,
    showOutbox: true,
  })
  const maya = { id: '1', name: 'Maya Lindqvist', email: 'maya@example.com' }
  const account = one<{ readonly id: string }>(database, 'select id from guests where email = ?', maya.email)?.id ?? ''
  visit = { sessionId: 'ses_one', host: 'agent.example', account, scopes: ['poppy:read'] }
  const until = time + 90 * 86_400_000
  const scopes = ['poppy:read', 'loyalty']
  const connected = { name: 'Example Agent', host: 'agent.example', signIn: 'mediated', replaces: false } as const
  outbox.send(connectionMail(maya, { ...connected, scopes, expiresAt: until }))
  outbox.send(codeMail(maya, '042817', { host: 'agent.example', scopes }))
  const summary =
    'Book Faro for 2 guests, 2 nights: arrival on Monday, 10 May 2027, departure on Wednesday, 12 May 2027. €330 in all, paid at the hotel.'
  outbox.sendOnce('1', {
    to: maya.email,
    subject: 'A room: done, MIR-12345',
    paragraphs: [`Maya Lindqvist, your agent at agent.example asked for this: “${summary}”`, 'This is done.'],
  })
  const order = { operation: 'opn_1', agent: 'agent-with-a-long-name.example', price: 33_000 }
  const wish = { slug: 'faro', from: '2027-05-10', to: '2027-05-12', guests: 2 }
  const { id } = bookRoom(database, account, wish, time, order)
  beginDeposit(database, account, { operation: 'opn_2', booking: id, amount: 9900 })
  endDeposit(database, 'opn_2', 'paid', 'chg_1')
  const cancelled = bookRoom(database, account, { ...wish, from: '2027-06-10', to: '2027-06-12' }, time)
  cancelBooking(database, account, cancelled.id, time, { operation: 'opn_3', agent: 'agent.example', fee: 0 })
  server = createAdaptorServer({ fetch: site.fetch, overrideGlobalObjects: false })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://localhost:${(server.address() as AddressInfo).port}`
  browser = await openBrowser()
})

beforeEach(() => {
  agent = null
})

afterAll(async () => {
  if (!chromiumMissing) {
    await browser.close()
    server.close()
    database.close()
  }
  rmSync(directory, { recursive: true })
})

/** Takes the picture and finds nothing wrong: no fault of accessibility, nothing wider than the screen. */
async function look(page: Page, name: string): Promise<void> {
  await screenshot(page, name)
  expect([name, await axe(page)]).toEqual([name, []])
  expect([name, await page.evaluate('document.documentElement.scrollWidth <= innerWidth')]).toEqual([name, true])
}

/** A page on the smallest screen of its kind, what went wrong on it, and a look at where it is. */
async function openAt(screen: keyof typeof smallest, scheme: 'light' | 'dark') {
  const page = await browser.page({ screen, scheme }, { viewport: smallest[screen] })
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) faults.push(message.text())
  })
  return { page, faults, at: (name: string) => look(page, `hotel-${name}-${screen}-${scheme}`) }
}

describe.skipIf(chromiumMissing)('the pages in a real browser', () => {
  for (const screen of ['phone', 'desktop'] as const) {
    for (const scheme of ['light', 'dark'] as const) {
      it(`can be read by everybody on a ${screen}, ${scheme}`, async () => {
        const { page, faults, at } = await openAt(screen, scheme)
        await page.goto(`${origin}/`)
        await at('home')
        await page.goto(`${origin}/?from=2027-03-25&to=2027-03-28&guests=2`)
        await at('search')
        await page.getByRole('link', { name: 'Faro' }).click()
        await at('room')
        await page.goto(`${origin}/outbox`)
        expect(await page.locator('main').textContent()).toContain('A room: done, MIR-12345')
        await at('outbox')
        await page.goto(`${origin}/nowhere`)
        await at('missing')
        await page.context().close()
        expect(faults).toEqual([])
      }, 60_000)

      it(`can be used by a guest and by their agent on a ${screen}, ${scheme}`, async () => {
        const { page, faults, at } = await openAt(screen, scheme)
        await page.goto(`${origin}/bookings`)
        await page.getByLabel('Email address').fill('maya@example.com')
        await page.getByLabel('Password').fill('wrong')
        await page.getByRole('button', { name: 'Sign in' }).click()
        await at('login')
        await page.getByLabel('Password').fill('sea-view-42')
        await page.getByRole('button', { name: 'Sign in' }).click()
        expect(page.url()).toBe(`${origin}/bookings`)
        await page.getByText('Cancel the booking').first().click()
        await page.getByText('Add a note').last().click()
        expect(await page.locator('main').textContent()).toContain('Booked by your agent at agent-with-a-long-name')
        await at('bookings')
        agent = visit
        await page.goto(`${origin}/bookings`)
        await at('agent-looks')
        await page.goto(`${origin}/account`)
        await at('agent-refused')
        agent = null
        await page.goto(`${origin}/account`)
        await at('account')
        await page.getByRole('button', { name: 'Sign out' }).click()
        expect(page.url()).toBe(`${origin}/`)
        await page.context().close()
        expect(faults).toEqual([])
      }, 60_000)
    }
  }

  it.each([
    ['phone', 'light'],
    ['desktop', 'dark'],
  ] as const)('have a door for the staff, on a %s, %s', async (screen, scheme) => {
    const { page, faults, at } = await openAt(screen, scheme)
    await page.goto(`${origin}/staff`)
    await page.getByLabel('Email address').fill('desk1@miramar.example')
    await page.getByLabel('Password').fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await at('staff-login')
    await page.goto(`${origin}/staff/login?next=/staff/desk`)
    await page.getByLabel('Email address').fill('desk1@miramar.example')
    await page.getByLabel('Password').fill('front-desk-1')
    await page.getByRole('button', { name: 'Sign in' }).click()
    expect(await page.locator('main').textContent()).toContain('You are Rosa Vidal')
    await at('staff-desk')
    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(page.url()).toBe(`${origin}/staff/login`)
    await page.context().close()
    expect(faults).toEqual([])
  })

  it('fits a screen 320 px wide', async () => {
    const page = await browser.page({}, { viewport: { width: 320, height: 640 } })
    for (const [name, path] of [
      ['home', '/'],
      ['room', '/rooms/amapola?from=2027-03-25&to=2027-03-28&guests=4'],
      ['login', '/login'],
    ] as const) {
      await page.goto(origin + path)
      await look(page, `hotel-${name}-320`)
    }
  })
})

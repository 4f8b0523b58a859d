import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startVisitingAgent, type VisitingAgent } from '../examples/hotel/src/agent-server.ts'
import { createPerson, type Person } from '../examples/hotel/src/person.ts'
import { type Hotel, startHotel } from '../examples/hotel/src/server.ts'
import { axe, chromiumMissing, openBrowser, screenshot, type TestBrowser } from './setup/browser.ts'
import { seedHotel } from './setup/seeded-hotel.ts'

// Section 5 on the hotel's own pages: an agent's real browser joins by a form from another origin, and each page shows
// what the Session may do at that moment.

// A browser is slow on a machine that is busy with other tests.
const timeout = 120_000

const directory = mkdtempSync(join(tmpdir(), 'poppyseed-hotel-browser-'))
let hotel: Hotel
let visiting: VisitingAgent
let browser: TestBrowser

beforeAll(async () => {
  if (chromiumMissing) return
  hotel = await startHotel({ port: 0, directory: seedHotel(directory), log: () => {} })
  visiting = await startVisitingAgent()
  browser = await openBrowser()
})

afterAll(async () => {
  if (!chromiumMissing) {
    await browser.close()
    await visiting.close()
    await hotel.close()
  }
  rmSync(directory, { recursive: true, force: true })
})

const phone = { viewport: { width: 360, height: 740 } }

/** An agent of this User with a Session, and a browser that joined it at a page of the hotel. */
async function joinAt(user: string, path: string, options: Parameters<TestBrowser['page']>[1] = phone) {
  const company = await visiting.agent.forUser(user).company(hotel.origin)
  const session = company.session()
  const page = await browser.page({}, options)
  const joined = await session.joinBrowser({ returnTo: hotel.origin + path })
  await page.goto(joined.url)
  await page.waitForURL(hotel.origin + path)
  return { session, page }
}

/** Maya signs the agent in, in a browser of her own. */
async function letIn(
  session: Awaited<ReturnType<typeof joinAt>>['session'],
  scopes: readonly string[],
): Promise<Person> {
  const person = createPerson()
  await session.signIn({
    scopes,
    open: async (url) => {
      const consent = await person.submit(await person.open(url), {
        email: 'maya@example.com',
        password: 'sea-view-42',
      })
      await person.submit(consent, { scope: scopes, decision: 'approve' })
    },
  })
  return person
}

const heading = (page: Page) => page.locator('h1').textContent()
const note = (page: Page) => page.getByLabel('Who is looking').textContent()

async function look(page: Page, name: string): Promise<void> {
  await screenshot(page, name)
  expect([name, await axe(page)]).toEqual([name, []])
  expect([name, await page.evaluate('document.documentElement.scrollWidth <= innerWidth')]).toEqual([name, true])
}

describe.skipIf(chromiumMissing)('an agent’s browser at the hotel', () => {
  it('follows the Session from page to page: signed out, signed in, a right taken away, signed out again [5.cookie-follows, 5.website-scopes, 5.join-first-agent]', {
    timeout,
  }, async () => {
    const { session, page } = await joinAt('follows', '/bookings')
    expect(await heading(page)).toBe('The agent is not signed in')
    expect(await note(page)).toContain('that is not signed in')
    await look(page, 'hotel-agent-signed-out')

    await letIn(session, ['poppy:read', 'poppy:write'])
    await page.reload()
    expect(await heading(page)).toBe('Your bookings')
    expect(await note(page)).toContain(`${new URL(visiting.agent.clientId).host} for Maya Lindqvist`)
    await look(page, 'hotel-agent-bookings')
    const mirador = page.locator('#MIR-3121')
    await mirador.getByText('Cancel the booking').click()
    await mirador.getByRole('button', { name: 'Cancel MIR-3121' }).click()
    await page.waitForURL(`${hotel.origin}/bookings#MIR-3121`)
    expect(await mirador.textContent()).toContain('Nothing to pay')

    // She takes the right away, in her own browser; the agent's has a form open that it could use until now.
    const levante = page.locator('#MIR-3058')
    await levante.getByText('Cancel the booking').click()
    const own = await browser.page({}, phone)
    await own.goto(`${hotel.origin}/poppy/agents`)
    await own.getByLabel('Email address').fill('maya@example.com')
    await own.getByLabel('Password').fill('sea-view-42')
    await own.getByRole('button', { name: 'Sign in' }).click()
    await own.getByRole('button', { name: /Add notes to your bookings and cancel them/ }).click()
    await levante.getByRole('button', { name: 'Cancel MIR-3058' }).click()
    expect(await heading(page)).toBe('The agent may not do this')
    expect(await page.locator('main').textContent()).toContain('poppy:write')
    await look(page, 'hotel-agent-lacks')
    await page.goto(`${hotel.origin}/bookings`)
    expect(await levante.textContent()).not.toContain('Nothing to pay')
    expect(await page.getByText('Cancel the booking').count()).toBe(0)
    await look(page, 'hotel-agent-only-looks')

    await session.signOut()
    await page.reload()
    expect(await heading(page)).toBe('The agent is not signed in')
    await own.goto(`${hotel.origin}/bookings`)
    expect(await heading(own)).toBe('Your bookings')
  })

  it('is the agent’s, though a guest signed in there before: neither sees the other’s pages, and no site sends their forms [5.cookie-wins]', {
    timeout,
  }, async () => {
    const page = await browser.page({}, phone)
    await page.goto(`${hotel.origin}/bookings`)
    await page.getByLabel('Email address').fill('guest2@example.com')
    await page.getByLabel('Password').fill('harbour-7')
    await page.getByRole('button', { name: 'Sign in' }).click()
    expect(await page.locator('main').textContent()).toContain('MIR-3077')

    const session = (await visiting.agent.forUser('wins').company(hotel.origin)).session()
    const joined = await session.joinBrowser({ returnTo: `${hotel.origin}/bookings` })
    await page.goto(joined.url)
    await page.waitForURL(`${hotel.origin}/bookings`)
    const cookies = (await page.context().cookies(hotel.origin)).map(({ name }) => name)
    expect(cookies).toEqual(expect.arrayContaining(['miramar_session', '__Host-miramar_agent']))
    expect(await heading(page)).toBe('The agent is not signed in')
    await letIn(session, ['poppy:read', 'poppy:write'])
    await page.reload()
    expect(await page.locator('main').textContent()).toContain('MIR-3058')
    expect(await page.locator('main').textContent()).not.toContain('MIR-3077')
    await page.goto(`${hotel.origin}/account`)
    expect(await heading(page)).toBe('Only for guests themselves')
    // Nor can it approve for the guest whose cookie lies there.
    await page.goto(`${hotel.origin}/poppy/agents`)
    expect(await page.locator('body').textContent()).not.toContain('guest2@example.com')

    // Another port of this machine is another site's page to which browsers nonetheless send both cookies.
    await page.goto(`${hotel.origin}/bookings`)
    const token = await page.locator('[name=form_token]').first().getAttribute('value')
    await page.route('http://localhost:1/', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<form method="post" action="${hotel.origin}/bookings/MIR-3058/cancel">
          <input name="form_token" value="${token}"><button>Win a stay</button></form>`,
      }),
    )
    await page.goto('http://localhost:1/')
    await page.getByRole('button', { name: 'Win a stay' }).click()
    await page.waitForURL(`${hotel.origin}/bookings/MIR-3058/cancel`)
    expect(await page.locator('main').textContent()).toContain('sent from another site')
    await page.goto(`${hotel.origin}/bookings`)
    expect(await page.locator('#MIR-3058').textContent()).not.toContain('Nothing to pay')
  })
})

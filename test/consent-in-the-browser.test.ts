import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startVisitingAgent, type VisitingAgent } from '../examples/hotel/src/agent-server.ts'
import { type Hotel, startHotel } from '../examples/hotel/src/server.ts'
import { axe, chromiumMissing, openBrowser, screenshot, type TestBrowser } from './setup/browser.ts'
import { seedHotel } from './setup/seeded-hotel.ts'

const directory = mkdtempSync(join(tmpdir(), 'consent-'))
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
  rmSync(directory, { recursive: true })
})

/** An agent begins a sign-in; a person opens its address, is sent to the hotel's sign-in, and comes to the page. */
async function comeToThePage(user: string, scopes: readonly string[], look: Parameters<TestBrowser['page']>[0] = {}) {
  const company = await visiting.agent.forUser(user).company(hotel.origin)
  const session = company.session()
  const pending = await session.beginSignIn({ scopes })
  // Whoever waits for the outcome sees it; a decline is told where it is looked for.
  const outcome = pending.done.then(
    (result) => ({ granted: result.granted }),
    (error: unknown) => ({ refused: error instanceof Error ? error.message : 'unknown' }),
  )
  const page = await browser.page(look)
  await page.goto(pending.url)
  expect(new URL(page.url()).pathname).toBe('/login')
  await page.getByLabel('Email').fill('maya@example.com')
  await page.getByLabel('Password').fill('sea-view-42')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL((url) => url.pathname === '/poppy/authorize')
  return { page, session, outcome }
}

async function fitsWithoutScrolling(page: Page): Promise<boolean> {
  return page.evaluate(
    'document.documentElement.scrollHeight <= innerHeight && document.documentElement.scrollWidth <= innerWidth',
  )
}

describe.skipIf(chromiumMissing)('a person lets an agent in, in a real browser', () => {
  it('shows who asks, for which account and for what, on every screen and ground [4.5.shows-agent, 4.5.shows-scopes]', async () => {
    for (const screen of ['phone', 'desktop'] as const) {
      for (const scheme of ['light', 'dark'] as const) {
        const { page } = await comeToThePage(`look-${screen}-${scheme}`, ['poppy:read', 'poppy:write', 'loyalty'], {
          screen,
          scheme,
        })
        const text = await page.locator('main').textContent()
        expect(text).toContain('Visiting Agent')
        expect(text).toContain(new URL(visiting.agent.clientId).host)
        expect(text).toContain('maya@example.com')
        for (const right of ['See your bookings', 'Add notes to your bookings', 'See your points'])
          expect(text).toContain(right)
        await expect(page.getByRole('link', { name: 'Use another account' }).getAttribute('href')).resolves.toMatch(
          `${hotel.origin}/`,
        )
        expect(text).toMatch(/90 days/)
        await expect(page.getByRole('link', { name: 'connected agents' }).getAttribute('href')).resolves.toBe(
          `${hotel.origin}/poppy/agents`,
        )
        await screenshot(page, `consent-${screen}-${scheme}`)
        expect(await axe(page)).toEqual([])
        expect(await fitsWithoutScrolling(page)).toBe(true)
        await page.context().close()
      }
    }
  })

  it('grants what stays ticked and brings the person back to the agent [4.5.shows-scopes, 4.4.response-scope]', async () => {
    const { page, session, outcome } = await comeToThePage('partial', ['poppy:read', 'poppy:write'])
    await page.getByLabel('Add notes to your bookings').uncheck()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.waitForURL((url) => url.host === new URL(visiting.agent.clientId).host)
    await screenshot(page, 'back-at-the-agent')
    expect(await axe(page)).toEqual([])
    expect(await outcome).toEqual({ granted: ['poppy:read'] })
    expect((await session.call('my_bookings')).body).toMatchObject({ bookings: expect.any(Array) })
    await page.goto(`${hotel.origin}/account`)
    await screenshot(page, 'account-with-agent')
    expect(await axe(page)).toEqual([])
    await page.getByRole('button', { name: /Disconnect/ }).click()
    await expect(session.call('my_bookings')).rejects.toMatchObject({ code: 'sign_in_required' })
    await page.context().close()
  })

  it('asks again when nothing is ticked, and changes nothing', async () => {
    const { page } = await comeToThePage('nothing', ['poppy:read'])
    await page.getByLabel(/See your bookings/).uncheck()
    await page.getByRole('button', { name: 'Approve' }).click()
    await expect(page.getByRole('alert').textContent()).resolves.toContain('Choose at least one')
    await screenshot(page, 'consent-nothing-chosen')
    expect(await axe(page)).toEqual([])
    await page.context().close()
  })

  it('tells the agent when the person declines [4.5.access-denied]', async () => {
    const { page, outcome } = await comeToThePage('decline', ['poppy:read'])
    await page.getByRole('button', { name: 'Decline' }).click()
    await page.waitForURL((url) => url.host === new URL(visiting.agent.clientId).host)
    await screenshot(page, 'declined-at-the-agent')
    expect(await axe(page)).toEqual([])
    expect(await outcome).toMatchObject({ refused: expect.stringMatching(/declin/i) })
    await page.context().close()
  })

  it('works by keyboard alone', async () => {
    const { page, outcome } = await comeToThePage('keyboard', ['poppy:read'])
    await page.getByRole('checkbox').focus()
    for (const key of ['Tab', 'Tab', 'Tab']) await page.keyboard.press(key)
    expect(await page.evaluate('document.activeElement?.textContent')).toBe('Approve')
    await page.keyboard.press('Enter')
    expect(await outcome).toEqual({ granted: ['poppy:read'] })
    await page.context().close()
  })

  it('shows a page that can’t be trusted as one, in words', async () => {
    const page = await browser.page()
    const response = await page.goto(
      `${hotel.origin}/poppy/authorize?client_id=https://nobody.example/agent.json&redirect_uri=https://nobody.example/cb`,
    )
    expect(response?.status()).toBe(400)
    await screenshot(page, 'authorize-untrusted')
    expect(await axe(page)).toEqual([])
    await page.context().close()
  })
})

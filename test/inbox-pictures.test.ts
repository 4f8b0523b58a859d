import { mkdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axe, chromiumMissing, openBrowser, type TestBrowser } from './setup/browser.ts'
import { type DeskStory, openDesk } from './setup/desk-story.ts'

// The pictures of docs/staff-inbox.md, of a day at the hotel's front desk. They are taken anew by
//   PICTURES=docs/inbox npx vitest run test/inbox-pictures.test.ts
// and without that go to screenshots/, which is not in git.

const folder = resolve(process.env.PICTURES ?? 'screenshots')
/** Bytes that a picture may have: they are in git. */
const largest = 200_000
const sizes = { desktop: { width: 1360, height: 860 }, phone: { width: 390, height: 844 } } as const

let desk: DeskStory
let browser: TestBrowser

beforeAll(async () => {
  if (chromiumMissing) return
  mkdirSync(folder, { recursive: true })
  desk = await openDesk()
  browser = await openBrowser()
}, 120_000)

afterAll(async () => {
  if (chromiumMissing) return
  await browser.close()
  await desk.close()
})

/** Rosa's browser, whose clock is the hotel's. */
async function open(scheme: 'light' | 'dark' = 'light', screen: keyof typeof sizes = 'desktop') {
  const context = await browser.context({ scheme, screen }, { viewport: sizes[screen] })
  await context.addCookies([{ ...desk.cookie, url: desk.hotel.origin, httpOnly: true, sameSite: 'Lax' }])
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text())
  })
  await page.clock.setFixedTime(desk.now())
  const at = (path: string) => page.goto(desk.hotel.inbox + path)
  return { page, at, faults, close: () => context.close() }
}

/** Takes a picture, of the window or of a part of it, and finds nothing wrong with the page. */
async function take(page: Page, name: string, part?: string): Promise<void> {
  const path = join(folder, `${name}.png`)
  await page.evaluate('document.fonts.ready')
  if (part === undefined) await page.screenshot({ path })
  else await page.locator(part).first().screenshot({ path })
  expect([name, await axe(page)]).toEqual([name, []])
  expect([name, await page.evaluate('document.documentElement.scrollWidth <= innerWidth')]).toEqual([name, true])
  expect(statSync(path).size).toBeLessThan(largest)
}

describe.skipIf(chromiumMissing)('the inbox, as staff see it', { timeout: 120_000 }, () => {
  it.each(['light', 'dark'] as const)('shows who waits, %s', async (scheme) => {
    const { page, at, faults, close } = await open(scheme)
    await at('')
    await expect.poll(() => page.locator('main').textContent()).toContain('concierge.example')
    await take(page, `queue-${scheme}`)
    await close()
    expect(faults).toEqual([])
  })
})

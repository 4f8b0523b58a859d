import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axe, chromiumMissing, openBrowser, type TestBrowser } from './setup/browser.ts'
import { type DeskStory, openDesk } from './setup/desk-story.ts'
import { smallerPng } from './setup/smaller-png.ts'

// The pictures of docs/staff-inbox.md, of a day at the hotel's front desk. They are taken anew by
//   PICTURES=docs/inbox npx vitest run test/inbox-pictures.test.ts
// and without that go to screenshots/, which is not in git.

const folder = resolve(process.env.PICTURES ?? 'screenshots')
/** Bytes that a picture may have: they are in git. */
const largest = 200_000
const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const

/** How long a page may take to show something, on a machine that may be busy with other tests. */
const patiently = { timeout: 15_000 }

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
    // A 404 says its address elsewhere.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load')) faults.push(message.text())
  })
  page.on('response', (answer) => {
    const path = new URL(answer.url()).pathname
    if (answer.status() >= 400) faults.push(`${answer.status()} ${path}`)
  })
  await page.clock.setFixedTime(desk.now())
  const at = (path: string) => page.goto(desk.hotel.inbox + path)
  return { page, at, faults, close: () => context.close() }
}

/** Takes a picture, of the window or of a part of it, and finds nothing wrong with the page. */
async function take(page: Page, name: string, part?: string): Promise<void> {
  const path = join(folder, `${name}.png`)
  await page.evaluate('document.fonts.ready')
  const picture = part === undefined ? await page.screenshot() : await page.locator(part).first().screenshot()
  writeFileSync(path, smallerPng(picture))
  expect([name, await axe(page)]).toEqual([name, []])
  expect([name, await page.evaluate('document.documentElement.scrollWidth <= innerWidth')]).toEqual([name, true])
  expect(statSync(path).size).toBeLessThan(largest)
}

describe.skipIf(chromiumMissing)('the inbox, as staff see it', { timeout: 120_000 }, () => {
  it.each(['light', 'dark'] as const)('shows who waits, %s', async (scheme) => {
    const { page, at, faults, close } = await open(scheme)
    await at('')
    await expect.poll(() => page.locator('main').textContent(), patiently).toContain('concierge.example')
    await take(page, `queue-${scheme}`)
    await close()
    expect(faults).toEqual([])
  })

  it('has the customer’s account open only once that was asked for', async () => {
    const { page, at, faults, close } = await open()
    await at(`/conversations/${desk.maya.talk.id}?list=waiting`)
    await page.getByRole('button', { name: 'Take this conversation' }).first().click()
    const account = page.getByRole('button', { name: 'Open the account' })
    await account.click()
    await expect.poll(() => page.locator('main').textContent(), patiently).toContain('Maya Lindqvist')
    await take(page, 'account', '#details')
    await close()
    expect(faults).toEqual([])
  })

  it.each([
    ['light', 'desktop'],
    ['dark', 'desktop'],
    ['light', 'phone'],
  ] as const)('shows what is asked, what was said, and what can be done, %s on a %s', async (scheme, screen) => {
    await haveMayas()
    const { page, at, faults, close } = await open(scheme, screen)
    await at(`/conversations/${desk.maya.talk.id}?list=mine`)
    await expect.poll(() => page.locator('main').textContent(), patiently).toContain('the low bed is in the store')
    await take(page, `workspace-${screen === 'phone' ? 'phone' : scheme}`)
    await close()
    expect(faults).toEqual([])
  })

  it('shows what came of a proposal', async () => {
    await haveMayas()
    const { session, talk } = desk.maya
    const staff = desk.hotel.company.conversations
    await staff.reply(talk.id, desk.rosa, {
      text: 'Yes, gladly. We put the low bed into Limonero, and the mirror comes down to 1.10 m. The way from the street is level, and breakfast can be had in the courtyard.',
      data: { room: 'limonero', bed_height_cm: 46, step_free: true },
    })
    const stay = { room: 'limonero', from: '2027-06-26', to: '2027-07-03', guests: 1 }
    await staff.callTool(talk.id, desk.rosa, 'book_room', stay)
    await talk.answer({ seconds: 60 })
    const [proposed] = await session.operations.list()
    const { operation } = await session.operations.confirm(proposed?.id ?? '', {
      approve: async () => ({ approved: true }),
    })
    if (!operation.isFinal) await session.operations.wait(operation.id)
    const { page, at, faults, close } = await open()
    await at(`/conversations/${desk.maya.talk.id}?list=mine`)
    await expect.poll(() => page.locator('main').textContent(), patiently).toContain('MIR-')
    await take(page, 'operation')
    await close()
    expect(faults).toEqual([])
  })

  it('shows a draft that came too late', async () => {
    const { page, at, faults, close } = await open()
    await at(`/conversations/${desk.towels.talk.id}?list=mine`)
    await expect.poll(() => page.locator('main').textContent(), patiently).toContain('twelve towels into Amapola')
    await take(page, 'draft')
    await close()
    expect(faults).toEqual([])
  })

  it('shows what has to be settled', async () => {
    const { page, at, faults, close } = await open()
    await at(`/operations/${desk.unsettled}?list=settle`)
    await expect.poll(() => page.locator('main').textContent(), patiently).toContain('Look it up')
    await take(page, 'settle')
    await close()
    expect(faults).toEqual([])
  })

  it('finds what was said', async () => {
    const { page, at, faults, close } = await open()
    await at('')
    await page.getByRole('searchbox').fill('Limonero')
    await page.getByRole('searchbox').press('Enter')
    await page.waitForURL(/q=Limonero/)
    await page.locator('[data-row] mark', { hasText: 'Limonero' }).first().waitFor()
    await take(page, 'search')
    await close()
    expect(faults).toEqual([])
  })

  it('leads to what was found', async () => {
    const { page, at, faults, close } = await open('dark')
    await at('?q=Limonero')
    await page
      .locator('[data-row]', { has: page.locator('mark') })
      .last()
      .click()
    await page.locator('[data-found] mark').first().waitFor()
    await take(page, 'search-found')
    await close()
    expect(faults).toEqual([])
  })
})

/** Rosa has it, with a note: once. */
async function haveMayas(): Promise<void> {
  const staff = desk.hotel.company.conversations
  const { id } = desk.maya.talk
  if ((await staff.read(id)).notes.length > 0) return
  await staff.take(id, desk.rosa)
  await staff.note(id, desk.rosa, 'Pau: the low bed is in the store, and the ramp for the terrace too.')
}

import { operation, succeeded } from 'poppyseed'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { asked, lists } from './setup/bookings.ts'
import { axe, chromiumMissing, openBrowser, screenshot, type TestBrowser } from './setup/browser.ts'
import { openSite } from './setup/site.ts'
import { makeWireAgent, type WireAgent } from './setup/wire-agent.ts'

/** The company's own page for an operation, as a person sees it in a real browser. */

let browser: TestBrowser

beforeAll(async () => {
  if (!chromiumMissing) browser = await openBrowser()
})

afterAll(async () => {
  if (!chromiumMissing) await browser.close()
})

const bookRoom = operation({
  name: 'book_room',
  description: 'Books a room.',
  input: z.object({ nights: z.int() }),
  scope: 'poppy:write',
  approval: 'page',
  propose: ({ nights }) => ({
    summary: `A sea view room for ${nights} nights, with breakfast. 260 € are charged to your card now; until 1 March you get all of it back.`,
    terms: {
      room: 'Sea view, second floor',
      from: '2027-03-03',
      to: '2027-03-05',
      guests: 2,
      price: { amount: '260.00', currency: 'EUR' },
      free_cancellation_until: '2027-03-01',
    },
  }),
  perform: () => succeeded({ booking: 'B17' }),
})

/** A site with a signed-in agent, whose person approved a code in their browser. */
async function open() {
  let agent: WireAgent | undefined
  const site = await openSite({
    signIn: { device: ['poppy:read', 'poppy:write'] },
    tools: [],
    operations: [bookRoom],
    fetchDocument: async (url) => ({ document: agent?.documents[url], headers: new Headers() }),
  })
  agent = await makeWireAgent({
    clientId: 'https://agent.example/agent.json',
    now: Date.now,
    origin: site.origin,
    send: (request) => fetch(request),
  })
  lists(agent)
  const codes = (await (
    await agent.post(`${site.origin}/poppy/device-authorization`, { scope: 'poppy:read poppy:write' }, { proof: null })
  ).json()) as { device_code: string; verification_uri_complete: string }
  const page = await browser.page()
  await page.goto(codes.verification_uri_complete)
  await signIn(page)
  await page.getByRole('button', { name: 'Approve' }).click()
  const { session_id } = (await (await agent.startSession()).json()) as { session_id: string }
  const answer = await agent.token({
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: codes.device_code,
    session_id,
  })
  const { access_token } = (await answer.json()) as { access_token: string }
  return { site, calls: asked(agent, access_token) }
}

async function signIn(page: Awaited<ReturnType<TestBrowser['page']>>): Promise<void> {
  await page.waitForURL((url) => url.pathname === '/login')
  await page.locator('[name=user]').fill('maya')
  await page.locator('[name=password]').fill('sea-view-42')
  await page.getByRole('button', { name: 'Sign in' }).click()
}

describe.skipIf(chromiumMissing)('a person at the page of an operation, in a real browser', () => {
  it('reads all of it and confirms, on each screen and ground', async () => {
    const { site, calls } = await open()
    for (const screen of ['phone', 'desktop'] as const) {
      for (const scheme of ['light', 'dark'] as const) {
        const { operation_id: id, confirmation_url = '' } = await calls.propose('book_room', { nights: 2 })
        const page = await browser.page({ screen, scheme })
        await page.goto(confirmation_url)
        await signIn(page)
        await page.getByRole('heading', { name: 'Example Agent asks you to confirm' }).waitFor()
        expect(await page.getByRole('row').count()).toBe(6)
        expect(await page.getByRole('row', { name: 'Price' }).textContent()).toBe('Price€260.00')
        expect(await axe(page)).toEqual([])
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
        await screenshot(page, `operation-${screen}-${scheme}`)
        // By the keyboard, all the way.
        await page.getByRole('button', { name: 'Confirm' }).focus()
        await page.keyboard.press('Enter')
        await page.getByRole('status').waitFor()
        expect(await axe(page)).toEqual([])
        await page.reload()
        expect(await page.getByRole('button').count()).toBe(0)
        await screenshot(page, `operation-done-${screen}-${scheme}`)
        expect((await site.company.operations.get(id))?.confirmation?.approvedBy).toBe('page')
      }
    }
  })

  it('is shown new terms when they have changed, and may decline', async () => {
    const { site, calls } = await open()
    const { operation_id: id, confirmation_url = '' } = await calls.propose('book_room', { nights: 2 })
    const page = await browser.page({}, { locale: 'de-DE', viewport: { width: 320, height: 640 } })
    await page.goto(confirmation_url)
    await signIn(page)
    await page.getByRole('heading', { name: 'Example Agent bittet Sie um Bestätigung' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await site.company.operations.revise(id, { revision: 1, summary: 'Nun 300 €.', terms: {} }, { by: 'Rita' })
    await page.getByRole('button', { name: 'Bestätigen' }).click()
    expect(await page.getByRole('alert').textContent()).toContain('Die Bedingungen haben sich geändert')
    expect(await axe(page)).toEqual([])
    await screenshot(page, 'operation-changed-phone-light')
    await page.getByRole('button', { name: 'Ablehnen' }).click()
    expect(await page.getByRole('status').textContent()).toContain('Nichts davon ist geschehen')
    expect((await site.company.operations.get(id))?.state).toBe('cancelled')
  })
})

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axe, chromiumMissing, openBrowser, screenshot, type TestBrowser } from './setup/browser.ts'
import { openSite, type Site } from './setup/site.ts'
import { makeWireAgent, type WireAgent } from './setup/wire-agent.ts'

// What a person sees of Device Sign-In (4.6) and of connected agents (4.9), in a real browser.

let browser: TestBrowser

beforeAll(async () => {
  if (!chromiumMissing) browser = await openBrowser()
})

afterAll(async () => {
  if (!chromiumMissing) await browser.close()
})

const looks = (['phone', 'desktop'] as const).flatMap((screen) =>
  (['light', 'dark'] as const).map((scheme) => ({ screen, scheme })),
)

/** The smallest screens on which everything has to be seen at once. */
const smallest = { phone: { width: 360, height: 740 }, desktop: { width: 1280, height: 800 } } as const

async function signIn(page: Page): Promise<void> {
  await page.waitForURL((url) => url.pathname === '/login')
  await page.locator('[name=user]').fill('maya')
  await page.locator('[name=password]').fill('sea-view-42')
  await page.getByRole('button', { name: 'Sign in' }).click()
}

async function fits(page: Page): Promise<boolean> {
  return page.evaluate(
    'document.documentElement.scrollHeight <= innerHeight && document.documentElement.scrollWidth <= innerWidth',
  )
}

/** A site, and an agent whose documents it finds without a network. */
async function open(): Promise<{ readonly site: Site; readonly agent: WireAgent }> {
  let agent: WireAgent | undefined
  const site = await openSite({
    signIn: { direct: ['poppy:read', 'poppy:write', 'loyalty'], device: ['poppy:read', 'poppy:write'] },
    fetchDocument: async (url) => ({ document: agent?.documents[url], headers: new Headers() }),
  })
  agent = await makeWireAgent({
    clientId: 'https://agent.example/agent.json',
    now: Date.now,
    origin: site.origin,
    send: (request) => fetch(request),
  })
  return { site, agent }
}

interface Codes {
  readonly user_code: string
  readonly device_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
}

/** Asks for a pair of codes as an agent does. */
async function askForCodes({ site, agent }: Awaited<ReturnType<typeof open>>): Promise<Codes> {
  const scope = 'poppy:read poppy:write'
  const answer = await agent.post(`${site.origin}/poppy/device-authorization`, { scope }, { proof: null })
  expect(answer.status).toBe(200)
  return (await answer.json()) as Codes
}

describe.skipIf(chromiumMissing)('a person with a code, in a real browser', () => {
  it('types it, sees who asks on one screen, and approves [4.6.consent-page]', async () => {
    const party = await open()
    for (const look of looks) {
      const codes = await askForCodes(party)
      const page = await browser.page(look, { viewport: smallest[look.screen] })
      await page.goto(codes.verification_uri)
      await signIn(page)
      await page.waitForURL((url) => url.pathname === '/poppy/device')
      expect(await axe(page)).toEqual([])
      expect(await fits(page)).toBe(true)
      await screenshot(page, `device-code-${look.screen}-${look.scheme}`)
      await page.getByLabel('Code').fill('bbbb bbbb')
      await page.getByRole('button', { name: 'Continue' }).click()
      expect(await page.getByRole('alert').textContent()).toContain('No agent has shown this code')
      expect(await axe(page)).toEqual([])
      await screenshot(page, `device-wrong-${look.screen}-${look.scheme}`)
      await page.getByLabel('Code').fill(codes.user_code.toLowerCase().replace('-', ' '))
      await page.keyboard.press('Enter')
      await page.getByText('Approve only if you started this yourself').waitFor()
      expect(await axe(page)).toEqual([])
      await screenshot(page, `device-consent-${look.screen}-${look.scheme}`)
      expect(await fits(page)).toBe(true)
      await page.getByRole('button', { name: 'Approve' }).click()
      expect(await page.getByRole('heading').textContent()).toBe('Your agent is in')
      expect(await axe(page)).toEqual([])
      await screenshot(page, `device-done-${look.screen}-${look.scheme}`)
    }
  })

  it('comes by the link, signs in on the way, and nothing is approved before the click [4.6.link-never-approves]', async () => {
    const party = await open()
    const codes = await askForCodes(party)
    const page = await browser.page()
    await page.goto(codes.verification_uri_complete)
    await signIn(page)
    expect(await page.getByText(codes.user_code).isVisible()).toBe(true)
    await page.getByRole('button', { name: 'Decline' }).click()
    expect(await page.getByRole('heading').textContent()).toBe('Declined')
    await page.goto(codes.verification_uri_complete)
    expect(await page.getByRole('heading').textContent()).toBe('This code was answered already')
  })
})

describe.skipIf(chromiumMissing)('a person at the page of connected agents, in a real browser', () => {
  it('sees who acts for them, takes a right away and disconnects, each with one click', async () => {
    const party = await open()
    const { agent, site } = party
    const codes = await askForCodes(party)
    const page = await browser.page({}, { viewport: smallest.phone })
    await page.goto(codes.verification_uri_complete)
    await signIn(page)
    await page.getByRole('button', { name: 'Approve' }).click()
    const session = (await (await agent.startSession()).json()) as { session_id: string }
    const tokens = await agent.token({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: codes.device_code,
      session_id: session.session_id,
    })
    expect(tokens.status).toBe(200)
    for (const look of looks) {
      await page.setViewportSize(smallest[look.screen])
      await page.emulateMedia({ colorScheme: look.scheme })
      await page.goto(`${site.origin}/poppy/agents`)
      expect(await axe(page)).toEqual([])
      expect(await fits(page)).toBe(true)
      await screenshot(page, `agents-${look.screen}-${look.scheme}`)
    }
    await page.getByRole('button', { name: 'Take away: Change your bookings' }).click()
    expect(await page.getByRole('status').textContent()).toContain('can no longer do that')
    expect(await page.getByRole('listitem').count()).toBe(1)
    expect(await axe(page)).toEqual([])
    await screenshot(page, 'agents-taken-away')
    await page.getByRole('button', { name: 'Disconnect' }).click()
    expect(await page.getByText('No agent has access to your account').isVisible()).toBe(true)
    expect(await axe(page)).toEqual([])
    await screenshot(page, 'agents-none')
  })
})

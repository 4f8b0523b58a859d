import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axe, chromiumMissing, openBrowser, screenshot, type TestBrowser } from './setup/browser.ts'
import { authorizationQuery } from './setup/consent.ts'
import { openSite, type Site } from './setup/site.ts'
import { makeWireAgent, sha256, type WireAgent } from './setup/wire-agent.ts'

// The same pages for a person whose browser is German: longer words, and still all that matters on one screen.

let browser: TestBrowser

beforeAll(async () => {
  if (!chromiumMissing) browser = await openBrowser()
})

afterAll(async () => {
  if (!chromiumMissing) await browser.close()
})

/** The smallest screens on which everything has to be seen at once. */
const looks = [
  { name: 'phone-light', viewport: { width: 360, height: 740 }, scheme: 'light' },
  { name: 'phone-dark', viewport: { width: 360, height: 740 }, scheme: 'dark' },
  { name: 'desktop-light', viewport: { width: 1280, height: 800 }, scheme: 'light' },
  { name: 'desktop-dark', viewport: { width: 1280, height: 800 }, scheme: 'dark' },
] as const
type Look = (typeof looks)[number]
/** For what comes in between: the smallest screen. */
const small = looks.slice(0, 1)

async function open(): Promise<{ readonly site: Site; readonly agent: WireAgent }> {
  let agent: WireAgent | undefined
  const site = await openSite({
    scopes: {
      'poppy:read': { en: 'See your bookings', de: 'Ihre Buchungen und Ihre Notizen dazu sehen' },
      'poppy:write': { en: 'Change your bookings', de: 'Ihre Buchungen ändern und Notizen hinzufügen' },
      loyalty: { en: 'See your points', de: 'Ihre Treuepunkte sehen' },
    },
    signIn: {
      direct: ['poppy:read', 'poppy:write', 'loyalty'],
      device: ['poppy:read', 'poppy:write', 'loyalty'],
    },
    fetchDocument: async (url) => ({ document: agent?.documents[url], headers: new Headers() }),
  })
  agent = await makeWireAgent({
    clientId: 'https://assistant.agents.example/agent.json',
    now: Date.now,
    origin: site.origin,
    send: (request) => fetch(request),
  })
  return { site, agent }
}

async function signIn(page: Page): Promise<void> {
  await page.waitForURL((url) => url.pathname === '/login')
  await page.locator('[name=user]').fill('maya')
  await page.locator('[name=password]').fill('sea-view-42')
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Looks at a page on each screen and ground: in German, nothing beyond the edge, nothing that axe finds. */
async function lookAt(
  page: Page,
  name: string,
  visible: readonly string[],
  on: readonly Look[] = looks,
): Promise<void> {
  expect(await page.evaluate('document.documentElement.lang')).toBe('de')
  for (const look of on) {
    await page.setViewportSize(look.viewport)
    await page.emulateMedia({ colorScheme: look.scheme })
    await screenshot(page, `${name}-de-${look.name}`)
    const fits = await page.evaluate(
      'document.documentElement.scrollHeight <= innerHeight && document.documentElement.scrollWidth <= innerWidth',
    )
    expect({ look: look.name, fits }).toEqual({ look: look.name, fits: true })
    for (const text of visible)
      expect({ text, is: await page.getByText(text).first().isVisible() }).toEqual({ text, is: true })
    // What is large and what is narrow is the same on both grounds; colours are the same on both screens.
    if (look.name === 'phone-light' || look.name === 'desktop-dark') expect(await axe(page)).toEqual([])
  }
}

describe.skipIf(chromiumMissing)('a person whose browser is German, in a real browser', () => {
  it('sees who asks, for what and for how long, and decides, on one screen; with a code as well [4.5.shows-agent, 4.5.shows-scopes, 4.6.consent-page]', {
    timeout: 120_000,
  }, async () => {
    const { site, agent } = await open()
    const scope = 'poppy:read poppy:write loyalty'
    const page = await browser.page({}, { locale: 'de-DE', viewport: looks[0].viewport })
    const query = authorizationQuery(agent, {
      scope,
      code_challenge: sha256('a verifier that nobody needs here, since no code is fetched'),
    })
    await page.goto(`${site.origin}/poppy/authorize?${query}`)
    await signIn(page)
    await page.waitForURL((url) => url.pathname === '/poppy/authorize')
    const all = [
      'bittet um Zugriff auf Ihr Konto',
      'assistant.agents.example',
      'maya@example.com',
      'Ihre Buchungen und Ihre Notizen dazu sehen',
      'Ihre Treuepunkte sehen',
      '90 Tage',
      'Ablehnen',
      'Zustimmen',
    ]
    await lookAt(page, 'consent', all)

    const answer = await agent.post(`${site.origin}/poppy/device-authorization`, { scope }, { proof: null })
    const codes = (await answer.json()) as { readonly user_code: string; readonly device_code: string }
    await page.goto(`${site.origin}/poppy/device`)
    await lookAt(page, 'device', ['Geben Sie den Code ein', 'Weiter'])
    await page.getByLabel('Code').fill('bbbb bbbb')
    await page.getByRole('button', { name: 'Weiter' }).click()
    await lookAt(page, 'device-wrong', ['Diesen Code hat kein Agent angezeigt'], small)
    await page.getByLabel('Code').fill(codes.user_code)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Zustimmen' }).waitFor()
    await lookAt(page, 'device-consent', [...all, codes.user_code, 'Stimmen Sie nur zu'])
    await page.getByRole('button', { name: 'Zustimmen' }).click()
    await lookAt(page, 'device-done', ['Ihr Agent hat jetzt Zugriff'], small)

    const session = (await (await agent.startSession()).json()) as { session_id: string }
    const tokens = await agent.token({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: codes.device_code,
      session_id: session.session_id,
    })
    expect(tokens.status).toBe(200)
    await page.goto(`${site.origin}/poppy/agents`)
    await lookAt(page, 'agents', [
      'Agenten, die für Sie handeln',
      'durch einen Code, den Sie eingegeben haben',
      'Verbindung trennen',
    ])
    await page.getByRole('button', { name: 'Entziehen: Ihre Treuepunkte sehen' }).click()
    await lookAt(page, 'agents-taken-away', ['Erledigt. Der Agent kann das nicht mehr tun.'], small)
    await page.getByRole('button', { name: /^Verbindung trennen/ }).click()
    expect(await page.getByText('Kein Agent hat Zugriff auf Ihr Konto').isVisible()).toBe(true)
  })
})

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axe, chromiumMissing, openBrowser, screenshot, type TestBrowser } from './setup/browser.ts'
import { authorizationQuery } from './setup/consent.ts'
import { openSite, type Site } from './setup/site.ts'
import { makeWireAgent, type WireAgent } from './setup/wire-agent.ts'
import type { Tokens } from './setup/world.ts'

// What a person has to see before they decide stands on one screen: who asks, for what, for how long, and both answers. Every
// page, on the smallest screens, in both languages; nothing has to be scrolled.

const screens = { phone: { width: 360, height: 740 }, desktop: { width: 1280, height: 800 } } as const
const words = {
  en: { locale: 'en-GB', approve: 'Approve', decline: 'Decline', next: 'Continue', code: 'Code', lasts: '90 days' },
  de: { locale: 'de-DE', approve: 'Zustimmen', decline: 'Ablehnen', next: 'Weiter', code: 'Code', lasts: '90 Tage' },
} as const
const scopes = {
  'poppy:read': { en: 'See your bookings and invoices', de: 'Ihre Buchungen und Rechnungen sehen' },
  'poppy:write': { en: 'Book, change and cancel for you', de: 'Für Sie buchen, ändern und stornieren' },
  loyalty: { en: 'See and use your bonus points', de: 'Ihre Bonuspunkte sehen und einlösen' },
}
const all = Object.keys(scopes)

let browser: TestBrowser

beforeAll(async () => {
  if (!chromiumMissing) browser = await openBrowser()
})

afterAll(async () => {
  if (!chromiumMissing) await browser.close()
})

async function open() {
  const clock = { ahead: 0 }
  const now = () => Date.now() + clock.ahead
  let agent: WireAgent | undefined
  const site: Site = await openSite({
    scopes,
    signIn: { direct: all, device: all },
    browser: { cookie: 'hotel_agent' },
    limits: false,
    now,
    fetchDocument: async (url) => ({ document: agent?.documents[url], headers: new Headers() }),
  })
  agent = await makeWireAgent({
    clientId: 'https://assistant.an-agent-with-a-long-name.example/agents/personal.json',
    now,
    origin: site.origin,
    send: (request) => fetch(request),
  })
  Object.assign(agent.documents[agent.clientId] as object, { client_name: 'Sunflower Personal Travel Assistant' })
  return { site, agent, clock }
}
type Party = Awaited<ReturnType<typeof open>>

interface Codes {
  readonly user_code: string
  readonly device_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
}

async function askForCodes({ site, agent }: Party): Promise<Codes> {
  const url = `${site.origin}/poppy/device-authorization`
  return (await (await agent.post(url, { scope: all.join(' ') }, { proof: null })).json()) as Codes
}

/** Nothing of the page lies outside of the screen. */
async function fits(page: Page, name: string): Promise<void> {
  // The address may be the next one's while there is no document yet.
  await page.locator('main').waitFor()
  const size: string = await page.evaluate(
    'JSON.stringify([document.documentElement.scrollHeight - innerHeight, document.documentElement.scrollWidth - innerWidth].map((beyond) => Math.max(0, beyond)))',
  )
  expect({ name, beyond: size }).toEqual({ name, beyond: '[0,0]' })
}

/** Who asks, for what, for how long, and both answers. */
async function showsWhatIsDecided(page: Page, { agent }: Party, language: keyof typeof words): Promise<void> {
  const text = (await page.locator('main').textContent()) ?? ''
  expect(text).toContain('Sunflower Personal Travel Assistant')
  expect(text).toContain(new URL(agent.clientId).host)
  expect(text).toContain('maya@example.com')
  for (const right of Object.values(scopes)) expect(text).toContain(right[language])
  expect(text).toContain(words[language].lasts)
  // On the screen as it is, and not below the two answers. Of the note it is the first line that says for how long.
  const places: string = await page.evaluate(`JSON.stringify((() => {
    const bottom = document.querySelector('.actions').getBoundingClientRect().top
    const seen = (selector, height) => [...document.querySelectorAll(selector)].every((one) => {
      const box = one.getBoundingClientRect()
      return box.top >= 0 && (height ? box.top + height : box.bottom) <= bottom
    })
    const buttons = [...document.querySelectorAll('.actions button')].map((one) => one.getBoundingClientRect())
    return {
      who: seen('h1') && seen('.host'),
      what: seen('.right'),
      howLong: seen('form > .note', 20),
      decide: buttons.length === 2 && buttons.every((box) => box.bottom <= innerHeight && box.right <= innerWidth),
    }
  })())`)
  expect(JSON.parse(places)).toEqual({ who: true, what: true, howLong: true, decide: true })
  for (const answer of ['approve', 'decline'] as const)
    expect(await page.getByRole('button', { name: words[language][answer], exact: true }).isVisible()).toBe(true)
}

async function signIn(page: Page): Promise<void> {
  await page.waitForURL((url) => url.pathname === '/login')
  await page.locator('[name=user]').fill('maya')
  await page.locator('[name=password]').fill('sea-view-42')
  await page.locator('button').click()
}

const looks = (['phone', 'desktop'] as const).flatMap((screen) =>
  (['en', 'de'] as const).map((language) => ({ screen, language })),
)

describe.skipIf(chromiumMissing)('on one screen, in a real browser,', () => {
  it.each(looks)(
    'every page of a sign-in stands on a $screen in $language [4.5.shows-agent, 4.5.shows-scopes, 4.6.consent-page]',
    {
      timeout: 120_000,
    },
    async ({ screen, language }) => {
      const party = await open()
      const { site, agent, clock } = party
      const say = words[language]
      const page = await browser.page({ screen }, { viewport: screens[screen], locale: say.locale })
      const look = async (name: string, { mayScroll = false } = {}) => {
        if (!mayScroll) await fits(page, name)
        // The longest words on the smallest screen; the other looks have tests of their own.
        if (screen !== 'phone' || language !== 'de') return
        await screenshot(page, `one-screen-${name}`)
        expect({ name, found: await axe(page) }).toEqual({ name, found: [] })
      }

      // 4.5
      const asks = `${site.origin}/poppy/authorize?${authorizationQuery(agent, { scope: all.join(' ') })}`
      await page.goto(asks)
      await signIn(page)
      await page.waitForURL((url) => url.pathname === '/poppy/authorize')
      await showsWhatIsDecided(page, party, language)
      await look('consent')
      for (const box of await page.getByRole('checkbox').all()) await box.uncheck()
      await page.getByRole('button', { name: say.approve, exact: true }).click()
      await page.getByRole('alert').waitFor()
      await showsWhatIsDecided(page, party, language)
      // With one sentence more the end of the note may lie below; what is decided does not.
      await look('consent-nothing-chosen', { mayScroll: true })
      await page.goto(asks.replace('redirect_uri=https', 'redirect_uri=http'))
      await look('untrusted')

      // 4.6
      const codes = await askForCodes(party)
      await page.goto(codes.verification_uri)
      await look('device-entry')
      await page.getByLabel(say.code).fill('BBBB-BBBB')
      await page.getByRole('button', { name: say.next }).click()
      await page.getByRole('alert').waitFor()
      await look('device-entry-wrong')
      await page.getByLabel(say.code).fill(codes.user_code)
      await page.getByRole('button', { name: say.next }).click()
      await page.getByRole('button', { name: say.approve, exact: true }).waitFor()
      await showsWhatIsDecided(page, party, language)
      expect(await page.locator('main').textContent()).toContain(codes.user_code)
      await look('device-approval')
      for (const box of await page.getByRole('checkbox').all()) await box.uncheck()
      await page.getByRole('button', { name: say.approve, exact: true }).click()
      await page.getByRole('alert').waitFor()
      await showsWhatIsDecided(page, party, language)
      await look('device-nothing-chosen', { mayScroll: true })
      for (const box of await page.getByRole('checkbox').all()) await box.check()
      await page.getByRole('button', { name: say.approve, exact: true }).click()
      await page.getByRole('checkbox').first().waitFor({ state: 'detached' })
      await look('device-done')
      await page.goto(codes.verification_uri_complete)
      await look('device-answered')
      const declined = await askForCodes(party)
      await page.goto(declined.verification_uri_complete)
      await page.getByRole('button', { name: say.decline, exact: true }).click()
      await page.getByRole('checkbox').first().waitFor({ state: 'detached' })
      await look('device-declined')

      // 4.9
      const session = (await (await agent.startSession()).json()) as Tokens
      const tokens = await agent.token({
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code: codes.device_code,
        session_id: session.session_id,
      })
      expect(tokens.status).toBe(200)
      await page.goto(`${site.origin}/poppy/agents`)
      await look('agents')
      // One click each: the first right, then the agent.
      const buttons = await page.getByRole('listitem').getByRole('button').count()
      await page.getByRole('listitem').getByRole('button').first().click()
      await page.getByRole('status').waitFor()
      expect(await page.getByRole('listitem').getByRole('button').count()).toBe(buttons - 1)
      await look('agents-taken-away')

      // What went wrong
      const late = await askForCodes(party)
      clock.ahead += 600_000
      await page.goto(late.verification_uri_complete)
      await look('device-expired')
      const post = (path: string, fields: Record<string, string>) =>
        page.evaluate(`(() => {
        const form = document.createElement('form')
        form.method = 'post'
        form.action = ${JSON.stringify(path)}
        for (const [name, value] of Object.entries(${JSON.stringify(fields)})) {
          const input = document.createElement('input')
          input.name = name
          input.value = value
          form.append(input)
        }
        document.body.append(form)
        form.submit()
      })()`)
      await post('/poppy/authorize', { request: 'x', decision: 'approve' })
      await page.waitForURL((url) => url.pathname === '/poppy/authorize')
      await look('incomplete')
      await post('/poppy/browser-session', { assertion: 'x' })
      await page.waitForURL((url) => url.pathname === '/poppy/browser-session')
      await look('browser-refused')

      // 5: a browser that an agent joined gets nothing to decide.
      await post('/poppy/browser-session', {
        assertion: await agent.browserAssertion(session.session_id, `${site.origin}/poppy/agents`),
      })
      await page.waitForURL((url) => url.pathname === '/poppy/agents')
      expect(await page.getByRole('button').count()).toBe(0)
      await look('agents-browser')
      await page.context().close()
    },
  )
})

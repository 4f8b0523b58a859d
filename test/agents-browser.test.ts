import { createPersonalAgent, generateKey, memoryStore } from '@poppyseed/agent'
import type { Company } from 'poppyseed'
import { afterAll, describe, expect, it } from 'vitest'
import { createPerson } from '../examples/hotel/src/person.ts'
import { axe, chromiumMissing, openBrowser, screenshot, type TestBrowser } from './setup/browser.ts'
import { listen } from './setup/listen.ts'
import { namedFetch } from './setup/names.ts'
import { createSiteCompany, guests, makeSitePages } from './setup/site.ts'
import { testTls } from './setup/tls.ts'

// Section 5 in a real browser, between names and over HTTPS: an agent's own browser joins its Session by a form that a
// page on another origin posts, and the website follows the Session from page to page.

const timeout = 120_000
const origin = 'https://miramar.example'
const tls = testTls()

/** Two hosts of one hotel, whose pages say who they think is there, and an agent with its Session. */
async function open() {
  const log: string[] = []
  const pages = makeSitePages()
  const asked: string[] = []
  let agent: ReturnType<typeof createPersonalAgent> | undefined
  const company: Company = createSiteCompany(
    { origin, pages, log },
    {
      browser: { cookieDomain: 'miramar.example' },
      fetchDocument: async (url) => ({
        document: await (await agent?.fetch(new Request(url)))?.json(),
        headers: new Headers(),
      }),
    },
  )
  const handler = async (request: Request) => {
    const url = new URL(request.url)
    asked.push(`${request.method} ${url.hostname}${url.pathname}`)
    if (company.owns(request)) return company.fetch(request)
    if (url.pathname === '/login') return pages.fetch(request)
    const principal = await company.browserPrincipal(request)
    const { account = null, scopes = [] } = principal ?? {}
    const seen = principal ? `agent ${account ?? 'signed out'} ${scopes.join(' ')}`.trim() : 'a person'
    return new Response(`<!doctype html><title>Hotel</title><p id="seen">${seen}</p>`, {
      headers: { 'content-type': 'text/html' },
    })
  }
  const hosts: Record<string, number> = {}
  for (const name of ['miramar.example', 'book.miramar.example']) {
    const { port } = await listen(() => handler, { tls: tls.certFor(name), origin: `https://${name}` })
    hosts[name] = port
  }
  const fetch = namedFetch(hosts)
  agent = createPersonalAgent({
    clientId: 'https://agent.example/agent.json',
    name: 'Example Agent',
    keys: [await generateKey()],
    store: memoryStore(),
    fetch,
  })
  const made = agent
  const person = createPerson(async (request) => {
    const { url, method, headers, body } = request
    if (url.startsWith('https://agent.example/')) return made.fetch(request)
    return fetch(url, {
      method,
      headers,
      redirect: 'manual',
      ...(body ? { body: await new Response(body).text() } : {}),
    })
  })
  const session = (await agent.forUser('maya').company('miramar.example')).session()
  const signIn = async (scopes: readonly string[]) => {
    const pending = await session.beginSignIn({ scopes })
    const consent = await person.submit(await person.open(pending.url), guests.maya)
    await person.submit(consent, { scope: scopes, decision: 'approve' })
    await pending.done
  }
  return { company, agent, session, signIn, hosts, asked, log }
}

describe.skipIf(chromiumMissing)('a browser that the agent controls', () => {
  const browsers: TestBrowser[] = []
  const launch = async (hosts: Record<string, number>) => {
    const rules = Object.entries(hosts).map(([name, port]) => [`${name}:443`, `127.0.0.1:${port}`])
    const browser = await openBrowser({ hosts: Object.fromEntries(rules), spki: [tls.spki] })
    browsers.push(browser)
    return browser
  }
  afterAll(async () => {
    for (const browser of browsers) await browser.close()
  })

  it('joins by a form from another origin, and each page follows the Session: signed in, less of it, signed out; on a subdomain too [K32, 5.cookie-flags, 5.cookie-follows, 5.join-first-agent, 5.body-only-agent]', {
    timeout,
  }, async () => {
    const { company, agent, session, signIn, hosts, asked, log } = await open()
    const browser = await launch(hosts)
    const context = await browser.context()
    const page = await context.newPage()
    const addresses: string[] = []
    page.on('request', (request) => addresses.push(request.url()))
    const seen = async (url: string) => {
      await page.goto(url)
      return page.locator('#seen').textContent()
    }

    const joined = await session.joinBrowser({ returnTo: 'https://miramar.example/bookings' })
    asked.length = 0
    await page.goto(joined.url)
    await page.waitForURL('https://miramar.example/bookings')
    expect(await joined.opened).toBe(true)
    // The first that the site sees of this browser is the assertion.
    expect(asked.filter((one) => !one.includes('favicon')).slice(0, 2)).toEqual([
      'POST miramar.example/poppy/browser-session',
      'GET miramar.example/bookings',
    ])
    expect(await page.locator('#seen').textContent()).toBe('agent signed out')
    const [cookie] = await context.cookies(origin)
    expect(cookie).toMatchObject({ secure: true, httpOnly: true, sameSite: 'Lax', domain: '.miramar.example' })
    expect([...addresses, ...log].filter((text) => text.includes('eyJ'))).toEqual([])

    await signIn(['poppy:read', 'poppy:write'])
    expect(await seen('https://miramar.example/bookings')).toBe('agent acc-maya poppy:read poppy:write')
    expect(await seen('https://book.miramar.example/rooms')).toBe('agent acc-maya poppy:read poppy:write')
    await company.accounts.takeAway('acc-maya', agent.clientId, 'poppy:write')
    expect(await seen('https://book.miramar.example/rooms')).toBe('agent acc-maya poppy:read')
    expect(await seen('https://miramar.example/bookings')).toBe('agent acc-maya poppy:read')
    await session.signOut()
    expect(await seen('https://miramar.example/bookings')).toBe('agent signed out')
    expect(await seen('https://book.miramar.example/rooms')).toBe('agent signed out')

    // A browser that nobody joined is a person's, and the page is not given out a second time.
    const other = await (await browser.context()).newPage()
    await other.goto('https://miramar.example/bookings')
    expect(await other.locator('#seen').textContent()).toBe('a person')
    await expect(other.goto(joined.url)).rejects.toThrow('ERR_CONNECTION_REFUSED')
  })

  it('is sent on to a subdomain, and goes on after the page took it further', { timeout }, async () => {
    const { session, hosts } = await open()
    const page = await (await (await launch(hosts)).context()).newPage()
    const joined = await session.joinBrowser({ returnTo: 'https://book.miramar.example/rooms?from=tomorrow' })
    await page.goto(joined.url)
    await page.waitForURL('https://book.miramar.example/rooms?from=tomorrow')
    expect(await page.locator('#seen').textContent()).toBe('agent signed out')
  })

  it('is asked first where nothing says that a program drives it, and warned [5.own-browser-agent]', {
    timeout,
  }, async () => {
    const { session, hosts, asked } = await open()
    const browser = await launch(hosts)
    for (const [name, look, options] of [
      ['phone', {}, {}],
      ['phone-dark', { scheme: 'dark' }, {}],
      ['small-phone', {}, { viewport: { width: 360, height: 740 } }],
      ['desktop', { screen: 'desktop' }, {}],
      ['desktop-dark', { screen: 'desktop', scheme: 'dark' }, {}],
    ] as const) {
      const page = await (await browser.context(look, options)).newPage()
      await page.addInitScript("Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false })")
      const joined = await session.joinBrowser()
      asked.length = 0
      const refusals: string[] = []
      page.on('console', (message) => refusals.push(message.text()))
      await page.goto(joined.url)
      expect(await page.getByText('If this is your own browser, close this window.').isVisible()).toBe(true)
      expect(asked).toEqual([])
      expect(await axe(page)).toEqual([])
      await screenshot(page, `join-browser-${name}`)
      // Nothing to scroll for, and nothing that the policy had to stop.
      expect(
        await page.evaluate(
          '[document.documentElement.scrollHeight - innerHeight, document.documentElement.scrollWidth - innerWidth]',
        ),
      ).toEqual([0, 0])
      expect(refusals.filter((text) => text.includes('Content Security Policy'))).toEqual([])
      await page.getByRole('button', { name: 'Join: this is the agent’s browser' }).click()
      await page.waitForURL('https://miramar.example/')
      expect(await page.locator('#seen').textContent()).toBe('agent signed out')
    }
  })
})

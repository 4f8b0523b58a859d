import type { ServerResponse } from 'node:http'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type AgentHost, openAgentHost } from './setup/agent-host.ts'
import { axe, chromiumMissing, openBrowser, screenshot, type TestBrowser } from './setup/browser.ts'
import { authorizationQuery } from './setup/consent.ts'
import { listen } from './setup/listen.ts'
import { evilSvg, gif, png } from './setup/pictures.ts'
import { openSite } from './setup/site.ts'

let browser: TestBrowser

beforeAll(async () => {
  if (!chromiumMissing) browser = await openBrowser()
})
afterAll(() => browser?.close())

async function open() {
  const site = await openSite({ account: () => ({ id: 'acc-maya', name: 'maya@example.com' }) })
  const host = await openAgentHost({ company: site.origin, now: Date.now })
  host.publish({ client_name: 'Example Agent', logo_uri: `${host.origin}/logo` })
  return { site, host, url: `${site.origin}/poppy/authorize?${authorizationQuery(host.agent)}` }
}

/** Gives the agent's logo when it is told to. */
function holdLogo(host: AgentHost, bytes: Uint8Array): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  host.answers.set('/logo', (_request, response: ServerResponse) => void promise.then(() => response.end(bytes)))
  return resolve
}

async function visit(look: Parameters<TestBrowser['page']>[0] = {}) {
  const page = await browser.page(look)
  onTestFinished(() => page.context().close())
  const seen = { requests: [] as string[], problems: [] as string[] }
  page.on('request', (request) => seen.requests.push(request.url()))
  page.on('console', (message) => seen.problems.push(message.text()))
  page.on('dialog', (dialog) => {
    seen.problems.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  return { page, seen }
}

const logoOf = (page: Page) =>
  page.evaluate(`(async () => {
    const logo = document.querySelector('img.logo')
    if (!logo.complete) await new Promise((done) => { logo.onload = logo.onerror = done })
    const { width, height } = logo.getBoundingClientRect()
    // One pixel stands for a logo that can't be had.
    return { loaded: logo.naturalWidth > 1, broken: logo.naturalWidth === 0, width, height }
  })()`)

/** Where everything on the page is. */
const layout = (page: Page) =>
  page.evaluate(`[...document.querySelectorAll('main *')].map((one) => {
    const { x, y, width, height } = one.getBoundingClientRect()
    return [one.tagName, x, y, width, height].join(' ')
  })`)

describe.skipIf(chromiumMissing)('an agent’s logo in a real browser', () => {
  it('stands beside the name on every screen and ground, moves nothing when it comes, and hides nothing [4.5.shows-logo]', async () => {
    for (const screen of ['phone', 'desktop'] as const) {
      for (const scheme of ['light', 'dark'] as const) {
        const { site, host, url } = await open()
        const give = holdLogo(host, png(96, 96))
        const { page, seen } = await visit({ screen, scheme })
        // The page is there and whole before the logo is.
        await page.goto(url, { waitUntil: 'domcontentloaded' })
        await page.getByRole('button', { name: 'Approve' }).waitFor()
        const before = await layout(page)
        give()
        expect(await logoOf(page)).toEqual({ loaded: true, broken: false, width: 48, height: 48 })
        expect(await layout(page)).toEqual(before)
        await screenshot(page, `consent-logo-${screen}-${scheme}`)
        expect(await axe(page)).toEqual([])
        expect(
          await page.evaluate(
            'document.documentElement.scrollHeight <= innerHeight && document.documentElement.scrollWidth <= innerWidth',
          ),
        ).toBe(true)
        // The person's browser met nobody but the company.
        expect(seen.requests.filter((one) => new URL(one).origin !== site.origin)).toEqual([])
        expect(seen.problems).toEqual([])
      }
    }
  })

  it('leaves its place empty when it can’t be had, and the page is used as ever [K34]', async () => {
    for (const [name, body] of Object.entries({
      html: '<!doctype html><script>alert(1)</script>',
      svg: evilSvg,
      nothing: '',
    })) {
      const { host, url } = await open()
      host.answers.set('/logo', (_request, response) => {
        response.writeHead(200, { 'content-type': name === 'svg' ? 'image/svg+xml' : 'image/png' }).end(body)
      })
      const { page, seen } = await visit()
      await page.goto(url)
      expect(await logoOf(page)).toEqual({ loaded: false, broken: false, width: 48, height: 48 })
      await screenshot(page, `consent-logo-bad-${name}`)
      expect(await axe(page)).toEqual([])
      expect(seen.problems.filter((one) => !one.includes('404'))).toEqual([])
      await page.getByRole('button', { name: 'Decline' }).click()
      await page.waitForURL((to) => to.origin === host.origin)
      expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied')
    }
  })

  it('fits beside a long name and host on a small phone, and may be narrow or wide', async () => {
    for (const [width, height] of [
      [120, 40],
      [16, 128],
    ] as const) {
      const { host, url } = await open()
      host.publish({ client_name: 'The Very Long And Winding Name Of An Agent From Far Away' })
      host.answers.set('/logo', (_request, response) => void response.end(png(width, height)))
      const page = await browser.page({}, { viewport: { width: 320, height: 640 } })
      onTestFinished(() => page.context().close())
      await page.goto(url)
      expect(await logoOf(page)).toEqual({ loaded: true, broken: false, width: 48, height: 48 })
      await screenshot(page, `consent-logo-narrow-${width}`)
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    }
  })

  it('is shown in each kind that we take', async () => {
    const { page } = await visit()
    const encoded = (type: string) =>
      page.evaluate(`(() => {
        const canvas = Object.assign(document.createElement('canvas'), { width: 40, height: 30 })
        canvas.getContext('2d').fillRect(5, 5, 20, 20)
        return canvas.toDataURL('${type}').split(',')[1]
      })()`) as Promise<string>
    const pictures = {
      'image/gif': gif({ width: 2 }),
      'image/png': Buffer.from(await encoded('image/png'), 'base64'),
      'image/jpeg': Buffer.from(await encoded('image/jpeg'), 'base64'),
      'image/webp': Buffer.from(await encoded('image/webp'), 'base64'),
    }
    for (const [type, bytes] of Object.entries(pictures)) {
      const { host, url } = await open()
      host.answers.set('/logo', (_request, response) => void response.end(bytes))
      const answer = page.waitForResponse((response) => response.url().includes('/poppy/agents/logo/'))
      await page.goto(url)
      expect([type, (await answer).headers()['content-type']]).toEqual([type, type])
      expect(await logoOf(page)).toMatchObject({ loaded: true })
    }
  })

  it('opens on no page of anybody else, and on none by itself [K34]', async () => {
    const { host, url } = await open()
    host.answers.set('/logo', (_request, response) => void response.end(png(48, 48)))
    const { page } = await visit()
    await page.goto(url)
    const logo = await page.evaluate("document.querySelector('img.logo').src")
    // Another port is another origin, on the same site.
    const other = await listen(
      () => () =>
        new Response(`<!doctype html><title>x</title><img class="logo" src="${logo}">`, {
          headers: { 'content-type': 'text/html' },
        }),
    )
    await page.goto(other.origin)
    expect(await logoOf(page)).toMatchObject({ loaded: false, broken: true })
    await expect(page.goto(String(logo))).rejects.toThrow(/Download|ERR_ABORTED/)
  })
})

describe.skipIf(chromiumMissing)('the consent page in a frame', () => {
  it('is not shown there by a real browser [K34]', async () => {
    const { url } = await open()
    const { page } = await visit()
    const other = await listen(
      () => () =>
        new Response(
          `<!doctype html><title>Win a prize</title><iframe src="${url.replaceAll('&', '&amp;')}"></iframe>`,
          {
            headers: { 'content-type': 'text/html' },
          },
        ),
    )
    await page.goto(other.origin)
    const frame = page.frames()[1] ?? expect.fail('no frame')
    await frame.waitForLoadState()
    expect(await frame.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    expect(frame.url()).toMatch(/^chrome-error:/)
    // The same page by itself has it.
    await page.goto(url)
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(1)
  })
})

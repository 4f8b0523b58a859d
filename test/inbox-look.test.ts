import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadInboxApp } from '../packages/company/src/inbox/app.ts'
import { axe, chromiumMissing, openBrowser, screenshot, type TestBrowser } from './setup/browser.ts'
import { inboxFixtures, serveInboxFixtures } from './setup/inbox-fixtures.ts'

// Every screen and state of the inbox as it is shipped, in a real browser, under the rules of its own pages.

let browser: TestBrowser
let site: Awaited<ReturnType<typeof serveInboxFixtures>>

beforeAll(async () => {
  if (chromiumMissing) return
  browser = await openBrowser()
  site = await serveInboxFixtures()
})

afterAll(async () => {
  if (chromiumMissing) return
  await browser.close()
  await site.close()
})

const sizes = { phone: { width: 375, height: 740 }, desktop: { width: 1440, height: 900 } } as const
const names = Object.keys(inboxFixtures.en)
/** Those that a phone has in another way. */
const onPhones = ['waiting', 'waiting-empty', 'queued', 'held', 'held#details', 'refused', 'to-a-person', 'settle-one']
/** A view of each kind: what another ground, or another size, could make unreadable stands on one of them. */
const main = ['waiting', 'search', 'search-opened', 'account-open', 'refused', 'settle-one']
// Each size on each ground; all views once on each size, and in the long run on each ground as well.
const looks = [
  { screen: 'desktop', scheme: 'light', views: names },
  { screen: 'phone', scheme: 'dark', views: onPhones },
  { screen: 'desktop', scheme: 'dark', views: main },
  { screen: 'phone', scheme: 'light', views: main },
] as const

/** What the browser kept from running or loading, and what it complained of. */
function listenTo(page: Page): readonly string[] {
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return complaints
}

const isWithin = (page: Page) => page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth')

describe.skipIf(chromiumMissing)('the inbox, as it looks', () => {
  it.each(looks)(
    'has nothing for axe to find on a $screen, $scheme',
    async (look) => {
      const page = await browser.page({ screen: look.screen, scheme: look.scheme }, { viewport: sizes[look.screen] })
      const complaints = listenTo(page)
      const found: unknown[] = []
      for (const name of process.env.LONG === undefined ? look.views : names) {
        await page.goto(`${site.origin}/en/${name}`)
        for (const one of await axe(page)) found.push(`${name}: ${one}`)
        if (!(await isWithin(page))) found.push(`${name}: it scrolls sideways`)
        await screenshot(page, `inbox-${name}-${look.screen}-${look.scheme}`)
      }
      expect(found).toEqual([])
      expect(complaints).toEqual([])
    },
    300_000,
  )

  it('has nothing for axe to find in what opens: menus, forms, tools, notes and handing back', async () => {
    const page = await browser.page({ screen: 'desktop' }, { viewport: { width: 1440, height: 900 } })
    await page.goto(`${site.origin}/en/account-open`)
    await page.locator('.app.is-live').waitFor()
    const found: unknown[] = []
    const look = async (name: string) => {
      for (const one of await axe(page)) found.push(`${name}: ${one}`)
      await screenshot(page, `inbox-open-${name}`)
    }
    const openAll = (selector: string) =>
      page.evaluate(`document.querySelectorAll('${selector}').forEach((one) => { one.name = ''; one.open = true })`)
    await openAll('.history details, .details details, .composer details')
    await look('details')
    await openAll('.thread-tools details')
    await look('actions')
    await page.keyboard.press('Escape')
    await page.locator('label[for=mode-note]').click()
    await look('note')
    await page.locator('label[for=mode-hand-back]').click()
    await look('hand-back')
    await page.getByText('Rita Moreno').first().click()
    await look('menu')
    await page.keyboard.press('Escape')
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    await look('keys')
    expect(found).toEqual([])
  }, 300_000)

  it('fits 320 pixels and 2560, in German, and written from the right', async () => {
    const page = await browser.page()
    // What the script draws is the same at each size: a page that was made wider or narrower is as good as one that is loaded.
    const sizesOf = {
      de: [
        [320, 640],
        [800, 700],
        [320, 256],
        [2560, 1300],
      ],
      rtl: [
        [320, 640],
        [1440, 900],
      ],
    } as const
    for (const language of ['de', 'rtl'] as const) {
      for (const name of names) {
        await page.goto(`${site.origin}/${language}/${name}`)
        for (const [width, height] of sizesOf[language]) {
          await page.setViewportSize({ width, height })
          expect({ language, width, name, fits: await isWithin(page) }).toEqual({ language, width, name, fits: true })
          if (['held', 'waiting', 'account-open', 'settle-one'].includes(name))
            await screenshot(page, `inbox-${name}-${language}-${width}`)
        }
      }
    }
  }, 300_000)

  it('breaks a host behind its dots alone, and shows all of it: the end is what was checked', async () => {
    const page = await browser.page()
    for (const [width, height] of [
      [320, 640],
      [390, 844],
      [1280, 800],
    ] as const) {
      await page.setViewportSize({ width, height })
      for (const name of ['held', 'waiting', 'search']) {
        await page.goto(`${site.origin}/en/${name}`)
        // Whether a part between two dots, that isn't as long as a line, stands on two, or something of a host is cut off.
        const broken = await page.evaluate<readonly string[]>(`[...document.querySelectorAll('.host bdi')]
          .filter((host) => host.offsetParent !== null)
          .flatMap((host) => [...host.childNodes]
            .filter((part) => part.nodeType === 3 && part.textContent.length <= 20)
            .filter((part) => {
              const range = document.createRange()
              range.selectNodeContents(part)
              return range.getClientRects().length > 1
            })
            .map((part) => part.textContent)
            .concat([...Array(4).keys()].reduce((around) => [...around, around.at(-1).parentElement], [host])
              .some((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== 'visible') ? [host.textContent] : []))`)
        expect({ width, name, broken }).toEqual({ width, name, broken: [] })
      }
    }
  }, 120_000)

  it('keeps numbers and codes in a table whole', async () => {
    const page = await browser.page({}, { viewport: { width: 1280, height: 800 } })
    await page.goto(`${site.origin}/en/account-open`)
    const lines = await page.evaluate<readonly number[]>(`[...document.querySelectorAll('.account .code-cell bdi')]
      .map((cell) => cell.getClientRects().length)`)
    expect(lines.length).toBeGreaterThan(1)
    expect(new Set(lines)).toEqual(new Set([1]))
    expect(await isWithin(page)).toBe(true)
  }, 120_000)

  it('has what is asked and the box for the reply in sight, on each screen, without scrolling', async () => {
    for (const [width, height] of [
      [360, 640],
      [768, 1024],
      [1440, 900],
      [2560, 1300],
    ] as const) {
      const page = await browser.page({}, { viewport: { width, height } })
      // However long the question is.
      for (const name of ['long-words', 'held']) {
        await page.goto(`${site.origin}/en/${name}`)
        const hidden = await page.evaluate<
          readonly string[]
        >(`['.asked > div:not(.decision) .text', '.asked .decision .text'].filter((what) => {
          const one = document.querySelector(what)
          const box = one?.getBoundingClientRect()
          return !one?.contains(box && document.elementFromPoint(box.x + 4, box.y + 8))
        })`)
        expect({ width, name, hidden }).toEqual({ width, name, hidden: [] })
      }
      for (const part of [
        page.getByText('Decision wanted'),
        page.getByLabel('Your reply'),
        page.getByText('Send reply'),
      ]) {
        const box = await part.boundingBox()
        expect({ width, isSeen: box !== null && box.y >= 0 && box.y + box.height <= height }).toEqual({
          width,
          isSeen: true,
        })
      }
      await page.context().close()
    }
  }, 120_000)

  it('draws the same without script, and moves nothing when the script comes', async () => {
    const without = await browser.page({ screen: 'desktop' }, { javaScriptEnabled: false })
    await without.goto(`${site.origin}/en/held`)
    expect(await without.getByRole('button', { name: 'Send reply' }).isVisible()).toBe(true)
    await without.getByText('Hand back', { exact: true }).click()
    expect(await without.getByLabel('Note for your agent').isVisible()).toBe(true)
    await screenshot(without, 'inbox-held-without-script')
    const page = await browser.page({ screen: 'desktop' })
    await page.goto(`${site.origin}/en/held`)
    await page.locator('.app.is-live').waitFor()
    const shift = await page.evaluate<number>(
      `new Promise((resolve) => new PerformanceObserver((list) => resolve(list.getEntries().reduce((sum, one) => sum + one.value, 0))).observe({ type: 'layout-shift', buffered: true }) ?? setTimeout(() => resolve(0), 300))`,
    )
    expect(shift).toBeLessThan(0.01)
  }, 120_000)

  it('is small', async () => {
    const { script, styles } = await loadInboxApp()
    expect(gzipSync(script.text).length).toBeLessThan(40_000)
    expect(gzipSync(styles.text).length).toBeLessThan(10_000)
  })
})

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axe, chromiumMissing, openBrowser, screenshot, type TestBrowser } from './setup/browser.ts'
import { said } from './setup/converse.ts'
import { openInboxSite } from './setup/inbox-site.ts'

// Whoever follows what a search found sees the message itself: with the script and without, and however far back it stands.

let browser: TestBrowser

beforeAll(async () => {
  if (!chromiumMissing) browser = await openBrowser()
})

afterAll(async () => {
  if (!chromiumMissing) await browser.close()
})

const patiently = { timeout: 15_000, interval: 50 }

/** Whether the entry that was found is in sight in its history. */
const isInSight = (page: Page) =>
  page.evaluate<boolean>(`(() => {
    const [entry, place] = ['[data-found]', '[data-history]'].map((one) => document.querySelector(one)?.getBoundingClientRect())
    return entry !== undefined && entry.bottom > place.top && entry.top < place.bottom && entry.top >= place.top - 1
  })()`)

async function longTalk() {
  const site = await openInboxSite({ limits: false })
  const id = await site.begin('Is the sauna open at night?')
  for (let n = 1; n <= 40; n++) {
    const answer = await site.talk.send(id, said(`Message ${n}.`))
    expect(answer.status).toBeLessThan(300)
  }
  const last = async () => (await site.company.conversations.lastMessages([id])).get(id)?.text
  await expect.poll(last, patiently).toContain('Message 40.')
  return { site, id }
}

describe.skipIf(chromiumMissing)('what a search found, in a real browser', { timeout: 120_000 }, () => {
  it('is in sight and marked, with the script and without, also after another page', async () => {
    const { site, id } = await longTalk()
    const page = await site.inbox(await browser.context({ screen: 'desktop' }))
    await page.getByRole('searchbox').fill('sauna')
    await page.getByRole('searchbox').press('Enter')
    const row = page.locator('[data-row]')
    await row.locator('mark', { hasText: 'sauna' }).waitFor()
    // By the keyboard alone.
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.locator('[data-found] mark', { hasText: 'sauna' }).waitFor()
    await expect.poll(() => isInSight(page), patiently).toBe(true)
    expect(new URL(page.url()).hash).toMatch(/^#entry-evt_/)
    expect(await page.getByText('Found here').count()).toBe(1)
    expect(await axe(page)).toEqual([])
    await screenshot(page, 'inbox-search-found')
    // Something new below moves nothing away, and the mark stays.
    await site.talk.send(id, said('One more.'))
    await page.reload()
    await page.locator('.app.is-live').waitFor()
    await expect.poll(() => isInSight(page), patiently).toBe(true)
    await page.getByRole('link', { name: 'Back to the newest' }).click()
    await page.getByRole('log').getByText('One more.').first().waitFor()
    expect(await page.locator('[data-found]').count()).toBe(0)
    await page.goBack()
    await page.locator('[data-found]').waitFor()
    await expect.poll(() => isInSight(page), patiently).toBe(true)

    const context = await browser.context({ screen: 'desktop', scheme: 'dark' }, { javaScriptEnabled: false })
    await context.addCookies([{ name: 'desk', value: 'rita', url: site.origin }])
    const without = await context.newPage()
    await without.goto(`${site.origin}/poppy/inbox?q=sauna`)
    await without.locator('[data-row]').click()
    await without.locator('[data-found] mark').waitFor()
    expect(await isInSight(without)).toBe(true)
    await screenshot(without, 'inbox-search-found-without-script')
  })

  it('is read in the words of the page, which takes another page for another language', async () => {
    let locale = 'en-GB'
    const site = await openInboxSite({ staff: () => ({ id: 'rita', name: 'Rita', locale }) })
    const page = await site.inbox(await browser.context({ screen: 'desktop' }))
    const asked: string[] = []
    page.on('request', (request) => asked.push(`${request.resourceType()} ${new URL(request.url()).pathname}`))
    await page.getByRole('link', { name: 'Closed' }).click()
    await page.getByRole('heading', { name: 'Closed' }).waitFor()
    // No word was asked for again.
    expect([...new Set(asked)].filter((one) => !one.endsWith('/live'))).toEqual(['fetch /poppy/inbox'])
    locale = 'de'
    await page.getByRole('link', { name: 'All open' }).click()
    await page.getByRole('heading', { name: 'Alle offenen' }).waitFor()
    expect(await page.evaluate('document.documentElement.lang')).toBe('de')
  })
})

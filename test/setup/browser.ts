import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect, inject } from 'vitest'

/** The two screens that every page is looked at on. */
export const screens = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 800 } } as const

/** Which screen and which ground a page is looked at on. */
export type Look = { readonly screen?: keyof typeof screens; readonly scheme?: 'light' | 'dark' }

/** What a browser is told about the network. */
export type BrowserNetwork = {
  /** Where a name leads, ports included: `{ 'miramar.example:443': '127.0.0.1:41234' }`. */
  readonly hosts?: Readonly<Record<string, string>>
  /** SPKI hashes whose certificates are believed: `[testTls().spki]`. */
  readonly spki?: readonly string[]
}

/** A real browser for one test file. */
export type TestBrowser = {
  readonly browser: Browser
  /** A person's browser: cookies of its own. A phone on light ground unless told otherwise. */
  readonly context: (look?: Look, options?: BrowserContextOptions) => Promise<BrowserContext>
  /** A page in a context of its own. */
  readonly page: (look?: Look, options?: BrowserContextOptions) => Promise<Page>
  readonly close: () => Promise<void>
}

/** Why browser tests are skipped here, or null where they run: `describe.skipIf(chromiumMissing)`. */
export const chromiumMissing: string | null = inject('chromiumMissing')

/** Starts the run's Chromium with its security as users have it: no flag but those that the network needs. */
export async function openBrowser(network: BrowserNetwork = {}): Promise<TestBrowser> {
  const executablePath = inject('chromiumPath')
  if (!executablePath) throw new Error(`no Chromium: ${inject('chromiumMissing')}`)
  // Root needs --no-sandbox. The flags that come with the package turn the same-origin rule off: never those.
  const args = ['--no-sandbox']
  const rules = Object.entries(network.hosts ?? {}).map(([name, address]) => `MAP ${name} ${address}`)
  if (rules.length > 0) args.push(`--host-resolver-rules=${rules.join(',')}`)
  if (network.spki?.length) args.push(`--ignore-certificate-errors-spki-list=${network.spki.join(',')}`)
  const browser = await chromium.launch({ executablePath, args })
  const context = (look: Look = {}, options: BrowserContextOptions = {}) =>
    browser.newContext({
      viewport: screens[look.screen ?? 'phone'],
      hasTouch: look.screen !== 'desktop',
      colorScheme: look.scheme ?? 'light',
      locale: 'en-GB',
      timezoneId: 'UTC',
      ...options,
    })
  return {
    browser,
    context,
    page: async (look, options) => (await context(look, options)).newPage(),
    close: () => browser.close(),
  }
}

const folder = fileURLToPath(new URL('../../screenshots/', import.meta.url))

/**
 * Keeps a picture of the whole page in /screenshots (not in git), where SCREENSHOTS=1 says that someone will look at it, and in
 * the long run.
 */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (process.env.SCREENSHOTS === undefined && process.env.LONG === undefined) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}

const require = createRequire(import.meta.url)
/** The axe that its builder for Playwright brings. */
const { source } = createRequire(require.resolve('@axe-core/playwright'))('axe-core') as { readonly source: string }

/** What axe finds of a page that is one document. */
interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly target: readonly unknown[] }[]
}

/**
 * What axe finds, one line each: `expect(await axe(page)).toEqual([])`. The builder is for pages with frames: it loads axe into
 * another page as well, each time, which takes twice as long as to look. A page of ours is one document.
 */
export async function axe(page: Page): Promise<readonly string[]> {
  expect(page.frames().length).toBe(1)
  if (!(await page.evaluate("typeof axe === 'object'"))) await page.evaluate(source)
  // What is right needs no description.
  const found = await page.evaluate<readonly Violation[]>(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )
  return found.flatMap(({ id, help, nodes }) => nodes.map(({ target }) => `${id}: ${help} (${target.join(' ')})`))
}

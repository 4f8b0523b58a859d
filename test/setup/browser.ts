import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AxeBuilder } from '@axe-core/playwright'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { inject } from 'vitest'

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

/** Keeps a picture of the whole page in /screenshots (not in git), for someone to look at. Gives its path. */
export async function screenshot(page: Page, name: string): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${name}.png`)
  await page.screenshot({ path, fullPage: true })
  return path
}

/** What axe finds, one line each: `expect(await axe(page)).toEqual([])`. */
export async function axe(page: Page): Promise<readonly string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze()
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ target }) => `${id}: ${help} (${target.join(' ')})`))
}

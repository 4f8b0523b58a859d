import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumMissing, openBrowser, type TestBrowser } from './setup/browser.ts'
import { openInboxStory, parts, patiently, summary } from './setup/inbox-story.ts'
import { guests } from './setup/site.ts'

// What goes away while a member of staff has a page of the inbox open: the network, the server, the customer's sign-in.

let browser: TestBrowser

beforeAll(async () => {
  if (!chromiumMissing) browser = await openBrowser()
})

afterAll(async () => {
  if (!chromiumMissing) await browser.close()
})

const rita = { id: 'rita', name: 'Rita Alvarez' }

describe.skipIf(chromiumMissing)('an open page of the inbox', { timeout: 120_000 }, () => {
  it('says that the network is gone, keeps what was typed, sends it once when it is back, and shows what it missed', async () => {
    const story = await openInboxStory(browser)
    const context = await story.browserOf('rita')
    const page = await story.pageIn(context)
    const maya = await story.begin('Get me a person.')
    await parts(page).row('A refund over the limit.').click()
    await parts(page).take.click()
    await parts(page).box.pressSequentially('I am still')
    await context.setOffline(true)
    await parts(page).alert.getByText('You are offline.').waitFor()
    await parts(page).box.pressSequentially(' here.')
    await maya.talk.send('Are you there?')
    await parts(page).send.click()
    await parts(page).alert.getByText('This could not be sent. What you typed is kept.').waitFor()
    expect(await parts(page).box.inputValue()).toBe('I am still here.')
    expect(await parts(page).log.getByText('Are you there?').count()).toBe(0)

    await context.setOffline(false)
    await parts(page).log.getByText('Are you there?').waitFor()
    expect(await parts(page).box.inputValue()).toBe('I am still here.')
    await parts(page).send.click()
    await maya.hears('human: I am still here.')
    await expect.poll(() => parts(page).box.inputValue(), patiently).toBe('')

    // The server goes, and no browser says so: the page finds out by itself, and goes on by itself.
    await parts(page).box.fill('And here again.')
    await story.goAway()
    await parts(page).send.click()
    await parts(page).alert.getByText('This could not be sent. What you typed is kept.').waitFor()
    await page.getByText('Offline', { exact: true }).waitFor()
    await story.company.conversations.note(maya.id, rita, 'Written meanwhile.')
    await story.comeBack()
    await parts(page).log.getByText('Written meanwhile.').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    expect(await parts(page).box.inputValue()).toBe('And here again.')
    await parts(page).send.click()
    await maya.hears('human: And here again.')
    await expect.poll(() => parts(page).box.inputValue(), patiently).toBe('')
    // Live again, not only loaded once.
    await maya.talk.send('Thank you.')
    await parts(page).log.getByText('Thank you.').waitFor()
    expect(maya.heard.filter((line) => line.startsWith('human: '))).toEqual([
      'human: I am still here.',
      'human: And here again.',
    ])
  })

  it('shows nothing of the account from the moment that the member of staff is signed out, and keeps what they typed', async () => {
    const story = await openInboxStory(browser)
    await story.signIn()
    const page = await story.at('rita')
    await story.begin('Get me a person.')
    await parts(page).row('A refund over the limit.').click()
    await parts(page).take.click()
    await parts(page).box.fill('Half a sentence')
    await page.getByRole('button', { name: 'Open the account' }).click()
    await parts(page).details.getByText('X-482-913').waitFor()
    await page.clock.install()
    await page.getByRole('link', { name: 'Mine' }).click()
    await parts(page).row('A refund over the limit.').click()
    await parts(page).box.waitFor()
    await page.context().clearCookies()
    await page.getByRole('link', { name: 'Mine' }).click()
    await page.getByText('You are signed out. What you typed is kept in this tab.').waitFor()
    expect(await shown(page)).toEqual([])
    expect(await parts(page).box.inputValue()).toBe('Half a sentence')
    // Nor is it asked for again and again.
    const streams: string[] = []
    page.on('request', (request) => request.url().includes('/live') && streams.push(request.url()))
    story.goSilent()
    for (const _ of [1, 2, 3]) await page.clock.runFor(40_000)
    expect(streams).toEqual([])
  })

  it('shows nothing of the account from the moment that the customer is signed out: by the agent, on the account page, or by the company [4.9.signs-out-sessions, 4.9.disconnect]', async () => {
    const story = await openInboxStory(browser)
    await story.signIn()
    const page = await story.at('rita')
    const maya = await story.begin('Get me a person.')
    await parts(page).row('A refund over the limit.').click()
    await parts(page).take.click()
    await parts(page).box.waitFor()

    /** Opens the account and runs a tool with its rights, on a page that came with both from the server. */
    const open = async () => {
      await page.getByRole('button', { name: 'Open the account' }).click()
      await parts(page).details.getByText('X-482-913').waitFor()
      await page.reload()
      await page.locator('.app.is-live').waitFor()
      await summary(parts(page).details, /^My bookings$/i).click()
      await page.getByRole('form', { name: 'My bookings' }).getByRole('button', { name: 'Run' }).click()
      await parts(page).details.getByText('acc-maya', { exact: true }).waitFor()
      expect(await shown(page)).toEqual(['acc-maya', 'X-482-913', 'Mirador'])
    }
    const isDark = async () => {
      await page.getByText('The account is no longer open: the customer signed out, or the rights changed.').waitFor()
      expect(await shown(page)).toEqual([])
      expect(await page.getByRole('status').getByText('The customer’s account was closed.').count()).toBe(1)
    }
    const again = async (text: string) => {
      await expect(maya.talk.send(text)).rejects.toMatchObject({ code: 'sign_in_required' })
      await story.signIn()
      await maya.talk.send(text)
      await page.getByRole('button', { name: 'Open the account' }).waitFor()
      expect(await shown(page)).toEqual([])
    }

    await open()
    await story.session.signOut()
    await isDark()

    await again('I am signed in again.')
    await open()
    const own = await (await browser.context()).newPage()
    await own.goto(`${story.origin}/poppy/agents`)
    await own.locator('[name=user]').fill(guests.maya.user)
    await own.locator('[name=password]').fill(guests.maya.password)
    await own.getByRole('button', { name: 'Sign in' }).click()
    await own.getByRole('button', { name: 'Disconnect' }).click()
    await isDark()
    await own.context().close()

    await again('And once more.')
    await open()
    await story.company.agents.block(story.clientId)
    await isDark()
    await page.getByText('You blocked this agent.').waitFor()
  })

  it('shows nothing of the account, nor of what a tool answered, from the moment that the customer takes a right away: by the company, or on the account page', async () => {
    const story = await openInboxStory(browser)
    await story.signIn()
    const page = await story.at('rita')
    await story.begin('Get me a person.')
    await parts(page).row('A refund over the limit.').click()
    await parts(page).take.click()
    await parts(page).box.waitFor()
    const runTool = async () => {
      await summary(parts(page).details, /^My bookings$/i).click()
      await page.getByRole('form', { name: 'My bookings' }).getByRole('button', { name: 'Run' }).click()
      await parts(page).details.getByText('acc-maya', { exact: true }).waitFor()
    }

    // A tool alone, with no account open: what it answered goes with the right that it ran with.
    await runTool()
    expect(await shown(page)).toEqual(['acc-maya'])
    await story.company.accounts.takeAway('acc-maya', story.clientId, 'poppy:read')
    await expect.poll(() => shown(page), patiently).toEqual([])

    // Signed in still: the account may be opened, under the right that is left, and goes dark with that one.
    await page.getByRole('button', { name: 'Open the account' }).click()
    await parts(page).details.getByText('X-482-913').waitFor()
    await page.reload()
    await page.locator('.app.is-live').waitFor()
    await parts(page).details.getByText('X-482-913').waitFor()
    const own = await (await browser.context()).newPage()
    await own.goto(`${story.origin}/poppy/agents`)
    await own.locator('[name=user]').fill(guests.maya.user)
    await own.locator('[name=password]').fill(guests.maya.password)
    await own.getByRole('button', { name: 'Sign in' }).click()
    await own.getByRole('button', { name: /^Take away/ }).click()
    await own.context().close()
    await expect.poll(() => shown(page), patiently).toEqual([])
    await page.reload()
    await page.locator('.app.is-live').waitFor()
    expect(await shown(page)).toEqual([])
  })

  /** A page on which Rita has the conversation, with the account of its customer open. */
  async function opened() {
    const story = await openInboxStory(browser)
    await story.signIn()
    const page = await story.at('rita')
    const maya = await story.begin('Get me a person.')
    await parts(page).row('A refund over the limit.').click()
    await parts(page).take.click()
    await parts(page).box.waitFor()
    await page.getByRole('button', { name: 'Open the account' }).click()
    await parts(page).details.getByText('X-482-913').waitFor()
    return { story, page, maya }
  }
  const dark = 'The account is no longer open: the customer signed out, or the rights changed.'

  it.each([
    ['a reply', 'reply'],
    ['a tool', 'call-tool'],
  ])('shows nothing of the account again because what came of %s is told after it went dark', async (_, act) => {
    const { story, page, maya } = await opened()
    const { answered, answer } = await holdNext(page, `**/${act}`)
    if (act === 'reply') {
      await parts(page).box.fill('Hello.')
      await parts(page).send.click()
    } else {
      await summary(parts(page).details, /^My bookings$/i).click()
      await page.getByRole('form', { name: 'My bookings' }).getByRole('button', { name: 'Run' }).click()
    }
    await answered
    await story.session.signOut()
    await page.getByText(dark).waitFor()
    const flashes = await watch(page)
    answer()
    await page
      .getByRole('status')
      .getByText(act === 'reply' ? 'Sent.' : 'Done.')
      .waitFor()
    if (act === 'reply') {
      await maya.hears('human: Hello.')
      await expect.poll(() => parts(page).box.inputValue(), patiently).toBe('')
    }
    expect([await flashes(), await shown(page)]).toEqual([[], []])
    await page.getByText(dark).waitFor()
  })

  it('shows nothing of the account again because what was asked before the member of staff was signed out is answered after it', async () => {
    const { page, maya } = await opened()
    const { answered, answer } = await holdNext(page, `**/conversations/${maya.id}?*`)
    const late = page.waitForEvent('requestfinished', (request) => request.url().includes(`/conversations/${maya.id}?`))
    await maya.talk.send('Are you there?')
    await answered
    await page.context().clearCookies()
    await page.getByRole('link', { name: 'Mine' }).click()
    const signedOut = page.getByText('You are signed out. What you typed is kept in this tab.')
    await signedOut.waitFor()
    const flashes = await watch(page)
    answer()
    await late
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    expect([await flashes(), await shown(page), await signedOut.count()]).toEqual([[], [], 1])
  })

  it('shows nothing of the account while nobody tells it what changes: offline, or kept by the browser; and what is open still once it knows', async () => {
    const { story, page } = await opened()
    const isShown = () => parts(page).details.getByText('X-482-913').count()
    await page.context().setOffline(true)
    await expect.poll(isShown, patiently).toBe(0)
    await page.context().setOffline(false)
    await expect.poll(isShown, patiently).toBe(1)
    const [hide, show] = ['pagehide', 'pageshow'].map(
      (name) => `dispatchEvent(new PageTransitionEvent('${name}', { persisted: true }))`,
    ) as [string, string]
    await page.evaluate(hide)
    expect(await isShown()).toBe(0)
    await page.evaluate(show)
    await expect.poll(isShown, patiently).toBe(1)

    await page.context().setOffline(true)
    await expect.poll(isShown, patiently).toBe(0)
    const flashes = await watch(page)
    await story.session.signOut()
    await page.context().setOffline(false)
    await page.getByText(dark).waitFor()
    expect([await flashes(), await shown(page)]).toEqual([[], []])
  })

  it('finds out by itself that its connection is dead though nothing says so, and shows nothing of the account until it has asked', async () => {
    const { story, page } = await opened()
    const words: string[] = []
    const wire = await page.context().newCDPSession(page)
    wire.on('Network.eventSourceMessageReceived', ({ eventName }) => words.push(eventName))
    await wire.send('Network.enable')
    const streams: string[] = []
    page.on('request', (request) => request.url().includes('/live') && streams.push(request.url()))
    await page.clock.install()
    await page.getByRole('link', { name: 'Mine' }).click()
    await expect.poll(() => streams.length, patiently).toBe(1)
    await parts(page).row('A refund over the limit.').click()
    await expect.poll(() => streams.length, patiently).toBe(2)
    await parts(page).details.getByText('X-482-913').waitFor()
    // Quiet, and alive: the server says so.
    for (const _ of [1, 2]) {
      words.length = 0
      story.clock.ahead += 15_000
      await expect.poll(() => words, patiently).toContain('here')
      await page.clock.fastForward(20_000)
    }
    expect([streams.length, await parts(page).details.getByText('X-482-913').count()]).toEqual([2, 1])

    story.goSilent()
    await story.session.signOut()
    const flashes = await watch(page)
    await page.clock.fastForward(36_000)
    await page.getByText(dark).waitFor()
    expect([streams.length, await flashes(), await shown(page)]).toEqual([3, [], []])
    await page.getByText('Live', { exact: true }).waitFor()
  })

  it('shows nothing of the account in a hidden tab that has no stream, and what is open still once it is seen again', async () => {
    const { story, page } = await opened()
    const isShown = () => parts(page).details.getByText('X-482-913').count()
    const see = (which: Page, state: 'hidden' | 'visible') =>
      which.evaluate(`
        Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      `)
    // Of all that are hidden one has a stream.
    const first = await story.pageIn(page.context())
    await see(first, 'hidden')
    await see(page, 'hidden')
    expect(await isShown()).toBe(0)
    await see(page, 'visible')
    await expect.poll(isShown, patiently).toBe(1)
    await see(page, 'hidden')
    const flashes = await watch(page)
    await story.session.signOut()
    await see(page, 'visible')
    await page.getByText(dark).waitFor()
    expect([await flashes(), await shown(page)]).toEqual([[], []])
  })

  it('goes where a link leads, though the page lost its stream while that was asked for', async () => {
    const story = await openInboxStory(browser)
    const page = await story.at('rita')
    const maya = await story.begin('Get me a person.')
    const { answered, answer } = await holdNext(page, `**/conversations/${maya.id}?*`)
    await parts(page).row('A refund over the limit.').click()
    await answered
    await page.evaluate("dispatchEvent(new Event('offline'))")
    answer()
    await parts(page).take.waitFor()
    expect(await parts(page).alert.getByText('This could not be loaded').count()).toBe(0)
    expect(new URL(page.url()).pathname).toMatch(new RegExp(`/${maya.id}$`))
  })

  it('has nobody here again who said that they go, though it opens another stream for what it shows then', async () => {
    const { story, page } = await opened()
    const here = async () => (await story.company.conversations.colleagues()).map(({ id }) => id)
    expect(await here()).toEqual(['rita'])
    await page.locator('header.bar summary').click()
    await Promise.all([
      page.waitForResponse((response) => new URL(response.url()).pathname.endsWith('/live')),
      page.getByRole('button', { name: 'I’m leaving' }).click(),
    ])
    await page.getByRole('status').getByText('What you had is back in the queue.').waitFor()
    expect(await here()).toEqual([])
    // Whoever goes on is.
    await page.getByRole('link', { name: 'All open' }).click()
    await parts(page).row('A refund over the limit.').click()
    await expect.poll(here, patiently).toEqual(['rita'])
  })
})

/** Holds the answer to the next request to an address, and lets all others pass: `answered` once the server gave it. */
async function holdNext(page: Page, address: string) {
  const [given, wanted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isNext = true
  await page.route(address, async (route) => {
    if (!isNext) return route.continue()
    isNext = false
    const response = await route.fetch()
    given.resolve()
    await wanted.promise
    return route.fulfill({ response })
  })
  return { answered: given.promise, answer: wanted.resolve }
}

/** Watches the page from now on: gives each thing of the account that was in it since, if only for a moment. */
async function watch(page: Page): Promise<() => Promise<unknown>> {
  await page.evaluate(`
    globalThis.flashes = []
    new MutationObserver(() => {
      const all = document.body.innerHTML
      for (const text of ['X-482-913', 'Mirador', 'acc-maya']) if (all.includes(text)) globalThis.flashes.push(text)
    }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
  `)
  return () => page.evaluate('globalThis.flashes')
}

/** What of the account is anywhere in the page, or kept by it. */
async function shown(page: Page): Promise<readonly string[]> {
  const all = `${await page.content()} ${await page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')}`
  return ['acc-maya', 'X-482-913', 'Mirador'].filter((text) => all.includes(text))
}

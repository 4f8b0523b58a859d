import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumMissing, openBrowser, type TestBrowser } from './setup/browser.ts'
import { inboxWays, type openInboxStory, parts, patiently } from './setup/inbox-story.ts'

// "Within a second", seen where it counts: on the screens of two at the desk, with a Personal Agent over real HTTP. A machine that
// does much else is slower, so the best of several shows what the inbox can do, and the middle one that it is no accident.

let browser: TestBrowser

beforeAll(async () => {
  if (!chromiumMissing) browser = await openBrowser()
})

afterAll(async () => {
  if (!chromiumMissing) await browser.close()
})

type InboxStory = Awaited<ReturnType<typeof openInboxStory>>

/** Milliseconds, in order. */
const inOrder = (took: readonly number[]) => took.map(Math.round).toSorted((one, other) => one - other)

describe.each(inboxWays)('on the screens at the desk, on $name,', { timeout: 240_000 }, ({ missing, open }) => {
  it.skipIf(missing)('whoever wants a person is there within a second [7.9.queued]', async () => {
    const story = await open(browser)
    const [rita, omar] = await Promise.all([story.at('rita'), story.at('omar')])
    const took: number[] = []
    for (let round = 1; round <= 5; round++) {
      const talk = await story.session.conversations.start(`Question ${round}.`)
      await talk.answer()
      expect((await talk.handoff()).status).toBe('queued')
      const since = performance.now()
      await Promise.all([rita, omar].map((page) => parts(page).row(`Question ${round}.`).waitFor()))
      took.push(performance.now() - since)
    }
    const [best, , middle] = inOrder(took)
    expect(best, `${inOrder(took)} ms`).toBeLessThan(1_000)
    expect(middle, `${inOrder(took)} ms`).toBeLessThan(2_000)
  })

  const account = 'acc-maya'
  /** How a customer's rights end. */
  const ends: Readonly<Record<string, (story: InboxStory) => Promise<unknown>>> = {
    'their agent signed out [4.9.signs-out-sessions]': ({ session }) => session.signOut(),
    'they disconnected the agent [4.9.disconnect]': ({ company, clientId }) =>
      company.accounts.disconnect(account, clientId),
    'the agent was blocked': ({ company, clientId }) => company.agents.block(clientId),
    'they took a right away': ({ company, clientId }) => company.accounts.takeAway(account, clientId, 'poppy:write'),
  }

  it.skipIf(missing).each(Object.keys(ends))(
    'nothing of the account is left within a second after %s',
    async (what) => {
      const story = await open(browser)
      const page = await story.at('rita')
      const took: number[] = []
      // Up to three, until one of them shows it.
      for (let round = 1; round <= 3 && !took.some((one) => one < 1_000); round++) {
        await story.company.agents.unblock(story.clientId)
        await story.signIn()
        const maya = await story.begin(`Question ${round}.`)
        await maya.hears('idle/agent')
        await maya.talk.handoff()
        await parts(page).row(`Question ${round}.`).click()
        await parts(page).take.click()
        await parts(page).box.waitFor()
        await page.getByRole('button', { name: 'Open the account' }).click()
        await parts(page).details.getByText('X-482-913').waitFor()
        // A page that came with it from the server, and was at another place of the inbox meanwhile.
        await page.reload()
        await page.locator('.app.is-live').waitFor()
        const address = page.url()
        await page.getByRole('link', { name: 'Mine' }).click()
        await expect.poll(() => page.url(), patiently).not.toBe(address)
        await page.goBack()
        await parts(page).details.getByText('X-482-913').waitFor()
        expect(await accountIn(page)).toEqual(['Guest acc-maya', 'X-482-913', 'Mirador'])

        await ends[what]?.(story)
        const since = performance.now()
        await parts(page).details.getByText('X-482-913').waitFor({ state: 'detached' })
        took.push(performance.now() - since)
        expect(await accountIn(page)).toEqual([])
        // Neither is it in what was before, nor in what comes after.
        await page.goForward()
        await expect.poll(() => page.url(), patiently).not.toBe(address)
        expect(await accountIn(page)).toEqual([])
        await page.goBack()
        await expect.poll(() => page.url(), patiently).toBe(address)
        await parts(page).log.getByText(`Question ${round}.`).first().waitFor()
        expect(await accountIn(page)).toEqual([])
        await page.goto(`${story.origin}/login`)
        await page.goBack()
        await page.locator('.app.is-live').waitFor()
        expect(await accountIn(page)).toEqual([])
        expect(await (await page.context().request.get(address)).text()).not.toMatch(/Guest acc-maya|X-482-913|Mirador/)
        await page.goto(`${story.origin}/poppy/inbox`)
        await page.locator('.app.is-live').waitFor()
      }
      const [best] = inOrder(took)
      expect(best, `${inOrder(took)} ms`).toBeLessThan(1_000)
    },
  )
})

/** What of the account is anywhere in the page, in what it keeps, or in its place in the history. */
async function accountIn(page: Page): Promise<readonly string[]> {
  const kept = await page.evaluate(
    'JSON.stringify([{ ...sessionStorage }, { ...localStorage }, history.state, document.title])',
  )
  const all = `${await page.content()} ${kept}`
  return ['Guest acc-maya', 'X-482-913', 'Mirador'].filter((text) => all.includes(text))
}

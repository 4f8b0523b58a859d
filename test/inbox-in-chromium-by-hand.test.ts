import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axe, chromiumMissing, openBrowser, type TestBrowser } from './setup/browser.ts'
import { choose, openInboxStory, parts, patiently, summary } from './setup/inbox-story.ts'

// The inbox in a browser that runs no script, and by the keyboard alone.

let browser: TestBrowser

beforeAll(async () => {
  if (!chromiumMissing) browser = await openBrowser()
})

afterAll(async () => {
  if (!chromiumMissing) await browser.close()
})

describe.skipIf(chromiumMissing)('the inbox', { timeout: 120_000 }, () => {
  it('is worked without any script: take, reply, propose, note, hand back, close', async () => {
    const story = await openInboxStory(browser)
    await story.signIn()
    const page = await (await story.browserOf('rita', { javaScriptEnabled: false })).newPage()
    await page.goto(`${story.origin}/poppy/inbox`)
    await page.getByText('Nobody is waiting').waitFor()
    const maya = await story.begin('Get me a person.')
    await maya.hears('queued/agent')
    await page.reload()
    expect(await page.title()).toBe('(1) Inbox – Hotel Miramar')
    await parts(page).row('A refund over the limit.').click()
    await parts(page).take.click()
    await page.getByRole('status').getByText('It is yours now.').waitFor()
    await maya.hears('idle/human')

    await parts(page).box.fill('I look into it.')
    await parts(page).send.click()
    await page.getByRole('status').getByText('Sent.').waitFor()
    await maya.hears('human: I look into it.')
    // The page that came of it can be loaded anew: nothing is sent again.
    await page.reload()
    await parts(page).send.click()
    await parts(page).alert.getByText('Write something first. Nothing was done.').waitFor()

    await page.locator('label', { hasText: /^Note$/ }).click()
    await page.getByRole('textbox', { name: 'Your note' }).fill('A nice guest.')
    await page.getByRole('button', { name: 'Save note' }).click()
    await parts(page).log.getByText('A nice guest.').waitFor()

    await summary(parts(page).details, 'Book a room').click()
    const form = page.getByRole('form', { name: 'Book a room' })
    await form.getByLabel('Nights').fill('99')
    await form.getByRole('button', { name: 'Propose' }).click()
    await parts(page).alert.getByText('Nothing was done.').waitFor()
    // What was typed comes back with the refusal, in the form that is still open.
    expect(await form.getByLabel('Nights').inputValue()).toBe('99')
    await form.getByLabel('Nights').fill('2')
    await form.getByRole('button', { name: 'Propose' }).click()
    await parts(page).log.getByText('Waits for confirmation').waitFor()
    await expect.poll(() => maya.proposed.length, patiently).toBe(1)

    await page.locator('label', { hasText: /^Hand back$/ }).click()
    await page.getByLabel('Note for your agent').fill('The refund is granted.')
    await page.getByRole('button', { name: 'Hand back to your agent' }).click()
    await page.getByRole('status').getByText('Your agent has it again.').waitFor()
    await maya.talk.send('Is it granted?')
    await maya.hears('agent: You said: Is it granted? I know: The refund is granted.')
    await page.reload()
    await parts(page).log.getByText('I know: The refund is granted.').waitFor()
    await choose(page, 'Close the conversation')
    await page.getByRole('button', { name: 'Close it' }).click()
    await maya.hears('closed/agent')
    expect(maya.heard.filter((line) => line.startsWith('human: '))).toEqual([
      'human: I look into it.',
      'human: 2 nights in a sea view room, 260 €.',
    ])
    expect(maya.heard.join()).not.toContain('A nice guest.')
  })

  it('is worked by Tab, Enter and the arrows alone, with the focus where it is expected, and says what everything is', async () => {
    const story = await openInboxStory(browser)
    const page = await story.at('rita')
    const maya = await story.begin('Get me a person.')
    await parts(page).row('A refund over the limit.').waitFor()

    await tabTo(page, /^- 'link ".*A refund over the limit\./)
    await page.keyboard.press('Enter')
    await parts(page).take.waitFor()
    await expect.poll(() => focused(page), patiently).toMatch(/^- heading ".*" \[level=1\]/)
    await tabTo(page, /^- button "Take this conversation"/)
    await page.keyboard.press('Enter')
    await expect.poll(() => focused(page), patiently).toMatch(/^- textbox "Your reply"/)
    await page.keyboard.type('I am a person.')
    await tabTo(page, /^- button "Send reply"/)
    await page.keyboard.press('Enter')
    await maya.hears('human: I am a person.')
    await expect.poll(() => parts(page).box.inputValue(), patiently).toBe('')
    expect(await focused(page)).toMatch(/^- button "Send reply"/)

    // A screen reader hears where it is, and what is new.
    for (const [role, name] of [
      ['navigation', 'Lists'],
      ['log', 'History'],
      ['region', 'Details'],
      ['form', 'Reply'],
      ['group', 'What you want to write'],
      ['search', ''],
      ['main', ''],
      ['banner', ''],
    ] as const)
      expect([name, await page.getByRole(role, { name, exact: name !== '' }).count()]).toEqual([name, 1])
    expect(await axe(page)).toEqual([])

    await tabTo(page, /^- radio "Reply"/, 'Shift+Tab')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    expect(await focused(page)).toMatch(/^- radio "Hand back"/)
    await tabTo(page, /^- textbox "Note for your agent/)
    await page.keyboard.type('All is said.')
    await tabTo(page, /^- button "Hand back to your agent"/)
    await page.keyboard.press('Enter')
    await maya.hears('idle/agent')
    await expect.poll(() => focused(page), patiently).toMatch(/^- heading ".*" \[level=1\]/)
    await maya.talk.send('What do you know?')
    await maya.hears('agent: You said: What do you know? I know: All is said.')
    // And out again, to where one came from.
    await tabTo(page, /^- link "Mine/, 'Shift+Tab')
    await page.keyboard.press('Enter')
    await expect.poll(() => focused(page), patiently).toMatch(/^- heading "Mine" \[level=1\]/)
  })
})

/** What has the focus, as a screen reader says it. */
const focused = (page: Page) => page.locator(':focus').ariaSnapshot()

/** Presses Tab until that is reached. */
async function tabTo(page: Page, what: RegExp, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  const passed: string[] = []
  for (let times = 0; times < 40; times++) {
    await page.keyboard.press(key)
    const now = (await page.evaluate<boolean>('document.activeElement !== document.body')) ? await focused(page) : ''
    if (what.test(now)) return
    passed.push(now.split('\n', 1)[0] ?? '')
  }
  throw new Error(`${what} is not reached by ${key}: ${passed.join(', ')}`)
}

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumMissing, openBrowser, type TestBrowser } from './setup/browser.ts'
import { choose, openInboxStory, parts, patiently, summary } from './setup/inbox-story.ts'

// Several at once at the staff inbox: two people, two tabs, two clicks, a person and a machine.

let browser: TestBrowser

beforeAll(async () => {
  if (!chromiumMissing) browser = await openBrowser()
})

afterAll(async () => {
  if (!chromiumMissing) await browser.close()
})

describe.skipIf(chromiumMissing)('at the inbox, at the same moment,', { timeout: 120_000 }, () => {
  it('two take one conversation: one has it, the other is told who, and goes on with their page', async () => {
    const story = await openInboxStory(browser)
    const [rita, omar] = await Promise.all([story.at('rita'), story.at('omar')])
    const maya = await story.begin('Get me a person.')
    for (const page of [rita, omar]) {
      await parts(page).row('A refund over the limit.').click()
      await parts(page).take.waitFor()
    }
    // Neither form goes out before the other was sent: else the slower page has no button any more by then.
    const { promise: bothSent, resolve } = Promise.withResolvers<void>()
    let sent = 0
    for (const page of [rita, omar])
      await page.route('**/take', async (route) => {
        sent += 1
        if (sent === 2) resolve()
        await bothSent
        await route.continue()
      })
    await Promise.all([rita, omar].map((page) => parts(page).take.click()))
    const winner = await Promise.any(
      [rita, omar].map((page) =>
        parts(page)
          .box.waitFor()
          .then(() => page),
      ),
    )
    const [late, name] = winner === rita ? ([omar, 'Rita Alvarez'] as const) : ([rita, 'Omar Haddad'] as const)
    await late.getByText(`${name} has this conversation.`).waitFor()
    await expect.poll(() => parts(late).alert.textContent(), patiently).toContain('A colleague has this conversation.')
    expect(await parts(winner).alert.textContent()).toBe('')
    // The other page goes on: a note for the team, and the list.
    await late.locator('label', { hasText: /^Note$/ }).click()
    await late.getByRole('textbox', { name: 'Your note' }).fill('I know them.')
    await late.getByRole('button', { name: 'Save note' }).click()
    await parts(winner).log.getByText('I know them.').waitFor()
    await parts(winner).box.fill('Hello.')
    await parts(winner).send.click()
    await maya.hears('human: Hello.')
    expect(maya.heard.filter((line) => line === 'idle/human')).toHaveLength(1)
    expect(maya.heard.join()).not.toContain('I know them.')
  })

  it('two take the next one: each gets another', async () => {
    const story = await openInboxStory(browser)
    const [rita, omar] = await Promise.all([story.at('rita'), story.at('omar')])
    const both = [await story.begin('The first person.'), await story.begin('The second person.')]
    for (const page of [rita, omar]) await expect.poll(() => page.title(), patiently).toBe('(2) Inbox – Hotel Miramar')
    await Promise.all([rita, omar].map((page) => parts(page).takeNext.click()))
    await Promise.all([rita, omar].map((page) => parts(page).box.waitFor()))
    const opened = [rita, omar].map((page) => new URL(page.url()).pathname.split('/').at(-1))
    expect(opened.sort()).toEqual(both.map(({ id }) => id).sort())
    for (const { hears } of both) await hears('idle/human')
  })

  it('what came of a form is told, though the page heard of something newer before', async () => {
    const story = await openInboxStory(browser)
    const rita = await story.at('rita')
    const maya = await story.begin('Get me a person.')
    await parts(rita).takeNext.waitFor()
    const { promise: heard, resolve } = Promise.withResolvers<void>()
    await rita.route('**/take-next', async (route) => {
      const response = await route.fetch()
      // It is done, and on its way back: somebody else comes meanwhile, which the page hears of first.
      await story.begin('Another person.')
      await heard
      await route.fulfill({ response })
    })
    await parts(rita).takeNext.click()
    await parts(rita).row('Another person.').waitFor()
    resolve()
    await parts(rita).box.waitFor()
    expect(new URL(rita.url()).pathname).toMatch(new RegExp(`/${maya.id}$`))
    await parts(rita).box.fill('Hello.')
    await parts(rita).send.click()
    await maya.hears('human: Hello.')
  })

  it('two tabs of one person agree, and a double click sends a reply once', async () => {
    const story = await openInboxStory(browser)
    const context = await story.browserOf('rita')
    const first = await story.pageIn(context)
    const maya = await story.begin('Get me a person.')
    await parts(first).row('A refund over the limit.').waitFor()
    const second = await story.pageIn(context, `/conversations/${maya.id}`)
    await parts(second).take.click()
    await parts(second).box.waitFor()
    await expect.poll(() => parts(first).row('A refund over the limit.').count(), patiently).toBe(0)
    await first.getByRole('link', { name: 'Mine' }).click()
    await parts(first).row('Get me a person.').click()
    await parts(first).box.fill('Once, please.')
    await parts(first).send.dblclick()
    await maya.hears('human: Once, please.')
    await parts(second).log.getByText('Once, please.').waitFor()
    await expect.poll(() => parts(first).box.inputValue(), patiently).toBe('')
    // And each tab sends what the other one shows.
    await parts(second).box.fill('And twice.')
    await parts(second).send.dblclick()
    await maya.hears('human: And twice.')
    await parts(first).log.getByText('And twice.').waitFor()
    expect(maya.heard.filter((line) => line.startsWith('human: '))).toEqual([
      'human: Once, please.',
      'human: And twice.',
    ])
  })

  it('a person takes over while the company’s agent writes: its late reply is a draft for the staff, and nobody else’s [K49, 7.8.who-writes]', async () => {
    const asked = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const story = await openInboxStory(browser, {
      async *agent({ asked: [message], notes }) {
        if (message?.text === 'Anything else?') {
          yield { type: 'text', text: `I am back. ${notes.join()}` }
          return
        }
        asked.resolve()
        await goOn.promise
        yield { type: 'text', text: 'A late thought of the machine.' }
      },
    })
    const rita = await story.at('rita', '?list=open')
    const maya = await story.begin('Is it free?')
    await asked.promise
    await parts(rita).row('Is it free?').click()
    await rita.getByText('Your agent is answering. It stops when you take over.').waitFor()
    await parts(rita).take.click()
    await maya.hears('idle/human')
    goOn.resolve()
    await parts(rita).log.getByText('Draft of your agent that came too late').waitFor()
    await maya.talk.send('And tomorrow?')
    await parts(rita).log.getByText('And tomorrow?').waitFor()
    await parts(rita).box.fill('Both days are free.')
    await parts(rita).send.click()
    await maya.hears('human: Both days are free.')
    await rita.locator('label', { hasText: /^Hand back$/ }).click()
    await rita.getByLabel('Note for your agent').fill('All is said.')
    await rita.getByRole('button', { name: 'Hand back to your agent' }).click()
    await maya.hears('idle/agent')
    await maya.talk.send('Anything else?')
    await maya.hears('agent: I am back. All is said.')
    await expect.poll(() => maya.heard.at(-1), patiently).toBe('idle/agent')
    expect(maya.heard).toEqual([
      'mine, agent: Is it free?',
      'working/agent',
      'idle/human',
      'mine, agent: And tomorrow?',
      'human: Both days are free.',
      'idle/agent',
      'mine, agent: Anything else?',
      'working/agent',
      'agent: I am back. All is said.',
      'idle/agent',
    ])
  })

  it('a conversation is given to a colleague, who loses it when they are gone for two minutes; the agent is told [7.9.queued]', async () => {
    const story = await openInboxStory(browser)
    const rita = await story.at('rita')
    const omars = await story.browserOf('omar')
    const omar = await story.pageIn(omars, '?list=mine')
    const maya = await story.begin('Get me a person.')
    await parts(rita).row('A refund over the limit.').click()
    await parts(rita).take.click()
    await parts(rita).box.waitFor()
    await choose(rita, 'Give to a colleague')
    await rita.getByLabel('Colleague', { exact: true }).selectOption({ label: 'Omar Haddad' })
    await rita.getByRole('button', { name: 'Give', exact: true }).click()
    await parts(omar).row('Get me a person.').click()
    await parts(omar).box.fill('Half a sentence')
    await rita.getByText('Omar Haddad has this conversation.').waitFor()
    const before = maya.heard.length

    await omars.close()
    story.clock.ahead += 121_000
    await story.company.conversations.present({ id: 'rita', name: 'Rita Alvarez' })
    while (!(await story.company.work()).isDone);
    await expect.poll(() => maya.heard.slice(before), patiently).toEqual(['queued/agent'])
    // Who is still there sees it wait again, and takes it.
    await parts(rita).take.click()
    await parts(rita).box.waitFor()
    await maya.hears('idle/human')
    expect(await audit(rita)).toContain('Rita Alvarez gave it away')
  })
})

async function audit(page: Page): Promise<string> {
  await summary(parts(page).details, 'Who did what').click()
  return (await parts(page).details.textContent()) ?? ''
}

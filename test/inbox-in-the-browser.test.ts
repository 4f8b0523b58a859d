import { tool } from 'poppyseed'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { chromiumMissing, openBrowser, type TestBrowser } from './setup/browser.ts'
import { said } from './setup/converse.ts'
import { omar } from './setup/front-desk.ts'
import { openInboxSite } from './setup/inbox-site.ts'

// What the script adds to the inbox: it is live, quick, and loses nothing.

let browser: TestBrowser

beforeAll(async () => {
  if (!chromiumMissing) browser = await openBrowser()
})

afterAll(async () => {
  if (!chromiumMissing) await browser.close()
})

const patiently = { timeout: 15_000, interval: 50 }
const desk = { screen: 'desktop' } as const

describe.skipIf(chromiumMissing)('the staff inbox with its script, in a real browser', { timeout: 120_000 }, () => {
  it('shows a new one at once, and is worked by the keyboard alone: open, take, reply, note', async () => {
    const site = await openInboxSite()
    const page = await site.inbox(await browser.context(desk))
    expect(await page.title()).toBe('Inbox – Hotel Miramar')
    expect(await page.getByText('Nobody is waiting').isVisible()).toBe(true)
    const id = await site.begin('I need a person.')
    await page.getByText('I need a person.').waitFor()
    await expect.poll(() => page.title(), patiently).toBe('(1) Inbox – Hotel Miramar')

    await page.keyboard.press('j')
    expect(await page.evaluate('document.activeElement.matches("[data-row]")')).toBe(true)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'agent.example' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/poppy/inbox/conversations/${id}`)
    await page.keyboard.press('t')
    await page.getByLabel('Your reply').waitFor()
    const focused = () => page.evaluate<string>('document.activeElement.id')
    // Still by single keys: what is typed now goes nowhere.
    await expect.poll(focused, patiently).toBe('thread-title')
    await page.keyboard.press('r')
    await expect.poll(focused, patiently).toBe('reply-text')
    // Letters are letters while somebody types.
    await page.keyboard.type('nt? jk/ Hello.')
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => site.heard(id), patiently).toContain('human: nt? jk/ Hello.')
    await expect.poll(() => page.getByLabel('Your reply').inputValue(), patiently).toBe('')
    // Sent, and out of the box: a note that follows is none of what the agent reads.
    await expect.poll(focused, patiently).toBe('thread-title')
    await page.keyboard.press('n')
    await page.keyboard.type('A nice agent.')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('log').getByText('A nice agent.').waitFor()
    expect(await page.getByRole('log').getByText('Only your team sees this').isVisible()).toBe(true)
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    expect(await page.getByRole('dialog').isVisible()).toBe(true)
    await page.keyboard.press('Escape')
    expect(await page.getByRole('dialog').isVisible()).toBe(false)
    await page.goBack()
    await page.getByText('Open a conversation from the list.').waitFor()
  })

  it('keeps what is typed, the focus, the selection and what is open, whatever comes', async () => {
    const site = await openInboxSite()
    const id = await site.begin('I need a person.')
    const context = await browser.context(desk)
    const page = await site.inbox(context, `/conversations/${id}`)
    await page.getByRole('button', { name: 'Take' }).last().click()
    const box = page.getByLabel('Your reply')
    await box.fill('Half a sentence')
    await page.evaluate('document.activeElement.setSelectionRange(5, 6)')
    await page.getByText('Who did what').click()
    await box.focus()
    await site.talk.send(id, said('Are you there?'))
    await page.getByRole('log').getByText('Are you there?').waitFor()
    expect(await box.inputValue()).toBe('Half a sentence')
    expect(
      await page.evaluate(
        '[document.activeElement.id, document.activeElement.selectionStart, document.activeElement.selectionEnd]',
      ),
    ).toEqual(['reply-text', 5, 6])
    expect(await page.getByText('took it').isVisible()).toBe(true)

    // Another conversation, and back: each has its own.
    const other = await site.begin('And I need a person, too.')
    // Not the row of whoever waits by now.
    await page.getByRole('navigation').getByRole('link', { name: 'Waiting' }).click()
    await page.getByText('And I need a person, too.').click()
    await page.getByRole('button', { name: 'Take this conversation' }).click()
    await expect.poll(() => box.inputValue(), patiently).toBe('')
    await page.goto(`${site.origin}/poppy/inbox/conversations/${id}?list=mine`)
    await expect.poll(() => box.inputValue(), patiently).toBe('Half a sentence')
    expect(other).not.toBe(id)
  })

  it('stays where somebody reads, and says that something new came below', async () => {
    const site = await openInboxSite()
    const id = await site.begin('I need a person.')
    const page = await site.inbox(
      await browser.context(desk, { viewport: { width: 1280, height: 600 } }),
      `/conversations/${id}`,
    )
    await page.getByRole('button', { name: 'Take' }).last().click()
    for (const number of [1, 2, 3, 4, 5, 6, 7, 8])
      await site.talk.send(id, said(`Message ${number}.\nAnd a second line.`))
    await page.getByRole('log').getByText('Message 8.').waitFor()
    // It begins at its end, and stays there.
    expect(await page.evaluate('document.querySelector("[data-history]").scrollTop')).toBe(0)
    const first = page.getByRole('log').getByText('Message 1.')
    await first.scrollIntoViewIfNeeded()
    await page.mouse.move(600, 300)
    const before = await first.boundingBox()
    await site.talk.send(id, said('Message 9.'))
    await page.getByRole('button', { name: 'New messages' }).waitFor()
    expect((await first.boundingBox())?.y).toBeCloseTo(before?.y ?? Number.NaN, 0)
    await page.getByRole('button', { name: 'New messages' }).click()
    await expect.poll(() => page.evaluate('document.querySelector("[data-history]").scrollTop'), patiently).toBe(0)
    expect(await page.getByRole('log').getByText('Message 9.').isVisible()).toBe(true)
    // It goes with the next drawing, once the end is in sight.
    await page.getByRole('button', { name: 'New messages' }).waitFor({ state: 'detached' })
  })

  it('sends once: a double click, a lost network, and an answer that got lost', async () => {
    const site = await openInboxSite()
    const id = await site.begin('I need a person.')
    const context = await browser.context(desk)
    const page = await site.inbox(context, `/conversations/${id}`)
    await page.getByRole('button', { name: 'Take' }).last().click()
    const box = page.getByLabel('Your reply')
    await box.fill('One.')
    await page.getByRole('button', { name: 'Send reply' }).dblclick()
    await expect.poll(() => box.inputValue(), patiently).toBe('')
    expect((await site.heard(id)).filter((line) => line === 'human: One.')).toHaveLength(1)

    await context.setOffline(true)
    await box.fill('Two.')
    await page.getByRole('button', { name: 'Send reply' }).click()
    await page.getByText('This could not be sent. What you typed is kept.').waitFor()
    expect(await box.inputValue()).toBe('Two.')
    await context.setOffline(false)

    // It arrives, and nobody hears of it.
    let lost = 0
    await page.route('**/reply', async (route) => {
      lost += 1
      if (lost > 1) return route.continue()
      await route.fetch()
      await route.abort()
    })
    await page.getByRole('button', { name: 'Send reply' }).click()
    await expect.poll(() => site.heard(id), patiently).toContain('human: Two.')
    await page.getByText('This could not be sent. What you typed is kept.').waitFor()
    await page.getByRole('button', { name: 'Send reply' }).click()
    await expect.poll(() => box.inputValue(), patiently).toBe('')
    expect([lost, (await site.heard(id)).filter((line) => line === 'human: Two.').length]).toEqual([2, 1])
  })

  it('takes nothing for sent that was changed after an answer got lost', async () => {
    const site = await openInboxSite()
    const id = await site.begin('I need a person.')
    const context = await browser.context(desk)
    // A page that isn't told of anything, so that it is still the one from which the first words went.
    await context.route('**/live*', (route) => route.abort())
    const page = await site.inbox(context, `/conversations/${id}`)
    await page.getByRole('button', { name: 'Take' }).last().click()
    const box = page.getByLabel('Your reply')
    const send = page.getByRole('button', { name: 'Send reply' })
    await box.fill('Yes.')
    await page.route('**/reply', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await send.click()
    await expect.poll(() => site.heard(id), patiently).toContain('human: Yes.')
    await page.getByText('This could not be sent. What you typed is kept.').waitFor()
    await page.unroute('**/reply')
    await box.fill('Yes, but not today.')
    await send.click()
    await page.getByText('This page sent something else before, and that arrived.').waitFor()
    await page.getByRole('log').getByText('Yes.', { exact: true }).waitFor()
    expect(await box.inputValue()).toBe('Yes, but not today.')
    await send.click()
    await expect.poll(() => box.inputValue(), patiently).toBe('')
    expect((await site.heard(id)).filter((line) => line.startsWith('human: '))).toEqual([
      'human: Yes.',
      'human: Yes, but not today.',
    ])
  })

  it('says when it is offline, when somebody else was faster, and when they are signed out; nothing typed is lost', async () => {
    const site = await openInboxSite()
    const id = await site.begin('I need a person.')
    const context = await browser.context(desk)
    const page = await site.inbox(context, `/conversations/${id}`)
    await page.getByRole('button', { name: 'Take' }).last().click()
    await page.getByLabel('Your reply').fill('Half a sentence')
    await context.setOffline(true)
    await page.getByText('You are offline.').waitFor()
    await site.talk.send(id, said('While you were away.'))
    await context.setOffline(false)
    await page.getByRole('log').getByText('While you were away.').waitFor()
    await expect.poll(() => page.getByText('You are offline.').count(), patiently).toBe(0)

    // Two tabs agree.
    const second = await site.inbox(context, `/conversations/${id}`)
    await second.getByLabel('Actions').click()
    await second.getByRole('button', { name: 'Put back in the queue' }).click()
    await page.getByRole('button', { name: 'Take this conversation' }).waitFor()
    await second.close()
    const omar = await site.inbox(await browser.context(desk), `/conversations/${id}`, 'omar')
    await omar.getByRole('button', { name: 'Take this conversation' }).click()
    await page.getByText('Omar Haddad has this conversation.').waitFor()

    await context.clearCookies()
    await page.getByRole('link', { name: 'Mine' }).click()
    await page.getByText('You are signed out. What you typed is kept in this tab.').waitFor()
    expect(await page.evaluate('Object.values(sessionStorage)')).toContain('Half a sentence')
  })

  it('tells of somebody who waits, to whoever asked for it, and nothing of what they said', async () => {
    const site = await openInboxSite()
    const context = await browser.context(desk)
    await context.grantPermissions(['notifications'])
    await context.addInitScript(`
      globalThis.told = []
      globalThis.Notification = class extends EventTarget {
        static permission = 'granted'
        static requestPermission = async () => 'granted'
        constructor(title, options) { super(); told.push([title, options.body]) }
      }
      document.hasFocus = () => false`)
    const page = await site.inbox(context)
    await page.getByText('Rita Alvarez').click()
    await page.getByRole('button', { name: 'Tell me when somebody waits' }).click()
    await page.getByText('Notifications are on').waitFor()
    const first = await site.begin('My secret is blue. I need a person.')
    await expect
      .poll(() => page.evaluate('told'), patiently)
      .toEqual([['Hotel Miramar: somebody is waiting', 'Waiting now: 1']])
    // As many wait as before, and somebody new is among them.
    await context.setOffline(true)
    await site.company.conversations.take(first, omar)
    await site.begin('I need a person too.')
    await context.setOffline(false)
    await expect
      .poll(() => page.evaluate('told.map(([, body]) => body)'), patiently)
      .toEqual(Array.from({ length: 2 }, () => 'Waiting now: 1'))
  })

  it('has the details behind a link on a phone, and saved replies where one writes', async () => {
    const site = await openInboxSite({ savedReplies: [{ title: 'Soon', text: 'We come back to you.' }] })
    const id = await site.begin('I need a person.')
    const page = await site.inbox(await browser.context(), `/conversations/${id}`)
    await page.getByRole('button', { name: 'Take' }).last().click()
    await page.getByRole('link', { name: 'Details' }).click()
    expect(await page.getByText('The customer is not signed in.').isVisible()).toBe(true)
    expect(await page.getByLabel('Your reply').isVisible()).toBe(false)
    await page.getByRole('link', { name: 'Back to the conversation' }).click()
    await page.getByText('Saved replies').click()
    await page.getByText('Soon').click()
    expect(await page.getByLabel('Your reply').inputValue()).toBe('We come back to you.')
    await page.getByRole('link', { name: 'Back to the list' }).click()
    await page.getByRole('heading', { name: 'Waiting' }).waitFor()
  })

  it('keeps all that a tool was given where it was refused, and empties all of it once it is done', async () => {
    const input = z.object({ from: z.iso.date(), nights: z.int(), kind: z.enum(['sea', 'hill']), room: z.string() })
    const find = tool({ name: 'find', title: 'Find a room', description: 'Finds it.', input, run: () => ({}) })
    const site = await openInboxSite({ tools: [find] })
    const id = await site.begin('Hello?')
    const page = await site.inbox(await browser.context(desk), `/conversations/${id}`)
    await page.getByRole('button', { name: 'Take' }).last().click()
    await page.getByLabel('Your reply').waitFor()
    await page.getByText('Find a room').click()
    const form = page.locator('form[aria-label="Find a room"]')
    const values = () =>
      Promise.all(['from', 'nights', 'kind', 'room'].map((name) => form.locator(`[name="arg.${name}"]`).inputValue()))
    await form.locator('[name="arg.from"]').fill('2027-06-26')
    await form.locator('[name="arg.nights"]').fill('2.5')
    await form.locator('[name="arg.kind"]').selectOption('sea')
    await form.locator('[name="arg.room"]').fill('Mirador')
    await form.getByRole('button').click()
    await page.getByText('Nothing was done.').waitFor()
    expect(await values()).toEqual(['2027-06-26', '2.5', 'sea', 'Mirador'])
    await form.locator('[name="arg.nights"]').fill('2')
    await form.getByRole('button').click()
    await page.getByText('Done: Find a room').waitFor()
    expect(await values()).toEqual(['', '', '', ''])
  })
})

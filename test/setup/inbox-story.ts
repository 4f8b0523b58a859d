import {
  type Conversation,
  createPersonalAgent,
  generateKey,
  memoryStore,
  type PersonalAgent,
  type Session,
} from '@poppyseed/agent'
import type { BrowserContext, Locator, Page } from 'playwright-core'
import type { Company, CompanyAgent, CompanyConfig } from 'poppyseed'
import { onTestFinished, vi } from 'vitest'
import { createPerson } from '../../examples/hotel/src/person.ts'
import { bookings } from './bookings.ts'
import { chromiumMissing, type TestBrowser } from './browser.ts'
import { staffLogin } from './inbox.ts'
import { listen } from './listen.ts'
import { breakableListen } from './listen-again.ts'
import { createSiteCompany, guests, makeSitePages, siteHandler } from './site.ts'
import { stores } from './stores.ts'

/** People at the staff inbox, each in a browser of their own, and a Personal Agent with its library, all over real HTTP. */

/** Waits until something is so; a machine under load is slow. */
export const patiently = { timeout: 15_000, interval: 25 }

/** Hands over whoever asks for a person; says what it was told, and what people noted for it. */
const polite = (told: { handedOffAt: number }): CompanyAgent =>
  async function* ({ asked, notes }) {
    const text = asked.at(-1)?.text ?? ''
    if (text.includes('person')) {
      told.handedOffAt = performance.now()
      yield { type: 'handoff', reason: 'A refund over the limit.' }
    } else yield { type: 'text', text: `You said: ${text} I know: ${notes.join(', ')}` }
  }

/** The customer as the company shows them to staff. */
const customer: NonNullable<CompanyConfig['customer']> = ({ account }) => ({
  title: `Guest ${account}`,
  facts: { Passport: 'X-482-913' },
  tables: [{ title: 'Stays', columns: ['Room'], rows: [['Mirador']] }],
})

/** Each way that a story is told in, for `describe.each`: on SQLite in memory, and on PostgreSQL with an instance for each side. */
export const inboxWays = stores.map(({ name, missing, fresh }) => ({
  name,
  missing: missing ?? chromiumMissing,
  open: async (browser: TestBrowser) => {
    if (name === 'sqlite') return openInboxStory(browser)
    // The agent turns to one, the staff to the other.
    const store = await fresh()
    return openInboxStory(browser, { stores: [store.store(), store.store()] })
  },
}))

/**
 * Opens it. Pages of the inbox are answered by the last of the instances, everything else by the first; one is enough where
 * nothing else is said.
 */
export async function openInboxStory(
  browser: TestBrowser,
  {
    agent,
    stores: own = [undefined],
    ...config
  }: Partial<CompanyConfig> & {
    /** One for each instance. */
    readonly stores?: readonly (CompanyConfig['store'] | undefined)[]
  } = {},
) {
  const clock = { ahead: 0 }
  const told = { handedOffAt: 0 }
  const now = () => Date.now() + clock.ahead
  const log: string[] = []
  const pages = makeSitePages()
  const companies: Company[] = []
  const { origin, goAway, goSilent, comeBack } = await breakableListen(async (origin) => {
    for (const store of own) {
      const made = createSiteCompany(
        { origin, pages, log },
        {
          conversations: {},
          operations: bookings(),
          ...staffLogin,
          agent: agent ?? polite(told),
          now,
          ...(store === undefined ? {} : { store }),
          ...config,
          customer: config.customer ?? customer,
        },
      )
      companies.push(made)
      onTestFinished(() => made.close())
      await made.start()
    }
    const [first, last] = [siteHandler(companies[0] as Company, pages), siteHandler(companies.at(-1) as Company, pages)]
    return (request) => (new URL(request.url).pathname.startsWith('/poppy/inbox') ? last(request) : first(request))
  })
  let personal: PersonalAgent | undefined
  const keys = [await generateKey()]
  await listen((own) => {
    personal = createPersonalAgent({
      clientId: `${own}/agent.json`,
      name: 'Test Agent',
      keys,
      store: memoryStore(),
      allowHttp: true,
      now,
    })
    return personal.fetch
  })
  const agentOf = personal as unknown as PersonalAgent
  const session = (await agentOf.forUser('maya').company(origin)).session()

  /** A new browser of this member of staff. */
  async function browserOf(name: string, options: Parameters<TestBrowser['context']>[1] = {}): Promise<BrowserContext> {
    const context = await browser.context({ screen: 'desktop' }, options)
    onTestFinished(() => context.close())
    await context.addCookies([{ name: 'desk', value: name, url: origin }])
    return context
  }
  /** Opens a page of the inbox, and waits until it is live. */
  async function pageIn(context: BrowserContext, path = ''): Promise<Page> {
    const page = await context.newPage()
    await page.goto(`${origin}/poppy/inbox${path}`)
    await page.locator('.app.is-live').waitFor()
    return page
  }

  return {
    origin,
    clock,
    told,
    log,
    session,
    clientId: agentOf.clientId,
    /** The instance that the agent turns to. */
    company: companies[0] as Company,
    companies,
    goAway,
    goSilent,
    comeBack,
    browserOf,
    pageIn,
    at: async (name: string, path = '') => pageIn(await browserOf(name), path),
    signIn: (scopes: readonly string[] = ['poppy:read', 'poppy:write'], into: Session = session) =>
      into.signIn({
        scopes,
        open: async (url) => {
          const person = createPerson()
          const consent = await person.submit(await person.open(url), guests.maya)
          await person.submit(consent, { scope: scopes, decision: 'approve' })
        },
      }),
    /** The agent begins a conversation, and goes on listening to it. */
    begin: async (text: string, by: Session = session) => listening(await by.conversations.start(text)),
  }
}

const passing = new Set(['delta', 'deltasDropped', 'connectionLost', 'connectionBack'])

/** A conversation with all that its agent hears in it, one line each: `human: Hello.`, `queued/agent`. */
export function listening(talk: Conversation) {
  const heard: string[] = []
  const proposed: string[] = []
  const ending = new AbortController()
  const done = (async () => {
    for await (const event of talk.follow({ signal: ending.signal })) {
      if (event.type === 'message') {
        const { role, sender, text, operation } = event.message
        if (operation !== undefined) proposed.push(operation.id)
        heard.push(`${role === 'user' ? 'mine, ' : ''}${sender}: ${text ?? operation?.summary ?? ''}`)
      } else if (event.type === 'state') heard.push(`${event.status}/${event.responder}`)
      // Pieces of a message come or don't, and so does a connection; the message does.
      else if (!passing.has(event.type)) heard.push(event.type)
    }
  })().catch((error: unknown) => {
    if (!ending.signal.aborted) heard.push(`broken: ${String(error)}`)
  })
  onTestFinished(async () => {
    ending.abort()
    await done
  })
  return {
    talk,
    id: talk.id,
    heard,
    proposed,
    /** Waits until it has heard this. */
    hears: (line: string) =>
      vi.waitFor(() => {
        if (!heard.includes(line)) throw new Error(`not heard: ${line}; heard: ${heard.join(' | ')}`)
      }, patiently),
  }
}

/** The same names that a screen reader says. */
export const parts = (page: Page) => ({
  row: (text: string) => page.locator('.lists').getByRole('listitem').filter({ hasText: text }),
  take: page.getByRole('button', { name: /^(Take this conversation|Take over from your agent)$/ }),
  takeNext: page.getByRole('button', { name: 'Take the next' }),
  box: page.getByRole('textbox', { name: 'Your reply' }),
  send: page.getByRole('button', { name: 'Send reply' }),
  log: page.getByRole('log'),
  alert: page.getByRole('alert'),
  details: page.getByRole('region', { name: 'Details' }),
})

/** Opens the menu of a conversation, and in it one of its forms. */
export async function choose(page: Page, what: string): Promise<void> {
  await page.getByLabel('Actions').click()
  await summary(page, what).click()
}

/** What a `<details>` is opened by. */
export const summary = (within: Page | Locator, text: string | RegExp) =>
  within.locator('summary').filter({ hasText: text })

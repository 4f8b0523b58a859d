import type { BrowserContext, Page } from 'playwright-core'
import type { CompanyAgent, CompanyConfig } from 'poppyseed'
import { converse, pageOf, said, standingOf, words } from './converse.ts'
import { omar } from './front-desk.ts'
import { staffLogin } from './inbox.ts'
import { openSite } from './site.ts'
import { makeWireAgent, type WireAgent } from './wire-agent.ts'

/** A Company behind a real listener with the staff inbox, and a Personal Agent that talks with it. */

/** Hands over whoever asks for a person, and repeats everything else. */
const polite: CompanyAgent = async function* (turn) {
  const text = turn.asked.at(-1)?.text ?? ''
  if (text.includes('person')) yield { type: 'handoff', reason: 'A refund over the limit.' }
  else yield { type: 'text', text: `You said: ${text}` }
}

/** Opens it. */
export async function openInboxSite(config: Partial<CompanyConfig> = {}) {
  let agent: WireAgent | undefined
  const site = await openSite({
    conversations: {},
    agent: polite,
    ...staffLogin,
    fetchDocument: async (url) => ({ document: agent?.documents[url], headers: new Headers() }),
    ...config,
  })
  agent = await makeWireAgent({
    clientId: 'https://agent.example/agent.json',
    now: Date.now,
    origin: site.origin,
    send: (request) => fetch(request),
  })
  // Somebody is there, so that a handoff waits.
  await site.company.conversations.present(omar)
  const session = (await (await agent.startSession()).json()) as { readonly access_token: string }
  const talk = converse(agent, session.access_token)
  return {
    ...site,
    talk,
    /** A conversation that begins with this. */
    begin: async (text: string) => (await standingOf(await talk.start(said(text)))).conversation_id,
    /** What was said in it, as the agent has it. */
    heard: async (id: string) => words((await pageOf(await talk.read(id))).events),
    /** Opens a page of the inbox as a member of staff. */
    async inbox(context: BrowserContext, path = '', name = 'rita'): Promise<Page> {
      await context.addCookies([{ name: 'desk', value: name, url: site.origin }])
      const page = await context.newPage()
      await page.goto(`${site.origin}/poppy/inbox${path}`)
      await page.locator('.app.is-live').waitFor()
      return page
    },
  }
}

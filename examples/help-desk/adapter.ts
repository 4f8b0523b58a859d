import { type Staff, verifyWebhook } from 'poppyseed'
import { type CompanyApi, CompanyRefused, type ReadConversation, type SaidEvent } from './company-api.ts'
import type { DeskApi } from './desk-api.ts'
import { readDeskWebhook } from './desk-webhook.ts'
import type { Act, Link, Links } from './links.ts'

/**
 * Between a Company and a help desk. A webhook of the Company says that there is something new; what it is, is read by the API, in
 * its order, so that neither a lost nor a doubled nor a late webhook does any harm. What people do in the help desk is kept before
 * it is taken from there, and told to the Company until it is taken or refused.
 */

/** What it is made of. */
export interface AdapterParts {
  /** The secret of the Company's `webhooks`. */
  readonly webhookSecret: string
  /** The secret of the help desk's webhooks. */
  readonly deskSecret: string
  readonly company: CompanyApi
  readonly desk: DeskApi
  readonly links: Links
  readonly log: (line: string) => void
  /** Milliseconds since 1970; left out, the system's clock. */
  readonly now?: () => number
}

/** See {@link createAdapter}. */
export interface Adapter {
  /** Answers `POST /from-company` and `POST /from-desk`. */
  readonly fetch: (request: Request) => Promise<Response>
  /**
   * Tells what was left, and gives the sign of life of the help desk and of whoever there has something: without one for two
   * minutes nobody counts as here, and what they have goes back to the queue. To be called twice a minute.
   */
  readonly work: () => Promise<void>
}

/** Who reads, and who is here as long as the adapter is: the help desk, and nobody in it. */
const helpDesk: Staff = { id: 'help-desk', name: 'Help desk' }

/** Makes it. */
export function createAdapter(parts: AdapterParts): Adapter {
  const { company, desk, links, log, webhookSecret, deskSecret, now = Date.now } = parts
  const inOrder = createQueues()

  async function fromCompany(request: Request): Promise<Response> {
    const event = await verifyWebhook(request, webhookSecret, { now })
    if (event === null) return answer(401)
    if (links.isHandled(event.id)) return answer(204)
    const { conversation_id: id } = event.data
    if (id !== null)
      await inOrder(id, async () => {
        if (event.type === 'handoff.requested') return open(id)
        const link = links.ofConversation(id)
        // What nobody is wanted for is no matter of the help desk's.
        if (link === null) return
        if (event.type === 'operation.unknown')
          return say(
            link,
            event.id,
            `Nobody knows what came of ${event.data.name} (${event.data.operation_id}). Settle it in the staff inbox.`,
          )
        await bringUpToDate(link)
        if (event.type === 'conversation.closed') await desk.setStatus(link.ticket, 'resolved')
      })
    links.noteHandled(event.id)
    return answer(204)
  }

  /** A person is wanted: there is a ticket, it is open, and all that was said stands in it. */
  async function open(id: string): Promise<void> {
    const read = await company.read(helpDesk, id)
    const ticket = links.ofConversation(id)?.ticket ?? (await desk.ticketOf(id, read.conversation.agent.host))
    links.link(id, ticket)
    const link = links.ofConversation(id) as Link
    await bringUpToDate(link, read)
    // Whoever had it lost it, or put it back.
    if (read.conversation.status === 'queued') links.hold(id, null)
    if (read.conversation.status !== 'closed') await desk.setStatus(ticket, 'open')
  }

  /** Brings what was said and isn't in the ticket yet, in its order. */
  async function bringUpToDate(link: Link, newest?: ReadConversation): Promise<void> {
    let page = newest ?? (await company.read(helpDesk, link.conversation))
    const events = [...page.events]
    while (page.before !== null && links.told(events[0]?.id ?? '') !== 'done') {
      page = await company.read(helpDesk, link.conversation, page.before)
      events.unshift(...page.events)
    }
    for (const event of events) if (links.told(event.id) !== 'done') await bring(link, event)
  }

  async function bring(link: Link, event: SaidEvent): Promise<void> {
    const { message } = event
    if (message === undefined) return links.noteTold(event.id, link.ticket, true)
    const text = textOf(message)
    const isCustomers = message.role === 'user'
    if (!isCustomers && message.sender === 'human' && links.isOwnReply(link.ticket, message.text ?? ''))
      return links.noteTold(event.id, link.ticket, true)
    const by = isCustomers
      ? message.sender === 'human'
        ? 'The customer: '
        : ''
      : message.sender === 'human'
        ? 'Answered in the staff inbox: '
        : 'Our agent: '
    await say(link, event.id, by + text, isCustomers)
  }

  /** Writes into the ticket, once for each event: what may be there already is looked for. */
  async function say({ ticket }: Link, event: string, content: string, isIncoming = false): Promise<void> {
    const told = links.told(event)
    const isThere =
      told === 'begun' &&
      (await desk.messages(ticket)).some(({ content_attributes: about }) => about?.poppy_event === event)
    links.noteTold(event, ticket, false)
    if (!isThere)
      await desk.say(ticket, {
        content,
        message_type: isIncoming ? 'incoming' : 'outgoing',
        private: !isIncoming,
        content_attributes: { poppy_event: event },
      })
    links.noteTold(event, ticket, true)
  }

  async function fromDesk(request: Request): Promise<Response> {
    const event = await readDeskWebhook(request, deskSecret, now)
    if (event === null) return answer(401)
    if (event.what === 'nothing') return answer(200)
    const link = links.ofTicket(event.ticket)
    if (link === null) return answer(200)
    const { ticket } = event
    // From here on it is ours, whatever becomes of this process: the help desk doesn't say it again.
    if (event.what === 'said') {
      const kind = event.isPrivate ? 'note' : 'reply'
      if (event.text.trim() !== '')
        links.keepAct({ id: `desk-message-${event.message}`, ticket, kind, text: event.text, by: event.by })
    } else if (event.status === 'resolved' || event.status === 'pending') {
      const kind = event.status === 'resolved' ? 'close' : 'hand-back'
      links.keepAct({ id: `desk-status-${event.delivery}`, ticket, kind, text: '', by: null })
    }
    await tellActs()
    return answer(200)
  }

  async function tellActs(): Promise<void> {
    const held = new Set<number>()
    for (const act of links.waitingActs()) {
      const link = links.ofTicket(act.ticket)
      // One that waits holds back what came after it in its own ticket, and nothing else.
      if (link === null || held.has(act.ticket)) continue
      await inOrder(link.conversation, () => tell(act, link)).catch((error: unknown) => {
        held.add(act.ticket)
        log(
          `waiting to be told: ${act.kind} of ticket ${act.ticket} (${error instanceof Error ? error.message : 'it failed'})`,
        )
      })
    }
  }

  async function tell(act: Act, link: Link): Promise<void> {
    if (!links.waitingActs().some(({ id }) => id === act.id)) return
    const { conversation: id } = link
    const by = act.by ?? links.ofConversation(id)?.holder ?? helpDesk
    try {
      if (act.kind === 'note') await company.note(by, id, act.text, act.id)
      if (act.kind === 'reply') {
        await company.take(by, id)
        links.hold(id, by)
        await company.reply(by, id, act.text, act.id)
      }
      if (act.kind === 'hand-back' && links.ofConversation(id)?.holder) await company.handBack(by, id, act.id)
      if (act.kind === 'close') await company.close(by, id, act.id)
      if (act.kind === 'close' || act.kind === 'hand-back') links.hold(id, null)
      links.noteAct(act.id, 'told')
    } catch (error) {
      if (!(error instanceof CompanyRefused) || !error.isFinal) throw error
      links.noteAct(act.id, 'refused')
      if (error.code === 'conversation_closed') links.hold(id, null)
      // What is closed already is closed.
      if (act.kind === 'close' && error.code === 'conversation_closed') return
      await say(link, `refused-${act.id}`, `Not done in the conversation (${act.kind}): ${whyOf(error)}`)
    }
  }

  return {
    async fetch(request) {
      const { pathname } = new URL(request.url)
      if (request.method !== 'POST') return answer(404)
      try {
        if (pathname === '/from-company') return await fromCompany(request)
        if (pathname === '/from-desk') return await fromDesk(request)
        return answer(404)
      } catch (error) {
        // Whoever sent it sends it again: the Company for three days.
        log(`not done, and to come again: ${error instanceof Error ? error.message : 'it failed'}`)
        return answer(503)
      }
    },
    async work() {
      await tellActs()
      for (const staff of [helpDesk, ...links.holders()]) {
        await company.present(staff).catch(() => log(`no sign of life for ${staff.name}: the Company doesn’t answer`))
      }
    },
  }
}

const answer = (status: number) => new Response(null, { status })

/** In words, for whoever reads tickets. */
function textOf({ text, data, operation }: NonNullable<SaidEvent['message']>): string {
  const facts = Object.entries(data ?? {}).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const offer = operation === undefined ? [] : [`[${operation.state}] ${operation.summary}`]
  return [...(text === undefined ? [] : [text]), ...facts, ...offer].join('\n')
}

function whyOf({ code, because }: CompanyRefused): string {
  if (because === 'held_by_other') return 'a colleague has it in the staff inbox.'
  return code === 'conversation_closed' ? 'it is closed.' : `${because ?? code}.`
}

/** What concerns one conversation happens one after another. */
function createQueues(): (id: string, work: () => Promise<void>) => Promise<void> {
  const last = new Map<string, Promise<void>>()
  return (id, work) => {
    const mine = (last.get(id) ?? Promise.resolve()).then(work, work)
    last.set(id, mine)
    const done = () => {
      if (last.get(id) === mine) last.delete(id)
    }
    mine.then(done, done)
    return mine
  }
}

import { randomUUID } from 'node:crypto'
import { deskSignature } from '../desk-webhook.ts'

/**
 * A stand-in for a help desk: what the adapter asks of Chatwoot's API, in memory, and its webhooks. It is the other side, and knows
 * nothing of the Company. For tests, and for trying the adapter without a help desk.
 */

/** A message, as the API has it. */
export interface StandInMessage {
  readonly id: number
  readonly content: string
  readonly message_type: 'incoming' | 'outgoing'
  readonly private: boolean
  readonly content_attributes: Readonly<Record<string, unknown>>
  readonly sender: { readonly id: number; readonly name: string; readonly type: 'user' | 'contact' }
}

/** A ticket. */
export interface Ticket {
  readonly id: number
  readonly contact: number
  readonly messages: StandInMessage[]
  status: string
}

/** Somebody who works there. */
export interface DeskAgent {
  readonly id: number
  readonly name: string
}

/** How it is set up. */
export interface StandInSettings {
  /** `api_access_token` of the adapter. */
  readonly token: string
  /** Where it sends its webhooks, and what it signs them with. */
  readonly webhook: { readonly url: string; readonly secret: string }
  /** Told of each message. */
  readonly onMessage?: (ticket: Ticket, message: StandInMessage) => void
  readonly now?: () => number
}

const adapterUser = { id: 1, name: 'API', type: 'user' } as const

/** Makes one. */
export function createStandIn({ token, webhook, onMessage, now = Date.now }: StandInSettings) {
  const contacts: {
    readonly id: number
    readonly name: string
    readonly identifier: string
    readonly source: string
  }[] = []
  const tickets: Ticket[] = []
  let lastMessage = 0

  /** As the real one does: once, and nobody waits for it. */
  async function tell(payload: object): Promise<void> {
    const body = JSON.stringify({ ...payload, account: { id: 1, name: 'Hotel Miramar' } })
    const timestamp = String(Math.floor(now() / 1000))
    await fetch(webhook.url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'x-chatwoot-signature': deskSignature(webhook.secret, timestamp, body),
        'x-chatwoot-timestamp': timestamp,
        'x-chatwoot-delivery': randomUUID(),
      },
      signal: AbortSignal.timeout(5000),
    }).then(
      (answer) => answer.body?.cancel(),
      () => undefined,
    )
  }

  function add(
    ticket: Ticket,
    { content, message_type, private: isPrivate, content_attributes }: Omit<StandInMessage, 'id' | 'sender'>,
    sender: StandInMessage['sender'],
  ) {
    lastMessage += 1
    const message = { id: lastMessage, content, message_type, private: isPrivate, content_attributes, sender }
    ticket.messages.push(message)
    onMessage?.(ticket, message)
    const told = tell({ event: 'message_created', ...message, conversation: { id: ticket.id, status: ticket.status } })
    return { message, told }
  }

  const contactJson = ({ id, name, identifier, source }: (typeof contacts)[0]) => ({
    id,
    name,
    identifier,
    contact_inboxes: [{ source_id: source, inbox: { id: 1 } }],
  })

  const ticketOf = (id: string | undefined) => tickets.find((one) => one.id === Number(id))

  const routes: readonly (readonly [
    string,
    RegExp,
    (body: Record<string, unknown>, id: string, query: URLSearchParams) => Response,
  ])[] = [
    [
      'POST',
      /^\/contacts$/,
      ({ name, identifier }) => {
        if (contacts.some((one) => one.identifier === identifier))
          return Response.json(
            { message: 'Identifier has already been taken', attributes: ['identifier'] },
            { status: 422 },
          )
        const contact = {
          id: contacts.length + 1,
          name: String(name),
          identifier: String(identifier),
          source: randomUUID(),
        }
        contacts.push(contact)
        return Response.json({ payload: { contact: contactJson(contact) } })
      },
    ],
    [
      'GET',
      /^\/contacts\/search$/,
      (_body, _id, query) => {
        const found = contacts.filter(({ identifier }) => identifier === query.get('q'))
        return Response.json({ meta: { count: found.length }, payload: found.map(contactJson) })
      },
    ],
    [
      'GET',
      /^\/contacts\/(\d+)\/conversations$/,
      (_body, id) =>
        Response.json({
          payload: tickets
            .filter(({ contact }) => contact === Number(id))
            .map(({ id: one, status }) => ({ id: one, status })),
        }),
    ],
    [
      'POST',
      /^\/conversations$/,
      ({ contact_id, status }) => {
        const ticket: Ticket = {
          id: tickets.length + 1,
          contact: Number(contact_id),
          messages: [],
          status: String(status ?? 'open'),
        }
        tickets.push(ticket)
        return Response.json({ id: ticket.id, inbox_id: 1, status: ticket.status })
      },
    ],
    [
      'GET',
      /^\/conversations\/(\d+)\/messages$/,
      (_body, id) => {
        const ticket = ticketOf(id)
        return ticket === undefined ? notFound() : Response.json({ meta: {}, payload: ticket.messages })
      },
    ],
    [
      'POST',
      /^\/conversations\/(\d+)\/messages$/,
      (body, id) => {
        const ticket = ticketOf(id)
        if (ticket === undefined) return notFound()
        const { content, message_type = 'outgoing', private: isPrivate = false, content_attributes = {} } = body
        if (typeof content !== 'string' || content === '')
          return Response.json({ error: 'content is missing' }, { status: 400 })
        const sender =
          message_type === 'incoming'
            ? ({ id: ticket.contact, name: 'contact', type: 'contact' } as const)
            : adapterUser
        const { message } = add(
          ticket,
          {
            content,
            message_type: message_type as 'incoming',
            private: isPrivate === true,
            content_attributes: content_attributes as object as StandInMessage['content_attributes'],
          },
          sender,
        )
        return Response.json(message)
      },
    ],
    [
      'POST',
      /^\/conversations\/(\d+)\/toggle_status$/,
      ({ status }, id) => {
        const ticket = ticketOf(id)
        if (ticket === undefined) return notFound()
        void setStatus(ticket, String(status))
        return Response.json({
          meta: {},
          payload: { success: true, current_status: ticket.status, conversation_id: ticket.id },
        })
      },
    ],
  ]

  async function setStatus(ticket: Ticket, status: string): Promise<void> {
    if (ticket.status === status) return
    ticket.status = status
    await tell({ event: 'conversation_status_changed', id: ticket.id, inbox_id: 1, status })
  }

  function existing(id: number): Ticket {
    const ticket = ticketOf(String(id))
    if (ticket === undefined) throw new TypeError(`There is no ticket ${id}.`)
    return ticket
  }

  return {
    tickets: tickets as readonly Ticket[],
    /** Its API. */
    async fetch(request: Request): Promise<Response> {
      if (request.headers.get('api_access_token') !== token)
        return Response.json({ error: 'Invalid Access Token' }, { status: 401 })
      const { pathname, searchParams } = new URL(request.url)
      const [, path] = /^\/api\/v1\/accounts\/1(\/.*)$/.exec(pathname) ?? []
      for (const [method, pattern, run] of routes) {
        const found = pattern.exec(path ?? '')
        if (found === null || method !== request.method) continue
        const body = method === 'GET' ? {} : ((await request.json()) as Record<string, unknown>)
        return run(body, found[1] ?? '', searchParams)
      }
      return notFound()
    },
    /** Somebody at the help desk answers, or writes a private note. Resolves when the webhook was answered. */
    async answer(id: number, by: DeskAgent, content: string, { isPrivate = false } = {}): Promise<void> {
      const words = { content, message_type: 'outgoing', private: isPrivate, content_attributes: {} } as const
      await add(existing(id), words, { ...by, type: 'user' }).told
    },
    /** Somebody there sets a ticket's status. Resolves when the webhook was answered. */
    setStatus: (id: number, status: 'open' | 'resolved' | 'pending') => setStatus(existing(id), status),
  }
}

const notFound = () => Response.json({ error: 'Resource could not be found' }, { status: 404 })

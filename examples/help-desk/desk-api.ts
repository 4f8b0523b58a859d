/**
 * The help desk's API, in the shape of Chatwoot's application API (`/api/v1/accounts/{account}/…`, `api_access_token`): contacts,
 * conversations, messages. An inbox of its kind "API" is where conversations of the Company come in.
 */

/** A message of a ticket. */
export interface DeskMessage {
  readonly id: number
  readonly content: string
  readonly content_attributes?: Readonly<Record<string, unknown>>
}

/** What goes into a ticket. `incoming`: of the customer's side. A private one is seen by the help desk's people alone. */
export interface NewDeskMessage {
  readonly content: string
  readonly message_type: 'incoming' | 'outgoing'
  readonly private: boolean
  /** What it tells of: so that it is known when it comes again. */
  readonly content_attributes: Readonly<Record<string, unknown>>
}

interface Contact {
  readonly id: number
  readonly identifier: string | null
  readonly contact_inboxes: readonly { readonly source_id: string; readonly inbox: { readonly id: number } }[]
}

/** See {@link deskApi}. */
export type DeskApi = ReturnType<typeof deskApi>

/** Makes it. */
export function deskApi({
  url,
  account,
  inbox,
  token,
}: {
  readonly url: string
  readonly account: number
  readonly inbox: number
  readonly token: string
}) {
  async function call(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const response = await fetch(`${url}/api/v1/accounts/${account}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: { api_access_token: token, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(5000),
    })
    const answer: unknown = await response.json().catch(() => null)
    // What is there already is found instead.
    if (!response.ok && response.status !== 422)
      throw new Error(`The help desk answered ${response.status} at ${method}.`)
    return { status: response.status, body: answer }
  }

  /** The contact of a conversation: its identifier is the conversation's id, and the help desk takes each once. */
  async function contactOf(conversation: string, name: string): Promise<Contact> {
    const made = await call('POST', '/contacts', { inbox_id: inbox, name, identifier: conversation })
    if (made.status !== 422) return (made.body as { readonly payload: { readonly contact: Contact } }).payload.contact
    const found = await call('GET', `/contacts/search?q=${encodeURIComponent(conversation)}`)
    const contact = (found.body as { readonly payload: readonly Contact[] }).payload.find(
      ({ identifier }) => identifier === conversation,
    )
    if (contact === undefined) throw new Error('The help desk has a contact, and doesn’t find it.')
    return contact
  }

  return {
    /** The ticket of a conversation: made once, however often it is asked for. */
    async ticketOf(conversation: string, name: string): Promise<number> {
      const contact = await contactOf(conversation, name)
      const had = await call('GET', `/contacts/${contact.id}/conversations`)
      const [known] = (had.body as { readonly payload: readonly { readonly id: number }[] }).payload
      if (known !== undefined) return known.id
      const source = contact.contact_inboxes.find((one) => one.inbox.id === inbox)?.source_id
      const made = await call('POST', '/conversations', {
        source_id: source,
        inbox_id: inbox,
        contact_id: contact.id,
        status: 'open',
        additional_attributes: { poppy_conversation: conversation },
      })
      return (made.body as { readonly id: number }).id
    },

    messages: async (ticket: number): Promise<readonly DeskMessage[]> =>
      ((await call('GET', `/conversations/${ticket}/messages`)).body as { readonly payload: readonly DeskMessage[] })
        .payload,

    say: async (ticket: number, message: NewDeskMessage): Promise<void> =>
      void (await call('POST', `/conversations/${ticket}/messages`, message)),

    setStatus: async (ticket: number, status: 'open' | 'resolved' | 'pending'): Promise<void> =>
      void (await call('POST', `/conversations/${ticket}/toggle_status`, { status })),
  }
}

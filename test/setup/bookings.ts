import { type CompanyConfig, operation, type Store, succeeded } from 'poppyseed'
import { z } from 'zod'
import { id, type WireAgent } from './wire-agent.ts'
import { makeWorld, type Tokens, testTools, type World } from './world.ts'

/** A world whose Company has operations: rooms are booked. */

/** An operation as it travels. */
export interface Wire {
  readonly operation_id: string
  readonly revision: number
  readonly state: string
  readonly summary: string
  readonly terms?: Record<string, unknown>
  readonly expires_at?: string
  readonly user_approval_required?: boolean
  readonly confirmation?: { readonly revision: number; readonly approved_by: string; readonly confirmed_at: string }
  readonly confirmation_url?: string
  readonly result?: unknown
}

/** How often each function of the company's ran. */
export interface Counts {
  propose: number
  perform: number
}

export const bookings = (counts: Counts = { propose: 0, perform: 0 }) => [
  operation({
    name: 'book_room',
    title: 'Book a room',
    description: 'Books a room for the signed-in guest.',
    input: z.object({ nights: z.int().min(1).max(30), note: z.string().optional() }),
    scope: 'poppy:write',
    annotations: { destructiveHint: false },
    propose: ({ nights }) => {
      counts.propose += 1
      return {
        summary: `${nights} nights in a sea view room, ${nights * 130} €.`,
        terms: { nights, price: { amount: `${nights * 130}.00`, currency: 'EUR' } },
        data: { rate: 'flexible' },
      }
    },
    perform: ({ terms, data }) => {
      counts.perform += 1
      return succeeded({ booking: `b-${terms.nights}-${data.rate}` })
    },
  }),
  operation({
    name: 'cancel_booking',
    description: 'Cancels a booking of the signed-in guest.',
    input: z.object({ booking: z.string() }),
    scope: ['poppy:read', 'poppy:write'],
    approval: 'standing_permission',
    identity: ({ booking }) => booking,
    expiresIn: 60,
    propose: ({ booking }) => {
      counts.propose += 1
      return { summary: `Booking ${booking} is cancelled without a fee.`, terms: { booking } }
    },
    perform: () => succeeded(),
    cancel: () => {
      throw new Error('nobody asks in these tests')
    },
  }),
  operation({
    name: 'call_back',
    description: 'The front desk calls back.',
    input: z.object({ phone: z.string() }),
    identity: ({ phone }) => phone,
    propose: ({ phone }) => ({ summary: `The front desk calls ${phone}.`, terms: { phone } }),
    perform: () => succeeded(),
  }),
  operation({
    name: 'pay_deposit',
    description: 'Pays the deposit of a booking.',
    scope: 'poppy:write',
    approval: 'page',
    propose: () => ({ summary: 'A deposit of 100 € is paid.', terms: { amount: '100.00', currency: 'EUR' } }),
    perform: () => succeeded({ paid: true }),
  }),
]

/** A world with operations, whose agents list the extension. */
export async function openBookings(
  config: Partial<CompanyConfig> = {},
  store?: Store,
  via?: Parameters<typeof makeWorld>[2],
) {
  const counts: Counts = { propose: 0, perform: 0 }
  const world = await makeWorld({ tools: testTools(), operations: bookings(counts), ...config }, store, via)
  lists(world.agent)
  return { ...world, counts }
}

/** Has an agent list the extension in its document. */
export function lists(agent: WireAgent, extensions: unknown = { operations: { version: '1' } }): void {
  agent.documents[agent.clientId] = { ...(agent.documents[agent.clientId] as object), extensions }
}

/** A Session that is signed in to the account of the site. */
export async function signedIn(world: World, agent = world.agent, scope?: string): Promise<Tokens> {
  const { session_id } = await world.start(agent)
  return world.signIn(agent, session_id, scope === undefined ? {} : { scope })
}

/** Calls of an agent about operations. */
export const asked = (agent: WireAgent, token: string) => ({
  token,
  propose: async (name: string, input: unknown = {}): Promise<Wire> => {
    const answer = await agent.call(`/poppy/tools/${name}`, token, { body: input })
    if (answer.status !== 202) throw new Error(`no proposal: ${answer.status} ${await answer.text()}`)
    return ((await answer.json()) as { operation: Wire }).operation
  },
  read: (operationId: string, query = '') =>
    agent.call(`/poppy/operations/${operationId}${query}`, token, { method: 'GET' }),
  confirm: (operationId: string, body: unknown = { revision: 1, approved_by: 'user' }) =>
    agent.call(`/poppy/operations/${operationId}/confirm`, token, { body }),
  cancel: (operationId: string, body: unknown = {}) =>
    agent.call(`/poppy/operations/${operationId}/cancel`, token, { body }),
})

/** The operation in an answer, with its status and error code before it. */
export async function told(answer: Response): Promise<{ readonly is: string; readonly operation: Wire }> {
  const body = (await answer.json()) as { readonly error?: string; readonly operation: Wire }
  return { is: `${answer.status} ${body.error ?? body.operation.state}`, operation: body.operation }
}

export const unknownId = () => `opn_${id()}`

/** A Session that is signed in and speaks MCP, with the Bearer token for it. */
export async function overMcp(world: World) {
  const { refresh_token } = await signedIn(world)
  const resource = `${world.origin}/poppy/mcp`
  const answer = await world.agent.token(
    { grant_type: 'refresh_token', refresh_token: refresh_token ?? '', resource },
    { proof: null },
  )
  const { access_token } = (await answer.json()) as Tokens
  return {
    token: access_token,
    async mcp(method: string, params: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
      const sent = await world.send(
        new Request(resource, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${access_token}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'mcp-protocol-version': '2025-11-25',
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        }),
      )
      const text = await sent.text()
      const data = text.startsWith('{') ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? '{}')
      return (JSON.parse(data) as { result: Record<string, unknown> }).result
    },
  }
}

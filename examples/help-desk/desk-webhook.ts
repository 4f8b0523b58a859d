import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Staff } from 'poppyseed'

/** What the help desk sends when something happens there, in the shape of Chatwoot's webhooks, signed with its secret. */

/** What it says, as far as it matters. */
export type DeskEvent =
  | {
      readonly what: 'said'
      readonly ticket: number
      readonly message: number
      readonly by: Staff
      readonly text: string
      readonly isPrivate: boolean
    }
  | { readonly what: 'status'; readonly ticket: number; readonly status: string; readonly delivery: string }
  /** Nothing that the Company is told of: what a customer said, or the adapter itself. */
  | { readonly what: 'nothing' }

const tolerance = 300

/** The value of `X-Chatwoot-Signature`. */
export function deskSignature(secret: string, timestamp: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`
}

/** Reads one; null for what isn't the help desk's. */
export async function readDeskWebhook(
  request: Request,
  secret: string,
  now: () => number = Date.now,
): Promise<DeskEvent | null> {
  const timestamp = request.headers.get('x-chatwoot-timestamp') ?? ''
  const delivery = request.headers.get('x-chatwoot-delivery') ?? ''
  const body = await request.text()
  const given = Buffer.from(request.headers.get('x-chatwoot-signature') ?? '')
  const expected = Buffer.from(deskSignature(secret, timestamp, body))
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
  if (!(Math.abs(now() / 1000 - Number(timestamp)) <= tolerance) || delivery === '') return null
  return eventOf(JSON.parse(body) as Payload, delivery)
}

interface Payload {
  readonly event: string
  readonly id: number
  readonly content?: string | null
  readonly message_type?: string
  readonly private?: boolean
  readonly content_attributes?: Readonly<Record<string, unknown>> | null
  readonly sender?: { readonly id: number; readonly name: string; readonly type?: string }
  readonly conversation?: { readonly id: number }
  readonly status?: string
}

function eventOf(payload: Payload, delivery: string): DeskEvent {
  const { event, id, content, message_type, sender, conversation, status } = payload
  if (event === 'conversation_status_changed' && status !== undefined)
    return { what: 'status', ticket: id, status, delivery }
  // What the adapter wrote comes back as everything does: it isn't told to the Company again.
  const isOwn = payload.content_attributes?.poppy_event !== undefined
  const isPerson = sender?.type === 'user'
  if (event !== 'message_created' || message_type !== 'outgoing' || isOwn || !isPerson || conversation === undefined)
    return { what: 'nothing' }
  return {
    what: 'said',
    ticket: conversation.id,
    message: id,
    by: { id: `desk-${sender.id}`, name: sender.name },
    text: content ?? '',
    isPrivate: payload.private === true,
  }
}

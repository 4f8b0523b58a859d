import { verifyWebhook, type WebhookEvent } from 'poppyseed'
import { listen } from './listen.ts'

/** One of a company's own systems, that is told by webhooks. */

/** The secret that it shares with the Company. */
export const webhookSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

/** Its address, and what came: verified, in its order, each as often as it came. */
export interface WebhookReceiver {
  readonly url: string
  readonly got: readonly WebhookEvent[]
  /** The bodies, as they came. */
  readonly bodies: readonly string[]
}

/** Starts one; it ends with the test. `clock` is the Company's. */
export async function receiveWebhooks(clock: { readonly now: number } | null = null): Promise<WebhookReceiver> {
  const got: WebhookEvent[] = []
  const bodies: string[] = []
  const { origin } = await listen(() => async (request) => {
    bodies.push(await request.clone().text())
    const event = await verifyWebhook(request, webhookSecret, clock === null ? {} : { now: () => clock.now })
    if (event === null) return new Response(null, { status: 401 })
    got.push(event)
    return new Response(null, { status: 204 })
  })
  return { url: `${origin}/poppy`, got, bodies }
}

/** What came, in a word each: `handoff.requested`, and what a message says. */
export const toldOf = (events: readonly WebhookEvent[]): readonly string[] =>
  events.map((event) =>
    event.type === 'conversation.message'
      ? `${event.data.message.role} as ${event.data.message.sender}: ${event.data.message.text ?? '-'}`
      : event.type,
  )

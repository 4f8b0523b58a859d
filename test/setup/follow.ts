import type { WireEvent } from '@poppyseed/protocol'
import { type converse, pageOf, standingOf } from './converse.ts'

/** What a Personal Agent does with a conversation: it sends, and reads until the Company has nothing more to say for now. */

type Conversing = ReturnType<typeof converse>

/** What came, and how it stands then. */
export interface Followed {
  readonly id: string
  readonly events: readonly WireEvent[]
  readonly cursor: string | null
  readonly status: string
  readonly responder: string
}

/** Reads all that comes after a cursor, until the Company doesn't work any more. */
export async function follow(at: Conversing, id: string, cursor: string | null = null): Promise<Followed> {
  const events: WireEvent[] = []
  let from = cursor
  for (;;) {
    const page = await pageOf(await at.read(id, `?wait=10${from === null ? '' : `&cursor=${from}`}`))
    events.push(...page.events)
    from = page.cursor
    const { status, responder } = page
    if (!page.has_more && status !== 'working') return { id, events, cursor: from, status, responder }
  }
}

/** Starts a conversation and follows it. */
export async function startAndFollow(at: Conversing, message: unknown): Promise<Followed> {
  return follow(at, (await standingOf(await at.start(message))).conversation_id)
}

/** Sends a further message, and follows what comes after a cursor. */
export async function sendAndFollow(at: Conversing, before: Followed, message: unknown): Promise<Followed> {
  await standingOf(await at.send(before.id, message))
  return follow(at, before.id, before.cursor)
}

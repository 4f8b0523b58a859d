import { AgentError, type AgentErrorCode } from '../errors.ts'
import type { Conversation, ConversationRoom, OwnerCallbacks } from './conversation.ts'
import { isCursorGone, type Page, readEvents } from './desk.ts'
import { type ConversationEvent, type ConversationMessage, readEvent } from './event.ts'
import type { ConversationStanding, WireContent } from './message.ts'
import { openTrial } from './position.ts'
import { longPoll, type Reading } from './reading.ts'

/** The simple way to talk: say something, and get what the Company says until its turn is over (7.3, 7.5). */

/** How long, and who is asked meanwhile. */
export interface ReplyOptions extends OwnerCallbacks {
  readonly signal?: AbortSignal
  /** At most so many seconds; 120 when left out. */
  readonly seconds?: number
}

/** What the Company said. */
export interface ConversationReply extends ConversationStanding {
  /**
   * `answered`: its turn is over; `still_working` when the time was; `queued`: it looks for a person, whose words come later;
   * `closed`; `needs_sign_in`: `error` says what to ask the owner for, or why asking leads nowhere; `needs_user`: it asked for
   * the owner, and there was no `onUser`; `direct`: the owner talks with it now.
   */
  readonly outcome: 'answered' | 'still_working' | 'queued' | 'closed' | 'needs_sign_in' | 'needs_user' | 'direct'
  /** The Company's messages, in their order. */
  readonly messages: readonly ConversationMessage[]
  /** Their texts together. */
  readonly text: string
  /** All that happened, in its order. */
  readonly events: readonly ConversationEvent[]
  /** The Direct Conversation that began, with `direct`. */
  readonly direct: Conversation | undefined
  readonly error: AgentError | undefined
}

/** What waiting works with. */
export interface ReplyParts {
  readonly room: ConversationRoom
  readonly id: string
  /** What is sent first; undefined where nothing is. */
  readonly content: WireContent | undefined
  readonly stands: (standing: ConversationStanding) => Promise<ConversationStanding>
  readonly seeTo: (
    reading: Extract<Reading, { readonly kind: 'event' }>,
    callbacks: OwnerCallbacks,
    signal: AbortSignal | undefined,
  ) => Promise<ConversationEvent>
}

const usualSeconds = 120
const passing: ReadonlySet<AgentErrorCode> = new Set<AgentErrorCode>([
  ...(['unreachable', 'company_error', 'rate_limited', 'store_busy', 'token_refused', 'bad_answer'] as const),
])
/** Pages in a row that bring nothing and are not held, before it is enough. */
const maxEmpty = 20
/** Pages of one reply that bring nothing but what was handled before. */
const maxVain = 200
/** Characters that one reply gathers, about: what comes after that is for the next. */
const maxGathered = 16_000_000
/** Cursors in one reply that the Company no longer has. */
const maxExpired = 5

/** Sends, and reads page by page. What it gives is kept as handled when it gives it, and not before. */
export async function awaitReply(
  { room, id, content, stands, seeTo }: ReplyParts,
  { signal, seconds = usualSeconds, ...callbacks }: ReplyOptions,
): Promise<ConversationReply> {
  const { parts, records, outbox } = room
  const { now, wait } = parts.context
  const end = now() + seconds * 1000
  const trial = await openTrial(records, id)
  const events: ConversationEvent[] = []
  const left = () => Math.max(0, Math.min(longPoll, Math.floor((end - now()) / 1000)))

  /** Takes a page. @returns whether somebody told the Company to go on meanwhile, so that the page is of before */
  const take = async (page: Page): Promise<boolean> => {
    let hasGoneOn = false
    for (const value of page.events) {
      const read = readEvent(value)
      if (read.id !== undefined && trial.wasHandled(read.id)) continue
      if (read.kind === 'known') {
        const event = await seeTo({ kind: 'event', wire: read.wire, operation: read.operation }, callbacks, signal)
        if (event.type === 'authorization') hasGoneOn = event.outcome.result === 'continued'
        events.push(event)
      } else if (read.kind === 'unreadable') events.push({ type: 'missing', reason: 'unreadable' })
      if (read.id !== undefined) await trial.handled(read.id)
    }
    if (typeof page.cursor === 'string' && page.events.length > 0) await trial.reached(page.cursor)
    return hasGoneOn
  }

  const finish = async (
    outcome: ConversationReply['outcome'],
    standing: ConversationStanding,
  ): Promise<ConversationReply> => {
    await trial.commit()
    const messages = events.flatMap((event) =>
      event.type === 'message' && event.message.role === 'company' ? [event.message] : [],
    )
    const asked = events.findLast((event) => event.type === 'authorization' || event.type === 'userRequested')
    const direct = asked?.type === 'userRequested' ? asked.outcome?.conversation : undefined
    const isUnsettled = asked?.type === 'authorization' && asked.outcome.result !== 'continued'
    const isUserMissed = asked?.type === 'userRequested' && asked.outcome === undefined
    return {
      ...standing,
      outcome: direct ? 'direct' : isUnsettled ? 'needs_sign_in' : isUserMissed ? 'needs_user' : outcome,
      ...{ messages, events, direct },
      text: messages.flatMap(({ text }) => text ?? []).join('\n\n'),
      error: isUnsettled ? asked.outcome.error : undefined,
    }
  }

  let page: Page | undefined
  let standing: ConversationStanding | undefined
  let expired = 0
  /** 7.5: from the beginning where the cursor is gone, and the owner is told. @returns whether it is read once more */
  const restarts = async (error: unknown): Promise<boolean> => {
    if (trial.cursor() === null || !isCursorGone(error)) return false
    await trial.restart()
    expired += 1
    if (expired === 1) events.push({ type: 'missing', reason: 'expired' })
    return expired <= maxExpired
  }
  if (content !== undefined) {
    const send = () =>
      outbox.send({ conversation: id, parent: null }, content, { wait: left(), cursor: trial.cursor(), signal })
    const sent = await send().catch(async (error: unknown) => {
      // It may have been accepted all the same: the same one again.
      if (await restarts(error)) return send()
      throw error
    })
    page = sent.page
    standing = await stands(sent)
  }
  // Where nothing was sent its turn may be over already: then there is nothing to wait for.
  let isFirst = content === undefined
  let vain = 0
  let gathered = 0
  for (let empty = 0; ; ) {
    if (page) {
      const before = events.length
      const isOfBefore = await take(page)
      vain = events.length > before ? 0 : vain + 1
      gathered += JSON.stringify(page.events).length
      standing = await stands(page)
      const { status, responder } = standing
      const isOver = !page.hasMore && !isOfBefore
      const isSaid = events.some((event) => event.type === 'message' && event.message.role === 'company')
      const isDirect = events.some((event) => event.type === 'userRequested' && event.outcome?.result === 'direct')
      if (isDirect || (isOver && status === 'closed')) return finish('closed', standing)
      if (isOver && status === 'queued') return finish('queued', standing)
      // 7.7: idle is over; with a person on the line there are no turns, so something has to be said
      if (isOver && status === 'idle' && (responder === 'agent' || isSaid)) return finish('answered', standing)
      empty = page.events.length > 0 ? 0 : empty + 1
    }
    if (now() >= end || empty > maxEmpty || vain > maxVain || gathered > maxGathered) {
      return finish('still_working', standing ?? { status: 'working', responder: 'agent' })
    }
    const began = now()
    try {
      const hold = isFirst ? 0 : left()
      const options = { cursor: trial.cursor(), wantsStream: false, isReconnect: false, wait: hold, signal }
      const answer = await readEvents(parts, id, options)
      isFirst = false
      page = answer.kind === 'page' ? answer.page : undefined
      // Not held, and nothing there: it isn't asked without a pause.
      if (page?.events.length === 0 && hold > 0 && now() - began < 1000) await wait(1000, signal)
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof AgentError)) throw error
      page = undefined
      if (await restarts(error)) continue
      const pause = Math.max(1000, (error.retryAfter ?? 0) * 1000)
      if (!passing.has(error.code) || now() + pause > end) throw error
      await wait(pause, signal)
    }
  }
}

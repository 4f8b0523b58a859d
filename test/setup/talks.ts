import type { Conversation, ConversationEvent, FollowOptions, PersonalAgentOptions, Session } from '@poppyseed/agent'
import type { ConversationEntry, Step } from '@poppyseed/conformance'
import { vi } from 'vitest'
import { type Faults, type HostileVisit, using, visitHostileCompany } from './hostile-company.ts'

/** A conversation with a Company that misbehaves. */
export interface Talk extends HostileVisit {
  readonly here: Session
  readonly conversation: Conversation
  /** The same one in the Company's books. */
  readonly book: () => ConversationEntry
  /** The Company does something, once somebody reads on. */
  readonly live: (...steps: readonly Step[]) => Promise<void>
}

/** Starts a conversation in which the Company says `turn`, and then meets the faults. */
export async function talking(
  turn: readonly Step[],
  faults: Faults = {},
  options: Partial<PersonalAgentOptions> = {},
): Promise<Talk> {
  const visit = await visitHostileCompany({}, options)
  const here = await visit.session()
  visit.company.conversations.script(turn)
  const conversation = await here.conversations.start('Hello.')
  visit.sent()
  Object.assign(visit.company.switches, using(faults))
  const book = () => {
    const entry = visit.company.conversations.entries.find(({ id }) => id === conversation.id)
    if (!entry) throw new Error('no such conversation')
    return entry
  }
  return {
    ...{ ...visit, here, conversation, book },
    live: async (...steps) => {
      await vi.waitFor(() => {
        if (book().listeners.size === 0) throw new Error('nobody reads')
      }, 10_000)
      visit.company.conversations.say(conversation.id, ...steps)
    },
  }
}

/** All that happens until it is over: the conversation is closed, or `isEnough`. */
export async function followed(
  conversation: Conversation,
  isEnough: (event: ConversationEvent) => boolean = () => false,
  options: FollowOptions = {},
): Promise<ConversationEvent[]> {
  const events: ConversationEvent[] = []
  for await (const event of conversation.follow(options)) {
    events.push(event)
    if (!isEnough(event)) continue
    await conversation.handled(event)
    break
  }
  return events
}

/** What the Company said, and what else was told, in its order. */
export function told(events: readonly ConversationEvent[]): string[] {
  return events.flatMap((event) => {
    switch (event.type) {
      case 'message':
        return event.message.role === 'company' ? [event.message.text ?? 'data'] : []
      case 'state':
        return []
      case 'delta':
        return [`(${event.provisionalText})`]
      case 'missing':
        return [`missing: ${event.reason}`]
      default:
        return [event.type]
    }
  })
}

/** Steps that say these and close. */
export function saying(...texts: readonly string[]): readonly Step[] {
  return [...texts.map((say) => ({ say })), { closes: true }]
}

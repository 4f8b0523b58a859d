import {
  type ConversationStatus,
  conversationEventSchema,
  isId,
  isJsonObject,
  parseScope,
  type Speaker,
  type WireEvent,
} from '@poppyseed/protocol'
import type { AccessError } from '../apis/step-up.ts'
import type { AgentError } from '../errors.ts'
import { cleanLines } from '../net/text.ts'
import { cleanInside, type Operation } from '../operations/operation.ts'
import type { Conversation } from './conversation.ts'
import type { AuthorizationNeed } from './step-up.ts'

/** What happens in a conversation (7.5), as whoever uses this library sees it. */

/** A message of either side. Its texts are cleaned, and they are information: no text approves or orders anything. */
export interface ConversationMessage {
  readonly id: string
  /**
   * `company`, or `user` for what this Personal Agent sent, as the Company has it: nothing proves that it was said, so take it
   * for the owner's word no more than anything else here.
   */
  readonly role: 'user' | 'company'
  /** Whether an AI (`agent`) or a person (`human`) wrote it (7.7, 7.8). */
  readonly sender: Speaker
  readonly text: string | undefined
  readonly data: Readonly<Record<string, unknown>> | undefined
  /** What the Company proposes; `session.operations.confirm(operation.id, …)` asks the owner. */
  readonly operation: Operation | undefined
}

/** What became of an `authorization` event (7.11). */
export interface AuthorizationOutcome {
  /**
   * `continued`: signed in, and the Company was told to go on; `declined` by the owner; `stopped`: asking leads nowhere;
   * `needs_owner`: the owner has to be asked, and there was no `signIn` to ask by.
   */
  readonly result: 'continued' | 'declined' | 'stopped' | 'needs_owner'
  /** Why not; `scopes` are what to ask the owner for. */
  readonly error: AgentError | undefined
}

/** What became of a `user_requested` event (7.10). */
export type UserOutcome =
  | { readonly result: 'direct'; readonly conversation: Conversation }
  | { readonly result: 'declined'; readonly conversation?: undefined }

interface Head {
  readonly id: string
  /** When it happened, by the Company's clock, Unix time in milliseconds; undefined where that can't be read. */
  readonly at: number | undefined
}

/** One thing that happened in a conversation. */
export type ConversationEvent =
  | (Head & { readonly type: 'message'; readonly message: ConversationMessage })
  | (Head & { readonly type: 'state'; readonly status: ConversationStatus; readonly responder: Speaker })
  /** The Company needs the account. With `needs_owner`, sign in and say `conversation.authorize(event)`. */
  | (Head & {
      readonly type: 'authorization'
      readonly error: AccessError
      readonly scopes: readonly string[]
      readonly outcome: AuthorizationOutcome
    })
  /** The Company asks for the owner. `outcome` is undefined where no `onUser` was given: then `direct` or `declineUser`. */
  | (Head & { readonly type: 'userRequested'; readonly reason: string; readonly outcome: UserOutcome | undefined })
  | (Head & { readonly type: 'directOpened'; readonly conversationId: string })
  | (Head & { readonly type: 'directClosed'; readonly conversationId: string | undefined })
  /**
   * A piece of a message that is being written (7.6). **Provisional**: show it, and act on nothing of it; the whole message
   * comes and may say something else. Not kept, and never part of `message`.
   */
  | { readonly type: 'delta'; readonly messageId: string; readonly provisionalText: string }
  /** The connection broke: drop the pieces of these messages (7.6). */
  | { readonly type: 'deltasDropped'; readonly messageIds: readonly string[] }
  /**
   * Tell the owner that part of the conversation is missing (7.5): `expired` at the Company, or `unreadable` because the
   * Company wrote it in a way that nobody can understand.
   */
  | { readonly type: 'missing'; readonly reason: 'expired' | 'unreadable' }
  /**
   * Nothing can be read for now, and `error` says why. It is tried again, for a quarter of an hour; nothing is lost by it.
   * `connectionBack` follows when the Company answers again.
   */
  | { readonly type: 'connectionLost'; readonly error: AgentError }
  | { readonly type: 'connectionBack' }

/** An event as it was read: known; of a type that we skip; or not understood. `id` where it has one. */
export type ReadEvent =
  | { readonly kind: 'known'; readonly id: string; readonly wire: WireEvent; readonly operation: unknown }
  | { readonly kind: 'unknown'; readonly id: string }
  | { readonly kind: 'unreadable'; readonly id: string | undefined }

const knownTypes: ReadonlySet<string> = new Set(
  conversationEventSchema.options.map((option) => option.shape.type.value as string),
)

/** Reads one event of a page or stream. One that can't be read spoils no other. */
export function readEvent(value: unknown): ReadEvent {
  if (!isJsonObject(value)) return { kind: 'unreadable', id: undefined }
  // Whoever goes through it later goes by recursion.
  if (isDeeper(value, maxDepth)) return { kind: 'unreadable', id: idIn(value) }
  const { type, created_at: createdAt, message, ...rest } = value
  const id = idIn(value)
  if (id === undefined) return { kind: 'unreadable', id }
  if (typeof type !== 'string') return { kind: 'unreadable', id }
  // 7.5: later versions and extensions add types
  if (!knownTypes.has(type)) return { kind: 'unknown', id }
  // What it proposes is read by the rules of operations; a time that can't be read takes no message away.
  const { operation, ...said } = isJsonObject(message) ? message : {}
  if (typeof said.text === 'string' && said.text.length > maxText) return { kind: 'unreadable', id }
  const time = new Date(typeof createdAt === 'string' ? Date.parse(createdAt) : Number.NaN)
  const parsed = conversationEventSchema.safeParse({
    ...rest,
    id,
    type,
    created_at: Number.isFinite(time.getTime()) ? time.toISOString() : noTime,
    ...(message === undefined ? {} : { message: said }),
  })
  if (!parsed.success) return { kind: 'unreadable', id }
  return { kind: 'known', id, wire: parsed.data, operation }
}

const maxDepth = 32

function isDeeper(value: unknown, most: number): boolean {
  let level: readonly unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
  return false
}

function idIn({ id }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof id === 'string' && isId(id) ? id : undefined
}

/** Characters of a text that nobody could read, or pay a model for. */
const maxText = 500_000

/** Characters of a reason that anybody has to read. */
const maxReason = 2000
const noTime = '0001-01-01T00:00:00Z'

/** What came of asking somebody, for the two kinds of event that ask. */
export interface EventOutcomes {
  readonly authorize: (need: AuthorizationNeed) => Promise<AuthorizationOutcome>
  readonly askUser: (reason: string) => Promise<UserOutcome | undefined>
}

/** A known event in our words, once those were asked whom it asks. */
export async function eventOf(
  wire: WireEvent,
  operation: Operation | undefined,
  { authorize, askUser }: EventOutcomes,
): Promise<ConversationEvent> {
  const head = { id: wire.id, at: wire.created_at === noTime ? undefined : Date.parse(wire.created_at) }
  switch (wire.type) {
    case 'message': {
      const { id, role, sender, text, data } = wire.message
      const message: ConversationMessage = {
        ...{ id, role, sender, operation },
        text: text === undefined ? undefined : cleanLines(text),
        data: data === undefined ? undefined : (cleanInside(data) as ConversationMessage['data']),
      }
      return { ...head, type: 'message', message }
    }
    case 'state':
      return { ...head, type: 'state', status: wire.status, responder: wire.responder }
    case 'authorization': {
      const need = { id: wire.id, error: wire.error, scopes: parseScope((wire.scope ?? '').trim()) ?? [] }
      return { ...head, type: 'authorization', ...need, outcome: await authorize(need) }
    }
    case 'user_requested': {
      const reason = cleanLines(wire.reason).slice(0, maxReason)
      return { ...head, type: 'userRequested', reason, outcome: await askUser(reason) }
    }
    case 'direct_opened':
      return { ...head, type: 'directOpened', conversationId: wire.conversation_id }
    case 'direct_closed':
      return { ...head, type: 'directClosed', conversationId: wire.conversation_id }
  }
}

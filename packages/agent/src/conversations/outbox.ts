import { makeId } from '@poppyseed/protocol'
import { z } from 'zod'
import type { AgentContext } from '../context.ts'
import { AgentError, type AgentErrorCode } from '../errors.ts'
import type { OperationParts } from '../operations/desk.ts'
import { type StoredValue, storeKey } from '../store/store.ts'
import { isCursorGone, type PostAnswer, type PostOptions, postStart, postTo } from './desk.ts'
import type { WireContent } from './message.ts'

/**
 * Sending so that nothing is lost and nothing is said twice (7.3): a message gets its ID and is kept before it is sent, and
 * is sent again with the same ID until an answer says what became of it.
 */

const keptSchema = z.object({
  version: z.literal(1),
  /** The conversation that it goes to; null where it starts one. */
  conversation: z.string().nullable(),
  /** For the first message of a Direct Conversation (7.10). */
  parent: z.string().nullable(),
  message: z.record(z.string(), z.unknown()),
  /** Whether somebody was told that it isn't known what became of it. */
  isTold: z.boolean(),
  /** Unix time in milliseconds. */
  at: z.number(),
})
type Kept = z.infer<typeof keptSchema>

/** Where a message goes. */
export interface Target {
  readonly conversation: string | null
  readonly parent: string | null
}

/** A message that was kept and whose fate isn't known. */
export interface UnsentMessage {
  readonly id: string
  /** Undefined for one that starts a conversation. */
  readonly conversationId: string | undefined
  readonly parentId: string | undefined
  /** Whether they are the owner's own words. */
  readonly isOwners: boolean
  readonly text: string | undefined
  /** Unix time in milliseconds. */
  readonly at: number
}

/** One of those, with whose it is. */
export interface KnownUnsent extends UnsentMessage {
  readonly issuer: string
  readonly account: string
}

/** What became of a message. */
export interface Delivered extends PostAnswer {
  readonly messageId: string
  readonly conversationId: string
}

/** How often a message is sent whose answer gets lost, in one go. */
const maxSends = 3
/** How long the same words count as the same message, where it isn't known what became of it. Milliseconds. */
const sameFor = 3600 * 1000
/** As many are kept, and for so long. */
const maxKept = 100
const keptFor = 7 * 24 * 3600 * 1000

/** Errors after which nobody knows whether the message arrived, or that say "later". */
const unclear: ReadonlySet<AgentErrorCode> = new Set<AgentErrorCode>([
  ...(['unreachable', 'company_error', 'bad_answer', 'rate_limited', 'token_refused', 'store_busy'] as const),
])

/**
 * Errors by which the message itself was looked at: a Company looks first whether it has one of this ID (7.3), so it hasn't. All
 * else, such as that somebody has to sign in, says nothing of what an attempt before this one came to.
 */
const judged: ReadonlySet<AgentErrorCode> = new Set<AgentErrorCode>([
  ...(['conversation_closed', 'conversation_not_found', 'direct_conversation_open', 'message_conflict'] as const),
  ...(['call_failed', 'extension_required', 'invalid_input'] as const),
])

/**
 * Whether it is known by this that a message was not said.
 * @param mayBeSaid whether it may have arrived before, so that it has to be the Company that has looked at it
 */
function isRefused(error: AgentError, mayBeSaid: boolean): boolean {
  const { code, companyCode } = error
  if (unclear.has(code) || isCursorGone(error)) return false
  // Something in between, such as a gateway, refuses without a code of the Company's.
  return !mayBeSaid || (judged.has(code) && (code !== 'call_failed' || companyCode !== undefined))
}

/** Those after which it is sent again at once. */
const again: ReadonlySet<AgentErrorCode> = new Set([...unclear].filter((code) => code !== 'rate_limited'))

/** The messages of one account at one Company that are on their way. */
export interface Outbox {
  /** Keeps a message, sends it, and forgets it once it is known what became of it. */
  readonly send: (target: Target, content: WireContent, options?: PostOptions) => Promise<Delivered>
  /** Sends one that is kept, with the ID that it has. Undefined where somebody else was quicker. */
  readonly sendKept: (id: string, options?: PostOptions) => Promise<Delivered | undefined>
  readonly list: () => Promise<readonly UnsentMessage[]>
  readonly discard: (id: string) => Promise<void>
}

/** Opens the outbox. */
export function openOutbox(parts: OperationParts): Outbox {
  const { context, tokens } = parts
  const { store, now, wait } = context
  const { userKey, issuer, account } = tokens.place
  const prefix = `${storeKey('message', userKey, issuer, account)}/`
  const keyOf = (id: string) => prefix + encodeURIComponent(id)
  const all = async (): Promise<readonly (readonly [id: string, kept: Kept])[]> => {
    const found: (readonly [string, Kept])[] = []
    for (const key of await store.keys(prefix)) {
      const kept = read(await store.get(key))
      if (kept && now() - kept.at < keptFor) found.push([decodeURIComponent(key.slice(prefix.length)), kept])
      else await store.update(key, () => undefined)
    }
    return found.sort(([, left], [, right]) => left.at - right.at)
  }

  /** The one whose fate isn't known, where the same is said once more; else a new one. */
  async function keep(
    target: Target,
    content: WireContent,
  ): Promise<readonly [id: string, kept: Kept, wasTried: boolean]> {
    const kept = await all()
    const same = kept.find(
      ([id, one]) =>
        one.isTold &&
        isFor(one, target) &&
        now() - one.at < sameFor &&
        JSON.stringify(one.message) === JSON.stringify({ id, ...content }),
    )
    if (same) {
      const [id, one] = same
      // It is said now, after what was said in between.
      const anew: Kept = { ...one, at: now() }
      await store.update(keyOf(id), (before) => before && (anew as unknown as StoredValue))
      return [id, anew, true]
    }
    if (kept.length >= maxKept)
      throw new AgentError('store_busy', 'Too many messages wait to be sent: send or discard those first.', {
        action: 'give_up',
      })
    const id = makeId('msg', context.random)
    const fresh: Kept = { version: 1, ...target, message: { id, ...content }, isTold: false, at: now() }
    await store.update(keyOf(id), () => fresh as unknown as StoredValue)
    return [id, fresh, false]
  }

  /** @param wasTried whether it may have been said before, and nobody knows */
  async function sendNow(id: string, kept: Kept, wasTried: boolean, options: PostOptions): Promise<Delivered> {
    for (let sends = 1; ; sends++) {
      try {
        const answer = await once(parts, kept, options)
        await store.update(keyOf(id), () => undefined)
        // Who was told that it isn't known has gone on: what comes late now would contradict what came after.
        for (const [other, { isTold, conversation, at }] of await all()) {
          if (isTold && conversation !== null && conversation === kept.conversation && at < kept.at)
            await store.update(keyOf(other), () => undefined)
        }
        return { ...answer, messageId: id, conversationId: kept.conversation ?? answer.conversation_id ?? '' }
      } catch (error) {
        if (error instanceof AgentError && isRefused(error, wasTried || sends > 1)) {
          // It was refused, so it was not said.
          await store.update(keyOf(id), () => undefined)
          throw error
        }
        // Also where the caller stopped it: it may have arrived by then.
        if (!(error instanceof AgentError && again.has(error.code)) || sends === maxSends) {
          await store.update(keyOf(id), (before) => {
            const still = read(before)
            return still && ({ ...still, isTold: true } as unknown as StoredValue)
          })
          throw error
        }
        await wait(Math.max(1000 * sends, Math.min(error.retryAfter ?? 0, 60) * 1000), options.signal)
      }
    }
  }

  return {
    send: async (target, content, options = {}) => sendNow(...(await keep(target, content)), options),
    sendKept: async (id, options = {}) => {
      const kept = read(await store.get(keyOf(id)))
      return kept && sendNow(id, kept, true, options)
    },
    list: async () => (await all()).map(([id, kept]) => unsentOf(id, kept)),
    discard: async (id) => {
      await store.update(keyOf(id), () => undefined)
    },
  }
}

function unsentOf(id: string, { conversation, parent, message, at }: Kept): UnsentMessage {
  return {
    ...{ id, conversationId: conversation ?? undefined, parentId: parent ?? undefined, at },
    isOwners: message.sender === 'human',
    text: typeof message.text === 'string' ? message.text : undefined,
  }
}

/** All messages of a User whose fate isn't known, at every Company, the oldest first. */
export async function knownUnsent({ store, now }: AgentContext, userKey: string): Promise<readonly KnownUnsent[]> {
  const found: KnownUnsent[] = []
  for (const key of await store.keys(`${storeKey('message', userKey)}/`)) {
    const kept = read(await store.get(key))
    const [issuer = '', account = '', id = ''] = key.split('/').slice(2).map(decodeURIComponent)
    if (kept && now() - kept.at < keptFor) found.push({ ...unsentOf(id, kept), issuer, account })
  }
  return found.sort((left, right) => left.at - right.at)
}

function once(parts: OperationParts, { conversation, parent, message }: Kept, options: PostOptions) {
  if (conversation !== null) return postTo(parts, conversation, 'messages', { message }, options)
  return postStart(parts, { message, ...(parent === null ? {} : { parent_conversation_id: parent }) }, options)
}

function isFor(kept: Kept, { conversation, parent }: Target): boolean {
  return kept.conversation === conversation && kept.parent === parent
}

function read(value: StoredValue | undefined): Kept | undefined {
  const parsed = keptSchema.safeParse(value)
  return parsed.success ? parsed.data : undefined
}

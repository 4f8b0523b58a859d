import { coversScopes } from '@poppyseed/protocol'
import type { Conversation } from '../../conversations/conversation.ts'
import type { AuthorizationOutcome, ConversationEvent } from '../../conversations/event.ts'
import type { SignInNeeded } from '../../conversations/step-up.ts'
import { AgentError } from '../../errors.ts'

/** A sign-in that waits beside a chat: one at a time, and nothing else is held up by it (7.11). */

/** What asked for it. */
export interface SignInAsked {
  readonly event: Extract<ConversationEvent, { readonly type: 'authorization' }>
  readonly conversation: Conversation
}

/** What it works with. */
export interface SignInParts {
  /** Asks the owner; the signal ends the waiting. */
  readonly signIn: (needed: SignInNeeded, signal: AbortSignal) => Promise<unknown>
  readonly ended: (asked: SignInAsked, outcome: AuthorizationOutcome) => void
  readonly cancelled: () => void
  readonly failed: (error: unknown) => void
  /** What Ctrl-C does meanwhile. */
  readonly onInterrupt: (act: (() => boolean) | undefined) => void
  /** The end of the chat. */
  readonly signal: AbortSignal
}

/** The sign-ins of a chat. */
export interface SignIns {
  /** Begins one, unless the one that is open is for the same. */
  readonly begin: (asked: SignInAsked) => void
  /** That it was asked for and not begun. */
  readonly note: (asked: SignInAsked) => void
  /**
   * Begins the last one once more: somebody wants it, so a no from before doesn't count.
   * @throws AgentError `invalid_input` where none is asked for, or one is open
   */
  readonly again: () => SignInAsked
  /** The open one, which ends with whether the conversation goes on with it; undefined where none is. */
  readonly open: () => Promise<boolean> | undefined
}

/** Makes the sign-ins of a chat. */
export function createSignIns(parts: SignInParts): SignIns {
  let last: SignInAsked | undefined
  let next: SignInAsked | undefined
  let open: { scopes: readonly string[]; done: Promise<boolean> } | undefined

  const begin = (asked: SignInAsked, isOnPurpose = false): void => {
    last = asked
    if (open) {
      // 7.11: the one that is open answers both, as far as it goes
      if (!coversScopes(open.scopes, asked.event.scopes)) next = asked
      return
    }
    const cancel = new AbortController()
    const signal = AbortSignal.any([cancel.signal, parts.signal])
    const mine = { scopes: asked.event.scopes, done: Promise.resolve(false) }
    open = mine
    const signIn = (needed: SignInNeeded) => {
      mine.scopes = needed.scopes
      return parts.signIn(needed, signal)
    }
    const run = async (): Promise<boolean> => {
      const { event, conversation } = asked
      try {
        const { error } = event.outcome
        if (isOnPurpose && error) await signIn({ scopes: error.scopes ?? event.scopes, error })
        const outcome = await conversation.authorize(event, { signIn })
        if (outcome.result === 'continued') last = undefined
        parts.ended(asked, outcome)
        return outcome.result === 'continued'
      } catch (error) {
        next = undefined
        if (cancel.signal.aborted) parts.cancelled()
        else if (!parts.signal.aborted) parts.failed(error)
        return false
      } finally {
        open = undefined
        parts.onInterrupt(undefined)
        const waiting = next
        next = undefined
        if (waiting && !parts.signal.aborted) begin(waiting)
      }
    }
    parts.onInterrupt(() => {
      cancel.abort()
      return true
    })
    mine.done = run()
  }

  return {
    begin: (asked) => begin(asked),
    note: (asked) => {
      last = asked
    },
    again: () => {
      if (open) throw new AgentError('invalid_input', 'A sign-in is open already. Ctrl-C cancels it.')
      if (!last) throw new AgentError('invalid_input', 'Nothing needs a sign-in now.')
      const asked = last
      begin(asked, true)
      return asked
    },
    open: () => open?.done,
  }
}

import type { Speaker, WireOperation } from '@poppyseed/protocol'
import type { JsonSchema } from '../tools/schema.ts'

/**
 * The seam to the company's own agent, the Company Agent (7): what it is given for one turn, and what it may say. It never
 * gets the Principal: which rights a tool has is looked up when the tool runs, whatever the agent says.
 */

/** A message of a conversation, of either side, as the Company Agent reads it. */
export interface HeardMessage {
  readonly id: string
  readonly from: 'user' | 'company'
  /** Whether a person wrote it, or an AI (7.8). */
  readonly sender: Speaker
  readonly text?: string
  readonly data?: Readonly<Record<string, unknown>>
  readonly operation?: WireOperation
  /** Milliseconds since 1970. */
  readonly at: number
  /** Where it was said when not in this conversation (7.10). */
  readonly in?: 'parent' | 'direct'
}

/** What an agent knows of a tool, or of an operation, which is called like one. */
export interface TurnTool {
  readonly name: string
  readonly title: string | undefined
  readonly description: string
  /** JSON Schema of its input. */
  readonly input: JsonSchema
  /** Whether it is an operation: called, it proposes, and only the User's side can confirm it. */
  readonly proposes: boolean
}

/** A tool that may not be called now. */
export interface LockedTool extends TurnTool {
  /**
   * What it needs. `extension`: the User's Personal Agent lacks an extension, such as Operations, without which this can't be
   * done here; no sign-in changes that.
   */
  readonly needs: 'sign_in' | 'scope' | 'extension'
  /** The scopes that it needs, space-separated. */
  readonly scope: string
}

/** What a call of a tool came to. It never throws: what is refused is told. */
export type ToolOutcome =
  | { readonly ok: true; readonly value: unknown }
  /** Proposed: it is told in a message of its own (Operations 4.3). */
  | { readonly ok: true; readonly operation: WireOperation; readonly value: unknown }
  | {
      readonly ok: false
      /** A code of the error table, such as `sign_in_required`, `insufficient_scope`, `tool_failed`, `invalid_request`. */
      readonly error: string
      readonly description: string
      /** The scopes needed, for `sign_in_required` and `insufficient_scope`. */
      readonly scope?: string
      readonly issues?: unknown
    }

/** One turn of the Company Agent: everything that it may know. */
export interface Turn {
  readonly conversationId: string
  /** All messages before and with those that this turn answers, oldest first; cut to the newest where there are very many. */
  readonly history: readonly HeardMessage[]
  /** The messages that it answers: the last ones of `history`. */
  readonly asked: readonly HeardMessage[]
  /** What the company's people noted when they handed the conversation back, oldest first: for the agent alone. */
  readonly notes: readonly string[]
  /** What the Personal Agent shared of the User's situation (7.4), in the names of the protocol. */
  readonly context: Readonly<Record<string, unknown>>
  /** A language tag; from the context, else the company's main language. */
  readonly locale: string
  /** For whom it writes: a person when one wrote last or in a Direct Conversation, else an AI (7.8). */
  readonly writesFor: Speaker
  /** Whether this is a Direct Conversation (7.10). */
  readonly isDirect: boolean
  /** Whether the User is signed in at this moment. */
  readonly signedIn: boolean
  /** The tools and operations that may be called now: those that need no sign-in, and those that the scopes allow. */
  readonly tools: readonly TurnTool[]
  /** Those that exist and may not be called now, and what each needs: reasons to ask for a sign-in or for more scope. */
  readonly locked: readonly LockedTool[]
  /** Calls a tool. Rights are checked when it runs, whatever `tools` said. */
  readonly call: (name: string, input: unknown) => Promise<ToolOutcome>
  /** Messages that came since the turn began, once each; they are answered by this turn when it takes them. */
  readonly more: () => Promise<readonly HeardMessage[]>
  /** Aborts when the turn is over for another reason: time, a person took over, closed, the Company closes. */
  readonly signal: AbortSignal
}

/** What the Company Agent says, one after another. Pieces of `text` make one message, which ends with anything else. */
export type Said =
  /** A piece of a message; streamed as it comes. Plain words: no JSON and no markup (7.4). */
  | { readonly type: 'text'; readonly text: string }
  /** A message, whole. */
  | { readonly type: 'message'; readonly text?: string; readonly data?: Readonly<Record<string, unknown>> }
  /** Calls a tool; `yield` gives its outcome. */
  | { readonly type: 'call'; readonly name: string; readonly input: unknown }
  /** The User's account is needed (7.11): an `authorization` event, and the same in words. */
  | { readonly type: 'needs-sign-in'; readonly scope?: string; readonly text?: string }
  | { readonly type: 'needs-scope'; readonly scope: string; readonly text?: string }
  /** A person of the company should take over (7.9). */
  | { readonly type: 'handoff'; readonly reason?: string }
  /** The company wants to talk with the User (7.10). */
  | { readonly type: 'ask-for-user'; readonly reason: string }
  /** There is nothing more to do here (7.12). */
  | { readonly type: 'close' }

/** The company's own agent: a generator that is run once for each turn. */
export type CompanyAgent = (turn: Turn) => AsyncIterable<Said> | AsyncGenerator<Said, void, ToolOutcome | undefined>

import type { ConversationStatus, OperationState, Speaker } from '@poppyseed/protocol'
import type { TextPiece } from '../conversations/found-words.ts'

/**
 * What the inbox shows, as data: made on the server for one member of staff at one moment, drawn there and again in the
 * browser by the same components (`packages/company/inbox`). Types alone. Times are milliseconds since 1970.
 *
 * Nothing in it opens anything but the form token, which is worth nothing without the member of staff's own sign-in.
 */

/** The lists of the inbox, in their order. */
export const inboxLists = ['waiting', 'mine', 'open', 'closed', 'settle'] as const

/** See {@link inboxLists}. `settle`: operations whose outcome nobody knows. */
export type InboxList = (typeof inboxLists)[number]

/** A number, or that there are more than were counted. */
export interface Count {
  readonly number: number
  readonly isMore: boolean
}

/** A whole page of the inbox. */
export interface InboxView {
  readonly organization: string
  /** Whether the company has an agent that answers before its people do. */
  readonly hasAgent: boolean
  readonly me: { readonly id: string; readonly name: string }
  /** Where they sign out of the company's own login; null where the company named no page for it. */
  readonly signOutPage: string | null
  /** Colleagues who are here now, without oneself: to whom a conversation can be given. */
  readonly colleagues: readonly { readonly id: string; readonly name: string }[]
  /** Which words are used, and how dates and numbers are written. The words themselves come with the page: {@link InboxWordTexts}. */
  readonly language: string
  readonly locale: string
  readonly isRightToLeft: boolean
  /** The path of the inbox, such as `/poppy/inbox`: what links and forms begin with. */
  readonly path: string
  /** When this was made. */
  readonly now: number
  readonly counts: Readonly<Record<'waiting' | 'mine' | 'settle', Count>>
  /** Since when whoever asked last waits; null where nobody does. */
  readonly newestWaiting: number | null
  readonly list: ListView
  /** The conversation that is open beside the list; null for none. */
  readonly conversation: ConversationView | null
  /** The operation that is open beside the list, where its outcome isn't known; null for none. */
  readonly operation: OperationDetails | null
  /** What came of what was just done; null where nothing was. */
  readonly notice: Notice | null
  /**
   * What was typed into a form that was refused, by field, so that nothing is lost. `act` says into which: `reply`,
   * `hand-back`, … as in its address. A field that was there more than once is joined by spaces.
   */
  readonly entered: Readonly<Record<string, string>>
  /** Goes with every form as `token`: bound to the member of staff and to its time. */
  readonly token: string
  /** Goes with every form as `once`, new for each: the same one does nothing twice. */
  readonly once: string
}

/**
 * Every word of the inbox in one language, by its name without `inbox.`; `{name}` is a place. It comes once, with the page
 * whose script draws all further views.
 */
export type InboxWordTexts = Readonly<Record<string, string>>

/** See {@link InboxView.notice}. */
export interface Notice {
  readonly kind: 'done' | 'refused'
  readonly text: string
}

/** A list, or what a search found. */
export interface ListView {
  readonly name: InboxList | 'search'
  /** What was searched for. */
  readonly query: string
  readonly conversations: readonly ConversationRowView[]
  /** By what a search found them, by their ids; nothing in other lists. */
  readonly found: Readonly<Record<string, FoundView>>
  /** For `settle`, and for a search that found operations. */
  readonly operations: readonly OperationCard[]
  /** The address of the next page; null where there is none. */
  readonly next: string | null
  /** A search that looks through what was said goes back in pieces: until when it has looked. Null: through everything. */
  readonly searchedSince: number | null
}

/** By what a search found a conversation. */
export type FoundView =
  | { readonly kind: 'conversation' | 'account' | 'agent' }
  | { readonly kind: 'operation'; readonly id: string }
  | {
      readonly kind: 'words'
      /** The id of the entry in which they are. */
      readonly entry: string
      readonly at: number
      /** What stands around them, on one line. */
      readonly excerpt: readonly TextPiece[]
      readonly who:
        | { readonly kind: 'message'; readonly by: Side; readonly sender: Speaker }
        | { readonly kind: 'note'; readonly note: 'note' | 'handback' | 'draft'; readonly by: string | null }
    }

/** A conversation in a list. */
export interface ConversationRowView {
  readonly id: string
  readonly status: ConversationStatus
  readonly responder: Speaker
  /** The verified host of the Personal Agent (4.1). */
  readonly host: string
  /** What the agent calls itself: a claim. */
  readonly claimedName: string | null
  readonly isSignedIn: boolean
  /** A language tag from the context, or null. */
  readonly personLocale: string | null
  /** `user_available` (7.4); null where nothing was said of it. */
  readonly isUserAvailable: boolean | null
  readonly isDirect: boolean
  /** Whether the agent is listening now; null where that isn't known. */
  readonly isConnected: boolean | null
  readonly lastSeenAt: number | null
  readonly waitingSince: number | null
  readonly waitingFor: string | null
  readonly heldBy: { readonly id: string; readonly name: string } | null
  readonly isUnanswered: boolean
  /** The last message, cut: who said it and what. */
  readonly last: { readonly by: Side; readonly sender: Speaker; readonly text: string; readonly at: number } | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly closedAt: number | null
}

/** Who speaks. `agent`: the User's Personal Agent; `user`: the User; `company-agent`; `staff`. */
export type Side = 'agent' | 'user' | 'company-agent' | 'staff'

/** One thing in a conversation's history. */
export type Entry = {
  readonly id: string
  readonly at: number
} & (
  | {
      readonly kind: 'message'
      readonly by: Side
      /** Whether these are a person's words. */
      readonly isPerson: boolean
      readonly text: string | null
      /** `data`, ready to be drawn. */
      readonly data: Readable | null
      readonly operation: OperationCard | null
      /** Whether it tells what came of the operation, which was proposed before. */
      readonly isOutcome: boolean
    }
  | { readonly kind: 'state'; readonly status: ConversationStatus; readonly responder: Speaker }
  | {
      readonly kind: 'authorization'
      readonly needs: 'sign-in' | 'scope'
      readonly scopes: readonly RightView[]
    }
  | { readonly kind: 'user-requested'; readonly reason: string }
  | { readonly kind: 'direct'; readonly isOpen: boolean; readonly conversationId: string }
  | {
      readonly kind: 'note'
      /** `draft`: a reply of the Company Agent's that came too late; `handback`: for the Company Agent. */
      readonly note: 'note' | 'handback' | 'draft'
      readonly by: string | null
      readonly text: string
      readonly data: Readable | null
    }
)

/** Data as a person reads it: a value, a list of named values, or a table. Cut where it is very long. */
export type Readable =
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'fields'; readonly fields: readonly { readonly name: string; readonly value: Readable }[] }
  | { readonly kind: 'table'; readonly columns: readonly string[]; readonly rows: readonly (readonly string[])[] }
  | { readonly kind: 'list'; readonly items: readonly Readable[] }

/** A scope in words. */
export interface RightView {
  readonly scope: string
  readonly text: string
}

/** What staff may do with a conversation at this moment, and what not: `null` is allowed, a text says why not. */
export type Allowed = Readonly<
  Record<
    | 'take'
    | 'release'
    | 'give'
    | 'reply'
    | 'handBack'
    | 'askForUser'
    | 'askForSignIn'
    | 'openAccount'
    | 'callTools'
    | 'close',
    string | null
  >
>

/** The workspace. */
export interface ConversationView extends ConversationRowView {
  /** On top: what is asked, in the words in which it was; and which decision is wanted, where somebody said so. */
  readonly asked: { readonly text: string; readonly by: Side; readonly isPerson: boolean; readonly at: number } | null
  readonly decision: string | null
  /** Oldest first: messages, what happened, and notes, by time. */
  readonly entries: readonly Entry[]
  /** The address of the page with what was before; null where this is all. */
  readonly before: string | null
  /** The address of the newest entries, where this is a page of earlier ones; null where these are the newest. */
  readonly newest: string | null
  /** What a search found in it, where one came from there: which of the entries, and its text in pieces. */
  readonly found: { readonly entry: string; readonly pieces: readonly TextPiece[] } | null
  /** The history behind a Direct Conversation (7.10); null where there is none. */
  readonly parent: { readonly id: string; readonly entries: readonly Entry[] } | null
  /** The Direct Conversation beside it, where one is open. */
  readonly direct: string | null
  /** For whom one writes: an AI, or a person. */
  readonly writesFor: Speaker
  readonly context: Readable | null
  readonly agent: {
    /** Verified (4.1). */
    readonly clientId: string
    readonly host: string
    /** What it says of itself. */
    readonly claims: readonly { readonly name: string; readonly value: string }[]
    readonly isBlocked: boolean
  }
  readonly rights: {
    readonly isSignedIn: boolean
    /** Names the sign-in, so that it can be told from the next one; null where there is none. It opens nothing. */
    readonly signIn: string | null
    /** The scopes that there are at this moment, and those that could be asked for. */
    readonly granted: readonly RightView[]
    readonly missing: readonly RightView[]
  }
  readonly account: AccountView
  readonly tools: readonly ToolView[]
  readonly allowed: Allowed
  /** What a tool that one just ran has answered; null for none. */
  readonly outcome: ToolOutcomeView | null
  readonly savedReplies: readonly { readonly title: string; readonly text: string }[]
  /** Who did what, newest first, cut to the newest. */
  readonly audit: readonly AuditView[]
}

/**
 * The customer's account. `closed`: nobody opened it. `dark`: it was open, and the rights are gone, or others. `failed`: a fault
 * of ours.
 */
export type AccountView =
  | { readonly state: 'closed' | 'dark' | 'none' | 'failed' }
  | {
      readonly state: 'open'
      readonly title: string | null
      readonly facts: readonly { readonly name: string; readonly value: string }[]
      readonly tables: readonly {
        readonly title: string
        readonly columns: readonly string[]
        readonly rows: readonly (readonly string[])[]
      }[]
      readonly links: readonly { readonly text: string; readonly href: string }[]
    }

/** A tool, or an operation, and whether it may be called now. */
export interface ToolView {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly proposes: boolean
  /** Which right is missing, in words; null for none. Whether tools may be called at all is in {@link Allowed}. */
  readonly missing: string | null
  /** The scopes that a sign-in would be asked for, to unlock it; empty where asking doesn't help, or isn't allowed now. */
  readonly asks: readonly string[]
  /** A form for its input; null where its input is too deep for one: then it is JSON. */
  readonly fields: readonly ToolField[] | null
}

/** A field of a tool's form, named `arg.{name}`. */
export interface ToolField {
  readonly name: string
  readonly label: string
  readonly hint: string | null
  readonly isNeeded: boolean
  readonly kind: 'text' | 'long-text' | 'number' | 'date' | 'date-time' | 'yes-no' | 'choice' | 'list'
  readonly choices: readonly string[]
  readonly standard: string | null
}

/** What came of a call. */
export interface ToolOutcomeView {
  readonly tool: string
  readonly title: string
  readonly isOk: boolean
  /** Whether it was only proposed: nothing is done before the User's side confirms it. */
  readonly isProposed: boolean
  /** What was refused and why, in words. */
  readonly text: string | null
  readonly value: Readable | null
}

/** An operation as staff see it. In lists it has no terms, result or input. */
export interface OperationCard {
  readonly id: string
  readonly name: string
  readonly state: OperationState
  readonly revision: number
  readonly summary: string
  readonly terms: Readable | null
  readonly expiresAt: number | null
  /** Since when nobody knows what came of it; null where that is known, or it hasn't begun. */
  readonly unknownSince: number | null
  /** The result or the reason, in words or as data. */
  readonly result: Readable | null
  readonly conversationId: string | null
  readonly host: string
  readonly createdAt: number
  /**
   * The input that it was proposed with, by field: what a form to revise it begins with; `{ json }` where its input is too
   * deep for one. Null where staff can't revise it.
   */
  readonly input: Readonly<Record<string, string>> | null
}

/** An operation that is open. */
export interface OperationDetails extends OperationCard {
  /** What happened to it, oldest first: who of the company it was, by name, and why, where that is known. */
  readonly trail: readonly {
    readonly at: number
    readonly what: string
    readonly by: string | null
    readonly why: string | null
  }[]
  /** Who did what, newest first, cut to the newest. */
  readonly audit: readonly AuditView[]
}

/** A line of the record of who did what. */
export interface AuditView {
  readonly at: number
  readonly by: string
  readonly act: string
  readonly detail: string | null
}

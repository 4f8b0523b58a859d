import type { LockedTool, ToolOutcome, TurnTool } from '../company-agent/turn.ts'
import type { SignedInPrincipal } from '../tools/tool.ts'
import type { Staff } from './held.ts'
import type { ConversationParts } from './parts.ts'
import { createStaffAccounts, type StaffAccount } from './staff-account.ts'
import { createStaffActs } from './staff-acts.ts'
import type { StaffOptions } from './staff-input.ts'
import { createStaffReading, type StaffReading } from './staff-reading.ts'
import { createStaffTools, type ToolsForStaff } from './staff-tools.ts'
import type { ConversationRecord } from './staff-view.ts'

/**
 * `company.conversations`: what the company's own people see and do (7.9). Each call is checked against the conversation as
 * it is at that moment, and none has more rights than the User's side gave (reading 22). Who it is comes from the company's own
 * login, and is never told outside.
 */

/** What a member of staff writes: text, data, or both. */
export interface StaffMessage {
  readonly text?: string
  /** Structured details, for an agent at the other side (7.4, 7.8). */
  readonly data?: Readonly<Record<string, unknown>>
}

/** Who closes a conversation that isn't a member of staff: a job of the company's own. */
export interface ClosedBy {
  readonly by: string
}

/** What a member of staff revises an operation with. */
export interface StaffRevised {
  /** The operation's id. */
  readonly operation: string
  /** The revision that is the latest now, as far as they know. */
  readonly revision: number
  /** The input that the operation is called with instead. */
  readonly input: unknown
}

/** Which tools there are for the rights of a conversation. */
export interface OfferedToStaff {
  readonly tools: readonly TurnTool[]
  /** Those that may not be called now, and what each needs. */
  readonly locked: readonly LockedTool[]
}

/**
 * `company.conversations`. What takes an id throws PoppyError `conversation_not_found` where there is none, and
 * `conversation_closed` where it is over; `staff_conflict`, with the reason in `extra.because`, where a colleague has it, nobody
 * took it, or what is asked for doesn't fit.
 *
 * Each act stands in the audit, in the same transaction as what it changes; what changes nothing doesn't. With `options.key` it is
 * done once: the same member of staff, act, conversation and key give the conversation as it is the next time. With the same key and
 * other words, or anything else that is other, it is `staff_conflict`, `key_used`, and nothing is done.
 */
export interface CompanyConversations extends StaffReading {
  /** A sign of life: whoever gives none for two minutes is gone, and what they have goes back to the queue. */
  readonly present: (staff: Staff) => Promise<void>
  /** Goes: what they have goes back to the queue at once. */
  readonly withdraw: (staff: Staff, options?: StaffOptions) => Promise<void>
  /** Takes a conversation, out of the queue or from the Company Agent, whose turn ends with that. */
  readonly take: (id: string, staff: Staff, options?: StaffOptions) => Promise<ConversationRecord>
  /** Takes the one that waits longest; null where nobody waits. The same key gives the one that was taken with it. */
  readonly takeNext: (staff: Staff, options?: StaffOptions) => Promise<ConversationRecord | null>
  /** Puts it back into the queue, where it waits since it first did. */
  readonly release: (id: string, staff: Staff, options?: StaffOptions) => Promise<ConversationRecord>
  /** Gives it to a colleague. One who gives no sign of life for two minutes loses it to the queue. */
  readonly give: (id: string, staff: Staff, to: Staff, options?: StaffOptions) => Promise<ConversationRecord>
  /** Answers, as a person (7.8). */
  readonly reply: (
    id: string,
    staff: Staff,
    message: StaffMessage,
    options?: StaffOptions,
  ) => Promise<ConversationRecord>
  /** Writes a note that never leaves the company: of whoever has it or not, and of one that is closed too. */
  readonly note: (id: string, staff: Staff, text: string, options?: StaffOptions) => Promise<ConversationRecord>
  /** Notes in the audit that somebody reads a conversation: once in ten minutes for each of them. Changes nothing else. */
  readonly noteRead: (id: string, staff: Staff) => Promise<void>
  /**
   * Hands it back to the Company Agent, which answers what is still unanswered. `note` is for the Company Agent alone, `text`
   * a last word to the other side.
   */
  readonly handBack: (
    id: string,
    staff: Staff,
    words?: { readonly note?: string; readonly text?: string },
    options?: StaffOptions,
  ) => Promise<ConversationRecord>
  /** Asks to talk with the User themselves (7.10); `reason` is a sentence for them. */
  readonly askForUser: (id: string, staff: Staff, reason: string, options?: StaffOptions) => Promise<ConversationRecord>
  /**
   * Asks for a sign-in, or for more of one: with these scopes, separated by spaces (7.11), and says so in a message: `text`, or
   * words of the library's.
   */
  readonly askForSignIn: (
    id: string,
    staff: Staff,
    asked?: { readonly scope?: string; readonly text?: string },
    options?: StaffOptions,
  ) => Promise<ConversationRecord>
  /**
   * Opens the account of the User, on purpose: from then on the conversation belongs to it (7.2). Gives the Principal as its
   * rights are at this moment, for the company's own pages. It stays open for whoever opened it, until they close it or lose the
   * conversation, and for that sign-in alone. A key that was used opens nothing again: then it is `already_done`.
   * @throws PoppyError `sign_in_required` when the User is signed out now, or signed in to another account
   */
  readonly openAccount: (id: string, staff: Staff, options?: StaffOptions) => Promise<SignedInPrincipal>
  /** Closes the account again, for whoever has the conversation. */
  readonly closeAccount: (id: string, staff: Staff, options?: StaffOptions) => Promise<ConversationRecord>
  /** How the account stands for a member of staff at this moment; `closed` for whoever doesn't have the conversation. */
  readonly account: (id: string, staff: Staff) => Promise<StaffAccount>
  /**
   * Runs a tool, or proposes an operation, with the rights that the conversation has at this moment (7.11). What is refused is
   * told in the outcome, to the member of staff alone. Nobody of the company can confirm an operation. A tool never runs twice
   * for a key: the second call is `staff_conflict`, `already_done`. An operation is kept and told in the conversation in one
   * transaction, once for a key: the second call gives what was proposed, as it is then.
   */
  readonly callTool: (
    id: string,
    staff: Staff,
    name: string,
    input: unknown,
    options?: StaffOptions,
  ) => Promise<ToolOutcome>
  /**
   * Gives a proposal other terms: its own `propose` works them out from the new input, with the rights that the conversation has
   * at this moment. It is one of the conversation's account or, where it is no account's, was proposed in it. The revision before
   * can't be confirmed any more; what is about another thing is proposed anew instead. What is refused is told in the outcome:
   * `operation_not_found`, `revision_conflict` where another revision is the latest, and what `callTool` tells.
   */
  readonly reviseOperation: (
    id: string,
    staff: Staff,
    revised: StaffRevised,
    options?: StaffOptions,
  ) => Promise<ToolOutcome>
  /** Which tools there are at this moment, and what those need that may not be called. For a blocked agent there are none. */
  readonly offered: (id: string, staff: Staff) => Promise<OfferedToStaff>
  /** Closes it (7.12): for its member of staff, for anybody while nobody has it, and for the company's own code. */
  readonly close: (
    id: string,
    by: Staff | ClosedBy,
    reason?: string,
    options?: StaffOptions,
  ) => Promise<ConversationRecord>
}

/** What a Company has that has no conversations: each call says what to write. */
export function withoutConversations(): CompanyConversations {
  const names: Readonly<Record<keyof CompanyConversations, null>> = {
    queue: null,
    heldBy: null,
    list: null,
    counts: null,
    lastMessages: null,
    colleagues: null,
    search: null,
    audit: null,
    read: null,
    present: null,
    withdraw: null,
    take: null,
    takeNext: null,
    release: null,
    give: null,
    reply: null,
    note: null,
    noteRead: null,
    handBack: null,
    askForUser: null,
    askForSignIn: null,
    openAccount: null,
    closeAccount: null,
    account: null,
    callTool: null,
    reviseOperation: null,
    offered: null,
    close: null,
  }
  const refuse = async () => {
    throw new TypeError('This Company has no conversations. Write conversations: {}, or an agent of its own.')
  }
  return Object.fromEntries(Object.keys(names).map((name) => [name, refuse])) as unknown as CompanyConversations
}

/** Makes `company.conversations`. */
export function createCompanyConversations(parts: ConversationParts & ToolsForStaff): CompanyConversations {
  return {
    ...createStaffReading(parts),
    ...createStaffActs(parts),
    ...createStaffAccounts(parts),
    ...createStaffTools(parts),
  }
}

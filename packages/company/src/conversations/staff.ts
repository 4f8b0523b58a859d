import { base64url, coversScopes, formatScope, makeId, PoppyError, parseScope } from '@poppyseed/protocol'
import type { ToolOutcome } from '../company-agent/turn.ts'
import type { SignedInPrincipal } from '../tools/tool.ts'
import { closeConversation } from './closing.ts'
import { userRequested } from './direct.ts'
import {
  given,
  handedBack,
  proposed,
  putBack,
  released,
  replied,
  requireHeld,
  type Staff,
  signInAsked,
  staffConflict,
  taken,
} from './held.ts'
import { withConversation } from './ledger.ts'
import { changeWithNote } from './notes.ts'
import { useAccount } from './owning.ts'
import type { ConversationParts } from './parts.ts'
import { standingNow } from './rights-now.ts'
import type { ConversationRow, Decision } from './row.ts'
import { checkId, checkSentence, checkStaff, checkText, checkWritten } from './staff-input.ts'
import { createStaffReading, type StaffReading } from './staff-reading.ts'
import { heldConversations, queuedConversations } from './staff-store.ts'
import { type ConversationRecord, recordOf } from './staff-view.ts'
import { findConversation } from './store.ts'

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

/**
 * `company.conversations`. What takes an id throws PoppyError `conversation_not_found` where there is none, and
 * `conversation_closed` where it is over; `staff_conflict`, with the reason in `extra.because`, where a colleague has it, nobody
 * took it, or what is asked for doesn't fit.
 */
export interface CompanyConversations extends StaffReading {
  /** A sign of life: whoever gives none for two minutes is gone, and what they have goes back to the queue. */
  readonly present: (staff: Staff) => Promise<void>
  /** Goes: what they have goes back to the queue at once. */
  readonly withdraw: (staff: Staff) => Promise<void>
  /** Takes a conversation, out of the queue or from the Company Agent, whose turn ends with that. */
  readonly take: (id: string, staff: Staff) => Promise<ConversationRecord>
  /** Takes the one that waits longest; null where nobody waits. */
  readonly takeNext: (staff: Staff) => Promise<ConversationRecord | null>
  /** Puts it back into the queue, where it waits since it first did. */
  readonly release: (id: string, staff: Staff) => Promise<ConversationRecord>
  /** Gives it to a colleague. */
  readonly give: (id: string, staff: Staff, to: Staff) => Promise<ConversationRecord>
  /** Answers, as a person (7.8). */
  readonly reply: (id: string, staff: Staff, message: StaffMessage) => Promise<ConversationRecord>
  /** Writes a note that never leaves the company: of whoever has it or not, and of one that is closed too. */
  readonly note: (id: string, staff: Staff, text: string) => Promise<ConversationRecord>
  /**
   * Hands it back to the Company Agent, which answers what is still unanswered. `note` is for the Company Agent alone, `text`
   * a last word to the other side.
   */
  readonly handBack: (
    id: string,
    staff: Staff,
    words?: { readonly note?: string; readonly text?: string },
  ) => Promise<ConversationRecord>
  /** Asks to talk with the User themselves (7.10); `reason` is a sentence for them. */
  readonly askForUser: (id: string, staff: Staff, reason: string) => Promise<ConversationRecord>
  /**
   * Asks for a sign-in, or for more of one: with these scopes, separated by spaces (7.11), and says so in a message: `text`, or
   * words of the library's.
   */
  readonly askForSignIn: (
    id: string,
    staff: Staff,
    asked?: { readonly scope?: string; readonly text?: string },
  ) => Promise<ConversationRecord>
  /**
   * Opens the account of the User, on purpose: from then on the conversation belongs to it (7.2). Gives the Principal as its
   * rights are at this moment, for the company's own pages.
   * @throws PoppyError `sign_in_required` when the User is signed out now, or signed in to another account
   */
  readonly openAccount: (id: string, staff: Staff) => Promise<SignedInPrincipal>
  /**
   * Runs a tool, or proposes an operation, with the rights that the conversation has at this moment (7.11). What is refused is
   * told in the outcome, to the member of staff alone. Nobody of the company can confirm an operation.
   */
  readonly callTool: (id: string, staff: Staff, name: string, input: unknown) => Promise<ToolOutcome>
  /** Closes it (7.12): for its member of staff, for anybody while nobody has it, and for the company's own code. */
  readonly close: (id: string, by: Staff | ClosedBy, reason?: string) => Promise<ConversationRecord>
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
    handBack: null,
    askForUser: null,
    askForSignIn: null,
    openAccount: null,
    callTool: null,
    close: null,
  }
  const refuse = async () => {
    throw new TypeError('This Company has no conversations. Write conversations: {}, or an agent of its own.')
  }
  return Object.fromEntries(Object.keys(names).map((name) => [name, refuse])) as unknown as CompanyConversations
}

/** A tool that a member of staff calls. */
export interface StaffCall {
  readonly name: string
  readonly input: unknown
  /** The same for no other call. */
  readonly callId: string
  readonly signal: AbortSignal
  /** The member of staff, by the company's id for them. */
  readonly staff: string
}

/** Makes `company.conversations`. */
export function createCompanyConversations(
  parts: ConversationParts & {
    /** Calls a tool with the rights that the conversation has now (reading 22). */
    readonly callTool: (row: ConversationRow, call: StaffCall) => Promise<ToolOutcome>
    /** Aborts when the Company closes and waits no longer for what runs. */
    readonly givenUp: AbortSignal
  },
): CompanyConversations {
  const newId = () => makeId('msg', parts.random)

  const notFound = (id: string) =>
    new PoppyError('conversation_not_found', { description: `There is no conversation ${id}.` })

  async function existing(id: string): Promise<ConversationRow> {
    const row = await findConversation(await parts.scope(), checkId(id))
    if (row === null) throw notFound(id)
    return row
  }

  /** Whoever does something is there. */
  async function seen(staff: Staff): Promise<Staff> {
    const checked = checkStaff(staff)
    await parts.people.seen(checked)
    return checked
  }

  async function change(id: string, decide: (row: ConversationRow) => Decision | null): Promise<ConversationRecord> {
    const settled = await withConversation(parts, checkId(id), decide)
    if (settled === null) throw notFound(id)
    return recordOf(settled.row)
  }

  return {
    ...createStaffReading(parts),

    async present(staff) {
      await seen(staff)
    },

    async withdraw(staff) {
      const { id } = checkStaff(staff)
      await parts.people.gone(id)
      for (const held of await heldConversations(await parts.scope(), id))
        await change(held.id, (row) => (row.held_by === id ? putBack(row, parts.now()) : null))
    },

    async take(id, staff) {
      const who = await seen(staff)
      return change(id, (row) => taken(row, who))
    },

    async takeNext(staff) {
      const who = await seen(staff)
      const scope = await parts.scope()
      for (;;) {
        const waiting = await queuedConversations(scope, 20)
        if (waiting.length === 0) return null
        for (const { id } of waiting) {
          // Whoever was quicker has that one; the next one waits too.
          const decide = (row: ConversationRow) => (row.status === 'queued' ? taken(row, who) : null)
          const settled = await withConversation(parts, id, decide)
          if (settled?.isChanged === true) return recordOf(settled.row)
        }
      }
    },

    async release(id, staff) {
      const who = await seen(staff)
      return change(id, (row) => released(row, who, parts.now()))
    },

    async give(id, staff, to) {
      const who = await seen(staff)
      const colleague = checkStaff(to)
      return change(id, (row) => given(row, who, colleague))
    },

    async reply(id, staff, message) {
      const written = { id: newId(), ...checkWritten(message) }
      const who = await seen(staff)
      return change(id, (row) => replied(row, who, written))
    },

    async note(id, staff, text) {
      const note = { kind: 'note', staff: checkStaff(staff), text: checkText('A note', text) } as const
      await seen(staff)
      const row = await changeWithNote(parts, checkId(id), () => ({ decision: { set: {}, events: [] }, note }))
      if (row === null) throw notFound(id)
      return recordOf(row)
    },

    async handBack(id, staff, words = {}) {
      const { note, text } = words
      const last = text === undefined ? undefined : { id: newId(), ...checkWritten({ text }) }
      const told = note === undefined ? null : checkText('A note', note)
      const who = await seen(staff)
      const decide = (row: ConversationRow) => {
        const decided = handedBack(row, { staff: who, now: parts.now(), last })
        if (parts.agent === null) throw staffConflict('no_agent')
        return decided
      }
      if (told === null) return change(id, decide)
      const row = await changeWithNote(parts, checkId(id), (current) => ({
        decision: decide(current),
        note: { kind: 'handback', staff: who, text: told },
      }))
      if (row === null) throw notFound(id)
      return recordOf(row)
    },

    async askForUser(id, staff, reason) {
      const sentence = checkSentence('reason', reason)
      const who = await seen(staff)
      return change(id, (row) => userRequested(row, { reason: sentence, staff: who }))
    },

    async askForSignIn(id, staff, asked = {}) {
      const needed = readScope(asked.scope ?? '')
      const text = asked.text === undefined ? undefined : checkText('text', asked.text)
      const who = await seen(staff)
      const row = await existing(id)
      requireHeld(row, who)
      const { principal } = await standingNow(parts, row)
      if (principal.account !== null && coversScopes(principal.scopes, needed)) throw staffConflict('already_allowed')
      const error = principal.account === null ? 'sign_in_required' : 'insufficient_scope'
      const scope = formatScope(needed)
      const message = { id: newId(), text: text ?? wordsFor(row, error, needed) }
      return change(id, (current) =>
        signInAsked(current, who, { error, scope: scope === '' ? undefined : scope, message }),
      )
    },

    async openAccount(id, staff) {
      const who = await seen(staff)
      for (;;) {
        const row = await existing(id)
        requireHeld(row, who)
        const { principal } = await standingNow(parts, row)
        let isOld = false
        await change(id, (current) => {
          requireHeld(current, who)
          // The rights are of the last accepted message: of one that came meanwhile they may be others.
          isOld = !haveSameRights(current, row)
          const set = isOld ? {} : useAccount(current, principal)
          return Object.keys(set).length === 0 ? null : { set, events: [] }
        })
        if (!isOld) return principal as SignedInPrincipal
      }
    },

    async callTool(id, staff, name, input) {
      const who = await seen(staff)
      const row = await existing(id)
      requireHeld(row, who)
      const callId = base64url(parts.random(16))
      const outcome = await parts.callTool(row, { name, input, callId, signal: parts.givenUp, staff: who.id })
      if (outcome.ok && 'operation' in outcome) {
        const message = { id: newId(), operation: outcome.operation }
        await change(id, (current) => proposed(current, who, message))
      }
      return outcome
    },

    async close(id, by, reason) {
      const staff = 'by' in by ? null : await seen(by)
      const named = staff ?? checkStaff({ id: (by as ClosedBy).by, name: (by as ClosedBy).by })
      const why = reason === undefined ? null : checkSentence('reason', reason)
      const closed = await closeConversation(parts, checkId(id), (row) => {
        if (staff !== null && row.held_by !== null && row.held_by !== staff.id) throw staffConflict('held_by_other')
        return true
      })
      if (closed === null) throw notFound(id)
      if (closed.isChanged && why !== null)
        await changeWithNote(parts, id, () => ({
          decision: { set: {}, events: [] },
          note: { kind: 'note', staff: named, text: why },
        }))
      return recordOf(closed.row)
    },
  }

  function wordsFor(
    row: ConversationRow,
    error: 'sign_in_required' | 'insufficient_scope',
    scopes: readonly string[],
  ): string {
    const { say, scope } = parts.people.wording(row)
    if (error === 'sign_in_required') return say('people.signIn')
    return say('people.moreRights', { rights: scopes.map((one) => scope(one).text).join(', ') })
  }
}

function haveSameRights(left: ConversationRow, right: ConversationRow): boolean {
  const of = ({ session_id, grant_id, scopes, epoch }: ConversationRow) =>
    [session_id, grant_id, scopes, epoch].join('\n')
  return of(left) === of(right)
}

/** @throws TypeError */
function readScope(scope: string): readonly string[] {
  const scopes = scope === '' ? [] : typeof scope === 'string' ? parseScope(scope) : null
  if (scopes === null) throw new TypeError("scope is what is needed, such as 'poppy:read poppy:write'.")
  return scopes
}

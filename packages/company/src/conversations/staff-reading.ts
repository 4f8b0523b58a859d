import { isId, PoppyError } from '@poppyseed/protocol'
import { type AuditAsked, type AuditPage, readAudit } from '../audit/reading.ts'
import { sha256 } from '../crypto/hash.ts'
import type { Staff } from './held.ts'
import { type InboxCounts, inboxCounts } from './inbox-counts.ts'
import { type LastMessage, lastMessages } from './last-messages.ts'
import { notesOf } from './notes.ts'
import type { ConversationParts } from './parts.ts'
import { staffSeen } from './presence.ts'
import { type RightsParts, standingNow } from './rights-now.ts'
import type { ConversationRow } from './row.ts'
import { type SearchAsked, type SearchFound, searchConversations } from './search.ts'
import { checkId, isStorable } from './staff-input.ts'
import { type ConversationsAsked, type Phase, phasesOf } from './staff-lists.ts'
import { heldConversations, type Place, queuedConversations } from './staff-store.ts'
import { type ConversationRead, type ConversationRecord, eventOf, noteOf, recordOf } from './staff-view.ts'
import { eventsAfter, findConversation } from './store.ts'

/** What `company.conversations` shows. Reading changes nothing, and needs no right of the User's: it is the company's own. */

/**
 * A page of conversations. Open ones first, the newest first, and then closed ones, whoever was closed last first; in `waiting`
 * whoever waits longest first.
 */
export interface ConversationsPage {
  readonly conversations: readonly ConversationRecord[]
  /** Gives the next page; null where there is none. */
  readonly after: string | null
}

/** The part of `company.conversations` that reads. */
export interface StaffReading {
  /** Those that wait for a person, whoever waits longest first; 200 at most. */
  readonly queue: () => Promise<readonly ConversationRecord[]>
  /** All that a member of staff has, by their id; the newest first. */
  readonly heldBy: (staffId: string) => Promise<readonly ConversationRecord[]>
  /** @throws TypeError for a filter that is none */
  readonly list: (asked?: ConversationsAsked) => Promise<ConversationsPage>
  /** How much waits, how much they have, and how many operations want settling. */
  readonly counts: (staffId: string) => Promise<InboxCounts>
  /** The last message of each of these conversations, 200 at most, that has one: by the conversation's id. */
  readonly lastMessages: (ids: readonly string[]) => Promise<ReadonlyMap<string, LastMessage>>
  /** Who of the staff is here: seen within two minutes, by name. */
  readonly colleagues: () => Promise<readonly Staff[]>
  /**
   * Searches for conversations: by an id, an account or an agent, and else in what was said and noted.
   * @throws TypeError for a `since` that no search gave
   */
  readonly search: (asked: SearchAsked) => Promise<SearchFound>
  /**
   * Who of the staff did what, newest first.
   * @throws TypeError for a filter that is none
   */
  readonly audit: (asked?: AuditAsked) => Promise<AuditPage>
  /**
   * A conversation with its notes and its newest events, 200 of them when `limit` is left out, or those before `before`.
   * @throws PoppyError `conversation_not_found`
   */
  readonly read: (
    id: string,
    asked?: { readonly before?: number; readonly limit?: number },
  ) => Promise<ConversationRead>
}

const mostOnPage = 200
const mostEvents = 1000

/** Makes it. */
export function createStaffReading(parts: ConversationParts & RightsParts): StaffReading {
  return {
    async queue() {
      return (await queuedConversations(await parts.scope(), mostOnPage)).map(recordOf)
    },

    async heldBy(staffId) {
      if (typeof staffId !== 'string') throw new TypeError('A member of staff is named by their id.')
      if (!isStorable(staffId)) return []
      return (await heldConversations(await parts.scope(), staffId)).map(recordOf)
    },

    async list(asked = {}) {
      const limit = checkLimit(asked.limit ?? 50, mostOnPage)
      const walk = phasesOf(asked)
      const from = asked.after === undefined ? undefined : readPage(asked.after, walk)
      const scope = await parts.scope()
      const found: { readonly row: ConversationRow; readonly next: string }[] = []
      for (const { name, at, page } of from === undefined ? walk : walk.slice(from.phase)) {
        const missing = limit + 1 - found.length
        if (missing === 0) break
        const after = from !== undefined && walk[from.phase]?.name === name ? from.place : undefined
        const rows = await page(scope, { after, limit: missing })
        found.push(...rows.map((row) => ({ row, next: `${name}.${at(row)}.${row.id}` })))
      }
      return {
        conversations: found.slice(0, limit).map(({ row }) => recordOf(row)),
        after: found.length > limit ? (found[limit - 1]?.next ?? null) : null,
      }
    },

    counts: async (staffId) => inboxCounts(await parts.scope(), staffId),

    async lastMessages(ids) {
      if (!Array.isArray(ids) || ids.length > mostOnPage || !ids.every((id) => typeof id === 'string'))
        throw new TypeError(`The ids of a page are a list of texts, ${mostOnPage} at most.`)
      return lastMessages(await parts.scope(), ids.filter(isId))
    },

    colleagues: async () => staffSeen(await parts.scope(), parts.now() - parts.settings.timing.absence),

    search: async (asked) => searchConversations({ scope: await parts.scope(), now: parts.now() }, asked),

    audit: async (asked) => readAudit(await parts.scope(), asked),

    async read(id, asked = {}) {
      const limit = checkLimit(asked.limit ?? mostOnPage, mostEvents)
      const scope = await parts.scope()
      const row = await findConversation(scope, checkId(id))
      if (row === null)
        throw new PoppyError('conversation_not_found', { description: `There is no conversation ${id}.` })
      const until = checkBefore(asked.before ?? row.last_event + 1) - 1
      const first = Math.max(row.first_event, until - limit + 1)
      const events = await eventsAfter(
        scope,
        { id: row.id, last_event: Math.min(until, row.last_event) },
        { after: first - 1, limit },
      )
      const notes = await notesOf(scope, row.id)
      const { principal, session } = await standingNow(parts, row)
      return {
        conversation: recordOf(row),
        events: events.map(eventOf),
        before: first > row.first_event ? first : null,
        notes: notes.map(noteOf),
        rights: {
          isSignedIn: principal.account !== null,
          signIn: principal.grantId === null ? null : sha256(JSON.stringify([id, principal.grantId, row.epoch])),
          scopes: principal.scopes,
          session,
        },
      }
    },
  }
}

function checkLimit(limit: number, most: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= most) return limit
  throw new TypeError(`limit is a whole number from 1 to ${most}.`)
}

function checkBefore(before: number): number {
  if (Number.isInteger(before) && before >= 1) return before
  throw new TypeError('before is what the page before gave as `before`.')
}

/** @throws TypeError */
function readPage(after: string, walk: readonly Phase[]): { readonly phase: number; readonly place: Place } {
  const [, name, at, id] =
    (typeof after === 'string' && /^([a-z]{1,8})\.([0-9]{1,16})\.([A-Za-z0-9_-]{1,256})$/.exec(after)) || []
  const phase = walk.findIndex((one) => one.name === name)
  if (phase < 0 || at === undefined || id === undefined)
    throw new TypeError('after is what the page before gave as `after`.')
  return { phase, place: { at: Number(at), id } }
}

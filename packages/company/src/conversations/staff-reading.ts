import { type ConversationStatus, conversationStatuses, PoppyError } from '@poppyseed/protocol'
import { notesOf } from './notes.ts'
import type { ConversationParts } from './parts.ts'
import { type RightsParts, standingNow } from './rights-now.ts'
import { checkId, isStorable } from './staff-input.ts'
import { heldConversations, listConversations, queuedConversations } from './staff-store.ts'
import { type ConversationRead, type ConversationRecord, eventOf, noteOf, recordOf } from './staff-view.ts'
import { eventsAfter, findConversation } from './store.ts'

/** What `company.conversations` shows. Reading changes nothing, and needs no right of the User's: it is the company's own. */

/** Which conversations `company.conversations.list` gives. */
export interface ConversationsAsked {
  readonly status?: ConversationStatus
  /** Those that are open, or those that are closed. */
  readonly isOpen?: boolean
  /** Those that a member of staff has, by their id. */
  readonly heldBy?: string
  readonly account?: string
  readonly clientId?: string
  /** `after` of the page before. */
  readonly after?: string
  /** How many at most: 50 when left out, at most 200. */
  readonly limit?: number
}

/** A page of conversations, newest first. */
export interface ConversationsPage {
  readonly conversations: readonly ConversationRecord[]
  /** Gives the next page; null where there is none. */
  readonly after: string | null
}

/** The part of `company.conversations` that reads. */
export interface StaffReading {
  /** Those that wait for a person, whoever waits longest first; 200 at most. */
  readonly queue: () => Promise<readonly ConversationRecord[]>
  /** All that a member of staff has, by their id. */
  readonly heldBy: (staffId: string) => Promise<readonly ConversationRecord[]>
  /** @throws TypeError for a filter that is none */
  readonly list: (asked?: ConversationsAsked) => Promise<ConversationsPage>
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
      const { status, isOpen, heldBy, account, clientId, after } = asked
      const limit = checkLimit(asked.limit ?? 50, mostOnPage)
      for (const [filter, value] of Object.entries({ heldBy, account, clientId })) {
        if (value !== undefined && typeof value !== 'string')
          throw new TypeError(`${filter} is a text, or is left out.`)
      }
      if (status !== undefined && !conversationStatuses.includes(status))
        throw new TypeError(`status is one of: ${conversationStatuses.join(', ')}.`)
      if (isOpen !== undefined && typeof isOpen !== 'boolean') throw new TypeError('isOpen is true or false.')
      if (![heldBy ?? '', account ?? '', clientId ?? ''].every(isStorable)) return { conversations: [], after: null }
      const found = await listConversations(await parts.scope(), {
        ...(status === undefined ? {} : { status }),
        ...(isOpen === undefined ? {} : { isOpen }),
        ...(heldBy === undefined ? {} : { heldBy }),
        ...(account === undefined ? {} : { account }),
        ...(clientId === undefined ? {} : { clientId }),
        ...(after === undefined ? {} : { after: readPage(after) }),
        limit: limit + 1,
      })
      const shown = found.slice(0, limit)
      const last = shown.at(-1)
      return {
        conversations: shown.map(recordOf),
        after: found.length > limit && last !== undefined ? `${last.created_at}.${last.id}` : null,
      }
    },

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
        rights: { isSignedIn: principal.account !== null, scopes: principal.scopes, session },
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

function readPage(after: string): { readonly createdAt: number; readonly id: string } {
  const [, createdAt, id] = (typeof after === 'string' && /^([0-9]{1,16})\.([A-Za-z0-9_-]{1,256})$/.exec(after)) || []
  if (createdAt === undefined || id === undefined) throw new TypeError('after is what the page before gave as `after`.')
  return { createdAt: Number(createdAt), id }
}

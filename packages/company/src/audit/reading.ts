import type { Staff } from '../conversations/held.ts'
import type { Scope } from '../store/database.ts'
import { pageSize } from '../store/page-size.ts'
import type { AuditTable } from '../store/tables.ts'
import { readDetail } from './audit.ts'

/** Who of the company's people did what, read: newest first, page by page. */

/** What of the record is asked for; all of it where nothing is said. */
export interface AuditAsked {
  /** A conversation, by its id. */
  readonly conversation?: string
  /** An operation, by its id. */
  readonly operation?: string
  /** A member of staff, by their id. */
  readonly staff?: string
  /** `after` of the page before. */
  readonly after?: string
  /** How many at most: 50 when left out, at most 200. */
  readonly limit?: number
}

/** What somebody did. */
export interface AuditEntry {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly staff: Staff
  /** What it was, such as `took`, `replied` or `account_opened`. */
  readonly act: string
  readonly conversation: string | null
  readonly operation: string | null
  /** Names and ids that belong to it; nothing of what was said or shown. */
  readonly detail: Readonly<Record<string, unknown>> | null
}

/** A page of the record, newest first. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  /** Gives the next page; null where there is none. */
  readonly after: string | null
}

const mostOnPage = 200

/**
 * Reads the record.
 * @throws TypeError for a filter that is none
 */
export async function readAudit(scope: Scope, asked: AuditAsked = {}): Promise<AuditPage> {
  const { conversation, operation, staff, after, limit = 50 } = asked
  if (!Number.isInteger(limit) || limit < 1 || limit > mostOnPage)
    throw new TypeError(`limit is a whole number from 1 to ${mostOnPage}.`)
  for (const [filter, value] of Object.entries({ conversation, operation, staff })) {
    if (value !== undefined && typeof value !== 'string') throw new TypeError(`${filter} is a text, or is left out.`)
  }
  const from = after === undefined ? undefined : readAfter(after)
  // What no id can be, a database may take offence at.
  if (![conversation, operation, staff].every((one = '') => !one.includes('\0') && one.isWellFormed()))
    return { entries: [], after: null }
  const { db, company } = scope
  let query = db.query
    .selectFrom('poppy_audit')
    .select(['id', 'at', 'staff_id', 'staff_name', 'act', 'conversation_id', 'operation_id', 'detail'])
    .where('company', '=', company)
  if (conversation !== undefined) query = query.where('conversation_id', '=', conversation)
  if (operation !== undefined) query = query.where('operation_id', '=', operation)
  if (staff !== undefined) query = query.where('staff_id', '=', staff)
  if (from !== undefined) query = query.where((eb) => eb(eb.refTuple('at', 'id'), '<', eb.tuple(from.at, from.id)))
  const rows = await query
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(pageSize(limit + 1))
    .execute()
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return {
    entries: shown.map(entryOf),
    after:
      rows.length > limit && last !== undefined ? `${last.at}.${Buffer.from(last.id).toString('base64url')}` : null,
  }
}

function entryOf(row: Omit<AuditTable, 'company' | 'id'>): AuditEntry {
  const { detail, asked } = readDetail(row.detail)
  const isNothing = row.detail === null || (asked !== null && Object.keys(detail).length === 0)
  return Object.freeze({
    at: row.at,
    staff: Object.freeze({ id: row.staff_id, name: row.staff_name }),
    act: row.act,
    conversation: row.conversation_id,
    operation: row.operation_id,
    detail: isNothing ? null : detail,
  })
}

/** @throws TypeError */
function readAfter(after: string): { readonly at: number; readonly id: string } {
  const [, at, coded] = (typeof after === 'string' && /^([0-9]{1,16})\.([A-Za-z0-9_-]{1,2000})$/.exec(after)) || []
  const id = coded === undefined ? '' : Buffer.from(coded, 'base64url').toString()
  if (at === undefined || id === '' || id.includes('\0'))
    throw new TypeError('after is what the page before gave as `after`.')
  return { at: Number(at), id }
}

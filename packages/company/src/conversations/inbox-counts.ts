import type { Count } from '../inbox/view.ts'
import type { Scope } from '../store/database.ts'
import { isStorable } from './staff-input.ts'
import { countForStaff } from './staff-store.ts'

/** How much there is for a member of staff to do, each counted to 100. */
export interface InboxCounts {
  /** Conversations that wait for a person. */
  readonly waiting: Count
  /** Conversations that they have. */
  readonly mine: Count
  /** Operations whose outcome nobody knows. */
  readonly settle: Count
  /** Since when whoever asked last waits, in milliseconds since 1970: it tells of somebody new where as many wait as before. */
  readonly newestWaiting: number | null
}

const most = 100

/** Counts it, without counting on: what takes part in no decision need not be exact. */
export async function inboxCounts(scope: Scope, staffId: string): Promise<InboxCounts> {
  if (typeof staffId !== 'string') throw new TypeError('A member of staff is named by their id.')
  const { waiting, mine, settle, newestWaiting } = await countForStaff(scope, {
    staffId: isStorable(staffId) ? staffId : '',
    most: most + 1,
  })
  return { waiting: countOf(waiting), mine: countOf(mine), settle: countOf(settle), newestWaiting }
}

const countOf = (number: number): Count => ({ number: Math.min(number, most), isMore: number > most })

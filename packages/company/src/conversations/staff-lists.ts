import { type ConversationStatus, conversationStatuses } from '@poppyseed/protocol'
import type { Scope } from '../store/database.ts'
import type { ConversationRow } from './row.ts'
import { isStorable } from './staff-input.ts'
import {
  type ConversationFilter,
  closedConversations,
  openConversations,
  type Piece,
  waitingConversations,
} from './staff-store.ts'

/** Which pieces the lists of `company.conversations.list` are made of, one after the other. */

/** The lists of the inbox. `waiting`: who waits for a person. `mine`: what a member of staff has. */
export type ConversationList = 'waiting' | 'mine' | 'open' | 'closed'

/** Which conversations `company.conversations.list` gives. */
export interface ConversationsAsked {
  /** A list of the inbox, without another filter. */
  readonly kind?: ConversationList
  /** Whose, for `mine`: a member of staff, by their id. */
  readonly staff?: string
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

/** A part of a list, in the order of one index. */
export interface Phase {
  /** What stands for it in a cursor. */
  readonly name: 'waiting' | 'open' | 'closed'
  /** The time that it goes by. */
  readonly at: (row: ConversationRow) => number | null
  readonly page: (scope: Scope, piece: Piece) => Promise<readonly ConversationRow[]>
}

const waiting: Phase = { name: 'waiting', at: (row) => row.queued_at, page: waitingConversations }

const open = (filter: ConversationFilter): Phase => ({
  name: 'open',
  at: (row) => row.created_at,
  page: (scope, piece) => openConversations(scope, { ...filter, ...piece }),
})

const closed = (filter: ConversationFilter): Phase => ({
  name: 'closed',
  at: (row) => row.closed_at,
  page: (scope, piece) => closedConversations(scope, { ...filter, ...piece }),
})

/** The parts of what is asked for; none where nothing can be found. @throws TypeError */
export function phasesOf(asked: ConversationsAsked): readonly Phase[] {
  const { kind, staff, status, isOpen, heldBy, account, clientId } = asked
  for (const [filter, value] of Object.entries({ staff, heldBy, account, clientId })) {
    if (value !== undefined && typeof value !== 'string') throw new TypeError(`${filter} is a text, or is left out.`)
  }
  if (status !== undefined && !conversationStatuses.includes(status))
    throw new TypeError(`status is one of: ${conversationStatuses.join(', ')}.`)
  if (isOpen !== undefined && typeof isOpen !== 'boolean') throw new TypeError('isOpen is true or false.')
  if (kind !== undefined) return phasesOfKind(kind, asked)
  if (staff !== undefined) throw new TypeError("staff goes with kind: 'mine'; another filter is heldBy.")
  if (![heldBy ?? '', account ?? '', clientId ?? ''].every(isStorable)) return []
  const filter = {
    ...(status === undefined ? {} : { status }),
    ...(heldBy === undefined ? {} : { heldBy }),
    ...(account === undefined ? {} : { account }),
    ...(clientId === undefined ? {} : { clientId }),
  }
  const isClosed = status === 'closed'
  // Nobody has one that is closed.
  const hasClosed = isOpen !== true && (status === undefined || isClosed) && heldBy === undefined
  return [...(isOpen !== false && !isClosed ? [open(filter)] : []), ...(hasClosed ? [closed(filter)] : [])]
}

function phasesOfKind(
  kind: ConversationList,
  { staff, status, isOpen, heldBy, account, clientId }: ConversationsAsked,
): readonly Phase[] {
  if ([status, isOpen, heldBy, account, clientId].some((one) => one !== undefined))
    throw new TypeError('A list of the inbox takes no other filter.')
  switch (kind) {
    case 'waiting':
      return [waiting]
    case 'mine':
      if (staff === undefined) throw new TypeError("kind: 'mine' goes with staff: the id of a member of staff.")
      return isStorable(staff) ? [open({ heldBy: staff })] : []
    case 'open':
      return [open({})]
    case 'closed':
      return [closed({})]
    default:
      throw new TypeError('kind is one of: waiting, mine, open, closed.')
  }
}

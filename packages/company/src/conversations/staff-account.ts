import { type AuditAct, lastAct } from '../audit/audit.ts'
import type { Principal } from '../sessions/principal.ts'
import type { SignedInPrincipal } from '../tools/tool.ts'
import { requireHeld, type Staff, staffConflict } from './held.ts'
import { useAccount } from './owning.ts'
import type { ConversationParts } from './parts.ts'
import { standingNow } from './rights-now.ts'
import type { ConversationRow } from './row.ts'
import type { CompanyConversations } from './staff.ts'
import { actId, changeByStaff, existing, seen } from './staff-change.ts'
import { checkKey, checkStaff } from './staff-input.ts'
import { recordOf } from './staff-view.ts'

/**
 * The User's account, as staff see it: opened on purpose, by whoever has the conversation, and open for as long as they have it
 * and the sign-in and its rights are the same. The audit says that it was opened, and under which rights; nothing else is kept
 * of it.
 */

/** How the User's account stands for a member of staff. */
export type StaffAccount =
  /** `closed`: it has to be opened. `dark`: it was open, and the rights are gone, or others. */
  | { readonly state: 'closed' | 'dark' }
  /** With the rights of this moment, for the company's own pages. */
  | { readonly state: 'open'; readonly principal: SignedInPrincipal }

/** The part of `company.conversations` that is about the account. */
export type StaffAccounts = Pick<CompanyConversations, 'openAccount' | 'closeAccount' | 'account'>

/** The acts by which an account comes to be open or closed: nobody has a conversation again without one of them. */
const decisive = [
  'account_opened',
  'account_closed',
  'took',
  'gave',
  'released',
  'handed_back',
  'closed',
] as const satisfies readonly AuditAct[]

/** Makes it. */
export function createStaffAccounts(parts: ConversationParts): StaffAccounts {
  /** With what it was opened by whoever has the conversation; null where it wasn't. */
  async function openedWith(row: ConversationRow, staff: Staff): Promise<Opened | null> {
    const last = await lastAct(await parts.scope(), { conversation: row.id, acts: decisive })
    return last?.act === 'account_opened' && last.staffId === staff.id ? last.detail : null
  }

  async function account(id: string, staff: Staff): Promise<StaffAccount> {
    const who = checkStaff(staff)
    const row = await existing(parts, id)
    // What was done since the row was read is seen in the audit, which is read after it.
    const opened = await openedWith(row, who)
    if (row.status === 'closed' || row.held_by !== who.id || opened === null) return { state: 'closed' }
    const { principal } = await standingNow(parts, row)
    if (principal.account === null || principal.account !== row.account) return { state: 'dark' }
    const now = detailOf(row, principal)
    if (signInOf(opened) !== signInOf(now)) return { state: 'closed' }
    // 4.9: a right that was taken away takes with it what was shown under it.
    if (opened.scopes !== now.scopes) return { state: 'dark' }
    return { state: 'open', principal: principal as SignedInPrincipal }
  }

  return {
    account,

    async openAccount(id, staff, options = {}) {
      const key = checkKey(options)
      const who = await seen(parts, staff)
      const doing = { key, staff: who, act: 'account_opened' } as const
      const act = { ...doing, id: actId(parts, { ...doing, on: id }) }
      for (;;) {
        const row = await existing(parts, id)
        requireHeld(row, who)
        const { principal } = await standingNow(parts, row)
        useAccount(row, principal)
        const detail = detailOf(row, principal)
        const opened = await openedWith(row, who)
        if (opened !== null && signInOf(opened) === signInOf(detail) && opened.scopes === detail.scopes)
          return principal as SignedInPrincipal
        let isOld = false
        const { isChanged, wasDone } = await changeByStaff(parts, id, act, (current) => {
          requireHeld(current, who)
          // The rights are of the last accepted message: of one that came meanwhile they may be others.
          isOld = !haveSameRights(current, row)
          return isOld ? null : { set: useAccount(current, principal), events: [], detail }
        })
        if (isChanged) return principal as SignedInPrincipal
        // A form that was sent before opens nothing a second time.
        if (wasDone) {
          const now = await account(id, who)
          if (now.state === 'open') return now.principal
          throw staffConflict('already_done')
        }
      }
    },

    async closeAccount(id, staff, options = {}) {
      const key = checkKey(options)
      const who = await seen(parts, staff)
      const doing = { key, staff: who, act: 'account_closed' } as const
      const act = { ...doing, id: actId(parts, { ...doing, on: id }) }
      const row = await existing(parts, id)
      const opened = await openedWith(row, who)
      const { row: after } = await changeByStaff(parts, id, act, (current) => {
        requireHeld(current, who)
        return opened === null ? null : { set: {}, events: [] }
      })
      return recordOf(after)
    },
  }
}

/** What the audit has of an opening. */
type Opened = Readonly<Record<string, unknown>>

const detailOf = (row: ConversationRow, { grantId, scopes }: Principal) => ({
  grant: grantId,
  epoch: row.epoch,
  scopes: scopes.toSorted().join(' '),
})

/** A sign-in, so that two can be compared. */
const signInOf = ({ grant, epoch }: Opened): string => JSON.stringify([grant, epoch])

function haveSameRights(left: ConversationRow, right: ConversationRow): boolean {
  const of = ({ session_id, grant_id, scopes, epoch }: ConversationRow) =>
    [session_id, grant_id, scopes, epoch].join('\n')
  return of(left) === of(right)
}

import { coversScopes, formatScope, makeId, parseScope } from '@poppyseed/protocol'
import { requireSameAsked } from '../audit/asked.ts'
import { findAudit, insertAudit } from '../audit/audit.ts'
import { noteReading } from '../audit/noting.ts'
import { closeConversation } from './closing.ts'
import { userRequested } from './direct.ts'
import {
  given,
  handedBack,
  putBack,
  released,
  replied,
  requireHeld,
  signInAsked,
  staffConflict,
  taken,
} from './held.ts'
import { insertNote } from './notes.ts'
import type { ConversationParts } from './parts.ts'
import { standingNow } from './rights-now.ts'
import type { ConversationRow, Decision } from './row.ts'
import type { ClosedBy, CompanyConversations } from './staff.ts'
import { actId, changeByStaff, existing, notFound, type StaffDecision, seen, withNote } from './staff-change.ts'
import { checkId, checkKey, checkSentence, checkStaff, checkText, checkWritten } from './staff-input.ts'
import { heldConversations, queuedConversations } from './staff-store.ts'
import { type ConversationRecord, recordOf } from './staff-view.ts'
import { findConversation } from './store.ts'

/** What staff do to a conversation: take it, speak in it, give it back, close it. */

/** The part of `company.conversations` that changes conversations. */
export type StaffActs = Pick<
  CompanyConversations,
  | 'present'
  | 'withdraw'
  | 'take'
  | 'takeNext'
  | 'release'
  | 'give'
  | 'reply'
  | 'note'
  | 'noteRead'
  | 'handBack'
  | 'askForUser'
  | 'askForSignIn'
  | 'close'
>

/** Makes it. */
export function createStaffActs(parts: ConversationParts): StaffActs {
  const newId = () => makeId('msg', parts.random)

  async function change(
    id: string,
    doing: Omit<Parameters<typeof actId>[1], 'on'> & { readonly on?: string; readonly asked?: unknown },
    decide: (row: ConversationRow) => StaffDecision | null,
  ): Promise<ConversationRecord> {
    const act = { ...doing, id: actId(parts, { on: checkId(id), ...doing }) }
    return recordOf((await changeByStaff(parts, id, act, decide)).row)
  }

  return {
    async present(staff) {
      await seen(parts, staff)
    },

    async withdraw(staff, options = {}) {
      const key = checkKey(options)
      const who = checkStaff(staff)
      await parts.people.gone(who.id)
      for (const held of await heldConversations(await parts.scope(), who.id))
        await change(held.id, { key, staff: who, act: 'released', on: `withdraw ${held.id}` }, (row) =>
          row.held_by === who.id ? withDetail(putBack(row, parts.now()), { because: 'withdrew' }) : null,
        )
    },

    async take(id, staff, options = {}) {
      const key = checkKey(options)
      const who = await seen(parts, staff)
      return change(id, { key, staff: who, act: 'took' }, (row) => taken(row, who))
    },

    async takeNext(staff, options = {}) {
      const key = checkKey(options)
      const who = await seen(parts, staff)
      const scope = await parts.scope()
      const doing = { key, staff: who, act: 'took' } as const
      const act = { ...doing, id: actId(parts, { ...doing, on: '' }) }
      for (;;) {
        const before = key === undefined ? null : await findAudit(scope, act.id)
        if (before !== null) return before.conversation === null ? null : takenBefore(before.conversation)
        const waiting = await queuedConversations(scope, 20)
        if (waiting.length === 0) return null
        for (const { id } of waiting) {
          // Whoever was quicker has that one; the next one waits too.
          const decide = (row: ConversationRow) => (row.status === 'queued' ? taken(row, who) : null)
          const { row, isChanged, wasDone } = await changeByStaff(parts, id, act, decide)
          if (isChanged) return recordOf(row)
          if (wasDone) break
        }
      }
    },

    async release(id, staff, options = {}) {
      const key = checkKey(options)
      const who = await seen(parts, staff)
      return change(id, { key, staff: who, act: 'released' }, (row) => released(row, who, parts.now()))
    },

    async give(id, staff, to, options = {}) {
      const key = checkKey(options)
      const who = await seen(parts, staff)
      const colleague = checkStaff(to)
      return change(id, { key, staff: who, act: 'gave', asked: { to: colleague.id } }, (row) =>
        withDetail(given(row, who, colleague), { to: colleague }),
      )
    },

    async reply(id, staff, message, options = {}) {
      const key = checkKey(options)
      const asked = checkWritten(message)
      const written = { id: newId(), ...asked }
      const who = await seen(parts, staff)
      return change(id, { key, staff: who, act: 'replied', asked }, (row) =>
        withDetail(replied(row, who, written), { message: written.id }),
      )
    },

    async note(id, staff, text, options = {}) {
      const key = checkKey(options)
      const note = { kind: 'note', staff: checkStaff(staff), text: checkText('A note', text) } as const
      const who = await seen(parts, staff)
      return change(id, { key, staff: who, act: 'noted', asked: note.text }, (row) => ({
        set: {},
        events: [],
        note,
        detail: { note: row.notes + 1 },
      }))
    },

    async noteRead(id, staff) {
      const by = checkStaff(staff)
      const { id: conversation } = await existing(parts, id)
      await noteReading(parts, by, { conversation, operation: null })
    },

    async handBack(id, staff, words = {}, options = {}) {
      const key = checkKey(options)
      const { note, text } = words
      const last = text === undefined ? undefined : { id: newId(), ...checkWritten({ text }) }
      const told = note === undefined ? null : checkText('A note', note)
      const who = await seen(parts, staff)
      return change(id, { key, staff: who, act: 'handed_back', asked: [told, last?.text] }, (row) => {
        const decided = handedBack(row, { staff: who, now: parts.now(), last })
        if (parts.agent === null) throw staffConflict('no_agent')
        return told === null ? decided : { ...decided, note: { kind: 'handback', staff: who, text: told } }
      })
    },

    async askForUser(id, staff, reason, options = {}) {
      const key = checkKey(options)
      const sentence = checkSentence('reason', reason)
      const who = await seen(parts, staff)
      return change(id, { key, staff: who, act: 'asked_for_user', asked: sentence }, (row) =>
        userRequested(row, { reason: sentence, staff: who }),
      )
    },

    async askForSignIn(id, staff, asked = {}, options = {}) {
      const key = checkKey(options)
      const needed = readScope(asked.scope ?? '')
      const text = asked.text === undefined ? undefined : checkText('text', asked.text)
      const who = await seen(parts, staff)
      const doing = { key, staff: who, act: 'asked_for_sign_in', asked: [needed, text] } as const
      const row = await existing(parts, id)
      const act = actId(parts, { ...doing, on: id })
      const before = key === undefined ? null : await findAudit(await parts.scope(), act)
      // By now the sign-in may allow what was asked for then.
      if (before !== null) {
        requireSameAsked(parts, before, { ...doing, id: act })
        return recordOf(row)
      }
      requireHeld(row, who)
      const { principal } = await standingNow(parts, row)
      if (principal.account !== null && coversScopes(principal.scopes, needed)) throw staffConflict('already_allowed')
      const error = principal.account === null ? 'sign_in_required' : 'insufficient_scope'
      const scope = formatScope(needed)
      const message = { id: newId(), text: text ?? wordsFor(row, error, needed) }
      return change(id, doing, (current) =>
        withDetail(signInAsked(current, who, { error, scope: scope === '' ? undefined : scope, message }), { scope }),
      )
    },

    async close(id, by, reason, options = {}) {
      const key = checkKey(options)
      const staff = 'by' in by ? null : await seen(parts, by)
      const named = staff ?? checkStaff({ id: (by as ClosedBy).by, name: (by as ClosedBy).by })
      const why = reason === undefined ? undefined : checkSentence('reason', reason)
      const act = {
        staff: named,
        act: 'closed',
        id: actId(parts, { key, staff: named, act: 'closed', on: checkId(id) }),
      } as const
      const closed = await closeConversation(
        parts,
        id,
        (row) => {
          if (staff !== null && row.held_by !== null && row.held_by !== staff.id) throw staffConflict('held_by_other')
          return true
        },
        (row, now) => {
          const note = why === undefined ? undefined : ({ kind: 'note', staff: named, text: why } as const)
          const { set, added } = withNote(row, { set: {}, events: [], note }, now)
          return {
            set,
            async also(scope) {
              if (added !== undefined) await insertNote(scope, added)
              const detail = why === undefined ? undefined : { reason: why }
              // It closes once, so its row is the first of its key.
              await insertAudit(scope, { ...act, by: named, conversation: id, operation: null, detail }, now)
            },
          }
        },
      )
      if (closed === null) throw notFound(id)
      return recordOf(closed.row)
    },
  }

  /** What was taken with a key, as it is now. */
  async function takenBefore(id: string): Promise<ConversationRecord | null> {
    const row = await findConversation(await parts.scope(), id)
    return row === null ? null : recordOf(row)
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

const withDetail = (decided: Decision, detail: StaffDecision['detail']): StaffDecision => ({ ...decided, detail })

/** @throws TypeError */
function readScope(scope: string): readonly string[] {
  const scopes = scope === '' ? [] : typeof scope === 'string' ? parseScope(scope) : null
  if (scopes === null) throw new TypeError("scope is what is needed, such as 'poppy:read poppy:write'.")
  return scopes
}

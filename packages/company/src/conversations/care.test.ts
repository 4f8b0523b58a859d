import { describe, expect, it } from 'vitest'
import { caller } from '../../../../test/setup/conversation-parts.ts'
import { careDue, careNeeded, standardTiming as timing } from './care.ts'
import { emptyConversation } from './conversation.ts'
import type { ConversationRow } from './row.ts'

/** When a conversation is looked at, and what it needs then. */

const now = Date.parse('2026-11-30T12:00:00Z')
const minute = 60_000
const day = 86_400_000
const idle = emptyConversation('cnv_1', { caller: caller(), now })
const held: ConversationRow = { ...idle, responder: 'human', held_by: 'rita', held_name: 'Rita' }
const queued: ConversationRow = { ...idle, status: 'queued', queued_at: now }
const due = (row: ConversationRow, before: ConversationRow | null = idle) => careDue(before, row, timing)
const need = (row: ConversationRow, at: number, seenAt: number | null = null) =>
  careNeeded({ ...row, care_due_at: due(row) }, { now: at, seenAt, timing })

describe('a conversation is looked after', () => {
  it('when a handoff has waited, and no message makes that later', () => {
    expect(due(queued)).toBe(now + 10 * minute)
    const asked = { ...queued, care_due_at: now + 10 * minute }
    expect(careDue(asked, { ...asked, updated_at: now + 5 * minute }, timing)).toBe(now + 10 * minute)
    expect(need(queued, now + 10 * minute - 1)).toEqual({ what: 'later', at: now + 10 * minute })
    expect(need(queued, now + 10 * minute)).toEqual({ what: 'nobody came' })
  })

  it('when whoever has it may be gone', () => {
    expect(due(held)).toBe(now + 2 * minute)
    expect(need(held, now + 2 * minute, now)).toEqual({ what: 'gone' })
    expect(need(held, now + 2 * minute, now + minute)).toEqual({ what: 'later', at: now + 3 * minute })
    expect(need(held, now + 2 * minute, null)).toEqual({ what: 'gone' })
    // Messages don't make that later; a colleague has a time of their own.
    const before = { ...held, care_due_at: now + 2 * minute }
    const after = { ...before, updated_at: now + minute }
    expect(careDue(before, after, timing)).toBe(now + 2 * minute)
    expect(careDue(before, { ...after, held_by: 'omar' }, timing)).toBe(now + 3 * minute)
  })

  it('when nothing has happened for a day, with a person too', () => {
    expect(due(idle)).toBe(now + day)
    expect(need(idle, now + day)).toEqual({ what: 'quiet' })
    expect(need(held, now + day, now + day - minute)).toEqual({ what: 'quiet' })
  })

  it('not while a turn runs, a Direct Conversation is open beside it, or it is closed', () => {
    expect(due({ ...idle, status: 'working' })).toBeNull()
    expect(due({ ...idle, status: 'closed' })).toBeNull()
    expect(due({ ...idle, direct_id: 'cnv_2' })).toBeNull()
    expect(due({ ...held, direct_id: 'cnv_2' })).toBe(now + 2 * minute)
    expect(need({ ...held, direct_id: 'cnv_2' }, now + 2 * day, now + 2 * day)).toMatchObject({ what: 'later' })
  })
})

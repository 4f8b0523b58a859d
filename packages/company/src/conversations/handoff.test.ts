import { PoppyError } from '@poppyseed/protocol'
import { describe, expect, it } from 'vitest'
import { caller, message } from '../../../../test/setup/conversation-parts.ts'
import { accepted, closed, directOpened, emptyConversation, turnEnded } from './conversation.ts'
import { directBegins, directOver, userRequested } from './direct.ts'
import { handedOff, nobodyCame } from './handoff.ts'
import { given, handedBack, putBack, released, replied, type Staff, signInAsked, taken } from './held.ts'
import type { ConversationRow, Decision } from './row.ts'

/** The rules of people in conversations: rows in, rows and events out. */

const now = Date.parse('2026-11-30T12:00:00Z')
const rita: Staff = { id: 'rita', name: 'Rita' }
const omar: Staff = { id: 'omar', name: 'Omar' }
const nobody = { comes: false, text: 'Nobody is here.' } as const
const somebody = { comes: true } as const
const fresh = emptyConversation('cnv_1', { caller: caller(), now })

/** The row after a change, as the ledger leaves it. */
function after(row: ConversationRow, decided: Decision | null): ConversationRow {
  if (decided === null) return row
  const last_event = row.last_event + decided.events.length
  return { ...row, ...decided.set, last_event, version: row.version + 1 }
}
const ask = (row: ConversationRow, text = 'Hello?') =>
  after(row, accepted(row, { message: message({ id: `msg_${row.last_event}`, text }), caller: caller(), now }))
const wait = (row: ConversationRow) => after(row, handedOff(row, { now, who: somebody, messageId: 'msg_x' }))
const take = (row: ConversationRow, staff = rita) => after(row, taken(row, staff))
const close = (row: ConversationRow) => after(row, closed(row, now))
const state = (status: string, responder: string) => ({ type: 'state', status, responder })
const working = ask(fresh)
const idle = after(working, turnEnded(working, { answered: working.asked, now }))
const queued = wait(idle)
const held = take(queued)

function because(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    if (error instanceof PoppyError) return error.extra?.because ?? error.code
    throw error
  }
  return 'nothing'
}

describe('a handoff', () => {
  it('waits for a person, and the agent handles the conversation still [7.7.queued-responder]', () => {
    const decided = handedOff(idle, { now, who: somebody, reason: 'a refund', messageId: 'msg_x' })
    expect(decided?.events).toEqual([state('queued', 'agent')])
    expect(after(idle, decided)).toMatchObject({ status: 'queued', queued_at: now, queue_reason: 'a refund' })
  })

  it('ends the right to write of a turn that runs', () => {
    expect(wait(working)).toMatchObject({
      status: 'queued',
      turn_due_at: null,
      runner: working.runner + 1,
      attempts: 0,
    })
  })

  it('is answered at once, with the reason, when nobody comes, and a turn that runs goes on', () => {
    const decided = handedOff(idle, { now, who: nobody, messageId: 'msg_x' })
    expect(decided?.events).toEqual([
      { type: 'message', message: { id: 'msg_x', role: 'company', sender: 'agent', text: 'Nobody is here.' } },
    ])
    expect(after(idle, decided)).toMatchObject({ status: 'idle', responder: 'agent' })
    const during = after(working, handedOff(working, { now, who: nobody, messageId: 'msg_x' }))
    expect(during).toMatchObject({ status: 'working', turn_due_at: working.turn_due_at, runner: working.runner })
  })

  it('changes nothing while one waits or a person has it', () => {
    expect(handedOff(queued, { now, who: somebody, messageId: 'msg_x' })).toBeNull()
    expect(handedOff(queued, { now, who: nobody, messageId: 'msg_x' })).toBeNull()
    expect(handedOff(held, { now, who: somebody, messageId: 'msg_x' })).toBeNull()
  })

  it('is refused by what is closed', () => {
    expect(because(() => wait(close(idle)))).toBe('conversation_closed')
  })

  it('may be the Company Agent’s beside a Direct Conversation', () => {
    const beside = after(idle, directOpened(idle, 'cnv_2'))
    expect(wait(beside)).toMatchObject({ status: 'queued', responder: 'agent', direct_id: 'cnv_2' })
  })

  it('that nobody takes ends with the reason, and leaves nothing to answer', () => {
    const more = ask(queued, 'My room is cold')
    expect(more.status).toBe('queued')
    const decided = nobodyCame(more, { text: 'Nobody came.', messageId: 'msg_x' })
    expect(decided.events.at(0)).toMatchObject({ message: { sender: 'agent', text: 'Nobody came.' } })
    expect(decided.events.at(1)).toEqual(state('idle', 'agent'))
    const left = after(more, decided)
    expect(left).toMatchObject({ queued_at: null, queue_reason: null, turn_due_at: null })
    expect(left.answered).toBe(left.asked)
  })

  it('is cancelled by closing', () => {
    expect(close(queued)).toMatchObject({ status: 'closed', responder: 'agent', queued_at: null, queue_reason: null })
  })
})

describe('a person', () => {
  it('joins from the queue, or takes over while the agent answers, which ends its turn', () => {
    expect(taken(queued, rita)?.events).toEqual([state('idle', 'human')])
    const over = take(working)
    expect(over).toMatchObject({ status: 'idle', responder: 'human', held_by: 'rita', turn_due_at: null })
    expect(over.runner).toBe(working.runner + 1)
  })

  it('has it alone', () => {
    expect(taken(held, rita)).toBeNull()
    expect(because(() => taken(held, omar))).toBe('held_by_other')
    expect(because(() => replied(held, omar, { id: 'msg_x', text: 'Hi' }))).toBe('held_by_other')
    expect(because(() => released(held, omar, now))).toBe('held_by_other')
    expect(because(() => handedBack(held, { staff: omar, now }))).toBe('held_by_other')
    expect(because(() => replied(queued, rita, { id: 'msg_x', text: 'Hi' }))).toBe('not_held')
    expect(because(() => taken(close(held), rita))).toBe('conversation_closed')
    expect(because(() => replied(close(held), rita, { id: 'msg_x', text: 'Hi' }))).toBe('conversation_closed')
  })

  it('reads what is asked without a turn, and answers as a person [7.8.who-writes]', () => {
    const asked = ask(held, 'Medium, please')
    expect(asked).toMatchObject({ status: 'idle', responder: 'human', turn_due_at: null })
    const decided = replied(asked, rita, { id: 'msg_x', text: 'Done', data: { size: 'M' } })
    expect(decided.events).toEqual([
      {
        type: 'message',
        message: { id: 'msg_x', role: 'company', sender: 'human', text: 'Done', data: { size: 'M' } },
      },
    ])
    expect(after(asked, decided).answered).toBe(asked.asked)
  })

  it('gives it to a colleague without a word outside', () => {
    const decided = given(held, rita, omar)
    expect(decided).toEqual({ set: { held_by: 'omar', held_name: 'Omar' }, events: [] })
  })

  it('puts it back into the queue, where it waits since it first did', () => {
    const decided = released(held, rita, now + 60_000)
    expect(decided.events).toEqual([state('queued', 'agent')])
    expect(after(held, decided)).toMatchObject({ held_by: null, held_name: null, queued_at: now })
    const unasked = take(idle)
    expect(after(unasked, putBack(unasked, now + 60_000)).queued_at).toBe(now + 60_000)
  })

  it('hands back, and what is unanswered is the next turn’s', () => {
    expect(after(held, handedBack(held, { staff: rita, now }))).toMatchObject({
      status: 'idle',
      responder: 'agent',
      held_by: null,
      turn_due_at: null,
    })
    const asked = ask(held)
    const decided = handedBack(asked, { staff: rita, now })
    expect(decided.events).toEqual([state('working', 'agent')])
    expect(after(asked, decided)).toMatchObject({ status: 'working', turn_due_at: now, queued_at: null })
    const last = handedBack(asked, { staff: rita, now, last: { id: 'msg_x', text: 'Bye' } })
    expect(last.events.map(({ type }) => type)).toEqual(['message', 'state'])
    expect(after(asked, last)).toMatchObject({ status: 'idle', turn_due_at: null })
  })

  it('asks for a sign-in, and says so in a message', () => {
    const message = { id: 'msg_x', text: 'Please sign in.' }
    const decided = signInAsked(held, rita, { error: 'insufficient_scope', scope: 'poppy:read', message })
    expect(decided.events).toMatchObject([
      { type: 'authorization', error: 'insufficient_scope', scope: 'poppy:read' },
      { type: 'message', message: { sender: 'human', text: 'Please sign in.' } },
    ])
  })
})

describe('a Direct Conversation', () => {
  const beside = after(held, directOpened(held, 'cnv_2'))

  it('begins with whoever has its parent, and belongs to the same account', () => {
    expect(directBegins({ ...held, account: 'ada' })).toEqual({
      parent_id: 'cnv_1',
      account: 'ada',
      responder: 'human',
      held_by: 'rita',
      held_name: 'Rita',
    })
    expect(directBegins(queued)).toMatchObject({ responder: 'agent', held_by: null })
  })

  it('is asked for where the User doesn’t take part yet', () => {
    expect(userRequested(held, { reason: 'To confirm.', staff: rita }).events).toEqual([
      { type: 'user_requested', reason: 'To confirm.' },
    ])
    expect(because(() => userRequested(held, { reason: 'To confirm.', staff: omar }))).toBe('held_by_other')
    expect(because(() => userRequested(beside, { reason: 'To confirm.', staff: rita }))).toBe('direct_open')
    expect(because(() => userRequested({ ...held, parent_id: 'cnv_0' }, { reason: 'x', staff: rita }))).toBe(
      'is_direct',
    )
    expect(because(() => userRequested(close(idle), { reason: 'x' }))).toBe('conversation_closed')
  })

  it('gives its parent the account that it used, when it is over', () => {
    const decided = directOver(beside, { id: 'cnv_2', account: 'ada' })
    expect(decided?.events).toEqual([{ type: 'direct_closed', conversation_id: 'cnv_2' }])
    expect(after(beside, decided)).toMatchObject({ direct_id: null, account: 'ada' })
    expect(directOver(beside, { id: 'cnv_3', account: null })).toBeNull()
  })
})

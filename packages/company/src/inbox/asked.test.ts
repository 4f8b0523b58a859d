import type { WireEvent, WireEventMessage } from '@poppyseed/protocol'
import { describe, expect, it } from 'vitest'
import { createWordings } from '../words/wording.ts'
import { askedOf, decisionOf } from './asked.ts'
import type { OperationCard } from './view.ts'

const wording = createWordings({ standard: 'en-GB', words: {}, scopes: { 'poppy:read': 'See your bookings' } }).in('en')
const style = { locale: 'en-GB', yes: 'Yes', no: 'No' }
const created_at = '2027-03-05T12:00:00Z'
let last = 0
const event = (body: Record<string, unknown>) => ({ id: `evt_${++last}`, created_at, ...body }) as unknown as WireEvent
const says = (role: 'user' | 'company', sender: 'agent' | 'human', more: Partial<WireEventMessage>) =>
  event({ type: 'message', message: { id: `msg_${last}`, role, sender, ...more } })
const asks = (text: string) => says('user', 'agent', { text })
const agent = (text: string) => says('company', 'agent', { text })
const person = (text: string) => says('company', 'human', { text })

const queued = { status: 'queued', responder: 'agent', isUnanswered: false, waitingFor: null } as const
const held = { status: 'idle', responder: 'human', isUnanswered: true, waitingFor: null } as const
const free = { status: 'idle', responder: 'agent', isUnanswered: false, waitingFor: null } as const

describe('what is asked', () => {
  const asked = (conversation: Parameters<typeof askedOf>[0], ...events: readonly WireEvent[]) =>
    askedOf(conversation, events, { style })?.text ?? null

  it('is the last that the other side said and no person has answered: what the Company Agent said to it is no answer', () => {
    expect(asked(queued, asks('One.'), agent('Hm.'), asks('Two.'), agent('I get you a person.'))).toBe('Two.')
    expect(asked(held, asks('One.'), person('Yes?'), asks('Two.'))).toBe('Two.')
    expect(asked({ ...held, isUnanswered: false }, asks('One.'), person('Yes.'))).toBeNull()
    expect(asked({ ...held, isUnanswered: false }, asks('One.'), agent('Hm.'))).toBe('One.')
  })

  it('is nothing where the Company Agent has answered, or it is over', () => {
    expect(asked(free, asks('One.'), agent('Here.'))).toBeNull()
    expect(asked({ ...free, isUnanswered: true }, asks('One.'))).toBe('One.')
    expect(asked({ ...queued, status: 'closed' }, asks('One.'))).toBeNull()
    expect(asked(queued)).toBeNull()
  })

  it('is data in a line where nothing else was said, and is cut where it is very long', () => {
    expect(asked(queued, says('user', 'agent', { data: { room: 12, nights: 2 } }))).toBe('Room: 12, Nights: 2')
    expect(asked(queued, asks('One.'), says('user', 'agent', { context: { a: 1 } }))).toBe('One.')
    expect(asked(queued, asks('x'.repeat(30_000)))?.length).toBeLessThan(2_010)
  })

  it('says who asks', () => {
    const [own] = [says('user', 'human', { text: 'It is me.' })]
    expect(askedOf(queued, [own as WireEvent], { style })).toMatchObject({ by: 'user', isPerson: true })
  })
})

describe('which decision is wanted', () => {
  const proposal = (state: string) => new Map([['opn_a', { state, summary: 'Two nights.' } as OperationCard]])
  const proposed = says('company', 'agent', { operation: { operation_id: 'opn_a' } as never })
  const needs = event({ type: 'authorization', error: 'insufficient_scope', scope: 'poppy:read' })
  const decide = (
    conversation: Parameters<typeof decisionOf>[0],
    events: readonly WireEvent[],
    more: Partial<Parameters<typeof decisionOf>[2]> = {},
  ) => decisionOf(conversation, events, { asked: null, operations: new Map(), granted: null, wording, ...more })
  const question = { text: 'One.', by: 'agent', isPerson: false, at: 0 } as const

  it('is why a person is wanted, until one has answered', () => {
    const wanted = { ...queued, waitingFor: 'A refund over the limit.' }
    expect(decide(wanted, [])).toBe('A refund over the limit.')
    expect(decide({ ...wanted, status: 'idle' }, [], { asked: question })).toBe('A refund over the limit.')
    expect(decide({ ...wanted, status: 'idle' }, [])).toBeNull()
    // Told in the words of the question itself, it stands on top already.
    expect(decide({ ...wanted, waitingFor: 'One.' }, [], { asked: question })).toBeNull()
    expect(decide({ ...wanted, waitingFor: 'One.' }, [])).toBe('One.')
    const longer = { ...question, text: 'Good evening. May two dogs\n come along?' }
    expect(decide({ ...wanted, waitingFor: 'May two dogs come along' }, [], { asked: longer })).toBeNull()
    expect(decide({ ...wanted, waitingFor: 'Dogs' }, [], { asked: longer })).toBe('Dogs')
    expect(decide({ ...wanted, waitingFor: '…' }, [], { asked: longer })).toBe('…')
    expect(decide({ ...wanted, status: 'closed' }, [], { asked: question })).toBeNull()
  })

  it('is a proposal that waits, or a right that was asked for and isn’t there; the newest of them', () => {
    expect(decide(held, [proposed], { operations: proposal('proposed') })).toBe('Waits for confirmation: Two nights.')
    expect(decide(held, [proposed], { operations: proposal('succeeded') })).toBeNull()
    expect(decide(held, [proposed])).toBeNull()
    expect(decide(held, [needs])).toBe('Asked for more rights: See your bookings')
    expect(decide(held, [needs], { granted: [] })).toBe('Asked for more rights: See your bookings')
    expect(decide(held, [needs], { granted: ['poppy:read'] })).toBeNull()
    expect(decide(held, [proposed, needs], { operations: proposal('proposed') })).toContain('more rights')
    expect(decide(held, [event({ type: 'authorization', error: 'sign_in_required' })])).toBe('Asked for a sign-in')
    expect(decide(held, [event({ type: 'authorization', error: 'sign_in_required' })], { granted: [] })).toBeNull()
  })
})

import type { HeardMessage } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { readWish, wishOf } from './front-desk-reading.ts'

const rooms = [
  { slug: 'faro', name: 'Faro' },
  { slug: 'mirador', name: 'Mirador' },
]
const said = (text: string, other: Partial<HeardMessage> = {}): HeardMessage => ({
  ...{ id: 'msg_1', from: 'user', sender: 'agent', text, at: 0 },
  ...other,
})

describe('what the front desk reads in a message', () => {
  it.each<readonly [string, object]>([
    [
      'Book Faro for 2 from 2027-05-01 to 2027-05-03.',
      { from: '2027-05-01', to: '2027-05-03', guests: 2, room: 'faro' },
    ],
    [
      'the cheapest room from May 1, 2027 to 3rd May 2027 for three people',
      { from: '2027-05-01', to: '2027-05-03', guests: 3, isCheapest: true },
    ],
    ['Zimmer vom 1.5.2027, 2 Nächte, für zwei Personen', { from: '2027-05-01', to: '2027-05-03', guests: 2 }],
    ['1. Mai 2027 bis 4. Mai 2027, für 2', { from: '2027-05-01', to: '2027-05-04', guests: 2 }],
    ['from 2027-05-01 for two nights', { from: '2027-05-01', to: '2027-05-03' }],
    ['2027-02-30 or 31.31.2027 or the 5 Foo 2027', {}],
    ['farò, mirador2, 2027-05-011', {}],
    ['', {}],
  ])('%j', (text, wish) => expect(readWish(said(text), rooms)).toEqual(wish))

  it('reads data as well, what is none of it not at all', () => {
    const data = { room: 'Mirador', from: '2027-05-01', to: '2027-05-03', guests: 2 }
    expect(readWish(said('', { data }), rooms)).toEqual({ ...data, room: 'mirador' })
    const bad = { room: ['faro'], from: 5, to: '2027-13-01', guests: '2' }
    expect(readWish(said('', { data: bad }), rooms)).toEqual({})
  })

  it('puts together what was said since something was last proposed, what came later first', () => {
    const operation = { operation_id: 'op_1', revision: 1, state: 'proposed', summary: 'Book it.' } as const
    const history = [
      said('Mirador for 2'),
      said('', { from: 'company', operation }),
      said('Faro from 2027-05-01 to 2027-05-03'),
      said('Mirador is not free, Faro is.', { from: 'company' }),
      said('for three people'),
    ]
    expect(wishOf(history, rooms)).toEqual({ room: 'faro', from: '2027-05-01', to: '2027-05-03', guests: 3 })
  })
})

import type { HeardMessage } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { about, readWish, wishOf } from './front-desk-reading.ts'

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

describe('who wants a person', () => {
  it.each([
    'I want a person',
    'i want a person.',
    'I need to talk to somebody',
    'Give me a human',
    'Can I get a real human, please?',
    'I would like a person to look at this.',
    "I'd like a human being",
    'I’d like to have somebody',
    'I need help from a person about MIR-3058',
    'We ask for a member of your staff',
    'The guest wants a person.',
    'The guest would like to speak with a person about MIR-3058: Levante.',
    'Is there somebody I can talk to?',
    'A human, please!',
    'Human',
    'Connect me with a manager',
    'I want to complain',
    'Ich will mit einem Menschen sprechen',
    'Ich möchte mit jemandem sprechen.',
    'Ich brauche jemanden',
    'Ich will bitte eine echte Person',
    'Einen Mitarbeiter, bitte',
  ])('%s', (text) => expect(about.person.test(text)).toBe(true))

  it.each([
    'I want a room for one person',
    'I need a room for a person from 2027-05-01 to 2027-05-03',
    'We want a room for two persons',
    'I would like to know the price per person',
    'Give me the price per person',
    'What is the actual price per person?',
    'Is there a transfer from the station for one person?',
    'Transfer for a person and a dog',
    'Can I reach it on foot, and what is breakfast per person?',
    'One person, two nights',
    'I don’t want a person, just the price',
    'I do not need a human',
    'Get a second bed for the other person',
    'Ein Zimmer für eine Person',
    'Ich will ein Zimmer für zwei Personen',
    'Ein Zimmer für zwei Menschen',
    'Der Preis pro Person',
    'Personal',
    '',
  ])('and not: %s', (text) => expect(about.person.test(text)).toBe(false))

  it('is found soon, however long a message is', () => {
    const start = performance.now()
    for (const text of ['speak ', 'want to have ', 'i ', 'real human ', 'für a ', ' ', '.'])
      about.person.test(text.repeat(20_000 / text.length))
    expect(performance.now() - start).toBeLessThan(2_000)
  })
})

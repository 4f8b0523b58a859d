import { describe, expect, it } from 'vitest'
import { errorOf } from '../../test/visit.ts'
import { readCopy } from './copy.ts'
import { checkPermissions, covering, type Occasion, type StandingPermission } from './permissions.ts'
import { matches, type TermMatcher } from './term-matchers.ts'

const terms = { room: 'sea view', date: '2027-03-05', guests: 2, fee: { amount: '10.00', currency: 'EUR' } }
const rule: StandingPermission = {
  id: 'rooms',
  company: 'https://miramar.example',
  account: 'default',
  action: 'book_room',
  terms: {
    room: { oneOf: ['sea view', 'garden'] },
    date: { from: '2027-03-01', to: '2027-03-31' },
    guests: { atLeast: 1, atMost: 2 },
    fee: { currency: 'EUR', max: '20.00' },
  },
}

function occasion(change: Partial<Occasion> = {}, wire: Record<string, unknown> = {}): Occasion {
  const body = { operation_id: 'a', revision: 1, state: 'proposed', summary: 'A room.', terms, ...wire }
  const copy = readCopy(body, true)
  if (!copy) throw new Error('no operation')
  return {
    issuer: 'https://miramar.example',
    domain: 'miramar.example',
    account: 'default',
    action: 'book_room',
    copy,
    now: 1000,
    ...change,
  }
}

const covers = (change: Partial<StandingPermission> = {}, at = occasion()) =>
  covering([{ ...rule, ...change }], at).length === 1

describe('a standing permission', () => {
  it('covers Company, account, action and every term, or nothing [ops.standing-permission-agent]', () => {
    expect(covers()).toBe(true)
    expect(covers({ company: 'miramar.example' })).toBe(true)
    const others: readonly Partial<StandingPermission>[] = [
      { company: 'https://other.example' },
      { company: 'https://miramar.example/' },
      { account: 'work' },
      { action: 'cancel_room' },
      { expiresAt: 1000 },
      { terms: { ...rule.terms, fee: { currency: 'EUR', max: '9.99' } } },
      { terms: { ...rule.terms, breakfast: { anything: true } } },
    ]
    for (const one of others) expect([one, covers(one)]).toEqual([one, false])
    const { room: _room, ...fewer } = rule.terms
    expect(covers({ terms: fewer })).toBe(false)
    for (const one of [
      occasion({ action: undefined }),
      occasion({}, { terms: undefined }),
      occasion({}, { terms: {} }),
      occasion({}, { terms: { ...terms, deposit: '500 EUR' } }),
      occasion({}, { user_approval_required: true }),
    ])
      expect(covers({}, one)).toBe(false)
    expect(covers({ expiresAt: 1001 })).toBe(true)
  })

  it('goes by the issuer on this machine, where the domain doesn’t say who', () => {
    const here = { issuer: 'http://localhost:4101', domain: 'localhost' }
    expect(covers({ company: 'localhost' }, occasion(here))).toBe(false)
    expect(covers({ company: 'http://localhost:4101' }, occasion(here))).toBe(true)
  })

  it('finds nothing on a prototype: names of terms are their own', () => {
    for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
      expect(covers({}, occasion({}, { terms: { ...terms, [name]: 'x' } }))).toBe(false)
    }
  })
})

describe('a matcher', () => {
  const stories: readonly (readonly [TermMatcher, readonly unknown[], readonly unknown[]])[] = [
    [{ equals: 'a' }, ['a'], ['A', 'a ', 'а', null, ['a'], undefined]],
    [{ equals: 2 }, [2], ['2', 2.5]],
    [{ oneOf: [1, 'x', true, null] }, [1, 'x', true, null], [0, '1', 'true', false]],
    [{ atMost: 5 }, [5, -3, 0], [5.01, '4', Number.NaN, null, Number.POSITIVE_INFINITY]],
    [{ atLeast: 1, atMost: 5 }, [1, 5], [0, 6]],
    [
      { currency: 'EUR', max: '20.00' },
      [
        { amount: '20.00', currency: 'EUR' },
        { amount: 20, currency: 'EUR' },
        { amount: '0', currency: 'EUR' },
        { currency: 'EUR', amount: '19.999999999' },
      ],
      [
        { amount: '20.01', currency: 'EUR' },
        { amount: '20.000000001', currency: 'EUR' },
        { amount: '10.00', currency: 'USD' },
        { amount: '10.00', currency: 'eur' },
        { amount: '-10.00', currency: 'EUR' },
        { amount: '1e1', currency: 'EUR' },
        { amount: '1,0', currency: 'EUR' },
        { amount: ' 1', currency: 'EUR' },
        { amount: '0x1', currency: 'EUR' },
        { amount: '10.00', currency: 'EUR', each: 'guest' },
        { amount: '10.00' },
        '10.00 EUR',
        10,
        null,
      ],
    ],
    [
      { from: '2027-03-01', to: '2027-03-31' },
      ['2027-03-01', '2027-03-31'],
      ['2027-02-28', '2027-04-01', '2027-03-05T00:00:00Z', '5 March 2027', 20270305, null, '2027-02-31', '2027-13-01'],
    ],
    [
      { from: '2027-03-01T00:00:00Z', to: '2027-03-01T12:00:00Z' },
      ['2027-03-01T13:30:00+02:00'],
      ['2027-03-01', '2027-03-01T12:00:01Z', '2027-03-01T10:00:00', '2027-02-29T06:00:00Z', '2027-13-01T06:00:00Z'],
    ],
    [{ members: { a: { equals: 1 } } }, [{ a: 1 }], [{ a: 1, b: 2 }, {}, { a: 2 }, [1], null]],
    [
      { each: { equals: 'a' }, atMost: 2 },
      [[], ['a', 'a']],
      [['a', 'a', 'a'], ['a', 'b'], 'aa', { 0: 'a', length: 1 }],
    ],
    [{ anything: true }, ['x', null, { a: 1 }], []],
  ]
  it.each(stories)('%j takes what fits and nothing else', (matcher, fit, other) => {
    expect(fit.filter((one) => !matches(matcher, one))).toEqual([])
    expect(other.filter((one) => matches(matcher, one))).toEqual([])
  })
})

describe('rules as they are written', () => {
  const wrong: readonly (readonly [string, unknown])[] = [
    ['no list', rule],
    ['a text', ['everything']],
    ['a misspelt limit', [{ ...rule, time: 3 }]],
    ['no action', [{ ...rule, action: undefined }]],
    ['no terms', [{ ...rule, terms: {} }]],
    ['a limit of none', [{ ...rule, times: 0 }]],
    ['a limit that is no number', [{ ...rule, times: '3' }]],
    ['a date that is none', [{ ...rule, expiresAt: Number.NaN }]],
    ['two of one id', [rule, rule]],
    ['an unknown matcher', [{ ...rule, terms: { room: { matches: /.*/ } } }]],
    ['a matcher and a half', [{ ...rule, terms: { fee: { currency: 'EUR' } } }]],
    ['a maximum that is none', [{ ...rule, terms: { fee: { currency: 'EUR', max: 'much' } } }]],
    ['bounds that are none', [{ ...rule, terms: { guests: { atMost: '2' } } }]],
    ['a day and a time', [{ ...rule, terms: { date: { from: '2027-03-01', to: '2027-03-01T00:00:00Z' } } }]],
    ['a wrong one deep inside', [{ ...rule, terms: { list: { each: { members: { a: { any: 1 } } }, atMost: 1 } } }]],
    ['anything but not', [{ ...rule, terms: { room: { anything: false } } }]],
  ]
  it.each(wrong)('with %s are refused before any is used', async (_name, rules) => {
    const error = await errorOf((async () => checkPermissions(rules as never))())
    expect(error.code).toBe('misconfigured')
    expect(error.message).toMatch(/^permissions: /)
  })

  it('that are right pass', () => {
    checkPermissions([rule, { ...rule, id: 'others', times: 3, expiresAt: 5 }])
    checkPermissions([])
  })
})

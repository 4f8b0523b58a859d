import { describe, expect, it } from 'vitest'
import { readCard } from './customer-card.ts'

const style = { origin: 'https://miramar.example', yes: 'Yes', no: 'No' }
const read = (card: unknown) => readCard(card, style)

describe("a customer's account, as the company shows it", () => {
  it('has facts, tables and links, in words', () => {
    const card = {
      title: 'Maya Brandt',
      facts: { Status: 'Gold', Nights: 12, Newsletter: false, Note: '' },
      tables: [
        {
          title: 'Bookings',
          columns: ['Room', 'Paid'],
          rows: [
            [12, true],
            ['14', null],
          ],
        },
      ],
      links: [
        { text: 'Bookings', href: '/bookings?of=maya' },
        { text: 'CRM', href: 'https://crm.example/maya' },
      ],
    }
    expect(read(card)).toEqual({
      state: 'open',
      title: 'Maya Brandt',
      facts: [
        { name: 'Status', value: 'Gold' },
        { name: 'Nights', value: '12' },
        { name: 'Newsletter', value: 'No' },
        { name: 'Note', value: '–' },
      ],
      tables: [
        {
          title: 'Bookings',
          columns: ['Room', 'Paid'],
          rows: [
            ['12', 'Yes'],
            ['14', '–'],
          ],
        },
      ],
      links: [
        { text: 'Bookings', href: 'https://miramar.example/bookings?of=maya' },
        { text: 'CRM', href: 'https://crm.example/maya' },
      ],
    })
    expect(read(null)).toEqual({ state: 'open', title: null, facts: [], tables: [], links: [] })
    expect(read({})).toMatchObject({ title: null, facts: [] })
  })

  it.each([
    ['javascript:alert(1)'],
    [' javascript:alert(1)'],
    ['java\tscript:alert(1)'],
    ['data:text/html,<script>'],
    ['http://miramar.example/'],
    ['//evil.example/'],
    ['/\\evil.example/'],
    ['/\t/evil.example/'],
    ['\\\\evil.example'],
    ['https:evil.example'],
    ['bookings'],
    [''],
    [12],
    [undefined],
  ])('leads nowhere else: %s', (href) => {
    expect(() => read({ links: [{ text: 'Click', href }] })).toThrow('link')
  })

  it('is refused where it is anything else, and what it holds is in no error', () => {
    const secret = 'passport-number'
    const wrong: readonly unknown[] = [
      secret,
      [secret],
      { titel: secret },
      { title: [secret] },
      { facts: [secret] },
      { facts: { a: { secret } } },
      { facts: { a: secret.repeat(1000) } },
      { tables: { secret } },
      { tables: [{ title: secret, columns: ['a'], rows: [[secret, secret]] }] },
      { tables: [{ title: secret, columns: secret, rows: [] }] },
      { tables: [{ title: secret, columns: ['a'], rows: [[{ secret }]] }] },
      { links: [{ text: { secret }, href: '/a' }] },
      { links: [secret] },
    ]
    for (const card of wrong) {
      expect(() => read(card)).toThrow(TypeError)
      try {
        read(card)
      } catch (error) {
        expect(String(error)).not.toContain(secret)
      }
    }
  })

  it('hides nothing', () => {
    expect(read({ title: 'a\u202eb', facts: { 'c\u200bd': 'e\u202ef' } })).toMatchObject({
      title: 'a\ufffdb',
      facts: [{ name: 'c\ufffdd', value: 'e\ufffdf' }],
    })
  })
})

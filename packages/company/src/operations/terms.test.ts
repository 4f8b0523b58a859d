import { describe, expect, it } from 'vitest'
import { termLines } from './terms.ts'

describe('terms as a person reads them', () => {
  const lines = (terms: Record<string, unknown>, locale = 'en-GB') =>
    // Whether a comma stands after the day of the week depends on the release of Node.
    termLines(terms, { locale, yes: 'Yes', no: 'No' }).map(
      ({ name, value }) => `${name}: ${value.replace('day,', 'day')}`,
    )

  it('are all there, each in a line of its own', () => {
    expect(
      lines({
        room_type: 'Sea view',
        newDate: '2027-03-05',
        nights: 2,
        breakfast: true,
        refundable: false,
        note: null,
        empty: '',
        guests: ['Maya', 'Bob'],
        nobody: [],
        none: {},
        fees: [{ what: 'Cleaning', amount: '20.00' }, 'later'],
        place: { city: 'Cádiz', floor: 3 },
        '': 'no name',
        '--': 'dashes',
      }),
    ).toEqual([
      'Room type: Sea view',
      'New Date: Friday 5 March 2027',
      'Nights: 2',
      'Breakfast: Yes',
      'Refundable: No',
      'Note: –',
      'Empty: –',
      'Guests: Maya, Bob',
      'Nobody: –',
      'None: –',
      'Fees › 1 › What: Cleaning',
      'Fees › 1 › Amount: 20.00',
      'Fees › 2: later',
      'Place › City: Cádiz',
      'Place › Floor: 3',
      ': no name',
      '--: dashes',
    ])
  })

  it('have money with all of its digits, in the person’s way of writing it', () => {
    expect(lines({ price: { amount: '1260.00', currency: 'EUR' } })).toEqual(['Price: €1,260.00'])
    expect(lines({ price: { amount: '1260.00', currency: 'EUR' } }, 'de-DE')).toEqual(['Price: 1.260,00\u00a0€'])
    expect(lines({ price: { amount: 0.005, currency: 'EUR' } })).toEqual(['Price: €0.005'])
    expect(lines({ price: { amount: '99999999999999.99', currency: 'EUR' } })).toEqual([
      'Price: €99,999,999,999,999.99',
    ])
    // What isn't just that stands there as it is.
    expect(lines({ price: { amount: '20', currency: 'EUR', tax: '4' } })).toEqual([
      'Price › Amount: 20',
      'Price › Currency: EUR',
      'Price › Tax: 4',
    ])
    expect(lines({ price: { amount: 'about 20', currency: 'EUR' } })[0]).toBe('Price › Amount: about 20')
    expect(lines({ price: { amount: '20', currency: 'Euro' } })[1]).toBe('Price › Currency: Euro')
  })

  it('have no day that isn’t one', () => {
    expect(lines({ day: '2027-02-31', code: '2027-13-01', at: '2027-03-05T10:00:00Z' })).toEqual([
      'Day: 2027-02-31',
      'Code: 2027-13-01',
      'At: 2027-03-05T10:00:00Z',
    ])
  })

  it('have nothing in them that turns or hides what stands beside it', () => {
    expect(lines({ note: 'sea view\u202e, 260 €', 'r\u2066oom': ['a\u200bb', '\u202dc'], empty: '\u2060' })).toEqual([
      'Note: sea view�, 260 €',
      'R�oom: a�b, �c',
      'Empty: �',
    ])
    // Joiners are letters in Persian, and parts of a picture: they stay.
    expect(lines({ who: '👩\u200d🍳 می\u200cخواهم' })).toEqual(['Who: 👩\u200d🍳 می\u200cخواهم'])
  })
})

import { describe, expect, it } from 'vitest'
import { processorTime } from '../../../../test/setup/processor-time.ts'
import { readable, readableLine } from './readable.ts'

const style = { locale: 'en-GB', yes: 'Yes', no: 'No' }
const read = (value: unknown) => readable(value, style)
const value = (text: string) => ({ kind: 'value', text })

describe('data, as a person reads it', () => {
  it('is a value where it is one: days and money as people write them, numbers as they were', () => {
    expect(read('a room')).toEqual(value('a room'))
    expect(read(1234567)).toEqual(value('1234567'))
    expect(read(true)).toEqual(value('Yes'))
    expect(read(null)).toEqual(value('–'))
    expect(read('2027-03-05')).toEqual(value('Friday, 5 March 2027'))
    expect(read({ amount: '12.50', currency: 'EUR' })).toEqual(value('€12.50'))
    expect(read(['a', 'b'])).toEqual(value('a, b'))
  })

  it('is named values for an object, and a table for like objects', () => {
    expect(read({ new_date: '2027-03-05', guest: { firstName: 'Maya' } })).toEqual({
      kind: 'fields',
      fields: [
        { name: 'New date', value: value('Friday, 5 March 2027') },
        { name: 'Guest', value: { kind: 'fields', fields: [{ name: 'First Name', value: value('Maya') }] } },
      ],
    })
    const bookings = [
      { room: 12, nights: 2 },
      { room: 14, nights: 1, isPaid: false },
      { room: 15, nights: 3, isPaid: true },
    ]
    expect(read(bookings)).toEqual({
      kind: 'table',
      columns: ['Room', 'Nights', 'Is Paid'],
      rows: [
        ['12', '2', ''],
        ['14', '1', 'No'],
        ['15', '3', 'Yes'],
      ],
    })
    expect(read([{ a: 1 }, 'text']).kind).toBe('list')
    expect(read([{ a: { b: { c: 1 } } }]).kind).toBe('list')
  })

  it('hides nothing: what turns the direction of a line or takes no room is seen', () => {
    expect(read('pay\u202eme')).toEqual(value('pay\ufffdme'))
    expect(read({ 'a\u200bb': 1 })).toMatchObject({ fields: [{ name: 'A\ufffdb' }] })
    expect(read([{ 'x\u202e': 'y\u202e' }])).toMatchObject({ columns: ['X\ufffd'], rows: [['y\ufffd']] })
  })

  it('is cut where it is very long, very wide or very deep, and says so', () => {
    const long = read('🌺'.repeat(5000)) as { readonly text: string }
    expect(long.text.length).toBeLessThan(4010)
    expect(long.text.isWellFormed()).toBe(true)
    expect(long.text.endsWith('…')).toBe(true)
    const wide = read(Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`member${n}`, n])))
    expect(wide.kind === 'fields' && wide.fields.length).toBe(101)
    const table = read(Array.from({ length: 5000 }, (_, n) => ({ n, m: n })))
    expect(table.kind === 'table' && table.rows.length).toBe(101)
    let deep: unknown = { end: 1 }
    for (let level = 0; level < 30; level++) deep = { deeper: deep, beside: 1 }
    expect(JSON.stringify(read(deep))).toContain('…')
    const heavy = Array.from({ length: 90 }, () => Array.from({ length: 90 }, () => [{ a: [{}], b: { c: [] } }]))
    expect(JSON.stringify(read(heavy)).length).toBeLessThan(200_000)
  })

  it('is made soon, however many members somebody gave each message of a history', () => {
    const members = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${(from + n).toString(36)}`, 1]))
    const one = [members(0, 6000)]
    const many = Array.from({ length: 100 }, (_, row) => members(row * 60, 60))
    expect([read(one).kind, read(many).kind]).toEqual(['list', 'list'])
    const before = processorTime()
    for (let message = 0; message < 20; message++) for (const data of [one, many]) read(data)
    expect(processorTime() - before).toBeLessThan(1500)
  })

  it('is one line where there is no room', () => {
    expect(readableLine(read({ room: 12, nights: 2 }), 100)).toBe('Room: 12, Nights: 2')
    expect(readableLine(read([{ room: 12 }, { room: 14 }]), 100)).toBe('Room: 12; Room: 14')
    expect(readableLine(read({ text: 'x'.repeat(500) }), 50)).toHaveLength(50)
  })

  it('is never taken in by names that objects have of themselves', () => {
    const hostile: unknown = JSON.parse('{"__proto__":{"a":1},"constructor":"x","toString":2}')
    expect(read(hostile)).toMatchObject({ fields: [{}, { value: value('x') }, { value: value('2') }] })
    expect(read([JSON.parse('{"__proto__":1}'), JSON.parse('{"hasOwnProperty":1}')]).kind).toMatch(/table|list/)
  })
})

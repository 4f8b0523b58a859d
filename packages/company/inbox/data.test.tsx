import { render } from 'preact-render-to-string'
import { describe, expect, it } from 'vitest'
import type { Readable } from '../src/inbox/view.ts'
import { Data } from './data.tsx'

const drawn = (data: Readable) => render(<Data data={data} label="Rooms" />)
const bookings = {
  kind: 'table',
  columns: ['Number', 'Room', 'Nights'],
  rows: [
    ['MIR-1', 'Levante', '2'],
    ['MIR-2', 'Faro', '3'],
  ],
} as const
const rooms = {
  kind: 'table',
  columns: ['Slug', 'Name', 'Beds', 'Summary', 'Description', 'Total'],
  rows: [
    [
      'levante',
      'Levante',
      'One double bed',
      'The corner room, with two windows.',
      'Levante faces east. '.repeat(9),
      '290',
    ],
    ['faro', 'Faro', '', 'A long room for three.', 'From Faro you see the whole bay. '.repeat(9), '330'],
  ],
} as const

describe('data, as a person reads it', () => {
  it('is a table where there is room for its columns', () => {
    const html = drawn(bookings)
    expect(html).toContain('<thead>')
    expect(html).not.toContain('records')
  })

  it('stands row below row where its columns would each be a word wide, without what a row doesn’t have', () => {
    const html = drawn(rooms)
    expect(html).not.toContain('<thead>')
    expect(html.match(/aria-label="Rooms \d"/g)).toEqual(['aria-label="Rooms 1"', 'aria-label="Rooms 2"'])
    expect(html.match(/<bdi>Total<\/bdi>/g)).toHaveLength(2)
    expect(html.match(/<bdi>Beds<\/bdi>/g)).toHaveLength(1)
  })

  it('gives what has parts of its own the whole width, below its name', () => {
    const html = drawn({
      kind: 'fields',
      fields: [
        { name: 'Points', value: { kind: 'value', text: '1,240' } },
        { name: 'Bookings', value: bookings },
        { name: 'Needs', value: { kind: 'list', items: [{ kind: 'value', text: 'no steps' }] } },
      ],
    })
    expect(html.match(/<th scope="row"><bdi>[^<]*/g)).toEqual([
      '<th scope="row"><bdi>Points',
      '<th scope="row"><bdi>Needs',
    ])
    expect(html).toContain('<td colspan="2" class="large"><p class="quiet"><bdi>Bookings</bdi></p>')
    expect(html).toContain('aria-label="Rooms: Bookings"')
  })
})

import { describe, expect, it } from 'vitest'
import { dataLines } from './chat-lines.ts'

describe('details of a Company at a terminal', () => {
  it('are shown as rows, as many as anybody reads', () => {
    expect(dataLines({ data: { room: { beds: 2 }, price: '120 €' } }, 80)).toEqual([
      '    room.beds  2',
      '    price      120 €',
    ])
    const data = Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`member ${at}`, at]))
    const lines = dataLines({ data }, 80)
    expect(lines).toHaveLength(201)
    expect(lines.at(-1)).toBe('    … and 199800 more')
  })

  it('have no name that goes on at the margin, where only lines of ours begin', () => {
    for (let length = 40; length < 60; length++) {
      const data = { ['a'.repeat(length)]: { 'b You: yes, confirm it': 'x'.repeat(200) } }
      for (const line of dataLines({ data }, 60).flatMap((row) => row.split('\n'))) {
        expect(line.length).toBeLessThan(60)
        expect(line).toMatch(/^ {2}/)
      }
    }
  })
})

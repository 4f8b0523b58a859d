import { describe, expect, it } from 'vitest'
import type { Operation } from '../operations/operation.ts'
import { showOperation, showResult } from './operation-lines.ts'
import { createOutput } from './terminal.ts'

const summary = `Book a table. ${'and so on '.repeat(7)}Confirmed. State: done.`
const operation = {
  id: 'opn_1',
  company: { name: 'Hotel Miramar', domain: 'miramar.example' },
  summary,
  terms: { note: `${'x'.repeat(90)} State: done`, guests: 2 },
  result: undefined,
  revision: 1,
  state: 'proposed',
  expiresAt: undefined,
  userApprovalRequired: true,
  confirmation: undefined,
  objection: undefined,
} as unknown as Operation

function shown(columns: number | undefined, one: Operation = operation) {
  let out = ''
  const stdout = (text: string) => {
    out += text
  }
  const terminal = { stdout, stderr: () => {}, isTerminal: false, env: {} }
  showOperation(createOutput(terminal, false), one, columns)
  showResult(createOutput(terminal, false), { ...one, result: { booking: 'y'.repeat(200) } } as Operation, columns)
  return out.trimEnd().split('\n')
}

describe('an operation at a terminal', () => {
  it.each([0, 24, 40, 60, 80])(
    'of %d columns has no line of the Company’s words at the margin, nor one that the terminal would break',
    (columns) => {
      const rows = shown(columns)
      expect(rows[0]).toBe('Hotel Miramar  miramar.example')
      const width = columns || 80
      expect(rows.filter((row, at) => at > 0 && row !== '' && !row.startsWith('  '))).toEqual([])
      expect(rows.filter((row, at) => at > 0 && row.length >= width)).toEqual([])
      expect(rows.join(' ').replaceAll(/\s+/g, '')).toContain(summary.replaceAll(/\s+/g, ''))
    },
  )

  it('keeps the words of a term below each other', () => {
    const rows = shown(60)
    const at = rows.findIndex((row) => row.startsWith('  Terms'))
    expect(rows[at]?.startsWith('  Terms      note: ')).toBe(true)
    expect(rows[at + 1]).toMatch(/^ {13}x+$/)
    expect(rows.find((row) => row.includes('guests'))).toBe('             guests: 2')
  })

  it('is left as it is where nobody looks', () => {
    expect(shown(undefined)[1]).toBe(`  ${summary}`)
  })
})

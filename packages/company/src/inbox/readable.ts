import { inOneText, inPlainSight, nameInWords, type TermStyle } from '../operations/terms.ts'
import type { Readable } from './view.ts'

/** Any JSON as a person reads it: a value, named values, a table. Text alone, and cut where it is very long. */

/** How much is shown. */
const most = {
  text: 4_000,
  fields: 100,
  rows: 100,
  columns: 12,
  items: 100,
  depth: 8,
  /** Of all that is looked at, so that no data takes the page with it. */
  values: 2_000,
} as const

const cutMark = '…'

/** Makes data readable. */
export function readable(value: unknown, style: TermStyle): Readable {
  const budget = { left: most.values }
  return read(value, style, most.depth, budget)
}

/** The same; null for what isn't there. */
export function readableOrNull(value: unknown, style: TermStyle): Readable | null {
  return value === null || value === undefined ? null : readable(value, style)
}

function read(value: unknown, style: TermStyle, depth: number, budget: { left: number }): Readable {
  budget.left -= 1
  const text = plainText(value, style)
  if (text !== null) return { kind: 'value', text }
  if (depth === 0 || budget.left <= 0) return { kind: 'value', text: cutMark }
  if (Array.isArray(value)) return tableOf(value, style, budget) ?? listOf(value, style, depth, budget)
  const members = value as Readonly<Record<string, unknown>>
  const names = Object.keys(members)
  const fields = names.slice(0, most.fields).map((name) => ({
    name: nameOf(name),
    value: read(members[name], style, depth - 1, budget),
  }))
  if (names.length > fields.length) fields.push({ name: cutMark, value: { kind: 'value', text: cutMark } })
  return { kind: 'fields', fields }
}

function listOf(values: readonly unknown[], style: TermStyle, depth: number, budget: { left: number }): Readable {
  const items = values.slice(0, most.items).map((item) => read(item, style, depth - 1, budget))
  if (values.length > items.length) items.push({ kind: 'value', text: cutMark })
  return { kind: 'list', items }
}

/** Objects of like members, each a plain value: a table. Null for anything else. */
function tableOf(values: readonly unknown[], style: TermStyle, budget: { left: number }): Readable | null {
  const rows = values.slice(0, most.rows)
  if (!rows.every(isObject)) return null
  const found = new Set<string>()
  for (const row of rows) {
    for (const name of Object.keys(row)) found.add(name)
    // What is no table is known soon: a row may have thousands of members, and a history a hundred such messages.
    if (found.size > most.columns) return null
  }
  const names = [...found]
  const isFlat = rows.every((row) => Object.values(row).every((member) => plainText(member, style) !== null))
  const shared = names.filter((name) => rows.filter((row) => Object.hasOwn(row, name)).length * 2 >= rows.length)
  if (!isFlat || shared.length === 0) return null
  budget.left -= rows.length * names.length
  if (budget.left <= 0) return { kind: 'value', text: cutMark }
  const cells = rows.map((row) =>
    names.map((name) => (Object.hasOwn(row, name) ? (plainText(row[name], style) ?? cutMark) : '')),
  )
  if (values.length > rows.length) cells.push(names.map(() => cutMark))
  return { kind: 'table', columns: names.map(nameOf), rows: cells }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What takes one text: as terms are written, with the same numbers, days and money. Null for what takes more. */
function plainText(value: unknown, style: TermStyle): string | null {
  const text = inOneText(value, style)
  return text === null ? null : cut(inPlainSight(text))
}

/** Cut where it is very long, never in the middle of a character. */
function cut(text: string): string {
  if (text.length <= most.text) return text
  return `${text
    .slice(0, most.text)
    .toWellFormed()
    .replace(/\ufffd$/, '')}${cutMark}`
}

const nameOf = (name: string) => inPlainSight(nameInWords(name.slice(0, 200)))

/** The same in one line, for where there is no room: `Room: 12, Nights: 2`. */
export function readableLine(value: Readable, longest: number): string {
  const line = inLine(value)
  return line.length <= longest
    ? line
    : `${line
        .slice(0, longest - 1)
        .toWellFormed()
        .replace(/\ufffd$/, '')}${cutMark}`
}

function inLine(value: Readable): string {
  switch (value.kind) {
    case 'value':
      return value.text
    case 'fields':
      return value.fields.map(({ name, value: member }) => `${name}: ${inLine(member)}`).join(', ')
    case 'list':
      return value.items.map(inLine).join(', ')
    case 'table':
      return value.rows.map((row) => row.map((cell, index) => `${value.columns[index]}: ${cell}`).join(', ')).join('; ')
  }
}

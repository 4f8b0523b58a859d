import { isJsonObject } from '@poppyseed/protocol'
import { cleanText } from '../net/text.ts'
import type { Operation } from '../operations/operation.ts'
import { wrapRow } from './chat/wrapping.ts'
import { clean, type Output, shellWord } from './terminal.ts'

/** How an operation is shown at a terminal: all of it, and nothing that a Company wrote can look like a line of ours. */

/** Where an operation stands, in words. */
export const stateWords: Readonly<Record<Operation['state'], string>> = {
  proposed: 'proposed: nothing is done before you confirm it',
  in_progress: 'in progress: being done, or not known yet',
  succeeded: 'done',
  failed: 'failed: certainly not done',
  cancelled: 'cancelled',
  expired: 'expired: not confirmed in time, and not done',
}

/**
 * Shows an operation with all its terms.
 * @param columns how wide the terminal is; undefined where there is none, and then no line is broken
 */
export function showOperation(output: Output, operation: Operation, columns?: number): void {
  const { company, summary, terms, result, expiresAt, confirmation } = operation
  output.line(`${output.bold(clean(company.name))}  ${output.dim(clean(company.domain))}`)
  // In one line: a text with lines of its own could pass for what we say.
  output.line(wrapRow(columns, '  ', cleanText(summary, 4000)))
  output.line()
  const rows: (readonly string[])[] = [
    ...rowsOf('Terms', terms),
    ['Operation', `${clean(operation.id, 256)}, revision ${operation.revision}`],
    ['State', stateWords[operation.state]],
    ...(operation.state === 'proposed' && expiresAt !== undefined ? [['Until', timeOf(expiresAt)]] : []),
    ...(operation.userApprovalRequired && operation.state === 'proposed' ? [['Approval', 'yours, each time']] : []),
    ...(confirmation ? [['Confirmed', `revision ${confirmation.revision}, ${timeOf(confirmation.confirmedAt)}`]] : []),
    ...rowsOf('Result', result),
  ]
  showRows(output, rows, columns)
  if (operation.objection !== undefined) {
    output.line()
    output.line(`${output.bold('Beware:')} ${clean(operation.objection, 400)}`)
  }
}

/** Shows what came of an operation, where the Company said so. */
export function showResult(output: Output, { result }: Operation, columns?: number): void {
  showRows(output, rowsOf('Result', result), columns)
}

/** Rows whose texts stay below each other, and never at the margin. */
function showRows(output: Output, rows: readonly (readonly string[])[], columns: number | undefined): void {
  const width = Math.max(0, ...rows.map(([label = '']) => label.length))
  for (const [label = '', text = ''] of rows)
    output.line(wrapRow(columns, `  ${label.padEnd(width)}  `, text).trimEnd())
}

/** What can be done next. */
export function nextFor(operation: Operation): string | undefined {
  const id = shellWord(operation.id)
  if (operation.state === 'proposed') return `Next: poppy operations confirm ${id}`
  return operation.state === 'in_progress' ? `Next: poppy operations wait ${id}` : undefined
}

function timeOf(time: number): string {
  const date = new Date(time)
  return Number.isFinite(date.getTime()) ? date.toISOString().replace('.000Z', 'Z') : 'at no time that can be read'
}

/** A value as rows of names and texts, however deep: `fee.amount  10.00`. */
function rowsOf(label: string, value: unknown): readonly (readonly string[])[] {
  if (value === undefined || value === null) return []
  return leaves(value, '').map(([name, text], at) => [at === 0 ? label : '', name === '' ? text : `${name}: ${text}`])
}

function leaves(value: unknown, name: string): readonly (readonly [string, string])[] {
  const entries = Array.isArray(value)
    ? value.map((one, at) => [String(at + 1), one] as const)
    : isJsonObject(value)
      ? Object.entries(value)
      : []
  if (entries.length > 0) {
    return entries.flatMap(([member, one]) => leaves(one, name === '' ? oneLine(member) : `${name}.${oneLine(member)}`))
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return [[name, oneLine(text)]]
}

function oneLine(text: string): string {
  return cleanText(text, 100_000)
}

import type { Scope } from './database.ts'
import { type Statement, statement } from './statement.ts'

/**
 * A statement of PostgreSQL that does for many what another one does for one. `:name` stands in it for the value of the one
 * that it is about, which comes out of `asked`: all values travel as one parameter.
 */

type Values = Readonly<Record<string, unknown>>

/** The values that are numbers; all others are texts. */
const numbers: ReadonlySet<string> = new Set([
  'now',
  'notes',
  'entryRevision',
  'dueAt',
  'turn',
  'confirmed',
  'from',
  'expiresAt',
  'toldAlways',
])

/** The column of `asked` for a value. */
export const askedName = (name: string): string => `asked_${name.toLowerCase()}`

/** The text of `asked`, a row for each one that it is asked for. */
export function askedText(names: readonly string[]): string {
  const columns = names.map((name) => `${askedName(name)} ${numbers.has(name) ? 'bigint' : 'text'}`)
  // The limit is a promise to the planner, which takes every list for a long one.
  return `select * from json_to_recordset(cast(:asked as json)) as row_of (${columns.join(', ')}) limit cast(:count as bigint)`
}

/** Makes the function of a text, given the names of the values, which are those of the first that is asked for. */
export function forMany<Row>(
  textOf: (names: readonly string[]) => string,
): (scope: Scope, items: readonly Values[]) => Promise<readonly Row[]> {
  let made: { readonly names: readonly string[]; readonly run: Statement<Values, Row> } | null = null
  function make(names: readonly string[]) {
    const postgres = textOf(names).replace(/(?<!:):([a-zA-Z]\w*)/g, (whole, name: string) =>
      names.includes(name) ? askedName(name) : whole,
    )
    return { names, run: statement<Values, Row>({ sqlite: 'select :company', postgres }, 'anew') }
  }
  return (scope, items) => {
    made ??= make(Object.keys(items[0] ?? {}).sort())
    const { names, run } = made
    const asked = items.map((item) => Object.fromEntries(names.map((name) => [askedName(name), item[name]])))
    return run(scope, { asked: JSON.stringify(asked), count: items.length })
  }
}

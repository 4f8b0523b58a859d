import type { Plan, Scope } from './database.ts'
import { type Statement, statement } from './statement.ts'

/**
 * A statement of PostgreSQL that does for many what another one does for one. `:name` stands in it for the value of the one
 * that it is about, which comes out of `asked`: all values travel as one parameter.
 */

type Values = Readonly<Record<string, unknown>>

/** The values of operations that are numbers; all others are texts. */
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

/**
 * The text of `asked`, a row for each one that it is asked for.
 * @param isNumber which values are numbers, where others are than those of operations
 */
export function askedText(
  names: readonly string[],
  isNumber: (name: string) => boolean = (name) => numbers.has(name),
): string {
  const columns = names.map((name) => `${askedName(name)} ${isNumber(name) ? 'bigint' : 'text'}`)
  // The limit is a promise to the planner, which takes every list for a long one.
  return `select * from json_to_recordset(cast(:asked as json)) as row_of (${columns.join(', ')}) limit cast(:count as bigint)`
}

/**
 * Makes the function of a text, given the names of the values, which are those of the first that is asked for.
 * @param plan `kept` only where each table is read by its key, whatever the planner takes it to hold
 */
export function forMany<Row>(
  textOf: (names: readonly string[]) => string,
  plan: Plan = 'anew',
): (scope: Scope, items: readonly Values[]) => Promise<readonly Row[]> {
  interface Made {
    readonly columns: readonly (readonly [name: string, column: string])[]
    readonly run: Statement<Values, Row>
  }
  let made: Made | null = null
  function make(names: readonly string[]): Made {
    const postgres = textOf(names).replace(/(?<!:):([a-zA-Z]\w*)/g, (whole, name: string) =>
      names.includes(name) ? askedName(name) : whole,
    )
    return {
      columns: names.map((name) => [name, askedName(name)]),
      run: statement<Values, Row>({ sqlite: 'select :company', postgres }, plan),
    }
  }
  return (scope, items) => {
    made ??= make(Object.keys(items[0] ?? {}).sort())
    const { columns, run } = made
    const asked = items.map((item) => {
      const row: Record<string, unknown> = {}
      for (const [name, column] of columns) row[column] = item[name]
      return row
    })
    return run(scope, { asked: JSON.stringify(asked), count: items.length })
  }
}

import type { Database, Plan, Scope } from './database.ts'

/** A statement that was written beforehand: values by name, the Company filled in from the scope. */
export type Statement<Values, Row> = (scope: Scope, values: Values) => Promise<readonly Row[]>

interface Prepared {
  readonly sql: string
  readonly order: readonly string[]
}

// One colon and a name is a value; `::bigint` is PostgreSQL's cast.
const placeholder = /(?<!:):([a-zA-Z]\w*)/g

function prepare(text: string, name: Database['name']): Prepared {
  const order: string[] = []
  const sql = text.replace(placeholder, (_, value: string) => {
    if (name === 'sqlite') {
      order.push(value)
      return '?'
    }
    const known = order.indexOf(value)
    return `$${known >= 0 ? known + 1 : order.push(value)}`
  })
  return { sql, order }
}

/**
 * Makes a function of SQL for the paths that every request takes: building a query costs more there than running it.
 * `:name` stands for a value; each statement has to use `:company`, so that none can forget it.
 */
export function statement<Values extends object, Row>(
  texts: Readonly<Record<Database['name'], string>>,
  plan: Plan = 'kept',
): Statement<Values, Row> {
  const prepared = { sqlite: prepare(texts.sqlite, 'sqlite'), postgres: prepare(texts.postgres, 'postgres') }
  for (const { order } of Object.values(prepared)) {
    if (!order.includes('company')) throw new TypeError('A statement has to name the Company.')
  }
  return async ({ db, company }, values) => {
    const { sql, order } = prepared[db.name]
    const named: Record<string, unknown> = { ...values, company }
    // The columns are ours, so the rows have the shape that the statement was declared with.
    return (await db.run(
      sql,
      order.map((name) => named[name]),
      plan,
    )) as readonly Row[]
  }
}

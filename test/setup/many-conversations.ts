import { sql } from 'kysely'
import type { Scope } from '../../packages/company/src/store/database.ts'
import { conversationRow } from './conversation-rows.ts'
import { grantRow, now, operationRow, revisionRow, sessionRow } from './rows.ts'

/** Many conversations at once, written by the database itself: a million take it a minute. */

/** How many of each. */
export interface Many {
  /** Open ones that the Company Agent has. */
  readonly open?: number
  readonly waiting?: number
  /** Those that staff have: each member of staff as many. */
  readonly held?: number
  readonly staff?: number
  readonly closed?: number
  /** Operations whose outcome nobody knows. */
  readonly unsettled?: number
  /** Operations that are done. */
  readonly done?: number
  /** Sessions that are signed in, each with its grant; each has as many of the conversations. */
  readonly sessions?: number
  /** Milliseconds since 1970: when the newest of each began; the others a second earlier each. */
  readonly newest: number
}

/** What is added to each number in an id: so their order is the order in which they are written, which is far quicker. */
const firstNumber = 1_000_000

/** The id of the so manieth of these, from 1 on. */
export const idOfMany = (name: 'open' | 'waiting' | 'held' | 'closed', number: number): string =>
  `cnv_${name}_${firstNumber + number}`

type Column = ReturnType<typeof sql>

/** Writes them, each with a message of the agent's and an answer. Of staff there are `staff-0`, `staff-1` and so on. */
export async function insertMany(scope: Scope, many: Many): Promise<void> {
  const { open = 0, waiting = 0, held = 0, staff = 1, closed = 0, unsettled = 0, done = 0, sessions = 0, newest } = many
  const began = sql`${sql.lit(newest)} - i * 1000`
  const by = sessions === 0 ? {} : { session_id: ofSession('ses', sessions), grant_id: ofSession('grt', sessions) }
  await conversations(scope, 'open', open, { created_at: began, ...by })
  const queued = {
    status: sql.lit('queued'),
    created_at: began,
    queued_at: sql`${sql.lit(newest)} - i * 1000 + 7`,
    ...by,
  }
  await conversations(scope, 'waiting', waiting, queued)
  const holder = sql`'staff-' || (i % ${sql.lit(staff)})`
  const person = { responder: sql.lit('human'), held_by: holder, held_name: holder }
  await conversations(scope, 'held', held, { created_at: began, ...person, ...by })
  const over = {
    status: sql.lit('closed'),
    created_at: began,
    closed_at: sql`${sql.lit(newest)} - i * 1000 + 500`,
    ...by,
  }
  await conversations(scope, 'closed', closed, over)
  const since = sql`${sql.lit(newest)} - i * 1000`
  await operations(scope, 'unsettled', unsettled, { state: 'in_progress', unknown_since: since, created_at: since })
  await operations(scope, 'done', done, { state: 'succeeded', finished_at: since, created_at: since })
  await signedIn(scope, sessions)
  if (scope.db.name === 'postgres') await scope.db.run('analyze', [])
}

const ofSession = (kind: 'ses' | 'grt', count: number) =>
  sql`${sql.lit(`${kind}_many_`)} || (1 + i % ${sql.lit(count)})`

async function signedIn(scope: Scope, count: number): Promise<void> {
  const { company } = scope
  const { client_id, user_id } = conversationRow()
  const numbered = (prefix: string) => sql`${sql.lit(prefix)} || i`
  const grant = {
    ...grantRow({ client_id, user_id, expires_at: null }),
    id: numbered('grt_many_'),
    token_hash: numbered('many_'),
  }
  await insert(scope, 'poppy_grants', count, { company, ...grant })
  // Whatever the time is to whoever reads them: none has run out.
  const lasting = { expires_at: Date.UTC(2100, 0), last_used_at: Date.UTC(2099, 0) }
  const session = { ...sessionRow({ client_id, user_id, account: 'ada', ...lasting }), id: numbered('ses_many_') }
  await insert(scope, 'poppy_sessions', count, { company, ...session, grant_id: numbered('grt_many_') })
}

/** The numbers from 1 on, as `i`. */
function numbers({ db }: Scope, count: number): Column {
  return db.name === 'postgres'
    ? sql`generate_series(1, ${sql.lit(count)}) as n (i)`
    : sql`(with recursive n (i) as (select 1 union all select i + 1 from n where i < ${sql.lit(count)}) select i from n)`
}

async function conversations(scope: Scope, name: string, count: number, columns: Record<string, Column>) {
  if (count === 0) return
  const { company } = scope
  const id = sql`${sql.lit(`cnv_${name}_`)} || (${sql.lit(firstNumber)} + i)`
  const row: Record<string, unknown> = { company, ...conversationRow({ last_event: 2, asked: 1, answered: 1 }) }
  await insert(scope, 'poppy_conversations', count, { ...row, id, oldest_at: columns.created_at, ...columns })
  for (const [number, role] of [
    [1, 'user'],
    [2, 'company'],
  ] as const) {
    const head = sql.lit(`{"id":"evt_${number}","type":"message","created_at":"2026-01-01T00:00:00.000Z","message":`)
    const message = sql.lit(`{"id":"msg_${number}","role":"${role}","sender":"agent","text":"Of ${name} number `)
    await insert(scope, 'poppy_events', count, {
      company,
      conversation_id: id,
      number,
      type: role === 'user' ? 'message.own' : 'message',
      body: sql`${head} || ${message} || i || '."}}'`,
      written_for: null,
      created_at: columns.created_at,
    })
  }
}

async function operations(scope: Scope, name: string, count: number, columns: Record<string, unknown>) {
  if (count === 0) return
  const { company } = scope
  const id = sql`${sql.lit(`opn_${name}_`)} || i`
  const row = operationRow({ expires_at: null, confirmed_revision: 1, approved_by: 'user', confirmed_at: now })
  await insert(scope, 'poppy_operations', count, { company, ...row, id, ...columns })
  await insert(scope, 'poppy_revisions', count, { company, ...revisionRow(), operation_id: id })
}

async function insert(scope: Scope, table: string, count: number, columns: Record<string, unknown>): Promise<void> {
  const names = Object.keys(columns).map((name) => sql.ref(name))
  const values = Object.values(columns).map((value) => (isColumn(value) ? value : literal(value)))
  await sql`insert into ${sql.table(table)} (${sql.join(names)})
    select ${sql.join(values)} from ${numbers(scope, count)}`.execute(scope.db.query)
}

const isColumn = (value: unknown): value is Column => typeof value === 'object' && value !== null
// A parameter has no type of its own there.
const literal = (value: unknown) => sql.lit(value)

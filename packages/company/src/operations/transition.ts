import type { Scope } from '../store/database.ts'
import { askedName, askedText, forMany } from '../store/for-many.ts'
import { gathered } from '../store/gather.ts'
import { type Statement, statement } from '../store/statement.ts'
import type { OperationsTable, OutboxTable } from '../store/tables.ts'
import type { Entry } from './agreement.ts'

/**
 * A change of state: compared and set, with all that it causes, in one transaction. The row's own condition decides who of
 * several that come at once is the one; its entry in the trail, the work and what is told go with it or not at all.
 */

/** What a change leaves the operation's work as: put in place of what there was, taken away, or as it was. */
export type WorkKind = Extract<OutboxTable['kind'], 'perform' | 'reconcile'>

/** What a change is made with, beside the values of its own. */
export interface Change {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** What the trail says of it; left out, nothing. */
  readonly entry?: Entry
  /** When the work that the change puts there is due. */
  readonly dueAt?: number
  /** Tells the company's hooks of it, or only its conversation, where it has one; only what the trail says is told. */
  readonly tells?: boolean | 'conversation'
}

/** What a change left, as far as anybody needs it: the rest of the row is what was read and what was set. */
export type Changed = Pick<OperationsTable, 'id' | 'revision' | 'turn' | 'trail' | 'conversation_id'>

const returned = 'id, revision, turn, trail, conversation_id'

/** The id of the one row of work that an operation has: it is performed, and asked about afterwards. */
const workId = (operationId: string): string => `run:${operationId}`

type Values = Readonly<Record<string, unknown>>

const entryColumns = '(company, operation_id, number, event, at, revision, channel, who, detail)'
const outboxColumns = '(company, id, kind, operation_id, payload, due_at, attempts, created_at)'

/**
 * Makes a change of its SQL. On PostgreSQL it is one statement, for as many operations as are to be changed so at that moment;
 * on SQLite several, in one transaction, which cost no round trip.
 * @param set what is set, such as `state = 'cancelled'`
 * @param where when, beside the id: such as `state = 'proposed'`
 * @param work what the operation's work becomes
 */
export function transition<Own extends object>(
  set: string,
  where: string,
  work: WorkKind | 'none' | 'same',
): (scope: Scope, change: Change & Own) => Promise<Changed | null> {
  const update = `update poppy_operations
    set ${set === '' ? '' : `${set}, `}trail = trail + cast(:notes as bigint), updated_at = cast(:now as bigint)
    where company = :company and id = :id and ${where} returning ${returned}`
  const workText = workTexts[work === 'perform' || work === 'reconcile' ? 'put' : work]
  const kind = work === 'none' || work === 'same' ? 'perform' : work
  // Each table that a statement may write costs it something, written or not: so there is one for each case.
  const onPostgres = (notes: boolean, tells: boolean) => {
    const also = `${notes ? notedText : ''} ${tells ? toldText : ''}`
    const alone = statement<Values, Changed>({
      sqlite: 'select :company',
      postgres: `with changed as (${update}) ${also} ${workText.postgres} select ${returned} from changed`,
    })
    const together = forMany<Changed>(
      (names) => `with asked as (${askedText(names)}), ${freeText}, changed as (
          update poppy_operations set ${set === '' ? '' : `${set}, `}trail = trail + :notes, updated_at = :now from asked
          where company = :company and id = :id and id in (select id from free) and ${where}
          returning ${returned}, ${names.map(askedName).join(', ')})
        ${also} ${workText.forMany ?? workText.postgres} select ${returned} from changed`,
    )
    return gathered<Values & { readonly id: string }, Changed | null>({
      alone: async (scope, values) => (await alone(scope, values))[0] ?? null,
      together: async (scope, items) => new Map((await together(scope, items)).map((row) => [row.id, row])),
    })
  }
  const variants = { told: onPostgres(true, true), noted: onPostgres(true, false), silent: onPostgres(false, false) }
  const updateRow = onSqlite<Changed>(update)
  const putWork = workText.sqlite === '' ? null : onSqlite<never>(workText.sqlite)

  return async (scope, { entry, dueAt, tells = false, ...own }) => {
    const values = {
      ...own,
      notes: entry === undefined ? 0 : 1,
      event: entry?.event ?? '',
      ...written(entry),
      dueAt: dueAt ?? null,
      kind,
      workId: workId(own.id),
      toldAlways: tells === true ? 1 : 0,
    }
    if (scope.db.name === 'postgres') {
      const variant = entry === undefined ? variants.silent : tells === false ? variants.noted : variants.told
      return variant(scope, values)
    }
    return scope.db.transaction(async () => {
      const [changed] = await updateRow(scope, values)
      if (changed === undefined) return null
      if (entry !== undefined) await addEntry(scope, { ...values, number: changed.trail })
      if (tells === true || (tells === 'conversation' && changed.conversation_id !== null))
        await tell(scope, { ...values, workId: `tell:${own.id}:${changed.trail}`, payload: values.event })
      await putWork?.(scope, values)
      return changed
    })
  }
}

function onSqlite<Row>(sqlite: string): Statement<Values, Row> {
  return statement<Values, Row>({ sqlite, postgres: 'select :company' })
}

// Whoever holds one of them has only that one wait: it is left out here, and changed alone.
const freeText = `free as (select poppy_operations.id from asked
  join poppy_operations on poppy_operations.company = :company and poppy_operations.id = :id
  for update of poppy_operations skip locked)`

const notedText = `, noted as (insert into poppy_trail ${entryColumns}
  select :company, cast(:id as text), trail, cast(:event as text), cast(:now as bigint),
    cast(:entryRevision as bigint), cast(:channel as text), cast(:who as text), cast(:detail as text) from changed)`
const toldText = `, told as (insert into poppy_outbox ${outboxColumns}
  select :company, cast('tell:' || :id || ':' as text) || trail, 'tell', cast(:id as text), cast(:event as text),
    cast(:now as bigint), 0, cast(:now as bigint)
  from changed where cast(:toldAlways as bigint) = 1 or changed.conversation_id is not null)`

const workTexts = {
  put: {
    sqlite: `insert into poppy_outbox ${outboxColumns}
      values (:company, :workId, :kind, :id, null, :dueAt, 0, :now)
      on conflict (company, id) do update set kind = excluded.kind, due_at = excluded.due_at`,
    postgres: `, worked as (insert into poppy_outbox ${outboxColumns}
      select :company, cast(:workId as text), cast(:kind as text), cast(:id as text), null, cast(:dueAt as bigint), 0,
        cast(:now as bigint) from changed
      on conflict (company, id) do update set kind = excluded.kind, due_at = excluded.due_at)`,
    forMany: null,
  },
  none: {
    sqlite: 'delete from poppy_outbox where company = :company and id = :workId',
    postgres: `, worked as (delete from poppy_outbox
      where company = :company and id = cast(:workId as text) and exists (select 1 from changed))`,
    forMany: `, worked as (delete from poppy_outbox using changed
      where poppy_outbox.company = :company and poppy_outbox.id = :workId)`,
  },
  same: { sqlite: '', postgres: '', forMany: null },
} as const

const addEntryText = `insert into poppy_trail ${entryColumns}
  values (:company, :id, :number, :event, :now, :entryRevision, :channel, :who, :detail)`
const addEntry = statement<Values, never>({ sqlite: addEntryText, postgres: addEntryText })

const tellText = `insert into poppy_outbox ${outboxColumns}
  values (:company, :workId, 'tell', :id, :payload, :now, 0, :now)`
const tell = statement<Values, never>({ sqlite: tellText, postgres: tellText })

/** Writes the first entry of a trail, inside the transaction that makes the operation. */
export async function beginTrail(
  scope: Scope,
  { id, now, entry, tells = false }: Change & { readonly entry: Entry },
): Promise<void> {
  await addEntry(scope, { id, number: 1, now, event: entry.event, ...written(entry) })
  if (tells === true) await tell(scope, { id, workId: `tell:${id}:1`, payload: entry.event, now })
}

function written(entry: Entry | undefined): Values {
  return {
    entryRevision: entry?.revision ?? null,
    channel: entry?.channel ?? '',
    who: JSON.stringify(entry?.who ?? {}),
    detail: entry?.detail === undefined ? null : JSON.stringify(entry.detail),
  }
}

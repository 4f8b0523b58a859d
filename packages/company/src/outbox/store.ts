import type { Scope } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { OutboxTable } from '../store/tables.ts'

/** The outbox: work that was committed together with what causes it. */

/** A piece of work. */
export type Work = Omit<OutboxTable, 'company'>

const dueText = (
  which: string,
) => `select id, kind, operation_id, payload, due_at, attempts, created_at from poppy_outbox
  where company = :company and due_at <= :now and ${which} order by due_at limit :limit`
const dueOf = (which: string) =>
  statement<{ readonly now: number; readonly limit: number }, Work>({
    sqlite: dueText(which),
    postgres: dueText(which),
  })
const due = { tell: dueOf("kind = 'tell'"), do: dueOf("kind <> 'tell'") }

/** What is due, the longest due first: what is to be told to hooks, or what is to be done. One never waits for the other. */
export async function dueWork(
  scope: Scope,
  { what, now, limit }: { readonly what: 'tell' | 'do'; readonly now: number; readonly limit: number },
): Promise<readonly Work[]> {
  return due[what](scope, { now, limit })
}

const claimText = `update poppy_outbox set due_at = :until, attempts = attempts + 1
  where company = :company and id = :id and due_at = :seen and due_at <= :now returning id`
const claim = statement<
  { readonly id: string; readonly seen: number; readonly now: number; readonly until: number },
  { readonly id: string }
>({ sqlite: claimText, postgres: claimText })

/**
 * Claims a piece of work for a time, the lease: whoever has it deletes it, or puts it off, before that; else it is due
 * again. Of several that claim it at once, one has it.
 */
export async function claimWork(
  scope: Scope,
  { work, now, until }: { readonly work: Work; readonly now: number; readonly until: number },
): Promise<boolean> {
  return (await claim(scope, { id: work.id, seen: work.due_at, now, until })).length > 0
}

const putOffText = `update poppy_outbox set due_at = :until where company = :company and id = :id and kind = :kind`
const putOff = statement<{ readonly id: string; readonly kind: Work['kind']; readonly until: number }, never>({
  sqlite: putOffText,
  postgres: putOffText,
})

/** Puts a piece of work off. */
export async function putOffWork(
  scope: Scope,
  { work, until }: { readonly work: Pick<Work, 'id' | 'kind'>; readonly until: number },
): Promise<void> {
  await putOff(scope, { id: work.id, kind: work.kind, until })
}

const addText = `insert into poppy_outbox (company, id, kind, operation_id, payload, due_at, attempts, created_at)
  values (:company, :id, :kind, :operation_id, :payload, :due_at, :attempts, :created_at) on conflict do nothing`
const add = statement<Work, never>({ sqlite: addText, postgres: addText })

/** Adds a piece of work, unless it is there. Inside the transaction that causes it. */
export async function addWork(scope: Scope, work: Work): Promise<void> {
  await add(scope, work)
}

const deleteText = `delete from poppy_outbox where company = :company and id = :id and kind = :kind`
const remove = statement<{ readonly id: string; readonly kind: Work['kind'] }, never>({
  sqlite: deleteText,
  postgres: deleteText,
})

/** Deletes a piece of work that is done. */
export async function deleteWork(scope: Scope, work: Pick<Work, 'id' | 'kind'>): Promise<void> {
  await remove(scope, { id: work.id, kind: work.kind })
}

/** How much work waits, and since when the longest of it is due. Milliseconds since 1970. */
export interface Backlog {
  readonly waiting: number
  readonly dueSince: number | null
}

/** What is due and not done. */
export async function backlog({ db, company }: Scope, { now }: { readonly now: number }): Promise<Backlog> {
  const row = await db.query
    .selectFrom('poppy_outbox')
    .select((eb) => [eb.fn.countAll<number>().as('waiting'), eb.fn.min<number | null>('due_at').as('dueSince')])
    .where('company', '=', company)
    .where('due_at', '<=', now)
    .executeTakeFirstOrThrow()
  return { waiting: Number(row.waiting), dueSince: row.dueSince === null ? null : Number(row.dueSince) }
}

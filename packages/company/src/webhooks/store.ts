import type { Scope } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { DeliveriesTable } from '../store/tables.ts'

/** Deliveries: what the store does with them. */

/** A delivery that is to be kept, with what causes it. */
export interface NewDelivery {
  readonly id: string
  readonly endpoint: string
  readonly event: string
  readonly body: string
  readonly conversationId: string | null
  readonly operationId: string | null
  /** Milliseconds since 1970. */
  readonly now: number
}

/** A delivery that is due. */
export type Delivery = Pick<DeliveriesTable, 'id' | 'event' | 'body' | 'attempts'> & { readonly due_at: number }

/** The columns of a new delivery, in the order in which it is written. */
export const deliveryColumns =
  '(company, id, endpoint, event, body, conversation_id, operation_id, due_at, attempts, created_at, given_up_at)'

const addText = `insert into poppy_deliveries ${deliveryColumns}
  values (:company, :id, :endpoint, :event, :body, :conversationId, :operationId, :now, 0, :now, null)`
const add = statement<NewDelivery, never>({ sqlite: addText, postgres: addText })

/** Keeps what is to be delivered. In the transaction of what causes it. */
export async function insertDeliveries(scope: Scope, deliveries: readonly NewDelivery[]): Promise<void> {
  for (const delivery of deliveries) await add(scope, delivery)
}

const dueText = `select id, event, body, attempts, due_at from poppy_deliveries
  where company = :company and due_at <= :now and endpoint = :endpoint order by due_at limit :limit`
type Asked = { readonly endpoint: string; readonly now: number; readonly limit: number }
const due = statement<Asked, Delivery>({ sqlite: dueText, postgres: dueText })

/** What is due at an address, the longest due first. */
export async function dueDeliveries(scope: Scope, asked: Asked): Promise<readonly Delivery[]> {
  const rows = await due(scope, asked)
  return rows.map((row) => ({ ...row, attempts: Number(row.attempts), due_at: Number(row.due_at) }))
}

const claimText = `update poppy_deliveries set due_at = :until, attempts = attempts + 1
  where company = :company and id = :id and due_at = :seen and due_at <= :now returning id`
type Claimed = { readonly id: string; readonly seen: number; readonly now: number; readonly until: number }
const claim = statement<Claimed, { readonly id: string }>({ sqlite: claimText, postgres: claimText })

/** Claims a delivery for a time, the lease: of several that claim it at once, one has it. Until then it is due for nobody. */
export async function claimDelivery(
  scope: Scope,
  { delivery, now, until }: { readonly delivery: Delivery; readonly now: number; readonly until: number },
): Promise<boolean> {
  return (await claim(scope, { id: delivery.id, seen: delivery.due_at, now, until })).length > 0
}

// Whose lease is over has no say any more: another instance may be at it.
const putOffText = `update poppy_deliveries set due_at = :dueAt, last_try = :why
  where company = :company and id = :id and due_at = :lease`
type PutOff = { readonly id: string; readonly lease: number; readonly dueAt: number; readonly why: string }
const putOff = statement<PutOff, never>({ sqlite: putOffText, postgres: putOffText })

/** Has a delivery tried again later. `lease` is what it was claimed until. */
export async function putOffDelivery(scope: Scope, how: PutOff): Promise<void> {
  await putOff(scope, how)
}

const giveUpText = `update poppy_deliveries set due_at = null, given_up_at = :now, last_try = :why
  where company = :company and id = :id and due_at = :lease returning id`
type GivenUp = { readonly id: string; readonly lease: number; readonly now: number; readonly why: string }
const giveUp = statement<GivenUp, { readonly id: string }>({ sqlite: giveUpText, postgres: giveUpText })

/** Gives a delivery up: it is kept, and tried no more. */
export async function giveUpDelivery(scope: Scope, how: GivenUp): Promise<void> {
  await giveUp(scope, how)
}

const deleteText = 'delete from poppy_deliveries where company = :company and id = :id'
const remove = statement<{ readonly id: string }, never>({ sqlite: deleteText, postgres: deleteText })

/** Deletes a delivery that was taken. */
export async function deleteDelivery(scope: Scope, id: string): Promise<void> {
  await remove(scope, { id })
}

/** Gives up what is due since then for addresses that are none of these, and says how many. */
export async function giveUpOthers(
  { db, company }: Scope,
  { known, dueBefore, now }: { readonly known: readonly string[]; readonly dueBefore: number; readonly now: number },
): Promise<number> {
  const { numUpdatedRows } = await db.query
    .updateTable('poppy_deliveries')
    .set({ due_at: null, given_up_at: now })
    .where('company', '=', company)
    .where('due_at', '<=', dueBefore)
    .$if(known.length > 0, (query) => query.where('endpoint', 'not in', known))
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** How deliveries stand. */
export interface DeliveryBacklog {
  /** How many are still to be taken: due, or tried again later. */
  readonly waiting: number
  /** Since when the longest of them is due, in milliseconds since 1970; null where none is due. */
  readonly dueSince: number | null
  /** How many were given up, and are kept. */
  readonly givenUp: number
}

/** See {@link DeliveryBacklog}. */
export async function deliveryBacklog(
  { db, company }: Scope,
  { now }: { readonly now: number },
): Promise<DeliveryBacklog> {
  const waiting = await db.query
    .selectFrom('poppy_deliveries')
    .select((eb) => [eb.fn.countAll<number>().as('number'), eb.fn.min<number | null>('due_at').as('first')])
    .where('company', '=', company)
    .where('due_at', 'is not', null)
    .executeTakeFirstOrThrow()
  const givenUp = await db.query
    .selectFrom('poppy_deliveries')
    .select((eb) => eb.fn.countAll<number>().as('number'))
    .where('company', '=', company)
    .where('given_up_at', 'is not', null)
    .executeTakeFirstOrThrow()
  const first = waiting.first === null ? null : Number(waiting.first)
  return {
    waiting: Number(waiting.number),
    dueSince: first === null || first > now ? null : first,
    givenUp: Number(givenUp.number),
  }
}

import { randomUUID } from 'node:crypto'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Money that was taken and given back: what this service is there to remember, whatever else goes wrong. */

/** A charge, as the service tells it. */
export type Charge = {
  readonly id: string
  /** Cents. */
  readonly amount: number
  readonly currency: string
  /** What the shop calls it. */
  readonly reference: string
  readonly takenAt: number
  readonly refundedAt: number | null
}

/** What a shop asks for. */
export type ChargeRequest = Pick<Charge, 'amount' | 'currency' | 'reference'>

export type Ledger = {
  /** Takes money. With a key, only once for that key: the second time gives the first charge. */
  readonly charge: (request: ChargeRequest, key: string | null) => Charge | 'other_charge_with_this_key'
  readonly find: (id: string) => Charge | null
  readonly byReference: (reference: string) => readonly Charge[]
  /** Gives the money back, once. */
  readonly refund: (id: string) => Charge | null
  readonly close: () => void
}

const columns = 'id, amount, currency, reference, taken_at as takenAt, refunded_at as refundedAt'

/** Opens `directory/payments.db`. `now` in milliseconds. */
export function openLedger(directory: string, now: () => number): Ledger {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, 'payments.db')
  // SQLite gives its own files the mode of this one.
  closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path, { timeout: 5000 })
  database.exec(`
    pragma journal_mode = wal; pragma synchronous = full;
    create table if not exists charges (
      id text primary key, key text unique, amount integer not null, currency text not null, reference text not null,
      taken_at integer not null, refunded_at integer
    ) strict;
    create index if not exists charges_by_reference on charges (reference);
  `)
  const byKey = database.prepare(`select ${columns} from charges where key = ?`)
  const byId = database.prepare(`select ${columns} from charges where id = ?`)
  const byReference = database.prepare(`select ${columns} from charges where reference = ? order by taken_at, id`)
  const add = database.prepare(
    'insert into charges (id, key, amount, currency, reference, taken_at) values (?, ?, ?, ?, ?, ?) on conflict (key) do nothing',
  )
  const giveBack = database.prepare('update charges set refunded_at = ? where id = ? and refunded_at is null')
  const find = (id: string) => (byId.get(id) as Charge | undefined) ?? null
  return {
    charge(request, key) {
      const id = `chg_${randomUUID()}`
      const added = add.run(id, key, request.amount, request.currency, request.reference, now())
      if (Number(added.changes) === 1) return find(id) as Charge
      const known = byKey.get(key) as Charge
      const isSame = (['amount', 'currency', 'reference'] as const).every((name) => known[name] === request[name])
      return isSame ? known : 'other_charge_with_this_key'
    },
    find,
    byReference: (reference) => byReference.all(reference) as Charge[],
    refund(id) {
      giveBack.run(now(), id)
      return find(id)
    },
    close: () => database.close(),
  }
}

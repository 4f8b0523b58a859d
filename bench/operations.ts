/**
 * Confirmed operations a second, from the confirmation to the written outcome, with a `perform` that does nothing: beside the
 * durable commits of such an operation done alone, and with a million finished ones in the table beside none. The rounds of all
 * take turns, each in its database, so that a disk or a neighbour that has a bad minute has it for all of them.
 *
 * Alone means: the same rows written by hand, in the same three commits (confirmed, started, ended), in tables with the same
 * indexes, and nothing read, checked or built. The figure for commits of a single small row stands beside it.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { operation, succeeded } from 'poppyseed'
import { postgres } from 'poppyseed/postgres'
import { sqlite } from 'poppyseed/sqlite'
import { createChanges } from '../packages/company/dist/changes/changes.js'
import { createKeyedHash } from '../packages/company/dist/crypto/keyed-hash.js'
import { deriveKeyring } from '../packages/company/dist/crypto/keyring.js'
import { confirmByAgent } from '../packages/company/dist/operations/confirming.js'
import { createOperations } from '../packages/company/dist/operations/create-operations.js'
import { digestOf } from '../packages/company/dist/operations/digest.js'
import { insertOperation } from '../packages/company/dist/operations/store.js'
import { startPostgres } from '../test/setup/postgres-server.ts'
import { operationRow, revisionRow } from '../test/setup/rows.ts'
import { commitOnPostgres, commitOnSqlite, openPool } from './by-hand.ts'
import { inTurn, median, spread } from './figures.ts'

const company = 'https://bench.example'
/** What the product must reach of its durable commits done alone, and may take with a million finished operations. */
const leastOfCommits = 0.6
const mostWithMillion = 1.2

const rounds = 5
const perRound = 1500
const inFlight = 16
const finishedBefore = 1_000_000

const quiet = { debug() {}, info() {}, warn() {}, error: (fields: object, text: string) => console.error(text, fields) }

const nothing = operation({
  name: 'nothing',
  description: 'Does nothing.',
  scope: 'poppy:write',
  propose: () => ({ summary: 'Nothing.' }),
  perform: () => succeeded(),
})

const principal = {
  company,
  clientId: 'https://agent.example/agent.json',
  userId: 'user',
  sessionId: 'ses_bench',
  account: 'maya',
  scopes: ['poppy:read', 'poppy:write'],
  resource: null,
  grantId: 'grt_bench',
} as const

interface Place {
  readonly name: string
  readonly open: () => ReturnType<ReturnType<typeof sqlite>['open']>
  /** The commits of so many operations, by hand, as many at once as there are operations in flight. Gives operations a second. */
  readonly commitsAlone: (ids: readonly string[]) => Promise<number>
  /** Commits of one small row. Gives commits a second. */
  readonly smallCommits: (count: number) => Promise<number>
  readonly fill: (count: number) => Promise<void>
  readonly end: () => Promise<void>
}

/** A Company's operations on one database. */
interface Running {
  /** Proposes so many, and gives their ids. */
  readonly propose: (count: number) => Promise<readonly string[]>
  /** Confirms so many, and waits until each has its outcome. Gives operations a second. */
  readonly confirm: (count: number) => Promise<number>
  readonly end: () => Promise<void>
}

async function start(place: Place): Promise<Running> {
  const db = await place.open()
  const scope = { db, company }
  await db.query
    .insertInto('poppy_grants')
    .values({
      company,
      id: principal.grantId,
      client_id: principal.clientId,
      user_id: principal.userId,
      account: principal.account,
      scopes: principal.scopes.join(' '),
      sign_in: 'direct',
      token_hash: 'bench',
      created_at: now,
      last_used_at: now,
      expires_at: null,
      revoked_at: null,
    })
    .execute()
  // Other instances are told of each change, as a Company does.
  const changes = createChanges({ scope: async () => scope, log: quiet })
  const running = new Set<Promise<unknown>>()
  const operations = createOperations({
    askedHash: createKeyedHash(deriveKeyring(['bench'], 'asked')),
    operations: [nothing],
    changes,
    scope: async () => scope,
    now: Date.now,
    random: (length) => crypto.getRandomValues(new Uint8Array(length)),
    hasPage: false,
    pageOf: (id) => `${company}/${id}`,
    hooks: {},
    faults: null,
    log: quiet,
    givenUp: new AbortController().signal,
    track(work) {
      running.add(work)
      void work.finally(() => running.delete(work))
      return work
    },
  })

  async function confirm(count: number): Promise<number> {
    const ids = await propose(scope, count)
    const from = performance.now()
    await inTurn(ids.length, inFlight, (index) =>
      confirmByAgent(operations.parts, ids[index] as string, { revision: 1, approvedBy: 'user' }, principal),
    )
    while (running.size > 0) await Promise.allSettled(running)
    let left = 1
    while (left > 0) {
      left = (await operations.durable.sweep()).done
      while (running.size > 0) await Promise.allSettled(running)
    }
    const perSecond = (count / (performance.now() - from)) * 1000
    const states = await db.query
      .selectFrom('poppy_operations')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('company', '=', company)
      .where('state', '!=', 'succeeded')
      .executeTakeFirstOrThrow()
    if (Number(states.count) > 0) throw new Error(`${states.count} operations did not succeed`)
    return perSecond
  }

  return {
    propose: (count) => propose(scope, count),
    confirm,
    async end() {
      operations.durable.stop()
      changes.close()
      await db.close()
    },
  }
}

/** `place` holds nothing but what is measured, `full` a million finished ones beside it; their rounds take turns. */
async function measure(place: Place, full: Place): Promise<readonly string[]> {
  const [none, many] = [await start(place), await start(full)]
  await full.fill(finishedBefore)
  await none.confirm(perRound)
  await place.commitsAlone(await none.propose(perRound))
  await many.confirm(perRound)
  const alone: number[] = []
  const small: number[] = []
  const product: number[] = []
  const million: number[] = []
  for (let round = 0; round < rounds; round++) {
    small.push(await place.smallCommits(perRound))
    alone.push(await place.commitsAlone(await none.propose(perRound)))
    product.push(await none.confirm(perRound))
    million.push(await many.confirm(perRound))
  }
  await none.end()
  await many.end()

  const ofCommits = median(product) / median(alone)
  const slower = median(product) / median(million)
  const verdict = (good: boolean) => (good ? 'met' : 'MISSED')
  const { name } = place
  return [
    `operations on ${name}: ${spread(product)}/s confirmed and done, their commits alone ${spread(alone)}/s, commits of a small row ${spread(small)}/s`,
    `operations on ${name}: product/commits ${ofCommits.toFixed(2)}, at least ${leastOfCommits}: ${verdict(ofCommits >= leastOfCommits)}`,
    `operations on ${name}: with a million finished ${spread(million)}/s, ${slower.toFixed(2)} times as long, at most ${mostWithMillion}: ${verdict(slower <= mostWithMillion)}`,
  ]
}

async function propose(scope: Parameters<typeof insertOperation>[0], count: number): Promise<readonly string[]> {
  const ids: string[] = []
  await scope.db.transaction(async () => {
    for (let index = 0; index < count; index++) {
      const id = `opn_${crypto.randomUUID()}`
      const times = { created_at: now, expires_at: now + 3_600_000 }
      const revision = revisionRow({ operation_id: id, summary: 'Nothing.', ...times })
      await insertOperation(scope, {
        operation: operationRow({
          ...{
            id,
            name: 'nothing',
            client_id: principal.clientId,
            user_id: principal.userId,
            account: principal.account,
          },
          ...{ session_id: principal.sessionId, trail: 0, updated_at: now, ...times },
        }),
        revision: { ...revision, digest: digestOf(revision) },
        entry: { event: 'proposed', channel: 'http', who: { clientId: principal.clientId }, revision: 1 },
      })
      ids.push(id)
    }
  })
  return ids
}

function onSqlite(folder: string, title: string): Place {
  const file = join(folder, `${title}.db`)
  return {
    name: 'SQLite',
    open: () => sqlite(file).open({ now: Date.now, log: quiet }),
    async smallCommits(count) {
      const database = new DatabaseSync(join(folder, 'alone.db'))
      database.exec(
        'pragma journal_mode=wal; pragma synchronous=full; create table if not exists alone (id integer primary key, n integer not null)',
      )
      const add = database.prepare('insert or ignore into alone values (?, 0)')
      for (let id = 0; id < 1000; id++) add.run(id)
      const write = database.prepare('update alone set n = n + 1 where id = ?')
      const from = performance.now()
      for (let index = 0; index < count; index++) write.run(index % 1000)
      const perSecond = (count / (performance.now() - from)) * 1000
      database.close()
      return perSecond
    },
    commitsAlone: async (ids) => commitOnSqlite(file, { pragmas: 'pragma synchronous=full', steps: byHand('?1'), ids }),
    async fill(count) {
      const database = new DatabaseSync(file, { timeout: 60_000 })
      database.exec(
        filling(`(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n)`),
      )
      database.exec('pragma wal_checkpoint(truncate)')
      database.close()
    },
    end: async () => {},
  }
}

function onPostgres(url: string): Place {
  const pool = openPool(url, inFlight)
  return {
    name: 'PostgreSQL',
    open: () => postgres(url, { connections: inFlight }).open({ now: Date.now, log: quiet }),
    async smallCommits(count) {
      await pool.query('create table if not exists alone (id integer primary key, n integer not null)')
      await pool.query('insert into alone select i, 0 from generate_series(0, 999) i on conflict do nothing')
      const text = 'update alone set n = n + 1 where id = $1'
      return inTurn(count, inFlight, (index) => pool.query({ name: 'alone', text, values: [index % 1000] }))
    },
    commitsAlone: (ids) => commitOnPostgres(pool, { steps: byHand('$1::text'), ids }),
    async fill(count) {
      await pool.query(filling(`(select generate_series(1, ${count}) as i) as n`))
      // Nobody has had them in this very minute: the server's own work on them is over.
      await pool.query('vacuum analyze')
      await pool.query('checkpoint')
    },
    end: () => pool.end(),
  }
}

/** Makes another database on the server, and gives its URL. */
async function anotherDatabase(server: string): Promise<string> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  await client.query('create database million')
  await client.end()
  return new URL('/million', server).href
}

const now = Date.now()

/** What is written when an operation is confirmed, started and ended: the row, its trail, its work. */
function byHand(id: string): readonly (readonly string[])[] {
  const at = `company = '${company}' and id = ${id}`
  const note = (
    event: string,
    number: number,
  ) => `insert into poppy_trail (company, operation_id, number, event, at, revision,
    channel, who, detail) values ('${company}', ${id}, ${number}, '${event}', ${now}, 1, 'worker', '{}', null)`
  const work = `company = '${company}' and id = 'run:' || ${id}`
  return [
    [
      `update poppy_operations set state = 'in_progress', confirmed_revision = 1, approved_by = 'user', confirmed_at = ${now},
        confirmed_scopes = 'poppy:read poppy:write', expires_at = null, trail = 2, updated_at = ${now} where ${at}`,
      note('confirmed', 2),
      `insert into poppy_outbox (company, id, kind, operation_id, payload, due_at, attempts, created_at)
        values ('${company}', 'run:' || ${id}, 'perform', ${id}, null, ${now}, 0, ${now})`,
    ],
    [
      `update poppy_operations set turn = 1, started_at = ${now}, trail = 3, updated_at = ${now} where ${at}`,
      note('started', 3),
      `update poppy_outbox set kind = 'reconcile', due_at = ${now + 65_000} where ${work}`,
    ],
    [
      `update poppy_operations set state = 'succeeded', turn = 2, trail = 4, finished_at = ${now}, updated_at = ${now}
        where ${at}`,
      note('succeeded', 4),
      `delete from poppy_outbox where ${work}`,
    ],
  ]
}

/** Finished operations as the product leaves them, a row for each and one for its revision. */
function filling(numbers: string): string {
  return `insert into poppy_operations (company, id, name, client_id, user_id, account, session_id, identity, state, revision,
      expires_at, confirmed_revision, approved_by, confirmed_at, confirmed_scopes, turn, started_at, unknown_since,
      cancel_asked_at, trail, result, created_at, updated_at, finished_at)
    select '${company}', 'opn_old_' || i, 'nothing', '${principal.clientId}', 'user', 'guest ' || (i % 1000), 'ses', null,
      'succeeded', 1, null, 1, 'user', i, 'poppy:write', 2, i, null, null, 4, null, i, i, i from ${numbers};
    insert into poppy_revisions (company, operation_id, revision, summary, terms, input, data, approval, expires_at, digest,
      created_at)
    select '${company}', 'opn_old_' || i, 1, 'Nothing.', '{"nights":2}', '{}', null, 'user', i, 'digest', i from ${numbers};`
}

/** Measures both databases; PostgreSQL where one comes with the development dependencies. */
export async function measureOperations(): Promise<{ readonly text: string; readonly good: boolean }> {
  const lines: string[] = [`medians of ${rounds} rounds of ${perRound} operations, ${inFlight} at once`]
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-bench-operations-'))
  const server = await startPostgres({ durable: true })
  try {
    lines.push(...(await measure(onSqlite(folder, 'none'), onSqlite(folder, 'million'))))
    if ('missing' in server) lines.push(`operations on PostgreSQL: not measured, ${server.missing}`)
    else {
      const [none, million] = [onPostgres(server.url), onPostgres(await anotherDatabase(server.url))]
      try {
        lines.push(...(await measure(none, million)))
      } finally {
        await Promise.all([none.end(), million.end()])
      }
    }
  } finally {
    if ('stop' in server) await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return { text: lines.join('\n'), good: !lines.some((line) => line.includes('MISSED')) }
}

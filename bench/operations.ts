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
import { confirmByAgent } from '../packages/company/dist/operations/confirming.js'
import { createOperations } from '../packages/company/dist/operations/create-operations.js'
import { digestOf } from '../packages/company/dist/operations/digest.js'
import { insertOperation } from '../packages/company/dist/operations/store.js'
import { startPostgres } from '../test/setup/postgres-server.ts'

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
    let next = 0
    const one = async () => {
      for (let index = next++; index < ids.length; index = next++)
        await confirmByAgent(operations.parts, ids[index] as string, { revision: 1, approvedBy: 'user' }, principal)
    }
    await Promise.all(Array.from({ length: inFlight }, one))
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
      const fixed = {
        operation_id: id,
        revision: 1,
        summary: 'Nothing.',
        terms: '{"nights":2}',
        input: '{}',
        data: null,
        approval: 'user',
        expires_at: now + 3_600_000,
      } as const
      await insertOperation(scope, {
        operation: {
          id,
          name: 'nothing',
          client_id: principal.clientId,
          user_id: principal.userId,
          account: principal.account,
          session_id: principal.sessionId,
          identity: null,
          state: 'proposed',
          revision: 1,
          expires_at: fixed.expires_at,
          confirmed_revision: null,
          approved_by: null,
          confirmed_at: null,
          confirmed_scopes: null,
          turn: 0,
          started_at: null,
          unknown_since: null,
          cancel_asked_at: null,
          trail: 0,
          result: null,
          created_at: now,
          updated_at: now,
          finished_at: null,
          conversation_id: null,
        },
        revision: { ...fixed, digest: digestOf(fixed), created_at: now },
        entry: { event: 'proposed', channel: 'http', who: { clientId: principal.clientId }, revision: 1 },
      })
      ids.push(id)
    }
  })
  return ids
}

function median(figures: readonly number[]): number {
  return [...figures].sort((one, other) => one - other)[Math.floor(figures.length / 2)] ?? Number.NaN
}

/** The median, and from where to where they go. */
function spread(figures: readonly number[]): string {
  return `${median(figures).toFixed(0)} (${Math.min(...figures).toFixed(0)} to ${Math.max(...figures).toFixed(0)})`
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
    async commitsAlone(ids) {
      const database = new DatabaseSync(file, { timeout: 60_000 })
      database.exec('pragma synchronous=full')
      const [begin, commit] = [database.prepare('begin immediate'), database.prepare('commit')]
      const steps = byHand('?1').map((statements) => statements.map((text) => database.prepare(text)))
      const from = performance.now()
      for (const id of ids) {
        for (const statements of steps) {
          begin.run()
          for (const statement of statements) statement.run(id)
          commit.run()
        }
      }
      const perSecond = (ids.length / (performance.now() - from)) * 1000
      database.close()
      return perSecond
    },
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
  const pool = new pg.Pool({ connectionString: url, max: inFlight })
  return {
    name: 'PostgreSQL',
    open: () => postgres(url, { connections: inFlight }).open({ now: Date.now, log: quiet }),
    async smallCommits(count) {
      await pool.query('create table if not exists alone (id integer primary key, n integer not null)')
      await pool.query('insert into alone select i, 0 from generate_series(0, 999) i on conflict do nothing')
      const from = performance.now()
      let next = 0
      const one = async () => {
        for (let index = next++; index < count; index = next++)
          await pool.query({ name: 'alone', text: 'update alone set n = n + 1 where id = $1', values: [index % 1000] })
      }
      await Promise.all(Array.from({ length: inFlight }, one))
      return (count / (performance.now() - from)) * 1000
    },
    async commitsAlone(ids) {
      // One statement for each commit, as a hand would write it.
      const steps = byHand('$1::text').map(([first, ...rest], index) => ({
        name: `by_hand_${index}`,
        text: `with ${rest.map((text, part) => `part_${part} as (${text})`).join(', ')} ${first}`,
      }))
      const from = performance.now()
      let next = 0
      const one = async () => {
        for (let index = next++; index < ids.length; index = next++) {
          for (const step of steps) await pool.query({ ...step, values: [ids[index]] })
        }
      }
      await Promise.all(Array.from({ length: inFlight }, one))
      return (ids.length / (performance.now() - from)) * 1000
    },
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

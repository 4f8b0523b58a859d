/**
 * The lists of the staff inbox, on both databases: each with 10,000 open and 1,000,000 closed conversations beside the same one
 * with 100 and 100. Both take turns, page by page, and of each round the middle one counts, so that a neighbour that has a bad
 * moment has it for both; the pages are as long in both.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { createStaffReading } from '../packages/company/dist/conversations/staff-reading.js'
import { rowsOf } from '../packages/company/dist/inbox/make-rows.js'
import { listOperations } from '../packages/company/dist/operations/store.js'
import { idOfMany, insertMany, type Many } from '../test/setup/many-conversations.ts'
import { startPostgres } from '../test/setup/postgres-server.ts'
import { type Address, partsOf } from './conversations-parts.ts'
import { median, spread } from './figures.ts'

/** How much longer a list may take. */
const mostOfFew = 1.2

const rounds = 5
const perRound = 201
const page = 50
const newest = 1_750_000_000_000

/** A member of staff has a page of them in both; of all others there are a few, or very many. */
const few: Many = {
  waiting: 50,
  held: 50,
  staff: 1,
  open: 50,
  closed: 100,
  unsettled: 50,
  done: 50,
  sessions: 100_000,
  newest,
}
const many: Many = {
  ...{ waiting: 2500, held: 2500, staff: 50, open: 5000, closed: 1_000_000 },
  ...{ unsettled: 250, done: 100_000, sessions: 100_000, newest },
}

type Conversations = Parameters<typeof rowsOf>[1]
type Lists = Readonly<Record<string, () => Promise<unknown>>>

/** Writes so many, through a connection of its own: when that is closed, SQLite has all of it in its place. */
async function write(address: Address, how: Many): Promise<void> {
  const { parts, end } = await partsOf(address, 1)
  const scope = await parts.scope()
  if (scope.db.name === 'sqlite') await sql`pragma cache_size = -400000`.execute(scope.db.query)
  await insertMany(scope, how)
  await end()
}

/** Writes so many, and gives what reads each list. */
async function open(
  address: Address,
  how: Many,
): Promise<{ readonly lists: Lists; readonly end: () => Promise<void> }> {
  await write(address, how)
  const { parts, end } = await partsOf(address, 4)
  const scope = await parts.scope()
  const reading = createStaffReading(parts)
  const { list, counts, lastMessages } = reading
  const staff = 'staff-0'
  const middle = (how.closed ?? 0) / 2
  const after = `closed.${newest - middle * 1000 + 500}.${idOfMany('closed', middle)}`
  /** With all that stands in its rows: what was said last, who is signed in, whose agent listens, what it calls itself. */
  const drawn = (conversations: Conversations) => rowsOf({ ...parts, conversations: reading }, conversations)
  const whole = async (rows: Promise<{ readonly conversations: Conversations }>) => {
    const { conversations } = await rows
    if (conversations.length !== page) throw new Error(`a page of ${conversations.length}`)
    return conversations
  }
  const lists: Lists = {
    waiting: () => whole(list({ kind: 'waiting', limit: page })),
    mine: () => whole(list({ kind: 'mine', staff, limit: page })),
    open: () => whole(list({ kind: 'open', limit: page })),
    closed: () => whole(list({ kind: 'closed', limit: page })),
    'closed, in the middle': () => whole(list({ kind: 'closed', limit: page, after })),
    async settle() {
      const found = await listOperations(scope, { unsettled: true, limit: page })
      if (found.length !== page) throw new Error(`a page of ${found.length}`)
    },
    counts: () => counts(staff),
    async 'open, with its last messages'() {
      const ids = (await whole(list({ kind: 'open', limit: page }))).map(({ id }) => id)
      if ((await lastMessages(ids)).size !== page) throw new Error('a message is missing')
    },
    'waiting, as it is drawn': async () => drawn(await whole(list({ kind: 'waiting', limit: page }))),
    'open, as it is drawn': async () => drawn(await whole(list({ kind: 'open', limit: page }))),
    'closed, as it is drawn': async () => drawn(await whole(list({ kind: 'closed', limit: page }))),
  }
  return { lists, end }
}

/** One after the other, in turns. Gives the microseconds of the middle one of each. */
async function time(...each: readonly (() => Promise<unknown>)[]): Promise<readonly number[]> {
  const figures: readonly number[][] = each.map(() => [])
  for (let index = 0; index < perRound; index++) {
    for (const [at, one] of each.entries()) {
      const from = performance.now()
      await one()
      figures[at]?.push((performance.now() - from) * 1000)
    }
  }
  return figures.map(median)
}

async function measure(name: string, ofFew: Address, ofMany: Address): Promise<readonly string[]> {
  const from = performance.now()
  const [small, large] = [await open(ofFew, few), await open(ofMany, many)]
  const seconds = ((performance.now() - from) / 1000).toFixed(0)
  const lines = [`inbox on ${name}: ${many.closed} closed conversations with their messages written in ${seconds} s`]
  try {
    for (const [list, ofSmall] of Object.entries(small.lists)) {
      const ofLarge = large.lists[list] as () => Promise<unknown>
      const [short, long]: [number[], number[]] = [[], []]
      for (let round = -1; round < rounds; round++) {
        const [ofFew = Number.NaN, ofMany = Number.NaN] = await time(ofSmall, ofLarge)
        if (round < 0) continue
        short.push(ofFew)
        long.push(ofMany)
      }
      const ratio = median(long) / median(short)
      lines.push(
        `inbox on ${name}: ${list}: ${spread(long)} µs, with 100 ${spread(short)} µs: ${ratio.toFixed(2)}, at most ${mostOfFew}: ${ratio <= mostOfFew ? 'met' : 'MISSED'}`,
      )
    }
  } finally {
    await small.end()
    await large.end()
  }
  return lines
}

/** Two on one server, which has the same memory for both. */
async function twoDatabases(url: string): Promise<readonly [Address, Address]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const addresses = ['few', 'many'].map((name): Address => {
    const address = new URL(url)
    address.pathname = `/${name}`
    return { kind: 'postgres', url: address.href }
  })
  for (const name of ['few', 'many']) await client.query(`create database ${name}`)
  await client.end()
  return addresses as [Address, Address]
}

/** Measures both databases; PostgreSQL where one comes with the development dependencies. */
export async function measureInbox(): Promise<{ readonly text: string; readonly good: boolean }> {
  const lines: string[] = [`inbox: medians of ${rounds} rounds, in each the middle one of ${perRound} pages of ${page}`]
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-bench-inbox-'))
  const file = (name: string): Address => ({ kind: 'sqlite', file: join(folder, name) })
  try {
    lines.push(...(await measure('SQLite', file('few.db'), file('many.db'))))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const server = await startPostgres()
  try {
    if ('missing' in server) lines.push(`inbox on PostgreSQL: not measured, ${server.missing}`)
    else lines.push(...(await measure('PostgreSQL', ...(await twoDatabases(server.url)))))
  } finally {
    if ('stop' in server) await server.stop()
  }
  return { text: lines.join('\n'), good: !lines.some((one) => one.includes('MISSED')) }
}

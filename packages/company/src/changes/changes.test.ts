import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { conversationRow } from '../../../../test/setup/conversation-rows.ts'
import { freshSchema, postgresMissing } from '../../../../test/setup/postgres.ts'
import { silent, stores } from '../../../../test/setup/stores.ts'
import type { Database } from '../store/database.ts'
import { postgres } from '../store/postgres.ts'
import { sqlite } from '../store/sqlite.ts'
import { type Changes, createChanges, type Ear, type Piece } from './changes.ts'
import { packed } from './other-instances.ts'

/** Who waits is told: here, by other instances, and where nobody tells. Nothing here waits for time to pass. */

const company = 'https://miramar.example'

/** An instance's changes on a database. */
function instance(db: Database, its = company): Changes {
  const changes = createChanges({ scope: async () => ({ db, company: its }), log: silent })
  onTestFinished(changes.close)
  return changes
}

/** Somebody who waits, and what they were told. */
function somebody(changes: Changes, id: string, after?: number) {
  const pieces: Piece[] = []
  let next = Promise.withResolvers<void>()
  const ear: Ear = {
    ...(after === undefined ? {} : { after }),
    told: () => next.resolve(),
    heard: (piece) => void pieces.push(piece),
  }
  changes.listen(id, ear)
  return {
    pieces,
    /** Resolves once it is told, from the last time on. */
    async isTold() {
      await next.promise
      next = Promise.withResolvers()
    },
    leave: () => changes.leave(id, ear),
  }
}

describe('Who waits in one process', () => {
  it('is told of its own and of nothing else, until it leaves', async () => {
    const changes = createChanges()
    let told = 0
    const ear = { told: () => void told++ }
    changes.listen('cnv_1', ear)
    changes.changed('cnv_2')
    expect(told).toBe(0)
    changes.changed('cnv_1')
    expect(told).toBe(1)
    changes.leave('cnv_1', ear)
    changes.changed('cnv_1')
    changes.leave('cnv_1', ear)
    expect(told).toBe(1)
  })

  it('sends no text that is too long for a database, and loses no line', () => {
    const lines = Array.from({ length: 500 }, (_, number) => `cnv_${'x'.repeat(20)}${number}`)
    const texts = packed('sender', lines)
    expect(texts.length).toBeGreaterThan(3)
    for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThan(7900)
    expect(texts.flatMap((text) => text.split('\n').filter((line) => line !== 'sender'))).toEqual(lines)
    expect(packed('sender', [])).toEqual([])
  })
})

describe.each(stores)('Who waits on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  test('is told by another instance, and hears pieces before the message', async () => {
    const { open } = await fresh()
    const here = instance(await open())
    const there = instance(await open())
    const waits = somebody(here, 'cnv_1')
    // On PostgreSQL listening begins a moment later; until then a look finds what is new.
    await until(async () => {
      there.changed('cnv_1')
      return waits.isTold()
    })
    there.piece('cnv_1', { messageId: 'msg_1', from: 0, text: 'I can do that. {"not": "JSON"}\n' })
    there.piece('cnv_1', { messageId: 'msg_1', from: 32, text: 'Ünd möre.' })
    there.piece('cnv_1', { messageId: 'msg_1', from: 41, text: 'x'.repeat(2000) })
    there.changed('cnv_1')
    await waits.isTold()
    expect(waits.pieces).toEqual([
      { messageId: 'msg_1', from: 0, text: 'I can do that. {"not": "JSON"}\n' },
      { messageId: 'msg_1', from: 32, text: 'Ünd möre.' },
    ])
  })

  test('is told nothing of another Company, and nothing twice of what it did itself', async () => {
    const { open } = await fresh()
    const db = await open()
    const here = instance(db)
    const other = instance(await open(), 'https://other.example')
    const waits = somebody(here, 'cnv_1')
    const foreign = somebody(other, 'cnv_1')
    let told = 0
    other.listen('cnv_1', { told: () => void told++ })
    await until(async () => {
      here.changed('cnv_1')
      return waits.isTold()
    })
    await until(async () => {
      other.changed('cnv_1')
      return foreign.isTold()
    })
    told = 0
    here.changed('cnv_1')
    here.changed('cnv_9')
    other.changed('cnv_1')
    await foreign.isTold()
    expect(told).toBe(1)
  })
})

describe('Where nobody tells', () => {
  it('what another process wrote to the SQLite file is found', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'poppyseed-changes-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'poppy.db')
    const db = await sqlite(file).open({ now: () => 0, log: silent })
    onTestFinished(db.close)
    await db.query
      .insertInto('poppy_conversations')
      .values({ company, ...conversationRow({ id: 'cnv_1', last_event: 2 }) })
      .execute()
    const here = instance(db)
    const waits = somebody(here, 'cnv_1', 2)
    let told = 0
    here.listen('cnv_1', { after: 3, told: () => void told++ })
    await until(async () => {
      // Another connection, as another process has one.
      const other = new DatabaseSync(file)
      other.exec('update poppy_conversations set last_event = 3, version = version + 1')
      other.close()
      return waits.isTold()
    })
    expect(told).toBe(0)
  })
})

describe.skipIf(postgresMissing !== null)('On PostgreSQL', () => {
  async function schema() {
    const { url, drop } = await freshSchema()
    onTestFinished(drop)
    return url
  }

  it('a connection that is lost is made again, and nothing is missed meanwhile', async () => {
    const url = await schema()
    const name = `lost_${crypto.randomUUID().slice(0, 8)}`
    const mine = new URL(url)
    mine.searchParams.set('application_name', name)
    const pool = new pg.Pool({ connectionString: mine.href.replaceAll('+', '%20'), application_name: name })
    onTestFinished(() => pool.end())
    const db = await postgres({ pool }).open({ now: () => 0, log: silent })
    const others = await postgres(url).open({ now: () => 0, log: silent })
    onTestFinished(async () => {
      await db.close()
      await others.close()
    })
    const row = conversationRow({ id: 'cnv_1', last_event: 0 })
    await others.query
      .insertInto('poppy_conversations')
      .values({ company, ...row })
      .execute()
    const here = instance(db)
    const there = instance(others)
    const waits = somebody(here, 'cnv_1', 0)
    await until(async () => {
      there.changed('cnv_1')
      return waits.isTold()
    })
    const listening = async () =>
      (
        await others.run(
          `select pid from pg_stat_activity where application_name = $1 and query like 'listen %' or
          application_name = $1 and query like 'notify %'`,
          [name],
        )
      ).length
    expect(await listening()).toBe(1)
    await others.run(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and
        (query like 'listen %' or query like 'notify %')`,
      [name],
    )
    // Written while nobody listens, and told to nobody.
    await others.query
      .updateTable('poppy_conversations')
      .set({ last_event: 1 })
      .where('company', '=', company)
      .execute()
    await waits.isTold()
    await until(async () => {
      there.changed('cnv_1')
      return waits.isTold()
    })
  })

  it('where LISTEN hears nothing, as behind a pooler that hands connections around, a look finds what is new', async () => {
    const url = await schema()
    class Pooled extends pg.Client {
      override query(...asked: unknown[]): never {
        if (typeof asked[0] === 'string' && asked[0].startsWith('listen')) asked[0] = 'select 1'
        return (super.query as (...asked: unknown[]) => never)(...asked)
      }
    }
    const pool = new pg.Pool({ connectionString: url, Client: Pooled })
    onTestFinished(() => pool.end())
    const db = await postgres({ pool }).open({ now: () => 0, log: silent })
    onTestFinished(db.close)
    const row = conversationRow({ id: 'cnv_1', last_event: 0 })
    await db.query
      .insertInto('poppy_conversations')
      .values({ company, ...row })
      .execute()
    const waits = somebody(instance(db), 'cnv_1', 0)
    await db.query.updateTable('poppy_conversations').set({ last_event: 1 }).where('company', '=', company).execute()
    await waits.isTold()
  })
})

describe('Room to wait in', () => {
  it('is not all taken by one Personal Agent, however many Sessions it begins, and is there again', () => {
    const { enter } = createChanges()
    const greedy = 'https://greedy.example/agent.json'
    const taken = Array.from({ length: 3000 }, (_, at) => enter({ session: `s${at}`, client: greedy }) ?? [])
    const leave = taken.flat()
    expect(leave).toHaveLength(1000)
    const other = Array.from({ length: 9 }, () => enter({ session: 'other', client: 'https://other.example/a.json' }))
    expect(other.filter((one) => one !== null)).toHaveLength(8)
    leave[0]?.()
    expect(enter({ session: 'late', client: greedy })).not.toBeNull()
    expect(enter({ session: 'later', client: greedy })).toBeNull()
  })
})

/** Does something again and again until what it gives resolves: until then nobody may have been there to hear it. */
async function until(attempt: () => Promise<void>): Promise<void> {
  for (;;) {
    const isOver = await Promise.race([
      attempt().then(() => true),
      new Promise<false>((resolve) => setTimeout(() => resolve(false), 20)),
    ])
    if (isOver) return
  }
}

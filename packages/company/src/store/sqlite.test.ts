import { rmSync, statSync } from 'node:fs'
import { relative } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { days, minutes, now, sessionRow } from '../../../../test/setup/rows.ts'
import { type FreshStore, silent, stores } from '../../../../test/setup/stores.ts'
import { claimProof, insertSession, peekSession, readSession } from '../sessions/store.ts'
import { spendCode } from '../sign-in/store.ts'
import type { Database, Scope } from './database.ts'
import { sqlite } from './sqlite.ts'

const company = 'https://miramar.example'

async function freshFile(): Promise<FreshStore & { readonly path: string }> {
  const store = await stores[0]?.empty()
  if (store?.address.kind !== 'sqlite') throw new Error('SQLite is the first of the stores')
  return { ...store, path: store.address.path }
}

async function pragma(db: Database, text: string): Promise<unknown> {
  const { rows } = await sql.raw<Record<string, unknown>>(`pragma ${text}`).execute(db.query)
  return Object.values(rows[0] ?? {})[0]
}

describe('SQLite', () => {
  it('syncs each commit of the main file, and lets replay marks reach the disk later', async () => {
    const { open } = await freshFile()
    const db = await open()
    const full = 2
    const normal = 1
    expect(await pragma(db, 'main.synchronous')).toBe(full)
    expect(await pragma(db, 'replay.synchronous')).toBe(normal)
    expect(await pragma(db, 'main.journal_mode')).toBe('wal')
    expect(await pragma(db, 'replay.journal_mode')).toBe('wal')
    expect(await pragma(db, 'foreign_keys')).toBe(1)
    // The same connection inside a transaction, where all that matters is committed.
    expect(await db.transaction(() => pragma(db, 'main.synchronous'))).toBe(full)
    const attached = await sql<{ name: string }>`select name from replay.sqlite_master where type = 'table'`.execute(
      db.query,
    )
    expect(attached.rows.map(({ name }) => name)).toContain('poppy_proofs')
  })

  it('makes files that their owner alone can read', async () => {
    const { open, path } = await freshFile()
    const scope: Scope = { db: await open(), company }
    await claimProof(scope, { thumbprint: 'key', proofId: 'a', passesUntil: now })
    for (const suffix of ['', '-wal', '-shm', '-proofs', '-proofs-wal', '-proofs-shm']) {
      expect(statSync(path + suffix).mode & 0o777, suffix).toBe(0o600)
    }
  })

  it('says what is wrong with a path that can’t be opened', async () => {
    const open = (path: string) => sqlite(path).open({ now: () => now, log: silent })
    await expect(open('/no/such/folder/poppy.db')).rejects.toThrow(
      "The store's file /no/such/folder/poppy.db can't be opened: its folder is not there. Write sqlite('…') with another path, or mend this one.",
    )
    await expect(open('/')).rejects.toThrow(/it is a folder/)
  })

  it('takes the lock when a transaction begins, not when it first writes', async () => {
    const { open, path } = await freshFile()
    const db = await open()
    const other = new DatabaseSync(path, { timeout: 0 })
    onTestFinished(() => other.close())
    await db.transaction(async () => {
      expect(() => other.exec('begin immediate')).toThrow(/locked/)
    })
    other.exec('begin immediate; rollback')
  })

  it('commits what one turn writes together, and tells nobody before', async () => {
    const { open, path } = await freshFile()
    const scope = { db: await open(), company }
    const other = new DatabaseSync(path, { timeout: 0 })
    onTestFinished(() => other.close())
    const rows = () => other.prepare('select count(*) as count from poppy_sessions').get()?.count
    const told: string[] = []
    const start = (id: string) =>
      scope.db
        .transaction(() => insertSession(scope, sessionRow({ id })))
        .then(() => {
          told.push(`${id} of ${rows()}`)
        })
    const failed = scope.db.transaction(async () => {
      await insertSession(scope, sessionRow({ id: 'lost' }))
      throw new Error('no')
    })
    await Promise.all([start('a'), expect(failed).rejects.toThrow('no'), start('b'), start('c')])
    expect(told).toEqual(['a of 3', 'b of 3', 'c of 3'])
  })

  it('tells everybody of a turn when its commit fails, and goes on afterwards', async () => {
    const { open } = await freshFile()
    const scope = { db: await open(), company }
    // A constraint that is looked at when the transaction commits.
    await scope.db.run('create table parents (id text primary key)', [])
    await scope.db.run('create table children (parent text references parents (id) deferrable initially deferred)', [])
    const broken = scope.db.run('insert into children values (?)', ['nobody'])
    const beside = scope.db.transaction(() => insertSession(scope, sessionRow({ id: 'beside' })))
    await expect(broken).rejects.toThrow(/FOREIGN KEY/)
    await expect(beside).rejects.toThrow(/FOREIGN KEY/)
    expect(await peekSession(scope, 'beside')).toBeNull()
    await scope.db.transaction(() => insertSession(scope, sessionRow({ id: 'after' })))
    expect(await peekSession(scope, 'after')).toMatchObject({ id: 'after' })
  })

  it('tells everybody the truth when the disk is full, and goes on when it no longer is', async () => {
    const { open, path } = await freshFile()
    const scope = { db: await open(), company }
    const stored = () => {
      const other = new DatabaseSync(path)
      const rows = other.prepare('select id from poppy_sessions order by id').all()
      other.close()
      return rows.map(({ id }) => id)
    }
    const start = (id: string, size = 1) =>
      scope.db.transaction(async () => {
        await insertSession(scope, sessionRow({ id, user_id: 'u'.repeat(size) }))
        return id
      })
    const { pages } = (
      await sql<{ pages: number }>`select page_count as pages from pragma_page_count`.execute(scope.db.query)
    ).rows[0] ?? { pages: 0 }
    await sql.raw(`pragma max_page_count = ${pages + 2}`).execute(scope.db.query)
    // One that swallows the failure and goes on writes to nothing.
    const stubborn = scope.db.transaction(async () => {
      await insertSession(scope, sessionRow({ id: 'huge', user_id: 'u'.repeat(200_000) })).catch(() => {})
      await insertSession(scope, sessionRow({ id: 'stubborn' }))
    })
    const outcomes = await Promise.allSettled([
      start('before'),
      start('large', 200_000),
      start('beside'),
      stubborn,
      start('behind'),
      claimProof(scope, { thumbprint: 't', proofId: 'a', passesUntil: now }),
    ])
    expect(outcomes[1]).toMatchObject({ status: 'rejected', reason: { message: 'database or disk is full' } })
    expect(outcomes[3]).toMatchObject({ status: 'rejected' })
    // Kept is what was told to be kept, and nothing else.
    const told = outcomes.flatMap((one) =>
      one.status === 'fulfilled' && typeof one.value === 'string' ? [one.value] : [],
    )
    expect(stored()).toEqual([...told].sort())
    await sql.raw('pragma max_page_count = 1000000').execute(scope.db.query)
    expect(await start('after')).toBe('after')
    expect(stored()).toEqual([...told, 'after'].sort())
    await scope.db.close()
  })

  it('has one connection for all Companies of a process, until the last one closes', async () => {
    const { open, path, store } = await freshFile()
    const seen: string[] = []
    const first = await open()
    const second = await sqlite(relative(process.cwd(), path)).open({
      now: () => now,
      log: silent,
      onQuery: (text) => seen.push(text),
    })
    await Promise.all(
      [first, second].map((db) => db.transaction(() => spendCode({ db, company }, { codeHash: '', now }))),
    )
    await first.close()
    await insertSession({ db: second, company }, sessionRow())
    expect(seen.at(-1)).toMatch(/insert into poppy_sessions/)
    await second.close()
    const third = await store().open({ now: () => now, log: silent })
    expect(await readSession({ db: third, company }, { sessionId: 's', now, idle: days(1) })).not.toBeNull()
    await third.close()
  })

  it('works in memory', async () => {
    const db = await sqlite(':memory:').open({ now: () => now, log: silent })
    const scope: Scope = { db, company }
    expect(await claimProof(scope, { thumbprint: 'key', proofId: 'a', passesUntil: now })).toBe(true)
    expect(await claimProof(scope, { thumbprint: 'key', proofId: 'a', passesUntil: now })).toBe(false)
    await db.close()
  })

  it('says which folder is missing', async () => {
    const { path } = await freshFile()
    const nowhere = sqlite(`${path}/nowhere/poppy.db`)
    await expect(nowhere.open({ now: () => now, log: silent })).rejects.toThrow(/nowhere/)
  })
})

describe('SQLite in memory', () => {
  const open = async () => {
    const db = await sqlite(':memory:').open({ now: () => now, log: silent })
    onTestFinished(db.close)
    return db
  }
  const tablesOf = (db: Database) => db.run('select type, name, sql from sqlite_master order by name', [])

  it('begins with the tables of the first one and none of its rows, and nobody sees another’s', async () => {
    const first = await open()
    await insertSession({ db: first, company }, sessionRow({ id: 'first' }))
    const second = await open()
    expect(await peekSession({ db: second, company }, 'first')).toBeNull()
    await insertSession({ db: second, company }, sessionRow({ id: 'second' }))
    expect(await peekSession({ db: first, company }, 'second')).toBeNull()
    expect(await peekSession({ db: first, company }, 'first')).not.toBeNull()
    const third = await open()
    for (const id of ['first', 'second']) expect(await peekSession({ db: third, company }, id)).toBeNull()
    expect([first, second, third].map((db) => db.marksCompleteSince)).toEqual([0, 0, 0])
    expect(await third.health()).toEqual(await first.health())
  })

  it('has the tables that a new file has', async () => {
    const { open: openFile } = await freshFile()
    await open()
    const made = await tablesOf(await openFile())
    expect(made.length).toBeGreaterThan(50)
    expect(await tablesOf(await open())).toEqual(made)
  })

  it('is made of what was there before anybody could write, also where several open at once', async () => {
    const all = await Promise.all([open(), open(), open()])
    await Promise.all(all.map((db, index) => insertSession({ db, company }, sessionRow({ id: String(index) }))))
    const late = await open()
    for (const id of ['0', '1', '2']) expect(await peekSession({ db: late, company }, id)).toBeNull()
  })
})

describe('Replay marks in SQLite are complete', () => {
  async function startOf({ open }: FreshStore, at: number, machineRun: string): Promise<number> {
    const db = await open({ now: () => at }, { machineRun })
    await db.close()
    return db.marksCompleteSince
  }

  it('from the beginning, in a new database and after a crash of the process', async () => {
    const file = await freshFile()
    expect(await startOf(file, now, 'run 1')).toBe(0)
    expect(await startOf(file, now + minutes(1), 'run 1')).toBe(0)
  })

  it('from now on, when the machine was started anew or is another one, also for the starts after that', async () => {
    const file = await freshFile()
    await startOf(file, now, 'run 1')
    expect(await startOf(file, now + minutes(1), 'run 2')).toBe(now + minutes(1))
    expect(await startOf(file, now + minutes(2), 'run 2')).toBe(now + minutes(1))
    expect(await startOf(file, now + minutes(3), 'run 3')).toBe(now + minutes(3))
  })

  it('from now on, when their file was lost and the Sessions were not', async () => {
    const file = await freshFile()
    await startOf(file, now, 'run 1')
    for (const suffix of ['-proofs', '-proofs-wal', '-proofs-shm']) rmSync(file.path + suffix, { force: true })
    expect(await startOf(file, now + minutes(1), 'run 1')).toBe(now + minutes(1))
  })

  it('by themselves, without being told the run of the machine', async () => {
    const { open } = await freshFile()
    const first = await open({ now: () => now })
    await first.close()
    const second = await open({ now: () => now })
    expect([first.marksCompleteSince, second.marksCompleteSince]).toEqual([0, 0])
  })
})

import { describe, expect, it } from 'vitest'
import { codeRow, now, sessionRow } from '../../../../test/setup/rows.ts'
import { killHalfway, race, stores } from '../../../../test/setup/stores.ts'
import { claimIds, claimProof, insertSession, readSession } from '../sessions/store.ts'
import { findCode, insertCode, spendCode } from '../sign-in/store.ts'
import type { Scope } from './database.ts'
import { latestSchema } from './migrations.ts'

const company = 'https://miramar.example'
const rounds = process.env.LONG ? 10 : 1

describe.each(stores)('The store in $name', { timeout: 60_000 }, ({ name, missing, fresh, empty }) => {
  const test = it.skipIf(missing !== null)
  async function start(): Promise<Scope> {
    const { open } = await fresh()
    return { db: await open(), company }
  }
  const read = (scope: Scope, sessionId = 's') => readSession(scope, { sessionId, now, idle: 1e9 })

  test('a transaction that throws leaves nothing behind', async () => {
    const scope = await start()
    const failing = scope.db.transaction(async () => {
      await insertSession(scope, sessionRow())
      expect(await read(scope)).not.toBeNull()
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await read(scope)).toBeNull()
  })

  test('a query inside a transaction is part of it, whatever way it is asked', async () => {
    const scope = await start()
    const { db } = scope
    const failing = db.transaction(async () => {
      await db.query
        .insertInto('poppy_sessions')
        .values({ ...sessionRow({ id: 'built' }), company })
        .execute()
      await db.run(
        (name === 'sqlite' ? (sql: string) => sql : (sql: string) => sql.replace('?', '$1'))(
          `insert into poppy_codes (company, code_hash, client_id, redirect_uri, code_challenge, account, scopes,
          created_at, expires_at) values (?, 'written', '', '', '', '', '', 0, 0)`,
        ),
        [company],
      )
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await read(scope, 'built')).toBeNull()
    expect(await findCode(scope, 'written')).toBeNull()
  })

  test('a transaction inside a transaction joins it: both happen or neither', async () => {
    const scope = await start()
    const nested = (fails: boolean) =>
      scope.db.transaction(async () => {
        await scope.db.transaction(() => insertSession(scope, sessionRow()))
        if (fails) throw new Error('no')
      })
    await expect(nested(true)).rejects.toThrow('no')
    expect(await read(scope)).toBeNull()
    await nested(false)
    expect(await read(scope)).not.toBeNull()
  })

  test('what runs beside a transaction is not drawn into it', async () => {
    const scope = await start()
    const { promise: goOn, resolve: letGoOn } = Promise.withResolvers<void>()
    const failing = scope.db.transaction(async () => {
      await insertSession(scope, sessionRow({ id: 'inside' }))
      await goOn
      throw new Error('no')
    })
    const beside = insertSession(scope, sessionRow({ id: 'beside' }))
    const reading = read(scope, 'beside')
    letGoOn()
    await expect(failing).rejects.toThrow('no')
    await beside
    await reading
    expect(await read(scope, 'inside')).toBeNull()
    expect(await read(scope, 'beside')).not.toBeNull()
  })

  test('transactions at once on two instances all happen, in some order', async () => {
    const { open } = await fresh()
    const scopes: Scope[] = [
      { db: await open(), company },
      { db: await open(), company },
    ]
    const [first] = scopes as [Scope]
    await insertCode(first, codeRow())
    const spent = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const scope = scopes[index % 2] as Scope
        return scope.db.transaction(async () => {
          const got = await spendCode(scope, { codeHash: 'code', now })
          if (got) await insertSession(scope, sessionRow({ id: 'winner' }))
          return got
        })
      }),
    )
    expect(spent.filter(Boolean)).toHaveLength(1)
    expect(await read(first, 'winner')).not.toBeNull()
  })

  test('what was started and left running cannot write after its transaction', async () => {
    const scope = await start()
    let left: (() => Promise<void>) | undefined
    await scope.db.transaction(async () => {
      const { promise: later, resolve } = Promise.withResolvers<void>()
      const leftRunning = later.then(() => insertSession(scope, sessionRow()))
      leftRunning.catch(() => {})
      left = async () => {
        resolve()
        await leftRunning
      }
    })
    await expect(left?.()).rejects.toThrow()
    expect(await read(scope)).toBeNull()
  })

  test('a second start keeps what was written', async () => {
    const { open } = await fresh()
    const before = await open()
    await insertSession({ db: before, company }, sessionRow())
    expect(await before.health()).toEqual({ schema: latestSchema })
    await before.close()
    await before.close()
    const after = await open()
    expect(await read({ db: after, company })).not.toBeNull()
    expect(await after.health()).toEqual({ schema: latestSchema })
  })

  test('a database of a newer release is refused, with what to do, and left alone', async () => {
    const { open } = await fresh()
    const newer = await open()
    await newer.query
      .updateTable('poppy_schema')
      .set({ version: latestSchema + 1 })
      .execute()
    await newer.close()
    await expect(open()).rejects.toThrow(
      new RegExp(`schema ${latestSchema + 1}.*knows schemas up to ${latestSchema}.*Install the release that wrote it`),
    )
  })

  test('processes that start together migrate once', async () => {
    for (let round = 0; round < rounds; round++) {
      const { address } = await empty()
      const schemas = await race(address, 3, { work: 'open', company, now, keys: [] })
      expect(schemas).toEqual([latestSchema, latestSchema, latestSchema])
    }
  })

  test('what a process had claimed when it was killed stays claimed', async () => {
    for (const [work, claims] of [
      ['admit', 2000],
      ['ids', 300],
    ] as const) {
      const { address, open } = await fresh()
      const keys = Array.from({ length: claims }, (_, index) => `${work} ${index}`)
      const got = await killHalfway(address, { work, company, now, keys })
      expect(got.length).toBeGreaterThanOrEqual(claims / 2)
      const scope: Scope = { db: await open(), company }
      for (const key of got) {
        const isNew =
          work === 'admit'
            ? await claimProof(scope, { thumbprint: 't', proofId: key, passesUntil: now })
            : await claimIds(scope, [{ kind: 'client_assertion', owner: 'c', id: key, expiresAt: now }])
        if (isNew) expect.fail(`${key} was lost`)
      }
    }
  })

  test('a store that is closed refuses, and does not hang', async () => {
    const scope = await start()
    await scope.db.close()
    await expect(read(scope)).rejects.toThrow()
    await expect(scope.db.transaction(() => insertSession(scope, sessionRow()))).rejects.toThrow()
    await expect(scope.db.health()).rejects.toThrow()
  })

  test('two Companies in one database never see each other', async () => {
    const miramar = await start()
    const other: Scope = { ...miramar, company: 'https://other.example' }
    await insertSession(miramar, sessionRow({ user_id: 'of miramar' }))
    expect(await read(other)).toBeNull()
    await insertSession(other, sessionRow({ user_id: 'of the other' }))
    expect(await read(miramar)).toMatchObject({ userId: 'of miramar' })
    expect(await read(other)).toMatchObject({ userId: 'of the other' })
  })
})

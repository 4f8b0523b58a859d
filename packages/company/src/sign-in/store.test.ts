import { describe, expect, it } from 'vitest'
import { codeRow, now } from '../../../../test/setup/rows.ts'
import { race, stores } from '../../../../test/setup/stores.ts'
import type { Scope } from '../store/database.ts'
import { findCode, insertCode, noteGrantOfCode, spendCode } from './store.ts'

const company = 'https://miramar.example'

describe.each(stores)('Codes in $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  async function start(): Promise<Scope> {
    const { open } = await fresh()
    return { db: await open(), company }
  }

  test('a code is spent once, and remembered with what it gave [4.5.code-once]', async () => {
    const scope = await start()
    await insertCode(scope, codeRow({ code_hash: 'code' }))
    expect(await findCode(scope, 'code')).toEqual({ ...codeRow({ code_hash: 'code' }), company })
    expect(await spendCode(scope, { codeHash: 'code', now })).toBe(true)
    await noteGrantOfCode(scope, { codeHash: 'code', grantId: 'g' })
    expect(await spendCode(scope, { codeHash: 'code', now: now + 1 })).toBe(false)
    expect(await findCode(scope, 'code')).toMatchObject({ used_at: now, grant_id: 'g' })
    expect(await spendCode(scope, { codeHash: 'nowhere', now })).toBe(false)
    expect(await findCode(scope, 'nowhere')).toBeNull()
  })

  test('codes in two processes are each spent by one of them', async () => {
    const { address, open } = await fresh()
    const scope: Scope = { db: await open(), company }
    const keys = Array.from({ length: 30 }, (_, index) => `code ${index}`)
    for (const code_hash of keys) await insertCode(scope, codeRow({ code_hash }))
    const spent = (await race(address, 2, { work: 'spend', company, now, keys })) as boolean[][]
    expect(keys.map((_, index) => spent.filter((of) => of[index]).length)).toEqual(keys.map(() => 1))
  })

  test('a code whose exchange failed half-way is as it was', async () => {
    const scope = await start()
    await insertCode(scope, codeRow())
    const exchange = scope.db.transaction(async () => {
      await spendCode(scope, { codeHash: 'code', now })
      throw new Error('the Session was gone')
    })
    await expect(exchange).rejects.toThrow('the Session was gone')
    expect(await spendCode(scope, { codeHash: 'code', now })).toBe(true)
  })
})

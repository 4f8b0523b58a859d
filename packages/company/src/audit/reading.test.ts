import { describe, expect, it } from 'vitest'
import { explained } from '../../../../test/setup/plans.ts'
import { now } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import type { Scope } from '../store/database.ts'
import type { AuditTable } from '../store/tables.ts'
import { type AuditAsked, readAudit } from './reading.ts'

/** The record of who did what, as it is read. */

const company = 'https://miramar.example'

describe.each(stores)('The record of what staff did on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  async function begin(count: number) {
    const scope: Scope = { db: await (await fresh()).open(), company }
    const row = (number: number): AuditTable => ({
      company,
      id: `key/${number} ü`,
      // Several at the same moment.
      at: now + Math.floor(number / 3),
      staff_id: number % 2 === 0 ? 'rita' : 'omar',
      staff_name: number % 2 === 0 ? 'Rita' : 'Omar',
      act: 'replied',
      conversation_id: number % 5 === 0 ? null : `cnv_${number % 50}`,
      operation_id: number % 5 === 0 ? 'opn_1' : null,
      detail: number % 5 === 0 ? JSON.stringify({ number }) : null,
    })
    for (let from = 0; from < count; from += 500) {
      const numbers = Array.from({ length: Math.min(500, count - from) }, (_, at) => from + at)
      await scope.db.query.insertInto('poppy_audit').values(numbers.map(row)).execute()
    }
    await scope.db.query
      .insertInto('poppy_audit')
      .values({ ...row(0), company: 'https://other.example', staff_id: 'mallory' })
      .execute()
    async function whole(asked: AuditAsked) {
      const entries = []
      let after: string | null = null
      do {
        const page: Awaited<ReturnType<typeof readAudit>> = await readAudit(scope, {
          ...asked,
          ...(after === null ? {} : { after }),
        })
        entries.push(...page.entries)
        after = page.after
      } while (after !== null)
      return entries
    }
    return { scope, whole }
  }

  test('comes newest first, page by page, of one conversation, one operation, one person, or all', async () => {
    const { whole } = await begin(100)
    const all = await whole({ limit: 7 })
    expect(all).toHaveLength(100)
    expect(all.map(({ at }) => at)).toEqual(all.map(({ at }) => at).toSorted((one, other) => other - one))
    expect((await whole({ staff: 'rita', limit: 9 })).every(({ staff }) => staff.name === 'Rita')).toBe(true)
    expect(await whole({ staff: 'rita' })).toHaveLength(50)
    expect(await whole({ conversation: 'cnv_7', limit: 1 })).toHaveLength(2)
    const settled = await whole({ operation: 'opn_1', staff: 'omar', limit: 3 })
    expect(settled).toHaveLength(10)
    expect(settled[0]).toEqual({
      at: now + 31,
      staff: { id: 'omar', name: 'Omar' },
      act: 'replied',
      conversation: null,
      operation: 'opn_1',
      detail: { number: 95 },
    })
  })

  test('has nothing of another Company, and takes offence at what is no filter', async () => {
    const { scope, whole } = await begin(3)
    expect(await whole({ staff: 'mallory' })).toEqual([])
    for (const text of ['', 'a\0b', '\ud800', "' or 1=1 --"]) expect(await whole({ conversation: text })).toEqual([])
    for (const asked of [
      { limit: 0 },
      { limit: 201 },
      { staff: 5 },
      { after: '' },
      { after: '1.' },
      { after: '1.AA' },
      { after: 'x.y' },
    ])
      await expect(readAudit(scope, asked as AuditAsked)).rejects.toThrow(TypeError)
  })

  test('is read along its indexes', async () => {
    const { scope } = await begin(20_000)
    if (scope.db.name === 'postgres') await scope.db.run('analyze poppy_audit', [])
    const { db, plans } = explained(scope.db)
    for (const asked of [{}, { conversation: 'cnv_7' }, { operation: 'opn_1' }, { staff: 'rita' }]) {
      const { after } = await readAudit({ db, company }, { ...asked, limit: 5 })
      await readAudit({ db, company }, { ...asked, after: after as string, limit: 5 })
    }
    for (const plan of await plans())
      expect(plan).not.toMatch(/Seq Scan|^SCAN|TEMP B-TREE|(?<!Incremental )Sort(?! Key)/m)
  })
})

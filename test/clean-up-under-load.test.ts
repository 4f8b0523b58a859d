import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { stores } from './setup/stores.ts'
import { makeWorld } from './setup/world.ts'

/** What is over goes while the house is open: nobody waits for it. */

const backlog = 100_000

describe.each(stores)('a backlog of 100,000 rows in $name', { timeout: 120_000 }, ({ missing, fresh }) => {
  it.skipIf(missing)('is worked off piece by piece, and requests are answered between its bites', async () => {
    const { store, open } = await fresh()
    // Its clock stands still while it asks as often as it can: that isn't what the limits are for.
    const world = await makeWorld({ limits: false }, store())
    const db = await open()
    const { access_token } = await world.start()
    const numbers =
      db.name === 'sqlite'
        ? `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${backlog})`
        : `with n (i) as (select * from generate_series(1, ${backlog}))`
    for (const company of [world.origin, 'https://other.example'])
      await sql`${sql.raw(numbers)} insert into poppy_proofs (company, mark, expires_at)
        select ${company}, 'mark ' || i, 1 from n`.execute(db.query)
    const left = async (company: string) => {
      const row = await db.query
        .selectFrom('poppy_proofs')
        .select((eb) => eb.fn.countAll().as('count'))
        .where('company', '=', company)
        .where('expires_at', '=', 1)
        .executeTakeFirstOrThrow()
      return Number(row.count)
    }

    let isOver = false
    const pieces: number[] = []
    const cleaning = (async () => {
      for (;;) {
        const { cleanedUp, isDone } = await world.company.work()
        pieces.push(cleanedUp)
        if (isDone) break
      }
      isOver = true
    })()
    let answered = 0
    let longest = 0
    while (!isOver) {
      const started = performance.now()
      const answer = await world.agent.call('/poppy/tools/echo', access_token, { body: { text: 'hello' } })
      expect(answer.status).toBe(200)
      longest = Math.max(longest, performance.now() - started)
      answered += 1
    }
    await cleaning
    // Ten thousand rows a piece, in twenty bites; between any two bites somebody is answered.
    expect(pieces.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 10_000))
    expect(await left(world.origin)).toBe(0)
    expect(answered).toBeGreaterThan(50)
    expect(longest).toBeLessThan(5000)
    expect(await left('https://other.example')).toBe(backlog)
  })
})

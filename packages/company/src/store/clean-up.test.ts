import { describe, expect, it } from 'vitest'
import { agentRow, codeRow, days, grantRow, minutes, now, sessionRow } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { insertGrant } from '../accounts/store.ts'
import { claimIds, claimProof, insertSession, readSession, signInSession } from '../sessions/store.ts'
import { insertCode, spendCode } from '../sign-in/store.ts'
import { cleanUp } from './clean-up.ts'
import type { Scope } from './database.ts'

const company = 'https://miramar.example'

describe.each(stores)('Cleaning up in $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  async function start(): Promise<{ readonly scope: Scope; readonly seen: string[] }> {
    const { open } = await fresh()
    const seen: string[] = []
    const db = await open({ onQuery: (sql) => seen.push(sql) })
    return { scope: { db, company }, seen }
  }
  const clean = (scope: Scope, at: number, limit = 100) => cleanUp(scope, { now: at, limit })

  test('a mark stays for as long as its proof could pass, and five minutes for clocks that differ [K01]', async () => {
    const { scope } = await start()
    const proof = { thumbprint: 'key', proofId: 'a', passesUntil: now }
    const ids = [{ kind: 'client_assertion', owner: 'c', id: 'a', expiresAt: now }] as const
    await claimProof(scope, proof)
    await claimIds(scope, ids)
    expect(await clean(scope, now + minutes(5))).toBe(0)
    expect(await claimProof(scope, proof)).toBe(false)
    expect(await claimIds(scope, ids)).toBe(false)
    expect(await clean(scope, now + minutes(5) + 1)).toBe(2)
    expect(await claimProof(scope, proof)).toBe(true)
    expect(await claimIds(scope, ids)).toBe(true)
  })

  test('what is over goes after a day, and what is not stays', async () => {
    const { scope } = await start()
    await insertSession(scope, sessionRow({ id: 'runs' }))
    await insertSession(scope, sessionRow({ id: 'expired', expires_at: now }))
    await insertSession(scope, sessionRow({ id: 'ended', ended_at: now }))
    await insertGrant(scope, grantRow({ id: 'for good', expires_at: null }))
    await insertGrant(scope, grantRow({ id: 'expired', expires_at: now }))
    await insertGrant(scope, grantRow({ id: 'revoked', expires_at: null, revoked_at: now }))
    await insertCode(scope, codeRow({ code_hash: 'expired', expires_at: now }))
    expect(await clean(scope, now + days(1))).toBe(0)
    expect(await clean(scope, now + days(1) + 1)).toBe(5)
    const left = async (table: 'poppy_sessions' | 'poppy_grants') =>
      (await scope.db.query.selectFrom(table).select('id').execute()).map(({ id }) => id)
    expect(await left('poppy_sessions')).toEqual(['runs'])
    expect(await left('poppy_grants')).toEqual(['for good'])
    expect(await spendCode(scope, { codeHash: 'expired', now })).toBe(false)
  })

  test('a Session whose grant was cleaned away is signed out, and its old tokens stay so', async () => {
    const { scope } = await start()
    await insertSession(scope, sessionRow())
    await insertGrant(scope, grantRow({ expires_at: now + 1 }))
    await signInSession(scope, { sessionId: 's', account: 'ada', grantId: 'g', now })
    const later = now + days(2)
    await clean(scope, later)
    const read = () => readSession(scope, { sessionId: 's', now: later, idle: days(30) })
    expect(await read()).toMatchObject({ account: 'ada', grant: null, epoch: 0 })
    await insertGrant(scope, grantRow({ id: 'g2' }))
    await signInSession(scope, { sessionId: 's', account: 'ada', grantId: 'g2', now: later })
    expect(await read()).toMatchObject({ grantId: 'g2', epoch: 1 })
  })

  test('an agent is forgotten after ninety days away, unless somebody still lets it in', async () => {
    const { scope } = await start()
    const here = async () =>
      (await scope.db.query.selectFrom('poppy_agents').select('client_id').orderBy('client_id').execute()).map(
        ({ client_id }) => client_id,
      )
    await insertGrant(scope, grantRow({ client_id: 'https://kept.example/', expires_at: null }))
    await insertGrant(scope, grantRow({ id: 'g2', client_id: 'https://over.example/', expires_at: now + days(80) }))
    for (const host of ['gone', 'kept', 'over']) {
      const row = agentRow({ client_id: `https://${host}.example/` })
      await scope.db.query
        .insertInto('poppy_agents')
        .values({ ...row, company })
        .execute()
    }
    await scope.db.query
      .insertInto('poppy_agents')
      .values({ ...agentRow({ client_id: 'https://back.example/', last_seen_at: now + 1 }), company })
      .execute()
    await clean(scope, now + days(90))
    expect(await here()).toHaveLength(4)
    // The grant that ended goes first, then the agent that it had kept.
    await clean(scope, now + days(90) + 1)
    expect(await here()).toEqual(['https://back.example/', 'https://kept.example/'])
  })

  test('many rows go in bites, each a statement of its own', async () => {
    const { scope, seen } = await start()
    await scope.db.transaction(async () => {
      for (let index = 0; index < 25; index++) {
        await claimProof(scope, { thumbprint: 'key', proofId: `p${index}`, passesUntil: now })
      }
    })
    seen.length = 0
    expect(await clean(scope, now + days(2), 10)).toBe(25)
    expect(seen.filter((sql) => sql.includes('poppy_proofs'))).toHaveLength(3)
    expect(await clean(scope, now + days(2), 10)).toBe(0)
  })
})

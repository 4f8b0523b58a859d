import { describe, expect, it } from 'vitest'
import { codeRow, days, grantRow, minutes, now, sessionRow } from '../../../../test/setup/rows.ts'
import { race, stores } from '../../../../test/setup/stores.ts'
import { admitProof, insertSession, readSession, signInSession } from '../sessions/store.ts'
import { findCode, insertCode, spendCode } from '../sign-in/store.ts'
import type { Scope } from '../store/database.ts'
import { findGrantByToken, grantsOf, insertGrant, revokeGrant, revokeGrantsOf } from './store.ts'

const company = 'https://miramar.example'
const idle = days(30)

describe.each(stores)('Grants in $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  async function start(): Promise<Scope> {
    const { open } = await fresh()
    return { db: await open(), company }
  }
  const session = (scope: Scope, sessionId: string) => readSession(scope, { sessionId, now, idle })

  test('a grant is found by the hash of its Account Token, also when it has ended', async () => {
    const scope = await start()
    await insertGrant(scope, grantRow({ token_hash: 'hash', expires_at: null }))
    expect(await findGrantByToken(scope, 'hash')).toEqual({
      ...grantRow({ token_hash: 'hash', expires_at: null }),
      company,
    })
    await revokeGrant(scope, { grantId: 'g', now: now + 5 })
    expect(await findGrantByToken(scope, 'hash')).toMatchObject({ revoked_at: now + 5 })
    expect(await findGrantByToken(scope, 'another')).toBeNull()
  })

  test('two grants never have the same Account Token', async () => {
    const scope = await start()
    await insertGrant(scope, grantRow({ id: 'a', token_hash: 'hash' }))
    await expect(insertGrant(scope, grantRow({ id: 'b', token_hash: 'hash' }))).rejects.toThrow()
  })

  test('revoking a grant signs out the Sessions that it signed in, and no others [4.9.signs-out-sessions]', async () => {
    const scope = await start()
    await insertGrant(scope, grantRow({ id: 'old' }))
    await insertGrant(scope, grantRow({ id: 'new' }))
    await insertSession(scope, sessionRow({ id: 'stays', account: 'ada', grant_id: 'old', epoch: 3 }))
    await insertSession(scope, sessionRow({ id: 'moved', account: 'ada', grant_id: 'old' }))
    await signInSession(scope, { sessionId: 'moved', account: 'ada', grantId: 'new', now })
    expect(await revokeGrant(scope, { grantId: 'old', now: now + 1 })).toBe(true)
    expect(await session(scope, 'stays')).toMatchObject({ account: 'ada', grantId: null, grant: null, epoch: 4 })
    expect(await session(scope, 'moved')).toMatchObject({ grantId: 'new', epoch: 0 })
    expect(await revokeGrant(scope, { grantId: 'old', now: now + 2 })).toBe(false)
    expect(await session(scope, 'stays')).toMatchObject({ epoch: 4 })
    expect(await findGrantByToken(scope, 'hash of old')).toMatchObject({ revoked_at: now + 1 })
    expect(await revokeGrant(scope, { grantId: 'nowhere', now })).toBe(false)
  })

  test('instances that revoke the same grants sign each Session out once', async () => {
    const { address, open } = await fresh()
    const scope: Scope = { db: await open(), company }
    const keys = Array.from({ length: 20 }, (_, index) => `grant ${index}`)
    for (const id of keys) {
      await insertGrant(scope, grantRow({ id }))
      await insertSession(scope, sessionRow({ id, account: 'ada', grant_id: id }))
    }
    const revoked = (await race(address, 2, { work: 'revoke', company, now, keys })) as boolean[][]
    expect(keys.map((_, index) => revoked.filter((of) => of[index]).length)).toEqual(keys.map(() => 1))
    for (const id of keys) expect(await session(scope, id)).toMatchObject({ epoch: 1, grantId: null })
  })

  test('uses and revocations at the same moment never stop each other', async () => {
    const { open } = await fresh()
    const scopes: Scope[] = [
      { db: await open(), company },
      { db: await open(), company },
    ]
    const [scope] = scopes as [Scope]
    for (let round = 0; round < 30; round++) {
      const id = `round ${round}`
      await insertGrant(scope, grantRow({ id }))
      await insertSession(scope, sessionRow({ id, account: 'ada', grant_id: id }))
      const at = now + minutes(2)
      const use = (index: number) =>
        admitProof(scopes[index % 2] as Scope, {
          sessionId: id,
          thumbprint: 'key',
          proofId: `${id} ${index}`,
          passesUntil: at,
          now: at,
          idle,
        })
      const revoke = revokeGrant(scope, { grantId: id, now: at })
      await Promise.all([use(0), use(1), revoke, use(2), use(3)])
      expect(await session(scope, id)).toMatchObject({ grantId: null, epoch: 1 })
    }
  })

  test('a person sees what has access now, newest first', async () => {
    const scope = await start()
    await insertGrant(scope, grantRow({ id: 'first', created_at: now - 2, scopes: '', expires_at: null }))
    await insertGrant(scope, grantRow({ id: 'second', created_at: now - 1, sign_in: 'device' }))
    await insertGrant(scope, grantRow({ id: 'expired', expires_at: now }))
    await insertGrant(scope, grantRow({ id: 'revoked', revoked_at: now - 1 }))
    await insertGrant(scope, grantRow({ id: 'of another', account: 'bob' }))
    expect(await grantsOf(scope, { account: 'ada', now })).toEqual([
      {
        id: 'second',
        clientId: 'https://agent.example/client',
        userId: 'user',
        scopes: ['poppy:read', 'poppy:write'],
        signIn: 'device',
        createdAt: now - 1,
        lastUsedAt: now,
        expiresAt: now + days(30),
      },
      expect.objectContaining({ id: 'first', scopes: [], expiresAt: null }),
    ])
  })

  test('disconnecting an agent ends its access to the account, and leaves the others', async () => {
    const scope = await start()
    await insertGrant(scope, grantRow({ id: 'one', client_id: 'https://one.example' }))
    await insertGrant(scope, grantRow({ id: 'other', client_id: 'https://other.example' }))
    await insertSession(scope, sessionRow({ id: 'one', account: 'ada', grant_id: 'one' }))
    await insertSession(scope, sessionRow({ id: 'other', account: 'ada', grant_id: 'other' }))
    expect(await revokeGrantsOf(scope, { account: 'ada', clientId: 'https://one.example', now })).toBe(1)
    expect(await session(scope, 'one')).toMatchObject({ grantId: null, epoch: 1 })
    expect(await session(scope, 'other')).toMatchObject({ grantId: 'other', epoch: 0 })
    expect(await revokeGrantsOf(scope, { account: 'ada', now })).toBe(1)
    expect(await revokeGrantsOf(scope, { account: 'ada', now })).toBe(0)
    expect(await grantsOf(scope, { account: 'ada', now })).toEqual([])
  })

  test('revoking all takes the codes with it that were given and not exchanged', async () => {
    const scope = await start()
    await insertCode(scope, codeRow({ code_hash: 'unused' }))
    await insertCode(scope, codeRow({ code_hash: 'used', used_at: now - 1, grant_id: 'g' }))
    await insertCode(scope, codeRow({ code_hash: 'of bob', account: 'bob' }))
    await revokeGrantsOf(scope, { account: 'ada', now })
    expect(await spendCode(scope, { codeHash: 'unused', now })).toBe(false)
    expect(await findCode(scope, 'used')).toMatchObject({ used_at: now - 1, grant_id: 'g' })
    expect(await spendCode(scope, { codeHash: 'of bob', now })).toBe(true)
  })

  test('an account with more grants than one statement takes loses them all', async () => {
    const scope = await start()
    await scope.db.transaction(async () => {
      const many = Array.from({ length: 501 }, (_, index) => index)
      const grants = many.map((index) => ({ ...grantRow({ id: `g${index}` }), company }))
      const sessions = many.map((index) => ({
        ...sessionRow({ id: `s${index}`, account: 'ada', grant_id: `g${index}` }),
        company,
      }))
      await scope.db.query.insertInto('poppy_grants').values(grants).execute()
      await scope.db.query.insertInto('poppy_sessions').values(sessions).execute()
    })
    expect(await revokeGrantsOf(scope, { account: 'ada', now: now + minutes(1) })).toBe(501)
    const signedIn = await scope.db.query
      .selectFrom('poppy_sessions')
      .select('id')
      .where('grant_id', 'is not', null)
      .execute()
    expect(signedIn).toEqual([])
  })
})

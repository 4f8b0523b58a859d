import { describe, expect, it } from 'vitest'
import { days, grantRow, minutes, now, sessionRow } from '../../../../test/setup/rows.ts'
import { race, stores } from '../../../../test/setup/stores.ts'
import { insertGrant, revokeGrant } from '../accounts/store.ts'
import { blockAgent, unblockAgent } from '../agents/store.ts'
import type { Scope } from '../store/database.ts'
import {
  admitProof,
  claimIds,
  claimProof,
  endSession,
  insertSession,
  peekSession,
  readSession,
  signInSession,
} from './store.ts'

const company = 'https://miramar.example'
const idle = days(30)

const proof = (proofId: string, more: { readonly now?: number; readonly thumbprint?: string } = {}) => ({
  sessionId: 's',
  thumbprint: 'key',
  proofId,
  passesUntil: now + minutes(5),
  now,
  idle,
  ...more,
})

describe.each(stores)('Sessions in $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  async function start(): Promise<Scope> {
    const { open } = await fresh()
    return { db: await open(), company }
  }

  test('a proof is admitted once, with its Session as it is [4.3.jti-once]', async () => {
    const scope = await start()
    await insertSession(scope, sessionRow({ user_id: 'user-1' }))
    const first = await admitProof(scope, proof('a'))
    expect(first).toEqual({
      replayed: false,
      session: {
        id: 's',
        clientId: 'https://agent.example/client',
        userId: 'user-1',
        account: null,
        grantId: null,
        epoch: 0,
        createdAt: now,
        lastUsedAt: now,
        expiresAt: now + days(90),
        endedAt: null,
        grant: null,
        blockedAt: null,
      },
    })
    expect(await admitProof(scope, proof('a'))).toEqual({ replayed: true })
    expect((await admitProof(scope, proof('b'))).replayed).toBe(false)
    expect((await admitProof(scope, proof('a', { thumbprint: 'another key' }))).replayed).toBe(false)
  })

  test('a proof for a Session that is not there is spent all the same', async () => {
    const scope = await start()
    expect(await admitProof(scope, proof('a'))).toEqual({ replayed: false, session: null })
    expect(await admitProof(scope, proof('a'))).toEqual({ replayed: true })
  })

  test('a proof that was spent at the token endpoint is spent everywhere', async () => {
    const scope = await start()
    expect(await claimProof(scope, proof('a'))).toBe(true)
    expect(await claimProof(scope, proof('a'))).toBe(false)
    expect(await admitProof(scope, proof('a'))).toEqual({ replayed: true })
  })

  test('the same proof at two instances, one after the other and at once, is accepted by one [K02]', async () => {
    const { open } = await fresh()
    const one: Scope = { db: await open(), company }
    const other: Scope = { db: await open(), company }
    await insertSession(one, sessionRow())
    expect((await admitProof(one, proof('a'))).replayed).toBe(false)
    expect((await admitProof(other, proof('a'))).replayed).toBe(true)
    for (let round = 0; round < 20; round++) {
      const both = await Promise.all([one, other].map((scope) => admitProof(scope, proof(`at once ${round}`))))
      expect(both.map(({ replayed }) => replayed).sort()).toEqual([false, true])
    }
  })

  test('the same proofs in three processes are each accepted by one of them [K02]', async () => {
    const { address, open } = await fresh()
    await insertSession({ db: await open(), company }, sessionRow())
    const keys = Array.from({ length: 50 }, (_, index) => `proof ${index}`)
    const accepted = (await race(address, 3, { work: 'admit', company, now, keys })) as boolean[][]
    expect(keys.map((_, index) => accepted.filter((of) => of[index]).length)).toEqual(keys.map(() => 1))
  })

  test('a proof and its Session are one round trip', async () => {
    const { open } = await fresh()
    const seen: string[] = []
    const scope: Scope = { db: await open({ onQuery: (sql) => seen.push(sql) }), company }
    await insertSession(scope, sessionRow())
    seen.length = 0
    await admitProof(scope, proof('a'))
    await readSession(scope, { sessionId: 's', now, idle })
    expect(seen).toHaveLength(2)
  })

  test('last use is noted when the last note is a minute old, and tells what it was before', async () => {
    const scope = await start()
    await insertGrant(scope, grantRow())
    await insertSession(scope, sessionRow({ account: 'ada', grant_id: 'g' }))
    const usedAt = async (at: number) => (await readSession(scope, { sessionId: 's', now: at, idle }))?.lastUsedAt
    expect(await usedAt(now + minutes(1) - 1)).toBe(now)
    expect(await usedAt(now + minutes(1))).toBe(now)
    expect(await usedAt(now + minutes(1))).toBe(now + minutes(1))
    const grant = async () =>
      (await scope.db.query.selectFrom('poppy_grants').select('last_used_at').executeTakeFirstOrThrow()).last_used_at
    expect(await grant()).toBe(now + minutes(1))
    await admitProof(scope, proof('a', { now: now + minutes(3) }))
    expect(await usedAt(now + minutes(3))).toBe(now + minutes(3))
    expect(await grant()).toBe(now + minutes(3))
  })

  test('a short idle time, of any number of milliseconds, has its uses noted more often', async () => {
    const scope = await start()
    await insertSession(scope, sessionRow())
    const usedAt = async (at: number) => (await readSession(scope, { sessionId: 's', now: at, idle: 1234 }))?.lastUsedAt
    for (let at = now; at <= now + 1200; at += 200) await usedAt(at)
    expect(await usedAt(now + 1400)).toBe(now + 1200)
  })

  test('a Session that was idle for too long, has ended or expired, is not woken by being asked for', async () => {
    const scope = await start()
    await insertGrant(scope, grantRow({ expires_at: null }))
    await insertSession(scope, sessionRow({ id: 'idle', grant_id: 'g' }))
    await insertSession(scope, sessionRow({ id: 'ended', grant_id: 'g', ended_at: now + 1 }))
    await insertSession(scope, sessionRow({ id: 'expired', grant_id: 'g', expires_at: now + 1 }))
    const later = { idle: now + idle, ended: now + minutes(2), expired: now + minutes(2) }
    for (const [sessionId, at] of Object.entries(later)) {
      await admitProof(scope, { ...proof(sessionId), sessionId, now: at })
      expect(await readSession(scope, { sessionId, now: at, idle })).toMatchObject({ lastUsedAt: now })
    }
    const grant = await scope.db.query.selectFrom('poppy_grants').select('last_used_at').executeTakeFirstOrThrow()
    expect(grant.last_used_at).toBe(now)
  })

  test('ids are claimed together: one that was used before spoils the rest, which stay spent [4.2.jti-once]', async () => {
    const scope = await start()
    const id = (kind: 'client_assertion' | 'session_assertion', name: string) => ({
      kind,
      owner: 'https://agent.example/client',
      id: name,
      expiresAt: now + minutes(5),
    })
    expect(await claimIds(scope, [id('client_assertion', 'a'), id('session_assertion', 'a')])).toBe(true)
    expect(await claimIds(scope, [id('client_assertion', 'b'), id('session_assertion', 'a')])).toBe(false)
    expect(await claimIds(scope, [id('client_assertion', 'b')])).toBe(false)
    expect(await claimIds(scope, [id('session_assertion', 'b')])).toBe(true)
    expect(await claimIds(scope, [{ ...id('session_assertion', 'b'), owner: 'another' }])).toBe(true)
    expect(await claimIds(scope, [id('form' as never, 'c'), id('form' as never, 'c')])).toBe(false)
    expect(await claimIds(scope, [])).toBe(true)
    const kept = await scope.db.query.selectFrom('poppy_used_ids').select('id_hash').execute()
    expect(kept.every(({ id_hash }) => id_hash.length === 43)).toBe(true)
  })

  test('ids in two processes are each claimed by one of them', async () => {
    const { address, open } = await fresh()
    await open()
    const keys = Array.from({ length: 30 }, (_, index) => `assertion ${index}`)
    const claimed = (await race(address, 2, { work: 'ids', company, now, keys })) as boolean[][]
    expect(keys.map((_, index) => claimed.filter((of) => of[index]).length)).toEqual(keys.map(() => 1))
  })

  test('a Session that had an account never takes another, not even after sign-out [4.4.one-account]', async () => {
    const scope = await start()
    await insertSession(scope, sessionRow())
    await insertGrant(scope, grantRow())
    const signIn = (account: string, grantId: string) => signInSession(scope, { sessionId: 's', account, grantId, now })
    expect(await signIn('ada', 'g')).toBe('signed_in')
    expect(await signIn('bob', 'g2')).toBe('account_mismatch')
    await revokeGrant(scope, { grantId: 'g', now })
    expect(await signIn('bob', 'g2')).toBe('account_mismatch')
    await insertGrant(scope, grantRow({ id: 'g2' }))
    expect(await signIn('ada', 'g2')).toBe('signed_in')
  })

  test('instances that sign a Session in to different accounts: one of them does', async () => {
    const { address, open } = await fresh()
    const scope: Scope = { db: await open(), company }
    const keys = Array.from({ length: 20 }, (_, index) => `session ${index}`)
    for (const id of keys) await insertSession(scope, sessionRow({ id }))
    const signedIn = (await race(address, 2, { work: 'sign in', company, now, keys })) as boolean[][]
    expect(keys.map((_, index) => signedIn.filter((of) => of[index]).length)).toEqual(keys.map(() => 1))
  })

  test('a sign-in tells that the Session is gone: ended, expired, not there', async () => {
    const scope = await start()
    await insertSession(scope, sessionRow({ id: 'expired', expires_at: now }))
    await insertSession(scope, sessionRow({ id: 'ended' }))
    expect(await endSession(scope, { sessionId: 'ended', now })).toBe(true)
    expect(await endSession(scope, { sessionId: 'ended', now: now + 1 })).toBe(false)
    for (const sessionId of ['expired', 'ended', 'nowhere']) {
      expect(await signInSession(scope, { sessionId, account: 'ada', grantId: 'g', now })).toBe('gone')
    }
    expect(await readSession(scope, { sessionId: 'ended', now, idle })).toMatchObject({ endedAt: now, account: null })
  })

  test('a blocked agent’s Session is read with the block, and what it tries is no use of it', async () => {
    const scope = await start()
    await insertSession(scope, sessionRow({ account: 'ada', grant_id: 'g' }))
    await insertGrant(scope, grantRow())
    const later = now + minutes(5)
    const block = { clientId: 'https://agent.example/client', reason: null, now: later }
    await blockAgent(scope, block)
    await blockAgent({ ...scope, company: 'https://other.example' }, block)
    const admitted = await admitProof(scope, proof('a', { now: later }))
    expect(admitted).toMatchObject({ replayed: false, session: { blockedAt: later } })
    expect(await readSession(scope, { sessionId: 's', now: later, idle })).toMatchObject({ blockedAt: later })
    expect(await peekSession(scope, 's')).toMatchObject({
      blockedAt: later,
      lastUsedAt: now,
      grant: { lastUsedAt: now },
    })
    await unblockAgent(scope, block.clientId)
    await readSession(scope, { sessionId: 's', now: later, idle })
    expect(await peekSession(scope, 's')).toMatchObject({
      blockedAt: null,
      lastUsedAt: later,
      grant: { lastUsedAt: later },
    })
  })

  test('a sign-in after the last one ran out counts a sign-out; one that replaces a good one does not', async () => {
    const scope = await start()
    await insertSession(scope, sessionRow())
    const signIn = async (grantId: string, at = now) => {
      await signInSession(scope, { sessionId: 's', account: 'ada', grantId, now: at })
      return readSession(scope, { sessionId: 's', now: at, idle })
    }
    await insertGrant(scope, grantRow({ id: 'first', expires_at: null }))
    await insertGrant(scope, grantRow({ id: 'short', expires_at: now + minutes(10) }))
    await insertGrant(scope, grantRow({ id: 'last' }))
    expect(await signIn('first')).toMatchObject({ epoch: 0 })
    expect(await signIn('first')).toMatchObject({ epoch: 0 })
    expect(await signIn('short')).toMatchObject({
      epoch: 0,
      grantId: 'short',
      grant: { id: 'short', scopes: ['poppy:read', 'poppy:write'], expiresAt: now + minutes(10), revokedAt: null },
    })
    expect(await signIn('last', now + minutes(10))).toMatchObject({ epoch: 1, grantId: 'last' })
    // Cleaned up long after it ended, a grant is gone without a trace: that was a sign-out as well.
    await scope.db.query.deleteFrom('poppy_grants').where('id', '=', 'last').execute()
    expect(await readSession(scope, { sessionId: 's', now, idle })).toMatchObject({ grantId: 'last', grant: null })
    expect(await signIn('first', now + minutes(20))).toMatchObject({ epoch: 2 })
  })
})

import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { revokeGrant } from '../../packages/company/src/accounts/store.ts'
import { blockAgent, unblockAgent } from '../../packages/company/src/agents/store.ts'
import { admitProof, claimIds, signInSession } from '../../packages/company/src/sessions/store.ts'
import { spendCode } from '../../packages/company/src/sign-in/store.ts'
import type { Scope } from '../../packages/company/src/store/database.ts'
import { postgres } from '../../packages/company/src/store/postgres.ts'
import { sqlite } from '../../packages/company/src/store/sqlite.ts'

/** One instance among several: opens a database, waits for the signal, does its work, prints what it got, ends. */

export type StoreAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

/** `keys` are claimed one after the other; the result has an answer for each. */
export interface StoreTask {
  readonly work: 'open' | 'admit' | 'ids' | 'spend' | 'sign in' | 'revoke' | 'block' | 'unblock'
  readonly company: string
  readonly now: number
  readonly keys: readonly string[]
  /** Prints each key as soon as it got it, for whoever is about to kill this process. */
  readonly tell?: true
}

/** Whether this instance is the one that got it. */
const works: Record<
  Exclude<StoreTask['work'], 'open'>,
  (scope: Scope, key: string, now: number) => Promise<boolean>
> = {
  async admit(scope, key, now) {
    const proof = { sessionId: 's', thumbprint: 't', proofId: key, passesUntil: now + 60_000, now, idle: 1e9 }
    return !(await admitProof(scope, proof)).replayed
  },
  ids: (scope, key, now) =>
    scope.db.transaction(() =>
      claimIds(scope, [
        { kind: 'client_assertion', owner: 'c', id: key, expiresAt: now },
        { kind: 'session_assertion', owner: 'c', id: key, expiresAt: now },
      ]),
    ),
  spend: (scope, key, now) => spendCode(scope, { codeHash: key, now }),
  // Each instance signs the Session in to an account of its own, so only one can.
  'sign in': async (scope, key, now) =>
    (await signInSession(scope, { sessionId: key, account: `of ${process.pid}`, grantId: 'g', now })) === 'signed_in',
  revoke: (scope, key, now) => revokeGrant(scope, { grantId: key, now }),
  block: (scope, key, now) => blockAgent(scope, { clientId: key, reason: `by ${process.pid}`, now }),
  unblock: (scope, key) => unblockAgent(scope, key),
}

/** Out of this process before it can be killed. A reader that is busy leaves the pipe full for a while. */
function tell(line: string): void {
  for (;;) {
    try {
      writeSync(1, line)
      return
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
}

if (process.argv[2] !== undefined) {
  const { address, task } = JSON.parse(process.argv[2]) as { address: StoreAddress; task: StoreTask }
  const store = address.kind === 'sqlite' ? sqlite(address.path) : postgres(address.url)
  const ignore = () => {}
  const open = () =>
    store.open({ now: () => task.now, log: { debug: ignore, info: ignore, warn: ignore, error: ignore } })

  const opened = task.work === 'open' ? null : await open()
  console.log('ready')
  for await (const _ of createInterface({ input: process.stdin })) break
  const db = opened ?? (await open())
  const got: boolean[] = []
  if (task.work !== 'open') {
    const work = works[task.work]
    for (const key of task.keys) {
      const isOurs = await work({ db, company: task.company }, key, task.now)
      got.push(isOurs)
      if (task.tell && isOurs) tell(`${key}\n`)
    }
  }
  console.log(JSON.stringify(task.work === 'open' ? (await db.health()).schema : got))
  await db.close()
}

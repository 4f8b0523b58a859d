import { describe, expect, it } from 'vitest'
import { caller, message, receipt, startConversation } from '../../../../test/setup/conversation-parts.ts'
import { now, sessionRow } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { insertSession } from '../sessions/store.ts'
import type { Scope } from '../store/database.ts'
import { postgres } from '../store/postgres.ts'
import { standardTiming as timing } from './care.ts'
import { accepted } from './conversation.ts'
import { changeConversation } from './ledger.ts'
import type { ConversationRow } from './row.ts'

/** The same messages come for many conversations at two instances, in orders that cross: nobody waits for each other. */

const company = 'https://miramar.example'
const many = 60
const rounds = 6
/** Milliseconds after which PostgreSQL would look for a deadlock: whoever waits for each other waits longer than the test. */
const deadlockTimeout = 300_000

describe.each(stores.filter(({ name }) => name === 'postgres'))('Messages that cross, $name', ({ missing, fresh }) => {
  it.skipIf(missing !== null)(
    'are each accepted once, and no statement waits for one that waits for it',
    { timeout: 60_000 },
    async () => {
      const { address, open } = await fresh()
      if (address.kind !== 'postgres') throw new Error('this is about PostgreSQL')
      const url = new URL(address.url)
      const options = [url.searchParams.get('options'), `-c deadlock_timeout=${deadlockTimeout}`]
        .filter(Boolean)
        .join(' ')
      url.searchParams.set('options', options)
      const instances: Scope[] = []
      for (let at = 0; at < 2; at++) {
        const ignore = () => {}
        const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
        instances.push({ db: await postgres(url.href).open({ now: () => 0, log }), company })
      }
      const [here, there] = instances as [Scope, Scope]
      const first: Scope = { db: await open(), company }
      await insertSession(first, sessionRow())
      const begin = async (prefix: string) => {
        const rows: ConversationRow[] = []
        for (let n = 0; n < many; n++)
          rows.push(await startConversation(first, { id: `cnv_${prefix}_${String(n).padStart(3, '0')}` }))
        return rows
      }
      const accept = (scope: Scope, seen: ConversationRow, id: string) =>
        changeConversation(scope, {
          ...accepted(seen, { message: message({ id }), caller: caller(), now: now + 1 }),
          ...{ seen, timing, now: now + 1, receipt: receipt({ messageId: id, code: 202 }) },
        })
      for (let round = 0; round < rounds; round++) {
        const [mine, theirs] = [await begin(`a${round}`), await begin(`b${round}`)]
        const id = (n: number) => `msg_${round}_${String(n).padStart(3, '0')}`
        const [one, other] = await Promise.all([
          Promise.all(mine.map((row, n) => accept(here, row, id(n)))),
          Promise.all(theirs.map((row, n) => accept(there, row, id(many - 1 - n)))),
        ])
        const kept = (rows: readonly (ConversationRow | null)[]) => rows.filter((row) => row !== null).length
        expect(kept(one) + kept(other)).toBe(many)
      }
      for (const { db } of instances) await db.close()
    },
  )
})

import { describe, expect, it } from 'vitest'
import { askedHash } from '../../../../test/setup/asked-hash.ts'
import { grantRow, now } from '../../../../test/setup/rows.ts'
import { silent, stores } from '../../../../test/setup/stores.ts'
import { company, definition, id, proposed } from '../../../../test/setup/worked-operation.ts'
import { insertGrant } from '../accounts/store.ts'
import { createChanges } from '../changes/changes.ts'
import { confirmByAgent } from './confirming.ts'
import { createOperations } from './create-operations.ts'
import { findOperation } from './store.ts'

/** What is told of a confirmation. */

describe.each(stores)('Confirming in $name', ({ missing, fresh }) => {
  it.skipIf(missing)('tells the operation as it is stored, without reading it again', async () => {
    const scope = { db: await (await fresh()).open(), company }
    await insertGrant(scope, grantRow())
    await proposed(scope)
    const { parts } = createOperations({
      askedHash,
      operations: [definition()],
      scope: async () => scope,
      now: () => now + 1,
      random: (length) => new Uint8Array(length),
      hasPage: false,
      pageOf: (of) => `${company}/${of}`,
      changes: createChanges(),
      hooks: {},
      faults: null,
      log: silent,
      // The Company closes: nothing is begun any more, so that what is stored is what was confirmed.
      givenUp: AbortSignal.abort(),
      track: (work) => work,
    })
    const principal = {
      company,
      clientId: 'https://agent.example/client',
      userId: 'user',
      sessionId: 's',
      account: 'ada',
      scopes: ['poppy:read', 'poppy:write'],
      resource: null,
      grantId: 'g',
    } as const
    const confirmed = await confirmByAgent(parts, id, { revision: 1, approvedBy: 'user' }, principal)
    expect(confirmed.operation).toMatchObject({ state: 'in_progress', turn: 0, trail: 2, updated_at: now + 1 })
    expect(confirmed).toEqual(await findOperation(scope, id))
  })
})

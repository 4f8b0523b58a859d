import { describe, expect, it } from 'vitest'
import { oneConnection } from './setup/hostile-company.ts'
import { proposedTable } from './setup/proposals.ts'

// An answer of the Company may travel for long. What was heard meanwhile, by another call or another process with the same
// store, is newer, and no contradiction of the Company's.

/** A table that was proposed, and answers that can be held back on their way. */
async function withSlowAnswers() {
  const inner = oneConnection()
  const holds: { readonly method: string; readonly arrived: () => void; readonly gate: Promise<void> }[] = []
  const table = await proposedTable(
    {},
    {
      fetch: async (input, init) => {
        const answer = await inner(input, init)
        const hold = holds.find(({ method }) => (init?.method ?? 'GET') === method)
        if (hold === undefined || !/\/operations\/[^/]+(?:\/confirm)?$/.test(String(input))) return answer
        holds.splice(holds.indexOf(hold), 1)
        hold.arrived()
        await hold.gate
        return answer
      },
    },
  )
  return {
    ...table,
    /** Holds back the next answer to such a request; `there` once it has come. */
    hold(method: 'GET' | 'POST') {
      const { promise: gate, resolve: release } = Promise.withResolvers<void>()
      const { promise: there, resolve: arrived } = Promise.withResolvers<void>()
      holds.push({ method, arrived, gate })
      return { there, release }
    },
  }
}

describe('An answer that comes late', () => {
  it('from before somebody else confirmed is asked for anew, and neither asks the owner nor blames the Company', async () => {
    const { here, operation, yes, asked, book, hold } = await withSlowAnswers()
    const { there, release } = hold('GET')
    const late = here.operations.confirm(operation.id, { approve: yes })
    await there
    expect((await here.operations.confirm(operation.id, { approve: yes })).outcome).toBe('confirmed')
    release()
    expect((await late).outcome).toBe('confirmed')
    expect([asked.length, book().confirms, book().performed]).toEqual([1, 1, 1])
  })

  it('from before it was done, to who reads it or has confirmed it, is not an older state that came back', async () => {
    for (const method of ['GET', 'POST'] as const) {
      const { here, operation, yes, hold } = await withSlowAnswers()
      if (method === 'GET') await here.operations.confirm(operation.id, { approve: yes })
      const { there, release } = hold(method)
      const late =
        method === 'GET'
          ? here.operations.read(operation.id)
          : here.operations.confirm(operation.id, { approve: yes }).then((confirmed) => confirmed.operation)
      await there
      expect((await here.operations.wait(operation.id)).state).toBe('succeeded')
      release()
      expect(await late).toMatchObject({ state: 'succeeded', objection: undefined })
    }
  })
})

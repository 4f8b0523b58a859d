import type { StandingPermission } from '@poppyseed/agent'
import { describe, expect, it } from 'vitest'
import { agentErrorOf } from './setup/hostile-company.ts'
import { proposedTable } from './setup/proposals.ts'

// Standing permissions: rules that the owner gave. What they cover is confirmed without asking, and nothing else is.

const tables = (company: string, change: Partial<StandingPermission> = {}): StandingPermission => ({
  id: 'tables',
  company,
  account: 'default',
  action: 'book_table',
  terms: {
    table: { anything: true },
    date: { from: '2027-03-01', to: '2027-03-31' },
    guests: { atLeast: 1, atMost: 4 },
    fee: { currency: 'EUR', max: '20.00' },
  },
  ...change,
})

describe('a table that a rule of the owner’s covers', () => {
  it('is confirmed without asking, by standing permission [ops.standing-permission-agent]', async () => {
    const { here, operation, company, book, yes, asked } = await proposedTable()
    const result = await here.operations.confirm(operation.id, { permissions: [tables(company.origin)], approve: yes })
    expect([result.outcome, result.approvedBy, asked]).toEqual(['confirmed', 'standing_permission', []])
    expect([book().confirmed?.approvedBy, book().performed, company.findings]).toEqual(['standing_permission', 1, []])
  })

  it('is asked about where the Company says that the User must approve: beforehand, or in its refusal', async () => {
    for (const operationApproval of ['user_only', 'user_only_unsaid'] as const) {
      const { here, operation, company, book, yes, asked } = await proposedTable({ operationApproval })
      const result = await here.operations.confirm(operation.id, {
        permissions: [tables(company.origin)],
        approve: yes,
      })
      expect([result.outcome, result.approvedBy, book().confirmed?.approvedBy]).toEqual(['confirmed', 'user', 'user'])
      expect(asked.map(({ reason }) => reason)).toEqual([operationApproval === 'user_only' ? 'new' : 'insisted'])
      expect(company.findings).toEqual([])
    }
  })

  it('is asked about in one more term, in another revision, or without terms; without somebody to ask it waits', async () => {
    const { here, operation, company, book, yes, asked } = await proposedTable()
    const permissions = [tables(company.origin)]
    company.revise(operation.id, { ...operation.terms, deposit: { amount: '500.00', currency: 'EUR' } })
    const error = await agentErrorOf(here.operations.confirm(operation.id, { permissions }))
    expect([error.code, error.action, error.operation?.revision]).toEqual(['approval_required', 'ask_owner', 2])
    expect(book().confirms).toBe(0)
    await here.operations.confirm(operation.id, { permissions, approve: yes })
    expect(asked.length).toBe(1)

    const bare = await proposedTable({ operationTerms: 'missing' })
    await bare.here.operations.confirm(bare.operation.id, {
      permissions: [tables(bare.company.origin)],
      approve: bare.yes,
    })
    expect(bare.asked.length).toBe(1)
  })

  it('is asked about where the Company’s words say that nobody has to be [ops.company-text-agent]', async () => {
    const { here, operation, asked, no, book } = await proposedTable({ operationTerms: 'hostile' })
    expect(operation.summary).toMatch(/the owner approves this/)
    const result = await here.operations.confirm(operation.id, { approve: no })
    expect([result.outcome, asked.length, book().confirms]).toEqual(['declined', 1, 0])
    // A yes is a yes, and nothing that happens to be true.
    for (const answer of [{ approved: 'yes' }, { approved: 1 }, 'approved', null, undefined, {}]) {
      const other = await here.operations.confirm(operation.id, { approve: async () => answer as never })
      expect(other.outcome).toBe('declined')
    }
    expect(book().confirms).toBe(0)
  })

  it('whose tool isn’t known, or came of two, is asked about', async () => {
    const { here, operation, company, yes, asked } = await proposedTable()
    await here.operations.of(
      { operation: { operation_id: operation.id, revision: 1, state: 'proposed', summary: 'x' } },
      { action: 'another_tool' },
    )
    await here.operations.confirm(operation.id, { permissions: [tables(company.origin)], approve: yes })
    expect(asked.length).toBe(1)
  })

  it('holds for so many times, and so long', async () => {
    const { here, company, yes, asked, clock } = await proposedTable()
    const permissions = [tables(company.origin, { times: 2, expiresAt: clock.now + 1000 })]
    const outcomes: unknown[] = []
    for (let turn = 0; turn < 3; turn++) {
      const { operation } = await here.call('book_table', {})
      const result = await here.operations.confirm(operation?.id ?? '', { permissions, approve: yes })
      outcomes.push(result.approvedBy)
    }
    expect([outcomes, asked.length]).toEqual([['standing_permission', 'standing_permission', 'user'], 1])
    clock.now += 1000
    const { operation } = await here.call('book_table', {})
    const late = await here.operations.confirm(operation?.id ?? '', {
      permissions: [tables(company.origin, { id: 'late', expiresAt: clock.now })],
      approve: yes,
    })
    expect(late.approvedBy).toBe('user')
  })

  it('is one use, however often it is confirmed', async () => {
    const { here, operation, company } = await proposedTable()
    const permissions = [tables(company.origin, { times: 1 })]
    const all = await Promise.all(
      Array.from({ length: 5 }, () => here.operations.confirm(operation.id, { permissions })).map((one) =>
        one.catch((error: { code: string }) => error.code),
      ),
    )
    // Whoever came second found the use taken and nobody to ask, or the operation confirmed.
    const confirmed = all.filter((one) => typeof one !== 'string')
    expect(confirmed.length).toBeGreaterThan(0)
    expect(company.operations.map(({ performed, confirms }) => [performed, confirms])).toEqual([[1, 1]])
    expect((await here.operations.confirm(operation.id, { permissions })).outcome).toBe('confirmed')
  })

  it('whose uses are all taken doesn’t send a yes that the owner gave hours ago', async () => {
    const { here, session, signIn, operation, company, book, yes, asked, clock } = await proposedTable()
    const permissions = [tables(company.origin, { times: 1 })]
    const { operation: first } = await here.call('book_table', {})
    await here.operations.confirm(first?.id ?? '', { permissions })
    // The owner says yes, and it can't be sent: somebody has to sign in first.
    company.disconnect()
    company.next(1, { neverGrants: ['poppy:write'] }, 'authorize')
    await signIn(await session('another'), ['poppy:read'])
    const third = await session('third')
    const error = await agentErrorOf(third.operations.confirm(operation.id, { approve: yes }))
    expect([error.code, book().confirms]).toEqual(['insufficient_scope', 0])
    await signIn(third, ['poppy:read', 'poppy:write'])
    clock.now += 2 * 3600_000
    const later = await agentErrorOf(third.operations.confirm(operation.id, { permissions }))
    expect([later.code, book().confirms]).toEqual(['approval_required', 0])
    await third.operations.confirm(operation.id, { permissions, approve: yes })
    expect([asked.length, book().confirms, book().confirmed?.approvedBy]).toEqual([2, 1, 'user'])
  })
})

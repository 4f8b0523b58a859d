import { wellBehaved } from '@poppyseed/conformance'
import { describe, expect, it } from 'vitest'
import {
  agentErrorOf,
  endOf,
  type Faults,
  flipped,
  oneConnection,
  operationSwitches,
  using,
  visitHostileCompany,
} from './setup/hostile-company.ts'
import { proposedTable } from './setup/proposals.ts'

// The Personal Agent as it is published, at a Company that proposes: what the owner approves is confirmed, just that, once,
// and followed to its end, whatever the Company does.

const terms = { table: 'by the window', date: '2027-03-05', guests: 2, fee: { amount: '10.00', currency: 'EUR' } }

describe('a table that is proposed', () => {
  it('is shown, approved, confirmed for just that revision and followed to its end [ops.approve-revision-agent]', async () => {
    const { here, operation, asked, yes, book, company, sent, waits } = await proposedTable()
    expect(operation).toMatchObject({ revision: 1, state: 'proposed', summary: 'A table for two.', terms })
    expect(operation).toMatchObject({ action: 'book_table', account: 'default', isFinal: false, objection: undefined })
    const result = await here.operations.confirm(operation.id, { approve: yes })
    expect([result.outcome, result.approvedBy, result.operation.state]).toEqual(['confirmed', 'user', 'in_progress'])
    expect(asked.map(({ reason, operation: shown }) => [reason, shown.revision, shown.terms])).toEqual([
      ['new', 1, terms],
    ])
    const ended = await here.operations.wait(operation.id)
    expect([ended.state, ended.isFinal, ended.result]).toEqual(['succeeded', true, { done: true }])
    expect([book().performed, book().confirms, book().confirmed?.approvedBy]).toEqual([1, 1, 'user'])
    const at = `/operations/${operation.id}`
    expect(sent()).toEqual([`GET ${at} 200`, `POST ${at}/confirm 200`, `GET ${at} 200`])
    expect([company.findings, waits]).toEqual([[], []])
  })

  it('is recognised over MCP, in a tool’s result, in a message and in any answer’s body', async () => {
    const { here, company } = await proposedTable()
    const mcp = await here.mcp()
    const said = await mcp.call('book_table')
    await mcp.close()
    const byMcp = await here.operations.of(said)
    expect([byMcp?.id, byMcp?.action]).toEqual([company.operations[1]?.id, 'book_table'])
    const tool = (await here.tools()).find(({ name, via }) => name === 'book_table' && via === 'openapi')
    const byTool = await here.operations.of(await tool?.call({}))
    expect([byTool?.id, byTool?.action]).toEqual([company.operations[2]?.id, 'book_table'])
    const response = await here.fetch(`${company.origin}/api/tables`, { method: 'POST', body: '{}' })
    const message = { from: 'company', ...((await response.json()) as object) }
    const inMessage = await here.operations.of(message)
    expect([inMessage?.id, inMessage?.action]).toEqual([company.operations[3]?.id, undefined])
    for (const none of [
      null,
      7,
      'operation',
      {},
      { operation: {} },
      { id: 'a', revision: 1, status: 'proposed', summary: 's' },
    ])
      expect(await here.operations.of(none)).toBeUndefined()
    expect((await here.operations.list()).map(({ id }) => id).sort()).toEqual(
      company.operations.map(({ id }) => id).sort(),
    )
  })

  it.each(['bare', 'aliases'] as const)(
    'is understood when it is written %s [ops.envelope-agent]',
    async (operationForm) => {
      const { here, operation, yes, book } = await proposedTable({ operationForm })
      expect((await here.operations.confirm(operation.id, { approve: yes })).outcome).toBe('confirmed')
      expect((await here.operations.wait(operation.id)).state).toBe('succeeded')
      expect(book().performed).toBe(1)
    },
  )

  it('is declined, and nothing was sent; asked again it can be approved', async () => {
    const { here, operation, no, yes, book } = await proposedTable()
    const declined = await here.operations.confirm(operation.id, { approve: no })
    expect([declined.outcome, declined.approvedBy, book().confirms]).toEqual(['declined', undefined, 0])
    expect(await here.operations.resume({ approve: yes })).toEqual([])
    expect((await here.operations.confirm(operation.id, { approve: yes })).outcome).toBe('confirmed')
  })

  it('is cancelled, also when it is being done: then the state says what became of it', async () => {
    const first = await proposedTable()
    const cancelled = await first.here.operations.cancel(first.operation.id)
    expect([cancelled.state, cancelled.isFinal]).toEqual(['cancelled', true])
    expect((await first.here.operations.confirm(first.operation.id, { approve: first.yes })).outcome).toBe(
      'not_confirmed',
    )
    expect([first.asked, first.book().performed]).toEqual([[], 0])

    const late = await proposedTable()
    await late.here.operations.confirm(late.operation.id, { approve: late.yes })
    expect((await late.here.operations.cancel(late.operation.id)).state).toBe('in_progress')
  })

  it('belongs to the account: another Session of it reads and confirms it, and nobody asks about ids that are none', async () => {
    const { session, signIn, operation, yes, book, here } = await proposedTable()
    const other = await session('another')
    await signIn(other, ['poppy:write'])
    expect((await other.operations.confirm(operation.id, { approve: yes })).outcome).toBe('confirmed')
    expect((await here.operations.wait(operation.id)).state).toBe('succeeded')
    expect(book().confirms).toBe(1)
    expect(await endOf(here.operations.read('opn_unknown'))).toBe('operation_not_found')
    for (const id of ['', '../token', 'a/b', 'x'.repeat(300), 'ä'])
      expect(await endOf(here.operations.read(id))).toBe('invalid_input')
  })

  it('needs no wait of the Company: it is asked again, later each time, and not before it says [4.3.retry-after-agent]', async () => {
    const { here, operation, yes, waits } = await proposedTable({ operationEnd: 'never' })
    await here.operations.confirm(operation.id, { approve: yes })
    const unknown = await here.operations.wait(operation.id, { seconds: 60 })
    expect([unknown.state, unknown.isFinal]).toEqual(['in_progress', false])
    expect(waits.slice(0, 4)).toEqual([1000, 1500, 2250, 3375])
    expect(waits.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(60_000)

    const slow = await proposedTable({ operationEnd: 'never', operationRetryAfter: '20' })
    await slow.here.operations.confirm(slow.operation.id, { approve: slow.yes })
    await slow.here.operations.wait(slow.operation.id, { seconds: 60 })
    expect(slow.waits).toEqual([20_000, 20_000, 20_000])
  })

  it('is followed through a proxy’s pages, lost answers and limits, and until the signal says to stop', async () => {
    const { here, operation, yes, company } = await proposedTable()
    await here.operations.confirm(operation.id, { approve: yes })
    company.next(1, { gateway: 'html_502' }, 'operations')
    company.next(1, { delivery: 'lost' }, 'operations')
    company.next(1, using({ limit: { retryAfter: '7' } }), 'operations')
    expect((await here.operations.wait(operation.id)).state).toBe('succeeded')
    expect(company.findings).toEqual([])

    const stop = new AbortController()
    stop.abort(new Error('enough'))
    await expect(here.operations.wait(operation.id, { signal: stop.signal })).rejects.toThrow('enough')
  })

  it('that failed is told as failed, and one whose outcome nobody knows as in progress', async () => {
    const failed = await proposedTable({ operationEnd: 'fails' })
    await failed.here.operations.confirm(failed.operation.id, { approve: failed.yes })
    expect((await failed.here.operations.wait(failed.operation.id)).state).toBe('failed')

    const unknown = await proposedTable({ operationEnd: 'never' })
    await unknown.here.operations.confirm(unknown.operation.id, { approve: unknown.yes })
    expect((await unknown.here.operations.wait(unknown.operation.id, { seconds: 5 })).state).toBe('in_progress')
    // Confirmed again it isn't sent again.
    expect((await unknown.here.operations.confirm(unknown.operation.id, { approve: unknown.yes })).outcome).toBe(
      'confirmed',
    )
    expect([unknown.asked.length, unknown.book().confirms, unknown.book().performed]).toEqual([1, 1, 1])
  })
})

describe('a Company that offers no operations we speak', () => {
  it.each(['absent', 'version_2', 'number', 'plain_http', 'no_endpoint'] as const)(
    '(%s) proposes nothing that could be confirmed [ops.other-version-agent]',
    async (operations) => {
      const { session, signIn, company } = await visitHostileCompany(using({ operations }), { fetch: oneConnection() })
      const here = await session()
      await signIn(here, ['poppy:write'])
      const { status, operation } = await here.call('book_table', {})
      expect([status, operation]).toEqual([202, undefined])
      const id = company.operations[0]?.id ?? ''
      for (const work of [here.operations.read(id), here.operations.confirm(id, {}), here.operations.cancel(id)])
        expect(await endOf(work)).toBe('operations_unavailable')
      expect(company.requests.filter(({ route }) => route === 'operations')).toEqual([])
      expect(await here.operations.list()).toEqual([])
    },
  )

  it('and one with a resource of its own for them gets a token for it', async () => {
    const { session, signIn, company } = await visitHostileCompany(using({ operations: 'with_resource' }))
    const here = await session()
    await signIn(here, ['poppy:write'])
    const { operation } = await here.call('book_table', {})
    const approve = async () => ({ approved: true })
    expect((await here.operations.confirm(operation?.id ?? '', { approve })).outcome).toBe('confirmed')
    expect(company.findings).toEqual([])
  })
})

describe('terms that change', () => {
  const cheaper = { ...terms, fee: { amount: '5.00', currency: 'EUR' } }

  it('while the owner looks at them: the old revision is refused, the new one shown, and asked about [ops.newest-copy-agent]', async () => {
    const { here, operation, asked, yes, book, company } = await proposedTable()
    const result = await here.operations.confirm(operation.id, {
      approve: async (request) => {
        if (asked.length === 0) company.revise(operation.id, cheaper)
        return yes(request)
      },
    })
    expect(result).toMatchObject({ outcome: 'confirmed', operation: { revision: 2 } })
    expect(
      asked.map(({ reason, operation: { revision }, previous }) => [reason, revision, previous?.revision]),
    ).toEqual([
      ['new', 1, undefined],
      ['changed', 2, 1],
    ])
    expect([book().confirmed?.revision, book().performed, book().confirms]).toEqual([2, 1, 2])
    expect(company.findings).toEqual([])
  })

  it('before the owner looks: they see what the Company has now, and not what the tool said', async () => {
    const { here, operation, asked, yes, book, company } = await proposedTable()
    company.revise(operation.id, cheaper)
    await here.operations.confirm(operation.id, { approve: yes })
    expect(asked.map((one) => [one.operation.revision, one.operation.terms])).toEqual([[2, cheaper]])
    expect(book().confirms).toBe(1)
  })

  it('each time: the owner is asked five times and no more, and nothing is confirmed', async () => {
    const { here, operation, asked, yes, book, company } = await proposedTable({ operationConfirm: 'revises' })
    const error = await agentErrorOf(here.operations.confirm(operation.id, { approve: yes }))
    expect([error.code, error.action, asked.length]).toEqual(['terms_keep_changing', 'give_up', 5])
    expect([book().performed, company.findings]).toEqual([0, []])
  })
})

describe('an owner who has to do something first', () => {
  it('signs in, and the same revision is confirmed without asking again', async () => {
    const { session, signIn, company, operation, yes, asked, book } = await proposedTable()
    company.disconnect()
    const other = await session('another')
    const signedOut = await agentErrorOf(other.operations.confirm(operation.id, { approve: yes }))
    expect([signedOut.code, signedOut.action, asked]).toEqual(['sign_in_required', 'ask_owner', []])
    company.next(1, { neverGrants: ['poppy:write'] }, 'authorize')
    await signIn(other, ['poppy:read'])
    const third = await session('third')
    const refused = await agentErrorOf(third.operations.confirm(operation.id, { approve: yes }))
    expect([refused.code, refused.action, refused.scopes]).toEqual([
      'insufficient_scope',
      'ask_owner',
      ['poppy:read', 'poppy:write'],
    ])
    expect([asked.length, book().confirms]).toEqual([1, 0])
    await signIn(third, refused.scopes ?? [])
    expect((await third.operations.confirm(operation.id, { approve: yes })).outcome).toBe('confirmed')
    expect([asked.length, book().confirms]).toEqual([1, 1])
  })

  it('signs in, and is asked again when the terms have changed meanwhile, or an hour has passed', async () => {
    for (const meanwhile of ['revised', 'late'] as const) {
      const { session, signIn, company, operation, yes, asked, book, clock } = await proposedTable()
      company.disconnect()
      company.next(1, { neverGrants: ['poppy:write'] }, 'authorize')
      await signIn(await session('another'), ['poppy:read'])
      const here = await session('third')
      expect(await endOf(here.operations.confirm(operation.id, { approve: yes }))).toBe('insufficient_scope')
      await signIn(here, ['poppy:read', 'poppy:write'])
      if (meanwhile === 'revised') company.revise(operation.id, { ...terms, guests: 3 })
      else clock.now += 3601_000
      await here.operations.confirm(operation.id, { approve: yes })
      expect([asked.length, book().confirmed?.revision]).toEqual([2, meanwhile === 'revised' ? 2 : 1])
    }
  })

  it('goes to the Company’s own page, and it is followed from there', async () => {
    for (const operationPage of ['refuses', 'told'] as const) {
      const { here, operation, yes, asked, book, company } = await proposedTable({ operationPage })
      const opened: string[] = []
      const result = await here.operations.confirm(operation.id, {
        approve: yes,
        openPage: (url) => {
          opened.push(url)
          company.confirmOnPage(operation.id)
        },
      })
      expect(opened).toEqual([`${company.origin}/operations-page/${operation.id}`])
      expect([result.outcome, result.approvedBy, result.operation.state]).toEqual(['confirmed', undefined, 'succeeded'])
      expect([asked.length, book().performed]).toEqual([operationPage === 'told' ? 0 : 1, 1])

      const silent = await proposedTable({ operationPage })
      const error = await agentErrorOf(silent.here.operations.confirm(silent.operation.id, { approve: silent.yes }))
      expect([error.code, error.action, error.confirmationUrl]).toEqual([
        'company_confirmation_required',
        'ask_owner',
        `${silent.company.origin}/operations-page/${silent.operation.id}`,
      ])
    }
  })

  it('is never sent to a page that isn’t the Company’s', async () => {
    for (const operationPageAt of ['foreign', 'script'] as const) {
      const { here, operation, yes } = await proposedTable({ operationPage: 'refuses', operationPageAt })
      const opened: string[] = []
      const error = await agentErrorOf(
        here.operations.confirm(operation.id, { approve: yes, openPage: (url) => void opened.push(url) }),
      )
      expect([error.code, opened]).toEqual(['confirmation_refused', []])
      expect(JSON.stringify(error)).not.toMatch(/evil|javascript/)
    }
  })

  it('waits for the page a quarter of an hour at most', async () => {
    const { here, operation, clock } = await proposedTable({ operationPage: 'told' })
    const began = clock.now
    const result = await here.operations.confirm(operation.id, { openPage: () => {} })
    expect([result.outcome, result.operation.state]).toEqual(['not_confirmed', 'proposed'])
    expect(clock.now - began).toBeLessThanOrEqual(900_000)
  })
})

describe('a Company that does otherwise than was approved', () => {
  const stories: readonly (readonly [string, Faults, RegExp])[] = [
    [
      'it changes the terms of the revision',
      { operationConfirm: 'other_terms' },
      /says other things of revision 1 now/,
    ],
    ['it says another revision', { operationRecord: 'other_revision' }, /took revision 2 .* revision 1 was approved/],
    ['it says another word than the owner’s', { operationRecord: 'other_approval' }, /"the_company".*by yourself/],
  ]
  it.each(stories)('%s: it is said clearly, then and whenever one looks', async (_name, faults, words) => {
    const { here, operation, yes } = await proposedTable(faults)
    const error = await agentErrorOf(here.operations.confirm(operation.id, { approve: yes }))
    expect([error.code, error.action]).toEqual(['confirmed_otherwise', 'ask_owner'])
    expect(error.message).toMatch(words)
    expect(error.operation?.id).toBe(operation.id)
    expect((await here.operations.read(operation.id)).objection).toMatch(words)
    expect((await here.operations.wait(operation.id)).objection).toMatch(words)
  })

  it('it says nothing of what was confirmed: its revision and terms are what counts', async () => {
    const { here, operation, yes } = await proposedTable({ operationRecord: 'missing' })
    expect((await here.operations.confirm(operation.id, { approve: yes })).outcome).toBe('confirmed')
  })

  it('it answers as if it had taken the confirmation, and hasn’t', async () => {
    const { here, operation, yes, book } = await proposedTable({ operationConfirm: 'ignores' })
    const error = await agentErrorOf(here.operations.confirm(operation.id, { approve: yes }))
    expect([error.code, book().performed]).toEqual(['confirmation_refused', 0])
  })

  it('it goes back on an end: the first one counts, and the other is objected to', async () => {
    for (const operationEnd of ['flips_back', 'changes_its_mind'] as const) {
      const { here, operation, yes } = await proposedTable({ operationEnd })
      await here.operations.confirm(operation.id, { approve: yes })
      expect((await here.operations.wait(operation.id)).state).toBe('succeeded')
      expect((await here.operations.read(operation.id)).objection).toMatch(/said before that it was done, and now says/)
      expect((await here.operations.list())[0]?.state).toBe('succeeded')
    }
  })

  it('it answers with another operation than was asked for', async () => {
    const { here, operation, yes, company, asked, book } = await proposedTable()
    Object.assign(company.switches, using({ operationId: 'another' }))
    expect(await endOf(here.operations.read(operation.id))).toBe('bad_answer')
    expect(await endOf(here.operations.confirm(operation.id, { approve: yes }))).toBe('bad_answer')
    expect(await endOf(here.operations.wait(operation.id))).toBe('bad_answer')
    expect([asked, book().confirms]).toEqual([[], 0])
  })

  it.each(['html', 'not_json', 'empty', 'huge', 'endless', 'zip_bomb', 'cut', 'lost'] as const)(
    'its answer to the confirmation is %s: it is looked at before it is sent again, and done once',
    async (delivery) => {
      const { here, operation, yes, company, book, asked } = await proposedTable()
      await here.operations.read(operation.id)
      const result = await here.operations.confirm(operation.id, {
        approve: async (request) => {
          company.next(1, using({ delivery }), 'operations')
          return yes(request)
        },
      })
      expect([result.outcome, result.operation.state]).toEqual(['confirmed', 'succeeded'])
      expect([asked.length, book().confirms, book().performed]).toEqual([1, 1, 1])
    },
  )

  it('a proxy answers in its place: the confirmation, which never arrived, is sent again', async () => {
    const { here, operation, yes, company, book } = await proposedTable()
    const result = await here.operations.confirm(operation.id, {
      approve: async (request) => {
        company.next(1, using({ gateway: 'empty_503' }), 'operations')
        return yes(request)
      },
    })
    expect([result.outcome, book().confirms]).toEqual(['confirmed', 1])
  })
})

const said = (id: string, change: object) => ({
  operation: { operation_id: id, revision: 1, state: 'proposed', summary: 'A table for two.', ...change },
})

describe('what is said of an operation elsewhere than at its endpoint', () => {
  it('changes nothing of what was approved: it is followed at the endpoint', async () => {
    const { here, operation, yes } = await proposedTable({ operationEnd: 'never' })
    await here.operations.confirm(operation.id, { approve: yes })
    for (const state of ['succeeded', 'failed', 'proposed', 'expired'])
      await here.operations.of(said(operation.id, { state, revision: 9 }))
    expect((await here.operations.list())[0]).toMatchObject({ state: 'in_progress', step: 'confirmed', revision: 1 })
    const [resumed] = await here.operations.resume({ seconds: 1 })
    expect([resumed?.operation?.state, resumed?.operation?.objection]).toEqual(['in_progress', undefined])
  })

  it('is not what the owner is asked about', async () => {
    const { here, operation, yes, asked, book } = await proposedTable()
    await here.operations.of(said(operation.id, { summary: 'Free of charge.', terms: { fee: 'none' } }))
    await here.operations.confirm(operation.id, { approve: yes })
    expect(asked.map(({ reason, operation: shown }) => [reason, shown.terms])).toEqual([['changed', terms]])
    expect(book().performed).toBe(1)
  })

  it('is forgotten in time, and what is under way is not', async () => {
    const { here, operation, yes, clock, company } = await proposedTable({ operationEnd: 'never' })
    await here.operations.confirm(operation.id, { approve: yes })
    await here.operations.of(said('opn_left_lying', {}))
    clock.now += 8 * 24 * 3600_000
    await here.operations.of(said('opn_new', {}))
    expect((await here.operations.list()).map(({ id }) => id)).toEqual(['opn_new', operation.id])
    for (let at = 0; at < 220; at++) await here.operations.of(said(`opn_${at}`, {}))
    const kept = (await here.operations.list()).map(({ id }) => id)
    expect(kept.length).toBeLessThanOrEqual(200)
    expect(kept).toContain(operation.id)
    expect(company.findings).toEqual([])
  })
})

describe('an operation that the Company no longer knows', () => {
  const forgets = (company: Awaited<ReturnType<typeof proposedTable>>['company'], times = 1) =>
    company.next(times, { refuse: 'operation_not_found' }, 'operations')

  it('and that was confirmed may have been done, which is said; it isn’t under way for ever', async () => {
    const { here, operation, yes, company, clock, asked } = await proposedTable({ operationEnd: 'never' })
    await here.operations.confirm(operation.id, { approve: yes })
    for (const ask of [here.operations.read, here.operations.wait, here.operations.cancel]) {
      forgets(company)
      const error = await agentErrorOf(ask(operation.id))
      expect([error.code, error.action, error.message]).toEqual([
        'operation_not_found',
        'ask_owner',
        expect.stringMatching(
          /knows no such operation of yours\. It had taken your confirmation, so it may have been done/,
        ),
      ])
    }
    expect(await here.operations.list()).toMatchObject([{ isUnknown: true, state: 'in_progress', step: 'confirmed' }])
    // It is asked about for a week, and then no more; nobody approves it twice meanwhile.
    forgets(company)
    expect(await here.operations.resume({ approve: yes, seconds: 1 })).toMatchObject([
      { operation: undefined, error: { code: 'operation_not_found', action: 'ask_owner' } },
    ])
    clock.now += 8 * 24 * 3600_000
    expect(await here.operations.resume({ approve: yes, seconds: 1 })).toEqual([])
    await here.operations.of(said('opn_new', {}))
    expect((await here.operations.list()).map(({ id }) => id)).toEqual(['opn_new'])
    expect([asked.length, company.findings]).toEqual([1, []])
  })

  it('and that it knows again is followed as before', async () => {
    const { here, operation, yes, company, asked, book } = await proposedTable()
    await here.operations.confirm(operation.id, { approve: yes })
    forgets(company)
    await agentErrorOf(here.operations.read(operation.id))
    const resumed = await here.operations.resume({ approve: yes })
    expect(resumed.map((one) => [one.operation?.state, one.error])).toEqual([['succeeded', undefined]])
    expect(await here.operations.list()).toMatchObject([{ isUnknown: false, state: 'succeeded' }])
    expect([asked.length, book().confirms]).toEqual([1, 1])
  })

  it('and that was approved, while it isn’t known whether that arrived, may have been done too', async () => {
    let between = () => {}
    const { here, operation, company, book } = await proposedTable({}, { wait: async () => between() })
    between = () => forgets(company)
    const approve = async () => {
      company.next(1, { delivery: 'lost' }, 'operations')
      return { approved: true }
    }
    const error = await agentErrorOf(here.operations.confirm(operation.id, { approve }))
    expect(error.message).toMatch(/You have approved it, so it may have been done all the same/)
    expect([book().performed, (await here.operations.list())[0]?.step]).toEqual([1, 'approved'])
  })

  it('and that nobody approved is just not known', async () => {
    const { here, operation, no, company } = await proposedTable()
    forgets(company)
    const unseen = await agentErrorOf(here.operations.read(operation.id))
    expect([unseen.action, unseen.message]).toEqual(['give_up', expect.stringMatching(/no such operation of yours\.$/)])
    await here.operations.confirm(operation.id, { approve: no })
    forgets(company)
    expect((await agentErrorOf(here.operations.read(operation.id))).action).toBe('give_up')
    expect(await here.operations.resume({ approve: no })).toEqual([])
  })
})

describe('a program that calls the endpoint by another way', () => {
  it('is told to ask the owner: neither a listed operation nor session.fetch confirms or cancels [ops.approve-revision-agent]', async () => {
    const { here, operation, company, book } = await proposedTable()
    const at = `${company.origin}/operations/${operation.id}`
    const body = JSON.stringify({ revision: 1, approved_by: 'user' })
    for (const address of [
      `${at}/confirm`,
      `${at}/cancel`,
      `${at}/%63onfirm`,
      `${company.origin}//operations/${operation.id}/confirm`,
      `${company.origin}/api/../%6fperations/${operation.id}/confirm?x=1`,
    ])
      expect([address, await endOf(here.fetch(address, { method: 'POST', body }))]).toEqual([
        address,
        'approval_required',
      ])
    expect(book().confirms).toBe(0)
    expect((await here.fetch(at)).status).toBe(200)
  })
})

describe('words and terms of a Company', () => {
  it('that are tricks of a terminal or hide: nothing of them is left, and no term is lost', async () => {
    const { here, operation, asked, yes } = await proposedTable({ operationTerms: 'hostile' })
    const hidden = /[^\P{Cc}\n\t]|[\u200b-\u200f\u202a-\u202e\u2066-\u2069]/u
    expect(`${operation.summary}${Object.keys(operation.terms ?? {}).join('')}`).not.toMatch(hidden)
    expect(Object.keys(operation.terms ?? {})).toHaveLength(5)
    await here.operations.confirm(operation.id, { approve: yes })
    const [request] = asked
    const texts: string[] = []
    JSON.stringify(request?.operation, (name, value: unknown) => {
      texts.push(name, ...(typeof value === 'string' ? [value] : []))
      return value
    })
    expect(texts.filter((text) => hidden.test(text))).toEqual([])
  })

  it.each(['huge', 'deep', 'hidden'] as const)(
    'that nobody could be shown whole (%s) are never asked about and never confirmed',
    async (operationTerms) => {
      const { here, operation, asked, yes, company, book } = await proposedTable()
      Object.assign(company.switches, using({ operationTerms }))
      expect(await endOf(here.operations.confirm(operation.id, { approve: yes }))).toBe('bad_answer')
      expect([asked, book().confirms]).toEqual([[], 0])
      expect((await here.call('book_table', {})).operation).toBeUndefined()
    },
  )
})

it('every way to misbehave with operations has its story', () => {
  const elsewhere = ['operationApproval']
  expect(operationSwitches.filter((name) => !flipped.has(name) && !elsewhere.includes(name))).toEqual([])
  expect(operationSwitches.every((name) => Object.hasOwn(wellBehaved, name))).toBe(true)
})

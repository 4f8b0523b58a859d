import { operation, unknown } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { asked, openBookings, signedIn } from './setup/bookings.ts'
import { patiently } from './setup/front-desk.ts'
import { atDesk, pageOf, staffLogin } from './setup/inbox.ts'
import { stores } from './setup/stores.ts'

// Operations whose outcome nobody knows, at a Company that has no conversations: staff look it up and say who found what.

const deposits = [
  operation({
    name: 'pay_deposit',
    description: 'Pays the deposit of a booking.',
    scope: 'poppy:write',
    propose: () => ({
      summary: 'A deposit of 100 € is paid.',
      terms: { amount: { amount: '100.00', currency: 'EUR' } },
    }),
    perform: () => unknown(),
    reconcile: () => unknown(),
  }),
]

/** What the JSON API answers, as far as it is looked at. */
interface ApiAnswers {
  readonly operation: object
  readonly operations: readonly object[]
  readonly trail: readonly { readonly event: string }[]
  readonly entries: readonly { readonly act: string; readonly staff: { readonly id: string } }[]
}

describe.each(stores)('what nobody knows, on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing)
  const open = async () => {
    const world = await openBookings({ ...staffLogin, operations: deposits }, (await fresh()).store())
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const propose = async () => {
      const { operation_id } = await agent.propose('pay_deposit')
      await agent.confirm(operation_id, { revision: 1, approved_by: 'user' })
      await expect
        .poll(async () => (await world.company.operations.get(operation_id))?.unknownSince, patiently)
        .not.toBeNull()
      return operation_id
    }
    return { world, agent, propose, rita: atDesk(world, 'rita'), omar: atDesk(world, 'omar') }
  }

  test('waits in a list of its own, is settled once with who and why, and the customer’s side is told what they may know [ops.unknown-outcome]', async () => {
    const { world, agent, propose, rita, omar } = await open()
    const id = await propose()
    const list = await rita.page('?list=settle')
    expect(list.view).toMatchObject({
      counts: { settle: { number: 1, isMore: false } },
      list: { name: 'settle', operations: [{ id, state: 'in_progress', host: 'agent.example' }], conversations: [] },
    })
    const { view } = await rita.look(`/operations/${id}`)
    expect(view.operation).toMatchObject({
      id,
      summary: 'A deposit of 100 € is paid.',
      terms: { kind: 'fields', fields: [{ name: 'Amount', value: { kind: 'value', text: '€100.00' } }] },
      unknownSince: expect.any(Number),
    })
    expect(view.operation?.trail.map(({ what }) => what)).toEqual(
      expect.arrayContaining(['proposed', 'confirmed', 'unknown']),
    )

    const wrong: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
      ['nothing', {}],
      ['no outcome', { why: 'The bank says so.' }],
      ['another outcome', { outcome: 'confirmed', why: 'The bank says so.' }],
      ['no reason to know', { outcome: 'succeeded', why: ' ' }],
      ['no reason to tell', { outcome: 'failed', why: 'The bank says so.' }],
      ['a very long one', { outcome: 'succeeded', why: 'x'.repeat(2001) }],
    ]
    for (const [name, fields] of wrong) {
      const refused = await rita.act(`/operations/${id}/settle`, fields)
      expect([name, refused.status, refused.view.entered]).toEqual([name, 400, { ...fields, act: 'settle' }])
    }
    const found = { outcome: 'succeeded', result: '{"receipt":"r-7"}', why: 'The bank’s list of today has it.' }
    const [one, other] = await Promise.all([
      rita.act(`/operations/${id}/settle`, found),
      omar.act(`/operations/${id}/settle`, { ...found, result: 'Paid by hand.' }),
    ])
    expect([one.status, other.status].sort()).toEqual([200, 409])
    const [won, lost] = one.status === 200 ? [one, other] : [other, one]
    const by = one.status === 200 ? 'rita' : 'omar'
    expect(won.view.notice).toEqual({ kind: 'done', text: 'It is settled.' })
    expect(lost.view.notice).toEqual({ kind: 'refused', text: 'What came of this is known already. Nothing was done.' })
    const trail = await world.company.operations.trail(id)
    expect(trail.at(-1)).toMatchObject({
      event: 'settled',
      channel: 'staff',
      detail: { as: 'succeeded', why: found.why },
    })
    expect(JSON.stringify(trail.at(-1)?.who)).toContain(by)
    const told = await (await agent.read(id)).json()
    expect(told).toMatchObject({
      operation: { state: 'succeeded', result: by === 'rita' ? { receipt: 'r-7' } : 'Paid by hand.' },
    })
    for (const secret of ['rita', 'omar', 'Rita', 'bank']) expect(JSON.stringify(told)).not.toContain(secret)
    expect((await rita.look('?list=settle')).view.counts.settle.number).toBe(0)
    const again = await rita.act(`/operations/${id}/settle`, { outcome: 'failed', reason: 'No.', why: 'No.' })
    expect(again.status).toBe(409)
  })

  test('can be settled by a form without script, and a form that is sent twice settles once', async () => {
    const { world, propose, rita } = await open()
    const id = await propose()
    const { token = '', once = '' } = (await rita.page(`/operations/${id}`)).view ?? {}
    const fields = { token, once, outcome: 'failed', reason: 'The card was refused.', why: 'I called the bank.' }
    for (let sent = 0; sent < 2; sent++) {
      const answer = await rita.post(`/operations/${id}/settle`, fields)
      expect([answer.status, answer.headers.get('location')]).toEqual([
        303,
        `https://miramar.example/poppy/inbox/operations/${id}?done=settle`,
      ])
    }
    // The same form with another outcome settles nothing, and isn't told as done.
    for (const other of [
      { ...fields, outcome: 'succeeded' },
      { ...fields, why: 'They called me.' },
    ]) {
      const refused = await pageOf(await rita.post(`/operations/${id}/settle`, other))
      expect([refused.status, refused.view?.notice?.text]).toEqual([
        409,
        'What came of this is known already. Nothing was done.',
      ])
    }
    const page = await pageOf(await rita.get(`/operations/${id}?done=settle`))
    expect(page.view).toMatchObject({
      notice: { kind: 'done', text: 'It is settled.' },
      operation: {
        state: 'failed',
        result: { kind: 'fields', fields: [{ value: { text: 'The card was refused.' } }] },
      },
    })
    const settled = (await world.company.operations.trail(id)).filter(({ event }) => event === 'settled')
    expect(settled).toHaveLength(1)
  })

  test('says on its page and in the API who settled it, when, why, and why nobody knew; who did what stands beside it', async () => {
    const { propose, rita, omar } = await open()
    const id = await propose()
    const api = async (path: string) =>
      (await rita.get(`/api${path}`, { accept: 'application/json' })).json() as Promise<ApiAnswers>
    const why = `I called the bank. ${'x'.repeat(981)}`
    expect(
      (await rita.act(`/operations/${id}/settle`, { outcome: 'failed', reason: 'No.', why: `${why}x` })).status,
    ).toBe(400)
    await rita.act(`/operations/${id}/settle`, { outcome: 'failed', reason: 'The card was refused.', why })
    const { view, text } = await omar.page(`/operations/${id}`)
    const { trail = [], audit = [] } = view?.operation ?? {}
    expect(trail.at(-1)).toEqual({ at: expect.any(Number), what: 'settled', by: 'Rita Alvarez', why })
    expect(trail.find(({ what }) => what === 'unknown')).toMatchObject({
      by: null,
      why: 'your own system could not say whether it was done',
    })
    // She was shown it with the form that was refused.
    expect(audit.map(({ by, act }) => `${by} ${act}`).toSorted()).toEqual(['Rita Alvarez read', 'Rita Alvarez settled'])
    const [drawn] = text.split('<script type="application/json"')
    for (const part of ['Rita Alvarez', why, 'Who did what', 'your own system could not say'])
      expect(drawn).toContain(part)
    const read = await api(`/operations/${id}`)
    expect(read.trail.at(-1)).toMatchObject({ event: 'settled', channel: 'staff', by: 'Rita Alvarez', why })
    expect(read.trail.find(({ event }) => event === 'unknown')).toMatchObject({ by: null, why: 'unknown' })
    expect(read.trail.find(({ event }) => event === 'confirmed')).toMatchObject({ by: null, why: null })
  })

  test('is in the record each time that somebody reads it in detail, and no list has its terms or what came of it', async () => {
    const { world, propose, rita, omar } = await open()
    const id = await propose()
    const api = async (path: string) =>
      (await omar.get(`/api${path}`, { accept: 'application/json' })).json() as Promise<ApiAnswers>
    const readers = async () => {
      const { entries } = (await (
        await rita.get(`/api/audit?operation_id=${id}`, { accept: 'application/json' })
      ).json()) as ApiAnswers
      return entries.filter(({ act }) => act === 'read').map(({ staff }) => staff.id)
    }
    for (const path of ['', '?list=settle', '?q=pay_deposit', `?q=${id}`]) await rita.page(path)
    for (const path of ['/operations', '/operations?list=all']) {
      const { operations } = await api(path)
      expect(operations).toMatchObject([{ id, summary: 'A deposit of 100 € is paid.' }])
      expect(Object.keys(operations[0] ?? {})).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/^(terms|input|result)$/)]),
      )
    }
    for (const path of ['?list=settle', `?q=${id}`])
      expect((await rita.look(path)).view.list.operations).toMatchObject([
        { id, terms: null, result: null, input: null },
      ])
    expect(await readers()).toEqual([])
    await rita.page(`/operations/${id}`)
    await rita.look(`/operations/${id}`)
    expect(await readers()).toEqual(['rita'])
    expect((await api(`/operations/${id}`)).operation).toMatchObject({ terms: { amount: { amount: '100.00' } } })
    await api(`/operations/${id}`)
    expect((await readers()).toSorted()).toEqual(['omar', 'rita'])
    // Whoever is refused sees it too.
    world.clock.now += 3_000_000
    await rita.act(`/operations/${id}/settle`, { outcome: 'failed' })
    expect((await readers())[0]).toBe('rita')
    expect(await readers()).toHaveLength(3)
    await rita.look('/operations/opn_none')
    await api('/operations/opn_none')
    expect(await readers()).toHaveLength(3)
  })

  test('is nothing that staff could have confirmed: there is no such form, and one that was made up does nothing', async () => {
    const { world, agent, rita } = await open()
    const { operation_id: id } = await agent.propose('pay_deposit')
    for (const act of ['confirm', 'cancel', 'perform']) {
      const { token, once } = (await rita.look()).view
      expect((await rita.post(`/operations/${id}/${act}`, { token, once })).status).toBe(404)
    }
    const settled = await rita.act(`/operations/${id}/settle`, { outcome: 'succeeded', why: 'I say so.' })
    expect(settled.status).toBe(409)
    expect((await world.company.operations.get(id))?.state).toBe('proposed')
    const person = await world.send(
      new Request(`${world.origin}/poppy/operations/${id}/page`, { headers: { cookie: 'desk=rita' } }),
    )
    expect(await person.text()).not.toContain('Rita')
  })
})

it('needs no conversations, and has no list of them', async () => {
  const world = await openBookings({ ...staffLogin, operations: deposits })
  const rita = atDesk(world, 'rita')
  for (const path of ['', '?list=mine', '?list=open', '?list=closed', '?q=deposit', '?list=settle'])
    expect((await rita.page(path)).view?.list.conversations).toEqual([])
  expect((await rita.look('/conversations/cnv_a')).status).toBe(404)
  expect((await rita.act('/take-next')).status).toBe(404)
  expect((await rita.on('cnv_a', 'take')).status).toBe(404)
})

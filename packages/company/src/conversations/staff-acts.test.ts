import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { caller } from '../../../../test/setup/conversation-parts.ts'
import { grantRow, now as start } from '../../../../test/setup/rows.ts'
import { minute, omar, rita, settled, staffInstances } from '../../../../test/setup/staff-instances.ts'
import { stores } from '../../../../test/setup/stores.ts'
import type { CompanyConversations } from './staff.ts'
import type { StaffOptions } from './staff-input.ts'

/** What staff do is written down with it and done once for its key, whoever else does what, at two instances of one Company. */

const lea = { id: 'lea', name: 'Lea' }

/** Every act of rita's that changes a conversation which she has, and what the audit says of it. */
const acts: readonly (readonly [
  string,
  (staff: CompanyConversations, id: string, options: StaffOptions) => Promise<unknown>,
  unknown,
])[] = [
  [
    'replied',
    (staff, id, options) => staff.reply(id, rita, { text: 'Secret words.' }, options),
    { message: expect.stringMatching(/^msg_/) },
  ],
  ['noted', (staff, id, options) => staff.note(id, rita, 'Secret words.', options), { note: 1 }],
  [
    'handed_back',
    (staff, id, options) => staff.handBack(id, rita, { note: 'Secret words.', text: 'Secret words.' }, options),
    null,
  ],
  ['asked_for_user', (staff, id, options) => staff.askForUser(id, rita, 'Secret words.', options), null],
  [
    'asked_for_sign_in',
    (staff, id, options) => staff.askForSignIn(id, rita, { scope: 'poppy:read', text: 'Secret words.' }, options),
    { scope: 'poppy:read' },
  ],
  ['gave', (staff, id, options) => staff.give(id, rita, omar, options), { to: omar }],
  ['released', (staff, id, options) => staff.release(id, rita, options), null],
  [
    'closed',
    (staff, id, options) => staff.close(id, rita, 'Done by telephone.', options),
    { reason: 'Done by telephone.' },
  ],
]

describe.each(stores)('What staff do, on $name,', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  const begin = async () => staffInstances(await fresh())

  test('is one row of the audit with what it changes, and nothing that was said', async () => {
    const { first, second, queued, audit } = await begin()
    for (const [act, run, detail] of acts) {
      const id = await queued()
      await first.staff.take(id, rita)
      await run(second.staff, id, {})
      const rows = (await audit()).filter(({ conversation }) => conversation === id)
      expect(rows).toEqual([
        { did: 'rita took', conversation: id, detail: null },
        { did: `rita ${act}`, conversation: id, detail },
      ])
    }
    expect(JSON.stringify(await audit())).not.toContain('Secret')
  })

  test('is told as another thing where it comes with the key of one that was done, and nothing is taken for said', async () => {
    const { first, second, queued, row, events, audit } = await begin()
    const others: typeof acts = [
      ['replied', (staff, id, options) => staff.reply(id, rita, { text: 'Other words.' }, options), null],
      ['replied', (staff, id, options) => staff.reply(id, rita, { text: 'Secret words.', data: {} }, options), null],
      ['noted', (staff, id, options) => staff.note(id, rita, 'Other words.', options), null],
      ['handed_back', (staff, id, options) => staff.handBack(id, rita, { text: 'Secret words.' }, options), null],
      ['asked_for_user', (staff, id, options) => staff.askForUser(id, rita, 'Other words.', options), null],
      [
        'asked_for_sign_in',
        (staff, id, options) => staff.askForSignIn(id, rita, { scope: 'poppy:write', text: 'Secret words.' }, options),
        null,
      ],
      ['gave', (staff, id, options) => staff.give(id, rita, lea, options), null],
    ]
    for (const [act, other] of others) {
      const id = await queued()
      await first.staff.take(id, rita)
      const [, run] = acts.find(([name]) => name === act) ?? []
      await run?.(first.staff, id, { key: 'form-1' })
      const after = { row: await row(id), events: await events(id), audit: await audit() }
      expect([act, await settled(other(second.staff, id, { key: 'form-1' }))]).toEqual([act, 'key_used'])
      expect({ row: await row(id), events: await events(id), audit: await audit() }).toEqual(after)
      // At once as well: one of them is done, and the other told.
      const both = await queued()
      await first.staff.take(both, rita)
      const ends = await Promise.all([
        settled(run?.(first.staff, both, { key: 'form-2' }) ?? Promise.reject()),
        settled(other(second.staff, both, { key: 'form-2' })),
      ])
      expect([act, ends.sort()]).toEqual([act, ['done', 'key_used']])
    }
    const { entries } = await first.staff.audit({ limit: 200 })
    expect(entries.length).toBeGreaterThan(20)
    for (const { detail } of entries) expect(detail ?? {}).not.toHaveProperty('asked')
  })

  test('is done once for a key, however often it comes and wherever; then it gives the conversation as it is', async () => {
    const { first, second, queued, row, events, audit } = await begin()
    for (const [act, run] of acts) {
      const id = await queued()
      await first.staff.take(id, rita)
      const options = { key: 'form-1' }
      const both = await Promise.all([first, second, first].map(({ staff }) => run(staff, id, options)))
      for (const one of both) expect(one).toMatchObject({ id })
      const after = { row: await row(id), events: await events(id) }
      expect(await run(second.staff, id, options)).toMatchObject({ id, status: after.row.status })
      expect({ row: await row(id), events: await events(id) }).toEqual(after)
      expect(
        (await audit()).filter(({ did, conversation }) => did === `rita ${act}` && conversation === id),
      ).toHaveLength(1)
    }
  })

  test('is in the audit or is not done: where that row cannot be written, all of it is taken back', async () => {
    const { scope, first, second, queued, row, events, audit } = await begin()
    for (const [act, run] of acts) {
      const id = await queued()
      await first.staff.take(id, rita)
      const before = { row: await row(id), events: await events(id), notes: (await first.staff.read(id)).notes }
      const options = { key: `form-${id}` }
      await sql`alter table poppy_audit rename column detail to gone`.execute(scope.db.query)
      await expect(run(second.staff, id, options)).rejects.toThrow()
      await sql`alter table poppy_audit rename column gone to detail`.execute(scope.db.query)
      expect({ row: await row(id), events: await events(id), notes: (await first.staff.read(id)).notes }).toEqual(
        before,
      )
      await run(second.staff, id, options)
      expect((await audit()).filter(({ conversation }) => conversation === id).at(-1)?.did).toBe(`rita ${act}`)
    }
  })

  test('has keys of its own: for each member of staff, each act and each conversation', async () => {
    const { first, second, queued, audit } = await begin()
    const [one, other] = [await queued(), await queued()]
    const key = { key: 'form-1' }
    await Promise.all([first.staff.note(one, rita, 'A', key), second.staff.note(one, omar, 'B', key)])
    await Promise.all([first.staff.note(other, rita, 'C', key), second.staff.take(one, rita, key)])
    await first.staff.reply(one, rita, { text: 'D' }, key)
    expect((await audit()).map(({ did }) => did).sort()).toEqual([
      'omar noted',
      'rita noted',
      'rita noted',
      'rita replied',
      'rita took',
    ])
    // What is undone by another act isn't done again by an old form.
    await first.staff.release(one, rita)
    expect(await second.staff.take(one, rita, key)).toMatchObject({ status: 'queued', heldBy: null })
    for (const wrong of [{ key: '' }, { key: 'x'.repeat(201) }, { key: 7 }, { key: 'a\0b' }, 'key', null])
      await expect(first.staff.take(one, rita, wrong as never)).rejects.toThrow(TypeError)
  })

  test('takes the next once for a key, though two waited', async () => {
    const { first, second, queued, audit } = await begin()
    const ids = [await queued(), await queued(), await queued()]
    const key = { key: 'form-1' }
    const taken = await Promise.all([
      first.staff.takeNext(rita, key),
      second.staff.takeNext(rita, key),
      second.staff.takeNext(omar, key),
    ])
    expect(taken[0]?.id).toBe(taken[1]?.id)
    expect(taken[2]?.id).not.toBe(taken[0]?.id)
    expect(await first.staff.heldBy('rita')).toHaveLength(1)
    expect((await second.staff.takeNext(rita, key))?.id).toBe(taken[0]?.id)
    expect((await audit()).map(({ did }) => did).sort()).toEqual(['omar took', 'rita took'])
    expect(ids).toContain(taken[0]?.id)
  })

  test('that changes nothing, or is refused, writes nothing', async () => {
    const { first, second, queued, audit } = await begin()
    const id = await queued()
    await first.staff.take(id, rita)
    const before = await audit()
    await first.staff.take(id, rita)
    expect(await settled(second.staff.take(id, omar))).toBe('held_by_other')
    expect(await settled(second.staff.reply(id, omar, { text: 'Hi' }, { key: 'form-1' }))).toBe('held_by_other')
    expect(await settled(second.staff.openAccount(id, rita))).toBe('sign_in_required')
    await first.staff.closeAccount(id, rita)
    expect(await audit()).toEqual(before)
    // A refusal spends no key.
    await first.staff.give(id, rita, omar)
    expect(await settled(second.staff.reply(id, omar, { text: 'Hi' }, { key: 'form-1' }))).toBe('done')
    await first.staff.close(id, omar)
    const closed = await audit()
    await second.staff.close(id, omar, 'Again.')
    expect(await audit()).toEqual(closed)
  })

  test('is read once in ten minutes', async () => {
    const { clock, first, second, queued, audit } = await begin()
    const id = await queued()
    await Promise.all([first.staff.noteRead(id, rita), second.staff.noteRead(id, rita), first.staff.noteRead(id, omar)])
    clock.now += 9 * minute
    await second.staff.noteRead(id, rita)
    expect((await audit()).map(({ did }) => did).sort()).toEqual(['omar read', 'rita read'])
    clock.now += minute
    await second.staff.noteRead(id, rita)
    expect((await audit()).map(({ did }) => did).sort()).toEqual(['omar read', 'rita read', 'rita read'])
    expect(await settled(first.staff.noteRead('cnv_none', rita))).toBe('conversation_not_found')
  })

  test('goes on in one order, also where no time passes', async () => {
    const { scope, first, second, queued } = await begin()
    const id = await queued()
    await first.staff.take(id, rita)
    await second.staff.note(id, omar, 'One')
    await first.staff.give(id, rita, omar)
    await second.staff.release(id, omar)
    const rows = await scope.db.query
      .selectFrom('poppy_audit')
      .select(['act', 'at'])
      .where('company', '=', scope.company)
      .orderBy('at')
      .execute()
    expect(rows.map(({ act }) => act)).toEqual(['took', 'noted', 'gave', 'released'])
    expect(new Set(rows.map(({ at }) => Number(at))).size).toBe(4)
  })

  describe('opens the account', () => {
    const ada = caller({ account: 'ada', scopes: ['poppy:read'], grantId: 'g' })

    async function held() {
      const made = await begin()
      const id = await made.queued(ada)
      await made.first.staff.take(id, rita)
      const state = async (staff = rita, by = made.second) => (await by.staff.account(id, staff)).state
      return { ...made, id, state }
    }

    test('on purpose, for whoever has the conversation, until they close it', async () => {
      const { first, second, id, state, audit } = await held()
      expect(await state()).toBe('closed')
      expect(await first.staff.openAccount(id, rita, { key: 'open-1' })).toMatchObject({ account: 'ada' })
      expect(await second.staff.account(id, rita)).toMatchObject({
        state: 'open',
        principal: { account: 'ada', scopes: ['poppy:read'] },
      })
      expect(await state(omar)).toBe('closed')
      await second.staff.openAccount(id, rita)
      expect((await audit()).filter(({ did }) => did === 'rita account_opened')).toEqual([
        { did: 'rita account_opened', conversation: id, detail: { grant: 'g', epoch: 0, scopes: 'poppy:read' } },
      ])
      expect(await settled(second.staff.closeAccount(id, omar))).toBe('held_by_other')
      await second.staff.closeAccount(id, rita)
      expect(await state()).toBe('closed')
      // The form that opened it opens it no second time.
      expect(await settled(first.staff.openAccount(id, rita, { key: 'open-1' }))).toBe('already_done')
      expect(await state()).toBe('closed')
      await first.staff.openAccount(id, rita, { key: 'open-2' })
      expect(await state()).toBe('open')
    })

    test('once for two who open it at once', async () => {
      const { first, second, id, state, audit } = await held()
      const opened = await Promise.all([
        first.staff.openAccount(id, rita, { key: 'open-1' }),
        second.staff.openAccount(id, rita, { key: 'open-1' }),
      ])
      for (const principal of opened) expect(principal).toMatchObject({ account: 'ada' })
      expect((await audit()).filter(({ did }) => did.endsWith('account_opened'))).toHaveLength(1)
      expect(await state()).toBe('open')
    })

    test.each([
      [
        'giving it away',
        async ({ first, id }: Awaited<ReturnType<typeof held>>) => {
          await first.staff.give(id, rita, omar)
          await first.staff.give(id, omar, rita)
        },
      ],
      [
        'releasing it',
        async ({ first, second, id }: Awaited<ReturnType<typeof held>>) => {
          await first.staff.release(id, rita)
          await second.staff.take(id, rita)
        },
      ],
      [
        'handing it back',
        async ({ first, second, id }: Awaited<ReturnType<typeof held>>) => {
          await first.staff.handBack(id, rita)
          await second.staff.take(id, rita)
        },
      ],
      [
        'withdrawing',
        async ({ first, second, id }: Awaited<ReturnType<typeof held>>) => {
          await first.staff.withdraw(rita)
          await second.staff.take(id, rita)
        },
      ],
      [
        'being gone',
        async ({ clock, first, second, id }: Awaited<ReturnType<typeof held>>) => {
          clock.now += 2 * minute
          await first.care()
          await second.staff.take(id, rita)
        },
      ],
    ] as const)('and %s closes it, also for whoever has it again', async (_, lose) => {
      const made = await held()
      await made.first.staff.openAccount(made.id, rita)
      expect(await made.state()).toBe('open')
      await lose(made)
      expect((await made.row(made.id)).held_by).toBe('rita')
      expect(await made.state()).toBe('closed')
      expect(await made.state(omar)).toBe('closed')
      await made.first.staff.openAccount(made.id, rita)
      expect(await made.state()).toBe('open')
    })

    test('and closing the conversation closes it', async () => {
      const { first, id, state } = await held()
      await first.staff.openAccount(id, rita)
      await first.staff.close(id, rita)
      expect(await state()).toBe('closed')
      expect(await settled(first.staff.openAccount(id, rita))).toBe('conversation_closed')
    })

    test('with that sign-in alone: it goes dark when that ends, and a new one has to be opened again', async () => {
      const { scope, first, id, state, ask } = await held()
      await first.staff.openAccount(id, rita)
      const grants = scope.db.query.updateTable('poppy_grants').where('company', '=', scope.company)
      await grants.set({ revoked_at: start }).execute()
      expect(await state()).toBe('dark')
      expect(await settled(first.staff.openAccount(id, rita))).toBe('sign_in_required')
      // Signed in anew, but nobody has said anything with that.
      await scope.db.query
        .insertInto('poppy_grants')
        .values({ ...grantRow({ id: 'g2', token_hash: 'hash of g2', expires_at: null }), company: scope.company })
        .execute()
      await scope.db.query
        .updateTable('poppy_sessions')
        .set({ grant_id: 'g2', epoch: 1 })
        .where('company', '=', scope.company)
        .execute()
      expect(await state()).toBe('dark')
      await ask(id, 'msg_2', caller({ account: 'ada', scopes: ['poppy:read'], grantId: 'g2' }, 1))
      expect(await state()).toBe('closed')
      await first.staff.openAccount(id, rita)
      expect(await state()).toBe('open')
    })
  })

  describe('is lost to the queue', () => {
    test('by one who was given it and never comes, and the agent is told', async () => {
      const { clock, first, second, queued, row, said } = await begin()
      const id = await queued()
      await first.staff.take(id, rita)
      clock.now += minute
      await first.staff.give(id, rita, lea)
      clock.now += minute
      await Promise.all([first.care(), second.care()])
      expect((await row(id)).held_by).toBe('lea')
      // Whoever gave it away being there says nothing of who has it.
      await first.staff.present(rita)
      clock.now += minute
      await Promise.all([first.care(), second.care()])
      expect(await row(id)).toMatchObject({ status: 'queued', held_by: null })
      expect((await said(id)).slice(-2)).toEqual(['idle/human', 'queued/agent'])
      expect(await settled(second.staff.reply(id, lea, { text: 'Here I am.' }))).toBe('not_held')
    })

    test('by one who was given it while they went', async () => {
      const { clock, first, second, queued, row, said } = await begin()
      for (let round = 0; round < 6; round++) {
        const id = await queued()
        await first.staff.take(id, rita)
        await second.staff.present(omar)
        const [giving] = await Promise.all([settled(first.staff.give(id, rita, omar)), second.staff.withdraw(omar)])
        expect(giving).toBe('done')
        clock.now += 2 * minute
        await Promise.all([first.care(), second.care()])
        expect(await row(id)).toMatchObject({ status: 'queued', held_by: null })
        expect((await said(id)).filter((what) => what === 'queued/agent')).toHaveLength(2)
        await first.staff.close(id, rita)
      }
    })

    test('by one who goes while others take, give and answer: at each moment one has it, or nobody', async () => {
      const { first, second, queued, row, said, audit } = await begin()
      for (let round = 0; round < 8; round++) {
        const id = await queued()
        await first.staff.take(id, rita)
        const outcomes = await Promise.all([
          settled(second.staff.withdraw(rita)),
          settled(first.staff.give(id, rita, omar)),
          settled(second.staff.take(id, lea)),
          settled(first.staff.reply(id, rita, { text: 'Yes.' })),
        ])
        const { held_by, status } = await row(id)
        const did = (await audit()).filter(({ conversation }) => conversation === id).map((one) => one.did)
        expect(outcomes[0]).toBe('done')
        for (const outcome of outcomes) expect(['done', 'held_by_other', 'not_held']).toContain(outcome)
        // The audit is the order in which it went, and it ends with whoever has it.
        const last = did.filter((one) => !one.endsWith('replied')).at(-1)
        const holder = { 'rita released': null, 'rita gave': 'omar', 'lea took': 'lea' }[last ?? '']
        expect(held_by).toBe(holder)
        expect(status).toBe(holder === null ? 'queued' : 'idle')
        expect((await said(id)).filter((what) => what === 'human')).toHaveLength(outcomes[3] === 'done' ? 1 : 0)
        const after = did.slice(did.indexOf('rita released') + 1)
        if (did.includes('rita released')) expect(after).not.toContain('rita replied')
        await first.staff.close(id, { by: 'a test' })
      }
    })
  })
})

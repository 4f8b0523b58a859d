import { describe, expect, it } from 'vitest'
import { caller, startConversation } from '../../../../test/setup/conversation-parts.ts'
import { now as start } from '../../../../test/setup/rows.ts'
import { minute, omar, rita, settled, staffInstances } from '../../../../test/setup/staff-instances.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { closeConversation } from './closing.ts'
import { turnEnded } from './conversation.ts'
import { withConversation } from './ledger.ts'

/** What staff do, and what two of them do at once, at two instances of one Company. */

describe.each(stores)('Staff on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  const begin = async () => staffInstances(await fresh())

  test('of two who take one at the same moment, at two instances, one has it', async () => {
    const { first, second, queued, row, said } = await begin()
    for (let round = 0; round < 8; round++) {
      const id = await queued()
      const outcomes = await Promise.all([
        settled(first.staff.take(id, rita)),
        settled(second.staff.take(id, omar)),
        settled(second.staff.take(id, rita)),
      ])
      const holder = (await row(id)).held_by
      const right = holder === 'rita' ? ['done', 'held_by_other', 'done'] : ['held_by_other', 'done', 'held_by_other']
      expect(outcomes).toEqual(right)
      expect((await said(id)).filter((what) => what === 'idle/human')).toHaveLength(1)
    }
  })

  test('who take the next at the same moment get different ones, the longest waiting first', async () => {
    const { first, second, queued } = await begin()
    const ids = [await queued(), await queued(), await queued(), await queued(), await queued()]
    expect((await first.staff.queue()).map(({ id }) => id)).toEqual(ids)
    const taken = await Promise.all(
      [rita, omar, { id: 'lea', name: 'Lea' }, { id: 'kim', name: 'Kim' }].map((staff, index) =>
        (index % 2 === 0 ? first : second).staff.takeNext(staff),
      ),
    )
    expect(taken.map((one) => one?.id).sort()).toEqual(ids.slice(0, 4))
    expect((await first.staff.takeNext(rita))?.id).toBe(ids[4])
    expect(await second.staff.takeNext(rita)).toBeNull()
  })

  test('closing against taking and against replying leaves nothing after the end', async () => {
    const { first, second, queued, row, said } = await begin()
    for (let round = 0; round < 8; round++) {
      const id = await queued()
      const [taking] = await Promise.all([
        settled(first.staff.take(id, rita)),
        settled(closeConversation(second.parts, id)),
      ])
      expect(['done', 'conversation_closed']).toContain(taking)
      expect((await said(id)).at(-1)).toBe(taking === 'done' ? 'closed/human' : 'closed/agent')
      const other = await queued()
      await first.staff.take(other, rita)
      const [replying] = await Promise.all([
        settled(second.staff.reply(other, rita, { text: 'Yes.' })),
        settled(closeConversation(first.parts, other)),
      ])
      const words = await said(other)
      expect(words.at(-1)).toBe('closed/human')
      expect(words.filter((what) => what === 'human')).toHaveLength(replying === 'done' ? 1 : 0)
      expect(await row(other)).toMatchObject({ status: 'closed', held_by: null, care_due_at: null })
    }
  })

  test('taking against the end of a turn: the person has it, and the turn’s reply came before or not at all', async () => {
    const { clock, scope, first, second, row, said } = await begin()
    for (let round = 0; round < 8; round++) {
      const { id, runner } = await startConversation(scope, { id: `cnv_t${round}` })
      const endTurn = withConversation(second.parts, id, (one) =>
        one.runner !== runner || one.status !== 'working'
          ? null
          : turnEnded(one, {
              answered: one.asked,
              now: clock.now,
              events: [{ type: 'message', message: { id: 'msg_r', role: 'company', sender: 'agent', text: 'Yes.' } }],
            }),
      )
      await Promise.all([first.staff.take(id, rita), endTurn])
      expect(await row(id)).toMatchObject({ status: 'idle', responder: 'human', held_by: 'rita', turn_due_at: null })
      const words = await said(id)
      expect(words.indexOf('agent')).toBeLessThan(words.indexOf('idle/human'))
    }
  })

  test('whoever is gone for two minutes loses it, and their late reply is refused', async () => {
    const { clock, first, second, queued, row, said, ask } = await begin()
    const [id, other] = [await queued(), await queued()]
    await first.staff.take(id, rita)
    await first.staff.take(other, omar)
    const taken = clock.now
    clock.now = taken + minute
    await second.staff.present(omar)
    await ask(id, 'msg_2')
    clock.now = taken + 2 * minute
    await Promise.all([first.care(), second.care()])
    expect((await row(other)).held_by).toBe('omar')
    // A message says nothing of whoever has it.
    expect(await row(id)).toMatchObject({ status: 'queued', responder: 'agent', held_by: null })
    clock.now = taken + 3 * minute - 1
    await Promise.all([first.care(), second.care()])
    expect(await row(other)).toMatchObject({ held_by: 'omar' })
    clock.now = taken + 3 * minute
    await Promise.all([first.care(), second.care()])
    expect(await row(other)).toMatchObject({ status: 'queued', held_by: null })
    expect((await said(id)).slice(-2)).toEqual(['user', 'queued/agent'])
    expect(await settled(first.staff.reply(id, rita, { text: 'Sorry!' }))).toBe('not_held')
  })

  test('a reply against being gone: it counts, or the conversation is in the queue, never both lost', async () => {
    const { clock, first, second, queued, row, said } = await begin()
    for (let round = 0; round < 8; round++) {
      const id = await queued()
      await first.staff.take(id, rita)
      clock.now += 2 * minute
      const [reply] = await Promise.all([settled(first.staff.reply(id, rita, { text: 'Here!' })), second.care()])
      const words = await said(id)
      const { status, held_by } = await row(id)
      if (reply === 'done') expect(words).toContain('human')
      else {
        expect(reply).toBe('not_held')
        expect(words).not.toContain('human')
        expect(status).toBe('queued')
      }
      expect(held_by === 'rita').toBe(words.at(-1) === 'human')
      await closeConversation(first.parts, id)
    }
  })

  test('nobody comes in time: the reason, once, over two instances; messages don’t make it later', async () => {
    const { clock, first, second, queued, row, said, ask } = await begin()
    const id = await queued()
    const asked = clock.now - 1
    clock.now = asked + 9 * minute
    await ask(id, 'msg_2')
    await Promise.all([first.care(), second.care()])
    expect((await row(id)).status).toBe('queued')
    clock.now = asked + 10 * minute
    await Promise.all([first.care(), second.care()])
    expect((await said(id)).slice(-3)).toEqual(['user', 'agent', 'idle/agent'])
    expect(await row(id)).toMatchObject({ queued_at: null, turn_due_at: null })
    expect(first.begun).not.toContain(id)
  })

  test('what is quiet for a day is closed, in bites, each once', async () => {
    const { clock, scope, first, second, row, said } = await begin()
    const ids: string[] = []
    for (let n = 0; n < 60; n++) {
      const { id } = await startConversation(scope, { id: `cnv_q${n}` })
      await withConversation(first.parts, id, (one) => turnEnded(one, { answered: one.asked, now: clock.now }))
      ids.push(id)
    }
    clock.now += 24 * 60 * minute
    const bites = await Promise.all([first.care(), second.care()])
    // Both at the same moment find the same 50; whoever is a little later finds some of what is left.
    expect(bites.some(({ isDone }) => !isDone)).toBe(true)
    while (bites.at(-1)?.isDone !== true) bites.push(await first.care())
    expect(bites.every(({ done }) => done <= 50)).toBe(true)
    expect(bites.reduce((sum, { done }) => sum + done, 0)).toBe(60)
    for (const id of ids) {
      expect((await row(id)).status).toBe('closed')
      expect((await said(id)).filter((what) => what === 'closed/agent')).toHaveLength(1)
    }
    expect(await first.care()).toEqual({ done: 0, isDone: true })
  })

  test('whoever goes gives back all that they have', async () => {
    const { first, second, queued, row } = await begin()
    const ids = [await queued(), await queued()]
    for (const id of ids) await first.staff.take(id, rita)
    expect((await second.staff.heldBy('rita')).map(({ id }) => id).sort()).toEqual(ids)
    await second.staff.withdraw(rita)
    for (const id of ids) expect((await row(id)).status).toBe('queued')
    expect(await first.staff.heldBy('rita')).toEqual([])
  })

  test('notes, and the note for the agent, stay within the company', async () => {
    const { first, second, queued, events, ask } = await begin()
    const id = await queued()
    await first.staff.take(id, rita)
    await Promise.all(
      Array.from({ length: 6 }, (_, n) => (n % 2 === 0 ? first : second).staff.note(id, omar, `Private ${n}`)),
    )
    await ask(id, 'msg_2')
    const handed = await first.staff.handBack(id, rita, { note: 'Offer the quiet room.' })
    expect(handed).toMatchObject({ status: 'working', responder: 'agent', heldBy: null, isUnanswered: true })
    expect(first.begun).toContain(id)
    const { conversation, notes, rights } = await second.staff.read(id)
    expect(conversation.agent).toEqual({ clientId: 'https://agent.example/client', host: 'agent.example' })
    expect(notes.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(notes.at(-1)).toMatchObject({ kind: 'handback', by: rita, text: 'Offer the quiet room.' })
    expect(rights).toEqual({ isSignedIn: false, signIn: null, scopes: [], session: 'active' })
    const outside = JSON.stringify(await events(id))
    for (const secret of ['Private', 'quiet room', 'rita', 'Rita', 'omar']) expect(outside).not.toContain(secret)
    expect(await settled(first.staff.reply(id, rita, { text: 'One more thing' }))).toBe('not_held')
  })

  test('the account is opened on purpose, with the rights of that moment, by whoever has the conversation', async () => {
    const { scope, first, queued, row, ask } = await begin()
    const id = await queued()
    expect(await settled(first.staff.openAccount(id, rita))).toBe('not_held')
    await first.staff.take(id, rita)
    expect(await settled(first.staff.openAccount(id, rita))).toBe('sign_in_required')
    expect((await row(id)).account).toBeNull()
    expect(await settled(first.staff.askForSignIn(id, rita, { scope: 'poppy:read' }))).toBe('done')
    const ada = caller({ account: 'ada', scopes: ['poppy:read'], grantId: 'g' })
    await ask(id, 'msg_2', ada)
    expect(await settled(first.staff.askForSignIn(id, rita, { scope: 'poppy:read' }))).toBe('already_allowed')
    expect(await first.staff.openAccount(id, rita)).toMatchObject({ account: 'ada', scopes: ['poppy:read'] })
    expect((await row(id)).account).toBe('ada')
    expect(await settled(first.staff.askForSignIn(id, rita, { scope: 'poppy:write' }))).toBe('done')
    const { events } = await first.staff.read(id)
    expect(events.filter(({ type }) => type === 'authorization')).toMatchObject([
      { error: 'sign_in_required', scope: 'poppy:read' },
      { error: 'insufficient_scope', scope: 'poppy:write' },
    ])
    await scope.db.query
      .updateTable('poppy_grants')
      .set({ revoked_at: start })
      .where('company', '=', scope.company)
      .execute()
    expect(await settled(first.staff.openAccount(id, rita))).toBe('sign_in_required')
  })

  test('lists go on where the page before ended, and filter', async () => {
    const { first, queued } = await begin()
    const ids = [await queued(), await queued(), await queued()]
    await first.staff.take(ids[1] as string, rita)
    const page = await first.staff.list({ limit: 2 })
    expect(page.conversations).toHaveLength(2)
    const rest = await first.staff.list({ limit: 2, after: page.after as string })
    expect([...page.conversations, ...rest.conversations].map(({ id }) => id).sort()).toEqual([...ids].sort())
    expect(rest.after).toBeNull()
    expect((await first.staff.list({ heldBy: 'rita' })).conversations.map(({ id }) => id)).toEqual([ids[1]])
    expect((await first.staff.list({ status: 'queued' })).conversations).toHaveLength(2)
    expect((await first.staff.list({ isOpen: false })).conversations).toEqual([])
    await first.staff.close(ids[1] as string, rita, 'Done by telephone.')
    expect((await first.staff.list({ isOpen: false })).conversations).toHaveLength(1)
    expect((await first.staff.read(ids[1] as string)).notes).toMatchObject([{ text: 'Done by telephone.', by: rita }])
    const some = await first.staff.read(ids[0] as string, { limit: 2 })
    expect(some.events).toHaveLength(2)
    expect((await first.staff.read(ids[0] as string, { before: some.before as number })).events.length).toBe(2)
  })

  test('what is called wrongly is a TypeError, and what isn’t there is not found', async () => {
    const { first, queued } = await begin()
    const { staff } = first
    const id = await queued()
    expect(await settled(staff.take('cnv_none', rita))).toBe('conversation_not_found')
    await staff.take(id, rita)
    for (const wrong of [
      () => staff.take(id, { id: '', name: 'Rita' }),
      () => staff.take(id, 'rita' as never),
      () => staff.reply(id, rita, {}),
      () => staff.reply(id, rita, { text: '   ' }),
      () => staff.reply(id, rita, { text: 'x'.repeat(32_001) }),
      () => staff.reply(id, rita, { data: [] as never }),
      () => staff.note(id, rita, ''),
      () => staff.askForUser(id, rita, ''),
      () => staff.askForSignIn(id, rita, { scope: 'a"b' }),
      () => staff.list({ limit: 0 }),
      () => staff.list({ after: 'x' }),
      () => staff.list({ status: 'open' as never }),
    ])
      await expect(wrong()).rejects.toThrow(TypeError)
    expect((await staff.read(id)).conversation.heldBy).toEqual(rita)
  })
})

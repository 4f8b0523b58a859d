import { describe, expect, it } from 'vitest'
import { conversationParts } from '../../../../test/setup/conversation-parts.ts'
import { conversationRow } from '../../../../test/setup/conversation-rows.ts'
import { idOfMany, insertMany } from '../../../../test/setup/many-conversations.ts'
import { explained } from '../../../../test/setup/plans.ts'
import { now, operationRow, revisionRow } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { insertOperation } from '../operations/store.ts'
import type { Scope } from '../store/database.ts'
import { eventId } from './cursor.ts'
import { insertNote } from './notes.ts'
import type { ConversationRow } from './row.ts'
import { type SearchBudget, searchConversations } from './search.ts'
import { rememberedFor } from './search-memory.ts'
import { createStaffReading } from './staff-reading.ts'

/** Searching for a conversation: what is found, by what, how far it looks, and what never comes of it. */

const company = 'https://miramar.example'
const agent = 'https://agent.example/agent.json'
const all: SearchBudget = { milliseconds: Number.MAX_SAFE_INTEGER, rows: Number.MAX_SAFE_INTEGER }

describe.each(stores)('A search on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  async function begin() {
    const scope: Scope = { db: await (await fresh()).open(), company }
    let count = 0
    /** A conversation in which these things were said; each is newer than those before it. */
    async function talk(
      texts: readonly string[],
      row: Partial<ConversationRow> = {},
      at: Scope = scope,
    ): Promise<string> {
      count += 1
      const id = row.id ?? `cnv_${count}`
      const created_at = now + count * 1000
      const closed = row.status === 'closed' ? { closed_at: created_at + 1 } : {}
      const values = conversationRow({ created_at, last_event: texts.length, ...closed, ...row, id })
      await at.db.query
        .insertInto('poppy_conversations')
        .values({ ...values, company: at.company })
        .execute()
      for (let from = 0; from < texts.length; from += 500)
        await at.db.query
          .insertInto('poppy_events')
          .values(
            texts.slice(from, from + 500).map((text, index) => ({
              company: at.company,
              conversation_id: id,
              number: from + index + 1,
              type: index % 2 === 0 ? 'message.own' : 'message',
              body: JSON.stringify({
                id: 'evt',
                type: 'message',
                message: { id: 'm', role: 'user', sender: 'agent', text },
              }),
              written_for: null,
              created_at,
            })),
          )
          .execute()
      return id
    }
    const search = async (text: string, more: { since?: string; limit?: number; budget?: SearchBudget } = {}) => {
      const { budget = all, ...asked } = more
      const found = await searchConversations({ scope, now: now + 1, budget }, { text, ...asked })
      return { ...found, ids: found.conversations.map(({ id }) => id) }
    }
    /** All that is found, however often it has to go on; each once. */
    async function searchOn(text: string, more: { limit?: number; budget?: SearchBudget } = {}) {
      const ids: string[] = []
      let since: string | null = null
      let searches = 0
      do {
        const found: Awaited<ReturnType<typeof search>> = await search(text, {
          ...more,
          ...(since === null ? {} : { since }),
        })
        ids.push(...found.ids)
        since = found.since
        searches += 1
      } while (since !== null && searches < 1000)
      return { ids, searches }
    }
    return { scope, talk, search, searchOn }
  }

  test('finds a conversation by its id, and an operation by its own with the conversation that it is of', async () => {
    const { scope, talk, search } = await begin()
    const id = await talk(['Breakfast?'])
    await talk([`About ${id}.`])
    expect(await search(` ${id}\n`)).toMatchObject({ ids: [id], operations: [], since: null, lookedBackTo: null })
    for (const conversation_id of [id, null])
      await insertOperation(scope, {
        operation: operationRow({ id: `opn_${conversation_id}`, conversation_id }),
        revision: revisionRow({ operation_id: `opn_${conversation_id}` }),
        entry: { event: 'proposed', channel: 'http', who: {} },
      })
    const found = await search(`opn_${id}`)
    expect(found).toMatchObject({ ids: [id], operations: [{ id: `opn_${id}`, state: 'proposed' }], since: null })
    expect(await search('opn_null')).toMatchObject({ ids: [], operations: [{ id: 'opn_null' }] })
  })

  test('says by what each was found: words in the newest message or note that has them, an id, an account, an agent', async () => {
    const { scope, talk, search } = await begin()
    const words = await talk(['The needle is in the hay.', 'No needle here? A NEEDLE!', 'Thank you.'], { notes: 1 })
    const old = await talk(['A needle.', 'Hm.'], { notes: 1, account: 'ada' })
    await insertNote(scope, {
      ...{ conversation_id: old, number: 1, kind: 'note', who: '{"staff":{"id":"rita","name":"Rita"}}' },
      ...{ text: 'I found the needle.', data: null, created_at: now + 999_999 },
    })
    const found = await search('needle')
    expect([...found.foundBy]).toEqual([
      [
        old,
        {
          ...{ kind: 'note', number: 1, note: 'note', by: { id: 'rita', name: 'Rita' }, at: now + 999_999 },
          excerpt: [
            { text: 'I found the ', isFound: false },
            { text: 'needle', isFound: true },
            { text: '.', isFound: false },
          ],
        },
      ],
      [
        words,
        {
          ...{ kind: 'message', event: eventId(words, 2), by: 'agent', sender: 'agent', at: now + 1000 },
          excerpt: [
            { text: 'No ', isFound: false },
            { text: 'needle', isFound: true },
            { text: ' here? A ', isFound: false },
            { text: 'NEEDLE', isFound: true },
            { text: '!', isFound: false },
          ],
        },
      ],
    ])
    // In a long one the newest too, wherever it was cut.
    const lines = Array.from({ length: 2500 }, (_, at) => `line ${at}${at % 900 === 0 ? ' pin' : ''}`)
    const long = await talk(lines)
    expect((await search('pin')).foundBy.get(long)).toMatchObject({ event: eventId(long, 1801) })

    expect([...(await search('ada')).foundBy]).toEqual([[old, { kind: 'account' }]])
    expect((await search('agent.example')).foundBy.get(words)).toEqual({ kind: 'agent' })
    await insertOperation(scope, {
      operation: operationRow({ id: 'opn_1', conversation_id: old }),
      revision: revisionRow({ operation_id: 'opn_1' }),
      entry: { event: 'proposed', channel: 'http', who: {} },
    })
    expect([...(await search('opn_1')).foundBy]).toEqual([[old, { kind: 'operation', id: 'opn_1' }]])
    expect([...(await search(old)).foundBy]).toEqual([[old, { kind: 'conversation' }]])
    expect([...(await search('')).foundBy]).toEqual([])
  })

  test('finds an account and an agent by name, newest first, and then goes on through what was said', async () => {
    const { talk, search, searchOn } = await begin()
    const first = await talk(['Hello'], { account: 'ada', client_id: 'https://other.example:8443/client' })
    const second = await talk(['Hello'], { account: 'ada', status: 'closed' })
    const third = await talk(['ada asked me, of agent.example'], { client_id: 'https://agent.example.evil/c' })
    const found = await search('ada')
    expect(found).toMatchObject({ ids: [second, first], since: 'open' })
    expect(await search('ada', { since: found.since as string })).toMatchObject({ ids: [third], since: null })
    expect((await searchOn('ada', { limit: 1 })).ids).toEqual([second, first, third])
    expect((await search('other.example')).ids).toEqual([first])
    expect((await search('OTHER.example:8443')).ids).toEqual([first])
    expect((await search('https://other.example:8443/client')).ids).toEqual([first])
    expect((await search('https://other.example:8443/')).ids).toEqual([first])
    expect((await search('other.example:8444')).ids).toEqual([])
    expect((await searchOn('agent.example')).ids).toEqual([second, third])
    // No part of a name, and no pattern.
    for (const text of ['other.exampl', 'https://other.example:8443/c', 'other_example', 'other%', 'ad_', '%'])
      expect((await search(text)).ids).toEqual([])
  })

  test('hears words in messages and notes, in any case, over lines, however an accent is written', async () => {
    const { scope, talk, search } = await begin()
    const breakfast = await talk(['Is BREAKFAST\n  included?', 'Yes.'])
    const cafe = await talk(['Un CAFÉ, bitte. Größe 100% \\o/ _x_ "so"'], { status: 'closed' })
    const noted = await talk(['Hm.'], { notes: 1 })
    await insertNote(scope, {
      ...{ conversation_id: noted, number: 1, kind: 'note', who: '{"staff":{"id":"rita","name":"Rita"}}' },
      ...{ text: 'Wants a Late Checkout', data: null, created_at: now },
    })
    expect((await search('breakfast included')).ids).toEqual([breakfast])
    expect((await search('  breakfast \t included ')).ids).toEqual([breakfast])
    expect((await search('late checkout')).ids).toEqual([noted])
    for (const text of ['un café', 'un cafe\u0301', 'GRÖSSE'.replace('SS', 'ß'), '100%', '% \\O/', '_x_', '"SO"', '\\'])
      expect((await search(text)).ids, text).toEqual([cafe])
    // Nothing but what was said: no name of a member, no type.
    for (const text of ['msg', 'role', 'evt', 'own', 'rita', '100_', '.*', 'x'.repeat(100)])
      expect((await search(text)).ids, text).toEqual([])
  })

  test('takes anything for words, and nothing for all', async () => {
    const { talk, search } = await begin()
    const id = await talk(['It’s 🦜 here'])
    for (const text of ['', ' ', '\n\t', '\0', '\u001b\u0007', '\u00a0'])
      expect(await search(text)).toMatchObject({ ids: [], operations: [], since: null, lookedBackTo: null })
    expect((await search('🦜')).ids).toEqual([id])
    expect((await search('a\0b')).ids).toEqual([])
    expect((await search('\ud83e')).ids).toEqual([])
    expect((await search('🦜'.repeat(1_000_000))).ids).toEqual([])
    for (const text of [
      "'; drop table poppy_conversations; --",
      '{"$gt":""}',
      '\u202e',
      'x'.repeat(5_000_000),
      '..',
      'http://',
      '//',
    ])
      expect((await search(text)).ids).toEqual([])
    for (const text of [undefined, null, 5, {}, ['a']])
      await expect(search(text as unknown as string)).rejects.toThrow(TypeError)
    for (const since of [
      '',
      'half',
      'open.',
      'open.1',
      'open.1.a b',
      'named',
      'named.1.x.5',
      `open.${'1'.repeat(17)}.x`,
      'open.1.x.-1',
      {},
    ])
      await expect(search('a', { since: since as string })).rejects.toThrow('since is what')
    for (const limit of [0, -1, 1.5, 201, Number.NaN]) await expect(search('a', { limit })).rejects.toThrow(TypeError)
    // One that is made up finds nothing that isn't there.
    expect((await search('here', { since: 'open.9999999999999.none.5' })).ids).toEqual([id])
    expect((await search('here', { since: 'closed.0.none' })).ids).toEqual([])
  })

  test('says how far it has looked, and goes on from there: nothing twice, nothing left out', async () => {
    const { scope, talk, search, searchOn } = await begin()
    await insertMany(scope, { open: 450, held: 50, closed: 700, newest: now - 1000 })
    const lines = Array.from({ length: 2500 }, (_, at) => (at === 3 ? 'the needle' : `line ${at}`))
    const long = await talk(lines, { created_at: now - 100_500 })
    const small = { ...all, rows: 300 }
    const bit = await search('number 3', { budget: small })
    expect(bit.since).not.toBeNull()
    expect(bit.lookedBackTo).toBeLessThan(now)
    for (const more of [{ budget: small }, { limit: 7 }, { budget: small, limit: 3 }]) {
      const { ids, searches } = await searchOn('number 1', more)
      expect(searches).toBeGreaterThan(3)
      expect(new Set(ids).size).toBe(ids.length)
      // 1, 10 to 19, 100 to 199: of the 450, the 50, and the 700.
      expect(ids.length).toBe(111 + 11 + 111)
      const firstClosed = ids.findIndex((id) => id.startsWith('cnv_closed'))
      expect(ids.slice(firstClosed).every((id) => id.startsWith('cnv_closed'))).toBe(true)
    }
    // A long one bit by bit as well.
    expect(await searchOn('the needle', { budget: { ...all, rows: 1 } })).toMatchObject({ ids: [long] })
    expect((await search('the needle')).ids).toEqual([long])
    expect(await searchOn('is nowhere', { budget: small })).toMatchObject({ ids: [] })
    // Of a moment's budget the smallest bite is left.
    const moment = await search('is nowhere', { budget: { ...all, milliseconds: 1e-9 } })
    expect(moment.since).not.toBeNull()
  })

  test('an agent with very many conversations is found as they come, the newest first', async () => {
    const { scope, talk, searchOn, search } = await begin()
    await insertMany(scope, { open: 600, closed: 600, newest: now - 1000 })
    const other = await talk(['Hello'], { client_id: 'https://other.example/c' })
    const { ids } = await searchOn('agent.example', { limit: 100 })
    expect(ids).toHaveLength(1200)
    expect(new Set(ids).size).toBe(1200)
    expect(ids).not.toContain(other)
    expect((await search('agent.example', { limit: 2 })).ids).toEqual([idOfMany('open', 1), idOfMany('open', 2)])
    expect((await search(agent, { limit: 2 })).ids).toEqual([idOfMany('open', 1), idOfMany('open', 2)])
  })

  test('what took long is remembered for a moment, and what was quick is not', async () => {
    const { scope, talk } = await begin()
    let ticks = 0
    const search = (asOf: Scope, milliseconds: number) =>
      searchConversations(
        { scope: asOf, now, budget: { ...all, milliseconds }, ticks: () => (ticks += 10) },
        { text: 'breakfast' },
      )
    const found = async (milliseconds: number, asOf = scope) =>
      (await search(asOf, milliseconds)).conversations.map(({ id }) => id)
    const slow = 40
    const quick = 60_000
    expect(await found(quick)).toEqual([])
    const first = await talk(['Breakfast?'])
    expect(await found(quick)).toEqual([first])
    // Ten milliseconds are a quarter of what it may take.
    expect(await found(slow)).toEqual([first])
    const second = await talk(['Breakfast!'])
    expect(await found(slow)).toEqual([first])
    expect(await found(slow, { ...scope, company: 'https://other.example' })).toEqual([])
    await scope.db.query.deleteFrom('poppy_conversations').where('id', '=', first).execute()
    expect(await found(slow)).toEqual([])
    ticks += rememberedFor
    expect(await found(slow)).toEqual([second])
  })

  test('never finds what another Company has', async () => {
    const { scope, talk, search, searchOn } = await begin()
    const other = { ...scope, company: 'https://other.example' }
    const id = await talk(['A secret word'], { id: 'cnv_theirs', account: 'ada', notes: 1 }, other)
    await insertNote(other, {
      ...{ conversation_id: id, number: 1, kind: 'note', who: '{}', text: 'secret note', data: null, created_at: now },
    })
    await insertOperation(other, {
      operation: operationRow({ id: 'opn_theirs', conversation_id: id }),
      revision: revisionRow({ operation_id: 'opn_theirs' }),
      entry: { event: 'proposed', channel: 'http', who: {} },
    })
    for (const text of [id, 'opn_theirs', 'ada', 'agent.example', agent, 'secret', 'secret note'])
      expect(await search(text)).toMatchObject({ ids: [], operations: [], since: null })
    for (const since of [`open.${now * 2}.${id}.5`, `open.0.${id}.5`, `named.${now * 2}.zzz`])
      expect((await search('secret', { since })).ids).toEqual([])
    const { lastMessages } = createStaffReading(conversationParts(scope).parts)
    expect((await lastMessages([id])).size).toBe(0)
    expect((await searchOn('secret')).ids).toEqual([])
  })

  test('finds by an index what has one', async () => {
    const { scope } = await begin()
    await insertMany(scope, { open: 3000, closed: 20_000, done: 3000, newest: now })
    const { db, plans } = explained(scope.db)
    const watched = { scope: { db, company }, now, budget: { ...all, rows: 1000 } }
    for (const text of ['nobody', 'none.example', 'https://none.example/a', 'opn_none', 'of closed number'])
      await searchConversations(watched, { text, limit: 5 })
    const asked = await plans()
    expect(asked.length).toBeGreaterThan(20)
    expect(asked.join('\n')).not.toMatch(/Seq Scan|^SCAN (?:poppy_|[a-z]$)|TEMP B-TREE|(?<!Incremental )Sort(?! Key)/m)
  })
})

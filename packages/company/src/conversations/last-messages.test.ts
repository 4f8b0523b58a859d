import type { WireEventMessage } from '@poppyseed/protocol'
import { describe, expect, it } from 'vitest'
import { conversationParts } from '../../../../test/setup/conversation-parts.ts'
import { conversationRow } from '../../../../test/setup/conversation-rows.ts'
import { explained } from '../../../../test/setup/plans.ts'
import { minutes, now } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import type { Scope } from '../store/database.ts'
import { lastMessages } from './last-messages.ts'
import { noteSeen } from './presence.ts'
import { createStaffReading } from './staff-reading.ts'

/** What a row of a list shows of a conversation, and who of the staff is here. */

const company = 'https://miramar.example'

type Told = Partial<WireEventMessage> | 'state' | 'user_requested'

describe.each(stores)('A row of a list on $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  async function begin() {
    const scope: Scope = { db: await (await fresh()).open(), company }
    async function talk(id: string, told: readonly Told[]): Promise<string> {
      await scope.db.query
        .insertInto('poppy_conversations')
        .values({ ...conversationRow({ id, last_event: told.length }), company })
        .execute()
      for (const [index, one] of told.entries()) {
        const type = typeof one === 'string' ? one : 'message'
        const message = typeof one === 'string' ? {} : { message: { id: 'm', role: 'user', sender: 'agent', ...one } }
        const isOwn = typeof one !== 'string' && one.role !== 'company'
        await scope.db.query
          .insertInto('poppy_events')
          .values({
            ...{
              company,
              conversation_id: id,
              number: index + 1,
              type: isOwn ? `${type}.own` : type,
              written_for: null,
            },
            ...{ body: JSON.stringify({ id: 'evt', type, ...message }), created_at: now + index },
          })
          .execute()
      }
      return id
    }
    return { scope, talk }
  }

  test('has who spoke last and what, whatever happened since', async () => {
    const { scope, talk } = await begin()
    const ids = [
      await talk('agent', [
        { text: 'First' },
        { text: 'Of the\n  agent' },
        'state',
        'user_requested',
        'state',
        'state',
        'state',
      ]),
      await talk('user', [{ sender: 'human', text: 'Of the User' }, { context: { user_available: false } }]),
      await talk('company', [{ text: 'Hm' }, { role: 'company', text: 'Of the Company Agent' }]),
      await talk('staff', [{ role: 'company', sender: 'human', text: 'Of staff' }, 'state']),
      await talk('data', [{ text: 'Before' }, { role: 'company', sender: 'human', data: { price: 5 } }]),
      await talk('context', [{ text: 'Before' }, ...Array.from({ length: 4 }, () => ({ context: { locale: 'de' } }))]),
      await talk('nothing', ['state']),
    ]
    const last = await lastMessages(scope, [...ids, 'gone'])
    expect(Object.fromEntries([...last].map(([id, { by, text }]) => [id, `${by}: ${text}`]))).toEqual({
      agent: 'agent: Of the agent',
      user: 'user: Of the User',
      company: 'company-agent: Of the Company Agent',
      staff: 'staff: Of staff',
      data: 'staff: ',
      context: 'agent: ',
    })
    expect(last.get('agent')).toMatchObject({ sender: 'agent', at: now + 1 })
    expect(await lastMessages(scope, [])).toEqual(new Map())
  })

  test('is cut, and never in the middle of a character', async () => {
    const { scope, talk } = await begin()
    await talk('long', [{ text: 'long '.repeat(6000) }])
    await talk('birds', [{ text: `x${'🦜'.repeat(500)}` }])
    await talk('blank', [{ text: `${' '.repeat(5000)}late` }])
    await talk('odd', [{ text: '\ud83e\u0000\u202e <b>&' }])
    const last = await lastMessages(scope, ['long', 'birds', 'blank', 'odd'])
    const text = (id: string) => last.get(id)?.text ?? ''
    expect(text('long')).toHaveLength(201)
    expect(text('birds')).toBe(`x${'🦜'.repeat(99)}…`)
    expect(text('birds').isWellFormed()).toBe(true)
    expect(text('blank')).toBe('…')
    expect(text('odd')).toContain('<b>&')
  })

  test('takes one statement for a page', async () => {
    const { scope, talk } = await begin()
    for (let number = 0; number < 20; number++) await talk(`cnv_${number}`, [{ text: `Number ${number}` }])
    const { db, plans } = explained(scope.db)
    const reading = createStaffReading(conversationParts({ db, company }).parts)
    const last = await reading.lastMessages(Array.from({ length: 20 }, (_, number) => `cnv_${number}`))
    expect(last.size).toBe(20)
    expect(await plans()).toHaveLength(1)
    expect(await reading.lastMessages(['a\0b', '', ' ', 'cnv_1'])).toHaveProperty('size', 1)
    for (const ids of ['cnv_1', [5], Array.from({ length: 201 }, () => 'cnv_1')])
      await expect(reading.lastMessages(ids as string[])).rejects.toThrow(TypeError)
  })

  test('colleagues are those who were seen within two minutes', async () => {
    const { scope } = await begin()
    await noteSeen(scope, { id: 'rita', name: 'Rita' }, now)
    await noteSeen(scope, { id: 'omar', name: 'Omar' }, now - minutes(1))
    await noteSeen(scope, { id: 'lea', name: 'Lea' }, now - minutes(2))
    await noteSeen({ ...scope, company: 'https://other.example' }, { id: 'eve', name: 'Eve' }, now)
    const { colleagues } = createStaffReading(conversationParts(scope).parts)
    expect(await colleagues()).toEqual([
      { id: 'omar', name: 'Omar' },
      { id: 'rita', name: 'Rita' },
    ])
  })
})

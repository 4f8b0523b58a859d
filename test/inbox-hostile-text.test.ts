import { operation, unknown } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { asked, lists, openBookings, signedIn } from './setup/bookings.ts'
import { converse, said, standingOf } from './setup/converse.ts'
import { patiently } from './setup/front-desk.ts'
import { atDesk, pageOf, staffLogin } from './setup/inbox.ts'

// What strangers write stands on staff's pages: in messages, data, names, contexts, reasons, proposals and results. All of it is
// text there, wherever it is.

const nasty = [
  '</script><script>alert(1)</script>',
  '<!--<script>',
  '<img src=x onerror=alert(1)>',
  '"><svg onload=alert(1)>',
  "'-alert(1)-'",
  ']]>',
  '\u2028\u2029',
  '{{constructor.constructor("alert(1)")()}}',
  'javascript:alert(1)',
].join(' ')

/** Nothing that a browser would run, or take for an element of its own. */
function harmless(text: string): void {
  const [, state = ''] = /id="inbox-view">(.*?)<\/script>/s.exec(text) ?? []
  const drawn = text.replace(state, '')
  const found = [
    ...(/<(?:img src=x|svg onload|!--)|<script>alert|href="javascript:/i.exec(drawn) ?? []),
    ...(/[<\u2028\u2029]/.exec(state) ?? []),
  ]
  expect(found).toEqual([])
  expect([text.match(/<script/g)?.length, text.match(/<\/script>/g)?.length]).toEqual([3, 3])
}

describe('what strangers wrote, on the pages of staff', () => {
  it('is text: in messages, data, context, an agent’s name, reasons, notes, and what is typed again', async () => {
    const world = await openBookings({ conversations: {}, ...staffLogin })
    const agent = await world.newAgent('https://nasty.example/agent.json')
    agent.documents[agent.clientId] = { ...(agent.documents[agent.clientId] as object), client_name: nasty }
    lists(agent, { [nasty]: { version: nasty }, operations: { version: '1' } })
    const { access_token } = await world.start(agent)
    const rita = atDesk(world, 'rita')
    await rita.page()
    const talk = converse(agent, access_token)
    const message = said(nasty, {
      data: { [nasty]: nasty, list: [{ [nasty]: nasty }], deep: { [nasty]: { [nasty]: [nasty, { a: nasty }] } } },
      context: { [nasty]: nasty, locale: 'de', about: { [nasty]: [nasty] } },
    })
    const id = (await standingOf(await talk.start(message))).conversation_id
    await rita.on(id, 'take')
    for (const [act, fields] of [
      ['note', { text: nasty }],
      ['reply', { text: nasty, 'data.0.name': nasty.slice(0, 90), 'data.0.value': nasty }],
      ['ask-for-user', { reason: nasty }],
      ['ask-for-sign-in', { scope: 'poppy:read', text: nasty }],
    ] as const)
      expect([act, (await rita.on(id, act, fields)).status]).toEqual([act, 200])
    for (const path of [
      '',
      '?list=open',
      `?q=${encodeURIComponent(nasty)}`,
      `/conversations/${id}`,
      `/conversations/${id}?list=mine`,
    ]) {
      const answer = await rita.get(path)
      const { text, view } = await pageOf(answer)
      expect([path, answer.status]).toEqual([path, 200])
      harmless(text)
      // What is looked at is there.
      if (path.includes('open') || path.includes(id)) expect(JSON.stringify(view).includes('alert(1)')).toBe(true)
    }
    const { token, once } = (await rita.look()).view
    const entered = { token, once, text: '', [`data.0.${nasty}`]: nasty, 'data.0.name': nasty, 'data.0.value': nasty }
    harmless((await pageOf(await rita.post(`/conversations/${id}/reply`, entered))).text)
    harmless((await pageOf(await rita.post(`/conversations/${id}/note`, { ...entered, token: nasty }))).text)
    harmless((await pageOf(await rita.get(`/conversations/${encodeURIComponent(nasty)}`))).text)
    harmless(
      (await pageOf(await rita.get(`?list=${encodeURIComponent(nasty)}&done=${encodeURIComponent(nasty)}`))).text,
    )
  })

  it('is no word of the company’s: a language is one, and nothing that a tag may say beside', async () => {
    const world = await openBookings({ conversations: {}, ...staffLogin })
    const rita = atDesk(world, 'rita')
    await rita.page()
    const { access_token } = await world.start()
    const talk = converse(world.agent, access_token)
    for (const [locale, shown] of [
      ['x-signed-in', null],
      ['signed-in', null],
      ['de-AT-x-signed-in', 'de-AT'],
      ['zh-Hant-TW', 'zh-Hant-TW'],
    ] as const) {
      const { conversation_id: id } = await standingOf(await talk.start(said('Hello', { context: { locale } })))
      expect([locale, (await rita.open(id)).personLocale]).toEqual([locale, shown])
      expect((await rita.page(`/conversations/${id}`)).text).not.toMatch(/fact-language[^<]*signed/)
    }
  })

  it('is text in what they propose, and in what came of it', async () => {
    const world = await openBookings({
      ...staffLogin,
      operations: [
        operation({
          name: 'write_card',
          description: 'Writes a card for the room.',
          input: z.object({ card: z.string() }),
          scope: 'poppy:write',
          propose: ({ card }) => ({
            summary: `A card: ${card}`,
            terms: { card, [card.slice(0, 50)]: [card, { [card]: card }] },
          }),
          perform: () => unknown(),
          reconcile: () => unknown(),
        }),
      ],
    })
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id: id } = await agent.propose('write_card', { card: nasty })
    await agent.confirm(id, { revision: 1, approved_by: 'user' })
    await expect.poll(async () => (await world.company.operations.unsettled()).length, patiently).toBe(1)
    const rita = atDesk(world, 'rita')
    for (const path of ['?list=settle', `/operations/${id}`]) harmless((await rita.page(path)).text)
    const settled = await rita.act(`/operations/${id}/settle`, { outcome: 'failed', reason: nasty, why: nasty })
    expect(settled.status).toBe(200)
    harmless((await rita.page(`/operations/${id}`)).text)
  })
})

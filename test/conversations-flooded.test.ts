import { describe, expect, it } from 'vitest'
import { visitHostileCompany } from './setup/hostile-company.ts'
import { followed, talking } from './setup/talks.ts'

// A Company that answers each read at once and for ever: the Personal Agent neither fills its memory nor asks without a pause.

type Page = { readonly events: readonly object[]; readonly cursor: string }

/** A conversation whose reads are answered by `page`, until there were `most`. */
async function flooded(page: (read: number) => Page, most: number) {
  const stop = new AbortController()
  let reads = 0
  let isFlooded = false
  const talk = await talking(
    [{ holds: true }],
    {},
    {
      async fetch(url, init) {
        if (!isFlooded || !String(url).includes('/events')) return fetch(url, init)
        if (++reads >= most) stop.abort(new Error('That is enough.'))
        return Response.json({
          conversation_id: talk.conversation.id,
          ...page(reads),
          has_more: true,
          status: 'working',
          responder: 'agent',
        })
      },
    },
  )
  isFlooded = true
  return { ...talk, signal: stop.signal, reads: () => reads }
}

const working = { status: 'working', responder: 'agent' }

const said = (id: string, text: string) => ({
  id: `evt_${id}`,
  type: 'message',
  created_at: '2026-11-30T12:00:00Z',
  message: { id: `msg_${id}`, role: 'company', sender: 'agent', text },
})

describe('a Company that never ends', () => {
  it('and says more and more is heard up to a measure in a reply', async () => {
    const text = 'x'.repeat(400_000)
    const { conversation, signal, reads } = await flooded((read) => {
      const events = Array.from({ length: 5 }, (_, at) => said(`${read}_${at}`, text))
      return { events, cursor: `evt_${read}_4` }
    }, 60)
    const reply = await conversation.answer({ signal })
    expect(reply.outcome).toBe('still_working')
    expect(reply.text.length).toBeLessThan(40_000_000)
    expect(reads()).toBeLessThan(30)
    // What came is handled, and what comes next is read the next time.
    expect(reply.events.length).toBe(reads() * 5)
  })

  it('and says the same again and again is given up in a reply, and asked with pauses where it is followed', async () => {
    const same = (read: number) => ({ events: [said('same', 'Again.')], cursor: `evt_${read}` })
    const one = await flooded(same, 1500)
    expect(await one.conversation.answer({ signal: one.signal })).toMatchObject({
      outcome: 'still_working',
      text: 'Again.',
    })
    const two = await flooded(same, 1500)
    two.waits.splice(0)
    await expect(followed(two.conversation, () => false, { signal: two.signal })).rejects.toThrow('That is enough.')
    expect(two.waits.length).toBeGreaterThan(1000)
  })

  it('and asks for this right and that one by turns, which it has, is told to go on a few times and no more', async () => {
    const stop = new AbortController()
    let reads = 0
    let told = 0
    let isFlooded = false
    const { session, signIn } = await visitHostileCompany(
      {},
      {
        async fetch(url, init) {
          if (isFlooded && String(url).includes('/messages')) told += 1
          if (!isFlooded || !String(url).includes('/events')) return fetch(url, init)
          if (++reads >= 60) stop.abort(new Error('That is enough.'))
          const event = {
            id: `evt_${reads}`,
            type: 'authorization',
            created_at: '2026-11-30T12:00:00Z',
            error: 'insufficient_scope',
            scope: reads % 2 === 0 ? 'poppy:read' : 'poppy:read poppy:write',
          }
          const { id } = conversation
          return Response.json({ conversation_id: id, events: [event], cursor: event.id, has_more: true, ...working })
        },
      },
    )
    const here = await session()
    await signIn(here, ['poppy:read', 'poppy:write'])
    const conversation = await here.conversations.start('Hello.')
    isFlooded = true
    await expect(followed(conversation, () => false, { signal: stop.signal })).rejects.toThrow('That is enough.')
    expect(told).toBe(10)
  })
})

import { describe, expect, it } from 'vitest'
import { pageOf, said, words } from './setup/converse.ts'
import { stores } from './setup/stores.ts'
import { openStreams, reply } from './setup/streaming.ts'

/** Reads that are held until there is something to return (7.5). None of these tests waits for the time to pass. */

describe.each(stores)('A read that waits on $name', ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  async function open() {
    const company = await openStreams(await fresh())
    const id = await company.start()
    const { cursor } = await pageOf(await company.talk.read(id))
    /** Begins to wait: another request has gone its way after it. */
    async function wait() {
      const answer = company.talk.read(id, `?cursor=${cursor}&wait=30`)
      await company.talk.read(id)
      return answer
    }
    return { ...company, id, cursor, wait }
  }
  async function isAnswered(answer: Promise<unknown>, meanwhile: () => Promise<unknown>): Promise<boolean> {
    let done = false
    void answer.then(() => {
      done = true
    })
    for (let turn = 0; turn < 4; turn++) await meanwhile()
    return done
  }

  test('ends with what another instance writes, and has what came before it too [7.5.wait, 7.5.read-fields, 7.5.cursor]', async () => {
    const { id, wait, write, talk } = await open()
    const waiting = Promise.all([wait(), wait()])
    // Own messages end nobody's wait, whatever the status, and are returned with what does.
    await talk.send(id, said('And parking?'))
    expect(await isAnswered(waiting, () => talk.read(id))).toBe(false)
    await write(id, [reply('Yes.')])
    for (const answer of await waiting) {
      const page = await pageOf(answer)
      expect(words(page.events)).toEqual(['user as agent: And parking?', 'agent: Yes.'])
      expect(page).toMatchObject({
        conversation_id: id,
        cursor: page.events.at(-1)?.id,
        has_more: false,
        status: 'working',
        responder: 'agent',
      })
    }
  })

  test('isn’t ended by the working that an own message causes, but by any other change of status', async () => {
    const { id, write, talk } = await open()
    await write(id, [{ type: 'state', status: 'idle', responder: 'agent' }], { status: 'idle' })
    const { cursor } = await pageOf(await talk.read(id))
    const waiting = talk.read(id, `?cursor=${cursor}&wait=30`)
    await talk.read(id)
    await talk.send(id, said('And parking?'))
    expect(await isAnswered(waiting, () => talk.read(id))).toBe(false)
    await write(id, [{ type: 'state', status: 'idle', responder: 'human' }], { status: 'idle', responder: 'human' })
    expect(words((await pageOf(await waiting)).events)).toEqual([
      'user as agent: And parking?',
      'working/agent',
      'idle/human',
    ])
  })

  test('answers at once where there is something already, and an empty list where the time is up [7.5.wait, 7.5.cursor]', async () => {
    const { id, cursor, talk, write } = await open()
    expect(await pageOf(await talk.read(id, `?cursor=${cursor}&wait=0.05`))).toMatchObject({
      events: [],
      cursor,
      has_more: false,
    })
    await write(id, [reply('One.')])
    expect(words((await pageOf(await talk.read(id, `?cursor=${cursor}&wait=30`))).events)).toEqual(['agent: One.'])
    await talk.close(id)
    const { cursor: last } = await pageOf(await talk.read(id))
    expect(await pageOf(await talk.read(id, `?cursor=${last}&wait=30`))).toMatchObject({ events: [], status: 'closed' })
  })

  test('gives pages in order, and says when there is more [7.5.order, 7.5.after-cursor, 7.5.event-fields]', async () => {
    const { id, talk, write } = await open()
    await write(
      id,
      Array.from({ length: 228 }, (_, index) => reply(`Reply ${index}.`)),
    )
    const sizes: number[] = []
    const seen: string[] = []
    let cursor: string | null = null
    for (;;) {
      const page = await pageOf(await talk.read(id, `?wait=30${cursor === null ? '' : `&cursor=${cursor}`}`))
      sizes.push(page.events.length)
      for (const event of page.events) {
        expect(event).toMatchObject({
          id: expect.stringMatching(/^evt_/),
          created_at: expect.stringMatching(/^\d{4}-.*Z$/),
        })
        if (event.type === 'message' && event.message.role === 'company') seen.push(event.message.text ?? '')
      }
      cursor = page.cursor
      if (!page.has_more) break
    }
    expect(sizes).toEqual([100, 100, 30])
    expect(seen).toEqual(Array.from({ length: 228 }, (_, index) => `Reply ${index}.`))
  })

  test('with a message of its own waits for the reply to it [7.3.wait]', async () => {
    const { id, cursor, talk, write } = await open()
    const waiting = talk.send(id, said('And parking?'), `?cursor=${cursor}&wait=30`)
    while ((await pageOf(await talk.read(id, `?cursor=${cursor}`))).events.length === 0) await new Promise(setImmediate)
    await write(id, [reply('Yes.')])
    const answer = await waiting
    expect(answer.status).toBe(202)
    expect(words((await pageOf(answer)).events)).toEqual(['user as agent: And parking?', 'agent: Yes.'])
  })
})

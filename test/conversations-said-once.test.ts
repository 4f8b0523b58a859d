import { memoryStore, type PersonalAgentOptions } from '@poppyseed/agent'
import { describe, expect, it } from 'vitest'
import { agentErrorOf, endOf, type Faults, using } from './setup/hostile-company.ts'
import { followed, saying, talking, told } from './setup/talks.ts'

// What is said is said once, whatever becomes of answers and processes; what is read is handled, and then never again.

const lost: Faults = { delivery: 'lost' }

describe('a message whose answer is lost', () => {
  it('is sent again with the same ID, first or later, and is there once [K44, 7.3.retry-same-id-agent, 7.3.message-id-unique-agent]', async () => {
    const { here, company, conversation, book, waits } = await talking([])
    company.next(2, using(lost), 'conversations')
    const other = await here.conversations.start('A new one.')
    expect(company.conversations.entries.map(({ id }) => id)).toEqual([conversation.id, other.id])
    for (const delivery of ['lost', 'cut', 'html', 'not_json', 'empty'] as const) {
      company.next(2, { delivery }, 'conversations')
      await conversation.send(`It is ${delivery}.`)
    }
    company.next(2, { gateway: 'html_502' }, 'conversations')
    await conversation.sendAsUser('Never arrived, twice.')
    const texts = book().received.map(({ text }) => text)
    expect(texts).toEqual([
      'Hello.',
      ...['lost', 'cut', 'html', 'not_json', 'empty'].map((one) => `It is ${one}.`),
      'Never arrived, twice.',
    ])
    expect(new Set(book().received.map(({ id }) => id)).size).toBe(7)
    expect(waits.every((wait) => wait >= 1000)).toBe(true)
    expect(company.findings).toEqual([])
  })

  it('has an ID of the right form, with a prefix, and another one each time [7.2.id-format-agent, 7.2.id-prefix-agent]', async () => {
    const { conversation, book } = await talking([])
    for (const text of ['Yes.', 'Yes.']) await conversation.send(text)
    const ids = book().received.map(({ id }) => id)
    for (const id of ids) expect(id).toMatch(/^msg_[A-Za-z0-9_-]{22}$/)
    expect(new Set(ids).size).toBe(3)
  })

  it('with wait is answered as if nothing had happened [K44]', async () => {
    const { conversation, company, book } = await talking([{ say: 'Hi.' }])
    company.conversations.script([{ say: 'Once.' }])
    company.next(2, lost, 'conversations')
    const reply = await conversation.reply('Say it once.')
    expect([reply.text, reply.outcome]).toEqual(['Hi.\n\nOnce.', 'answered'])
    expect([book().received.length, company.findings]).toEqual([2, []])
  })

  it('for good is told, and the same once more is the same message [K44]', async () => {
    const { here, conversation, company, book } = await talking([])
    company.next(3, lost, 'conversations')
    expect(await endOf(conversation.send('Cancel it.'))).toBe('unreachable')
    expect(
      (await here.conversations.unsent()).map(({ text, conversationId, isOwners }) => [text, conversationId, isOwners]),
    ).toEqual([['Cancel it.', conversation.id, false]])
    await conversation.send('Cancel it.')
    expect(book().received.map(({ text }) => text)).toEqual(['Hello.', 'Cancel it.'])
    // Said again on purpose it is another one.
    await conversation.send('Cancel it.')
    expect(book().received).toHaveLength(3)
    expect([await here.conversations.unsent(), company.findings]).toEqual([[], []])
  })

  it('and that starts a conversation opens no second one, also after the answer and from a renewed Session [K44]', async () => {
    const { here, company, clock } = await talking([])
    company.next(3, lost, 'conversations')
    expect(await endOf(here.conversations.start('The jacket.'))).toBe('unreachable')
    clock.now += 1800_000
    await here.signOut()
    const conversation = await here.conversations.start('The jacket.')
    expect(company.conversations.entries).toHaveLength(2)
    expect((await conversation.answer()).text).toBe('Heard: The jacket.')
    // Hours later the same words are a new matter.
    company.next(3, lost, 'conversations')
    expect(await endOf(here.conversations.start('The jacket.'))).toBe('unreachable')
    clock.now += 2 * 3600_000
    await here.conversations.start('The jacket.')
    expect([company.conversations.entries.length, company.findings]).toEqual([4, []])
  })

  it('and whose retry is asked to sign in is still the same message afterwards, and is there once [K44]', async () => {
    let between = () => {}
    const { here, conversation, company, book } = await talking([], {}, { wait: async () => between() })
    const refuses = () => company.next(1, using({ refuse: 'sign_in_required' }), 'conversations')
    between = refuses
    company.next(1, lost, 'conversations')
    expect(await endOf(conversation.send('Cancel it.'))).toBe('sign_in_required')
    expect((await here.conversations.unsent()).map(({ text }) => text)).toEqual(['Cancel it.'])
    // Sent again by whoever comes next, it is refused once more, and may still have been said.
    refuses()
    expect((await here.conversations.resumeSending())[0]?.error?.code).toBe('sign_in_required')
    await conversation.send('Cancel it.')
    expect(book().received.map(({ text }) => text)).toEqual(['Hello.', 'Cancel it.'])
    // Refused before anything can have arrived, it was not said.
    refuses()
    expect(await endOf(conversation.send('And more.'))).toBe('sign_in_required')
    expect([await here.conversations.unsent(), company.findings]).toEqual([[], []])
  })

  it('and whose retry is refused by something in between, which knows nothing of it, is still the same message [K44]', async () => {
    let refuses = 0
    const between: NonNullable<PersonalAgentOptions['fetch']> = async (url, init) => {
      if (init?.method !== 'POST' || !String(url).endsWith('/messages') || --refuses !== 0) return fetch(url, init)
      return new Response('<h1>Not Found</h1>', { status: 404, headers: { 'content-type': 'text/html' } })
    }
    const { here, conversation, company, book } = await talking([], {}, { fetch: between })
    company.next(1, lost, 'conversations')
    refuses = 2
    expect(await endOf(conversation.send('Cancel it.'))).toBe('call_failed')
    expect((await here.conversations.unsent()).map(({ text }) => text)).toEqual(['Cancel it.'])
    await conversation.send('Cancel it.')
    expect(book().received.map(({ text }) => text)).toEqual(['Hello.', 'Cancel it.'])
    // Refused at once, it can't have arrived.
    refuses = 1
    expect(await endOf(conversation.send('And more.'))).toBe('call_failed')
    expect([await here.conversations.unsent(), company.findings]).toEqual([[], []])
  })

  it('is sent in its turn where several are left over, and none of them is forgotten [K44]', async () => {
    const { here, conversation, company, book, clock } = await talking([])
    for (const text of ['The jacket.', 'The green one.', 'Size M.']) {
      company.next(3, using({ gateway: 'html_502' }), 'conversations')
      expect(await endOf(conversation.send(text))).toBe('company_error')
      clock.now += 1000
    }
    // Where the first of them doesn't get through, none comes before it.
    company.next(3, using({ gateway: 'html_502' }), 'conversations')
    const failed = await here.conversations.resumeSending()
    expect(failed.map(({ error }) => error?.code)).toEqual(['company_error', 'company_error', 'company_error'])
    expect([book().received.length, (await here.conversations.unsent()).length]).toEqual([1, 3])
    expect((await here.conversations.resumeSending()).map(({ error }) => error)).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(book().received.map(({ text }) => text)).toEqual(['Hello.', 'The jacket.', 'The green one.', 'Size M.'])
    expect([await here.conversations.unsent(), company.findings]).toEqual([[], []])
  })

  it('is not sent after what was said since: it would contradict that', async () => {
    const { here, conversation, company, book, clock } = await talking([])
    company.next(3, using({ gateway: 'html_502' }), 'conversations')
    expect(await endOf(conversation.send('Cancel it.'))).toBe('company_error')
    await conversation.send('Keep it.')
    expect(await here.conversations.resumeSending()).toEqual([])
    expect(book().received.map(({ text }) => text)).toEqual(['Hello.', 'Keep it.'])
    // Also where that was said once more, after something that may not have arrived either.
    for (const text of ['Cancel it.', 'No, keep it.']) {
      company.next(3, using({ gateway: 'html_502' }), 'conversations')
      expect(await endOf(conversation.send(text))).toBe('company_error')
      clock.now += 1000
    }
    await conversation.send('Cancel it.')
    expect(await here.conversations.resumeSending()).toEqual([])
    expect(book().received.map(({ text }) => text)).toEqual(['Hello.', 'Keep it.', 'Cancel it.'])
  })

  it('isn’t sent again where somebody discards it, or where it was refused', async () => {
    const { here, conversation, company, book } = await talking([])
    company.next(3, using({ gateway: 'html_502' }), 'conversations')
    expect(await endOf(conversation.send('Cancel it.'))).toBe('company_error')
    const [unsent] = await here.conversations.unsent()
    await here.conversations.discard(unsent?.id ?? '')
    expect(await here.conversations.resumeSending()).toEqual([])
    await conversation.close()
    expect(await endOf(conversation.send('Hello?'))).toBe('conversation_closed')
    expect([await here.conversations.unsent(), book().received.length]).toEqual([[], 1])
  })
})

describe('a process that dies', () => {
  it('while a message is on its way has it in the store, and the next one sends it with the same ID', async () => {
    const store = memoryStore()
    const { here, conversation, company, book } = await talking([], {}, { store, wait: () => new Promise(() => {}) })
    company.next(1, lost, 'conversations')
    // Dies while it waits for another try: nobody goes on with it.
    void here.conversations.start('A new one.')
    await expect.poll(() => company.conversations.entries.length, { timeout: 10_000 }).toBe(2)
    company.next(1, lost, 'conversations')
    void conversation.sendAsUser('My own words.')
    await expect.poll(() => book().received.length, { timeout: 10_000 }).toBe(2)

    const [started, said] = await here.conversations.resumeSending()
    expect([started?.conversation?.id, started?.error]).toEqual([company.conversations.entries[1]?.id, undefined])
    expect([said?.conversation?.id, said?.error]).toEqual([conversation.id, undefined])
    expect(book().received.map(({ sender, text }) => [sender, text])).toEqual([
      ['agent', 'Hello.'],
      ['human', 'My own words.'],
    ])
    expect([await here.conversations.resumeSending(), company.conversations.entries.length]).toEqual([[], 2])
    expect(company.findings).toEqual([])
  })

  it('with an event in hand gets it again, and nothing that it had handled [K43, 7.5.in-order-agent]', async () => {
    for (const stream of ['streams', 'json'] as const) {
      const { here, conversation, company, book } = await talking(saying('One', 'Two', 'Three'), { stream })
      const seen: string[] = []
      for (let life = 0; life < 20; life++) {
        const again = await here.conversations.open(conversation.id)
        let isOver = true
        for await (const event of again.follow()) {
          isOver = false
          seen.push('id' in event ? event.id : event.type)
          // Every other life ends with the event in hand.
          if (life % 2 === 1) await again.handled(event)
          break
        }
        if (isOver) break
      }
      const all = book().events.map(({ id }) => id)
      expect(seen).toEqual(all.flatMap((id) => [id, id]))
      expect(company.findings).toEqual([])
    }
  })

  it('because a handler throws gets the event again, and the error is its own', async () => {
    const { conversation } = await talking(saying('One'))
    const throwing = (async () => {
      for await (const event of conversation.follow()) if (event.type === 'message') throw new Error('mine')
    })()
    await expect(throwing).rejects.toThrow('mine')
    expect(told(await followed(conversation))).toEqual(['One'])
  })
})

describe('reading', () => {
  it('stops when it is told to, with that reason, and leaves nothing behind: fifty readers, one after another', async () => {
    const { conversation, company, book } = await talking([{ holds: true }])
    const kinds = () =>
      process
        .getActiveResourcesInfo()
        .filter((kind) => kind !== 'Immediate')
        .sort()
    const before = kinds().filter((kind) => kind === 'Timeout').length
    for (let at = 0; at < 50; at++) {
      const stop = new AbortController()
      const reading = followed(conversation, () => false, { signal: stop.signal })
      const end = reading.then(
        () => 'ended',
        (error: unknown) => (error instanceof Error ? error.message : 'odd'),
      )
      await expect.poll(() => book().listeners.size, { timeout: 30_000 }).toBeGreaterThan(0)
      stop.abort(new Error(`enough ${at}`))
      expect(await end).toBe(`enough ${at}`)
    }
    await expect.poll(() => book().listeners.size, { timeout: 10_000 }).toBe(0)
    await expect
      .poll(() => kinds().filter((kind) => kind === 'Timeout').length, { timeout: 10_000 })
      .toBeLessThanOrEqual(before + 2)
    expect(company.findings).toEqual([])
  })

  it('by stream and replying at once is one too many', async () => {
    const { conversation, live } = await talking([{ holds: true }])
    const following = followed(conversation)
    await live({ say: 'One' }, { holds: true })
    expect((await agentErrorOf(conversation.reply('Two'))).code).toBe('invalid_input')
    await live({ closes: true })
    expect(told(await following)).toEqual(['One'])
  })
})

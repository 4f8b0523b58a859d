import type { ConversationEntry } from '@poppyseed/conformance'
import { describe, expect, it } from 'vitest'
import { agentErrorOf, endOf, using } from './setup/hostile-company.ts'
import { followed, talking, told } from './setup/talks.ts'

// What this side keeps of a conversation, where the Company says otherwise meanwhile; and who may read it here, one at a time.

describe('what is kept of a conversation', () => {
  it.each(['send', 'reply', 'handoff', 'direct'] as const)(
    'is closed once the Company says so to whoever speaks there (%s), also for who opens it later',
    async (verb) => {
      const { here, conversation, company } = await talking([{ say: 'Hi.' }])
      await conversation.answer()
      company.conversations.say(conversation.id, { closes: true })
      const ways = {
        send: () => conversation.send('Are you there?'),
        reply: () => conversation.reply('Are you there?'),
        handoff: () => conversation.handoff(),
        direct: () => conversation.direct('Are you there?'),
      }
      expect(await endOf(ways[verb]())).toBe('conversation_closed')
      expect(conversation.status).toBe('closed')
      expect(await here.conversations.list()).toMatchObject([
        { id: conversation.id, status: 'closed', isUnknown: false },
      ])
      expect((await here.conversations.open(conversation.id)).status).toBe('closed')
    },
  )

  it('is closed where a message that was on its way comes too late', async () => {
    const { here, conversation, company } = await talking([{ say: 'Hi.' }])
    await conversation.answer()
    company.next(3, using({ gateway: 'html_502' }), 'conversations')
    expect(await endOf(conversation.send('Late.'))).toBe('company_error')
    company.conversations.say(conversation.id, { closes: true })
    const [late] = await here.conversations.resumeSending()
    expect(late?.error?.code).toBe('conversation_closed')
    expect((await here.conversations.list())[0]?.status).toBe('closed')
  })

  it('is told as unknown once the Company knows no such conversation, until it does again', async () => {
    const { here, conversation, company } = await talking([{ say: 'Hi.' }])
    await conversation.answer()
    const books = company.conversations.entries as ConversationEntry[]
    const [entry] = books.splice(0)
    if (!entry) throw new Error('no such conversation')
    for (const work of [
      () => conversation.send('Are you there?'),
      () => conversation.answer(),
      () => followed(conversation),
    ]) {
      expect(await endOf(work())).toBe('conversation_not_found')
      expect(await here.conversations.list()).toMatchObject([{ id: conversation.id, isUnknown: true }])
    }
    books.push(entry)
    expect((await conversation.reply('And now?')).outcome).toBe('answered')
    expect(await here.conversations.list()).toMatchObject([{ isUnknown: false }])
  })
})

describe('a conversation is read by one at a time in a process', () => {
  it('a second follower is told so, whichever object it has, and the first goes on', async () => {
    const { here, conversation, company, live } = await talking([{ say: 'Hi.' }])
    const again = await here.conversations.open(conversation.id)
    const first = followed(conversation)
    await live({ say: 'One moment.' })
    for (const work of [
      () => followed(again),
      () => again.answer(),
      () => again.reply('Me too.'),
      () => again.replyToUser('Me too.'),
      () => followed(conversation),
    ]) {
      const error = await agentErrorOf(work())
      expect([error.code, error.message]).toEqual(['invalid_input', expect.stringContaining('already being read')])
    }
    // Saying something is no reading.
    await again.send('I only say something.')
    await live({ say: 'Here I am.' }, { closes: true })
    expect(told(await first)).toEqual(['Hi.', 'One moment.', 'Heard: I only say something.', 'Here I am.'])
    expect(company.conversations.entries[0]?.received.map(({ text }) => text)).toEqual([
      'Hello.',
      'I only say something.',
    ])
    expect(company.findings).toEqual([])
  })

  it('two that wait for an answer at once don’t get the same twice, and nothing of the second is sent', async () => {
    const { here, conversation, company } = await talking([{ say: 'Hi.' }])
    const again = await here.conversations.open(conversation.id)
    const [one, other] = await Promise.all([conversation.reply('First.'), agentErrorOf(again.reply('Second.'))])
    expect([one.text, other.code]).toEqual(['Hi.\n\nHeard: First.', 'invalid_input'])
    expect(company.conversations.entries[0]?.received.map(({ text }) => text)).toEqual(['Hello.', 'First.'])
    expect((await again.reply('Third.')).text).toBe('Heard: Third.')
  })

  it('who has left it, failed, or been stopped makes room', async () => {
    const { here, conversation, company, live } = await talking([{ say: 'Hi.' }])
    const again = await here.conversations.open(conversation.id)
    expect(
      told(await followed(conversation, (event) => event.type === 'message' && event.message.role === 'company')),
    ).toEqual(['Hi.'])
    const stop = new AbortController()
    const stopped = agentOrReason(followed(conversation, () => false, { signal: stop.signal }))
    await live()
    stop.abort(new Error('enough'))
    // At once: what was stopped gives nothing any more.
    const second = followed(again)
    expect(await stopped).toBe('enough')
    await live({ say: 'Still here.' }, { closes: true })
    expect(told(await second)).toEqual(['Still here.'])
    expect(company.findings).toEqual([])
  })

  it('conversations of their own don’t stand in each other’s way', async () => {
    const { here, conversation } = await talking([{ say: 'Hi.' }])
    const other = await here.conversations.start('Another matter.')
    const [one, two] = await Promise.all([conversation.answer(), other.answer()])
    expect([one.text, two.text]).toEqual(['Hi.', 'Heard: Another matter.'])
  })
})

const agentOrReason = (work: Promise<unknown>) =>
  work.then(
    () => 'fine',
    (error: Error) => error.message,
  )

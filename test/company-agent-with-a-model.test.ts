import { MockLanguageModelV4 } from 'ai/test'
import { companyAgent } from 'poppyseed/ai'
import { describe, expect, it } from 'vitest'
import { modelThatWrites } from '../packages/company/test/model.ts'
import { openTalkingSite } from './setup/talking-site.ts'

// A model as the company's own agent, and a personal agent that talks with it, over real HTTP.

describe('a company’s own agent with a model', () => {
  it('looks things up, proposes, and answers with words and data, while each tool has the guest’s rights', async () => {
    const model = modelThatWrites(
      [{ call: 'ask_for_sign_in', input: { tools: ['my_bookings', 'book_room'] } }],
      [{ call: 'my_bookings' }, { call: 'book_room', input: { nights: 2 } }],
      [{ call: 'give_details', input: { details: { nights: 2, price: 260 } } }],
      ['Two nights are proposed; **please confirm**.'],
    )
    const { session, signIn, counts } = await openTalkingSite(companyAgent({ model }))
    const talk = await session.conversations.start('Book two nights for the guest.')
    const reply = await talk.answer({ signIn: ({ scopes }) => signIn(scopes) })
    expect(reply.events.flatMap((event) => (event.type === 'authorization' ? [event.scopes] : []))).toEqual([
      ['poppy:read', 'poppy:write'],
    ])
    const [asks, proposal, words] = reply.messages
    expect(asks?.text).toMatch(/sign.?in/i)
    expect(proposal?.operation).toMatchObject({ state: 'proposed', summary: '2 nights in a sea view room, 260 €.' })
    expect(words).toMatchObject({
      text: 'Two nights are proposed; please confirm.',
      data: { nights: 2, price: 260 },
      sender: 'agent',
    })
    expect(counts).toEqual({ propose: 1, perform: 0 })
    const prompt = JSON.stringify(model.doStreamCalls.at(-1)?.prompt)
    expect(prompt).toContain('The user has signed in. Please go on.')
    expect(prompt).toContain('alone can confirm it')
  })

  it('writes for a person once one writes, and says so to the model [7.4.context-given]', async () => {
    const model = modelThatWrites(['Yes.'])
    const { session } = await openTalkingSite(companyAgent({ model }))
    const talk = await session.conversations.start({ text: 'Is there a lift?', context: { locale: 'de-DE' } })
    await talk.answer()
    await talk.replyToUser('And how many steps?')
    const instructions = model.doStreamCalls.map(({ prompt }) => String(prompt[0]?.content))
    expect(instructions[0]).toContain('An AI reads what you write')
    expect(instructions[1]).toContain('A person reads what you write')
    expect(instructions.every((one) => one.includes('German'))).toBe(true)
    expect(JSON.stringify(model.doStreamCalls[1]?.prompt)).toContain('The customer wrote:\\nAnd how many steps?')
  })

  it('is read while it still writes', async () => {
    const isRead = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    }
    const model = new MockLanguageModelV4({
      doStream: async () => ({
        stream: new ReadableStream({
          async start(out) {
            out.enqueue({ type: 'stream-start', warnings: [] })
            // Pieces are for those who read at that moment.
            await isRead.promise
            out.enqueue({ type: 'text-start', id: '1' })
            out.enqueue({ type: 'text-delta', id: '1', delta: 'Breakfast is **inclu' })
            await goOn.promise
            out.enqueue({ type: 'text-delta', id: '1', delta: 'ded**.' })
            out.enqueue({ type: 'text-end', id: '1' })
            out.enqueue({ type: 'finish', usage, finishReason: { unified: 'stop', raw: undefined } })
            out.close()
          },
        }),
      }),
    })
    const { session } = await openTalkingSite(companyAgent({ model }))
    const talk = await session.conversations.start('Is breakfast included?')
    const pieces: string[] = []
    for await (const event of talk.follow()) {
      isRead.resolve()
      if (event.type === 'delta') {
        pieces.push(event.provisionalText)
        // It can't have ended: the model waits for this.
        goOn.resolve()
      }
      if (event.type === 'message' && event.message.role === 'company') {
        expect(event.message.text).toBe('Breakfast is included.')
        break
      }
    }
    expect(pieces.join('')).toMatch(/^Breakfast is /)
  })
})

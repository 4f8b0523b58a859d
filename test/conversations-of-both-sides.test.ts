import type { Conversation, ConversationEvent } from '@poppyseed/agent'
import type { CompanyAgent } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { openAgentAtSite } from './setup/agent-at-site.ts'
import { bookings, type Counts } from './setup/bookings.ts'
import { followed, told } from './setup/talks.ts'

// Our Personal Agent in conversation with our Company, over real HTTP.

const frontDesk: CompanyAgent = async function* (turn) {
  const asked = turn.asked.map(({ text }) => text ?? '').join(' ')
  const before = turn.history.map(({ text }) => text ?? '').join(' ')
  if (/talk with the user/.test(asked)) yield { type: 'ask-for-user', reason: 'A specialist wants to ask.' }
  else if (/a room/.test(before) && /signed in|a room/.test(asked))
    yield { type: 'call', name: 'book_room', input: { nights: 2 } }
  else if (/my bookings|signed in/.test(asked)) {
    const outcome = yield { type: 'call', name: 'my_bookings', input: {} }
    if (outcome?.ok) yield { type: 'message', text: 'You have two bookings.', data: { bookings: 2 } }
  } else {
    yield { type: 'text', text: 'I heard ' }
    yield { type: 'text', text: `you: ${asked}` }
  }
}

async function open() {
  const counts: Counts = { propose: 0, perform: 0 }
  const { site, company, asked, signIn } = await openAgentAtSite({ operations: bookings(counts), agent: frontDesk })
  const here = company.session()
  return {
    ...{ site, here, asked, counts },
    signIn: ({ scopes }: { readonly scopes: readonly string[] }) => signIn(here, scopes),
  }
}

describe('our two sides', () => {
  it('talk, sign in on the way, propose and confirm [7.11.authorization-agent]', async () => {
    const { here, signIn, asked, counts } = await open()
    const conversation = await here.conversations.start('Hello.')
    expect(await conversation.answer()).toMatchObject({ outcome: 'answered', text: 'I heard you: Hello.' })

    const bookings = await conversation.reply('What are my bookings?', { signIn })
    expect(bookings.outcome).toBe('answered')
    expect(bookings.messages.at(-1)).toMatchObject({ text: 'You have two bookings.', data: { bookings: 2 } })

    const proposal = await conversation.reply('I want a room.', { signIn })
    expect(asked).toEqual([['poppy:read'], ['poppy:read', 'poppy:write']])
    const [operation] = proposal.messages.flatMap((message) => message.operation ?? [])
    expect(operation).toMatchObject({ state: 'proposed', summary: '2 nights in a sea view room, 260 €.' })
    expect(counts).toEqual({ propose: 1, perform: 0 })
    const approve = async () => ({ approved: true })
    expect((await here.operations.confirm(operation?.id ?? '', { approve })).outcome).toBe('confirmed')
    expect((await here.operations.wait(operation?.id ?? '')).state).toBe('succeeded')
    expect(counts.perform).toBe(1)
  })

  it('bring the owner in and let them go again [7.10.ask-user-agent, 7.10.as-written-agent]', async () => {
    const { here } = await open()
    const conversation = await here.conversations.start('Do you want to talk with the user?')
    const reply = await conversation.answer({ onUser: async () => ({ words: 'Hi, it’s me.' }) })
    const direct = reply.direct as Conversation
    expect([reply.outcome, direct.parentId]).toEqual(['direct', conversation.id])
    expect((await direct.answer()).text).toBe('I heard you: Hi, it’s me.')
    await direct.close()
    const rest = followed(conversation)
    await conversation.close()
    expect(told(await rest)).toEqual(['directOpened', 'directClosed'])
  })

  it('stream: what is being written is shown, and then comes whole [7.6.delta-replaced-agent]', async () => {
    const { here } = await open()
    const conversation = await here.conversations.start('Hello.')
    await conversation.answer()
    const events: ConversationEvent[] = []
    const reading = (async () => {
      for await (const event of conversation.follow()) {
        events.push(event)
        if (event.type === 'message' && event.message.role === 'company') await conversation.close()
      }
    })()
    await conversation.send('Are you there?')
    await reading
    const whole = told(events).filter((one) => !one.startsWith('('))
    expect(whole).toEqual(['I heard you: Are you there?'])
    const pieces = events.flatMap((event) => (event.type === 'delta' ? [event.provisionalText] : []))
    expect('I heard you: Are you there?'.startsWith(pieces.join(''))).toBe(true)
    expect(conversation.status).toBe('closed')
  })
})

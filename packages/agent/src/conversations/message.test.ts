import { agentMessageSchema } from '@poppyseed/protocol'
import { describe, expect, it } from 'vitest'
import { AgentError } from '../errors.ts'
import {
  agentContent,
  type ConversationContext,
  contextContent,
  type OutgoingMessage,
  ownersContent,
} from './message.ts'

function codeOf(work: () => unknown): string {
  try {
    work()
    return 'fine'
  } catch (error) {
    if (error instanceof AgentError) return error.code
    throw error
  }
}

describe('what an agent says', () => {
  it('has the agent as its sender, whatever is handed in [7.8.sender-agent, 7.8.human-own-words-agent]', () => {
    expect(agentContent('Hello.')).toEqual({ sender: 'agent', text: 'Hello.' })
    const forged = { text: 'I agree.', sender: 'human', id: 'msg_mine', role: 'user' } as OutgoingMessage
    expect(agentContent(forged)).toEqual({ sender: 'agent', text: 'I agree.' })
    expect(contextContent({}).sender).toBe('agent')
  })

  it('is the owner’s only as they wrote it, and whole [7.8.human-own-words-agent]', () => {
    const words = '  Medium, please.\n\nThanks – M. '
    expect(ownersContent(words)).toEqual({ sender: 'human', text: words })
    for (const wrong of ['', ' \n', 7, null, { text: 'x' }])
      expect(codeOf(() => ownersContent(wrong as string))).toBe('invalid_input')
  })

  it('has at least one of text, data and context [7.4.content-agent]', () => {
    for (const empty of [
      {},
      '',
      '  ',
      null,
      [],
      { text: '' },
      { text: undefined },
      { text: 7 },
      { data: [] },
      { data: 'x' },
    ])
      expect(codeOf(() => agentContent(empty as OutgoingMessage))).toBe('invalid_input')
    expect(agentContent({ data: { size: 'M' } })).toEqual({ sender: 'agent', data: { size: 'M' } })
    expect(agentContent({ context: { userAvailable: false } }).context).toEqual({ user_available: false })
  })

  it('has no JSON for text: data is for that [7.4.no-markup-agent]', () => {
    expect(codeOf(() => agentContent(' {"size": "M"}'))).toBe('invalid_input')
    expect(codeOf(() => agentContent({ text: '[1, 2]', data: { a: 1 } }))).toBe('invalid_input')
    for (const words of ['[sic] is what it says.', '{curly} is my name.', 'Order 1042'])
      expect(agentContent(words).text).toBe(words)
    // What the owner wrote is theirs, whatever it looks like.
    expect(ownersContent('{"a": 1}').text).toBe('{"a": 1}')
  })

  it('is plain JSON of a size that a Company takes', () => {
    const loop: Record<string, unknown> = {}
    loop.again = loop
    let deep: unknown = 1
    for (let level = 0; level < 40; level++) deep = { deep }
    for (const data of [loop, { n: 10n }, { deep }, { long: 'a'.repeat(70_000) }])
      expect(codeOf(() => agentContent({ data }))).toBe('invalid_input')
    expect(codeOf(() => agentContent('a'.repeat(32_001)))).toBe('invalid_input')
    expect(agentContent({ data: { at: new Date(0), gone: undefined } }).data).toEqual({
      at: '1970-01-01T00:00:00.000Z',
    })
  })
})

describe('context', () => {
  it('goes out in the fields and formats of the specification [7.4.context-format-agent]', () => {
    const { context } = contextContent({
      ...{ locale: 'en-US', timeZone: 'America/Los_Angeles', userAvailable: true },
      other: { units: 'metric' },
    })
    expect(context).toEqual({
      ...{ locale: 'en-US', time_zone: 'America/Los_Angeles', user_available: true, units: 'metric' },
    })
    const message = { id: 'msg_1', ...contextContent({ locale: 'de' }) }
    expect(agentMessageSchema.safeParse(message).success).toBe(true)
    expect(contextContent({}).context).toEqual({})
  })

  it('is nothing that nobody gave: the library shares no fact by itself [7.4.share-little-agent]', () => {
    expect(Object.keys(agentContent('Hello.'))).toEqual(['sender', 'text'])
    expect(Object.keys(ownersContent('Hello.'))).toEqual(['sender', 'text'])
  })

  it('is refused in another format, and under another name [7.4.context-format-agent]', () => {
    const wrong: readonly unknown[] = [
      ...[{ locale: 'en_US' }, { locale: 'English' + ' please' }, { locale: 7 }, { locale: '' }],
      ...[{ timeZone: '+02:00' }, { timeZone: 'Pacific' + ' time' }, { timeZone: 'Europe/Atlantis' }, { timeZone: 2 }],
      ...[{ userAvailable: 'yes' }, { userAvailable: 1 }, { userAvailable: null }],
      ...[{ time_zone: 'Europe/Berlin' }, { language: 'de' }, { units: 'metric' }, null, 'de', []],
      ...['locale', 'timezone', 'timeZone', 'time_zone', 'tz', 'language', 'userAvailable', 'user_available'].map(
        (name) => ({ other: { [name]: 'x' } }),
      ),
      ...[{ other: [] }, { other: { text: 'a'.repeat(9000) } }],
    ]
    for (const facts of wrong) {
      expect([facts, codeOf(() => contextContent(facts as ConversationContext))]).toEqual([facts, 'invalid_input'])
    }
  })
})

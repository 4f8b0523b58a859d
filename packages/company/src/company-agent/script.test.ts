import { describe, expect, it } from 'vitest'
import { heard, play, turnOf } from '../../test/turn.ts'
import { scriptedAgent } from './script.ts'

describe('a Company Agent without a model', () => {
  const desk = scriptedAgent({
    rules: [
      { when: /late/gi, say: 'Come as late as you like.' },
      {
        when: /find (\w+)/,
        async *say({ match }) {
          const outcome = yield { type: 'call', name: 'search_rooms', input: { q: match?.[1] } }
          yield `Found: ${outcome?.ok === true ? JSON.stringify(outcome.value) : 'nothing'}.`
        },
      },
      { when: ({ message }) => message.data?.order === true, say: ({ history }) => `Message ${history.length}.` },
      {
        when: /person/,
        async *say() {
          yield { type: 'handoff', reason: 'asked' }
        },
      },
    ],
    otherwise: 'I know about rooms.',
  })

  it('answers by the first rule that fits, each message, and what comes meanwhile', async () => {
    const asked = [heard('May I come late?'), heard('How late?'), heard('What is the weather?')]
    const later = [[heard('find sea')], []]
    const { texts, types } = await play(desk, turnOf({ asked, history: asked, more: async () => later.shift() ?? [] }))
    expect(texts).toEqual([
      'Come as late as you like.',
      'Come as late as you like.',
      'I know about rooms.',
      'Found: {"name":"search_rooms","input":{"q":"sea"}}.',
    ])
    expect(types).toEqual(['message', 'message', 'message', 'call', 'message'])
  })

  it('sees data and history, and says nothing to a message without words', async () => {
    const { text: _, ...wordless } = heard('')
    const history = [heard('a'), heard('b', { from: 'company' }), { ...wordless, data: { order: true } }]
    expect((await play(desk, turnOf({ history, asked: history.slice(-1) }))).texts).toEqual(['Message 3.'])
    expect((await play(desk, turnOf({ asked: [wordless] }))).said).toEqual([])
  })

  it('says nothing after it handed off, and stops when its turn is over', async () => {
    const asked = [heard('A person, please.'), heard('late?')]
    expect((await play(desk, turnOf({ asked }))).said).toEqual([{ type: 'handoff', reason: 'asked' }])
    const signal = AbortSignal.abort(new Error('over'))
    await expect(play(desk, turnOf({ signal }))).rejects.toThrow('over')
  })

  it('has its rules checked at once', () => {
    // @ts-expect-error it has none
    expect(() => scriptedAgent({ otherwise: 'x' })).toThrow(/needs rules/)
    expect(() => scriptedAgent({ rules: [], otherwise: ' ' })).toThrow(/otherwise/)
    // @ts-expect-error it is no pattern
    expect(() => scriptedAgent({ rules: [{ when: 'late', say: 'x' }], otherwise: 'x' })).toThrow(/rule 1/)
  })
})

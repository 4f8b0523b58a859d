import { describe, expect, it } from 'vitest'
import { AgentError } from './errors.ts'
import { generateKey } from './identity/keys.ts'
import { createPersonalAgent, type PersonalAgentOptions } from './personal-agent.ts'
import { memoryStore } from './store/memory.ts'

describe('what a Personal Agent is made of', () => {
  it.each<[string, object, RegExp]>([
    ['a misspelt setting', { alowHttp: true }, /no setting "alowHttp".*allowHttp/],
    ['no name', { name: undefined }, /name is what Companies call/],
    ['an empty name', { name: ' ' }, /name is what Companies call/],
    ['no keys', { keys: undefined }, /keys: \[await generateKey\(\)\]/],
    ['a list without a key', { keys: [] }, /at least one key/],
    ['no store', { store: undefined }, /fileStore/],
    ['a path in place of a store', { store: 'state.json' }, /fileStore/],
  ])('refuses %s at once, in a sentence that says what to write', async (_, wrong, sentence) => {
    const right = {
      clientId: 'https://agent.example/agent.json',
      name: 'Example Agent',
      keys: [await generateKey()],
      store: memoryStore(),
    }
    const make = () => createPersonalAgent({ ...right, ...wrong })
    expect(make).toThrow(AgentError)
    expect(make).toThrow(sentence)
    expect(createPersonalAgent(right).clientId).toBe(right.clientId)
  })

  it('refuses nothing at all', () => {
    expect(() => createPersonalAgent(undefined as unknown as PersonalAgentOptions)).toThrow(/takes one object/)
  })
})

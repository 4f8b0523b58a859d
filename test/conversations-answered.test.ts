import type { WireEvent } from '@poppyseed/protocol'
import { describe, expect, it } from 'vitest'
import { converse, pageOf, said, words } from './setup/converse.ts'
import { stores } from './setup/stores.ts'
import { makeWorld } from './setup/world.ts'

// A message is answered by the company's own agent, over real HTTP.

describe.each(stores)('A message, on $name,', ({ missing, fresh }) => {
  it.skipIf(missing)('is answered by the Company Agent', async () => {
    const store = (await fresh()).store()
    const world = await makeWorld(
      {
        agent: async function* (turn) {
          yield { type: 'text', text: `You said: ${turn.asked.map(({ text }) => text).join(' ')}` }
        },
      },
      store,
    )
    const token = (await (await world.agent.startSession()).json()) as { readonly access_token: string }
    const at = converse(world.agent, token.access_token)
    const answer = await at.start(said('Hello?'), { query: '?wait=10' })
    const page = await pageOf(answer)
    const events: WireEvent[] = [...page.events]
    expect(words(events)).toEqual(['user as agent: Hello?', 'working/agent', 'agent: You said: Hello?', 'idle/agent'])
  })
})

import { describe, expect, it } from 'vitest'
import { startConversation } from '../../../../test/setup/conversation-parts.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { dueTurn, type EngineHere, engines, send } from '../../../../test/setup/turn-parts.ts'
import type { CompanyAgent } from '../company-agent/turn.ts'
import type { ConversationRow } from './row.ts'
import { findConversation } from './store.ts'
import { renewTurn } from './turn-store.ts'

// How long a turn is kept by whoever runs it.

describe.each(stores)('A turn in $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  test('that has ended is renewed by nobody: the next one begins at once, whatever was on its way', async () => {
    const runs: string[] = []
    const agent: CompanyAgent = async function* ({ asked, conversationId }) {
      runs.push(asked.map(({ text }) => text).join())
      // It comes after this turn was begun, so it is the next one's.
      if (runs.length === 1) await send(here, conversationId, 'And dinner?')
      yield { type: 'text', text: `Yes, ${runs.length}.` }
    }
    const { clock, here: all } = await engines(await fresh(), [agent])
    const here = all[0] as EngineHere
    const { scope, engine, idle, parts } = here
    const { id } = await startConversation(scope)
    let renewed: boolean | undefined
    const late = async (point: string) => {
      if (point !== 'turn-ended' || renewed !== undefined) return
      // Asked while the turn ran, and done once it had ended.
      const { runner } = (await findConversation(scope, id)) as ConversationRow
      renewed = await renewTurn(scope, { id, runner, until: clock.now + 30_000 })
    }
    Object.assign(parts, { at: late })
    engine.begin(dueTurn(id))
    await idle()
    await engine.sweep()
    await idle()
    expect([renewed, ...runs]).toEqual([false, 'Is breakfast included?', 'And dinner?'])
  })
})

import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { caller, startConversation } from '../../../../test/setup/conversation-parts.ts'
import { grantRow, sessionRow } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { dueTurn, type EngineHere, engines, send, told } from '../../../../test/setup/turn-parts.ts'
import { insertGrant } from '../accounts/store.ts'
import type { CompanyAgent, Said, ToolOutcome, Turn } from '../company-agent/turn.ts'
import { insertSession } from '../sessions/store.ts'
import { tool } from '../tools/tool.ts'
import { closed, decision, directOpened } from './conversation.ts'
import { handedOff } from './handoff.ts'
import { handedBack, taken } from './held.ts'
import { withConversation } from './ledger.ts'
import { notesOf } from './notes.ts'
import type { ConversationParts } from './parts.ts'
import { findConversation } from './store.ts'

// Turns, taken by one instance or several, of which some die, hang, or close in the middle.

const question = 'user: Is breakfast included?'

/** An agent that says one thing, waits, and says another. */
function slow(first: string, second: string) {
  const { promise: asked, resolve: begun } = Promise.withResolvers<Turn>()
  const { promise: go, resolve: goOn } = Promise.withResolvers<void>()
  const agent: CompanyAgent = async function* (turn) {
    yield { type: 'message', text: first }
    begun(turn)
    await go
    yield { type: 'text', text: second }
  }
  return { agent, begun: asked, goOn }
}

describe.each(stores)('A turn in $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  async function one(agent: CompanyAgent, more: Parameters<typeof engines>[2] = {}) {
    const all = await engines(await fresh(), [agent], more)
    const here = all.here[0] as EngineHere
    return { ...all, ...here }
  }
  async function two(agents: readonly [CompanyAgent, CompanyAgent], more: Parameters<typeof engines>[2] = {}) {
    const all = await engines(await fresh(), agents, more)
    return { ...all, first: all.here[0] as EngineHere, second: all.here[1] as EngineHere }
  }

  test('that whatever watches it keeps from running is kept by nobody, and runs when its lease is over', async () => {
    let isBroken = true
    const watch = {
      cause: () => undefined,
      handoff: () => {},
      delivery: <T>(_about: unknown, run: () => Promise<T>) => run(),
      observe: () => () => {},
      turn: <T>(_about: unknown, run: () => Promise<T>) => {
        if (isBroken) throw new Error('no span')
        return run()
      },
    }
    const { scope, clock, engine, idle, errors, parts } = await one(
      async function* () {
        yield { type: 'text', text: 'Yes.' }
      },
      { watch },
    )
    const left = vi.spyOn(parts.changes, 'leave')
    const { id } = await startConversation(scope)
    engine.begin(dueTurn(id))
    await idle()
    expect([errors, left.mock.calls.length, engine.size()]).toEqual([['a turn could not be run'], 1, 0])
    isBroken = false
    clock.now += 31_000
    await engine.sweep()
    await idle()
    expect((await told(scope, id)).slice(-2)).toEqual(['agent: Yes.', 'idle/agent'])
  })

  test('answers a message: pieces of text as they come, then the message under the same id, then idle', async () => {
    let seen: Turn | undefined
    const { scope, engine, idle, pieces } = await one(async function* (turn) {
      seen = turn
      yield { type: 'text', text: 'Yes, ' }
      yield { type: 'text', text: 'it is.' }
    })
    const { id } = await startConversation(scope, { context: { locale: 'de-DE', time_zone: 'Europe/Berlin' } })
    engine.begin(dueTurn(id))
    await idle()
    expect(await told(scope, id)).toEqual([question, 'working/agent', 'agent: Yes, it is.', 'idle/agent'])
    expect(pieces.map(({ from, text }) => [from, text])).toEqual([
      [0, 'Yes,'],
      [4, ' it is.'],
    ])
    expect(new Set(pieces.map(({ messageId }) => messageId)).size).toBe(1)
    expect(seen).toMatchObject({
      conversationId: id,
      history: [{ from: 'user', sender: 'agent', text: 'Is breakfast included?' }],
      asked: [{ text: 'Is breakfast included?' }],
      context: { locale: 'de-DE', time_zone: 'Europe/Berlin' },
      locale: 'de-DE',
      writesFor: 'agent',
      isDirect: false,
      signedIn: false,
    })
    const row = await findConversation(scope, id)
    expect(row).toMatchObject({ turn_due_at: null, attempts: 0, answered: 1 })
  })

  test('is run by one of two instances that find it at once', async () => {
    let runs = 0
    const agent: CompanyAgent = async function* () {
      runs += 1
      yield { type: 'text', text: 'Yes.' }
    }
    const { first, second } = await two([agent, agent])
    const ids: string[] = []
    for (let count = 0; count < 8; count++) ids.push((await startConversation(first.scope)).id)
    await Promise.all([first.engine.sweep({ toTheEnd: true }), second.engine.sweep({ toTheEnd: true })])
    await Promise.all([first.idle(), second.idle()])
    expect(runs).toBe(ids.length)
    for (const id of ids)
      expect(await told(first.scope, id)).toEqual([question, 'working/agent', 'agent: Yes.', 'idle/agent'])
  })

  test('whose instance hangs is taken over when its lease is over: nothing is said twice, and what comes late is dropped', async () => {
    const hung = slow('I look.', 'From the first.')
    const other = slow('I look again.', 'It is.')
    const { first, second, clock } = await two([hung.agent, other.agent])
    const { id } = await startConversation(first.scope)
    first.engine.begin(dueTurn(id))
    const before = await hung.begun
    await second.engine.sweep()
    await second.idle()
    expect(await told(second.scope, id)).toEqual([question, 'working/agent', 'agent: I look.'])
    clock.now += 31_000
    await second.engine.sweep()
    const after = await other.begun
    expect(after.history).toEqual(before.history)
    other.goOn()
    await second.idle()
    hung.goOn()
    await first.idle()
    expect(await told(second.scope, id)).toEqual([
      question,
      'working/agent',
      'agent: I look.',
      'agent: It is.',
      'idle/agent',
    ])
  })

  test('that is begun again gets what its tools answered before, and no tool runs twice', async () => {
    let runs = 0
    const count = tool({
      name: 'count',
      description: 'Counts.',
      input: z.object({ by: z.number() }),
      run({ by }) {
        runs += by
        return { runs }
      },
    })
    const outcomes: ToolOutcome[][] = [[], []]
    const { promise: hangs, resolve: hung } = Promise.withResolvers<void>()
    const agentOf = (number: number): CompanyAgent =>
      async function* (turn) {
        const got = outcomes[number] as ToolOutcome[]
        got.push((yield { type: 'call', name: 'count', input: { by: 1 } }) as ToolOutcome)
        got.push(await turn.call('count', { by: 1 }))
        if (number === 0) {
          hung()
          await new Promise(() => {})
        }
        got.push(await turn.call('count', { by: 5 }))
        yield { type: 'text', text: `${runs}` }
      }
    const { first, second, clock } = await two([agentOf(0), agentOf(1)], { tools: [count] })
    const { id } = await startConversation(first.scope)
    first.engine.begin(dueTurn(id))
    await hangs
    clock.now += 31_000
    await second.engine.sweep({ toTheEnd: true })
    expect(outcomes[0]).toEqual([
      { ok: true, value: { runs: 1 } },
      { ok: true, value: { runs: 2 } },
    ])
    expect(outcomes[1]).toEqual([...(outcomes[0] as ToolOutcome[]), { ok: true, value: { runs: 7 } }])
    expect((await told(second.scope, id)).slice(2)).toEqual(['agent: 7', 'idle/agent'])
    const steps = await second.scope.db.query.selectFrom('poppy_steps').select('step').execute()
    expect(steps).toEqual([])
    first.engine.stop()
    await first.idle()
  })

  test('is handed back by an instance that closes, and another goes on at once', async () => {
    const going = slow('I look.', 'never said')
    const other = slow('I look.', 'It is.')
    const { first, second } = await two([going.agent, other.agent])
    const { id } = await startConversation(first.scope)
    first.engine.begin(dueTurn(id))
    await going.begun
    first.engine.stop()
    await first.idle()
    expect(await findConversation(first.scope, id)).toMatchObject({ attempts: 1, status: 'working' })
    await second.engine.sweep()
    await other.begun
    other.goOn()
    going.goOn()
    await second.idle()
    expect(await told(second.scope, id)).toEqual([
      question,
      'working/agent',
      'agent: I look.',
      'agent: It is.',
      'idle/agent',
    ])
    await first.engine.sweep()
    first.engine.begin(dueTurn(id))
    await first.idle()
  })

  test('that a person takes over is stopped in the middle, and what it still says is a draft', async () => {
    // No renewal of the lease finds it out: the change itself is heard.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const going = slow('I look.', 'The suite costs 300 €.')
    const { scope, parts, engine, idle } = await one(going.agent)
    const { id } = await startConversation(scope)
    engine.begin(dueTurn(id))
    const turn = await going.begun
    const { promise: aborted, resolve } = Promise.withResolvers<void>()
    turn.signal.addEventListener('abort', () => resolve())
    await withConversation(parts, id, (row) =>
      decision(row, {
        status: 'idle',
        responder: 'human',
        held_by: 'ada',
        turn_due_at: null,
        runner: row.runner + 1,
        attempts: 0,
      }),
    )
    await aborted
    going.goOn()
    await idle()
    expect(await told(scope, id)).toEqual([question, 'working/agent', 'agent: I look.', 'idle/human'])
    expect(await notesOf(scope, id)).toMatchObject([
      { kind: 'draft', who: '{"agent":true}', text: 'The suite costs 300 €.' },
    ])
  })

  test('that a person took over and gave back says nothing any more, also where its instance has heard of neither', async () => {
    const going = slow('I look.', 'The suite costs 300 €.')
    const { first, second, clock } = await two([going.agent, going.agent])
    const { id } = await startConversation(first.scope)
    first.engine.begin(dueTurn(id))
    await going.begun
    const staff = { id: 'ada', name: 'Ada' }
    const unheard = { ...second.parts, changes: { ...second.parts.changes, changed() {} } }
    await withConversation(unheard, id, (row) => taken(row, staff))
    const last = { id: 'msg_last', text: 'It is 250 €.' }
    await withConversation(unheard, id, (row) => handedBack(row, { staff, now: clock.now, last }))
    going.goOn()
    await first.idle()
    expect((await told(second.scope, id)).slice(2)).toEqual([
      'agent: I look.',
      'idle/human',
      'human: It is 250 €.',
      'idle/agent',
    ])
  })

  test('in which a person is asked for is stopped in the middle, and what it still says is a draft for whoever comes', async () => {
    const going = slow('I look.', 'The suite costs 300 €.')
    const { scope, parts, engine, idle, clock } = await one(going.agent)
    const { id } = await startConversation(scope)
    engine.begin(dueTurn(id))
    const turn = await going.begun
    const { promise: aborted, resolve } = Promise.withResolvers<void>()
    turn.signal.addEventListener('abort', () => resolve())
    await withConversation(parts, id, (row) =>
      handedOff(row, { now: clock.now, who: { comes: true }, messageId: 'msg_none' }),
    )
    await aborted
    going.goOn()
    await idle()
    expect(await told(scope, id)).toEqual([question, 'working/agent', 'agent: I look.', 'queued/agent'])
    expect(await notesOf(scope, id)).toMatchObject([
      { kind: 'draft', who: '{"agent":true}', text: 'The suite costs 300 €.' },
    ])
  })

  test('in a conversation that is closed meanwhile is stopped, and nothing of it is kept', async () => {
    const going = slow('I look.', 'It is.')
    const { scope, parts, engine, idle, clock } = await one(going.agent)
    const { id } = await startConversation(scope)
    engine.begin(dueTurn(id))
    await going.begun
    await withConversation(parts, id, (row) => closed(row, clock.now))
    going.goOn()
    await idle()
    expect((await told(scope, id)).slice(2)).toEqual(['agent: I look.', 'closed/agent'])
    expect(await notesOf(scope, id)).toEqual([])
  })

  test('answers what it was asked; what comes meanwhile is answered by the next, and working stays', async () => {
    const asked: (readonly string[])[] = []
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const { promise: go, resolve: goOn } = Promise.withResolvers<void>()
    const { scope, here, engine, idle } = await one(async function* (turn) {
      asked.push(turn.asked.map(({ text }) => text ?? ''))
      begin()
      await go
      yield { type: 'text', text: `Answer ${asked.length}.` }
    })
    const { id } = await startConversation(scope)
    engine.begin(dueTurn(id))
    await begun
    await send(here[0] as EngineHere, id, 'And dinner?')
    await send(here[0] as EngineHere, id, 'For two.')
    goOn()
    await idle()
    expect(asked).toEqual([['Is breakfast included?'], ['And dinner?', 'For two.']])
    expect(await told(scope, id)).toEqual([
      question,
      'working/agent',
      'user: And dinner?',
      'user: For two.',
      'agent: Answer 1.',
      'agent: Answer 2.',
      'idle/agent',
    ])
  })

  test('may take what comes meanwhile, and then no other turn answers it', async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const { promise: go, resolve: goOn } = Promise.withResolvers<void>()
    const { scope, here, engine, idle } = await one(async function* (turn) {
      const none = await turn.more()
      begin()
      await go
      const came = await turn.more()
      yield { type: 'text', text: `${none.length}, then ${came.map(({ text }) => text).join(' ')}` }
    })
    const { id } = await startConversation(scope)
    engine.begin(dueTurn(id))
    await begun
    await send(here[0] as EngineHere, id, 'And dinner?')
    goOn()
    await idle()
    expect((await told(scope, id)).slice(2)).toEqual(['user: And dinner?', 'agent: 0, then And dinner?', 'idle/agent'])
  })

  test.each<[string, CompanyAgent, string]>([
    [
      'throws',
      async function* () {
        yield { type: 'text', text: 'I wi' }
        throw new Error('the model is gone')
      },
      'agent: Bei uns ist etwas schiefgegangen',
    ],
    [
      'takes too long',
      async function* () {
        yield { type: 'message', text: 'One moment.' }
        await new Promise(() => {})
      },
      'agent: Das hat länger gedauert',
    ],
  ])('of an agent that %s ends in an honest message, and nothing hangs', async (_, agent, words) => {
    const { scope, engine, idle, errors } = await one(agent, { turnTimeout: 50 })
    const { id } = await startConversation(scope, { context: { locale: 'de-AT' } })
    engine.begin(dueTurn(id))
    await idle()
    const all = await told(scope, id)
    expect(all.at(-2)).toContain(words)
    expect(all.at(-1)).toBe('idle/agent')
    expect(errors).toEqual(['a turn of the company’s agent failed'])
  })

  test('that was begun three times and never ended ends in an honest message', async () => {
    let runs = 0
    const { scope, engine, idle, clock } = await one(async function* () {
      runs += 1
      yield { type: 'text', text: 'Yes.' }
    })
    const { id } = await startConversation(scope)
    await scope.db.query.updateTable('poppy_conversations').set({ attempts: 3, turn: 1, turn_asked: 1 }).execute()
    clock.now += 1
    await engine.sweep({ toTheEnd: true })
    await idle()
    expect(runs).toBe(0)
    expect((await told(scope, id)).slice(2)).toEqual([
      expect.stringContaining('Something went wrong on our side') as string,
      'idle/agent',
    ])
  })

  test('hands off, closes, and asks for the User; what is said after the first two is dropped', async () => {
    const says = async (last: 'handoff' | 'close') => {
      const { scope, engine, idle } = await one(async function* () {
        yield { type: 'ask-for-user', reason: 'A name is missing.' }
        yield { type: 'text', text: 'Goodbye.' }
        yield { type: last }
        yield { type: 'text', text: 'And this.' }
      })
      const { id } = await startConversation(scope)
      engine.begin(dueTurn(id))
      await idle()
      return (await told(scope, id)).slice(2)
    }
    expect(await says('handoff')).toEqual(['user_requested', 'agent: Goodbye.', 'queued/agent'])
    expect(await says('close')).toEqual(['user_requested', 'agent: Goodbye.', 'closed/agent'])
  })

  test('asks for no User who has begun to talk with the company at that moment [7.10.user-requested]', async () => {
    const { promise: given, resolve } = Promise.withResolvers<ConversationParts>()
    const { scope, engine, idle, parts } = await one(async function* (turn) {
      await withConversation(await given, turn.conversationId, (row) => directOpened(row, 'cnv_beside'))
      yield { type: 'ask-for-user', reason: 'A name is missing.' }
      yield { type: 'text', text: 'Goodbye.' }
    })
    resolve(parts)
    const { id } = await startConversation(scope)
    engine.begin(dueTurn(id))
    await idle()
    expect((await told(scope, id)).slice(2)).toEqual(['direct_opened', 'agent: Goodbye.', 'idle/agent'])
  })

  test('that hands off where nobody is there says so, and is over', async () => {
    const { scope, engine, idle } = await one(() => [{ type: 'handoff' }] as never, {
      whoComes: async () => ({ comes: false, text: 'Nobody is here before nine.' }),
    })
    const { id } = await startConversation(scope)
    engine.begin(dueTurn(id))
    await idle()
    expect((await told(scope, id)).slice(2)).toEqual(['agent: Nobody is here before nine.', 'idle/agent'])
  })

  describe('with tools', () => {
    const calls: string[] = []
    const mine = tool({
      name: 'my_bookings',
      description: 'Bookings.',
      scope: 'poppy:read',
      run: (_, { principal, conversation }) => {
        calls.push(`${principal.account} ${conversation?.callId.slice(0, 5)}`)
        return ['Suite 4']
      },
    })
    const rooms = tool({ name: 'rooms', description: 'Rooms.', run: () => ['Suite 4', 'Room 7'] })
    const wipe = tool({ name: 'wipe', description: 'Wipes.', scope: 'poppy:write', run: () => 'wiped' })
    const tools = [mine, rooms, wipe]
    const ada = caller({ account: 'ada', scopes: ['poppy:read'], grantId: 'g', sessionId: 'signed-in' })

    async function signedIn(agent: CompanyAgent) {
      const all = await one(agent, { tools })
      await insertSession(all.scope, sessionRow({ id: 'signed-in', account: 'ada', grant_id: 'g' }))
      await insertGrant(all.scope, grantRow({ scopes: 'poppy:read' }))
      return all
    }

    test('knows which it may call, and what the others need; signed out it is asked to sign in, by event and in words', async () => {
      let seen: Turn | undefined
      const outcomes: unknown[] = []
      const { scope, engine, idle } = await one(
        async function* (turn) {
          seen = turn
          outcomes.push(yield { type: 'call', name: 'my_bookings', input: {} })
          outcomes.push(yield { type: 'call', name: 'nothing', input: {} })
        },
        { tools },
      )
      const { id } = await startConversation(scope)
      engine.begin(dueTurn(id))
      await idle()
      expect(seen?.tools.map(({ name }) => name)).toEqual(['rooms'])
      expect(seen?.locked.map(({ name, needs, scope: wanted }) => [name, needs, wanted])).toEqual([
        ['my_bookings', 'sign_in', 'poppy:read'],
        ['wipe', 'sign_in', 'poppy:write'],
      ])
      expect(outcomes).toMatchObject([
        { ok: false, error: 'sign_in_required', scope: 'poppy:read' },
        { ok: false, error: 'tool_not_found' },
      ])
      expect((await told(scope, id)).slice(2)).toEqual([
        'sign_in_required poppy:read',
        'agent: To go on, I need the sign-in to your account.',
        'idle/agent',
      ])
      expect(await findConversation(scope, id)).toMatchObject({ account: null })
    })

    test('runs one with the rights of the last message, and the conversation is the account’s before the answer is there', async () => {
      calls.length = 0
      let accountThen: unknown
      const { scope, engine, idle } = await signedIn(async function* (turn) {
        const outcome = yield { type: 'call', name: 'my_bookings', input: {} }
        accountThen = (await findConversation(scope, turn.conversationId))?.account
        yield { type: 'text', text: JSON.stringify(outcome) }
        yield { type: 'call', name: 'wipe', input: {} }
        yield { type: 'needs-scope', scope: 'poppy:write everything' }
      })
      const { id } = await startConversation(scope, { by: ada })
      engine.begin(dueTurn(id))
      await idle()
      expect(calls).toEqual(['ada call_'])
      expect(accountThen).toBe('ada')
      expect((await told(scope, id)).slice(2)).toEqual([
        'agent: ok: true, value: Suite 4',
        'insufficient_scope poppy:write',
        'agent: To go on, I need the sign-in to your account to include more rights: poppy:write.',
        'idle/agent',
      ])
    })

    test('asks for a sign-in or for more rights itself, by event and in words: its own, or those of the User’s language [7.11.authorization, 7.11.also-asks, 7.11.authorization-scope]', async () => {
      const asks = async (said: Said, first: Parameters<typeof startConversation>[1] = {}) => {
        const { scope, engine, idle } = await signedIn(async function* () {
          yield said
        })
        const { id } = await startConversation(scope, first)
        engine.begin(dueTurn(id))
        await idle()
        return (await told(scope, id)).slice(2, -1)
      }
      expect(await asks({ type: 'needs-sign-in', scope: 'poppy:read' })).toEqual([
        'sign_in_required poppy:read',
        'agent: To go on, I need the sign-in to your account.',
      ])
      expect(await asks({ type: 'needs-scope', scope: 'poppy:write' }, { by: ada })).toEqual([
        'insufficient_scope poppy:write',
        'agent: To go on, I need the sign-in to your account to include more rights: poppy:write.',
      ])
      expect(await asks({ type: 'needs-sign-in' }, { context: { locale: 'de-DE' } })).toEqual([
        'sign_in_required',
        'agent: Um weiterzumachen, brauche ich die Anmeldung bei Ihrem Konto.',
      ])
      expect(await asks({ type: 'needs-sign-in', text: 'Please sign in first.' })).toEqual([
        'sign_in_required',
        'agent: Please sign in first.',
      ])
      // What there is isn't asked for.
      expect(await asks({ type: 'needs-scope', scope: 'poppy:read' }, { by: ada })).toEqual([])
    })

    test('has no more rights than the sign-in has at that moment: signed out, blocked, narrowed', async () => {
      const results: unknown[] = []
      const { scope, engine, idle } = await signedIn(async function* (turn) {
        const { db } = scope
        const attempt = async () => {
          const outcome = await turn.call('my_bookings', {})
          results.push(outcome.ok ? 'ran' : outcome.error)
        }
        await attempt()
        await db.query.updateTable('poppy_grants').set({ scopes: 'poppy:write' }).execute()
        await attempt()
        await db.query.updateTable('poppy_grants').set({ scopes: 'poppy:read', revoked_at: 1 }).execute()
        await attempt()
        await db.query.updateTable('poppy_grants').set({ revoked_at: null }).execute()
        await attempt()
        await db.query
          .insertInto('poppy_blocked_agents')
          .values({ company: scope.company, client_id: 'https://agent.example/client', blocked_at: 1, reason: null })
          .execute()
        await attempt()
        results.push((await turn.call('rooms', {})).ok)
        yield { type: 'text', text: 'That was it.' }
      })
      const { id } = await startConversation(scope, { by: ada })
      engine.begin(dueTurn(id))
      await idle()
      expect(results).toEqual(['ran', 'insufficient_scope', 'sign_in_required', 'ran', 'invalid_token', false])
    })
  })
})

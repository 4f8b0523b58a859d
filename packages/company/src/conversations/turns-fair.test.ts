import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { caller, startConversation } from '../../../../test/setup/conversation-parts.ts'
import { conversationRow } from '../../../../test/setup/conversation-rows.ts'
import { explained } from '../../../../test/setup/plans.ts'
import { now, sessionRow } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { company, type EngineHere, engines, told } from '../../../../test/setup/turn-parts.ts'
import type { CompanyAgent } from '../company-agent/turn.ts'
import { insertSession } from '../sessions/store.ts'
import type { Scope } from '../store/database.ts'
import type { ConversationRow } from './row.ts'
import { dueTurns } from './turn-store.ts'

// Many turns of one don't keep those of others waiting: neither what was begun here, nor what a look finds.

/** An agent that answers those who are quick at once, and all others when it may. */
function slowFor(quick: string) {
  const { promise: go, resolve: goOn } = Promise.withResolvers<void>()
  const { promise: answered, resolve: isAnswered } = Promise.withResolvers<void>()
  let most = 0
  let running = 0
  const agent: CompanyAgent = async function* (turn) {
    const { text } = turn.asked.at(-1) ?? {}
    running += 1
    most = Math.max(most, running)
    if (text !== quick) await go
    running -= 1
    yield { type: 'text', text: `Heard: ${text}` }
    if (text === quick) isAnswered()
  }
  return { agent, goOn, answered, most: () => most }
}

const big = 'https://big.example/agent.json'
const small = 'https://small.example/agent.json'

describe.each(stores)('Turns of many on $name', { timeout: 120_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)

  async function make(agent: CompanyAgent) {
    const { here } = await engines(await fresh(), [agent])
    const { scope, engine, idle } = here[0] as EngineHere
    const known = new Set<string>()
    async function start(clientId: string, userId: string, text: string): Promise<ConversationRow> {
      const sessionId = `${clientId} ${userId}`
      if (!known.has(sessionId))
        await insertSession(scope, sessionRow({ id: sessionId, client_id: clientId, user_id: userId }))
      known.add(sessionId)
      return startConversation(scope, { by: caller({ clientId, userId, sessionId }), text })
    }
    return { scope, engine, idle, start }
  }

  async function startMany(start: Awaited<ReturnType<typeof make>>['start'], users: number, each: number) {
    const rows: ConversationRow[] = []
    for (let user = 0; user < users; user++)
      for (let count = 0; count < each; count++) rows.push(await start(big, `user${user}`, 'slow'))
    return rows
  }

  test('one Personal Agent has 300 that are slow, and another’s message is answered while they are', async () => {
    const { agent, goOn, answered, most } = slowFor('quick')
    const { scope, engine, idle, start } = await make(agent)
    const slow = await startMany(start, 30, 10)
    for (const row of slow) engine.begin(row)
    await engine.sweep()
    // As many as there is room for have begun, however long a busy database takes over that.
    await expect.poll(most, { timeout: 30_000 }).toBe(72)
    const other = await start(small, 'maya', 'quick')
    engine.begin(other)
    await answered
    goOn()
    await idle()
    expect(most()).toBe(73)
    expect(await told(scope, other.id)).toContain('agent: Heard: quick')
    // And none of the many is forgotten.
    while (!(await engine.sweep({ toTheEnd: true })).isDone);
    await idle()
    for (const { id } of slow) expect((await told(scope, id)).at(-1)).toBe('idle/agent')
  })

  test('one User has 60 that are slow, and another User of the same Personal Agent is answered', async () => {
    const { agent, goOn, answered, most } = slowFor('quick')
    const { engine, idle, start } = await make(agent)
    for (const row of await startMany(start, 1, 60)) engine.begin(row)
    await engine.sweep()
    engine.begin(await start(big, 'somebody else', 'quick'))
    await answered
    expect(most()).toBeLessThan(15)
    goOn()
    await idle()
  })

  test('what another instance accepted is found by a look, though one User’s and one Personal Agent’s many are due for longer', async () => {
    for (const users of [1, 12]) {
      const { agent, goOn, answered } = slowFor('quick')
      const { engine, idle, start } = await make(agent)
      await startMany(start, users, users === 1 ? 120 : 15)
      await start(users === 1 ? big : small, 'somebody else', 'quick')
      // What is found first has all room that it may have; then somebody else is found.
      await engine.sweep()
      await engine.sweep()
      await answered
      goOn()
      await idle()
    }
  })

  test('where turns are waited for, some of everybody’s are done in a call', async () => {
    const { agent, goOn } = slowFor('quick')
    goOn()
    const { scope, engine, start } = await make(agent)
    await startMany(start, 3, 25)
    const other = await start(small, 'maya', 'quick')
    await engine.sweep({ toTheEnd: true })
    expect(await told(scope, other.id)).toContain('agent: Heard: quick')
  })
})

describe.each(stores)('A look for turns on $name', { timeout: 60_000 }, ({ missing, lasting }) => {
  const test = it.skipIf(missing !== null)
  let made: Awaited<ReturnType<typeof lasting>> | null = null
  let scope: Scope
  let plans: () => Promise<readonly string[]>
  const client = (number: number) => `https://agent${String(number).padStart(2, '0')}.example/agent.json`

  beforeAll(async () => {
    if (missing !== null) return
    made = await lasting()
    const watched = explained(made.db)
    plans = watched.plans
    scope = { db: watched.db, company }
    let number = 0
    const row = (clientId: string, dueAt: number | null, userId = `user${number % 50}`) =>
      conversationRow({ id: `cnv_${number++}`, client_id: clientId, user_id: userId, turn_due_at: dueAt })
    const rows = [
      ...Array.from({ length: 3000 }, (_, at) => row(client(at % 30), null)),
      ...Array.from({ length: 200 }, (_, at) => row(client(3), now - 500 + at, at < 120 ? 'many' : `few${at}`)),
      ...Array.from({ length: 30 }, (_, at) => row(client(at), now - at)),
      ...Array.from({ length: 20 }, (_, at) => row(client(at), now + 1000)),
    ]
    for (let from = 0; from < rows.length; from += 500)
      await made.db.query
        .insertInto('poppy_conversations')
        .values(rows.slice(from, from + 500).map((one) => ({ company, ...one })))
        .execute()
    await made.db.query
      .insertInto('poppy_conversations')
      .values({ company: 'https://other.example', ...row('https://a.example', now - 1) })
      .execute()
  })
  afterAll(() => made?.end())
  const asked = { now, after: '', clients: 25, each: 5, fullUsers: [] }

  test('finds some of each Personal Agent’s, the longest due first, and goes on where it ended', async () => {
    const first = await dueTurns(scope, asked)
    expect(first.after).toBe(client(24))
    const ofThird = first.turns.filter(({ client_id }) => client_id === client(3))
    expect(ofThird.map(({ id }) => Number(id.slice(4)) - 3000)).toEqual([0, 1, 2, 3, 4])
    expect(new Set(first.turns.map(({ client_id }) => client_id)).size).toBe(25)
    expect(first.turns).toHaveLength(24 + 5)
    const second = await dueTurns(scope, { ...asked, after: first.after })
    expect(second.turns.map(({ client_id }) => client_id)).toEqual([25, 26, 27, 28, 29].map(client))
    expect(second.after).toBe('')
    const none = await dueTurns(scope, { ...asked, now: now - 1000 })
    expect(none).toEqual({ turns: [], after: client(24) })
  })

  test('passes over Users who have no room, and reads along the index alone', async () => {
    await plans()
    const { turns } = await dueTurns(scope, { ...asked, fullUsers: [`${client(3)} many`, 'x y'] })
    expect(turns.filter(({ client_id }) => client_id === client(3)).map(({ user_id }) => user_id)).toEqual(
      [120, 121, 122, 123, 124].map((at) => `few${at}`),
    )
    const plan = (await plans()).join('\n')
    expect(plan).toContain('poppy_conversations_due')
    expect(plan).not.toMatch(/Seq Scan on poppy|SCAN (?:poppy_|c\b|due\b)/)
  })
})

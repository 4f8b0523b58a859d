import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPersonalAgent, generateKey, memoryStore, type Session } from '@poppyseed/agent'
import { aiTools } from '@poppyseed/agent/ai'
import { generateText, stepCountIs } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPerson } from '../examples/hotel/src/person.ts'
import { startHotel } from '../examples/hotel/src/server.ts'
import { listen } from './setup/listen.ts'
import { seedHotel } from './setup/seeded-hotel.ts'

// The Personal Agent against a real Company, over real HTTP: what its own tests show against one that is played.

async function openHotel(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'poppyseed-work-'))
  const hotel = await startHotel({ port: 0, directory: seedHotel(directory), log: () => {} })
  onTestFinished(async () => {
    await hotel.close()
    rmSync(directory, { recursive: true, force: true })
  })
  return hotel.origin
}

/** An agent whose clock goes as a test says, and all that it sends. */
async function openAgent(hours = 0) {
  const sent: { readonly url: string; readonly status: number; readonly secrets: readonly string[] }[] = []
  const keys = [await generateKey()]
  let agent: ReturnType<typeof createPersonalAgent> | undefined
  await listen((origin) => {
    agent = createPersonalAgent({
      clientId: `${origin}/agent.json`,
      name: 'Working Agent',
      keys,
      store: memoryStore(),
      allowHttp: true,
      now: () => Date.now() + hours * 3_600_000,
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        const headers = new Headers(init.headers)
        const form = new URLSearchParams(typeof init.body === 'string' ? init.body : '')
        const secrets = [
          headers.get('authorization')?.split(' ')[1],
          headers.get('dpop'),
          ...['assertion', 'client_assertion', 'refresh_token', 'code', 'code_verifier'].map((name) => form.get(name)),
        ]
        sent.push({ url, status: response.status, secrets: secrets.filter((secret): secret is string => !!secret) })
        return response
      },
    })
    return agent.fetch
  })
  if (!agent) throw new Error('The agent was not made.')
  return { agent, sent }
}

/** The guest's own way through the hotel's pages. */
function asMaya(approve: readonly string[] | 'decline') {
  return async (url: string) => {
    const person = createPerson()
    const login = await person.open(url)
    const consent = await person.submit(login, { email: 'maya@example.com', password: 'sea-view-42' })
    await person.submit(
      consent,
      approve === 'decline' ? { decision: 'decline' } : { scope: approve, decision: 'approve' },
    )
  }
}

const signIn = (session: Session, scopes: readonly string[], approve: readonly string[] | 'decline' = scopes) =>
  session.signIn({ scopes, open: asMaya(approve) })

const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: { code: string; action: string; scopes?: readonly string[] }) => [error.code, error.action, error.scopes],
  )

const nights = { from: '2027-05-01', to: '2027-05-03' }

describe('an agent at a hotel', () => {
  it.each([1, -1])(
    'whose clock is off by %i hour works at the second attempt, and its guest signs in',
    async (hours) => {
      const { agent, sent } = await openAgent(hours)
      const session = (await agent.forUser('maya').company(await openHotel())).session()
      await session.call('search_rooms', nights)
      const asked = sent.filter(({ url }) => url.includes('token'))
      expect([asked.length, asked.at(-1)?.status]).toEqual([2, 200])
      await signIn(session, ['poppy:read'])
      await session.call('my_bookings')
      expect(sent.filter(({ status }) => status >= 400)).toHaveLength(1)
    },
  )

  it('asks for more once, stops after a no, and goes on with what it has [K39]', async () => {
    const { agent } = await openAgent()
    const session = (await agent.forUser('maya').company(await openHotel())).session()
    await signIn(session, ['poppy:read'])
    expect(await refusalOf(session.call('loyalty_points'))).toEqual([
      'insufficient_scope',
      'ask_owner',
      ['poppy:read', 'loyalty'],
    ])
    await refusalOf(signIn(session, ['poppy:read', 'loyalty'], 'decline'))
    expect(await refusalOf(session.call('loyalty_points'))).toEqual([
      'sign_in_declined',
      'give_up',
      ['poppy:read', 'loyalty'],
    ])
    expect((await session.call('my_bookings')).status).toBe(200)
    await signIn(session, ['poppy:read', 'loyalty'])
    for (const tool of ['my_bookings', 'loyalty_points', 'my_bookings', 'loyalty_points']) {
      expect((await session.call(tool)).status).toBe(200)
    }
  })

  it('fetches any address of the hotel’s API with its token, and no other', async () => {
    const { agent, sent } = await openAgent()
    const hotel = await openHotel()
    const session = (await agent.forUser('maya').company(hotel)).session()
    const response = await session.fetch(`${hotel}/poppy/tools/search_rooms`, {
      method: 'POST',
      body: JSON.stringify(nights),
      headers: { 'content-type': 'application/json' },
    })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
    const before = sent.length
    expect(await refusalOf(session.fetch('https://elsewhere.example/'))).toEqual([
      'foreign_origin',
      'give_up',
      undefined,
    ])
    expect(sent.length).toBe(before)
  })

  it('lends its tools to a model, which is told when to ask the owner and sees no secret', async () => {
    const { agent, sent } = await openAgent()
    const session = (await agent.forUser('maya').company(await openHotel())).session()
    const tools = await aiTools(session)
    expect(Object.keys(tools)).toEqual(expect.arrayContaining(['localhost__search_rooms', 'localhost__my_bookings']))
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    }
    const turn = (toolName: string, input: object) => ({
      content: [{ type: 'tool-call' as const, toolCallId: toolName, toolName, input: JSON.stringify(input) }],
      finishReason: { unified: 'tool-calls' as const, raw: undefined },
      usage,
      warnings: [],
    })
    const end = {
      content: [{ type: 'text' as const, text: 'Done.' }],
      finishReason: { unified: 'stop' as const, raw: undefined },
      usage,
      warnings: [],
    }
    const seen: string[] = []
    const play = async () => {
      const model = new MockLanguageModelV4({
        doGenerate: [turn('localhost__search_rooms', nights), turn('localhost__my_bookings', {}), end],
      })
      const { steps } = await generateText({ model, tools, prompt: 'My bookings?', stopWhen: stepCountIs(5) })
      seen.push(JSON.stringify(model.doGenerateCalls))
      return steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output))
    }
    expect(await play()).toMatchObject([
      { ok: true, from: 'localhost' },
      { ok: false, error: 'sign_in_required', action: 'ask_owner', ask: { scopes: ['poppy:read'] } },
    ])
    await signIn(session, ['poppy:read'])
    expect(await play()).toMatchObject([{ ok: true }, { ok: true }])
    const secrets = sent.flatMap((one) => one.secrets)
    expect(secrets.length).toBeGreaterThan(10)
    for (const secret of secrets) expect(seen.join().includes(secret)).toBe(false)
  })

  it('is known by its new key at once, and stays signed in, where the old one is compromised', async () => {
    const { agent, sent } = await openAgent()
    const hotel = await openHotel()
    const session = (await agent.forUser('maya').company(hotel)).session()
    await signIn(session, ['poppy:read'])
    await agent.identity.rotate({ compromised: true })
    // A Session of another task: signed in by the Account Token, with an assertion of the new key.
    const another = await (await agent.forUser('maya').company(hotel)).startSession()
    expect((await another.call('my_bookings')).status).toBe(200)
    expect(sent.filter(({ status }) => status >= 400)).toEqual([])
  })
})

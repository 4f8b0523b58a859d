import { AgentError, createPersonalAgent, generateKey, memoryStore, type PersonalAgent } from '@poppyseed/agent'
import type { CompanyConfig } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { listen } from './setup/listen.ts'
import { openSite } from './setup/site.ts'

// 4.3: both sides over real HTTP, with one clock. The Company says how long, and the agent waits so long and no longer.

const most = (requests: number) => ({ requests, seconds: 60 })

async function meet(limits: CompanyConfig['limits'], maxWaitSeconds = 60) {
  const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
  const waits: number[] = []
  const now = () => clock.now
  let agent: PersonalAgent | undefined
  const { origin } = await listen(() => (request) => agent?.fetch(request) ?? new Response(null, { status: 503 }))
  const site = await openSite({ now, ...(limits === undefined ? {} : { limits }) })
  agent = createPersonalAgent({
    clientId: `${origin}/agent.json`,
    name: 'Example Agent',
    keys: [await generateKey()],
    store: memoryStore(),
    allowHttp: true,
    now,
    maxWaitSeconds,
    async wait(milliseconds) {
      waits.push(milliseconds / 1000)
      clock.now += milliseconds
    },
  })
  const company = await agent.forUser('maya').company(site.origin)
  return { company, site, waits }
}

describe('an agent that meets a limit', () => {
  it('waits as long as it is told, with its tools [4.3.rate-limit, 4.3.retry-after-agent, K55]', async () => {
    const { company, waits } = await meet({ requestsPerSession: most(3) })
    const session = company.session()
    for (let n = 0; n < 3; n++) expect(await session.call('echo', { text: 'hello' })).toMatchObject({ status: 200 })
    expect(waits).toEqual([])
    expect(await session.call('echo', { text: 'again' })).toMatchObject({ status: 200, body: { text: 'again' } })
    expect(waits).toEqual([20])
    // Another Session of the same User is another matter.
    expect(await company.session({ name: 'other' }).call('echo', { text: 'x' })).toMatchObject({ status: 200 })
    expect(waits).toEqual([20])
  })

  it('waits at the token endpoint, and starts its Session [4.3.rate-limit, 4.3.retry-after-agent]', async () => {
    const { company, waits } = await meet({ sessionsPerUser: most(2) })
    for (const name of ['one', 'two', 'three']) await company.session({ name }).start()
    expect(waits).toEqual([30])
  })

  it('waits over MCP [4.3.rate-limit, 4.3.retry-after-agent]', async () => {
    const { company, waits } = await meet({ requestsPerSession: most(4) })
    const mcp = await company.session().mcp()
    for (let n = 0; n < 6; n++)
      expect(await mcp.call('echo', { text: 'hello' })).toMatchObject({
        structuredContent: { text: 'hello' },
      })
    expect(waits.length).toBeGreaterThanOrEqual(2)
    expect(new Set(waits)).toEqual(new Set([15]))
    await mcp.close()
  })

  it('is told instead of waiting for ever [4.3.retry-after-agent, K55]', async () => {
    const { company, waits } = await meet({ requestsPerSession: { requests: 1, seconds: 3600 } }, 60)
    const session = company.session()
    await session.call('echo', { text: 'hello' })
    const error = await session.call('echo', { text: 'hello' }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(AgentError)
    expect(error).toMatchObject({ code: 'rate_limited', retryAfter: 3600 })
    expect(waits).toEqual([])
  })
})

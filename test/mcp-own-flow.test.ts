import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Answer, type Authentication, clientId, type Hold, makeMcpClient, type Sent } from './setup/mcp-client.ts'
import { openSite } from './setup/site.ts'

// The official MCP client, over real HTTP, given the MCP address and nothing else. It knows nothing of Poppy.

const timeout = 60_000
const revisions = [
  { revision: '2025-11-25', options: {} },
  { revision: '2026-07-28', options: { versionNegotiation: { mode: 'auto' } } },
] as const
const kinds = (['private_key_jwt', 'none'] as const).flatMap((authentication) =>
  revisions.map((revision) => ({ authentication, ...revision })),
)

async function open(
  authentication: Authentication,
  answers: (Answer | Promise<Answer>)[],
  options: object = {},
  hold?: Hold,
) {
  const made = await makeMcpClient(authentication)
  const site = await openSite({ fetchDocument: made.fetchDocument, now: () => Date.now() })
  const opened = await made.open(`${site.origin}/poppy/mcp`, answers, options, hold)
  return { site, ...opened }
}

const tokenRequests = (sent: readonly Sent[]) => sent.filter(({ path }) => path === '/poppy/token')

/** The system's clock, for both sides. */
function moveClock(milliseconds: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds })
}

describe.each(kinds)('an MCP client with $authentication, $revision', ({ authentication, revision, options }) => {
  it('signs in by itself, calls a scoped tool, and steps up once for A, B, A, B [6.mcp-own-flow, K39, K37]', {
    timeout,
  }, async () => {
    const mcp = await open(authentication, [['poppy:read'], ['poppy:read', 'loyalty']], options)
    await mcp.connect()
    expect(mcp.client.getNegotiatedProtocolVersion()).toBe(revision)
    const { tools } = await mcp.client.listTools()
    expect(tools.map(({ name }) => name)).toContain('my_bookings')

    const called = [await mcp.call('my_bookings'), await mcp.call('points')]
    called.push(await mcp.call('my_bookings'), await mcp.call('points'))
    expect(called.map(({ structuredContent }) => structuredContent)).toEqual([
      { account: 'acc-maya' },
      { points: 7 },
      { account: 'acc-maya' },
      { points: 7 },
    ])
    // It asks for what the metadata offers first, and then for what it had and what the tool needs.
    expect(mcp.asked).toEqual(['poppy:read poppy:write loyalty', 'poppy:read loyalty'])
    expect(mcp.tokens()).toMatchObject({ token_type: 'Bearer', scope: 'poppy:read loyalty' })
    expect(mcp.tokens()?.refresh_token !== undefined).toBe(authentication === 'private_key_jwt')
    const { accounts } = mcp.site.company
    // Two sign-ins, which to the person are one agent.
    const { signIns } = await accounts.exportPerson('acc-maya')
    expect(signIns.map(({ scopes }) => scopes)).toEqual([['poppy:read'], ['poppy:read', 'loyalty']])
    expect(await accounts.connectedAgents('acc-maya')).toMatchObject([
      { clientId, host: 'client.example', rights: [{ scope: 'poppy:read' }, { scope: 'loyalty' }] },
    ])
  })

  it('stops with an error when the person declines more, and keeps what it had [6.mcp-own-flow, K39]', {
    timeout,
  }, async () => {
    const mcp = await open(authentication, [['poppy:read'], null], options)
    await mcp.connect()
    const before = mcp.sent.length
    await expect(mcp.call('points')).rejects.toMatchObject({ code: 'access_denied' })
    expect(tokenRequests(mcp.sent.slice(before))).toEqual([])
    expect(await mcp.call('my_bookings')).toMatchObject({ structuredContent: { account: 'acc-maya' } })
    expect(mcp.asked).toHaveLength(2)
  })

  it('stops with an error when the right is never given, after one sign-in for each call [6.mcp-own-flow, K39]', {
    timeout,
  }, async () => {
    const mcp = await open(authentication, [['poppy:read'], ['poppy:read'], ['poppy:read']], options)
    await mcp.connect()
    for (const signIns of [2, 3]) {
      const before = mcp.sent.length
      await expect(mcp.call('points')).rejects.toThrow()
      expect(mcp.asked).toHaveLength(signIns)
      expect(mcp.asked.at(-1)?.split(' ').sort()).toEqual(['loyalty', 'poppy:read'])
      expect(tokenRequests(mcp.sent.slice(before)).map(({ status }) => status)).toEqual([200])
    }
    expect(await mcp.call('my_bookings')).toMatchObject({ structuredContent: { account: 'acc-maya' } })
  })

  it('goes on by itself when its token has run out, or asks the person again [6.mcp-own-flow, K23]', {
    timeout,
  }, async () => {
    const mcp = await open(authentication, [['poppy:read'], ['poppy:read']], options)
    await mcp.connect()
    const first = mcp.tokens()
    onTestFinished(() => void vi.useRealTimers())
    moveClock(3_601_000)
    expect(await mcp.call('my_bookings')).toMatchObject({ structuredContent: { account: 'acc-maya' } })
    expect(mcp.tokens()?.access_token).not.toBe(first?.access_token)
    // Who has a key refreshes; who has none signs in again.
    expect(mcp.asked).toHaveLength(authentication === 'none' ? 2 : 1)
  })

  it('is told that its token is worth nothing any more when it was disconnected, and signs in again [4.9.disconnect, 6.invalid-token]', {
    timeout,
  }, async () => {
    const mcp = await open(authentication, [['poppy:read'], ['poppy:read']], options)
    await mcp.connect()
    expect(await mcp.site.company.accounts.disconnect('acc-maya', clientId)).toBe(1)
    const before = mcp.sent.length
    expect(await mcp.call('my_bookings')).toMatchObject({ structuredContent: { account: 'acc-maya' } })
    expect(mcp.asked).toHaveLength(2)
    const told = mcp.sent.slice(before).find(({ method }) => method === 'POST')
    expect(told).toMatchObject({ status: 401, challenge: expect.stringContaining('invalid_token') })
  })

  it('is not made to sign in twice at once by a stream that it asked for when its token was still good [4.9.disconnect]', {
    timeout,
  }, async () => {
    const disconnected = Promise.withResolvers<void>()
    const looking = Promise.withResolvers<Answer>()
    const mcp = await open(authentication, [['poppy:read'], looking.promise], options, (method, path) =>
      method === 'GET' && path === '/poppy/mcp' ? disconnected.promise : undefined,
    )
    await mcp.connect()
    expect(await mcp.site.company.accounts.disconnect('acc-maya', clientId)).toBe(1)
    const calling = mcp.call('my_bookings')
    while (mcp.asked.length < 2) await new Promise((resolve) => setImmediate(resolve))
    // The person looks at the page, and now the stream's request arrives, in the revision that has one.
    disconnected.resolve()
    const streams = () => mcp.sent.filter(({ method, path }) => method === 'GET' && path === '/poppy/mcp')
    const expected = revision === '2025-11-25' ? [405] : []
    while (streams().length < expected.length) await new Promise((resolve) => setImmediate(resolve))
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
    looking.resolve(['poppy:read'])
    expect(await calling).toMatchObject({ structuredContent: { account: 'acc-maya' } })
    expect(streams().map(({ status }) => status)).toEqual(expected)
  })
})

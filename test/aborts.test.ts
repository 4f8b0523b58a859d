import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { generateProof } from 'dpop'
import * as oauth from 'oauth4webapi'
import { tool } from 'poppyseed'
import { toNodeHandler } from 'poppyseed/node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startVisitingAgent } from '../examples/hotel/src/agent-server.ts'
import { discover, openForeignAgent, startSession } from './setup/foreign-agent.ts'
import { openSite } from './setup/site.ts'
import { makeWorld } from './setup/world.ts'

// A caller that goes away ends the work that it asked for: over real connections, which is where it gets lost.

const timeout = 60_000

/** A site with one tool that never ends by itself, and tells how it fares. */
async function openSlowSite() {
  const started = Promise.withResolvers<AbortSignal>()
  const aborted = Promise.withResolvers<unknown>()
  const site = await openSite({
    tools: [
      tool({
        name: 'wait',
        description: 'Waits for ever.',
        timeout: 600_000,
        run: (_input, { signal }) => {
          signal.addEventListener('abort', () => aborted.resolve(signal.reason))
          started.resolve(signal)
          return new Promise(() => {})
        },
      }),
      tool({
        name: 'quick',
        description: 'Is done at once.',
        run: (_input, { signal }) => ({ aborted: signal.aborted }),
      }),
    ],
  })
  return { site, started: started.promise, aborted: aborted.promise }
}

/** What the tool is told. */
const goneAway = { name: 'AbortError' }

describe('over HTTP, a caller that goes away', () => {
  it('ends the tool call by breaking off the request', { timeout }, async () => {
    const { site, started, aborted } = await openSlowSite()
    const agent = await openForeignAgent('ES256')
    const keys = await oauth.generateKeyPair('ES256')
    const server = await discover(site.origin)
    const { result } = await startSession(server, agent, oauth.DPoP(agent.client, keys))
    const call = async (name: string, signal?: AbortSignal) => {
      const url = `${site.origin}/poppy/tools/${name}`
      const proof = await generateProof(keys, url, 'POST', undefined, result.access_token)
      const headers = { authorization: `DPoP ${result.access_token}`, dpop: proof }
      return fetch(url, { method: 'POST', headers, ...(signal ? { signal } : {}) })
    }
    const leaving = new AbortController()
    const waiting = call('wait', leaving.signal)
    expect((await started).aborted).toBe(false)
    leaving.abort()
    await expect(waiting).rejects.toThrow()
    expect(await aborted).toMatchObject(goneAway)
    expect(await (await call('quick')).json()).toEqual({ aborted: false })
    const lines = () => site.log.filter((line) => line.includes(' request {') && line.includes('"status":503'))
    while (lines().length === 0) await new Promise((resolve) => setImmediate(resolve))
    // It is told, and wakes nobody.
    expect(lines()).toEqual([expect.stringMatching(/^info .*"reason":"caller went away"/)])
    expect(site.log.filter((line) => line.startsWith('error'))).toEqual([])
  })

  it('ends it through our own Personal Agent too', { timeout }, async () => {
    const { site, started, aborted } = await openSlowSite()
    const { agent, close } = await startVisitingAgent()
    onTestFinished(close)
    const session = (await agent.forUser('maya').company(site.origin)).session()
    const leaving = new AbortController()
    const waiting = session.call('wait', {}, { signal: leaving.signal })
    await started
    const reason = new Error('the owner has changed their mind')
    const given = expect(waiting).rejects.toBe(reason)
    leaving.abort(reason)
    await given
    expect(await aborted).toMatchObject(goneAway)
    expect((await session.call('quick')).body).toEqual({ aborted: false })
  })

  it('ends it when the whole listener closes', { timeout }, async () => {
    const { site, started, aborted } = await openSlowSite()
    const { agent, close } = await startVisitingAgent()
    onTestFinished(close)
    const session = (await agent.forUser('maya').company(site.origin)).session()
    const waiting = session.call('wait')
    const refused = expect(waiting).rejects.toMatchObject({ code: 'unreachable', action: 'retry' })
    await started
    await site.closeListener()
    await refused
    expect(await aborted).toMatchObject(goneAway)
  })
})

describe('a caller that goes away in the middle of its own request', () => {
  const form = 'Content-Type: application/x-www-form-urlencoded'
  it.each([
    { path: '/poppy/token', header: form },
    { path: '/poppy/revoke', header: form },
    { path: '/poppy/authorize', header: `${form}\r\nOrigin: https://miramar.example` },
  ])('is no failure of the Company’s at $path', { timeout }, async ({ path, header }) => {
    const world = await makeWorld()
    const server = createServer(toNodeHandler(world.company)).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    for (const [framing, part] of [
      ['Content-Length: 100', 'client_id='],
      ['Transfer-Encoding: chunked', '5\r\nabcde\r\n'],
      ['Transfer-Encoding: chunked', 'no chunk\r\n'],
    ]) {
      const before = world.log.length
      const arrived = once(server, 'request')
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
      socket.write(`POST ${path} HTTP/1.1\r\nHost: miramar.example\r\n${header}\r\n${framing}\r\n\r\n${part}`)
      await arrived
      socket.destroy()
      const isOver = () => world.log.slice(before).some((line) => / request \{/.test(line))
      while (!isOver()) await new Promise((resolve) => setImmediate(resolve))
      expect(world.log.slice(before).filter((line) => /^error|"status":5/.test(line))).toEqual([])
    }
  })
})

describe.each([
  { revision: '2025-11-25', options: {} },
  { revision: '2026-07-28', options: { versionNegotiation: { mode: 'auto' } } },
] as const)('over MCP $revision, a client that goes away', ({ revision, options }) => {
  async function connect() {
    const slow = await openSlowSite()
    const agent = await openForeignAgent('ES256')
    const url = `${slow.site.origin}/poppy/mcp`
    const { result } = await startSession(await discover(slow.site.origin), agent, undefined, { resource: url })
    const client = new Client({ name: 'foreign', version: '1' }, options)
    await client.connect(
      new StreamableHTTPClientTransport(new URL(url), { authProvider: { token: async () => result.access_token } }),
    )
    onTestFinished(() => client.close())
    expect(client.getNegotiatedProtocolVersion()).toBe(revision)
    return { ...slow, client }
  }

  it('ends the tool call by closing', { timeout }, async () => {
    const { client, site, started, aborted } = await connect()
    const refused = expect(client.callTool({ name: 'wait' })).rejects.toThrow()
    await started
    await client.close()
    await refused
    expect(await aborted).toMatchObject(goneAway)
    expect(site.log.filter((line) => line.startsWith('error'))).toEqual([])
  })

  it('may cancel one call alone, and goes on', { timeout }, async () => {
    const { client, started, aborted } = await connect()
    const leaving = new AbortController()
    const refused = expect(client.callTool({ name: 'wait' }, { signal: leaving.signal })).rejects.toThrow()
    await started
    leaving.abort('no longer needed')
    await refused
    expect(await client.callTool({ name: 'quick' })).toMatchObject({ structuredContent: { aborted: false } })
    // In 2025 a cancellation is a message of its own, which no server without state can match to the call: there the
    // call ends with the connection, or at the tool's own time limit.
    if (revision === '2025-11-25') await client.close()
    expect(await aborted).toMatchObject(goneAway)
  })
})

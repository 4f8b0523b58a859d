import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { parseChallenges } from '@poppyseed/protocol'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { errorResponse } from '../http/respond.ts'
import type { Principal } from '../sessions/principal.ts'
import { createMcpEndpoint } from './mcp.ts'
import { createToolRegistry } from './registry.ts'
import { callToolOverHttp } from './routes.ts'
import { type ToolContext, tool } from './tool.ts'
import { ToolError } from './tool-error.ts'

const url = 'https://miramar.example/mcp'
const resourceMetadataUrl = 'https://miramar.example/.well-known/oauth-protected-resource/mcp'

const signedOut: Principal = {
  company: 'https://miramar.example',
  clientId: 'https://agent.example/agent.json',
  userId: 'usr_Q7c1vK',
  sessionId: 'ses_2Lm0',
  account: null,
  scopes: [],
  resource: url,
  grantId: null,
}
const maya: Principal = { ...signedOut, account: 'maya', scopes: ['poppy:read'], grantId: 'grt_1' }

const tools = [
  tool({
    name: 'search_rooms',
    title: 'Search rooms',
    description: 'Rooms that are free.',
    input: z.object({ guests: z.number().int().min(1).max(8), from: z.iso.date().optional() }),
    output: z.object({ rooms: z.array(z.string()) }),
    annotations: { readOnlyHint: true },
    run: ({ guests }) => ({ rooms: guests > 2 ? ['suite'] : ['sea', 'suite'] }),
  }),
  tool({
    name: 'my_bookings',
    description: 'Bookings of the guest.',
    output: z.array(z.object({ id: z.string(), of: z.string().nullable() })),
    scope: 'poppy:read',
    run: (_, { principal }) => [{ id: 'b1', of: principal.account }],
  }),
  tool({ name: 'add_note', description: 'Adds a note.', scope: ['poppy:read', 'poppy:write'], run: () => null }),
  tool({
    name: 'book',
    description: 'Books a room.',
    input: { type: 'object', properties: { room: { type: 'string', maxLength: 5 } }, required: ['room'] },
    run: ({ room }) => {
      if (room === 'taken') throw new ToolError('That room is taken.')
      if (room === 'crash') throw new Error('canary')
      return `Booked ${room}`
    },
  }),
  tool({ name: 'slow', description: 'Takes long.', timeout: 20, run: () => new Promise(() => {}) }),
]

function company(...more: Parameters<typeof createToolRegistry>[0]) {
  const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }
  const registry = createToolRegistry([...tools, ...more], {
    declaredScopes: ['poppy:read', 'poppy:write'],
    log,
    now: () => 0,
    random: (length) => new Uint8Array(length),
  })
  const serverInfo = { name: 'miramar', version: '1.0.0', title: 'Hotel Miramar' }
  return { registry, log, endpoint: createMcpEndpoint({ registry, serverInfo, url, resourceMetadataUrl, log }) }
}

/** What the Company's boundary makes of an error at MCP. */
async function answered(response: Promise<Response>): Promise<Response> {
  const style = { scheme: 'Bearer', resourceMetadata: resourceMetadataUrl } as const
  return await response.catch((error) => errorResponse(error, style, company().log, (length) => new Uint8Array(length)))
}

const revisions = [
  { revision: '2025-11-25', options: {} },
  { revision: '2026-07-28', options: { versionNegotiation: { mode: 'auto' } } },
] as const

/** The official client, connected in process; also what came back over HTTP. */
async function connect(principal: Principal, options: object, built = company()) {
  const responses: Response[] = []
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: async (target, init) => {
      const response = await answered(built.endpoint.fetch(new Request(target, init), principal))
      responses.push(response.clone())
      return response
    },
  })
  const client = new Client({ name: 'agent', version: '1' }, options)
  await client.connect(transport)
  onTestFinished(() => client.close())
  return { client, responses, ...built }
}

/** One message by hand, in the 2025 way. */
function post(body: unknown, headers: Record<string, string> = {}): Request {
  return new Request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

const callMessage = (name: string, id: number | string = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: {} },
})

/** The JSON-RPC messages in an answer, whether it is JSON or a stream. */
async function messages(
  response: Response,
): Promise<{ id: number; result?: CallToolResult; error?: { code: number } }[]> {
  const text = await response.text()
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return [JSON.parse(text)].flat()
  const lines = text.split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => JSON.parse(line.slice(6)))
}

describe.each(revisions)('the official MCP client, $revision', ({ revision, options }) => {
  it('sees every tool, signed in or not, with its hints and scopes', async () => {
    const { client } = await connect(signedOut, options)
    expect(client.getNegotiatedProtocolVersion()).toBe(revision)
    expect(client.getServerVersion()).toMatchObject({ name: 'miramar', title: 'Hotel Miramar' })
    const { tools: listed } = await client.listTools()
    expect(listed.map(({ name }) => name)).toEqual(tools.map(({ name }) => name))
    expect(listed[0]).toMatchObject({
      title: 'Search rooms',
      annotations: { readOnlyHint: true },
      inputSchema: { type: 'object', required: ['guests'] },
      outputSchema: { type: 'object' },
    })
    expect(listed[2]?._meta).toMatchObject({ 'poppy/scope': 'poppy:read poppy:write' })
  })

  it('calls tools and gets their results, objects and lists', async () => {
    const { client } = await connect(maya, options)
    await client.listTools()
    const rooms = await client.callTool({ name: 'search_rooms', arguments: { guests: 3 } })
    expect(rooms).toMatchObject({
      structuredContent: { rooms: ['suite'] },
      content: [{ type: 'text', text: '{"rooms":["suite"]}' }],
    })
    const mine = await client.callTool({ name: 'my_bookings' })
    expect(mine.content).toEqual([{ type: 'text', text: '[{"id":"b1","of":"maya"}]' }])
    const list = [{ id: 'b1', of: 'maya' }]
    expect(mine.structuredContent).toEqual(revision === '2026-07-28' ? list : { result: list })
  })

  it.each([
    { name: 'my_bookings', who: signedOut, error: 'sign_in_required', scope: 'poppy:read' },
    { name: 'add_note', who: maya, error: 'insufficient_scope', scope: 'poppy:read poppy:write' },
  ])('is told over HTTP that $name lacks $error [6.mcp-scopes]', async ({ name, who, error, scope }) => {
    const { client, responses } = await connect(who, options)
    await expect(client.callTool({ name })).rejects.toThrow()
    const refused = responses.at(-1)
    expect(refused?.status).toBe(403)
    expect(parseChallenges(refused?.headers.get('www-authenticate') ?? '')).toMatchObject([
      { scheme: 'Bearer', parameters: { error, scope, resource_metadata: resourceMetadataUrl } },
    ])
    expect(await client.callTool({ name: 'search_rooms', arguments: { guests: 1 } })).toMatchObject({
      structuredContent: {},
    })
  })

  it('gets a protocol error for a tool that is not there', async () => {
    const { client } = await connect(maya, options)
    await expect(client.callTool({ name: 'nothing' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('Unknown tool'),
    })
  })

  it('gets what went wrong inside a tool as the result, with a code', async () => {
    const { client } = await connect(maya, options)
    const book = async (room: string) => await client.callTool({ name: 'book', arguments: { room } })
    expect(await book('taken')).toMatchObject({
      isError: true,
      content: [{ text: 'tool_failed: That room is taken.' }],
      structuredContent: { error: 'tool_failed', error_description: 'That room is taken.' },
    })
    const crashed = await book('crash')
    expect(crashed).toMatchObject({
      isError: true,
      structuredContent: { error: 'server_error', error_id: expect.stringMatching(/^err_/) },
    })
    expect(JSON.stringify(crashed)).not.toContain('canary')
    expect(await client.callTool({ name: 'slow' })).toMatchObject({
      isError: true,
      structuredContent: { error: 'tool_timeout' },
    })
  })

  it('aborts the tool when it goes away', async () => {
    const { promise: started, resolve: start } = Promise.withResolvers<ToolContext>()
    const { promise: aborted, resolve: abort } = Promise.withResolvers<void>()
    const waiting = tool({
      name: 'wait',
      description: 'Waits.',
      run: (_, context) => {
        context.signal.addEventListener('abort', () => abort())
        start(context)
        return new Promise(() => {})
      },
    })
    const { client } = await connect(maya, options, company(waiting))
    const call = client.callTool({ name: 'wait' })
    const { via, principal } = await started
    expect({ via, principal }).toEqual({ via: 'mcp', principal: maya })
    const refused = expect(call).rejects.toThrow()
    await client.close()
    await refused
    await aborted
  })

  it.each([
    { name: 'search_rooms', input: { guests: 0, from: 'tomorrow' } },
    { name: 'search_rooms', input: {} },
    { name: 'search_rooms', input: { guests: 2, unknown: true } },
    { name: 'my_bookings', input: {} },
    { name: 'book', input: { room: 'a long name' } },
    { name: 'book', input: { room: 'taken' } },
    { name: 'book', input: { room: 'sea' } },
    { name: 'slow', input: {} },
  ])('gets from $name with $input what an HTTP caller gets', async ({ name, input }) => {
    const { client, registry } = await connect(maya, options)
    const mcp = await client.callTool({ name, arguments: input })
    const request = new Request(`https://miramar.example/poppy/tools/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    const response = await answered(callToolOverHttp(registry, name, request, maya, JSON.stringify(input)))
    expect(mcp.isError ?? false).toBe(response.status !== 200)
    const text = await response.text()
    const [content] = mcp.content
    if (mcp.isError) expect(mcp.structuredContent).toEqual(JSON.parse(text))
    // A text has no quotes here: what reads it is a model.
    else expect(content).toEqual({ type: 'text', text: text.startsWith('"') ? JSON.parse(text) : text })
  })
})

const initialize = (icons: readonly unknown[]) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'agent', version: '1', icons } },
})

describe('the MCP endpoint', () => {
  it('answers a call of the 2025 revisions with JSON: nothing comes before the result that a stream could bring', async () => {
    const { endpoint } = company()
    const one = await endpoint.fetch(post(callMessage('my_bookings', 7)), maya)
    expect(one.headers.get('content-type')).toBe('application/json')
    expect(await one.json()).toMatchObject({ id: 7, result: { content: [expect.anything()] } })
    const two = await endpoint.fetch(post([callMessage('my_bookings', 1), callMessage('my_bookings', 'x')]), maya)
    expect(two.headers.get('content-type')).toBe('application/json')
    expect(((await two.json()) as { id: unknown }[]).map(({ id }) => id)).toEqual([1, 'x'])
  })

  it('is done with a call of the 2025 revisions when its caller has gone', async () => {
    const { promise: started, resolve: start } = Promise.withResolvers<void>()
    const run = () => {
      start()
      return new Promise(() => {})
    }
    const { endpoint } = company(tool({ name: 'wait', description: 'Waits.', run }))
    const leaving = new AbortController()
    const answer = endpoint.fetch(new Request(post(callMessage('wait')), { signal: leaving.signal }), maya)
    await started
    leaving.abort()
    expect((await messages(await answer))[0]?.result).toMatchObject({
      isError: true,
      structuredContent: { error: 'temporarily_unavailable' },
    })
  })

  it('answers each call of a batch by itself, rights included', async () => {
    const { endpoint } = company()
    const response = await endpoint.fetch(post([callMessage('add_note', 1), callMessage('my_bookings', 2)]), maya)
    expect(response.status).toBe(200)
    const answers = (await messages(response)).sort((a, b) => a.id - b.id)
    expect(answers[0]?.result).toMatchObject({
      isError: true,
      structuredContent: { error: 'insufficient_scope', scope: 'poppy:read poppy:write' },
      _meta: { 'mcp/www_authenticate': [expect.stringContaining('error="insufficient_scope"')] },
    })
    expect(answers[1]?.result).toMatchObject({ content: [{ text: '[{"id":"b1","of":"maya"}]' }] })
  })

  it('names what the token has beside what a call needs, so that nobody who asks for just that loses a right [6.insufficient-scope, K39]', async () => {
    const write = tool({ name: 'write', description: 'Writes.', scope: 'poppy:write', run: () => null })
    const { endpoint } = company(write)
    const alone = await answered(endpoint.fetch(post(callMessage('write')), maya))
    expect(parseChallenges(alone.headers.get('www-authenticate') ?? '')).toMatchObject([
      { parameters: { error: 'insufficient_scope', scope: 'poppy:read poppy:write' } },
    ])
    const batch = await messages(await endpoint.fetch(post([callMessage('write', 1), callMessage('write', 2)]), maya))
    for (const { result } of batch)
      expect(result).toMatchObject({
        isError: true,
        structuredContent: { error: 'insufficient_scope', scope: 'poppy:read poppy:write' },
      })
    expect(batch).toHaveLength(2)
  })

  it('ends the answer to a batch, whatever the batch says of itself', async () => {
    const { endpoint } = company()
    const cancelled = (requestId: number) => ({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId },
    })
    // A request that is cancelled gets no answer, and a batch waits for all of its answers.
    const answers = await messages(
      await endpoint.fetch(
        post([cancelled(2), callMessage('my_bookings', 1), callMessage('slow', 2), cancelled(2)]),
        maya,
      ),
    )
    expect(answers.map(({ id }) => id).sort()).toEqual([1, 2])
    expect((await endpoint.fetch(post([cancelled(1)]), maya)).status).toBe(202)
    const asked = await endpoint.fetch(post([{ ...cancelled(1), id: 3 }]), maya)
    expect(await messages(asked)).toMatchObject([{ id: 3, error: { code: -32601 } }])
  })

  it.each([
    ['an envelope of very many values', JSON.stringify(initialize(Array(1000).fill(1))), 400, -32600],
    ['the same in a batch', JSON.stringify([callMessage('book', 2), initialize(Array(1000).fill(1))]), 400, -32600],
    [
      'the same beside arguments',
      JSON.stringify({ ...callMessage('book', 2), extra: Array(1000).fill(1) }),
      400,
      -32600,
    ],
    ['two requests of one id', JSON.stringify([callMessage('slow', 1), callMessage('my_bookings', 1)]), 400, -32600],
    ['a batch too long', JSON.stringify(Array.from({ length: 21 }, (_, id) => callMessage('book', id))), 400, -32600],
    ['a member twice', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', 400, -32700],
    ['no JSON', '{', 400, -32700],
    ['nothing', '', 400, -32700],
    ['brackets without end', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`, 400, -32700],
    ['no JSON-RPC', '{"hello":"there"}', 400, -32600],
  ])('refuses %s', async (_, body, status, code) => {
    const response = await company().endpoint.fetch(post(body), maya)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { code } })
  })

  it('refuses a body without end, another content type, and what has no meaning here', async () => {
    const { endpoint } = company()
    const large = post(`"${'x'.repeat(1_100_000)}"`)
    await expect(endpoint.fetch(large, maya)).rejects.toMatchObject({ code: 'request_too_large' })
    expect((await endpoint.fetch(post('{}', { 'content-type': 'text/plain' }), maya)).status).toBe(415)
    for (const method of ['GET', 'DELETE']) {
      const response = await endpoint.fetch(
        new Request(url, { method, headers: { accept: 'text/event-stream' } }),
        maya,
      )
      expect(response.status).toBe(405)
    }
  })

  it('holds no stream open for changes that never come', async () => {
    const envelope = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'agent', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const params = { notifications: { toolsListChanged: true }, _meta: envelope }
    const message = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
    const response = await company().endpoint.fetch(post(message, headers), maya)
    expect(await messages(response)).toMatchObject([{ id: 1, error: { code: -32603 } }])
  })

  it('answers whatever arrives, and never with a failure of its own', async () => {
    const { endpoint, log } = company()
    const method = fc.constantFrom('tools/call', 'tools/list', 'initialize', 'ping', 'notifications/cancelled')
    const params = fc.record({
      name: fc.constantFrom('book', 'search_rooms', '', 'toString'),
      arguments: fc.jsonValue(),
    })
    const message = fc.oneof(
      fc.jsonValue(),
      fc.record(
        { jsonrpc: fc.constant('2.0'), id: fc.jsonValue(), method, params: fc.oneof(params, fc.jsonValue()) },
        { requiredKeys: [] },
      ),
    )
    await fc.assert(
      fc.asyncProperty(fc.oneof(message, fc.array(message, { maxLength: 3 })), async (body) => {
        const response = await answered(endpoint.fetch(post(body), maya))
        await response.text()
        expect(response.status).toBeLessThan(500)
      }),
      { numRuns: 300 },
    )
    expect(log.error).not.toHaveBeenCalled()
  })

  it('takes no token of another service [6.mcp-own-url]', async () => {
    const { endpoint } = company()
    for (const resource of [null, 'https://miramar.example/mcp/', 'https://other.example/mcp']) {
      const call = endpoint.fetch(post(callMessage('search_rooms')), { ...maya, resource })
      await expect(call).rejects.toMatchObject({ code: 'invalid_token' })
    }
  })

  it('turns a page away that reached it by a name of its own', async () => {
    const { registry, log } = company()
    const serverInfo = { name: 'miramar', version: '1' }
    const endpoint = createMcpEndpoint({
      registry,
      serverInfo,
      url,
      resourceMetadataUrl,
      log,
      hostNames: ['miramar.example'],
    })
    const refusal = (headers: Record<string, string>) => endpoint.turnAway(post({}, headers))
    const rebound = { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }
    expect(refusal(rebound)?.status).toBe(403)
    expect(await refusal(rebound)?.json()).toMatchObject({ jsonrpc: '2.0', id: null })
    expect(refusal({ origin: 'https://some-client.example' })).toBeNull()
    expect(company().endpoint.turnAway(post({}, rebound))).toBeNull()
  })

  it('hands no credential to the SDK, and none to the log', async () => {
    const { endpoint, log } = company()
    await endpoint.fetch(
      post({ jsonrpc: '2.0', id: 1, method: 'nothing' }, { authorization: 'Bearer canary-token' }),
      maya,
    )
    await endpoint.fetch(post('[]', { authorization: 'Bearer canary-token' }), maya)
    expect(log.debug).toHaveBeenCalled()
    const logged = Object.values(log).flatMap(({ mock }) => mock.calls)
    expect(JSON.stringify(logged)).not.toContain('canary')
  })
})

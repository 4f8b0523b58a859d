import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { tool } from 'poppyseed'
import { expect, it } from 'vitest'
import { openPage } from './setup/consent.ts'
import { watchTelemetry } from './setup/telemetry.ts'
import { makeWorld, type Tokens, testTools, type World } from './setup/world.ts'

/** What whoever runs a Company sees of it: a line, a span and numbers for each request. */

const requestLines = ({ log }: World) =>
  log
    .filter((line) => / request \{/.test(line))
    .map((line) => {
      const [, level = '', json = ''] = /^(\w+) request (\{.*\})$/.exec(line) ?? []
      return { ...(JSON.parse(json) as { readonly route: string }), level }
    })

const breaks = tool({
  name: 'breaks',
  description: 'Always fails.',
  run: () => {
    throw new RangeError('the password is sesame')
  },
})

it('tells of each request its route, who called by host and Session, how it ended and how long it took', async () => {
  const telemetry = watchTelemetry()
  const world = await makeWorld({ tools: [...testTools(), breaks], nonces: true })
  const { agent } = world
  const nonce = (await agent.startSession()).headers.get('dpop-nonce') ?? ''
  const proof = (url: string, token?: string) => agent.proof('POST', url, token, { claims: { nonce } })
  const started = await agent.startSession({}, { proof: await proof(agent.tokenUrl) })
  const { access_token, session_id } = (await started.json()) as Tokens
  const call = async (name: string, body?: unknown) => {
    const path = `/poppy/tools/${name}`
    return agent.call(path, access_token, { body, proof: await proof(world.origin + path, access_token) })
  }
  await call('echo', { text: 'hello' })
  await call('my_bookings')
  await call('breaks')
  await call('no-such-tool-but-a-secret')
  const known = { client: 'agent.example', session: session_id, milliseconds: expect.any(Number) as number }
  const token = { method: 'POST', route: '/poppy/token', milliseconds: expect.any(Number) as number }
  const toTool = { method: 'POST', route: '/poppy/tools/{name}', ...known }
  expect(requestLines(world)).toEqual([
    // A nonce is learned in every normal visit: no news.
    { level: 'debug', ...token, client: 'agent.example', status: 400, outcome: 'use_dpop_nonce', reason: 'nonce' },
    { level: 'debug', ...token, ...known, status: 200, outcome: 'ok' },
    { level: 'debug', ...toTool, status: 200, outcome: 'ok' },
    { level: 'info', ...toTool, status: 403, outcome: 'sign_in_required' },
    {
      level: 'warn',
      ...toTool,
      status: 500,
      outcome: 'server_error',
      reason: expect.stringContaining('breaks') as string,
    },
    { level: 'info', ...toTool, status: 404, outcome: 'tool_not_found' },
  ])

  const requests = telemetry.spans().filter(({ kind }) => kind === SpanKind.SERVER)
  expect(requests.map(({ name }) => name)).toEqual([
    'POST /poppy/token',
    'POST /poppy/token',
    ...Array.from({ length: 4 }, () => 'POST /poppy/tools/{name}'),
  ])
  expect(requests[2]?.attributes).toEqual({
    'http.request.method': 'POST',
    'http.route': '/poppy/tools/{name}',
    'http.response.status_code': 200,
    'url.scheme': 'https',
    'server.address': 'miramar.example',
    'poppy.outcome': 'ok',
    'poppy.client.host': 'agent.example',
    'poppy.session.id': session_id,
  })
  const broken = requests[4]
  expect(broken).toMatchObject({ status: { code: SpanStatusCode.ERROR }, attributes: { 'error.type': 'server_error' } })
  expect(requests[3]?.status.code).toBe(SpanStatusCode.UNSET)
  const run = telemetry.spans().find(({ name }) => name === 'tool breaks')
  expect(run?.parentSpanContext?.spanId).toBe(broken?.spanContext().spanId)
  expect(run).toMatchObject({
    status: { code: SpanStatusCode.ERROR },
    attributes: { 'poppy.tool.name': 'breaks', 'poppy.tool.via': 'http', 'error.type': 'RangeError' },
  })
  expect(run?.status.message).toBeUndefined()
  expect(run?.events).toEqual([])

  const points = await telemetry.points()
  const of = (name: string, outcome: string) =>
    points[name]?.filter(({ attributes }) => attributes['poppy.outcome'] === outcome) ?? []
  expect(of('poppy.server.requests', 'ok').map(({ attributes, value }) => [attributes['http.route'], value])).toEqual([
    ['/poppy/token', 1],
    ['/poppy/tools/{name}', 1],
  ])
  expect(of('poppy.server.request.duration', 'server_error')[0]).toMatchObject({
    attributes: { 'http.request.method': 'POST', 'http.response.status_code': 500 },
    value: { count: 1 },
  })
  for (const { value } of points['poppy.server.active_requests'] ?? []) expect(value).toBe(0)
  // Neither a person nor what a caller made up.
  expect(await telemetry.dump()).not.toMatch(/acc-maya|usr_|sesame|no-such-tool/)
})

it('names fetched documents by host, and lets nobody choose its trace', async () => {
  const telemetry = watchTelemetry()
  const world = await makeWorld({
    fetchDocument: async (url) => {
      if (url.startsWith('https://away.example')) throw new Error('the line is dead')
      return { document: structuredClone(world.agent.documents[url]), headers: new Headers() }
    },
  })
  const forged = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=b' }
  await world.agent.startSession({}, { headers: forged })
  const away = new URLSearchParams({ client_id: 'https://away.example/a.json?code=secret', redirect_uri: 'https://x' })
  expect((await openPage(world, away)).status).toBe(400)
  const spans = telemetry.spans()
  expect(spans.map(({ name, kind, attributes }) => [name, kind, attributes['server.address']])).toEqual([
    ['GET', SpanKind.CLIENT, 'agent.example'],
    ['GET', SpanKind.CLIENT, 'agent.example'],
    ['POST /poppy/token', SpanKind.SERVER, 'miramar.example'],
    ['GET', SpanKind.CLIENT, 'away.example'],
    ['GET /poppy/authorize', SpanKind.SERVER, 'miramar.example'],
  ])
  const roots = spans.filter(({ kind }) => kind === SpanKind.SERVER)
  expect(roots.map(({ parentSpanContext }) => parentSpanContext)).toEqual([undefined, undefined])
  expect(spans[0]?.parentSpanContext?.spanId).toBe(roots[0]?.spanContext().spanId)
  // Nobody was authenticated there; and a page that refuses in words is told as that.
  expect(roots[1]?.attributes).not.toHaveProperty('poppy.client.host')
  expect(roots[1]?.attributes['poppy.outcome']).toBe('refused')
  expect(spans[3]?.attributes['error.type']).toBe('Error')
  expect(await telemetry.dump()).not.toMatch(/code=secret|0af7651916cd43dd|line is dead/)
})

it('is a part of the host’s own span where it has one', async () => {
  const telemetry = watchTelemetry()
  const world = await makeWorld()
  await trace.getTracer('host').startActiveSpan('GET', { kind: SpanKind.SERVER }, async (span) => {
    await world.send(new Request(`${world.origin}/.well-known/poppy.json`))
    span.end()
  })
  const [ours, hosts] = telemetry.spans()
  expect(ours).toMatchObject({ name: 'GET /.well-known/poppy.json', kind: SpanKind.INTERNAL })
  expect(ours?.parentSpanContext?.spanId).toBe(hosts?.spanContext().spanId)
})

it('finds an SDK that comes after it, and does without one', async () => {
  const world = await makeWorld()
  const ask = (method = 'GET', path = '/.well-known/poppy.json') =>
    world.send(new Request(world.origin + path, { method }))
  expect((await ask()).status).toBe(200)
  const telemetry = watchTelemetry()
  await ask()
  await ask('MADE-UP', '/poppy/token')
  await ask('GET', '/nothing/code=secret')
  expect(telemetry.spans().map(({ name }) => name)).toEqual([
    'GET /.well-known/poppy.json',
    '_OTHER /poppy/token',
    'GET',
  ])
  const { 'poppy.server.requests': counted } = await telemetry.points()
  expect(counted?.map(({ attributes }) => attributes['poppy.outcome'])).toEqual(['ok', 'method_not_allowed', 'refused'])
  expect(requestLines(world).map(({ route }) => route)).toEqual([
    '/.well-known/poppy.json',
    '/.well-known/poppy.json',
    '/poppy/token',
    'none',
  ])
})

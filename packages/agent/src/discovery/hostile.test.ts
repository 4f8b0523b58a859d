import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errorOf, startVisit } from '../../test/visit.ts'
import { createPersonalAgent, generateKey, memoryStore } from '../index.ts'
import type { Fetch } from '../net/exchange.ts'
import { createPublicFetch } from '../net/public-fetch.ts'

/** A host that answers as a test says, on this machine. */
async function host(answer: RequestListener): Promise<{ readonly origin: string; readonly asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return { origin: `http://localhost:${(server.address() as AddressInfo).port}`, asked }
}

async function user(options: { readonly fetch?: Fetch; readonly seconds?: number } = {}) {
  return createPersonalAgent({
    clientId: 'http://localhost:4571/agent.json',
    name: 'Test Agent',
    keys: [await generateKey()],
    store: memoryStore(),
    allowHttp: true,
    timeouts: { document: options.seconds ?? 10 },
    ...(options.fetch ? { fetch: options.fetch } : {}),
  }).forUser('maya')
}

const megabyte = 1024 * 1024

describe('a host that wears the agent out', () => {
  it.each<[string, RequestListener, string, string]>([
    [
      'ten megabytes',
      (_, response) => void response.end(Buffer.alloc(10 * megabyte, 0x20)),
      'bad_answer',
      'larger than 256 KB',
    ],
    [
      'a body without end',
      (_, response) => {
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, 0x20)));
        }
        response.on('drain', more)
        more()
      },
      'bad_answer',
      'larger than 256 KB',
    ],
    [
      'a gigabyte in a megabyte of gzip',
      (_, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' })
        // Members follow each other in one stream.
        const part = gzipSync(Buffer.alloc(64 * megabyte, 0x20))
        for (let at = 0; at < 16; at++) response.write(part)
        response.end()
      },
      'bad_answer',
      'larger than 256 KB',
    ],
    [
      'arrays in arrays',
      (_, response) => void response.end(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
      'bad_document',
      'nested too deeply',
    ],
    [
      'objects in objects',
      (_, response) => void response.end(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`),
      'bad_document',
      'nested too deeply',
    ],
    [
      'a page for people',
      (_, response) => void response.end('<!doctype html><title>Hi</title>'),
      'bad_document',
      'not JSON',
    ],
    ['nothing', (_, response) => void response.end(), 'bad_document', 'not JSON'],
    ['a number', (_, response) => void response.end('42'), 'bad_document', 'not a JSON object'],
    ['one member twice', (_, response) => void response.end('{"auth":{},"auth":{}}'), 'bad_document', 'stands twice'],
    [
      'headers without end',
      (_, response) => void response.writeHead(200, { 'x-long': 'x'.repeat(200_000) }).end('{}'),
      'unreachable',
      "can't be reached",
    ],
    ['a cut connection', (request) => void request.socket.destroy(), 'unreachable', "can't be reached"],
  ])('by %s is told so, in bounded memory', async (_, answer, code, words) => {
    const { origin } = await host(answer)
    const visitor = await user()
    const before = process.memoryUsage().rss
    const began = performance.now()
    const error = await errorOf(visitor.company(origin))
    expect([error.code, error.message.includes(words)]).toEqual([code, true])
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * megabyte)
    expect(performance.now() - began).toBeLessThan(30_000)
  })

  it.each<[string, RequestListener]>([
    ['never answers', () => {}],
    [
      'sends a byte at a time',
      (_, response) => {
        response.write('{')
        const dripping = setInterval(() => response.write(' '), 20)
        response.on('close', () => clearInterval(dripping))
      },
    ],
    [
      'sends its headers a byte at a time',
      (request) => {
        request.socket.write('HTTP/1.1 200 OK\r\nx-slow: ')
        const dripping = setInterval(() => request.socket.write('x'), 20)
        request.socket.on('close', () => clearInterval(dripping))
      },
    ],
  ])('because it %s is left after its time', async (_, answer) => {
    const { origin, asked } = await host(answer)
    const began = performance.now()
    const error = await errorOf((await user({ seconds: 0.2 })).company(origin))
    expect([error.code, error.action, asked.length]).toEqual(['unreachable', 'retry', 1])
    expect(performance.now() - began).toBeLessThan(8000)
  })

  it('by redirects that loop, are too many, each slow or each limited, is left in the time of one document', async () => {
    let hop = 0
    for (const [status, headers] of [
      [302, { location: '/.well-known/poppy.json' }],
      [307, () => ({ location: `/hop/${hop++}` })],
    ] as const) {
      const { origin, asked } = await host((_, response) => {
        response.writeHead(status, typeof headers === 'function' ? headers() : headers).end()
      })
      const error = await errorOf((await user()).company(origin))
      expect([error.code, asked.length]).toEqual(['bad_document', 6])
    }
    const slow = await host((_, response) => {
      setTimeout(() => response.writeHead(302, { location: `/hop/${hop++}` }).end(), 150)
    })
    const visitor = createPersonalAgent({
      clientId: 'http://localhost:4571/agent.json',
      name: 'Test Agent',
      keys: [await generateKey()],
      store: memoryStore(),
      allowHttp: true,
      maxWaitSeconds: 0,
      timeouts: { document: 0.2 },
    }).forUser('maya')
    expect((await errorOf(visitor.company(slow.origin))).code).toBe('unreachable')
    expect(slow.asked.length).toBeLessThan(5)
  })
})

it('that asks to wait and wait is left in the time of one document too', async () => {
  const { origin } = await host((_, response) => {
    response.writeHead(429, { 'retry-after': '1' }).end()
  })
  const visitor = createPersonalAgent({
    clientId: 'http://localhost:4571/agent.json',
    name: 'Test Agent',
    keys: [await generateKey()],
    store: memoryStore(),
    allowHttp: true,
    maxWaitSeconds: 1,
    timeouts: { document: 0.1 },
    // It would take for ever.
    wait: (_, signal) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
      }),
  }).forUser('maya')
  const error = await errorOf(visitor.company(origin))
  expect([error.code, error.message.includes('did not arrive in time')]).toEqual(['unreachable', true])
})

describe('a redirect of poppy.json', () => {
  it.each([
    'https://127.0.0.1/poppy.json',
    'https://[::1]/',
    'https://10.0.0.7/',
    'https://2130706433/',
    'https://169.254.169.254/latest/',
  ])('to %s, inside a private network, is dialled by nobody', async (location) => {
    const guarded = createPublicFetch(false)
    const fetch: Fetch = async (url, init) =>
      url.includes('company.example') ? new Response(null, { status: 302, headers: { location } }) : guarded(url, init)
    const error = await errorOf(
      createPersonalAgent({
        clientId: 'https://agent.example/agent.json',
        name: 'Test Agent',
        keys: [await generateKey()],
        store: memoryStore(),
        fetch,
      })
        .forUser('maya')
        .company('company.example'),
    )
    expect([error.code, error.action]).toEqual(['unreachable', 'give_up'])
    expect(error.message).toContain('inside a private network')
  })
})

describe('a Company that says too much', () => {
  it('of APIs is asked for twenty of a kind and no more', async () => {
    const { fake, session } = await startVisit()
    const apis = ['openapi', 'mcp'].flatMap((type) =>
      Array.from({ length: 400 }, (_, at) => ({ type, url: `${fake.origin}/${type}/${at}` })),
    )
    fake.switches.poppy = (document) => ({ ...document, apis })
    const missing: string[] = []
    const tools = await (await session()).tools({ onUnavailable: (_, api) => missing.push(api) })
    expect([tools, missing.length]).toEqual([[], 40])
  })

  it('of scopes, operations and references is read in bounded time, and one bad API hides no other', async () => {
    const { fake, session, clock } = await startVisit()
    fake.switches.poppy = (document) => ({
      ...document,
      auth: { issuer: fake.origin, direct: { scopes: Array.from({ length: 5000 }, (_, at) => `scope-${at}`) } },
    })
    expect((await errorOf(session())).code).toBe('bad_document')
    fake.switches.poppy = (document) => document
    clock.now += 600_000

    // Each small thing is referred to from everywhere: parameters from paths, paths from paths, chains of pointers.
    const pointer = `#/components/${'a/'.repeat(900)}x`
    const components = {
      parameters: {
        ...Object.fromEntries(
          Array.from({ length: 8 }, (_, at) => [
            `c${at}`,
            { $ref: at === 7 ? pointer : `#/components/parameters/c${at + 1}` },
          ]),
        ),
        ...Object.fromEntries(
          Array.from({ length: 100 }, (_, at) => [
            `p${at}`,
            { name: `p${at}`, in: 'query', schema: { $ref: '#/components/schemas/S0' }, description: 'x'.repeat(400) },
          ]),
        ),
      },
      schemas: Object.fromEntries(
        Array.from({ length: 30 }, (_, at) => [
          `S${at}`,
          {
            type: 'object',
            properties: Object.fromEntries(
              Array.from({ length: 30 }, (_, n) => [`n${n}`, { $ref: `#/components/schemas/S${(at + n) % 30}` }]),
            ),
          },
        ]),
      ),
      pathItems: {
        all: {
          parameters: Array.from({ length: 100 }, (_, at) => ({ $ref: `#/components/parameters/p${at}` })),
          ...Object.fromEntries(
            ['get', 'put', 'post', 'delete', 'patch'].map((method) => [
              method,
              { parameters: Array.from({ length: 100 }, () => ({ $ref: '#/components/parameters/c0' })) },
            ]),
          ),
        },
      },
    }
    fake.switches.openapi = (document) => ({
      ...document,
      components,
      paths: Object.fromEntries(
        Array.from({ length: 20_000 }, (_, at) => [`/${at}`, { $ref: '#/components/pathItems/all' }]),
      ),
    })
    const here = await session()
    const began = performance.now()
    const before = process.memoryUsage().heapUsed
    const tools = await here.tools()
    expect(tools.length).toBeLessThanOrEqual(2000)
    expect(tools.length).toBeGreaterThan(1000)
    expect(performance.now() - began).toBeLessThan(20_000)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(500 * megabyte)
  })

  it('with pages of tools in a circle, or without end, is told so', async () => {
    for (const cursorOf of [() => 'again', (page: number) => `page ${page}`]) {
      let pages = 0
      const { fake, session } = await startVisit({
        fetch: async (url, init) => {
          const body = typeof init.body === 'string' ? init.body : ''
          if (!body.includes('"tools/list"')) return fetch(url, init)
          pages += 1
          const { id } = JSON.parse(body) as { id: number }
          const tools = Array.from({ length: 100 }, (_, at) => ({
            name: `t${pages}-${at}`,
            inputSchema: { type: 'object' },
          }))
          return Response.json({ jsonrpc: '2.0', id, result: { tools, nextCursor: cursorOf(pages) } })
        },
      })
      const mcp = await (await session()).mcp()
      expect((await errorOf(mcp.tools())).code).toBe('call_failed')
      await mcp.close()
      expect([pages <= 20, fake.origin !== '']).toEqual([true, true])
    }
  })

  it('in an answer nested too deep to be gone through is not taken', async () => {
    const { fake, session } = await startVisit()
    const here = await session()
    fake.switches.answers.push({ status: 200, headers: {}, body: `${'['.repeat(100_000)}${']'.repeat(100_000)}` })
    expect((await errorOf(here.call('echo'))).message).toContain('nested too deeply')
    fake.switches.answers.push({ status: 200, headers: {}, body: JSON.stringify({ text: '[[[['.repeat(500) }) })
    expect((await here.call('echo')).status).toBe(200)
  })

  it('under a name with hidden characters in it is not the domain that was asked', async () => {
    const { fake, user: visitor } = await startVisit()
    for (const domain of [
      'local\u200bhost',
      'localhost\u202e',
      'local\u00adhost',
      'localhost\u0000',
      'local host',
      '%6cocalhost',
    ]) {
      fake.switches.poppy = (document) => ({ ...document, organization: { name: 'Fake', domain } })
      fake.switches.metadata = (document) => ({ ...document, poppy_domains: [domain] })
      fake.switches.headers = { 'cache-control': 'no-store' }
      expect([domain, (await errorOf(visitor.company(fake.origin))).code]).toEqual([domain, 'untrusted_company'])
    }
  })

  it('and can’t name another Company’s issuer as its own, nor get anything meant for it', async () => {
    const { fake, agent, clock } = await startVisit()
    const { startFakeCompany } = await import('../../test/fake-company.ts')
    const { keySetOf } = await import('../../test/visit.ts')
    const evil = await startFakeCompany({ now: () => clock.now, keySet: keySetOf(agent), domain: '127.0.0.1' })
    evil.switches.poppy = (document) => ({
      ...document,
      auth: { issuer: fake.origin, direct: { scopes: ['poppy:read'] } },
    })
    const error = await errorOf(agent.forUser('maya').company(evil.origin))
    expect([error.code, error.action]).toEqual(['untrusted_company', 'give_up'])
    expect([...fake.paths(), ...evil.paths()]).toEqual([
      'GET /.well-known/oauth-authorization-server 200',
      'GET /.well-known/poppy.json 200',
    ])
  })
})

import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { testTls } from '../../../../test/setup/tls.ts'
import { createDocumentFetcher, type DocumentFetcherOptions } from './fetch-document.ts'
import { FetchRefused } from './fetch-refused.ts'

const open: (() => void)[] = []
afterEach(() => {
  for (const end of open.splice(0)) end()
})

/** A stranger's HTTPS host on loopback, with a certificate for `name`. */
async function startHost(listener: RequestListener, { name = 'agent.example', address = '127.0.0.1', port = 0 } = {}) {
  return listen(createHttpsServer(testTls().certFor(name), listener), address, port)
}

async function listen(server: Server, address = '127.0.0.1', port = 0) {
  const seen = { connections: 0 }
  server.on('connection', () => {
    seen.connections += 1
  })
  server.listen(port, address)
  await once(server, 'listening')
  open.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, seen }
}

/** A fetcher for which the world is `names`, and 127.0.0.1 alone counts as public. */
function fetcher(options: DocumentFetcherOptions = {}) {
  const fetchDocument = createDocumentFetcher({
    ca: testTls().ca,
    lookup: async () => ['127.0.0.1'],
    isAllowedAddress: (address) => address === '127.0.0.1',
    ...options,
  })
  open.push(fetchDocument.close)
  return fetchDocument
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => expect.fail('was fetched'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof FetchRefused)) throw error
  // One outward error, whatever happened.
  expect(error.message).toBe('The document could not be fetched.')
  expect(error.cause).toBeUndefined()
  return error.reason
}

function json(response: ServerResponse, body: string | Uint8Array = '{}', headers: Record<string, string> = {}) {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body)
}

describe('fetching a document of a stranger', () => {
  it('brings the document and its headers, and says which host and types it wants', async () => {
    let asked: unknown
    const { port } = await startHost((request, response) => {
      asked = [request.method, request.url, request.headers.host, request.headers['accept-encoding']]
      json(response, '{"client_id":"x"}', {
        'cache-control': 'max-age=90',
        'content-type': 'application/json; charset=utf-8',
      })
    })
    const { document, headers } = await fetcher()(`https://agent.example:${port}/agent.json?v=1`)
    expect(document).toEqual({ client_id: 'x' })
    expect(headers.get('cache-control')).toBe('max-age=90')
    expect(asked).toEqual(['GET', '/agent.json?v=1', `agent.example:${port}`, 'identity'])
  })

  it('takes a body that comes in pieces, and a JSON type with a suffix', async () => {
    const { port } = await startHost((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/jwk-set+json' })
      response.write('{"keys"')
      response.end(':[]}')
    })
    expect((await fetcher()(`https://agent.example:${port}/`)).document).toEqual({ keys: [] })
  })

  it('does not follow a redirect [K16]', async () => {
    const inner = await listen(createHttpServer((_request, response) => json(response)))
    const host = await startHost((_request, response) => {
      response
        .writeHead(302, { location: `http://127.0.0.1:${inner.port}/`, 'content-type': 'application/json' })
        .end('{}')
    })
    expect(await refusalOf(fetcher()(`https://agent.example:${host.port}/`))).toBe('bad_status')
    expect(inner.seen.connections).toBe(0)
  })

  it('dials the address that it checked, each time [K16]', async () => {
    // The fetcher takes 127.0.0.2 for public and all else for private; both serve the same document.
    const host = await startHost((_request, response) => json(response), { address: '127.0.0.2' })
    const inner = await startHost((_request, response) => json(response), { port: host.port })
    const answers = [['127.0.0.2'], ['127.0.0.1'], ['127.0.0.2', '127.0.0.1']]
    const fetchDocument = fetcher({
      lookup: async () => answers.shift() ?? [],
      isAllowedAddress: (address) => address === '127.0.0.2',
    })
    const url = `https://agent.example:${host.port}/`
    expect((await fetchDocument(url)).document).toEqual({})
    expect(host.seen.connections).toBe(1)
    // The name means something else a moment later, or means both at once.
    expect(await refusalOf(fetchDocument(url))).toBe('forbidden_address')
    expect(await refusalOf(fetchDocument(url))).toBe('forbidden_address')
    expect([host.seen.connections, inner.seen.connections]).toEqual([1, 0])
  })

  it('asks for each name once per fetch, so a second answer is never used [K16]', async () => {
    const { port } = await startHost((_request, response) => json(response))
    let lookups = 0
    const fetchDocument = fetcher({
      lookup: async () => {
        lookups += 1
        return ['127.0.0.1']
      },
    })
    await fetchDocument(`https://agent.example:${port}/`)
    expect(lookups).toBe(1)
  })

  it('gives the first of several addresses time, also while this process is busy', async () => {
    const { port } = await startHost((_request, response) => json(response))
    let isBusy = false
    const fetchDocument = fetcher({
      // Nobody listens at the second one.
      lookup: async () => ['127.0.0.1', '127.0.0.3'],
      isAllowedAddress(address) {
        // In the turn in which it dials, and for longer than Node gives an address by itself.
        if (!isBusy) setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600))
        isBusy = true
        return address.startsWith('127.')
      },
    })
    expect((await fetchDocument(`https://agent.example:${port}/`)).document).toEqual({})
  })

  it('tries few of many addresses: whoever answers for a name could have us knock at thousands of doors', async () => {
    const { port } = await startHost((_request, response) => json(response), { address: '127.0.0.4' })
    const { seen } = await startHost((_request, response) => json(response), { address: '127.0.0.5', port })
    const many = Array.from({ length: 20 }, (_, index) => `127.0.0.${index + 1}`)
    const find = (addresses: readonly string[]) =>
      fetcher({ isAllowedAddress: () => true, lookup: async () => addresses })(
        `https://agent.example:${port}/agent.json`,
      )
    expect((await find(many)).document).toEqual({})
    expect(await refusalOf(find([...many.slice(9), '127.0.0.5']))).toBe('unreachable')
    expect(seen.connections).toBe(0)
  })

  it('checks the address of the socket too, whatever the resolver said [K16]', async () => {
    const { port, seen } = await startHost((_request, response) => json(response))
    let asked = 0
    // Allowed when the answer is checked, not when the socket is there.
    const isAllowedAddress = () => {
      asked += 1
      return asked === 1
    }
    expect(await refusalOf(fetcher({ isAllowedAddress })(`https://agent.example:${port}/`))).toBe('forbidden_address')
    expect([asked, seen.connections]).toEqual([2, 1])
  })

  it.each([
    '127.0.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '127.0.0.1.',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[fd00::1]',
    '100.64.0.1',
    '169.254.169.254',
    '１２７.0.0.1',
    '8.8.8.8',
  ])('refuses https://%s before it dials [K17]', async (literal) => {
    const { port, seen } = await startHost((_request, response) => json(response))
    const fetchDocument = fetcher({ isAllowedAddress: () => true, lookup: () => expect.fail('looked up') })
    expect(await refusalOf(fetchDocument(`https://${literal}:${port}/`))).toBe('literal_address')
    expect(seen.connections).toBe(0)
  })

  it('by default takes public addresses alone: names of private ones are not dialled [K16, K17]', async () => {
    const { port, seen } = await startHost((_request, response) => json(response), { name: 'localhost' })
    for (const answer of [
      '127.0.0.1',
      '::1',
      '10.1.2.3',
      '::ffff:127.0.0.1',
      '169.254.169.254',
      '0.0.0.0',
      'nonsense',
    ]) {
      const fetchDocument = createDocumentFetcher({ ca: testTls().ca, lookup: async () => [answer] })
      expect(await refusalOf(fetchDocument(`https://localhost:${port}/`))).toBe('forbidden_address')
    }
    expect(seen.connections).toBe(0)
  })

  it.each([
    ['http://agent.example/', 'not_https'],
    ['http://localhost:1/', 'not_https'],
    ['ftp://agent.example/', 'not_https'],
    ['file:///etc/passwd', 'not_https'],
    ['data:application/json,{}', 'not_https'],
    ['https://user@agent.example/', 'bad_url'],
    ['https://agent.example/#key', 'bad_url'],
    ['agent.example', 'bad_url'],
    ['', 'bad_url'],
  ])('refuses %s [4.1.client-id-https]', async (url, reason) => {
    expect(await refusalOf(fetcher({ lookup: () => expect.fail('looked up') })(url))).toBe(reason)
  })

  it('reads no more of a body than it may [K16]', async () => {
    let sent = 0
    const { port } = await startHost((request, response) => {
      if (request.url === '/told') {
        json(response, 'x'.repeat(10_000_000))
        return
      }
      response.writeHead(200, { 'content-type': 'application/json' })
      const chunk = 'x'.repeat(16_384)
      const more = () => {
        while (sent < 10_000_000 && !response.destroyed) {
          sent += chunk.length
          if (!response.write(chunk)) {
            response.once('drain', more)
            return
          }
        }
      }
      more()
    })
    expect(await refusalOf(fetcher()(`https://agent.example:${port}/told`))).toBe('too_large')
    expect(await refusalOf(fetcher()(`https://agent.example:${port}/untold`))).toBe('too_large')
    expect(sent).toBeLessThan(5_000_000)
  })

  it('takes a body of exactly the limit and not one byte more', async () => {
    const { port } = await startHost((request, response) =>
      json(response, `"${'x'.repeat(Number(request.url?.slice(1)))}"`),
    )
    const fetchDocument = fetcher({ maxBytes: 100 })
    expect((await fetchDocument(`https://agent.example:${port}/98`)).document).toHaveLength(98)
    expect(await refusalOf(fetchDocument(`https://agent.example:${port}/99`))).toBe('too_large')
  })

  it('brings no document of so many values that judging it would cost more than fetching it', async () => {
    const { port } = await startHost((request, response) =>
      json(response, JSON.stringify({ keys: Array(Number(request.url?.slice(1))).fill(1) })),
    )
    const fetchDocument = fetcher()
    expect((await fetchDocument(`https://agent.example:${port}/1900`)).document).toHaveProperty('keys.1899')
    expect(await refusalOf(fetchDocument(`https://agent.example:${port}/20000`))).toBe('not_json')
  })

  it('unpacks nothing [K16]', async () => {
    const { port } = await startHost((_request, response) =>
      json(response, gzipSync('{}'), { 'content-encoding': 'gzip' }),
    )
    expect(await refusalOf(fetcher()(`https://agent.example:${port}/`))).toBe('bad_encoding')
  })

  it.each(['a body that never ends', 'headers that never end', 'no answer', 'endless early hints'])(
    'gives up in time on %s [K16]',
    async (kind) => {
      const { port, seen } = await startHost((_request, response) => {
        if (kind === 'no answer') return
        if (kind !== 'a body that never ends') {
          const socket = response.socket
          const line = kind === 'headers that never end' ? 'x-more: 1\r\n' : 'HTTP/1.1 103 Early Hints\r\n\r\n'
          if (kind === 'headers that never end') socket?.write('HTTP/1.1 200 OK\r\n')
          const drip = setInterval(() => socket?.write(line), 5)
          socket?.on('error', () => clearInterval(drip)).on('close', () => clearInterval(drip))
          return
        }
        response.writeHead(200, { 'content-type': 'application/json' })
        const drip = setInterval(() => response.write(' '), 5)
        response.on('close', () => clearInterval(drip))
      })
      const started = performance.now()
      expect(await refusalOf(fetcher({ timeout: 250 })(`https://agent.example:${port}/`))).toBe('timeout')
      expect(performance.now() - started).toBeLessThan(2000)
      expect(seen.connections).toBe(1)
    },
  )

  it('gives up in time on a name server that never answers, and on a host that never shakes hands [K16]', async () => {
    const never = fetcher({ timeout: 100, lookup: () => new Promise<never>(() => undefined) })
    expect(await refusalOf(never('https://agent.example/'))).toBe('timeout')
    // Plain HTTP where TLS is expected: it waits for a request that never comes.
    const { port } = await listen(createHttpServer())
    expect(['timeout', 'unreachable']).toContain(
      await refusalOf(fetcher({ timeout: 250 })(`https://agent.example:${port}/`)),
    )
  })

  it('breaks off what runs when it is closed, and refuses what comes later', async () => {
    const asked = Promise.withResolvers<void>()
    const { port } = await startHost(() => asked.resolve())
    const fetchDocument = fetcher()
    const running = refusalOf(fetchDocument(`https://agent.example:${port}/`))
    await asked.promise
    fetchDocument.close()
    expect(await running).toBe('closed')
    expect(await refusalOf(fetchDocument(`https://agent.example:${port}/`))).toBe('closed')
  })

  it('takes no certificate of another name, and none of an authority that it does not know', async () => {
    const { port } = await startHost((_request, response) => json(response), { name: 'other.example' })
    expect(await refusalOf(fetcher()(`https://agent.example:${port}/`))).toBe('unreachable')
    const stranger = createDocumentFetcher({ lookup: async () => ['127.0.0.1'], isAllowedAddress: () => true })
    expect(await refusalOf(stranger(`https://other.example:${port}/`))).toBe('unreachable')
  })

  it.each([
    ['HTML', 200, 'text/html', '{}', 'not_json'],
    ['no type at all', 200, '', '{}', 'not_json'],
    ['a type that only looks like it', 200, 'application/jsonp', '{}', 'not_json'],
    ['broken JSON', 200, 'application/json', '{', 'not_json'],
    ['an empty body', 200, 'application/json', '', 'not_json'],
    ['a member twice', 200, 'application/json', '{"a":1,"a":2}', 'not_json'],
    ['deep nesting', 200, 'application/json', `${'['.repeat(100)}${']'.repeat(100)}`, 'not_json'],
    ['bytes that are no text', 200, 'application/json', Buffer.from([0x22, 0xff, 0x22]), 'not_json'],
    ['404', 404, 'application/json', '{}', 'bad_status'],
    ['203', 203, 'application/json', '{}', 'bad_status'],
    ['500', 500, 'application/json', '{"secret":"inside"}', 'bad_status'],
  ])('refuses %s', async (_kind, status, type, body, reason) => {
    const { port } = await startHost((_request, response) => {
      response.writeHead(status, type === '' ? {} : { 'content-type': type }).end(body)
    })
    expect(await refusalOf(fetcher()(`https://agent.example:${port}/`))).toBe(reason)
  })

  describe('in development, when loopback is allowed', () => {
    it('fetches loopback hosts over http and https without asking a resolver', async () => {
      const plain = await listen(createHttpServer((_request, response) => json(response)))
      const secure = await startHost((_request, response) => json(response), { name: 'localhost' })
      const fetchDocument = createDocumentFetcher({
        allowLoopback: true,
        ca: testTls().ca,
        lookup: () => expect.fail('looked up'),
      })
      for (const url of [
        `http://localhost:${plain.port}/`,
        `http://127.0.0.1:${plain.port}/`,
        `http://agent.localhost:${plain.port}/`,
        `https://localhost:${secure.port}/`,
      ]) {
        expect((await fetchDocument(url)).document).toEqual({})
      }
    })

    it('still refuses every other host the same [K16, K17]', async () => {
      const { port, seen } = await listen(createHttpServer((_request, response) => json(response)))
      const fetchDocument = createDocumentFetcher({ allowLoopback: true, lookup: async () => ['127.0.0.1'] })
      expect(await refusalOf(fetchDocument(`http://agent.example:${port}/`))).toBe('not_https')
      expect(await refusalOf(fetchDocument(`https://agent.example:${port}/`))).toBe('forbidden_address')
      expect(await refusalOf(fetchDocument(`https://127.0.0.2:${port}/`))).toBe('literal_address')
      expect(await refusalOf(fetchDocument(`https://[::ffff:127.0.0.1]:${port}/`))).toBe('literal_address')
      expect(await refusalOf(fetchDocument(`https://10.0.0.1:${port}/`))).toBe('literal_address')
      expect(seen.connections).toBe(0)
    })
  })
})

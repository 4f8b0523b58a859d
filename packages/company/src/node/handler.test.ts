import { once } from 'node:events'
import { createServer, type IncomingMessage, request as nodeRequest, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import express from 'express'
import { describe, expect, it, onTestFinished } from 'vitest'
import { goneAddress, peerAddressOf } from '../http/peer-address.ts'
import { type Mountable, type NodeHandler, toNodeHandler } from './handler.ts'
import { nodeRequestOf, sendResponse, toWebRequest } from './web-request.ts'

/** Owns what is below /own/, and answers it with what a test says. */
function owner(fetch: Mountable['fetch']): Mountable {
  return { owns: ({ url }) => new URL(url).pathname.startsWith('/own/'), fetch }
}

async function open(listener: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, origin: `http://127.0.0.1:${port}` }
}

/** A site that says "site" to all that the handler passes on. */
const siteAround = (handler: NodeHandler) => open((req, res) => handler(req, res, () => res.end('site')))

/** Sends bytes as they are, and gives the status line of the answer. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.end(text)
  let answer = ''
  for await (const chunk of socket.setEncoding('latin1')) answer += chunk
  return answer.split('\r\n', 1)[0] ?? ''
}

const tell = async (request: Request) =>
  Response.json({
    method: request.method,
    url: request.url,
    doubled: request.headers.get('x-doubled'),
    body: await request.text(),
  })

describe('a Company behind Node’s http', () => {
  it('answers its own and passes everything else on', async () => {
    const { origin } = await siteAround(toNodeHandler(owner(tell)))
    expect(await (await fetch(`${origin}/page`)).text()).toBe('site')
    const answer = await fetch(`${origin}/own/thing?a=1`, { method: 'POST', body: 'text' })
    expect(await answer.json()).toEqual({ method: 'POST', url: `${origin}/own/thing?a=1`, doubled: null, body: 'text' })
  })

  it('hands everything to the Company where there is no site', async () => {
    const { origin } = await open(
      toNodeHandler({ ...owner(tell), fetch: async () => new Response(null, { status: 404 }) }),
    )
    expect((await fetch(`${origin}/page`)).status).toBe(404)
  })

  it('passes on what the client sent twice', async () => {
    const { port } = await siteAround(
      toNodeHandler(
        owner(async ({ headers }) => new Response(null, { status: headers.get('dpop') === 'a, b' ? 202 : 500 })),
      ),
    )
    const text = 'GET /own/x HTTP/1.1\r\nHost: h\r\nDPoP: a\r\nDPoP: b\r\nConnection: close\r\n\r\n'
    expect(await raw(port, text)).toContain(' 202 ')
  })

  it.each([
    { what: 'a target that looks like a host', line: 'GET //own/x HTTP/1.1', status: 200 },
    { what: 'a target that a proxy would get', line: 'GET http://elsewhere.example/own/x HTTP/1.1', status: 202 },
    { what: 'a target that is none', line: 'OPTIONS * HTTP/1.1', status: 200 },
    { what: 'a method that a Web Request can’t have', line: 'TRACE /page HTTP/1.1', status: 200 },
    { what: 'that method at a path of its own', line: 'TRACE /own/x HTTP/1.1', status: 202 },
  ])('takes $what without falling over', async ({ line, status }) => {
    const { port } = await siteAround(toNodeHandler(owner(async () => new Response(null, { status: 202 }))))
    expect(await raw(port, `${line}\r\nHost: h\r\nConnection: close\r\n\r\n`)).toContain(` ${status} `)
  })

  it.each(['/page/../own/x', '/%2e%2E/own/x', '/own/./x', '/own/x/.', '/own/x/y/%2e.?a=1', 'http://h/a/../own/x'])(
    'leaves %s to the site, whose guards see another path than a URL parser',
    async (target) => {
      const { port } = await siteAround(toNodeHandler(owner(async () => new Response(null, { status: 202 }))))
      expect(await raw(port, `GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)).toContain(' 200 ')
    },
  )

  it('takes dots that are no segment of a path', async () => {
    const { port } = await siteAround(toNodeHandler(owner(async () => new Response(null, { status: 202 }))))
    for (const target of ['/own/x?to=/../y', '/own/..x', '/own/x.', '/own/.x'])
      expect(await raw(port, `GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)).toContain(' 202 ')
  })

  it.each([
    { what: 'a password in the Host', target: '/own/x', host: 'u:p@h', status: 400 },
    { what: 'a name in the Host, at the site', target: '/page', host: 'u@h', status: 200 },
    { what: 'a password in the target', target: 'http://u:p@h/own/x', host: 'h', status: 202 },
    { what: 'a name in the target, at the site', target: 'http://u@h/page', host: 'h', status: 200 },
    { what: 'a path in the Host, which makes no path of ours', target: '/x', host: 'h/own', status: 200 },
    { what: 'a query in the Host, which takes no path away', target: '/own/x', host: 'h?', status: 400 },
    { what: 'a port that is none', target: '/own/x', host: 'h:99999', status: 400 },
    { what: 'an address that is none', target: '/own/x', host: '1.2.3.4.5', status: 400 },
  ])('takes $what without falling over', async ({ target, host, status }) => {
    const { port } = await siteAround(
      toNodeHandler(
        owner(async (request) => {
          // As whoever makes one of it does: the library, and a site's own `account`.
          new Request(request.url)
          return new Response(await request.text(), { status: 202 })
        }),
      ),
    )
    const text = `POST ${target} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`
    expect(await raw(port, text)).toContain(` ${status} `)
  })

  it('makes a Web Request of whatever a client writes there, so that no site falls over it', async () => {
    const asked: (string | null)[][] = []
    const { port } = await open((req, res) => {
      const { method, url, headers } = toWebRequest(req)
      asked.push([method, url, headers.get('host')])
      res.end()
    })
    for (const [line, host] of [
      ['GET /api?a=1', 'u:p@h'],
      ['GET http://u:p@h/api', 'g'],
      ['GET /api', 'h/own'],
      ['GET //e/api', 'h h'],
      ['TRACE /api', 'h'],
      ['M-SEARCH /api', 'h'],
      ['OPTIONS *', 'h'],
      ['GET ws://h/own/x', 'h'],
    ])
      await raw(port, `${line} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    expect(asked).toEqual([
      ['GET', 'http://unreadable.invalid/api?a=1', 'u:p@h'],
      ['GET', 'http://h/api', 'g'],
      ['GET', 'http://unreadable.invalid/api', 'h/own'],
      ['GET', 'http://unreadable.invalid//e/api', 'h h'],
      ['TRACE', 'http://h/api', 'h'],
      ['M-SEARCH', 'http://h/api', 'h'],
      ['OPTIONS', 'http://unreadable.invalid/', 'h'],
      ['GET', 'http://unreadable.invalid/', 'h'],
    ])
  })

  it('knows from where a request came whose connection is closed by then', async () => {
    const seen = Promise.withResolvers<string | undefined>()
    const { port } = await siteAround(
      toNodeHandler(
        owner(async (request) => {
          seen.resolve(peerAddressOf(request))
          return new Response()
        }),
      ),
    )
    // What follows is no request, so the parser closes the connection before anybody has looked at the first.
    await raw(port, 'GET /own/x HTTP/1.1\r\nHost: h\r\n\r\nno request\r\n\r\n')
    expect(await seen.promise).toBe('127.0.0.1')
  })

  it('gives a connection that was closed before it was asked for a name of its own', async () => {
    const seen = Promise.withResolvers<string | undefined>()
    const { port } = await open((req, res) => {
      res.on('error', () => {})
      req.socket.destroy()
      req.socket.on('close', () => seen.resolve(peerAddressOf(toWebRequest(req))))
    })
    await raw(port, 'GET /api HTTP/1.1\r\nHost: h\r\n\r\n').catch(() => {})
    expect(await seen.promise).toBe(goneAddress)
  })

  it('refuses a Host that is none, where no site could mean something by it', async () => {
    const { port } = await open(toNodeHandler(owner(tell)))
    expect(await raw(port, 'GET /own/x HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n')).toContain(' 400 ')
  })

  it('streams both ways: an answer begins before the body has ended, and has no end yet', async () => {
    const { port } = await siteAround(
      toNodeHandler(
        owner(async ({ body }) => {
          const shout = new TransformStream<Uint8Array, Uint8Array>({
            transform: (chunk, controller) =>
              controller.enqueue(Buffer.from(Buffer.from(chunk).toString().toUpperCase())),
          })
          return new Response(body?.pipeThrough(shout), { headers: { 'content-type': 'text/event-stream' } })
        }),
      ),
    )
    const sent = nodeRequest({ port, host: '127.0.0.1', path: '/own/echo', method: 'POST' })
    sent.write('one')
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    const chunks = answer.setEncoding('utf8').iterator() as AsyncIterator<string>
    expect(await chunks.next()).toMatchObject({ value: 'ONE' })
    sent.end('two')
    expect(await chunks.next()).toMatchObject({ value: 'TWO' })
    expect(await chunks.next()).toMatchObject({ done: true })
  })

  it('aborts the request’s signal when the client goes away, and not when all went well', async () => {
    const arrived = Promise.withResolvers<AbortSignal>()
    const gone = Promise.withResolvers<void>()
    const { origin } = await siteAround(
      toNodeHandler(
        owner(async ({ url, signal }) => {
          if (url.endsWith('/quick')) return Response.json({ aborted: signal.aborted })
          signal.addEventListener('abort', () => gone.resolve())
          arrived.resolve(signal)
          return new Promise(() => {})
        }),
      ),
    )
    const leaving = new AbortController()
    const waiting = fetch(`${origin}/own/slow`, { method: 'POST', body: '{}', signal: leaving.signal })
    const refused = expect(waiting).rejects.toThrow()
    expect((await arrived.promise).aborted).toBe(false)
    leaving.abort()
    await refused
    await gone.promise
    expect(await (await fetch(`${origin}/own/quick`)).json()).toEqual({ aborted: false })
  })

  it('sends no body with HEAD', async () => {
    const { origin } = await siteAround(toNodeHandler(owner(async () => Response.json({ a: 1 }))))
    const answer = await fetch(`${origin}/own/x`, { method: 'HEAD' })
    expect([answer.status, answer.headers.get('content-length'), await answer.text()]).toEqual([200, '7', ''])
  })

  it('tells nothing of an error that nobody caught', async () => {
    const { origin } = await siteAround(toNodeHandler(owner(async () => Promise.reject(new Error('a secret detail')))))
    const answer = await fetch(`${origin}/own/x`)
    expect([answer.status, await answer.text()]).toEqual([500, expect.not.stringContaining('secret')])
  })

  it('leaves the process’s Request and Response as they are', async () => {
    const before = [globalThis.Request, globalThis.Response]
    const { origin } = await siteAround(toNodeHandler(owner(tell)))
    await fetch(`${origin}/own/x`)
    expect([globalThis.Request, globalThis.Response]).toEqual(before)
  })
})

describe('a Company in Express', () => {
  async function openApp(use: (app: express.Express) => void) {
    const app = express()
    use(app)
    app.use((_req, res) => void res.send('site'))
    return open(app)
  }

  it('sees the whole path where it is mounted below one', async () => {
    const { origin } = await openApp((app) => void app.use('/own', toNodeHandler(owner(tell))))
    expect(await (await fetch(`${origin}/own/x?a=1`)).json()).toMatchObject({ url: `${origin}/own/x?a=1` })
    expect(await (await fetch(`${origin}/page`)).text()).toBe('site')
  })

  it('says what is wrong when a parser was before it, and never guesses at what it had read', async () => {
    const read = Promise.withResolvers<unknown>()
    const { origin } = await openApp((app) => {
      app.use(express.json())
      app.use(
        toNodeHandler(
          owner(async (request) => {
            read.resolve(await request.text().catch((error: unknown) => error))
            return new Response(null, { status: 500 })
          }),
        ),
      )
    })
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(`${origin}/own/x`, { method: 'POST', body: '{"a":1,"a":2}', headers })).status).toBe(500)
    expect(String(await read.promise)).toContain('Mount it before express.json()')
  })

  it('takes the exact bytes where the site kept them, and a body that no parser wanted', async () => {
    const { origin } = await openApp((app) => {
      app.use(
        express.json({
          verify: (req, _res, bytes) => {
            Object.assign(req, { rawBody: bytes })
          },
        }),
      )
      app.use(toNodeHandler(owner(tell)))
    })
    const post = async (type: string, body: string) =>
      (await fetch(`${origin}/own/x`, { method: 'POST', body, headers: { 'content-type': type } })).json()
    expect(await post('application/json', '{"a":1,"a":2}')).toMatchObject({ body: '{"a":1,"a":2}' })
    expect(await post('text/plain', 'text')).toMatchObject({ body: 'text' })
  })

  it('knows the site’s own request behind a Web one, and answers for the site', async () => {
    const { origin } = await openApp((app) => {
      app.use((req, _res, next) => {
        Object.assign(req, { member: 'maya' })
        next()
      })
      app.use(
        toNodeHandler(
          owner(async (request) => Response.json(nodeRequestOf<IncomingMessage & { member: string }>(request)?.member)),
        ),
      )
      app.get('/api', async (req, res) => {
        const request = toWebRequest(req)
        res.cookie('site', '1')
        const answer = Response.json(
          {
            url: request.url,
            same: nodeRequestOf(request) === req,
            other: nodeRequestOf(new Request(request)) ?? null,
          },
          {
            status: 403,
            headers: [
              ['set-cookie', 'ours=1'],
              ['set-cookie', 'more=1'],
              ['www-authenticate', 'DPoP'],
            ],
          },
        )
        await sendResponse(answer, res)
      })
    })
    expect(await (await fetch(`${origin}/own/x`)).json()).toBe('maya')
    const answer = await fetch(`${origin}/api?b=2`)
    expect(await answer.json()).toEqual({ url: `${origin}/api?b=2`, same: true, other: null })
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([403, 'DPoP'])
    expect(answer.headers.getSetCookie()).toEqual(['site=1; Path=/', 'ours=1', 'more=1'])
  })
})

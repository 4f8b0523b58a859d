import { once } from 'node:events'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo, LookupFunction } from 'node:net'
import { Agent, buildConnector, fetch as undiciFetch } from 'undici'
import { onTestFinished } from 'vitest'
import { testTls } from './tls.ts'

/** HTTPS between names, on this machine alone: listeners with certificates, and a `fetch` that knows where they are. */

const toLoopback: LookupFunction = (_name, { all }, callback) => {
  if (all === true) callback(null, [{ address: '127.0.0.1', family: 4 }])
  else callback(null, '127.0.0.1', 4)
}

/**
 * A `fetch` as on the open internet, except that every name leads here: `https://name` to the port in `ports`, any other
 * port to itself. It checks certificates against `ca`, the tests' own authority when left out.
 */
export function namedFetch(ports: Readonly<Record<string, number>>, ca: string | undefined = testTls().ca) {
  const dial = buildConnector({ lookup: toLoopback, timeout: 20_000, ...(ca === '' ? {} : { ca }) })
  const connect: buildConnector.connector = (options, callback) => {
    const port = options.port === '' || options.port === '443' ? ports[options.hostname] : options.port
    if (port === undefined) throw new Error(`nobody is at ${options.hostname}`)
    dial({ ...options, port: String(port) }, callback)
  }
  const dispatcher = new Agent({ connect })
  onTestFinished(() => dispatcher.destroy())
  return async (url: string, init: RequestInit = {}): Promise<Response> =>
    // undici's own types and Node's describe the same objects.
    (await undiciFetch(url, { ...(init as object), dispatcher })) as unknown as Response
}

/** What a proxy makes of a request before it passes it on; null where it answers 404 by itself. */
export type Rewrite = (asked: {
  readonly path: string
  readonly headers: IncomingHttpHeaders
}) => { readonly path: string; readonly headers: IncomingHttpHeaders } | null

/** What ends TLS for `name` in front of a plain listener, and passes everything on, `Host` too. Gives its port. */
export async function tlsProxy(name: string, port: number, rewrite: Rewrite = (asked) => asked): Promise<number> {
  const server: Server = createServer(testTls().certFor(name), (incoming, outgoing) => {
    const { method, url = '/' } = incoming
    const passed = rewrite({ path: url, headers: incoming.headers })
    if (passed === null) {
      outgoing.writeHead(404).end()
      return
    }
    const { path, headers } = passed
    const onward = httpRequest({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  })
  return (server.address() as AddressInfo).port
}

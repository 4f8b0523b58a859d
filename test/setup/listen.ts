import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { onTestFinished } from 'vitest'

/** Real listeners on the loopback address, gone when the test is over. */

export type Handler = (request: Request) => Response | Promise<Response>

export interface ListenOptions {
  /** Key and certificate of the name it answers to, PEM: TLS. */
  readonly tls?: { readonly key: string; readonly cert: string }
  /** How callers reach it, where that is not `http://localhost` and its port. */
  readonly origin?: string
}

export interface Listener {
  /** `http://localhost:<port>`, or the origin that was handed in. */
  readonly origin: string
  readonly port: number
  readonly close: () => Promise<void>
}

/**
 * Takes a free port, then asks `make` for what answers there: it may need to know the origin first.
 */
export async function listen(
  make: (origin: string) => Handler | Promise<Handler>,
  options: ListenOptions = {},
): Promise<Listener> {
  let answer: Handler = () => new Response(null, { status: 503 })
  const server = createAdaptorServer({
    fetch: (request) => answer(request),
    overrideGlobalObjects: false,
    ...(options.tls ? { createServer: createTlsServer, serverOptions: options.tls } : {}),
  }) as Server
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  onTestFinished(close)
  const origin = options.origin ?? `http://localhost:${port}`
  answer = await make(origin)
  return { origin, port, close }
}

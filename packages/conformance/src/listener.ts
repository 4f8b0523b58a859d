import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'

/** Real listeners on the loopback address, for parties that misbehave down to the socket. */

/** Key and certificate of the name that a listener answers to, PEM. */
export interface ListenerTls {
  readonly key: string
  readonly cert: string
}

/** A listener that runs. */
export interface Listener {
  readonly port: number
  /** `http://localhost:<port>`, or HTTPS and the name it was given. */
  readonly origin: string
  /** Breaks off every connection and stops listening. */
  readonly close: () => Promise<void>
}

/** Listens on a free port of 127.0.0.1, or on `port`. */
export async function openListener(
  answer: RequestListener,
  options: { readonly name: string; readonly tls?: ListenerTls | undefined; readonly port?: number },
): Promise<Listener> {
  const { name, tls } = options
  const server: Server = tls ? createTlsServer(tls, answer) : createHttpServer(answer)
  // Whoever plays a slow party decides itself when it is enough.
  server.requestTimeout = 0
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    origin: `${tls ? 'https' : 'http'}://${name}:${port}`,
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port that nobody listens at, for what has to be told its port before it listens. From below those that the system gives
 * out by itself: one of these may be given to another test before it is used.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    const closed = once(server, 'close')
    server.close()
    await closed
    return port
  }
}

import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { onTestFinished } from 'vitest'
import type { Handler } from './listen.ts'

/** A listener on the loopback address that goes away and comes back at the same address, as a server's network does. */
export async function breakableListen(make: (origin: string) => Handler | Promise<Handler>) {
  let answer: Handler = () => new Response(null, { status: 503 })
  const server = createAdaptorServer({
    fetch: (request) => answer(request),
    overrideGlobalObjects: false,
  }) as Server
  const open = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  /** Cuts every connection; nobody answers any more. */
  const goAway = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  const answering = new Set<ServerResponse>()
  server.on('request', (_, response) => {
    answering.add(response)
    response.on('close', () => answering.delete(response))
  })
  /** Nothing more of what is being answered now arrives, and nobody is told: a way between that is gone without a sign. */
  const goSilent = () => {
    for (const { socket } of answering) socket?.cork()
  }
  await open(0)
  onTestFinished(goAway)
  const { port } = server.address() as AddressInfo
  const origin = `http://localhost:${port}`
  answer = await make(origin)
  return { origin, goAway, goSilent, comeBack: () => open(port) }
}

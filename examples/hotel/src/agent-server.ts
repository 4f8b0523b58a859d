import { once } from 'node:events'
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { createPersonalAgent, generateKey, memoryStore, type PersonalAgent } from '@poppyseed/agent'

/** A personal agent of its own, at home on this machine for the length of a visit. */
export interface VisitingAgent {
  readonly agent: PersonalAgent
  readonly close: () => Promise<void>
}

/**
 * Starts the agent: its identity is served on a free loopback port, its state is kept in memory alone.
 * @param now the clock, in milliseconds
 */
export async function startVisitingAgent(now: () => number = Date.now): Promise<VisitingAgent> {
  let answer: (request: Request) => Promise<Response> = async () => new Response(null, { status: 503 })
  const server = createAdaptorServer({ fetch: (request) => answer(request), overrideGlobalObjects: false }) as Server
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The agent listens on no port.')
  const agent = createPersonalAgent({
    clientId: `http://localhost:${address.port}/agent.json`,
    name: 'Visiting Agent',
    keys: [await generateKey()],
    store: memoryStore(),
    allowHttp: true,
    now,
  })
  answer = agent.fetch
  return {
    agent,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { isJsonObject } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import type { Fetch } from '../net/exchange.ts'
import type { PersonalAgent } from '../personal-agent.ts'
import { hasCode } from '../store/private-file.ts'

/** Serves the agent's documents and its callback on this machine. */

/** A server that runs. */
export interface RunningServer {
  readonly port: number
  /** Finishes the answers under way, then stops. */
  readonly close: () => Promise<void>
}

/** Listens on loopback. @throws the system's error, such as `EADDRINUSE` */
export async function listen(agent: PersonalAgent, port: number): Promise<RunningServer> {
  const server = createAdaptorServer({ fetch: agent.fetch, overrideGlobalObjects: false }) as Server
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        // The page that says "You can close this window" is still on its way when the sign-in is done.
        const idle = setInterval(() => server.closeIdleConnections(), 20)
        const last = setTimeout(() => server.closeAllConnections(), 3000)
        server.close(() => {
          clearInterval(idle)
          clearTimeout(last)
          resolve()
        })
      }),
  }
}

/**
 * Runs work while the identity can be reached: a Company fetches it to know who asks (4.1). Where `poppy serve` runs
 * already, that is left to it.
 */
export async function whileServed<T>(
  agent: PersonalAgent,
  isLocal: boolean,
  fetch: Fetch,
  work: () => Promise<T>,
): Promise<T> {
  if (!isLocal) return work()
  let server: RunningServer | undefined
  try {
    server = await listen(agent, Number(new URL(agent.clientId).port || 80))
  } catch (error) {
    if (!hasCode(error, 'EADDRINUSE')) throw error
    if (!(await isServed(agent, fetch))) {
      throw new AgentError(
        'misconfigured',
        `Another program uses the port of this agent's identity, ${agent.clientId}. End it, then try again.`,
      )
    }
  }
  try {
    return await work()
  } finally {
    await server?.close()
  }
}

async function isServed(agent: PersonalAgent, fetch: Fetch): Promise<boolean> {
  try {
    const answer = await fetch(agent.clientId, { signal: AbortSignal.timeout(3000), redirect: 'manual' })
    const document: unknown = await answer.json()
    return isJsonObject(document) && document.client_id === agent.clientId
  } catch {
    // Whatever listens there is not this agent.
    return false
  }
}

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { makeWireAgent, type WireAgent } from './wire-agent.ts'

/** A Personal Agent's own host, on a real port: it serves its documents, changes them, fails, and is away. */
export interface AgentHost {
  readonly origin: string
  readonly agent: WireAgent
  /** The path of each request that came, in order. Emptied by the test. */
  readonly asked: string[]
  /** How often a path was asked for. */
  readonly count: (path: string) => number
  /** What answers at a path in place of the document there. */
  readonly answers: Map<string, (request: IncomingMessage, response: ServerResponse) => void>
  /** Headers of the documents. */
  readonly headers: Record<string, string>
  /** Lays members over what the agent publishes about itself. */
  readonly publish: (members: Record<string, unknown>) => void
  /** Publishes these keys and no others. */
  readonly publishKeys: (...keys: readonly object[]) => void
  readonly goAway: () => Promise<void>
  readonly comeBack: () => Promise<void>
}

/** Opens a host with an agent that turns to the Company at `company`. All is gone when the test is over. */
export async function openAgentHost(options: {
  readonly company: string
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly send?: (request: Request) => Promise<Response>
}): Promise<AgentHost> {
  const asked: string[] = []
  const answers: AgentHost['answers'] = new Map()
  const headers: Record<string, string> = {}
  let agent: WireAgent | undefined
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const other = answers.get(path)
    if (other) return other(request, response)
    const document = agent?.documents[origin + path]
    if (document === undefined) return response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(document))
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const goAway = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  await listen(0)
  onTestFinished(goAway)
  const { port } = server.address() as AddressInfo
  const origin = `http://localhost:${port}`
  const made = await makeWireAgent({
    clientId: `${origin}/agent.json`,
    now: options.now,
    origin: options.company,
    send: options.send ?? fetch,
  })
  agent = made
  return {
    origin,
    agent: made,
    asked,
    count: (path) => asked.filter((one) => one === path).length,
    answers,
    headers,
    publish(members) {
      made.documents[made.clientId] = { ...(made.documents[made.clientId] as object), ...members }
    },
    publishKeys(...keys) {
      made.documents[`${origin}/jwks.json`] = { keys }
    },
    goAway,
    comeBack: () => listen(port),
  }
}

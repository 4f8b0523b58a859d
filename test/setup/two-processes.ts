import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask, send, startListening } from './child-process.ts'
import { clockPath, type InstanceTask } from './company-process.ts'
import { freshSchema } from './postgres.ts'
import { processScript } from './process-scripts.ts'
import type { StoreAddress } from './store-process.ts'
import { makeWireAgent, type WireAgent } from './wire-agent.ts'

/** Two processes that are one Company on one database, and requests that reach both at the same moment. */
export interface TwoProcesses {
  readonly agent: WireAgent
  readonly origin: string
  /** Sends a request to one of them. */
  readonly send: (request: Request, instance?: 0 | 1) => Promise<Response>
  /** Asks one of them for what doesn't end by itself. */
  readonly open: (path: string, headers: Readonly<Record<string, string>>, instance: 0 | 1) => Promise<IncomingMessage>
  /** What `make` would send, not sent. */
  readonly caught: (make: () => Promise<unknown>) => Promise<Request>
  /** Sends `copies` of each request to each of the two, all at once; gives every answer, in no order. */
  readonly storm: (requests: readonly Request[], copies: number) => Promise<Response[]>
  /** Moves the agent's clock and both of theirs; with `ahead`, the second instance's by so many milliseconds more. */
  readonly moveClocks: (milliseconds: number, ahead?: number) => Promise<void>
  readonly close: () => Promise<void>
}

const origin = 'https://miramar.example'

/** Starts both on an empty database; `allWays` opens every way in, and lets Account Tokens rotate; `hasDesk`: with a staff inbox. */
export async function startTwoProcesses(
  kind: StoreAddress['kind'],
  { allWays = false, hasDesk = false }: { readonly allWays?: boolean; readonly hasDesk?: boolean } = {},
): Promise<TwoProcesses> {
  const database = kind === 'sqlite' ? freshFile() : await freshDatabase()
  const clock = { now: Date.now() }
  let catching: ((request: Request) => void) | null = null
  const agent = await makeWireAgent({
    clientId: 'https://agent.example/agent.json',
    now: () => clock.now,
    origin,
    send: async (request) => {
      if (catching === null) return sendTo(request)
      catching(request)
      return new Response()
    },
  })
  const task: InstanceTask = { address: database.address, now: clock.now, allWays, hasDesk, documents: agent.documents }
  const instances = await Promise.all([startInstance(task), startInstance(task)])
  const connections = new Agent({ keepAlive: true, maxSockets: 32 })

  const sendTo = (request: Request, instance: 0 | 1 = 0) =>
    send(request, { port: instances[instance].port, agent: connections })

  return {
    agent,
    origin,
    send: sendTo,
    open: (path, headers, instance) =>
      ask(new Request(origin + path, { headers }), { port: instances[instance].port, agent: false }),
    async caught(make) {
      const { promise, resolve } = Promise.withResolvers<Request>()
      catching = resolve
      await make()
      catching = null
      return promise
    },
    storm: (requests, copies) =>
      Promise.all(
        Array.from({ length: copies }, () => [0, 1] as const)
          .flat()
          .flatMap((instance) => requests.map((request) => sendTo(request, instance))),
      ),
    async moveClocks(milliseconds, ahead = 0) {
      clock.now += milliseconds
      for (const instance of [0, 1] as const) {
        const time = clock.now + (instance === 1 ? ahead : 0)
        await sendTo(new Request(`${origin}${clockPath}${time}`, { method: 'POST', body: '' }), instance)
      }
    },
    async close() {
      connections.destroy()
      await Promise.all(instances.map(({ end }) => end()))
      await database.drop()
    },
  }
}

interface Database {
  readonly address: StoreAddress
  readonly drop: () => Promise<void> | void
}

function freshFile(): Database {
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-race-'))
  return {
    address: { kind: 'sqlite', path: join(folder, 'poppy.db') },
    drop: () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function freshDatabase(): Promise<Database> {
  const { url, drop } = await freshSchema()
  return { address: { kind: 'postgres', url }, drop }
}

async function startInstance(task: InstanceTask) {
  const script = processScript('company-process')
  const { line, end } = await startListening(script, [JSON.stringify(task)])
  return { port: Number(line), end }
}

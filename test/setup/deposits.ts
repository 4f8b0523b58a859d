import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { OperationRecord } from '../../packages/company/src/operations/company-operations.ts'
import { lists } from './bookings.ts'
import { isRunning, send, startListening } from './child-process.ts'
import { exchange, getCode } from './consent.ts'
import type { DeathPoint, DepositsTask } from './deposits-process.ts'
import { processScript } from './process-scripts.ts'
import type { FreshStore } from './stores.ts'
import { makeWireAgent, type WireAgent } from './wire-agent.ts'
import type { Tokens } from './world.ts'

/** A Company of several processes that takes deposits, its payment service in a process of its own, and a signed-in agent. */
export interface Deposits {
  readonly agent: WireAgent
  readonly origin: string
  readonly token: string
  /** Sends what the agent does next to this process. */
  readonly turnTo: (number: number) => void
  /** Sends a request to one of the processes. Rejects where it dies over it. */
  readonly send: (request: Request, number: number) => Promise<Response>
  /** What `make` would send, not sent. */
  readonly caught: (make: () => Promise<unknown>) => Promise<Request>
  /** Starts one more process, or one in the place of a process that ended. */
  readonly start: (number: number) => Promise<void>
  readonly kill: (number: number) => Promise<void>
  /** Has a process kill itself at a point. */
  readonly killAt: (number: number, point: DeathPoint) => Promise<void>
  /** Whether the company's records take what a process tells them. */
  readonly keepRecords: (number: number, areOpen: boolean) => Promise<void>
  /** Resolves when a process has ended. */
  readonly ended: (number: number) => Promise<void>
  /** Moves every clock; those that run look after what is due. */
  readonly moveClock: (milliseconds: number) => Promise<void>
  /** What the company sees. */
  readonly look: (
    id: string,
    number?: number,
  ) => Promise<{
    readonly operation: OperationRecord
    readonly trail: { event: string }[]
    readonly unsettled: string[]
  }>
  /** How often the payment service took money for an operation. */
  readonly taken: (id: string) => Promise<number>
  readonly behave: (behaviour: object) => Promise<void>
  /** The company's own records: a line for each time that it was told of something. */
  readonly records: () => readonly string[]
}

interface Process {
  readonly port: number
  readonly child: ChildProcess
}

const key = 'the-shop'
const origin = 'http://localhost:8080'

/** Starts everything; it ends with the test. The payment service doesn't deduplicate: whoever asks twice pays twice. */
export async function startDeposits(
  store: FreshStore,
  { processes, runs = false }: { readonly processes: number; readonly runs?: boolean },
): Promise<Deposits> {
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-deposits-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const clock = { now: Date.now() }
  const now = () => (runs ? Date.now() : clock.now)
  const running: Process[] = []
  const connections = new Agent({ keepAlive: true, maxSockets: 32 })
  let current = 0
  let catching: ((request: Request) => void) | null = null
  const agent = await makeWireAgent({
    clientId: 'https://agent.example/agent.json',
    now,
    origin,
    send: async (request) => {
      if (catching === null) return sendTo(request, current)
      catching(request)
      return new Response()
    },
  })
  lists(agent)

  const { line } = await startListening(join(import.meta.dirname, '../../examples/hotel/payments/main.ts'), [], {
    env: { PAYMENTS_DIR: folder, PAYMENTS_KEY: key },
    whenOver: onTestFinished,
  })
  const { address } = JSON.parse(line) as { readonly address: string }
  const pay = (path: string, init: RequestInit = {}) =>
    fetch(address + path, { ...init, headers: { authorization: `Bearer ${key}` } })
  const behave = async (behaviour: object) => {
    await pay('/behaviour', { method: 'PUT', body: JSON.stringify({ deduplicates: false, ...behaviour }) })
  }
  await behave({ mode: 'normal' })

  const records = join(folder, 'records')
  async function start(number: number): Promise<void> {
    const task: DepositsTask = {
      address: store.address,
      origin,
      now: runs ? null : clock.now,
      documents: agent.documents,
      payments: { address, key },
      records,
    }
    const script = processScript('deposits-process')
    const { child, line } = await startListening(script, [JSON.stringify(task)], { whenOver: onTestFinished })
    running[number] = { port: Number(line), child }
  }

  const sendTo = (request: Request, number: number) =>
    send(request, { port: running[number]?.port ?? 0, agent: connections })
  const ended = async (number: number) => {
    const child = running[number]?.child
    if (child !== undefined && isRunning(child)) await once(child, 'exit')
  }
  const order = (path: string, number: number) =>
    sendTo(new Request(origin + path, { method: 'POST', body: '' }), number)

  await Promise.all(Array.from({ length: processes }, (_, number) => start(number)))
  onTestFinished(() => connections.destroy())
  const reached = { origin, agent, send: (request: Request) => sendTo(request, 0) }
  const started = (await (await agent.startSession()).json()) as Tokens
  const answer = await exchange(agent, await getCode(reached), started.session_id)
  const { access_token: token } = (await answer.json()) as Tokens

  return {
    agent,
    origin,
    token,
    turnTo(number) {
      current = number
    },
    send: sendTo,
    async caught(make) {
      const { promise, resolve } = Promise.withResolvers<Request>()
      catching = resolve
      await make()
      catching = null
      return promise
    },
    start,
    async kill(number) {
      running[number]?.child.kill('SIGKILL')
      await ended(number)
    },
    killAt: async (number, point) => void (await order(`/test-kill/${point}`, number)),
    keepRecords: async (number, areOpen) => void (await order(`/test-records/${areOpen ? 'open' : 'closed'}`, number)),
    ended,
    async moveClock(milliseconds) {
      clock.now += milliseconds
      for (const [number, { child }] of running.entries())
        if (isRunning(child)) await order(`/test-clock/${clock.now}`, number)
    },
    look: async (id, number = 0) =>
      (await sendTo(new Request(`${origin}/test-operation/${id}`), number)).json() as ReturnType<Deposits['look']>,
    async taken(id) {
      const { charges } = (await (await pay(`/charges?reference=${id}`)).json()) as { readonly charges: unknown[] }
      return charges.length
    },
    behave,
    records: () => readFileSync(records, 'utf8').split('\n').filter(Boolean),
  }
}

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { FaultPoint } from '../../packages/company/src/faults/faults.ts'
import type { AnsweringTask } from './answering-process.ts'
import { lists } from './bookings.ts'
import { ask, isRunning, send, startListening } from './child-process.ts'
import { processScript } from './process-scripts.ts'
import type { FreshStore } from './stores.ts'
import { makeWireAgent, type WireAgent } from './wire-agent.ts'
import type { Tokens } from './world.ts'

/** A Company of several processes whose agent answers, and a Personal Agent that talks with it. */
export interface Answering {
  readonly agent: WireAgent
  readonly token: string
  /** Sends what the agent does next to this process. */
  readonly turnTo: (number: number) => void
  readonly start: (number: number) => Promise<void>
  readonly kill: (number: number) => Promise<void>
  /** Has a process end as a deploy ends it. */
  readonly close: (number: number) => Promise<void>
  /** Has a process kill itself at a point. */
  readonly killAt: (number: number, point: FaultPoint) => Promise<void>
  /** Has staff take a conversation at a process and propose a room in it, by one form; gives what came of it. */
  readonly staffPropose: (number: number, id: string) => Promise<Response>
  /** Asks a process for a stream of events (7.6), whatever it answers. */
  readonly stream: (id: string, how: StreamedFrom) => Promise<IncomingMessage>
  /** Resolves when a process has ended. */
  readonly ended: (number: number) => Promise<void>
  /** Moves every clock; those that run look after what is due. */
  readonly moveClock: (milliseconds: number) => Promise<void>
  /** What ran: `turn {conversation}`, `tool {call}` and `propose {call}`, a line each time. */
  readonly records: () => readonly string[]
}

/** How {@link Answering.stream} asks. */
export interface StreamedFrom {
  readonly process: number
  readonly token: string
  /** The event to go on after, and how that is said. */
  readonly after: string | null
  readonly by: 'last-event-id' | 'cursor'
}

const origin = 'http://localhost:8080'

/** Starts the processes; they end with the test. */
export async function startAnswering(
  store: FreshStore,
  {
    processes,
    runs = false,
    pause = 0,
    webhooks,
  }: { readonly processes: number; readonly runs?: boolean; readonly pause?: number } & Pick<AnsweringTask, 'webhooks'>,
): Promise<Answering> {
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-answering-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const records = join(folder, 'records')
  writeFileSync(records, '')
  const clock = { now: Date.now() }
  const running: { readonly port: number; readonly child: ChildProcess }[] = []
  const connections = new Agent({ keepAlive: true, maxSockets: 64 })
  onTestFinished(() => connections.destroy())
  let current = 0
  const agent = await makeWireAgent({
    clientId: 'https://agent.example/agent.json',
    now: () => (runs ? Date.now() : clock.now),
    origin,
    send: async (request) => sendTo(request, current),
  })

  lists(agent)

  async function start(number: number): Promise<void> {
    const task: AnsweringTask = {
      address: store.address,
      origin,
      now: runs ? null : clock.now,
      documents: agent.documents,
      records,
      pause,
      webhooks,
    }
    const script = processScript('answering-process')
    const { child, line } = await startListening(script, [JSON.stringify(task)], { whenOver: onTestFinished })
    running[number] = { port: Number(line), child }
  }

  const portOf = (number: number) => running[number]?.port ?? 0
  const sendTo = (request: Request, number: number) => send(request, { port: portOf(number), agent: connections })
  const ended = async (number: number) => {
    const child = running[number]?.child
    if (child !== undefined && isRunning(child)) await once(child, 'exit')
  }
  const order = (path: string, number: number) =>
    sendTo(new Request(origin + path, { method: 'POST', body: '' }), number)

  await Promise.all(Array.from({ length: processes }, (_, number) => start(number)))
  const { access_token: token } = (await (await agent.startSession()).json()) as Tokens
  return {
    agent,
    token,
    turnTo(number) {
      current = number
    },
    start,
    async kill(number) {
      running[number]?.child.kill('SIGKILL')
      await ended(number)
    },
    async close(number) {
      running[number]?.child.stdin?.end()
      await ended(number)
    },
    async stream(id, { process: number, token: holder, after, by }) {
      const url = `${origin}/poppy/conversations/${id}/events`
      const headers = new Headers({
        accept: 'text/event-stream',
        authorization: `DPoP ${holder}`,
        dpop: await agent.proof('GET', url, holder),
      })
      if (after !== null && by === 'last-event-id') headers.set('last-event-id', after)
      const query = after !== null && by === 'cursor' ? `?cursor=${after}` : ''
      return ask(new Request(url + query, { headers }), { port: portOf(number), agent: false })
    },
    killAt: async (number, point) => void (await order(`/test-kill/${point}`, number)),
    staffPropose: (number, id) => order(`/test-staff/${id}`, number),
    ended,
    async moveClock(milliseconds) {
      clock.now += milliseconds
      for (const [number, { child }] of running.entries())
        if (isRunning(child)) await order(`/test-clock/${clock.now}`, number)
    },
    records: () => readFileSync(records, 'utf8').split('\n').filter(Boolean),
  }
}

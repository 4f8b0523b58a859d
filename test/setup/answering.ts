import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import type { FaultPoint } from '../../packages/company/src/faults/faults.ts'
import type { AnsweringTask } from './answering-process.ts'
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
  /** Asks a process for a stream of events (7.6), whatever it answers. */
  readonly stream: (id: string, how: StreamedFrom) => Promise<IncomingMessage>
  /** Resolves when a process has ended. */
  readonly ended: (number: number) => Promise<void>
  /** Moves every clock; those that run look after what is due. */
  readonly moveClock: (milliseconds: number) => Promise<void>
  /** What ran: `turn {conversation}` and `tool {call}`, a line each time. */
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
    send: async (request) => send(request, current),
  })

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
    const script = join(import.meta.dirname, 'answering-process.ts')
    const child = spawn(process.execPath, ['--conditions', '@poppyseed/source', script, JSON.stringify(task)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    onTestFinished(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.stdin.end()
      await once(child, 'exit')
    })
    child.stdin.on('error', () => {})
    for await (const line of createInterface({ input: child.stdout })) {
      running[number] = { port: Number(line), child }
      return
    }
    throw new Error('the process ended before it listened')
  }

  async function ask(request: Request, number: number, by: Agent | false): Promise<IncomingMessage> {
    const { pathname, search } = new URL(request.url)
    const body = Buffer.from(await request.clone().arrayBuffer())
    const outgoing = httpRequest({
      host: '127.0.0.1',
      port: running[number]?.port ?? 0,
      path: pathname + search,
      method: request.method,
      headers: { ...Object.fromEntries(request.headers), host: 'localhost:8080', 'content-length': body.byteLength },
      agent: by,
    })
    outgoing.end(body)
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    return answer
  }

  async function send(request: Request, number: number): Promise<Response> {
    const answer = await ask(request, number, connections)
    const parts: Buffer[] = []
    for await (const part of answer as AsyncIterable<Buffer>) parts.push(part)
    const headers = new Headers(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]))
    return new Response(Buffer.concat(parts), { status: answer.statusCode ?? 0, headers })
  }

  const isRunning = (number: number) => {
    const child = running[number]?.child
    return child?.exitCode === null && child.signalCode === null
  }
  const ended = async (number: number) => {
    if (isRunning(number)) await once(running[number]?.child as ChildProcess, 'exit')
  }
  const order = (path: string, number: number) => send(new Request(origin + path, { method: 'POST', body: '' }), number)

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
      return ask(new Request(url + query, { headers }), number, false)
    },
    killAt: async (number, point) => void (await order(`/test-kill/${point}`, number)),
    ended,
    async moveClock(milliseconds) {
      clock.now += milliseconds
      for (const number of running.keys()) if (isRunning(number)) await order(`/test-clock/${clock.now}`, number)
    },
    records: () => readFileSync(records, 'utf8').split('\n').filter(Boolean),
  }
}

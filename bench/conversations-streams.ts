/** The client of the streams that are measured, in another process than their server. */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { proof, sha256 } from './client.ts'
import { type Address, company } from './conversations-parts.ts'
import type { ServerTask } from './conversations-server.ts'
import { median } from './figures.ts'
import { makeParties } from './parties.ts'

const idleStreams = 5000
const warmUp = 3000
const rounds = 3
const eventsPerRound = 300

interface Running {
  readonly child: ChildProcessWithoutNullStreams
  readonly port: number
  readonly paths: readonly string[]
  readonly tokens: readonly string[]
  readonly ask: <Answer>(line: string) => Promise<Answer>
}

async function start(task: ServerTask): Promise<Running> {
  const script = fileURLToPath(new URL('conversations-server.ts', import.meta.url))
  const child = spawn(process.execPath, ['--expose-gc', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production' },
  }) as unknown as ChildProcessWithoutNullStreams
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`the server of streams ended: ${task.kind}`)
    return JSON.parse(value) as never
  }
  child.stdin.write(`${JSON.stringify(task)}\n`)
  const ready = (await next()) as Pick<Running, 'port' | 'paths' | 'tokens'>
  return {
    ...ready,
    child,
    async ask(line) {
      child.stdin.write(`${line}\n`)
      return next()
    },
  }
}

async function stop({ child }: Running): Promise<void> {
  const ended = new Promise((resolve) => child.on('exit', resolve))
  child.stdin.end()
  await ended
}

/** Opens a stream, and resolves with its first bytes. */
function open(port: number, path: string, headers: Readonly<Record<string, string>>): Promise<Socket> {
  const all = { host: 'company.example', accept: 'text/event-stream', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').on('error', reject)
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
    socket.once('data', (chunk) => {
      if (!chunk.toString().startsWith('HTTP/1.1 200')) reject(new Error(chunk.toString()))
      else resolve(socket)
    })
  })
}

/** Bytes that each of many idle streams adds to its server, by a whole Company and by a bare server. */
export async function measureMemory(
  address: Address,
  times = rounds,
): Promise<{ readonly product: readonly number[]; readonly bare: readonly number[] }> {
  const { clients, proofKeys } = await makeParties(1, 50)
  const [client] = clients
  if (client === undefined) throw new Error('there is no client')
  const figures: Record<'bare' | 'product', number[]> = { bare: [], product: [] }
  for (let round = 0; round < times; round++) {
    for (const kind of ['bare', 'product'] as const) {
      const name = `memory-${round}`
      const server = await start({ kind, address, client, keys: proofKeys, streams: idleStreams, name })
      const { port, paths, tokens } = server
      const openOne = (index: number) => {
        const path = paths[index % paths.length] as string
        const at = index % tokens.length
        const token = tokens[at] as string
        if (token === '') return open(port, path, { authorization: 'x'.repeat(700), dpop: 'x'.repeat(500) })
        const dpop = proof(proofKeys[at] as (typeof proofKeys)[number], 'GET', company + path, sha256(token))
        return open(port, path, { authorization: `DPoP ${token}`, dpop })
      }
      const openMany = async (count: number) => {
        const sockets: Socket[] = []
        for (let from = 0; from < count; from += 100)
          sockets.push(
            ...(await Promise.all(Array.from({ length: Math.min(100, count - from) }, (_, at) => openOne(from + at)))),
          )
        return sockets
      }
      // As much as is measured goes through it first, a little at a time: what work needs is there then, and no stream is.
      for (let left = warmUp; left > 0; left -= 100) for (const socket of await openMany(100)) socket.destroy()
      await wait(1000)
      const { memory: before } = await server.ask<{ memory: number }>('memory')
      const sockets = await openMany(idleStreams)
      await wait(1000)
      const { memory: after } = await server.ask<{ memory: number }>('memory')
      figures[kind].push((after - before) / idleStreams)
      for (const socket of sockets) socket.destroy()
      await stop(server)
    }
  }
  return figures
}

/** Microseconds, the middle of each round: from the begin of a commit to its reader in another process, and to its end. */
export async function measureLatency(
  address: Address,
): Promise<{ readonly toReader: readonly number[]; readonly commit: readonly number[] }> {
  const { clients } = await makeParties(1, 1)
  const server = await start({
    ...{ kind: 'writer', address, client: clients[0] as ServerTask['client'], keys: [], streams: 1, name: 'latency' },
  })
  const arrived = new Map<number, bigint>()
  const socket = await open(server.port, '/', {})
  let text = ''
  socket.on('data', (chunk) => {
    const at = process.hrtime.bigint()
    text += chunk.toString()
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const [, number] = /"text":"(\d+)"/.exec(text.slice(0, end)) ?? []
      if (number !== undefined) arrived.set(Number(number), at)
      text = text.slice(end + 2)
    }
  })
  const [toReader, commit]: [number[], number[]] = [[], []]
  let number = 0
  for (let round = -1; round < 5; round++) {
    const { times } = await server.ask<{ times: readonly (readonly [string, string])[] }>(`write ${eventsPerRound}`)
    await wait(200)
    const figures = times.map(([began, ended]) => {
      number += 1
      const at = arrived.get(number)
      if (at === undefined) throw new Error(`event ${number} did not arrive`)
      return [Number(at - BigInt(began)) / 1000, Number(BigInt(ended) - BigInt(began)) / 1000] as const
    })
    if (round < 0) continue
    toReader.push(median(figures.map(([whole]) => whole)))
    commit.push(median(figures.map(([, own]) => own)))
  }
  socket.destroy()
  await stop(server)
  return { toReader, commit }
}

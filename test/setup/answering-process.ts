import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { createCompany } from '../../packages/company/src/company.ts'
import type { CompanyConfig } from '../../packages/company/src/config.ts'
import type { FaultPoint } from '../../packages/company/src/faults/faults.ts'
import { toNodeHandler } from '../../packages/company/src/node/handler.ts'
import { operation } from '../../packages/company/src/operations/operation.ts'
import { succeeded } from '../../packages/company/src/operations/outcome.ts'
import { postgres } from '../../packages/company/src/store/postgres.ts'
import { sqlite } from '../../packages/company/src/store/sqlite.ts'
import { tool } from '../../packages/company/src/tools/tool.ts'
import type { StoreAddress } from './store-process.ts'
import { secret } from './world-config.ts'

/**
 * A Company in a process of its own whose agent looks something up and answers, and that kills itself where it is told to:
 * `POST /test-kill/{point}`. `POST /test-clock/{milliseconds}` moves its clock and has it look after what is due. By
 * `POST /test-staff/{conversation}` a member of staff takes it and proposes a room, by the same form each time.
 */

/** What an instance is told. */
export interface AnsweringTask {
  readonly address: StoreAddress
  readonly origin: string
  /** Its clock stands there until it is moved, in milliseconds since 1970; null has it run. */
  readonly now: number | null
  readonly documents: Readonly<Record<string, unknown>>
  /** Where it notes what ran: a line for each turn that was begun, and for each call of its tool. */
  readonly records: string
  /** Milliseconds that the agent takes between two things. */
  readonly pause: number
  /** Which of the company's own systems are told. */
  readonly webhooks?: CompanyConfig['webhooks'] | undefined
}

if (process.argv[2] !== undefined) {
  const {
    address,
    origin,
    now,
    documents,
    records,
    pause: pauses,
    webhooks = [],
  } = JSON.parse(process.argv[2]) as AnsweringTask
  const clock = { now }
  const rita = { id: 'rita', name: 'Rita' }
  let killAt: FaultPoint | null = null
  const ignore = () => {}

  function dieAt(point: string): Promise<void> | undefined {
    if (killAt !== point) return undefined
    process.kill(process.pid, 'SIGKILL')
    return new Promise(ignore)
  }

  const company = createCompany({
    organization: { name: 'Hotel Miramar', domain: 'localhost' },
    origin,
    development: true,
    secret,
    store: address.kind === 'sqlite' ? sqlite(address.path) : postgres(address.url),
    tools: [
      tool({
        name: 'look_up',
        description: 'Looks a room up.',
        run(_, { conversation }) {
          appendFileSync(records, `tool ${conversation?.callId}\n`)
          return 'Suite 4'
        },
      }),
    ],
    operations: [
      operation({
        name: 'book_room',
        description: 'Books a room.',
        input: z.object({ question: z.string() }),
        propose({ question }, { conversation }) {
          appendFileSync(records, `propose ${conversation?.callId}\n`)
          return { summary: `One night: ${question}` }
        },
        perform: () => succeeded(),
      }),
    ],
    agent: async function* (turn) {
      appendFileSync(records, `turn ${turn.conversationId}\n`)
      const question = turn.asked.map(({ text }) => text).join(' and ')
      if (question.startsWith('Book')) {
        yield { type: 'message', text: `You want: ${question}` }
        const proposed = yield { type: 'call', name: 'book_room', input: { question } }
        yield { type: 'text', text: `${proposed?.ok === true ? 'Proposed' : 'Not proposed'}: ${question}` }
        return
      }
      yield { type: 'message', text: `You ask: ${question}` }
      if (pauses > 0) await pause(pauses)
      const outcome = yield { type: 'call', name: 'look_up', input: { question } }
      if (pauses > 0) await pause(pauses)
      yield { type: 'text', text: `It is ${outcome?.ok === true ? String(outcome.value) : 'unknown'}: ${question}` }
    },
    conversations: { open: 10_000 },
    webhooks,
    faults: { atPoint: (point) => dieAt(point) },
    limits: false,
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    now: () => clock.now ?? Date.now(),
    fetchDocument: async (url) => {
      if (documents[url] === undefined) throw new Error('nothing at this address')
      return { document: structuredClone(documents[url]), headers: new Headers() }
    },
  })
  await company.start()
  const handler = toNodeHandler(company)

  async function test(path: string, response: ServerResponse): Promise<void> {
    const [, what, value = ''] = path.split('/')
    if (what === 'test-kill') killAt = value as FaultPoint
    if (what === 'test-clock') {
      clock.now = Number(value)
      while (!(await company.work()).isDone);
    }
    let answer: unknown = {}
    if (what === 'test-staff') {
      await company.conversations.take(value, rita)
      answer = await company.conversations.callTool(
        value,
        rita,
        'book_room',
        { question: 'by Rita' },
        { key: `form-${value}` },
      )
    }
    response.end(JSON.stringify(answer))
  }

  const server = createServer((request, response) => {
    if (request.url?.startsWith('/test-')) void test(request.url, response)
    else handler(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  console.log((server.address() as AddressInfo).port)
  process.stdin.on('end', () => {
    server.closeAllConnections()
    server.close()
    void company.close()
  })
  process.stdin.resume()
}

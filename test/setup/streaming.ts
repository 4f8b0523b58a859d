import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CompanyConfig } from 'poppyseed'
import { toNodeHandler } from 'poppyseed/node'
import { onTestFinished } from 'vitest'
import { createChanges } from '../../packages/company/src/changes/changes.ts'
import type { CompanyAgent } from '../../packages/company/src/company-agent/turn.ts'
import { withConversation } from '../../packages/company/src/conversations/ledger.ts'
import type { ConversationParts } from '../../packages/company/src/conversations/parts.ts'
import type { ConversationSet, EventBody } from '../../packages/company/src/conversations/row.ts'
import { conversationParts } from './conversation-parts.ts'
import { converse, said, standingOf } from './converse.ts'
import type { FreshStore } from './stores.ts'
import type { WireAgent } from './wire-agent.ts'
import { makeWorld, type Tokens, type World } from './world.ts'

/** Streams over real connections: a Company behind Node's http, and another instance that writes what there is to read. */

/** An event as it stood in a stream: a comment has neither id nor data. */
export interface StreamEvent {
  readonly id?: string
  readonly event?: string
  readonly data?: string
}

/** A stream that is read. */
export interface Reading {
  readonly response: IncomingMessage
  /** All that has come, as it came. */
  readonly raw: () => string
  /** The next event that isn't a comment; null when the stream has ended. */
  readonly next: () => Promise<StreamEvent | null>
  /** Passes over all events that have come, and says how many. */
  readonly skip: () => number
  /** Resolves when it has ended. */
  readonly ended: Promise<void>
  readonly cut: () => void
}

/** Reads what is in a text of whole lines: our own reader, of what the standard says and no more. */
export function readStream(raw: string): readonly StreamEvent[] {
  const events: StreamEvent[] = []
  let fields: Record<string, string> = {}
  const lines = raw.split('\n')
  // What is not ended by a line's end is not there yet.
  lines.pop()
  for (const line of lines) {
    if (line === '') {
      if ('data' in fields) events.push(fields)
      fields = {}
      continue
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name !== '') fields[name] = name === 'data' && 'data' in fields ? `${fields.data}\n${value}` : value
  }
  return events
}

/** Follows a response. */
export function follow(response: IncomingMessage): Reading {
  let raw = ''
  let given = 0
  let isOver = false
  let more = Promise.withResolvers<void>()
  const stir = () => {
    more.resolve()
    more = Promise.withResolvers()
  }
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    raw += chunk
    stir()
  })
  const ended = new Promise<void>((resolve) => {
    const over = () => {
      isOver = true
      stir()
      resolve()
    }
    response.on('end', over).on('error', over).on('close', over)
  })
  return {
    response,
    raw: () => raw,
    ended,
    skip() {
      const before = given
      given = readStream(raw).length
      return given - before
    },
    async next() {
      for (;;) {
        const event = readStream(raw)[given]
        if (event !== undefined) {
          given += 1
          return event
        }
        if (isOver) return null
        await more.promise
      }
    },
    cut: () => void response.destroy(),
  }
}

/** A Company behind a listener, and a conversation. */
export interface StreamedCompany {
  readonly world: World
  readonly port: number
  readonly tokens: Tokens
  readonly talk: ReturnType<typeof converse>
  /** The responses that were made, for looking at what waits in them. */
  readonly responses: readonly ServerResponse[]
  /** Opens a stream, whatever it is answered with. */
  readonly stream: (id: string, how?: HowStreamed) => Promise<Reading>
  /** Starts a conversation, with a message of the User's side. */
  readonly start: () => Promise<string>
  /** The other instance. */
  readonly parts: ConversationParts
  /** Has the other instance write events, and set what belongs to the conversation. */
  readonly write: (id: string, events: readonly EventBody[], set?: ConversationSet) => Promise<void>
}

/** How a stream is asked for. */
export interface HowStreamed {
  readonly token?: string
  readonly agent?: WireAgent
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A message of the Company's side. */
export const reply = (text: string, id = `msg_${text.length}_${Math.random().toString(36).slice(2)}`): EventBody => ({
  type: 'message',
  message: { id, role: 'company', sender: 'agent', text },
})

/** Says nothing for as long as it may: what there is to read is what a test writes. */
const quiet: CompanyAgent = ({ signal }) => ({
  [Symbol.asyncIterator]: () => ({
    async next() {
      if (!signal.aborted) await once(signal, 'abort')
      return { done: true, value: undefined }
    },
  }),
})

/** Opens a Company on a database, and a second instance on the same. */
export async function openStreams(
  fresh: FreshStore,
  {
    streams,
    prepare,
    ...config
  }: Partial<CompanyConfig> & { readonly streams?: object; readonly prepare?: (agent: WireAgent) => void } = {},
): Promise<StreamedCompany> {
  const world = await makeWorld({ agent: quiet, conversations: { streams: { ...streams } }, ...config }, fresh.store())
  prepare?.(world.agent)
  const tokens = await world.start()
  const responses: ServerResponse[] = []
  const handler = toNodeHandler(world.company)
  const server = createServer((req, res) => {
    responses.push(res)
    handler(req, res)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const db = await fresh.open()
  const scope = { db, company: world.origin }
  const { log } = conversationParts(scope).parts
  const changes = createChanges({ scope: async () => scope, log })
  onTestFinished(changes.close)
  const { parts } = conversationParts(scope, { now: () => world.clock.now, changes })
  const talk = converse(world.agent, tokens.access_token)

  async function stream(id: string, how: HowStreamed = {}): Promise<Reading> {
    const { agent = world.agent, token = tokens.access_token, query = '', headers = {} } = how
    const path = `/poppy/conversations/${id}/events`
    const dpop = await agent.proof('GET', world.origin + path, token)
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    request(
      {
        host: '127.0.0.1',
        port,
        path: path + query,
        agent: false,
        headers: {
          host: 'miramar.example',
          accept: 'text/event-stream',
          authorization: `DPoP ${token}`,
          dpop,
          ...headers,
        },
      },
      resolve,
    )
      .on('error', reject)
      .end()
    return follow(await promise)
  }

  return {
    world,
    port,
    tokens,
    talk,
    responses,
    stream,
    async start() {
      const { conversation_id } = await standingOf(await talk.start(said('Is breakfast included?')))
      return conversation_id
    },
    parts,
    async write(id, events, set = {}) {
      const settled = await withConversation(parts, id, () => ({ set, events }))
      if (settled?.isChanged !== true) throw new Error('nothing was written')
    },
  }
}

/** The text of an answer that is no stream. */
export async function textOf({ ended, raw }: Reading): Promise<string> {
  await ended
  return raw()
}

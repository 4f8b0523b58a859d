/**
 * A server with streams, in a process of its own: `bare` is `node:http` and nothing else, `product` a whole Company, `writer`
 * the product's streams beside what writes events for them. Asked through its input, a word a line.
 */

import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { createCompany } from 'poppyseed'
import { toNodeHandler } from 'poppyseed/node'
import { withConversation } from '../packages/company/dist/conversations/ledger.js'
import { checkStreams } from '../packages/company/dist/conversations/stream-settings.js'
import { createStreams } from '../packages/company/dist/conversations/streaming.js'
import { asForm, clientAssertion, proof, sessionAssertion } from './client.ts'
import { type Address, company, insertConversations, partsOf, quiet, reader, storeOf } from './conversations-parts.ts'
import type { Client, Keys } from './parties.ts'

/** How the server is told what to be. */
export interface ServerTask {
  readonly kind: 'bare' | 'product' | 'writer'
  readonly address: Address
  readonly client: Client
  readonly keys: readonly Keys[]
  readonly streams: number
  readonly name: string
}

const input = createInterface({ input: process.stdin })
const lines = input[Symbol.asyncIterator]()
const task = JSON.parse(String((await lines.next()).value)) as ServerTask
const many = { keepAlive: 15, longest: 86_400, perSession: 100_000, perClient: 100_000, inAll: 100_000 }

async function bare() {
  const open = new Set<ServerResponse>()
  const head = {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'access-control-allow-origin': '*',
  }
  return {
    listener: (_: unknown, response: ServerResponse) => {
      response.writeHead(200, head)
      response.write(':\n\n')
      open.add(response)
      response.on('close', () => open.delete(response))
    },
    paths: ['/'],
    tokens: [''],
  }
}

/** A whole Company with as many conversations as there will be streams. */
async function product() {
  const { client, keys } = task
  const base = new URL(client.id).origin
  const documents: Record<string, unknown> = {
    [client.id]: {
      ...{ client_id: client.id, client_name: 'Bench', jwks_uri: `${base}/jwks.json` },
      ...{ redirect_uris: [`${base}/callback`], token_endpoint_auth_method: 'private_key_jwt' },
    },
    [`${base}/jwks.json`]: {
      keys: [{ ...client.keys.publicJwk, kid: client.keys.thumbprint, alg: 'ES256', use: 'sig' }],
    },
  }
  const made = createCompany({
    organization: { name: 'Bench', domain: 'company.example' },
    origin: company,
    secret: randomBytes(32).toString('base64url'),
    store: storeOf(task.address, 10),
    conversations: { streams: many },
    limits: false,
    log: quiet,
    fetchDocument: async (url) => ({ document: documents[url], headers: new Headers() }),
  })
  await made.start()
  const tokens: string[] = []
  for (const [index, own] of keys.entries()) {
    const form = asForm(client, {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: sessionAssertion(client, `${task.name}-${index}`, `${company}/poppy/token`),
      client_assertion: clientAssertion(client, company),
    })
    const headers = { dpop: proof(own, 'POST', `${company}/poppy/token`) }
    const answer = await made.fetch(new Request(`${company}/poppy/token`, { method: 'POST', body: form, headers }))
    if (!answer.ok) throw new Error(`no token: ${answer.status}`)
    tokens.push(((await answer.json()) as { readonly access_token: string }).access_token)
  }
  const { parts, end } = await partsOf(task.address, 2)
  const ids = await insertConversations(parts, task.streams, task.name, {
    sizes: Array.from({ length: task.streams }, () => 2),
    owner: (index) => ({ clientId: client.id, userId: `${task.name}-${index % keys.length}` }),
  })
  await end()
  return { listener: toNodeHandler(made), paths: ids.map((id) => `/poppy/conversations/${id}/events`), tokens }
}

/** Writes events, and notes when each commit began and ended, in nanoseconds of the machine's clock. */
async function writer() {
  const { parts } = await partsOf(task.address, 10)
  const [id = ''] = await insertConversations(parts, 1, task.name)
  const settings = checkStreams(many)
  if (settings === null) throw new Error('nothing is streamed')
  const streams = createStreams({ ...parts, settings, ending: new AbortController().signal })
  const answer = () => Promise.resolve(streams.open({ id }, 0, reader))
  let number = 0
  async function write(count: number): Promise<readonly (readonly [string, string])[]> {
    const times: [string, string][] = []
    for (let index = 0; index < count; index++) {
      number += 1
      const message = { id: `msg_${number}`, role: 'company', sender: 'agent', text: `${number}` } as const
      let ended = 0n
      const began = process.hrtime.bigint()
      await withConversation(
        {
          ...parts,
          // Told right after the commit: that is where it ends.
          changes: {
            ...parts.changes,
            changed(changed) {
              ended = process.hrtime.bigint()
              parts.changes.changed(changed)
            },
          },
        },
        id,
        () => ({ set: {}, events: [{ type: 'message', message }] }),
      )
      times.push([String(began), String(ended)])
      await wait(4)
    }
    return times
  }
  return { listener: toNodeHandler({ fetch: answer, owns: () => true }), paths: ['/'], tokens: [''], write }
}

interface Serving {
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void
  readonly paths: readonly string[]
  readonly tokens: readonly string[]
  readonly write?: (count: number) => Promise<readonly (readonly [string, string])[]>
}

const serving: Serving = await { bare, product, writer }[task.kind]()
const server = createServer(serving.listener).listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ port, paths: serving.paths, tokens: serving.tokens }))
})

/**
 * Bytes of the process, once what nobody has any more is gone. As if memory had run out: else the collector keeps pages that
 * are nearly empty, as many as it likes, and that is what one would measure.
 */
async function memory(): Promise<number> {
  for (let times = 0; times < 5; times++) {
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    await wait(100)
  }
  return process.memoryUsage().rss
}

for await (const line of { [Symbol.asyncIterator]: () => lines }) {
  const [word, count] = line.split(' ')
  if (word === 'memory') console.log(JSON.stringify({ memory: await memory() }))
  else console.log(JSON.stringify({ times: await serving.write?.(Number(count)) }))
}
process.exit()

/**
 * Conversations, on both databases: accepted messages a second beside their durable commits done alone, a page of a
 * conversation of 100,000 events beside one of 100, the time from a commit to a reader beside the commit's own, and what an idle
 * stream costs beside one of a bare `node:http` server.
 *
 * Alone means: the same rows written by hand, each message in a commit of its own and as many at once, in tables with the same
 * indexes, and nothing read, checked or built. Whether the product puts several into one commit is its own affair: each is on
 * the disk before it is answered.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { acceptMessage } from '../packages/company/dist/conversations/accepting.js'
import { eventId } from '../packages/company/dist/conversations/cursor.js'
import { findOwn, readEvents } from '../packages/company/dist/conversations/reading.js'
import { startPostgres } from '../test/setup/postgres-server.ts'
import { commitOnPostgres, commitOnSqlite, openPool } from './by-hand.ts'
import { type Address, company, insertConversations, partsOf, reader } from './conversations-parts.ts'
import { measureLatency, measureMemory } from './conversations-streams.ts'
import { inTurn, median, spread } from './figures.ts'

/** What the product must reach of its durable commits done alone, and may take of a page in a short conversation. */
const leastOfCommits = 0.6
const mostOfShort = 1.2
/** The time to a reader, of the commit's own; the memory of an idle stream, of a bare server's. */
const mostOfCommit = 1.7
const mostOfBare = 1.5

const rounds = 5
const perRound = 1500
const inFlight = 16
const long = 100_000
const short = 100
const pages = 300

interface Place {
  readonly name: string
  readonly address: Address
  /** The commits of a message in each of these conversations by hand, as many at once as are in flight. Gives messages a second. */
  readonly commitsAlone: (ids: readonly string[]) => Promise<number>
  readonly end: () => Promise<void>
}

interface Figure {
  readonly text: string
  readonly value: number
  readonly limit: number
  readonly isLeast?: boolean
}

function line(name: string, { text, value, limit, isLeast = false }: Figure): string {
  const good = isLeast ? value >= limit : value <= limit
  return `conversations on ${name}: ${text}: ${value.toFixed(2)}, at ${isLeast ? 'least' : 'most'} ${limit}: ${good ? 'met' : 'MISSED'}`
}

async function measureMessages(place: Place): Promise<Figure> {
  const { parts, end } = await partsOf(place.address, inFlight)
  /** One message in each of so many conversations, each of which is read first, as a request does it. Gives messages a second. */
  async function accept(name: string): Promise<number> {
    const ids = await insertConversations(parts, perRound, name)
    return inTurn(perRound, inFlight, async (index) => {
      const message = { id: `msg_${name}_${index}`, sender: 'agent', text } as const
      await acceptMessage(parts, await findOwn(parts, ids[index] as string, reader.principal), {
        message,
        caller: reader,
      })
    })
  }
  const alone = async (name: string) => place.commitsAlone(await insertConversations(parts, perRound, name))
  await accept('warm')
  await alone('warm_alone')
  const [product, byHands]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    byHands.push(await alone(`alone_${round}`))
    product.push(await accept(`accepted_${round}`))
  }
  await end()
  return {
    text: `messages accepted ${spread(product)}/s, their commits alone ${spread(byHands)}/s`,
    value: median(product) / median(byHands),
    limit: leastOfCommits,
    isLeast: true,
  }
}

async function measurePages(place: Place): Promise<Figure> {
  const { parts, end } = await partsOf(place.address, inFlight)
  const [short_ = '', long_ = ''] = await insertConversations(parts, 2, 'pages', { sizes: [short, long] })
  const signal = new AbortController().signal
  /** Pages of 50 events in the middle, so that both are as long; and microseconds for each. */
  async function read(id: string, size: number): Promise<number> {
    const cursor = eventId(id, size - 50)
    const from = performance.now()
    for (let index = 0; index < pages; index++) {
      const page = await readEvents(parts, id, { reader, cursor, wait: 0, signal })
      if (page.events.length !== 50) throw new Error(`a page of ${page.events.length}`)
    }
    return ((performance.now() - from) / pages) * 1000
  }
  const [ofShort, ofLong]: [number[], number[]] = [[], []]
  for (let round = -1; round < rounds; round++) {
    const figures = [await read(short_, short), await read(long_, long)] as const
    if (round < 0) continue
    ofShort.push(figures[0])
    ofLong.push(figures[1])
  }
  await end()
  return {
    text: `a page of a conversation of ${long} events ${spread(ofLong)} µs, of one of ${short} ${spread(ofShort)} µs`,
    value: median(ofLong) / median(ofShort),
    limit: mostOfShort,
  }
}

const text = 'Does the insulated version come in medium? The user would like to know before Friday.'

/** What is written when a message is accepted that a turn is to answer already: the row, its event, its receipt. */
function byHand(id: string): readonly string[] {
  const message = { id: 'msg_of_some_length', role: 'user', sender: 'agent', text }
  const body = JSON.stringify({ id: 'evt_of_some_length', type: 'message', created_at: new Date(), message })
  return [
    `update poppy_conversations set session_id = 'ses_bench', caller_user_id = 'user', caller_account = 'maya', grant_id = 'grt_bench',
      scopes = 'poppy:read', epoch = 0, sender = 'agent', care_due_at = 1, asked = 1, version = version + 1, last_event = 1,
      updated_at = 1 where company = '${company}' and id = ${id}`,
    `insert into poppy_events (company, conversation_id, number, type, body, written_for, created_at)
      values ('${company}', ${id}, 1, 'message.own', '${body}', null, 1)`,
    `insert into poppy_receipts (company, client_id, user_id, message_id, conversation_id, digest, code, status, responder, event)
      values ('${company}', '${reader.principal.clientId}', 'user', ${id}, ${id}, '${'d'.repeat(43)}', 202, 'working', 'agent', 1)`,
  ]
}

function onSqlite(folder: string): Place {
  const file = join(folder, 'poppy.db')
  return {
    name: 'SQLite',
    address: { kind: 'sqlite', file },
    commitsAlone: async (ids) =>
      commitOnSqlite(file, {
        pragmas: 'pragma synchronous=full; pragma secure_delete=on',
        steps: [byHand('?1')],
        ids,
      }),
    end: async () => {},
  }
}

function onPostgres(url: string): Place {
  const pool = openPool(url, inFlight)
  const steps = [byHand('$1::text')]
  return {
    name: 'PostgreSQL',
    address: { kind: 'postgres', url },
    commitsAlone: (ids) => commitOnPostgres(pool, { steps, ids }),
    end: () => pool.end(),
  }
}

async function measure(place: Place): Promise<readonly string[]> {
  const lines = [line(place.name, await measureMessages(place)), line(place.name, await measurePages(place))]
  const latency = await measureLatency(place.address)
  lines.push(
    line(place.name, {
      text: `from the commit's begin to a reader ${spread(latency.toReader)} µs, the commit's own ${spread(latency.commit)} µs (p50 of each round)`,
      value: median(latency.toReader) / median(latency.commit),
      limit: mostOfCommit,
    }),
  )
  const memory = await measureMemory(place.address)
  lines.push(
    line(place.name, {
      text: `an idle stream ${spread(memory.product)} bytes, one of a bare server ${spread(memory.bare)}`,
      value: median(memory.product) / median(memory.bare),
      limit: mostOfBare,
    }),
  )
  return lines
}

/** Measures both databases; PostgreSQL where one comes with the development dependencies. */
export async function measureConversations(): Promise<{ readonly text: string; readonly good: boolean }> {
  const lines: string[] = [`conversations: medians of ${rounds} rounds, ${perRound} messages each, ${inFlight} at once`]
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-bench-conversations-'))
  const server = await startPostgres({ durable: true })
  try {
    lines.push(...(await measure(onSqlite(folder))))
    if ('missing' in server) lines.push(`conversations on PostgreSQL: not measured, ${server.missing}`)
    else {
      const place = onPostgres(server.url)
      try {
        lines.push(...(await measure(place)))
      } finally {
        await place.end()
      }
    }
  } finally {
    if ('stop' in server) await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return { text: lines.join('\n'), good: !lines.some((one) => one.includes('MISSED')) }
}

import { type CompanyConfig, operation, type Store, unknown } from 'poppyseed'
import type { InboxParts } from '../../packages/company/src/inbox/parts.ts'
import { inboxRoutes } from '../../packages/company/src/inbox/routes.ts'
import type { Database } from '../../packages/company/src/store/database.ts'
import type { Wordings } from '../../packages/company/src/words/wording.ts'
import { bookings, lists } from './bookings.ts'
import { staffLogin } from './inbox.ts'
import { listen } from './listen.ts'
import { makeWorld, type World } from './world.ts'

/** All that can be asked of a staff inbox, made of its routes, and a Company at a real port to ask it of. */

const base = '/poppy/inbox'

/** A method at an address, with `*` for an id. */
export interface Spot {
  readonly method: string
  readonly pattern: string
  /** What an act is called; the last word of the address. */
  readonly word: string
  readonly isApi: boolean
  readonly hasId: boolean
}

/** Each method at each address that there is: an act that is built later is in it by itself. */
export const spots: readonly Spot[] = Object.entries(
  // Routes are made before anything answers; what answers isn't asked here.
  inboxRoutes({} as InboxParts, { route: base, browser: null, wordings: {} as Wordings }),
).flatMap(([pattern, { methods }]) =>
  Object.keys(methods).map((method) => ({
    method,
    pattern,
    word: pattern.slice(pattern.lastIndexOf('/') + 1),
    isApi: pattern.startsWith(`${base}/api/`),
    hasId: pattern.includes('*'),
  })),
)

/** What would make an act do something, if whoever sends it might. */
export const bodies: Readonly<Record<string, (about: About) => Readonly<Record<string, unknown>>>> = {
  give: () => ({ to: 'greta' }),
  reply: () => ({ text: 'Forged.' }),
  note: () => ({ text: 'Forged.' }),
  'hand-back': () => ({ note: 'Forged.', text: 'Forged.' }),
  'ask-for-user': () => ({ reason: 'Forged.' }),
  'ask-for-sign-in': () => ({ scope: 'loyalty', text: 'Forged.' }),
  'call-tool': () => ({ tool: 'add_note', input: {} }),
  revise: ({ operation }) => ({ operation_id: operation, revision: 1, input: { nights: 3 } }),
  close: () => ({ reason: 'Forged.' }),
  settle: () => ({ outcome: 'failed', reason: 'Forged.', why: 'Forged.' }),
  'send-all-again': () => ({ since: '2026-01-01T00:00:00.000Z' }),
}

export interface About {
  readonly conversation: string
  readonly operation: string
  /** A delivery of a webhook that was given up. */
  readonly delivery?: string
}

/** Who asks: what goes with each request, and the token of a form that they got hold of. */
export interface Caller {
  readonly headers: Readonly<Record<string, string>>
  readonly token: string
  /** A proof of an agent's, for the address. */
  readonly proof?: (method: string, url: string) => Promise<string>
}

let sent = 0

/** Asks. A stream that was opened is let go at once. */
export async function ask(origin: string, spot: Spot, about: About, caller: Caller) {
  const id = spot.pattern.includes('/operations/*')
    ? about.operation
    : spot.pattern.includes('/deliveries/*')
      ? (about.delivery ?? 'dlv_none')
      : about.conversation
  const url = origin + spot.pattern.replace('*', id)
  sent += 1
  const once = `attack-${String(sent).padStart(8, '0')}`
  const given = bodies[spot.word]?.(about) ?? {}
  const proof = await caller.proof?.(spot.method, url)
  const controller = new AbortController()
  const search = spot.pattern.endsWith('/search') ? '?text=Hello' : ''
  const answer = await fetch(url + search, {
    method: spot.method,
    redirect: 'manual',
    signal: controller.signal,
    headers: {
      accept: 'text/html',
      'sec-fetch-site': 'same-origin',
      ...(spot.method === 'GET' ? {} : { origin }),
      ...(spot.method === 'POST' && spot.isApi ? { 'content-type': 'application/json' } : {}),
      ...(spot.isApi ? { 'idempotency-key': once } : {}),
      ...(proof === undefined ? {} : { dpop: proof }),
      ...caller.headers,
    },
    ...(spot.method === 'GET'
      ? {}
      : { body: spot.isApi ? JSON.stringify(given) : new URLSearchParams(formOf(given, caller.token, once)) }),
  })
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true
  const text = isStream ? '' : await answer.text()
  controller.abort()
  return { status: answer.status, text, headers: answer.headers }
}

function formOf(given: Readonly<Record<string, unknown>>, token: string, once: string): Record<string, string> {
  const fields: Record<string, string> = { token, once }
  for (const [name, value] of Object.entries(given)) {
    if (name === 'operation_id') fields.operation = String(value)
    else if (name === 'input') fields.json = JSON.stringify(value)
    else fields[name] = String(value)
  }
  return fields
}

/** Rooms that nobody knows the fate of: what staff settle. */
export const lostRoom = operation({
  name: 'lost_room',
  description: 'Books a room, and nobody knows what came of it.',
  scope: 'poppy:write',
  propose: () => ({ summary: 'A room for 90 €.', terms: { price: '90.00' } }),
  perform: () => unknown(),
  reconcile: () => unknown(),
})

/** By database, asked once: its tables stay. */
const readingOf = new WeakMap<Database, { readonly tables: readonly string[]; readonly text: string }>()

/** What reads all that the store has, each row as text: in one statement, for dozens would take longer than what is tried. */
async function makeReading({ name: dialect, query, run }: Database) {
  const all = (await query.introspection.getTables()).map(({ name }) => name).toSorted()
  const tables = all.filter((name) => name.startsWith('poppy_') && name !== 'poppy_audit' && name !== 'poppy_staff')
  const parts: string[] = []
  for (const name of tables) {
    let row = `${name}::text`
    if (dialect === 'sqlite') {
      const columns = (await run(`pragma table_info(${name})`, [])) as readonly { readonly name: string }[]
      row = `json_array(${columns.map((column) => column.name).join(', ')})`
    }
    parts.push(`select '${name}' as name, ${row} as row from ${name}`)
  }
  return { tables, text: parts.join(' union all ') }
}

/** All that the store has, but the record of who looked and who is here. */
export async function everythingIn(db: Database): Promise<Readonly<Record<string, readonly string[]>>> {
  const reading = readingOf.get(db) ?? (await makeReading(db))
  readingOf.set(db, reading)
  const kept: Record<string, string[]> = Object.fromEntries(reading.tables.map((name) => [name, []]))
  const rows = (await db.run(reading.text, [])) as readonly { readonly name: string; readonly row: string }[]
  for (const { name, row } of rows) kept[name]?.push(row)
  for (const of of Object.values(kept)) of.sort()
  return kept
}

/** What must not be told to anybody who may not: each is somewhere in the conversation or the account. */
export const canaries = {
  said: 'canary-said-5b1c',
  noted: 'canary-noted-77aa',
  card: 'canary-card-0e9d',
} as const

/** The cookie of a browser that the agent joined to its Session (5). */
export async function agentsCookie(world: World & { readonly origin: string }, sessionId: string): Promise<string> {
  const assertion = await world.agent.browserAssertion(sessionId, `${world.origin}/bookings`)
  const joined = await fetch(`${world.origin}/poppy/browser-session`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ assertion }),
    headers: { origin: 'null', 'sec-fetch-site': 'cross-site' },
  })
  const cookie = joined.headers.get('set-cookie')?.split(';')[0] ?? ''
  if (cookie === '') throw new Error(`the browser was not joined: ${joined.status}`)
  return cookie
}

/** A Company at a port of its own. */
export async function companyAt(
  store: Store,
  config: Partial<CompanyConfig> = {},
): Promise<World & { readonly origin: string }> {
  let world: World | null = null
  const { origin } = await listen(async (at) => {
    world = await makeWorld(
      {
        origin: at,
        development: true,
        organization: { name: 'Hotel Miramar', domain: 'localhost' },
        operations: bookings(),
        conversations: {},
        browser: true,
        limits: false,
        customer: () => ({ title: canaries.card, facts: { phone: canaries.card } }),
        ...staffLogin,
        ...config,
      },
      store,
    )
    lists(world.agent)
    return world.company.fetch
  })
  return { ...(world as unknown as World), origin }
}

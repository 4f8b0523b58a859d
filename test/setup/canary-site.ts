import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type Company, type Store, tool } from 'poppyseed'
import { postgres } from 'poppyseed/postgres'
import { sqlite } from 'poppyseed/sqlite'
import { onTestFinished } from 'vitest'
import type { Person } from '../../examples/hotel/src/person.ts'
import { watchWire } from './canaries.ts'
import { listen } from './listen.ts'
import { freshSchema } from './postgres.ts'
import { createSiteCompany, guests, makeSitePages, siteHandler } from './site.ts'
import { type WatchedTelemetry, watchTelemetry } from './telemetry.ts'
import { makeWireAgent, type WireAgent } from './wire-agent.ts'
import { secret, testTools } from './world.ts'

/** A site that is watched from all sides: its wire, its log, its traces and its database. */

/** A store, and everything that is written in its database, as text. */
export interface Dumped {
  readonly store: Store
  readonly dump: () => Promise<string>
}

export function sqliteInFile(): Dumped {
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-canaries-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return {
    store: sqlite(join(folder, 'poppy.db')),
    dump: async () =>
      readdirSync(folder)
        .map((file) => readFileSync(join(folder, file), 'latin1'))
        .join('\n'),
  }
}

export async function postgresSchema(): Promise<Dumped> {
  const schema = await freshSchema()
  onTestFinished(schema.drop)
  return {
    store: postgres(schema.url),
    async dump() {
      const client = new pg.Client({ connectionString: schema.url })
      await client.connect()
      try {
        const tables = await client.query('select tablename from pg_tables where schemaname = $1', [schema.name])
        const texts: string[] = []
        for (const { tablename } of tables.rows as { tablename: string }[]) {
          const { rows } = await client.query(`select t::text as row from "${tablename}" t`)
          texts.push(...rows.map(({ row }) => String(row)))
        }
        return texts.join('\n')
      } finally {
        await client.end()
      }
    },
  }
}

/** A service of the site's own, with tokens of its own. */
export const spaResource = 'urn:miramar:spa'

export async function openWatchedSite(store: Store) {
  const telemetry: WatchedTelemetry = watchTelemetry()
  const wire = watchWire()
  const log: string[] = []
  const sent: string[] = []
  const clock = { ahead: 0 }
  const now = () => Date.now() + clock.ahead
  const pages = makeSitePages()
  let close = async () => {}
  let company: Company | undefined
  const { origin } = await listen(async (origin) => {
    const made = createSiteCompany(
      { origin, pages, log },
      {
        store,
        now,
        nonces: true,
        signIn: {
          direct: ['poppy:read', 'poppy:write', 'loyalty'],
          device: ['poppy:read'],
          mediated: {
            scopes: ['poppy:read'],
            fields: [
              { name: 'user', label: 'User', secret: false },
              { name: 'password', label: 'Password', secret: true },
            ],
            verify: ({ user, password }) =>
              user === guests.maya.user && password === guests.maya.password ? 'acc-maya' : null,
            sendCode: (code) => {
              sent.push(code)
              return 'Text to the phone number ending in 71'
            },
          },
        },
        browser: true,
        rotation: true,
        apis: [{ type: 'openapi', url: `${origin}/spa/openapi.json`, description: 'The spa', resource: spaResource }],
        limits: { requestsPerSession: { requests: 60, seconds: 3600 } },
        tools: [
          ...testTools(),
          tool({
            name: 'breaks',
            description: 'Always fails.',
            run: () => {
              throw new Error('the database is away')
            },
          }),
        ],
      },
    )
    await made.start()
    company = made
    close = made.close
    return wire.watch(siteHandler(made, pages))
  })
  onTestFinished(() => close())
  wire.add('form', secret)
  if (!company) throw new Error('no Company')
  return { origin, company, wire, log, sent, telemetry, clock, now, close: () => close() }
}
export type WatchedSite = Awaited<ReturnType<typeof openWatchedSite>>

export async function approve(
  person: Person,
  url: string,
  scopes: readonly string[],
  decision = 'approve',
): Promise<string> {
  const first = await person.open(url)
  const consent = first.html.includes('name="password"') ? await person.submit(first, guests.maya) : first
  return (await person.submit(consent, { scope: scopes, decision })).html
}

/** An agent at the level of the wire, with its documents behind a listener of its own. */
export async function openWireAgent(site: WatchedSite): Promise<WireAgent> {
  let agent: WireAgent | undefined
  const { origin } = await listen(() => ({ url }) => {
    const { pathname } = new URL(url)
    if (pathname === '/oauth/callback') return new Response('Back.')
    const document = agent?.documents[url]
    return document === undefined ? new Response(null, { status: 404 }) : Response.json(document)
  })
  agent = await makeWireAgent({
    clientId: `${origin}/agent.json`,
    now: site.now,
    origin: site.origin,
    send: (request) => fetch(request),
  })
  return agent
}

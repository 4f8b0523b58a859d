/**
 * One whole round on the Node that runs this, with the packages as they are published: a Company on SQLite (or, with
 * `DATABASE_URL`, on PostgreSQL) behind Node's `http`, and an agent that signs in. Prints what happened as JSON.
 */

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createPersonalAgent, generateKey, memoryStore, type PersonalAgent, type Session } from '@poppyseed/agent'
import { type Company, createCompany, tool } from 'poppyseed'
import { type NodeHandler, toNodeHandler } from 'poppyseed/node'
import { postgres } from 'poppyseed/postgres'
import { sqlite } from 'poppyseed/sqlite'

const packages = resolve(import.meta.dirname, '../../packages')
const folder = mkdtempSync(join(tmpdir(), 'poppyseed-node-22-'))

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly exports: Readonly<Record<string, unknown>>
}

/** Imports every entry of every published package, and gives what each has. */
async function importEntries(): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  for (const folder of ['protocol', 'company', 'agent', 'conformance']) {
    const manifest = JSON.parse(readFileSync(join(packages, folder, 'package.json'), 'utf8')) as Manifest
    if (manifest.private) continue
    for (const entry of Object.keys(manifest.exports)) {
      const name = manifest.name + entry.slice(1)
      found[name] = Object.keys((await import(name)) as object).length
    }
  }
  return found
}

/** Listens before it is known what answers: that has to know the port. */
async function listen() {
  let handler: NodeHandler | undefined
  const server = createServer((request, response) => handler?.(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://localhost:${port}`,
    answer: (given: NodeHandler) => {
      handler = given
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function makeCompany(origin: string): Company {
  const log = { debug() {}, info() {}, warn() {}, error: (fields: object, text: string) => console.error(text, fields) }
  return createCompany({
    organization: { name: 'Corner Library', domain: 'localhost' },
    origin,
    development: true,
    secret: randomBytes(32).toString('base64url'),
    store: process.env.DATABASE_URL ? postgres(process.env.DATABASE_URL) : sqlite(join(folder, 'poppy.db')),
    account: () => ({ id: 'maya', name: 'maya@example.com' }),
    signInPage: () => '/login',
    scopes: { 'poppy:read': 'See your loans' },
    signIn: { direct: ['poppy:read'] },
    nonces: true,
    tools: [
      tool({
        name: 'my_loans',
        description: 'What the member has borrowed.',
        // Raw JSON Schema: its check is a part that is loaded late.
        input: { type: 'object', properties: { year: { type: 'integer' } } },
        scope: 'poppy:read',
        run: ({ year = null }, { principal, via }) => ({ account: principal.account, year, via }),
      }),
    ],
    log,
  })
}

async function makeAgent(origin: string): Promise<PersonalAgent> {
  const keys = [await generateKey()]
  return createPersonalAgent({
    clientId: `${origin}/agent.json`,
    name: 'Agent',
    keys,
    store: memoryStore(),
    allowHttp: true,
  })
}

/** Approves on the consent page, and goes back to the agent. */
async function approve(url: string): Promise<void> {
  const html = await (await fetch(url)).text()
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1] ?? ''
  const body = new URLSearchParams({ request, decision: 'approve', scope: 'poppy:read' })
  const address = new URL('/poppy/authorize', url)
  const decided = await fetch(address, {
    method: 'POST',
    body,
    headers: { origin: address.origin },
    redirect: 'manual',
  })
  await fetch(decided.headers.get('location') ?? '')
}

async function play(session: Session) {
  const refusal = await session.call('my_loans').catch((error: { readonly code?: string }) => error.code)
  const { granted } = await session.signIn({ scopes: ['poppy:read'], open: approve })
  const { body: http } = await session.call('my_loans', { year: 2027 })
  const connection = await session.mcp()
  const { structuredContent: mcp } = await connection.call('my_loans', { year: 2027 })
  await connection.close()
  return { refusal, granted, http, mcp, signOut: await session.signOut() }
}

const site = await listen()
const home = await listen()
const company = makeCompany(site.origin)
try {
  await company.start()
  site.answer(toNodeHandler(company))
  const agent = await makeAgent(home.origin)
  home.answer(toNodeHandler({ fetch: agent.fetch, owns: () => true }))
  const session = (await agent.forUser('maya').company(site.origin)).session()
  const round = await play(session)
  const help = execFileSync(process.execPath, [join(packages, 'agent/bin/poppy.js'), '--help'], { encoding: 'utf8' })
  const { store } = await company.health()
  console.log(JSON.stringify({ version: process.version, store, entries: await importEntries(), round, help }))
} finally {
  await site.close()
  await home.close()
  await company.close()
  rmSync(folder, { recursive: true, force: true })
}
